"""Which runs go together."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.runner.fake import planned

from flashcrowd.cluster.groups import LEAST_S, SHARE, TASK_S, Groups
from flashcrowd.store.manifest import Run
from flashcrowd.study.pool import Job

PLAN = planned()


def jobs(count: int, points: int = 1) -> list[Job]:
    return [Job(Run(number % points, number // points, number), PLAN) for number in range(count)]


def all_of(groups: Groups, slots: int) -> list[list[Job]]:
    return list(iter(lambda: groups.take(slots), []))


@given(
    st.lists(st.none() | st.floats(1e-4, 100), min_size=1, max_size=5),
    st.integers(0, 300),
    st.integers(0, 50),
)
def test_every_run_is_taken_once_and_in_order(needs, count: int, slots: int) -> None:
    given_jobs = jobs(count, len(needs))
    groups = Groups(given_jobs, lambda job: needs[job.run.point])
    assert list(itertools.chain(*all_of(groups, slots))) == given_jobs
    assert not groups


def test_a_task_lasts_seconds() -> None:
    groups = Groups(jobs(10_000), lambda _: 0.03)
    assert 0.9 * TASK_S / 0.03 <= len(groups.take(2)) <= 1.2 * TASK_S / 0.03


def test_long_runs_go_alone() -> None:
    assert {len(task) for task in all_of(Groups(jobs(30), lambda _: 10.0), 2)} == {1}


def test_runs_of_which_nothing_is_known_go_alone_until_one_is_measured() -> None:
    groups = Groups(jobs(10_000), lambda _: None)
    assert len(groups.take(2)) == len(groups.take(2)) == 1
    groups.learn(0, 0.03)
    assert len(groups.take(2)) > 50


def test_what_was_measured_counts_more_than_what_was_predicted() -> None:
    groups = Groups(jobs(10_000, 2), lambda _: 3.0)
    assert len(groups.take(2)) == 1
    groups.learn(0, 0.03)  # of the other point by the ratio
    assert len(groups.take(2)) > 50


def test_the_end_is_in_small_tasks() -> None:
    sizes = [len(task) for task in all_of(Groups(jobs(2000), lambda _: 0.03), 4)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2] * 0.03 < 1.5 * LEAST_S
    assert sizes[0] * 0.03 <= 1.2 * min(TASK_S, 60 / (SHARE * 4))


def test_runs_of_a_lost_task_go_alone_and_first() -> None:
    groups = Groups(jobs(100), lambda _: 0.001)
    lost = groups.take(1)
    groups.give_back(lost)
    assert [groups.take(1) for _ in lost] == [[job] for job in lost]
