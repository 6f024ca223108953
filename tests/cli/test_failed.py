"""A run of which a program crashed makes the exit status 1, whichever command and option ran it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from tests.runner import small

from flashcrowd.cli import _status
from flashcrowd.cli import reproduce as reproducing
from flashcrowd.engines import registry
from flashcrowd.engines.simulation import Simulator
from flashcrowd.papers import Reproduction
from flashcrowd.store import open as open_results
from flashcrowd.traps import emulated, trap, words
from flashcrowd.traps.emulated import Beside
from flashcrowd.traps.outcome import Verdicts

WHY = "aria2 on homes-3: it was killed by SIGKILL (out of memory?)"
EXPECTED = '\n[expect.fast]\nmeasure = "mean download time"\nbelow = "10 min"\n'


class Crashing(Simulator):
    """In one of its runs a program crashes."""

    def run(self, plan, seed, handle) -> Mapping[str, pa.Table]:
        tables = super().run(plan, seed, handle)
        run, said = tables["run"], {"outcome": "failed", "reason": WHY}
        for name, text in said.items():
            place = run.schema.get_field_index(name)
            run = run.set_column(place, name, pa.array([text]).cast(run.schema.field(name).type))
        return {**tables, "run": run}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(registry, "engine", lambda name: Crashing())
    path = tmp_path / "small.toml"
    path.write_text(small.swarm("leechers", hosts=2, size="1 MB", repeats=1) + EXPECTED)
    return path


@pytest.mark.parametrize(
    "more",
    [[], ["--quiet"], ["--strict"], ["--expect"], ["--strict", "--expect", "--report"]],
    ids=" ".join,
)
def test_run(
    more: list[str], study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(study), "--out", str(tmp_path / "r"), *more]
    assert _status(command) == 1
    said = capsys.readouterr().err
    assert " runs failed: " + WHY in said
    # What is kept is as it is: the same command does not make it well.
    assert _status(command) == 1


def test_a_shard_and_what_it_is_merged_into(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(tmp_path / "1"), str(tmp_path / "r")
    assert _status(["run", str(study), "--shard", "1/1", "--out", folder]) == 1
    assert f" runs failed: {WHY}" in capsys.readouterr().err
    assert _status(["merge", out, folder]) == 1
    assert f" runs failed: {WHY}" in capsys.readouterr().err
    assert open_results(Path(out)).tables["runs"].num_rows > 0


def test_a_paper(
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _status(["run", str(study), "--out", str(tmp_path / "r"), "--quiet"]) == 1
    found = Reproduction([], tmp_path, results=[("swarms", open_results(tmp_path / "r"))])
    monkeypatch.setattr(reproducing, "reproduce_paper", lambda *_, **__: found)
    capsys.readouterr()
    assert _status(["reproduce", "rao2010"]) == 1
    assert f" runs of study swarms failed: {WHY}" in capsys.readouterr().err


def test_a_trap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / emulated.FOLDER).mkdir()
    verdicts = Verdicts(trap.load("usual"), (0.4,), (), 1)
    found = Beside(verdicts, verdicts, "transmission", {}, 3, (), (WHY,))
    monkeypatch.setattr(emulated, "conduct", lambda *_, **__: [found])
    monkeypatch.setattr(words, "beside_markdown", lambda _: "")
    assert _status(["traps", "usual", "--engine", "emulation", "--out", str(tmp_path)]) == 1
    assert f"1 of 3 runs of trap usual failed: {WHY}" in capsys.readouterr().err
