"""Runs that were invalid are played again by a later call, if that is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from tests.runner.fake import FakeEngine, FakeHandle, campaign

from flashcrowd._core import Plan
from flashcrowd.engines import EngineFault
from flashcrowd.store import open as open_results
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads


class Punctual(FakeEngine):
    """Its runs are invalid where their seed is in `late`."""

    def __init__(self, late: tuple[int, ...] = (), again: int = 0, faulty: tuple[int, ...] = ()):
        super().__init__(faulty=faulty)
        self.late = late
        self.repeat_invalid = again

    def run(self, plan: Plan, seed: int, handle: FakeHandle) -> Mapping[str, pa.Table]:
        tables = super().run(plan, seed, handle)
        said = pa.array(["invalid" if seed in self.late else "completed"]).dictionary_encode()
        run = tables["run"]
        place = run.schema.get_field_index("outcome")
        return {**tables, "run": run.set_column(place, "outcome", said)}


def outcomes(folder: Path) -> list[str]:
    return open_results(folder).tables["runs"].column("outcome").to_pylist()


def test_a_later_call_plays_them_again(tmp_path: Path) -> None:
    folder, never_late = tmp_path / "r", tmp_path / "n"
    conduct(campaign(), Punctual(late=(101,)), folder, Threads(1))
    assert outcomes(folder) == ["completed", "invalid", "completed"] * 2
    unasked = Punctual()
    conduct(campaign(), unasked, folder, Threads(1))
    assert unasked.ran == []
    still_late = Punctual(late=(101,), again=1)
    conduct(campaign(), still_late, folder, Threads(1))
    assert outcomes(folder).count("invalid") == 2
    asked = Punctual(again=1)
    conduct(campaign(), asked, folder, Threads(1))
    assert [seed for _, seed in asked.ran] == [101, 101]
    nothing_left = Punctual(again=1)
    conduct(campaign(), nothing_left, folder, Threads(1))
    assert nothing_left.ran == []
    conduct(campaign(), Punctual(), never_late, Threads(1))
    for name in ("runs", "downloads", "links"):
        played, other = (open_results(it).tables[name] for it in (folder, never_late))
        assert played.equals(other), name


def test_what_was_played_stays_until_it_was_played_again(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    conduct(campaign(), Punctual(late=(101, 102)), folder, Threads(1))
    with pytest.raises(EngineFault):
        conduct(campaign(), Punctual(again=1, faulty=(101,)), folder, Threads(1))
    assert len(outcomes(folder)) == 6
    conduct(campaign(), Punctual(), folder, Threads(1))
    assert outcomes(folder).count("invalid") >= 2, "nothing was asked for"


def test_files_that_hold_nothing_any_more_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    conduct(campaign(), Punctual(late=(100, 101, 102)), folder, Threads(1))
    before = set((folder / "runs").iterdir())
    conduct(campaign(), Punctual(again=1), folder, Threads(1))
    assert not before & set((folder / "runs").iterdir())
