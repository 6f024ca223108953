"""What works without the extras, and what is said where it does not."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flashcrowd.extras import EXTRAS, requirements

ROOT = Path(__file__).parents[2]
STUDY = str(ROOT / "studies" / "dumbbell.toml")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from flashcrowd.cli import main
main({words!r})
"""


def call(hidden: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process in which some modules cannot be imported."""
    program = WITHOUT.format(hidden=hidden, words=list(words))
    return subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["check", STUDY],
        ["check", "--all", STUDY],
        ["list"],
        ["explain", "network.rtt"],
        ["init", "--help"],
        ["plan", STUDY],
        ["schema"],
        ["utp", "--help"],
        ["utp", "serve", "--help"],
        ["fetch", "--help"],
    ],
    ids=" ".join,
)
def test_a_plain_installation_can(words: list[str]) -> None:
    done = call(list(EXTRAS), *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout) > 100


@pytest.mark.parametrize(
    ("hidden", "words", "extra"),
    [
        (["pyarrow"], ["run", STUDY], "run"),
        (["pyarrow"], ["report", "results/x"], "run"),
        (["scipy", "matplotlib", "jinja2"], ["reproduce", "rao2010"], "report"),
        (["networkx"], ["check", str(ROOT / "studies" / "backbone.toml")], "topology"),
        (["deluge_client"], ["autolimit", "deluge://localhost"], "deluge"),
    ],
    ids=["run", "report", "reproduce", "topology", "deluge"],
)
def test_what_is_missing_is_said_in_one_line(hidden: list[str], words: list[str], extra: str):
    done = call(hidden, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    wanted = " ".join(f"'{it}'" for it in requirements(extra))
    assert line.endswith(f"is not installed; get what this needs with: pip install {wanted}")
    assert f"'{hidden[0].replace('_', '-')}>=" in line


def test_a_run_without_the_report_has_results_and_no_summary(tmp_path: Path) -> None:
    out = tmp_path / "r"
    words = ["run", STUDY, "--set", "stop.horizon=2 s", "--out", str(out)]
    done = call(["scipy", "matplotlib", "jinja2"], *words)
    assert done.returncode == 0, done.stderr
    assert "No summary: " in done.stdout
    assert "'scipy>=" in done.stdout
    assert (out / "tables" / "runs.parquet").exists()


def test_an_extra_has_what_the_extras_in_it_have() -> None:
    report, run = requirements("report"), requirements("run")
    assert [it for it in report if "[" in it] == []
    assert set(run) < set(report)
    assert len(run) == len(PROJECT["optional-dependencies"]["run"])


def test_every_module_is_in_the_extra_that_is_named() -> None:
    for module, extra in EXTRAS.items():
        required = PROJECT["optional-dependencies"][extra]
        assert any(line.startswith(f"{module}>=") for line in required), module
