"""The program of EnOSlib's environment, as far as it goes without EnOSlib."""

import subprocess
import sys
from pathlib import Path

import pytest

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.testbed import driver, nodes
from flashcrowd.testbed.nodes import EnOSlib, Said, reserved
from flashcrowd.testbed.options import Options

OPTIONS = Options(Path(sys.executable), "static", {"resources": {}})

PRETENDS = """
import json, sys
for line in sys.stdin:
    order = json.loads(line)
    number = order["number"]
    if number == 1:
        answer = {"nodes": ["a", "b"], "addresses": {"a": "10.0.0.1", "b": "10.0.0.2"}}
    else:
        print(json.dumps({"number": number - 1, "answer": {"a": None, "b": None}}))
        answer = {"a": {"status": 3, "out": "", "err": "first\\n last \\n"}}
    print(json.dumps({"number": number, "answer": answer}), flush=True)
"""


def pretending(folder: Path, program: str) -> subprocess.Popen[str]:
    """Another program in the place of the driver."""
    (folder / "log").write_text("line\nlast words\n\n")
    words = [sys.executable, "-c", program]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_an_answer_that_nobody_waited_for_is_passed_over(tmp_path: Path) -> None:
    with pretending(tmp_path, PRETENDS) as program:
        there = EnOSlib(program, tmp_path / "log", OPTIONS)
        assert there.names == ["a", "b"]
        assert there.addresses["b"] == "10.0.0.2"
        answers = there.run("true", ["a", "b"])
        assert program.stdin is not None
        program.stdin.close()
    assert answers == {"a": Said(3, "", "first\n last \n"), "b": None}
    assert answers["a"] is not None
    assert answers["a"].line == "last"


def test_a_program_that_ends_is_named(tmp_path: Path) -> None:
    with (
        pretending(tmp_path, "") as program,
        pytest.raises(ClusterError, match=r"EnOSlib ended with status \d+: last words"),
    ):
        EnOSlib(program, tmp_path / "log", OPTIONS)


def test_what_the_driver_cannot_do_is_one_line() -> None:
    with (
        pytest.raises(ClusterError, match=r"^EnOSlib: ValueError: provider: moon; there are stat"),
        reserved(Options(Path(sys.executable), "moon", {})),
    ):
        pass


def test_an_environment_without_enoslib_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    with (
        pytest.raises(ClusterError, match=r"^EnOSlib: ModuleNotFoundError: .*enoslib"),
        reserved(OPTIONS),
    ):
        pass


def test_a_node_is_called_the_same_on_both_sides() -> None:
    assert driver.__doc__ is not None
    assert f"`{nodes.NAME}`" in driver.__doc__
