"""Probes over the loopback interface, and reflectors that are not to be believed."""

from __future__ import annotations

import random
import selectors
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.probes import WAYS, Reflector, Sounder, icmp
from flashcrowd.autolimit.probes.sounder import BUDGET_BPS, BURST_BITS
from flashcrowd.autolimit.probes.vote import Vote

MS = 10**6
SECOND = 10**9
CLOSED = [Reflector("127.0.0.1", 9), Reflector("127.0.0.2", 9)]


def heard(
    sounder: Sounder, selector: selectors.BaseSelector, now: int, patience: float = 5.0
) -> Iterator[int | None]:
    for key, _ in selector.select(patience):
        assert isinstance(key.fileobj, socket.socket)
        for found in sounder.ready(now, key.fileobj):
            yield found.rtt


@pytest.mark.parametrize("way", list(WAYS))
def test_a_probe_comes_back(way: str) -> None:
    with selectors.DefaultSelector() as selector:
        try:
            sounder = Sounder(selector, CLOSED, [way])
        except OSError as error:
            pytest.skip(f"{way}: {error}")
        try:
            for turn in range(3):
                assert sounder.probe(turn * SECOND, 10 * SECOND)
                assert list(heard(sounder, selector, turn * SECOND + 5 * MS)) == [5 * MS]
            assert not list(sounder.expire(60 * SECOND))
        finally:
            sounder.close()


def test_icmp_goes_over_a_raw_socket_where_the_other_kind_is_not_permitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Root in a namespace whose `ping_group_range` is empty; and replies of others are not ours."""
    kinds: list[int] = []

    class Guarded(socket.socket):
        def __init__(self, family: int = -1, kind: int = -1, *more: int, **named: int) -> None:
            kinds.append(kind)
            if kind == socket.SOCK_DGRAM:
                raise PermissionError(1, "Operation not permitted")
            super().__init__(family, kind, *more, **named)

    with selectors.DefaultSelector() as selector:
        try:
            socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
        except OSError as error:
            pytest.skip(f"raw sockets: {error}")
        with monkeypatch.context() as patched:
            patched.setattr(icmp.socket, "socket", Guarded)
            sounder, other = (Sounder(selector, CLOSED, ["icmp"]) for _ in range(2))
        assert kinds == [socket.SOCK_DGRAM, socket.SOCK_RAW] * 2
        try:
            assert other.probe(0, 10 * SECOND)
            assert sounder.probe(0, 10 * SECOND)
            found = [rtt for _ in range(2) for rtt in heard(sounder, selector, 5 * MS)]
            assert found == [5 * MS]
        finally:
            sounder.close()
            other.close()


def test_an_answer_of_somebody_else_is_nobodys() -> None:
    """A resolver that answers twice, and with numbers that nobody asked for."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer() -> None:
            data, sender = server.recvfrom(512)
            for said in (b"\xff\xff lie", b"", data, data):
                server.sendto(said, sender)

        thread = threading.Thread(target=answer)
        thread.start()
        with selectors.DefaultSelector() as selector:
            reflector = Reflector("127.0.0.1", server.getsockname()[1])
            sounder = Sounder(selector, [reflector], ["udp"])
            sounder.probe(0, SECOND)
            thread.join()
            assert list(heard(sounder, selector, MS)) == [MS]
            sounder.close()


@given(st.lists(st.integers(0, 3 * SECOND), min_size=1, max_size=40))
def test_probes_stay_within_their_budget(gaps: list[int]) -> None:
    with selectors.DefaultSelector() as selector:
        sounder = Sounder(selector, [Reflector("127.0.0.1", 9)], ["udp"])
        now = sent = 0
        for gap in gaps:
            now += gap
            for _ in range(8):
                sent += sounder.probe(now, SECOND)
            if sent:
                list(heard(sounder, selector, now, patience=0))
        cost = WAYS["udp"]().cost * 8
        assert sent * cost <= BURST_BITS + BUDGET_BPS * now / SECOND + cost
        sounder.close()


