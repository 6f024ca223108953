"""How a process that was a command ends."""

import signal
import subprocess
import sys

import pytest
from tests.late import PATIENCE_S

from flashcrowd import cli
from flashcrowd.base import signals

PROGRAM = """
import atexit, builtins, os, sys
from flashcrowd import __main__

class Kept:
    def __del__(self, os=os):
        os.write(1, b"the interpreter took itself down")

def main():
    builtins.kept = Kept()
    atexit.register(lambda: print("asked to be called"))
    print("not yet written")
    {end}

__main__.main = main
__main__.command()
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(3)", 3),
        ("sys.exit()", 0),
        ("sys.exit('why')", 1),
        ("raise ValueError('why')", 1),
        ("raise KeyboardInterrupt", 128 + signal.SIGINT),
    ],
)
def test_a_command_ends_before_its_interpreter_does(end: str, status: int) -> None:
    run = subprocess.run(
        [sys.executable, "-E", "-c", PROGRAM.format(end=end)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status, run.stderr
    assert run.stdout == "not yet written\nasked to be called\n"
    assert ("why" in run.stderr) == ("why" in end)


def test_a_reader_that_has_gone_changes_no_status() -> None:
    with subprocess.Popen(
        [sys.executable, "-E", "-c", PROGRAM.format(end="sys.stdin.read(); sys.exit(5)")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        error = process.stderr.read()
    assert (process.returncode, error) == (5, b"")


IN_AN_IMPORT = """
import os, runpy, signal, sys

class Sends:
    sent = False

    def find_spec(self, name, path=None, target=None):
        if name == {module!r} and not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.{signal})
        return None

sys.meta_path.insert(0, Sends())
sys.argv = ["flashcrowd", *{words!r}]
runpy.run_module("flashcrowd", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("module", "words"),
    [
        *(
            (module, ["--help"])
            for module in (
                "flashcrowd.cli",
                "cyclopts",
                "attrs",
                "attr",
                "flashcrowd.base.terminal",
            )
        ),
        *(
            (module, ["check", "nothing.toml"])
            for module in ("flashcrowd.cli.check", "flashcrowd.study", "pydantic", "pydantic_core")
        ),
        ("flashcrowd.scenario.network", ["check", "nothing.toml"]),
        ("pyarrow", ["report", "nothing"]),
    ],
)
def test_a_signal_within_an_import_ends_the_command(
    module: str, words: list[str], number: signal.Signals
) -> None:
    program = IN_AN_IMPORT.format(module=module, signal=number.name, words=words)
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    if module in ("attr", "attrs") and run.returncode == 0:
        pytest.skip("no such import")
    assert run.returncode in (-number, 128 + number), run.stderr
    assert "Traceback" not in run.stderr
    assert "Error" not in run.stderr


BEFORE_CTRL_C_ENDS_IT = """
import _signal, sys

class Looks:
    def find_spec(self, name, path=None, target=None):
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            print(name)
        return None

sys.meta_path.insert(0, Looks())
import flashcrowd.__main__
"""


def test_ctrl_c_ends_the_process_from_the_first_import_on() -> None:
    """Any other module would be one in which Ctrl-C is a traceback."""
    words = [sys.executable, "-I", "-S", "-c"]
    there = [it for it in sys.path if it]
    program = f"import sys; sys.path += {there!r}\n{BEFORE_CTRL_C_ENDS_IT}"
    run = subprocess.run(
        [*words, program], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert run.stdout.split() == ["flashcrowd", "__future__", "flashcrowd.__main__"]


def test_an_import_that_turns_ctrl_c_into_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def turns(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ValueError("Error building a validator") from error

    monkeypatch.setattr(cli, "app", turns)
    try:
        with pytest.raises(SystemExit) as left:
            cli.main([])
        assert left.value.code == 130
    finally:
        signals.forget()  # or runs of later tests in this process would heed it
