"""Engines are made by name, and nowhere else."""

import re
from pathlib import Path

import pytest

import flashcrowd
from flashcrowd.cli import _status
from flashcrowd.engines import registry
from flashcrowd.papers import paper
from flashcrowd.store import open as open_results

ROOT = Path(flashcrowd.__file__).parent
STUDY = Path(__file__).parents[2] / "studies" / "dumbbell.toml"


@pytest.mark.parametrize("name", registry.ENGINES)
def test_an_engine_knows_the_name_that_it_is_asked_for_by(name: str) -> None:
    engine = registry.engine(name)
    assert engine.name == name
    assert len(engine.build()["engine"]) == 16


def test_an_unknown_name_is_refused_with_the_list() -> None:
    known = ", ".join(registry.ENGINES)
    with pytest.raises(registry.UnknownEngine, match=f"'simulator'; there are {known}; did you"):
        registry.engine("simulator")


def test_real_is_another_name_for_the_engine_that_plays_it() -> None:
    assert registry.meant("real", ["origin"]) == "loopback"
    assert registry.meant("real", ["origin", "ping"]) == "emulation"
    assert registry.meant("simulation", ["origin"]) == "simulation"
    assert paper.load("circus2004").meant("real") == "loopback"
    assert paper.load("rao2010").meant("real") == "emulation"
    assert paper.load("rao2010").meant("simulation") == "simulation"


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_command_line_says_so(command: str, tmp_path: Path, capsys) -> None:
    out = ["--out", str(tmp_path / "r")] if command == "run" else []
    assert _status([command, str(STUDY), "--engine", "emulaton", *out]) == 2
    assert "no engine is called 'emulaton'; there are simulation" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_check_refuses_what_an_engine_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert _status(["check", str(STUDY)]) == 0
    capsys.readouterr()
    assert _status(["check", str(STUDY), "--engine", "loopback"]) == 2
    said = capsys.readouterr().err
    assert "plan of point 0" in said
    assert "one origin and nothing else has a real program here" in said


def test_the_folder_says_which_engine_it_was(tmp_path: Path) -> None:
    words = ["run", str(STUDY), "--engine", "simulation", "--quiet", "--set", "stop.horizon=2 s"]
    assert _status([*words, "--out", str(tmp_path / "r")]) == 0
    assert open_results(tmp_path / "r").manifest.engine.name == "simulation"


def test_nothing_else_constructs_an_engine() -> None:
    named = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if re.search(r"\bSimulator\b|_core\.simulate\b", path.read_text())
    ]
    known = ("registry", "simulation")
    assert sorted(named) == [f"engines/{name}.py" for name in known]
