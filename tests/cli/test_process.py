"""How a process that was a command ends."""

import signal
import subprocess
import sys

import pytest

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
