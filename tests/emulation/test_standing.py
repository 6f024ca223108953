"""When a run on several nodes is over: as it would be on one."""

import json
from dataclasses import replace
from typing import Any

from tests.clients import testbed
from tests.engines.plans import made

from flashcrowd.base.messages import decoded, encoded
from flashcrowd.emulation.messages import Standing
from flashcrowd.emulation.standing import Judge


def plan(**more: Any) -> Any:
    """A swarm of seven pieces."""
    made = testbed.plan(
        {"name": "seed", "role": "seed"}, {"name": "crowd"}, size="100000 B", piece="16 KiB"
    )
    made["workloads"][0].update({"name": "crowd", **more})
    made["stop"] = {"horizon_ns": 60_000_000_000, "stall_ns": 5_000_000_000}
    return made


def standing(t_s: float, held: Any = "Unknown", **swarm: Any) -> Standing:
    """What a node says of two leechers."""
    known = {
        "leechers": 2,
        "completed": 0,
        "gave_up": 0,
        "bytes": 1,
        "came": 2,
        "first_arrival": 0,
        "last_arrival": 0,
        "waits": False,
        "sources": 0,
        "missing": None,
        "may_upload": True,
        "stopped": False,
        **swarm,
    }
    part = json.dumps({"standing": known, "held": held})
    return Standing(t_s=t_s, part=t_s / 60, swarms={"crowd": part})


def bits(*of: int) -> dict[str, list[int]]:
    """A bitfield."""
    return {"Bits": list(of)}


def test_a_swarm_is_done_when_all_nodes_are() -> None:
    judge = Judge(made(plan()), 2)
    assert judge.hear(0, standing(1, completed=2)) is None, "the other has not spoken yet"
    assert judge.hear(1, standing(1, completed=1, waits=True)) is None
    assert judge.missing(0) == {"crowd": True}
    assert judge.missing(1) == {"crowd": False}
    assert judge.hear(1, standing(2, completed=2)) == ("completed", "")


def test_completions_of_all_nodes_count() -> None:
    judge = Judge(made(plan(stop_after_completions=3)), 2)
    assert judge.hear(0, standing(1, completed=2, bytes=1)) is None
    over = judge.hear(1, standing(1, completed=1, gave_up=1, bytes=2))
    assert over == ("completed", "")


def test_a_swarm_stalls_when_nobody_receives_anything() -> None:
    judge = Judge(made(plan()), 2)
    for t_s in range(1, 7):
        assert judge.hear(0, standing(t_s, completed=1, gave_up=1, bytes=9)) is None
        # One node's peers go on: the swarm has not stalled.
        assert judge.hear(1, standing(t_s, bytes=t_s, waits=True)) is None
    for t_s in (7, 10):
        assert judge.hear(0, standing(t_s, completed=1, gave_up=1, bytes=9)) is None
        assert judge.hear(1, standing(t_s, bytes=6, waits=True)) is None
    words = "swarm crowd: no block arrived for 5 s, 1 of 4 leechers complete"
    assert judge.hear(1, standing(11, bytes=6, waits=True)) == ("stalled", words)


def test_seeds_on_another_node_do_not_stall_while_nobody_waits() -> None:
    judge = Judge(made(plan()), 2)
    for t_s in (1, 20, 40):
        assert judge.hear(0, standing(t_s, "All", leechers=0, came=0)) is None
        assert judge.hear(1, standing(t_s, completed=1, held="All")) is None


def test_a_piece_that_no_node_has_ends_the_run() -> None:
    judge = Judge(made(plan()), 2)
    assert judge.hear(0, standing(1, "All", leechers=0, came=0)) is None
    for t_s in (1, 2):
        assert judge.hear(1, standing(t_s, waits=True, held=bits(0xC0))) is None
    assert judge.hear(0, standing(3, leechers=1, waits=True, held=bits(0x20))) is None
    words = "swarm crowd: no seed left, 4 of 7 pieces missing, 0 of 3 leechers complete"
    assert judge.hear(1, standing(6, waits=True, held=bits(0xC0))) == ("stalled", words)


def test_the_horizon_is_all_nodes() -> None:
    judge = Judge(made(plan()), 2)
    assert judge.hear(0, standing(60, bytes=1)) is None
    assert judge.part == 0.0
    words = "transfer bulk flow 0: 5 of 9 bytes; swarm crowd: 0 of 4 leechers complete"
    other = replace(standing(60), unfinished=["transfer bulk flow 0: 5 of 9 bytes"])
    assert judge.hear(1, other) == ("horizon", words)


def test_a_failure_names_its_node_and_a_stop_is_one() -> None:
    judge = Judge(made(plan()), 2)
    failed = replace(standing(1), failure="aria2 on homes-3: it was ended")
    assert judge.hear(1, failed) == ("failed", "node 1: aria2 on homes-3: it was ended")
    judge = Judge(made(plan()), 2)
    judge.hear(0, standing(1, completed=1, gave_up=1, stopped=True))
    over = judge.hear(1, standing(1, stopped=True))
    assert over == ("stopped", "the timeline stopped a swarm with 1 of 4 leechers complete")


def test_what_is_told_is_heard() -> None:
    said = standing(1, bytes=3, waits=True)
    assert decoded(encoded(said), Standing) == said


def test_transfers_end_a_run_and_without_anything_that_ends_it_goes_on() -> None:
    judge = Judge(made(plan() | {"workloads": []}), 2)
    assert judge.hear(0, Standing(t_s=1)) is None
    assert judge.hear(1, Standing(t_s=1)) is None
    assert judge.hear(1, Standing(t_s=1, finite=1)) is None
    assert judge.hear(1, Standing(t_s=1, finite=1, ended=1)) == ("completed", "")


def test_a_swarm_of_which_nothing_arrived_is_no_success_when_it_is_stopped() -> None:
    for down, outcome in ((0, "undelivered"), (1, "stopped")):
        judge = Judge(made(plan()), 2)
        assert judge.hear(0, standing(9, bytes=down, stopped=True)) is None
        over = judge.hear(1, standing(9, bytes=0, stopped=True))
        assert over is not None
        assert over[0] == outcome
