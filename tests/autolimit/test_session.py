"""Whatever the line and the client do, limits stay in bounds, and the user has the last word."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd import _core
from flashcrowd.autolimit.memory import Memory
from flashcrowd.autolimit.orders import Orders
from flashcrowd.autolimit.restore import Unsure, restore
from flashcrowd.autolimit.session import Session
from flashcrowd.autolimit.turn import Said, turn
from flashcrowd.client_api.client import Gone, OwnLimits, Reading, Refused, Setting

SECOND = 10**9
PLACE = f"world of {os.getpid()}"
"""One process of this machine has a place at a time, whatever its state folder is."""


class World:
    """A client in memory, with a user who is not asked. Its own limits are odd, ours never are.

    Attributes:
        late: seconds after which it follows what it has answered, in order.
        held: seconds for which the next write is held up on its way, and has no answer.
        stubborn: it answers, and follows nothing.
        now: seconds.
    """

    name, place, peer = "World", "world", None
    memory: Memory

    def __init__(self, limit: int | None) -> None:
        self.limit = self.user = limit
        self.alternative = self.dead = self.stubborn = False
        self.uploaded = 10**12
        self.saved = limit
        self.late = self.held = self.now = 0.0
        self.restored = {limit}
        self._due: list[tuple[float, bool, int | None]] = []
        self._unread = self._fresh = False

    def read(self) -> Reading:
        self._answer()
        if self._unread and not self._fresh:
            self.user = self.limit
        self._unread = self._fresh = False
        return Reading(self.uploaded, 0, self.setting({"limit": self.limit}), self.alternative)

    def setting(self, kept: Mapping[str, Any]) -> Setting:
        return Setting(kept["limit"], {"limit": kept["limit"]})

    def rounded(self, limit: int) -> int:
        return max(limit // 1000, 1) * 1000

    def write(self, limit: int) -> None:
        self._answer()
        assert 1000 <= limit < 2**31
        assert not self.alternative, "the user's alternative speeds are not to be touched"
        assert self.user is None or limit < self.user
        assert self.limit in (*self.restored, self.user, *self.ours), "the user was overruled"
        assert limit in self.ours, "a limit that no state file knows"
        self._take(limit)

    def restore(self, kept: Mapping[str, Any]) -> None:
        self._answer()
        self.restored.add(kept["limit"])
        self._take(kept["limit"])

    def own_limits(self) -> OwnLimits:
        return OwnLimits()

    def abort(self) -> None:
        pass

    @property
    def ours(self) -> list[int]:
        return self.memory.ours

    def by_hand(self, limit: int | None) -> None:
        """The user sets it. What nobody read before an order came has never been there."""
        self._unread = self._unread or limit != self.limit
        self.limit = limit

    def again(self) -> None:
        """Started again, with what it had saved some time ago: its user has set nothing."""
        self.uploaded -= 10**9
        self.restored.add(self.saved)
        self.limit, self._unread, self._fresh = self.saved, True, True
        self.dead = False

    def unseen(self) -> None:
        """A process begins or ends that did not see it started again: what it has counts."""
        self._fresh = False

    def wait(self, seconds: float) -> None:
        """Time goes by."""
        self.now += seconds
        for each in [it for it in sorted(self._due, key=lambda it: it[0]) if it[0] <= self.now]:
            self._due.remove(each)
            self.limit, self._unread = each[2], False

    @property
    def finally_user(self) -> int | None:
        """What the user has set, whether or not it was read."""
        return self.limit if self._unread else self.user

    def _take(self, limit: int | None) -> None:
        if held := self.held:
            self.held = 0.0
            self._due.append((self.now + held, True, limit))
            raise Gone("no answer in time")
        if self.stubborn:
            return
        before = max((due for due, held, _ in self._due if not held), default=0.0)
        self._due.append((max(before, self.now + self.late), False, limit))
        self.wait(0.0)

    def _answer(self) -> None:
        if self.dead:
            raise Gone("dead")


odd = st.integers(3, 500).map(lambda kilobytes: kilobytes * 1000 + 1)
steps = st.one_of(
    st.tuples(st.just("tick"), st.integers(0, 300_000)),
    st.tuples(st.just("busy"), st.integers(1, 8)),
    st.tuples(st.just("busy"), st.integers(1, 8)),
    st.tuples(st.just("answer"), st.none() | st.integers(0, 20 * SECOND)),
    st.tuples(st.just("by hand"), st.none() | st.just(0) | odd),
    st.tuples(st.just("late"), st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.5, 3.0, 4.0])),
    st.tuples(st.just("hold"), st.sampled_from([0.5, 3.0, 7.0, 14.0, 50.0])),
    st.tuples(
        st.sampled_from(["alternative", "die", "save", "again", "stubborn", "kill", "sleep"]),
        st.integers(0, 10**14),
    ),
    st.tuples(
        st.sampled_from(["path-changed", "down", "up", "resumed"]).map(lambda name: f"!{name}"),
        st.just(0),
    ),
)
ODD = ("late", "hold", "stubborn", "kill")
"""Without these nobody is left in doubt. A write may be under way when its process is killed."""


@given(
    limit=st.none() | odd,
    control=st.sampled_from(
        ["autolimit", "autolimit-baseline", "autolimit-gradient", "adaptive-drc-mimd"]
    ),
    happens=st.lists(steps, max_size=40),
)
def test_whatever_happens_the_user_has_the_last_word_or_is_told(
    limit: int | None, control: str, happens: list[tuple[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    world = World(limit)
    client: Any = world
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATE_DIRECTORY", str(tmp_path_factory.mktemp("state")))
        patch.setattr("flashcrowd.autolimit.memory.Orders", lambda: Orders(lambda: world.now))

        session: Session | None = None

        def back() -> str:
            stale = session.owner.stale if session else []
            world.unseen()
            return restore(
                client, world.memory, stale=stale, wait=world.wait, clock=lambda: world.now
            )

        def begin() -> Session:
            nonlocal session
            session = None
            world.memory = Memory(PLACE)
            with contextlib.suppress(Unsure):
                back()
            return Session(
                int(world.now * SECOND), world.read(), control=control, reflectors=4,
                rounded=world.rounded, ours=world.memory.ours, given=world.memory.orders.doubtful(),
            )  # fmt: skip

        try:
            session = begin()
            ticks = ((it,) if it[0] != "busy" else (("busy", 100_000),) * it[1] for it in happens)
            for number, (what, value) in enumerate(chain.from_iterable(ticks)):
                world.wait(1.0)
                if what == "by hand":
                    # The same limit twice cannot be told from an order of before.
                    world.by_hand(value and value + 2 * number)
                elif what == "late":
                    world.late = value
                elif what == "hold":
                    world.held = value
                elif what == "alternative":
                    world.alternative = not world.alternative
                elif what == "die":
                    world.dead = True
                elif what == "save":
                    world.saved = world.limit
                elif what == "again":
                    world.again()
                elif what == "stubborn":
                    world.stubborn = not world.stubborn
                elif what == "kill" and not world.dead:
                    world.memory.close()
                    try:
                        session = begin()
                    except Gone:
                        session = None  # it refuses to start, and says why
                now = int(world.now * SECOND)
                if session is None:
                    continue
                if what == "busy":
                    session.on_answer(now, number % 4, 20_000_000)
                if what in ("tick", "busy"):
                    world.uploaded += value
                    order = session.order(now)
                    try:
                        said = turn(client, world.memory, order, torrents=False)
                    except Gone as gone:
                        session.on_silence(now, str(gone), order)
                    else:
                        session.on_said(now, said, order)
                        if world.memory.had not in (None, session.user.kept):
                            world.memory.keep(session.user.kept, session.owner.ours)
                    while session.probe(now) is not None:
                        pass
                elif what == "answer":
                    session.on_answer(now, now // SECOND % 4, value)
                elif what == "sleep":
                    world.wait(value / SECOND)
                    session.on_event(int(world.now * SECOND), "resumed")
                elif what[0] == "!":
                    session.on_event(now, what.removeprefix("!"))
                status = session.status()
                assert status.wanted is None or status.wanted > 0 or session.user.limit == 0
            world.dead = False
            try:
                back()
            except Gone:
                assert any(what in ODD for what, _ in happens), "a client that does all at once"
            else:
                world.wait(1000.0)
                assert world.limit == world.finally_user
        finally:
            world.memory.close()


def test_a_change_by_hand_is_said_and_is_the_ceiling() -> None:
    world = World(None)
    session = Session(0, world.read(), control="unlimited", reflectors=1, rounded=world.rounded)
    world.by_hand(50_001)
    session.on_said(SECOND, turn(world, None, None, False))  # pyright: ignore[reportArgumentType]
    assert session.status().wanted == 50_001
    assert session.remarks == [
        "the limit was changed in the client to 50.001 kB/s: autolimit goes no higher, "
        "and leaves it so at the end"
    ]


def test_the_line_is_a_ceiling() -> None:
    reading = World(None).read()
    session = Session(
        0, reading, control="unlimited", reflectors=1, rounded=lambda limit: limit, line=125_000
    )
    order = session.order(0)
    assert order is not None
    assert order.limit == 125_000


def test_a_client_that_comes_back_with_an_old_limit_of_ours_is_no_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    world = World(500_001)
    client: Any = world
    world.memory = Memory(PLACE)
    session = Session(
        0, world.read(), control="autolimit-baseline", reflectors=2, rounded=world.rounded
    )
    seen = []
    for second in range(1, 60):
        now = second * SECOND
        order = session.order(now)
        session.on_said(now, turn(client, world.memory, order, torrents=False), order)
        world.uploaded += world.limit or 0
        while session.probe(now) is not None:
            session.on_answer(now, second % 2, 20_000_000)
        if world.limit not in seen:
            seen.append(world.limit)
    assert len(seen) > 5, "the limit climbs"
    world.saved = seen[1]
    world.again()
    session.on_said(60 * SECOND, turn(client, world.memory, None, torrents=False))
    assert session.user.limit == 500_001
    assert session.remarks == []
    restore(client, world.memory)
    world.memory.close()
    assert world.limit == 500_001


def test_a_client_that_comes_back_without_a_limit_has_the_users_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    world = World(300_001)
    client: Any = world
    world.memory = Memory(PLACE)
    session = Session(
        0, world.read(), control="unlimited", reflectors=1, rounded=world.rounded, line=50_000
    )

    def talk(second: int) -> None:
        order = session.order(second * SECOND)
        said = turn(client, world.memory, order, torrents=False)
        session.on_said(second * SECOND, said, order)
        world.uploaded += 30_000

    for second in range(3):
        talk(second)
    assert world.limit == 50_000
    world.saved = None
    world.again()
    talk(3)
    assert world.limit is None
    assert session.remarks == [
        "the client was started again and came back with no limit: autolimit goes on, and restores "
        "300.001 kB/s at the end"
    ]
    talk(4)
    assert world.limit == 50_000
    world.again()
    talk(5)
    # The run ends before the client is limited again.
    restore(client, world.memory, stale=session.owner.stale)
    assert world.limit == session.user.limit == 300_001
    talk(6)
    world.by_hand(None)
    talk(7)
    assert session.user.limit is None, "that is a wish"
    world.memory.close()


def test_without_answers_the_users_limit_is_in_force(tmp_path: Path) -> None:
    world = World(500_001)
    client: Any = world
    session = Session(0, world.read(), control="autolimit", reflectors=2, rounded=world.rounded)

    def pass_by(seconds: range, rtt: int | None) -> list[int | None]:
        """The limits that the client was told."""
        orders = []
        for second in seconds:
            now = second * SECOND
            world.uploaded += 10_000
            if (order := session.order(now)) is not None:
                orders.append(order.limit)
                world.limit = world.user if order.limit is None else order.limit
            session.on_said(now, Said(client.read(), done=order is not None), order)
            while session.probe(now) is not None:
                session.on_answer(now, second % 2, rtt)
        return orders

    assert pass_by(range(1, 100), None) == []
    assert session.status().phase == "suspended"
    assert pass_by(range(100, 110), 20_000_000)[0] is not None
    assert None not in pass_by(range(110, 165), None), "a minute's silence changes nothing"
    assert pass_by(range(165, 180), None) == [None]
    assert world.limit == 500_001
    assert pass_by(range(180, 190), 20_000_000)[0] is not None
    assert (
        session.remarks
        == [
            "no probe is answered: only watching, with your own limit",
            "probes are answered again: autolimit goes on",
        ]
        * 2
    )


def test_one_client_has_one_file_whatever_its_host_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    held = Memory("transmission://localhost:9091")
    for place in ("transmission://127.0.0.1:9091", "transmission://[::1]:9091"):
        with pytest.raises(Refused, match="another autolimit"):
            Memory(place)
    Memory("transmission://127.0.0.11:9091").close()
    held.close()


@pytest.mark.parametrize(("user", "line"), [(40_000, None), (None, 40_000), (90_000, 40_000)])
@pytest.mark.parametrize("control", ["autolimit", "autolimit-delay"])
def test_at_a_limit_of_the_user_without_delay_there_is_nothing_to_find(
    user: int | None, line: int | None, control: str
) -> None:
    """A client that sends what its limit allows, on a line on which nothing waits."""
    setting = Setting(user, {"limit": user})
    uploaded = 0
    session = Session(
        0, Reading(0, 0, setting, False), control=control, reflectors=4,
        rounded=int, line=line, waits=False,
    )  # fmt: skip
    limits: list[int | None] = []
    for second in range(60):
        now = (second + 1) * SECOND
        order = session.order(now)
        if order is not None:
            setting = Setting(user if order.limit is None else order.limit, {"limit": user})
        uploaded += setting.limit or 500_000
        session.on_said(now, Said(Reading(uploaded, 0, setting, False), order is not None), order)
        while session.probe(now) is not None:
            session.on_answer(now, second % 4, 20_000_000)
        limits.append(setting.limit)
    assert set(limits[30:]) == {40_000}
    status = session.status()
    assert (status.phase, status.reason, status.queue) == (
        "holding", "your own limit, or --line, is below what autolimit would set", "no added delay",
    )  # fmt: skip


@pytest.mark.parametrize("control", ["autolimit-delay", "autolimit", "autolimit-baseline"])
@pytest.mark.parametrize("queue_s", [0.02, 1.2, 2.6])
def test_the_first_seconds_say_what_happens_and_nothing_of_silence(
    control: str, queue_s: float
) -> None:
    """A client in full upload, behind a queue in which the first answers wait for this long."""
    reading = World(None).read()
    session = Session(0, reading, control=control, reflectors=4, rounded=int)
    under_way: list[tuple[int, int]] = []
    said: list[tuple[str, str]] = []
    for tick in range(100):
        now = tick * SECOND // 10
        while session.probe(now) is not None:
            under_way.append((now + int(queue_s * SECOND), len(said) % 4))
        for due, reflector in [it for it in under_way if it[0] <= now]:
            under_way.remove((due, reflector))
            session.on_answer(now, reflector, int(queue_s * SECOND))
        if tick % 10 == 0:
            reading = replace(reading, uploaded=12_000 * tick)
            session.on_said(now, Said(reading))
        status = session.status()
        if (state := (status.phase, status.reason)) not in said:
            said.append(state)
    assert said[0] == ("starting", "the first probes are on their way")
    assert not [reason for _, reason in said if "no answer" in reason or "skipped" in reason]
    # Once answers were lost, that is said.
    for tick in range(100, 300):
        now = tick * SECOND // 10
        while session.probe(now) is not None:
            session.on_answer(now, 0, None)
    assert "no answers" in session.status().reason


def test_what_waits_for_an_upload_or_an_answer_says_nothing_of_queues() -> None:
    reading = World(None).read()
    session = Session(0, reading, control="autolimit", reflectors=2, rounded=int)
    session.on_answer(SECOND, 0, None)
    assert session.status().reason == "for the first answer to a probe; your limit stays"
    for second in range(2, 7):
        session.on_answer(second * SECOND, 0, second * 100_000_000)
        session.on_said(second * SECOND, Said(reading))
    status = session.status()
    assert status.reason == "for something to upload; your limit stays"
    assert (status.longest, status.queue) == (400_000_000, "")


@pytest.mark.parametrize(("download", "seconds"), [(False, 6), (True, 8)])
def test_rests_are_as_upload_controllers_tells(download: bool, seconds: int) -> None:
    """A client that bursts on a line of 1 Mbit/s, alone or beside a download with a queue."""
    capacity, probes, sent = 125e3, 0, 0.0
    control = _core.UploadController("autolimit-delay", 0, 4)
    rests: list[tuple[int, int]] = []
    high = low = 0.0
    for tick in range(9000):
        now = tick * SECOND // 10
        limit = (control.limit_bps or 0) / 8
        sent += limit / 10
        if tick % 10 == 0:
            control.on_rates(now, int(sent), 0)
        while (due := control.probe(now)) is not None:
            probes += 1
            waits = probes * 0.618 % 1 < limit / capacity
            queue = 250 * (download and tick > 15) + waits * (20 + 100 * (probes * 0.754 % 1))
            control.on_answer(now, due[0], int((20 + queue) * 10**6))
        if control.state[1] == "measuring the idle delay again":
            if not rests or tick - rests[-1][1] > 1:
                rests.append((tick, tick))
                high = limit
            rests[-1] = rests[-1][0], tick
            low = limit
        elif rests and tick == rests[-1][1] + 1 and not download:
            assert low == pytest.approx(high / 2, rel=0.1)
    lengths = {round((last + 1 - first) / 10) for first, last in rests[:2]}
    assert lengths == {seconds}
    apart = [round((rests[it + 1][0] - rests[it][1]) / 10) for it in range(len(rests) - 1)]
    assert all(30 <= each <= 310 for each in apart)
    if not download:
        assert [rests[0][0] // 10, *apart] == [124, 240, 300]
