"""When a swarm of real programs can go on no longer."""

from dataclasses import replace

from flashcrowd.clients.client import bitfield
from flashcrowd.clients.completion import FLIGHT_S, SETTLED_S, SwarmStanding, Watch

SPEC = {
    "name": "crowd",
    "stop_after_completions": None,
    "populations": [{"replace": False}],
    "size_bytes": 100_000,
    "piece_bytes": 16_384,
}
STALL_S = 40.0


def test_only_who_lacks_something_and_is_there_can_stall() -> None:
    watch = Watch(SPEC, STALL_S)
    done = SwarmStanding(leechers=3, came=3, completed=2, over=2, down=9, sources=3)
    for now_s in (1.0, 50.0, 119.0):
        assert watch.outcome(done, now_s) == ""
    last = replace(done, came=4, missing=True)
    assert watch.outcome(last, 120.0) == ""
    assert watch.outcome(last, 159.0) == ""
    words = "swarm crowd: no block arrived for 40 s, 2 of 3 leechers complete"
    assert watch.outcome(last, 160.0) == words


def lost(**more) -> SwarmStanding:
    """Two of seven pieces are nowhere."""
    known = {"leechers": 2, "came": 3, "missing": True, "pieces": f"{0b1011_0110:x}"}
    return SwarmStanding(**{**known, **more})


def test_a_piece_that_nobody_has_or_will_bring_ends_a_swarm_once_nothing_is_under_way() -> None:
    watch = Watch(SPEC, STALL_S)
    assert watch.outcome(lost(sources=1, pieces=None), 5.0) == ""
    assert watch.outcome(lost(), 10.0) == ""
    assert watch.outcome(lost(down=1), 12.0) == ""
    assert watch.outcome(lost(down=1), 14.0) == "", "a block came 2 s ago"
    words = "swarm crowd: no seed left, 2 of 7 pieces missing, 0 of 2 leechers complete"
    assert watch.outcome(lost(down=1), 12.0 + SETTLED_S) == words


def test_those_who_are_left_may_exchange_what_they_have_for_so_long_only() -> None:
    watch = Watch(SPEC, STALL_S)
    for second in range(int(FLIGHT_S)):
        assert watch.outcome(lost(down=second), float(second)) == ""
    assert "2 of 7 pieces missing" in watch.outcome(lost(down=99), FLIGHT_S)


def test_a_piece_that_was_under_way_begins_the_wait_anew() -> None:
    watch = Watch(SPEC, STALL_S)
    assert watch.outcome(lost(), 0.0) == ""
    more = lost(pieces=f"{0b1111_0110:x}")
    assert watch.outcome(more, 2.0) == ""
    assert watch.outcome(more, 4.0) == ""
    assert "1 of 7 pieces missing" in watch.outcome(more, 2.0 + SETTLED_S)
    assert watch.outcome(lost(pieces=f"{0b1111_1110:x}"), 9.0) == ""


def test_a_swarm_that_is_done_or_of_which_too_little_is_known_goes_on() -> None:
    watch = Watch(SPEC, STALL_S)
    for now_s in (0.0, 10.0):
        assert watch.outcome(lost(over=2, completed=1), now_s) == ""
    assert watch.outcome(lost(pieces=None), 20.0) == ""


def test_what_nodes_know_is_put_together() -> None:
    here, there = lost(pieces="f0"), lost(pieces="0e", down=3)
    both = SwarmStanding.together([here, there])
    assert (both.leechers, both.came, both.down) == (4, 6, 3)
    assert both.pieces is not None
    assert int(both.pieces, 16) == 0xFE
    assert SwarmStanding.together([here, lost(sources=1, pieces=None)]).pieces is None


def test_the_first_piece_is_the_highest_bit() -> None:
    assert bitfield([]) == 0
    assert bitfield([True, False, False, False, False, False, False]) == 0x80
    assert bitfield([False] * 8 + [True]) == 0x0080
