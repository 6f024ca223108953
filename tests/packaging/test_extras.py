"""What works without the extras, and what is said where it does not."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flashcrowd.base.extras import EXTRAS, remedy, requirements

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


def call(
    hidden: list[str], *words: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command line in a process in which some modules cannot be imported."""
    program = WITHOUT.format(hidden=hidden, words=list(words))
    return subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=120,
        cwd=cwd,
    )  # fmt: skip


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


REPORT = ["numpy", "pyarrow", "jinja2", "matplotlib", "scipy", "networkx"]
FEW = ["run", STUDY, "--set", "stop.horizon=2 s"]


@pytest.mark.parametrize(
    ("hidden", "words", "extra"),
    [
        (REPORT, ["run", STUDY], "report"),
        (["pyarrow"], ["report", "results/x"], "report"),
        (["jinja2", "matplotlib", "scipy"], ["reproduce", "rao2010"], "report"),
        (["jinja2", "matplotlib", "scipy"], [*FEW, "--report"], "report"),
        (["scipy"], [*FEW, "--expect"], "report"),
        (["scipy"], [*FEW, "--engine", "both"], "report"),
        (["scipy"], [*FEW, "--repeats", "until 50 %"], "report"),
        (["networkx"], ["check", str(ROOT / "studies" / "backbone.toml")], "topology"),
        (["deluge_client"], ["autolimit", "deluge://localhost"], "deluge"),
    ],
    ids=lambda it: it if isinstance(it, str) else " ".join(map(str, it[-2:])),
)
def test_all_that_is_missing_is_said_in_one_line_before_anything_runs(
    hidden, words, extra, tmp_path
):
    done = call(hidden, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    names = " and ".join(filter(None, [", ".join(hidden[:-1]), hidden[-1]]))
    verb = "is" if len(hidden) == 1 else "are"
    assert f"{names} {verb} not installed; get what this needs with: " in line
    assert line.endswith(" ".join(f"'{it}'" for it in requirements(extra)))
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_the_report_has_results_and_no_summary(tmp_path: Path) -> None:
    out = tmp_path / "r"
    done = call(["jinja2", "matplotlib", "scipy"], *FEW, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "No summary: jinja2, matplotlib and scipy are not installed; " in done.stdout
    assert (out / "tables" / "runs.parquet").exists()


def test_the_command_installs_into_the_environment_that_lacks_it(tmp_path, monkeypatch) -> None:
    def said() -> str:
        line = remedy(ModuleNotFoundError(name="networkx"))
        assert line is not None
        return line.partition(" with: ")[2].partition(" 'networkx")[0]

    here = tmp_path / "its place"
    pip = here / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text("#!/bin/sh\n")
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(here))
    monkeypatch.setattr(sys, "executable", str(here / "bin" / "python"))
    with monkeypatch.context() as without:
        without.setattr("flashcrowd.base.extras.find_spec", lambda name: None)
        assert said() == f"uv pip install --python '{here}'"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pip.py").write_text("")
    assert said() == f"'{here}/bin/python' -m pip install"
    monkeypatch.setenv("PATH", str(pip.parent))
    assert said() == "pip install"
    (here / "pipx_metadata.json").write_text("{}")
    assert said() == "pipx inject 'its place'"


def test_an_extra_has_what_the_extras_in_it_have() -> None:
    report, run = requirements("report"), requirements("run")
    assert [it for it in report if "[" in it] == []
    assert set(run) < set(report)
    assert len(run) == len(PROJECT["optional-dependencies"]["run"])


def test_every_module_is_in_the_extra_that_is_named() -> None:
    for module, extra in EXTRAS.items():
        required = PROJECT["optional-dependencies"][extra]
        assert any(line.startswith(f"{module}>=") for line in required), module
