"""Repeats until the mean is known: more runs where they are needed, the same ones every time."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.runner.bytes import tables as bytes_of
from tests.runner.fake import FakeEngine, FakeHandle, campaign

from flashcrowd._core import Plan
from flashcrowd.base.errors import StudyError
from flashcrowd.base.looks import Looks
from flashcrowd.engines import Engine
from flashcrowd.report import sequential
from flashcrowd.store import Results, schema
from flashcrowd.study import Study
from flashcrowd.study.campaign import Campaign, conduct, fitting_folder
from flashcrowd.study.pool import Done, Job, Keep
from flashcrowd.study.seeds import seed_of
from flashcrowd.study.threads import Threads
from flashcrowd.study.until import with_repeats

LOOKS = Looks(0.05, 5, 60)
QUIET, LOUD = "1 ms", "60 ms"
"""Round-trip times that this engine takes for the spread of download times."""


class Crowd(FakeEngine):
    """Its runs end well; the download takes 100 s, give or take the round-trip time in ms / 10."""

    def run(self, plan: Plan, seed: int, handle: FakeHandle) -> Mapping[str, pa.Table]:
        super().run(plan, seed, handle)
        spread = (plan.stop["horizon_ns"] - 1) / 10
        time = random.Random(f"{spread} {seed}").gauss(100, spread)
        run = dict.fromkeys((c.name for c in schema.ENGINE_TABLES["run"].columns), 0)
        run |= {"outcome": "completed", "reason": "", "end_s": time}
        who = {"swarm": "swarm", "population": "leechers", "host": "h", "peer": 1, "pieces": 1}
        who |= {"arrived_s": 0.0, "completed_s": time, "left_s": None, "duration_s": time}
        who |= {"downloaded_bytes": 1, "uploaded_bytes": 1}
        layouts = schema.ENGINE_TABLES
        return {
            name: pa.Table.from_pylist([{c.name: row[c.name] for c in layouts[name].columns}],
                                       schema=layouts[name].schema)
            for name, row in (("run", run), ("downloads", who))
        }  # fmt: skip


def crowd(looks: Looks = LOOKS, rtts: tuple[str, ...] = (QUIET, LOUD)) -> Campaign:
    """A study of two points, one of which needs few runs."""
    found = campaign(rtts=rtts, repeats=1)
    first = with_repeats(found.manifest, [looks.at_least] * len(rtts), found.study["seed"])
    rule = {"until": f"{100 * looks.until:g} %", "at_least": looks.at_least}
    study = {**found.study, "repeats": {**rule, "at_most": looks.at_most}}
    return replace(found, manifest=first, study=study, looks=looks)


def counts(results: Results) -> list[int]:
    points = results.runs.column("point").to_pylist()
    return [points.count(point) for point in sorted(set(points))]


def test_points_get_as_many_runs_as_they_need(tmp_path: Path) -> None:
    results = conduct(crowd(), Crowd(), tmp_path / "r", Threads(2))
    quiet, loud = counts(results)
    assert quiet == 5
    assert loud in LOOKS.schedule[1:]
    assert len(results.manifest.runs) == quiet + loud
    values = results.downloads.column("duration_s").to_pylist()
    points = results.runs.column("point").to_pylist()
    of_loud = [value for value, point in zip(values, points, strict=True) if point == 1]
    # The rule holds at the last look, and at no look before.
    for count in LOOKS.schedule[: LOOKS.schedule.index(loud) + 1]:
        found = sequential.estimate(of_loud[:count], LOOKS)
        assert sequential.narrow(found, LOOKS) == (count == loud)


def test_runs_stand_in_the_order_of_studies_with_the_seeds_of_studies(tmp_path: Path) -> None:
    results = conduct(crowd(), Crowd(), tmp_path / "r", Threads(2))
    runs = results.manifest.runs
    assert [(run.repeat, run.point) for run in runs] == sorted((r.repeat, r.point) for r in runs)
    assert all(run.seed == seed_of(100, run.repeat) for run in runs)


def test_a_point_that_stays_wide_ends_at_the_cap(tmp_path: Path) -> None:
    results = conduct(crowd(Looks(0.001, 5, 12)), Crowd(), tmp_path / "r", Threads(2))
    assert counts(results) == [12, 12]


def test_bytes_depend_neither_on_jobs_nor_on_interruptions(tmp_path: Path) -> None:
    calm = conduct(crowd(), Crowd(), tmp_path / "calm", Threads(1))
    conduct(crowd(), Crowd(), tmp_path / "many", Threads(4, 0.0))
    folder = tmp_path / "torn"
    total = len(calm.manifest.runs)
    for after in range(0, total, 3):
        with pytest.raises(KeyboardInterrupt):
            conduct(crowd(), Crowd(), folder, Torn(after))
    conduct(crowd(), Crowd(), folder, Threads(2))
    assert bytes_of(tmp_path / "calm") == bytes_of(tmp_path / "many") == bytes_of(folder)
    for name in ("manifest.json", "study.json"):
        assert (folder / name).read_bytes() == (tmp_path / "calm" / name).read_bytes()


class Torn:
    """A pool that is interrupted when the folder has so many runs more, or all but one."""

    def __init__(self, runs: int) -> None:
        self.left = max(1, runs % 7)

    def execute(self, engine: Engine, jobs: Sequence[Job], keep: Keep, watch: Any = None) -> None:
        for job in jobs:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            tables = engine.run(job.plan, job.run.seed, engine.handle())
            keep([Done(job.run, tables, {"wall_s": 0.0, "worker": 0, "peak_bytes": None})])
        raise KeyboardInterrupt


def test_a_second_call_runs_nothing(tmp_path: Path) -> None:
    conduct(crowd(), Crowd(), tmp_path / "r", Threads(2))
    again = Crowd()
    conduct(crowd(), again, tmp_path / "r", Threads(2))
    assert again.ran == []


def test_a_narrower_rule_goes_on_and_a_wider_one_keeps_what_is_there(tmp_path: Path) -> None:
    first = counts(conduct(crowd(), Crowd(), tmp_path / "r", Threads(2)))
    more = Looks(0.035, 5, 60)
    second = conduct(crowd(more), Crowd(), tmp_path / "r", Threads(2))
    assert counts(second)[1] > first[1]
    conduct(crowd(more), Crowd(), tmp_path / "anew", Threads(2))
    assert bytes_of(tmp_path / "r") == bytes_of(tmp_path / "anew")
    assert counts(conduct(crowd(), Crowd(), tmp_path / "r", Threads(2))) == counts(second)


def test_a_folder_that_was_stopped_fits_and_another_study_does_not(tmp_path: Path) -> None:
    conduct(crowd(), Crowd(), tmp_path / "r", Threads(2))
    assert fitting_folder(crowd(), tmp_path / "r") == tmp_path / "r"
    other = crowd(rtts=(QUIET, "200 ms"))
    assert fitting_folder(other, tmp_path / "r") == tmp_path / "r-2"


SMALL: dict[str, Any] = {
    "format": 1,
    "title": "Small",
    "network": {"rtt": "20 ms", "groups": {"a": {}, "b": {}}},
    "workloads": {"t": {"kind": "transfer", "from": "a", "to": "b", "size": "1 MB"}},
}


def test_the_text_is_short_for_the_table() -> None:
    study = Study.from_dict({**SMALL, "repeats": "until 2 %"})
    assert study.resolved()["repeats"] == {"until": "2 %", "at_least": 5, "at_most": 100}
    assert (study.least_repeats, study.most_repeats) == (5, 100)
    assert len(list(study.runs())) == 5
    table = Study.from_dict({**SMALL, "repeats": {"until": "2 %"}})
    assert table.resolved() == study.resolved()
    assert Study.from_dict(study.resolved()).resolved() == study.resolved()
    assert study.fingerprint() == Study.from_dict(SMALL).fingerprint()


@pytest.mark.parametrize(
    ("given", "path", "allowed"),
    [
        ("five", "repeats", "a whole number"),
        ("until later", "repeats", "until when"),
        ("until 0 %", "repeats.until", "more than 0 %"),
        ({"at_least": 5}, "repeats.until", "this key is needed"),
        ({"until": "2 %", "at_least": 9, "at_most": 8}, "repeats.at_least", "no more runs"),
        ({"until": "2 %", "most": 8}, "repeats.most", "no such key"),
        (0, "repeats", "at least 1"),
        (2.5, "repeats", "a whole number"),
    ],
)
def test_mistakes_are_named(given: Any, path: str, allowed: str) -> None:
    with pytest.raises(StudyError) as wrong:
        Study.from_dict({**SMALL, "repeats": given})
    (problem,) = wrong.value.problems
    assert problem.path == path
    assert allowed in problem.allowed
