"""What happens behind the loop's back: routes, sleep, clocks, clients. Its time is the test's."""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.autolimit.test_session import PLACE, World

from flashcrowd.autolimit import route
from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.loop import BACK_OFF_NS, WATCH_NS, Loop
from flashcrowd.autolimit.memory import Memory
from flashcrowd.autolimit.probes import Reflector
from flashcrowd.autolimit.probes.sounder import Heard
from flashcrowd.autolimit.relief import Relief
from flashcrowd.autolimit.restore import restore
from flashcrowd.autolimit.route import Route
from flashcrowd.autolimit.session import GONE_NS, Session, Status
from flashcrowd.client_api.client import OwnLimits, Reading, Refused

SECOND = 10**9
HOME = Route("192.0.2.7", frozenset({("eth0", "010200C0")}))
CAFE = Route("198.51.100.7", frozenset({("wlan0", "016433C6")}))
USER = 500_001


class Client(World):
    """A client that counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(USER)
        self.asked: list[int] = []
        self.own = OwnLimits()
        self.stage: Stage

    def read(self) -> Reading:
        self.asked.append(self.stage.now)
        self.uploaded += 5000
        return super().read()

    def own_limits(self) -> OwnLimits:
        return self.own


class Probes:
    """In the place of a `Sounder`: counts, and has every answer in 20 ms."""

    def __init__(self, stage: Stage) -> None:
        self.at_work = [Reflector("192.0.2.1")]
        self.remarks: list[str] = []
        self.changed = False
        self.sent: list[int] = []
        self.forgotten: list[int] = []
        self._stage = stage
        self._under_way = 0

    def probe(self, now: int, timeout: int) -> bool:
        self.sent.append(now)
        self._under_way += 1
        return True

    def expire(self, now: int) -> Iterator[Heard]:
        while self._under_way:
            self._under_way -= 1
            yield Heard(0, 20_000_000)

    def forget(self) -> None:
        self.forgotten.append(self._stage.now)
        self._under_way = 0


class Told(Session):
    """A session that writes down what it was told of the line."""

    def __init__(self, stage: Stage, *arguments: Any, **named: Any) -> None:
        self.events: list[tuple[int, str]] = []
        self._stage = stage
        super().__init__(*arguments, **named)

    def on_event(self, now: int, event: str) -> None:
        self.events.append((now // SECOND, event))
        super().on_event(now, event)


class Stage(selectors.SelectSelector):
    """A loop in a time of its own: waiting is what makes it pass, up to what happens next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        super().__init__()
        monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
        monkeypatch.setattr(route, "look", lambda reflector: self.route)
        self.now = self.asleep = self.set = 0
        self.route: Route | None = HOME
        self.happens: list[tuple[int, Callable[[], None]]] = []
        self.remarks: list[tuple[int, str]] = []
        self.phases: list[str] = []
        self.client = Client()
        self.client.stage = self
        self.client.memory = Memory(PLACE)
        self.probes = Probes(self)
        self.loop: Loop
        self.session = Told(
            self, 0, self.client.read(), control="autolimit", reflectors=1,
            rounded=self.client.rounded,
        )  # fmt: skip

    def at(self, second: int, what: Callable[[], None]) -> None:
        self.happens.append((second * SECOND, what))
        self.happens.sort(key=lambda each: each[0])

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # The client answers in a thread, in none of this time.
        ready = super().select(None if self.loop._turn is not None else 0)
        if not ready:
            until = self.now + max(int((timeout or 0) * 1e9), 1)
            if self.happens and self.happens[0][0] <= until:
                self.now, happens = self.happens.pop(0)
                happens()
            else:
                self.now = until
        return ready

    def play(self, seconds: int) -> None:
        clock = Clock(
            lambda: self.now,
            lambda: self.now + self.asleep,
            lambda: self.now + self.asleep + self.set,
        )
        given: Any = self.client, self.session, self.probes, self, self
        self.loop = loop = Loop(*given, memory=self.client.memory, clock=clock, seconds=seconds)
        try:
            loop.run()
        finally:
            restore(given[0], self.client.memory, wait=self.client.wait)
            self.client.memory.close()
            self.close()

    def remark(self, now: int, text: str) -> None:
        self.remarks.append((now // SECOND, text))

    def status(self, now: int, status: Status) -> None:
        self.phases.append(status.phase)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    return Stage(monkeypatch, tmp_path)


def moved(stage: Stage, to: Route | None) -> Callable[[], None]:
    def move() -> None:
        stage.route = to

    return move


def test_nothing_happens(stage: Stage) -> None:
    stage.play(60)
    assert stage.remarks == []
    assert stage.session.events == []
    assert stage.probes.forgotten == []
    assert len(stage.probes.sent) > 60
    assert stage.client.limit == USER


def test_another_route_is_another_line(stage: Stage) -> None:
    stage.at(12, moved(stage, CAFE))
    stage.play(40)
    (remark,) = stage.remarks
    assert remark[1] == "the route has changed: the line is learnt anew"
    assert 12 * SECOND <= remark[0] * SECOND <= 12 * SECOND + WATCH_NS
    assert stage.session.events == [(remark[0], "path-changed")]
    assert len(stage.probes.forgotten) == 1


def test_without_a_route_nothing_is_sent_and_nothing_is_set(stage: Stage) -> None:
    limits = []
    stage.at(12, moved(stage, None))
    stage.at(19, lambda: limits.append(stage.client.limit))
    stage.at(29, lambda: limits.append(stage.client.limit))
    stage.at(30, moved(stage, HOME))
    stage.play(50)
    (gone, gone_says), (back, back_says) = stage.remarks
    assert gone_says == "there is no route any more; waiting"
    assert back_says == "there is a route again"
    assert 12 <= gone <= 17
    assert 30 <= back <= 35
    assert stage.session.events == [(gone, "down"), (back, "up")]
    silent = [sent // SECOND for sent in stage.probes.sent if gone < sent // SECOND < back]
    assert silent == []
    assert any(sent // SECOND > back for sent in stage.probes.sent)
    assert limits[0] == limits[1] != USER
    assert len(stage.probes.forgotten) == 2


@pytest.mark.parametrize("slept", [True, False], ids=["asleep", "stopped"])
def test_what_was_under_way_while_time_went_by_unseen_is_forgotten(
    slept: bool, stage: Stage
) -> None:
    limits = []

    def sleep() -> None:
        limits.append(stage.client.limit)
        if slept:
            stage.asleep += 3600 * SECOND
        else:
            stage.now += 10 * SECOND

    stage.at(31, sleep)
    stage.at(31 if slept else 41, lambda: limits.append(stage.client.limit))
    stage.play(60)
    at = 31 if slept else 41
    said = "time went by unseen (sleep?): what was under way is forgotten"
    assert stage.remarks == [(at, said)]
    assert stage.session.events == [(at, "resumed")]
    assert [when // SECOND for when in stage.probes.forgotten] == [at]
    assert limits[0] == limits[1] != USER


def test_a_route_that_changed_in_sleep_is_seen_at_once(stage: Stage) -> None:
    def sleep() -> None:
        stage.asleep += 3600 * SECOND
        stage.route = CAFE

    stage.at(31, sleep)
    stage.play(40)
    assert stage.session.events == [(31, "resumed"), (31, "path-changed")]


def test_a_clock_that_was_set_changes_nothing(stage: Stage) -> None:
    def turn(seconds: int) -> Callable[[], None]:
        def turned() -> None:
            stage.set += seconds * SECOND

        return turned

    stage.at(31, turn(3600))
    stage.at(41, turn(-7200))
    stage.at(51, turn(1))
    stage.play(60)
    assert stage.remarks == [
        (31, "the clock was set by +3600 s; nothing depends on it"),
        (41, "the clock was set by -7200 s; nothing depends on it"),
    ]
    assert stage.session.events == []
    assert stage.probes.forgotten == []


@pytest.mark.parametrize("saved", ["ours", "the user's", "none"])
def test_a_client_that_is_gone_is_waited_for_and_goes_on(saved: str, stage: Stage) -> None:
    client, limits = stage.client, []

    def die() -> None:
        client.dead = True

    def begin() -> None:
        client.saved = {"ours": client.limit, "the user's": USER, "none": None}[saved]
        client.again()

    stage.at(30, die)
    stage.at(130, begin)
    stage.at(160, lambda: limits.append(client.limit))
    stage.play(170)
    (gone, gone_says), (back, back_says), *more = stage.remarks
    assert len(more) == (saved == "none")
    assert gone_says == "the client is gone (dead); waiting for it"
    assert GONE_NS // SECOND <= gone - 30 <= GONE_NS // SECOND + BACK_OFF_NS // SECOND
    assert back_says == "the client is back"
    assert 130 <= back <= 131 + BACK_OFF_NS // SECOND
    assert "waiting" in stage.phases
    # Less and less often: 100 s in waits of 2, 4 and 8 s, and then of 15.
    asked = [when for when in client.asked if 31 * SECOND < when < 130 * SECOND]
    assert 6 <= len(asked) <= 10
    # Nobody probes for a client that is not there.
    assert not [sent for sent in stage.probes.sent if gone < sent // SECOND < back]
    assert limits[0] != USER, "it goes on"
    assert client.limit == USER
    assert not stage.client.memory.path.exists()


def test_torrents_that_go_their_own_ways_are_said_when_that_changes(stage: Stage) -> None:
    def change(own: OwnLimits) -> Callable[[], None]:
        def changed() -> None:
            stage.client.own = own

        return changed

    stage.at(30, change(OwnLimits(2)))
    stage.at(90, change(OwnLimits(2, 3)))
    stage.at(150, change(OwnLimits()))
    stage.play(250)
    assert [text for _, text in stage.remarks] == [
        "torrents: 2 with an upload limit of their own, which stays",
        "torrents: 2 with an upload limit of their own, which stays; 3 that do not follow the "
        "client's limit, which autolimit cannot slow",
        "torrents: all go by the client’s limit now",
    ]


def test_a_client_that_refuses_ends_it_with_its_limit_as_it_was(stage: Stage) -> None:
    def refuse() -> None:
        stage.client.own_limits = refused  # pyright: ignore[reportAttributeAccessIssue]

    def refused() -> OwnLimits:
        raise Refused("no more")

    stage.at(30, refuse)
    with pytest.raises(Refused, match="no more"):
        stage.play(120)
    assert stage.client.limit == USER


ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0
wlan0\t00000000\t0103A8C0\t0002\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0002A8C0\t0102A8C0\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""


def test_a_route_is_our_address_and_the_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "route").write_text(ROUTES)
    monkeypatch.setattr(route, "_ROUTES", tmp_path / "route")
    here = Reflector("127.0.0.1", 9)
    assert route.look(here) == Route("127.0.0.1", frozenset({("eth0", "0102A8C0")}))
    monkeypatch.setattr(route, "_ROUTES", tmp_path / "none")
    assert route.look(here) == Route("127.0.0.1", frozenset())
    # To everybody at once is no way that an ordinary socket may take.
    assert route.look(Reflector("255.255.255.255", 9)) is None


def test_a_line_that_needs_no_limit_ends_it_with_the_limit_as_it_was(stage: Stage) -> None:
    """The client sends 60 kB/s whatever its limit allows, and no probe ever waits."""
    relief, read = Relief(), stage.client.read

    def busy() -> Reading:
        stage.client.uploaded += 55_000
        return read()

    def stop() -> None:
        stage.loop.stop()

    client: Any = stage.client
    client.read, relief.stop = busy, stop
    told: Any = stage
    told.status = relief.status
    limits: list[int | None] = []
    stage.at(10, lambda: limits.append(stage.client.limit))
    stage.play(600)
    assert limits != [USER]
    assert stage.now < 150 * SECOND
    assert "No limit is needed" in relief.words
    assert stage.client.limit == USER
