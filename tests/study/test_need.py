"""Studies that do not fit into memory are refused in words, with the number of jobs that would."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.runner.fake import FakeEngine, planned

import flashcrowd
from flashcrowd._core import Plan
from flashcrowd.base.amounts import duration
from flashcrowd.base.errors import StudyError
from flashcrowd.base.need import Need
from flashcrowd.cli import main
from flashcrowd.engines import PlanRejected, registry
from flashcrowd.scenario.check import SHRINK
from flashcrowd.study import Study, need
from flashcrowd.study.need import StudyNeed, problem, size

GB = 10**9
STUDY = Path(__file__).parents[2] / "studies" / "dumbbell.toml"
SHORT = ["--set", "stop.horizon=1 s", "--repeats", "1", "--quiet"]


def of(*sizes: int, repeats: int = 1, jobs: int = 2) -> StudyNeed:
    return StudyNeed([Need(10, 4, 2.0, size, 1.0) for size in sizes], repeats, jobs)


def test_the_largest_runs_may_stand_beside_each_other() -> None:
    assert of(1, 5, 3).bytes == 8
    assert of(1, 5, 3, repeats=2).bytes == 10
    assert of(1, 5, 3, jobs=1).bytes == 5
    assert of(5, jobs=4).bytes == 5


def test_all_runs_together_take_their_sum_or_the_longest() -> None:
    three = of(1, 1, 1, repeats=2, jobs=4)
    assert (three.packets, three.events, three.core_seconds, three.seconds) == (24, 60, 12.0, 3.0)
    assert of(1, jobs=4).seconds == 2.0


def test_what_fits_or_is_not_known_is_no_problem() -> None:
    assert problem(of(GB, GB), 2 * GB) is None
    assert problem(of(GB, GB), None) is None
    assert problem(StudyNeed([None], 1, 1), 0) is None


def test_fewer_jobs_are_named_where_they_fit() -> None:
    found = problem(of(GB, 3 * GB, 2 * GB, jobs=3), 5 * GB)
    assert found is not None
    assert (found.path, found.value) == ("jobs", "3, which need 6 GB of memory")
    assert found.allowed == "at most 5 GB, which this machine has available"
    assert found.hint == "--jobs 2 fits; --force begins all the same"


def test_the_point_is_named_that_does_not_fit_alone() -> None:
    found = problem(of(GB, 3 * GB), 2 * GB)
    assert found is not None
    assert (found.path, found.value) == ("point 1", "a run needs 3 GB of memory")


class Slow(FakeEngine):
    """Notes how many plans it is asked about at a time, and in which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, str]] = []

    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        if any(plan.title == "wrong" for plan in plans):
            raise PlanRejected("it is wrong")
        self.asked.append((len(plans), threading.current_thread().name))
        return [Need(int(plan.title), 1, 1.0, 1, 1.0) for plan in plans]


@pytest.mark.parametrize("count", [0, 1, need.AT_A_TIME, 7 * need.AT_A_TIME + 3])
def test_plans_are_asked_about_in_order_and_beside_their_making(count: int) -> None:
    engine = Slow()
    found = need.needs_of(engine, (planned(str(it)) for it in range(count)))
    assert [it.events for it in found if it is not None] == list(range(count))
    assert sum(asked for asked, _ in engine.asked) == count
    here = threading.current_thread().name
    assert all((name == here) == (count < need.AT_A_TIME) for _, name in engine.asked)


def test_plans_wait_in_a_number_that_does_not_grow() -> None:
    made, behind, lock = 0, [], threading.Event()

    class Waiting(Slow):
        def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
            lock.wait(0.02)
            behind.append(made - int(plans[0].title))
            return super().needs(plans)

    def plans() -> Iterator[Plan]:
        nonlocal made
        for made in range(20 * need.AT_A_TIME):
            yield planned(str(made))

    need.needs_of(Waiting(), plans())
    assert max(behind) <= (need.WAITING + 2) * need.AT_A_TIME


def test_a_plan_that_is_refused_ends_the_asking() -> None:
    one, wrong = planned("1"), planned("wrong")
    with pytest.raises(PlanRejected):
        need.needs_of(Slow(), [one] * need.AT_A_TIME + [wrong] + [one] * 10 * need.AT_A_TIME)


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has a megabyte left."""
    # First this one, whose import would keep what is changed in the other.
    monkeypatch.setattr("flashcrowd.cli.check.available_memory", lambda: 10**6)
    monkeypatch.setattr(need, "available_memory", lambda: 10**6)


@pytest.mark.usefixtures("tight")
def test_run_refuses_what_does_not_fit_and_writes_nothing(tmp_path: Path, capsys) -> None:
    out = tmp_path / "r"
    assert status("run", str(STUDY), *SHORT, "--out", str(out)) == 2
    said = capsys.readouterr().err
    assert "point 2" in said  # its queue is the longest
    assert "at most 1 MB, which this machine has available" in said
    assert "--force" in said
    assert not out.exists()


@pytest.mark.usefixtures("tight")
def test_run_begins_what_is_forced(tmp_path: Path) -> None:
    assert status("run", str(STUDY), *SHORT, "--out", str(tmp_path / "r"), "--force") == 0


@pytest.mark.usefixtures("tight")
def test_python_users_are_refused_as_well(tmp_path: Path) -> None:
    study = Study.load(STUDY, set={"stop.horizon": "1 s"}, repeats=1)
    with pytest.raises(StudyError, match="which this machine has available"):
        flashcrowd.run(study, tmp_path / "r", progress=False)
    assert flashcrowd.run(study, tmp_path / "r", progress=False, force=True).tables["runs"]


@pytest.mark.usefixtures("tight")
def test_check_says_that_it_does_not_fit(capsys) -> None:
    assert status("check", str(STUDY)) == 2
    out = capsys.readouterr().out
    assert "\n#   a run " in out
    assert "\n#   all, " in out
    assert "\n# Does not fit: point" in out
    assert f"\n# To shrink a crowd, {SHRINK}." in out


def test_check_says_that_nobody_knows(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashcrowd.cli.check.available_memory", lambda: None)
    assert status("check", str(STUDY)) == 0
    assert "\n# How much memory is available here is not known" in capsys.readouterr().out


def test_an_engine_need_not_know(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "engine", lambda name: FakeEngine())
    assert status("check", str(STUDY)) == 0
    assert "# What it will need, this engine cannot tell." in capsys.readouterr().out


def test_numbers_are_written_as_people_write_them() -> None:
    assert [size(it) for it in (2.5e3, 19.06e6, 41.2e9, 3e12)] == [
        "2.5 kB",
        "19.1 MB",
        "41.2 GB",
        "3 TB",
    ]
    assert size(999_900) == "1 MB"
    written = [duration(it) for it in (2e-4, 0.0156, 0.82, 7.2, 16, 90, 7200, 2e6)]
    assert written == ["0.2 ms", "16 ms", "820 ms", "7.2 s", "16 s", "1.5 min", "2 h", "23 d"]


def test_check_says_that_its_time_is_that_of_idle_cores(
    capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is processor time: a machine that is busy otherwise takes longer."""
    monkeypatch.setattr("flashcrowd.cli.check.calibrated", lambda _, points, need, seed: need)
    assert status("check", str(STUDY)) == 0
    assert "#   time is of this machine while its cores are idle;" in capsys.readouterr().out
