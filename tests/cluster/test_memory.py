"""Workers that share the memory of one machine."""

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster.memory import Room, Worker, at_once, nothing, shared

GB = 10**9


def worker(number: int, free: float, *, threads: int = 1, host: str = "a", group: str = "") -> dict:
    """A worker without a limit of its own, of a machine of which so many GB are free."""
    shares = {"machine": int(free * GB)} | ({group: int(2 * GB)} if group else {})
    name = f"worker tcp://{host}:{number} on {host}"
    return {f"tcp://{host}:{number}": Worker(name, host, threads, 0, shares)}


def test_runs_beside_each_other_are_the_largest() -> None:
    needed = at_once([1, 5, 3])
    assert [needed(runs) for runs in range(5)] == [0, 5, 8, 9, 9]


def test_workers_of_a_machine_have_its_memory_together() -> None:
    room = Room(at_once([3 * GB] * 10))
    three = worker(1, 10) | worker(2, 10) | worker(3, 10)
    room.look(three, three)
    four = worker(4, 1)  # less is free now, as the first three have begun
    with pytest.raises(ClusterError) as caught:
        room.look(three | four, four)
    assert str(caught.value) == (
        "4 workers on a have too little memory: 10 GB are available there, 4 runs at a time are "
        "expected to need 12 GB; start fewer of them, or begin all the same with --force"
    )


def test_workers_of_two_machines_do_not() -> None:
    room = Room(at_once([3 * GB] * 10))
    both = worker(1, 4) | worker(1, 4, host="b")
    room.look(both, both)


def test_a_control_group_may_leave_less() -> None:
    room = Room(at_once([3 * GB // 2] * 10))
    apart = worker(1, 10, group="job 1") | worker(2, 10, group="job 2")
    room.look(apart, apart)
    same = worker(3, 10, group="job 2")
    with pytest.raises(ClusterError, match=r"2 workers on a have .* 2 GB are available"):
        room.look(apart | same, same)


def test_a_worker_that_has_gone_counts_no_more() -> None:
    room = Room(at_once([3 * GB] * 10))
    for number in range(5):
        one = worker(number, 4)
        room.look(one, one)


def test_a_study_of_few_runs_does_not_use_all_threads() -> None:
    room = Room(at_once([3 * GB]))
    one = worker(1, 4, threads=16)
    room.look(one, one)


def test_one_worker_is_named() -> None:
    one = worker(1, 4, threads=2)
    with pytest.raises(ClusterError, match=r"worker tcp://a:1 on a has .*; give it fewer threads"):
        Room(at_once([3 * GB] * 2)).look(one, one)
    Room(nothing).look(one, one)


def test_this_machine_says_what_is_free() -> None:
    said = shared()
    assert said["machine"] > 1 << 20
    assert all(count <= said["machine"] * 1.5 for count in said.values())
