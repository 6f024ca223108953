"""The history of how far the simulation is from real programs."""

from dataclasses import replace
from pathlib import Path

import pytest
from benches import reality
from benches.reality import Distance

import flashcrowd

STUDY = """
format = 1
title = "A transfer"
seed = 1
repeats = 3

[network.groups.home]
hosts = 2
access = { up = "10 Mbit/s", down = "10 Mbit/s", delay = "10 ms", jitter = "1 ms" }

[workloads.flow]
kind = "transfer"
from = "home-1"
to = "home-2"
size = "1 MB"
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Distance]:
    """A study played twice by one engine, with other seeds."""
    folder = tmp_path_factory.mktemp("reality")
    sides = []
    for seed in (1, 2):
        (folder / "study.toml").write_text(STUDY.replace("seed = 1", f"seed = {seed}"))
        made = flashcrowd.run(folder / "study.toml", folder / str(seed), progress=False)
        sides.append(made)
    real, simulated = sides
    return list(reality.distances("flow", real, simulated, "2026-11-30", "abcdef01"))


def test_each_number_of_the_headline_has_its_distance(found: list[Distance]) -> None:
    assert found
    for it in found:
        assert (it.study, it.real, it.simulated) == ("flow", 3, 3)
        assert it.low is not None
        assert it.high is not None
        assert it.low <= it.difference <= it.high
        assert abs(it.difference) < 0.1


def test_a_history_is_read_as_it_was_written(found: list[Distance], tmp_path: Path) -> None:
    file = tmp_path / "reality.csv"
    assert reality.read(file) == []
    reality.append(file, found)
    alone = replace(found[0], low=None, high=None, real=1)
    reality.append(file, [alone])
    assert reality.read(file) == [*found, alone]


def test_a_number_that_has_moved_is_told_beside_the_last_one(found: list[Distance]) -> None:
    it = found[0]
    assert it.low is not None
    assert it.high is not None
    far = Distance(
        **{**vars(it), "date": "2026-12-07", "low": it.high + 0.1, "high": it.high + 0.2}
    )
    (line,) = reality.lines([far], [it])
    assert line.endswith(f"on 2026-11-30 {100 * it.difference:+.1f} %, MOVED")
    (line,) = reality.lines([it], [it])
    assert line.endswith(f"on 2026-11-30 {100 * it.difference:+.1f} %")
    (line,) = reality.lines([it], [])
    assert "on 2026" not in line


def test_a_machine_that_is_late_for_everything_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reality, "HISTORY", tmp_path / "reality.csv")
    monkeypatch.setattr(reality, "played", lambda study: (None, None))
    monkeypatch.setattr(reality, "distances", lambda *given: iter(()))
    assert reality.main([Path("late.toml")]) == 1
    assert "NOTHING COULD BE COMPARED" in capsys.readouterr().out