def test_silence_of_all_tries_other_ways_and_says_each_once() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        with selectors.DefaultSelector() as selector:
            reflector = Reflector("127.0.0.1", mute.getsockname()[1])
            sounder = Sounder(selector, [reflector], ["udp", "tcp"])
            ways = [sounder.way]
            # TCP's handshakes are not answered either: nobody listens to the selector.
            for turn in range(120):
                now = turn * SECOND // 2
                sounder.probe(now, 10 * SECOND)
                list(sounder.expire(now))
                if sounder.way != ways[-1]:
                    assert sounder.changed
                    ways.append(sounder.way)
            assert ways[:4] == ["udp", "tcp", "udp", "tcp"]
            assert sounder.remarks == [
                "probes by udp get no answer; trying tcp",
                "probes by tcp get no answer; trying udp",
            ]
            sounder.close()


def play(answers: dict[int, list[int | None]], turns: int) -> dict[int, str]:
    """Reflectors 0 to 5, all asked equally often; who is dropped, and why."""
    vote = Vote(6)
    dropped = {}
    for turn in range(turns):
        for number in vote.at_work:
            mine = answers.get(number, [20 * MS])
            rtt = mine[turn % len(mine)]
            dropped.update(vote.hear(turn * SECOND, number, rtt))
    return dropped


def test_who_dies_or_answers_seldom_or_lies_is_dropped() -> None:
    assert play({}, 200) == {}
    assert play({1: [None]}, 20) == {1: "it does not answer"}
    assert play({2: [20 * MS, None]}, 60) == {2: "it answers some of the probes only"}
    wild: list[int | None] = [20 * MS, 70 * MS, 120 * MS, 75 * MS, 70 * MS]
    assert play({3: wild}, 60) == {3: "its delay is not that of the others"}


def test_silence_of_all_is_nobodys_fault() -> None:
    assert play({number: [None] for number in range(6)}, 50) == {}
    queue: list[int | None] = [20 * MS, 300 * MS, 310 * MS, 290 * MS, 305 * MS]
    assert play(dict.fromkeys(range(6), queue), 100) == {}


def test_bursts_make_nobody_a_liar() -> None:
    """As Transmission has them at two thirds of 1 Mbit/s: nothing in the queue, or up to 150 ms."""
    draw = random.Random(1)
    bursts: dict[int, list[int | None]] = {
        number: [20 * MS + draw.choice([0, draw.randrange(150)]) * MS for _ in range(997)]
        for number in range(6)
    }
    assert play(bursts, 600) == {}


def test_one_that_is_not_behind_the_line_is_found() -> None:
    queue: list[int | None] = [20 * MS, *(draw * MS for draw in range(200, 260, 3))]
    answers: dict[int, list[int | None]] = dict.fromkeys(range(6), queue)
    assert play({**answers, 1: [MS]}, 60) == {1: "its delay is not that of the others"}


def test_two_are_kept_whatever_they_do() -> None:
    vote = Vote(2)
    for turn in range(50):
        assert not list(vote.hear(turn * SECOND, 0, None))
        assert not list(vote.hear(turn * SECOND, 1, 20 * MS))
    assert vote.at_work == [0, 1]


answers = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 10**13)), max_size=200)


@given(answers)
def test_any_answers_leave_somebody_at_work(said: list[tuple[int, int | None]]) -> None:
    vote = Vote(6)
    for turn, (number, rtt) in enumerate(said):
        list(vote.hear(turn * 60 * SECOND, number, rtt))
        assert len(set(vote.at_work)) == len(vote.at_work) >= 2
        assert vote.next() in vote.at_work


def test_sleep_and_a_clock_that_was_set_are_told_apart() -> None:
    times = {"monotonic": 0, "boot": 0, "wall": 0}
    clock = Clock(*((lambda name=name: times[name]) for name in times))

    def after(**seconds: int) -> tuple[bool, float]:
        for name, span in seconds.items():
            times[name] += span * SECOND
        return clock.look()

    assert after(monotonic=1, boot=1, wall=1) == (False, 0.0)
    assert after(monotonic=1, boot=3601, wall=3601) == (True, 0.0)
    assert after(monotonic=1, boot=1, wall=-3599) == (False, -3600.0)
    assert after(monotonic=30, boot=30, wall=30) == (True, 0.0)
