"""What the user had is there in the end, or a message says that it is not."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.autolimit.fakes import (
    FakeQBittorrent,
    FakeQBittorrent52,
    FakeTransmission,
    served,
)
from tests.autolimit.test_runs import running
from tests.autolimit.test_session import SECOND, World
from tests.late import PATIENCE_S

from flashcrowd.autolimit.memory import Damaged, Memory, Volatile, folders
from flashcrowd.autolimit.owner import Owner
from flashcrowd.autolimit.restore import Unsure, restore
from flashcrowd.autolimit.run import _End
from flashcrowd.autolimit.session import Session
from flashcrowd.autolimit.turn import turn
from flashcrowd.autolimit.voice import Voice
from flashcrowd.client_api.client import Gone, Refused, Setting

USER = 51200
places = (f"qbittorrent://nas{os.getpid()}x{number}:8080" for number in count())


@pytest.mark.parametrize("delay", [0.02, 0.5, 3.0])
def test_a_client_that_follows_late_has_again_what_it_had(delay: float, tmp_path: Path) -> None:
    with served(FakeQBittorrent52()) as fake, running(fake.url, tmp_path) as autolimit:
        assert isinstance(fake, FakeQBittorrent)
        fake.delay = delay
        autolimit.limited()
        time.sleep(2)
        assert autolimit.end(signal.SIGTERM) == 0
        assert autolimit.until("restored")["text"] == "Restored: an upload limit of 51.2 kB/s."
        time.sleep(delay)
        assert fake.limits[0] == USER
        assert not [it for it in autolimit.heard if "was changed" in it]
        assert not list(tmp_path.glob("*.json"))


def test_a_client_that_follows_no_more_is_told_and_given_back_later(tmp_path: Path) -> None:
    with served(FakeQBittorrent()) as fake:
        assert isinstance(fake, FakeQBittorrent)
        with running(fake.url, tmp_path) as autolimit:
            autolimit.limited()
            fake.ignores = True
            assert autolimit.end(signal.SIGTERM) == 1
            assert "does not keep what it is given" in autolimit.until("not-restored")["text"]
        assert fake.limits[0] != USER
        fake.ignores = False
        with running(fake.url, tmp_path, "--restore") as autolimit:
            autolimit.until("restored")
            assert autolimit.process.wait(PATIENCE_S) == 0
        assert fake.limits[0] == USER


@pytest.mark.parametrize("again", [False, True], ids=["one signal", "two"])
def test_a_client_whose_head_drips_can_be_left(again: bool, tmp_path: Path) -> None:
    with served(FakeTransmission()) as fake, running(fake.url, tmp_path) as autolimit:
        autolimit.limited()
        fake.drips = True
        assert fake.dripped.wait(PATIENCE_S)
        began = time.monotonic()
        autolimit.process.send_signal(signal.SIGTERM)
        if again:
            time.sleep(0.2)
            autolimit.process.send_signal(signal.SIGTERM)
        assert autolimit.process.wait(PATIENCE_S) == 1
        took = time.monotonic() - began
        fake.drips = False
        assert "autolimit --restore" in autolimit.until("not-restored")["text"]
        assert took < (10 if again else 40)


def test_one_client_has_one_autolimit_by_all_its_names_and_folders(tmp_path: Path) -> None:
    fake = FakeTransmission()
    fake.host = "0.0.0.0"
    with served(fake), running(fake.url, tmp_path / "a") as first:
        first.limited()
        for name in ("127.0.0.2", "127.1.2.3"):
            other = fake.url.replace("127.0.0.1", name)
            with running(other, tmp_path / name) as second:
                assert second.process.wait(PATIENCE_S) == 2
                assert second.process.stderr is not None
                assert "controlled by another autolimit" in second.process.stderr.read()
        assert first.end(signal.SIGTERM) == 0
        assert fake.session["speed-limit-up-enabled"] is False


def test_a_client_that_uploads_nothing_is_left_alone(tmp_path: Path) -> None:
    fake = FakeQBittorrent()
    # So much that no search for a limit comes up to it with what is uploaded here.
    fake.uploads, fake.limits[0] = 0, (user := 2000 * USER)
    with served(fake), running(fake.url, tmp_path) as autolimit:
        for _ in range(4):
            autolimit.until(
                "status", lambda said: said["reason"] == "for something to upload; your limit stays"
            )
        assert fake.writes == []
        fake.uploads = 50_000
        autolimit.limited()
        # A limit stays when there is nothing any more.
        fake.uploads = 0
        autolimit.until("status", lambda said: said["up"] == 0)
        assert 0 < fake.limits[0] < user
        assert autolimit.end(signal.SIGTERM) == 0
        assert fake.limits[0] == user


def test_a_limit_by_hand_that_equals_one_of_before_is_the_users() -> None:
    world = World(500_001)
    client: Any = world
    world.memory = memory = Volatile()
    session = Session(0, world.read(), control="autolimit", reflectors=1, rounded=world.rounded)
    for second, by_hand in enumerate([None, None, 400_001, None, None, 500_001, None, None]):
        now = second * SECOND
        session.on_answer(now, 0, 20_000_000)
        world.uploaded += 100_000
        if by_hand:
            world.by_hand(by_hand)
        order = session.order(now)
        session.on_said(now, turn(client, memory, order, torrents=False), order)
    assert world.limit in memory.ours
    assert restore(client, memory, wait=world.wait, clock=lambda: world.now).startswith("Restored")
    assert world.limit == 500_001


class Said(Voice):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def say(self, text: str, /, **event: Any) -> None:
        self.texts.append(text)


@pytest.mark.parametrize("user", [None, 512_001])
@pytest.mark.parametrize("first", [0, 1])
def test_two_of_two_machines_leave_what_the_user_had_or_say_so(
    user: int | None, first: int
) -> None:
    """One client cannot be known for the same from two machines."""
    world = World(user)
    client: Any = world
    at_work: list[tuple[Session, Volatile]] = []
    for second in range(60):
        now = second * SECOND
        if second in (0, 7):
            memory = Volatile()
            session = Session(
                now, world.read(), control="autolimit", reflectors=1, rounded=world.rounded
            )
            at_work.append((session, memory))
        for session, memory in at_work:
            world.memory, world.restored = memory, {world.limit}
            world.uploaded += 50_000
            world.user = None
            session.on_answer(now, 0, 20_000_000)
            order = session.order(now)
            said = turn(client, memory, order, torrents=False)
            session.on_said(now, said, order)
            if memory.had not in (None, session.user.kept):
                memory.keep(session.user.kept, session.owner.ours)
            while session.probe(now) is not None:
                pass
    texts = []
    for session, memory in at_work[::-1] if first else at_work:
        loop: Any = None
        voice = Said()
        _End(client, memory, session, loop).come(voice, None)
        texts += voice.texts
    assert world.limit == user or any("at the start it was" in text for text in texts)


def held(monkeypatch: pytest.MonkeyPatch, folder: Path, text: bytes) -> str:
    """A place with a state file."""
    monkeypatch.setenv("STATE_DIRECTORY", str(folder))
    place = next(places)
    memory = Memory(place)
    memory.path.write_bytes(text)
    memory.close()
    return place


DAMAGED = [
    b"", b"{", b"[" * 100_000, b"null", b'{"had": {}}', b"\xff", b'{"format": 1}',
    b'{"format": 99, "had": {"up_limit": 5}, "ours": [4096]}',
    b'{"format": 1, "had": {"up_limit": 5}, "ours": ["4096"]}',
    b'{"format": 1, "had": [], "ours": [4096]}',
    b'{"format": 1, "had": {"up_limit": 5}, "ours": [4096], "held": "now"}',
    b'{"format": 1, "had": {"up_limit": 5}, "ours": [' + b"4096," * 300_000 + b"4096]}",
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_state_file_says_so(
    text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = held(monkeypatch, tmp_path, text)
    with pytest.raises(Damaged, match="then remove this file"):
        Memory(place)


@pytest.mark.parametrize("had", ["{}", '{"up_limit": "<x>"}', '{"up_limit": -4}'])
def test_what_a_client_cannot_have_had_is_not_sent_to_it(had: str, tmp_path: Path) -> None:
    with served(FakeQBittorrent()) as fake:
        with running(fake.url, tmp_path) as autolimit:
            autolimit.limited()
            autolimit.end(signal.SIGKILL)
        (state,) = tmp_path.glob("*.json")
        said = json.loads(state.read_text())
        state.write_text(json.dumps({**said, "had": json.loads(had)}))
        written = len(fake.writes)
        with running(fake.url, tmp_path, "--restore") as autolimit:
            assert "is damaged" in autolimit.until("not-restored")["text"]
            assert autolimit.process.wait(PATIENCE_S) == 1
        with running(fake.url, tmp_path) as autolimit:
            assert autolimit.process.wait(PATIENCE_S) == 2
        assert len(fake.writes) == written
        assert state.exists()


def test_special_files_and_links_are_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = held(monkeypatch, tmp_path, b"")
    (state,) = tmp_path.glob("*.json")
    state.unlink()
    os.mkfifo(state)
    with pytest.raises(Damaged, match="no file"):
        Memory(place)
    state.unlink()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    state.symlink_to(precious)
    with pytest.raises(Damaged):
        Memory(place)
    state.unlink()
    lock = state.with_suffix(".lock")
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(Refused):
        Memory(place)
    assert precious.read_text() == "precious"


def test_a_state_file_is_looked_for_where_a_run_by_hand_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    place = next(places)
    memory = Memory(place)
    memory.keep({"up_limit": 5}, [4096])
    memory.close()
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "service"))
    assert folders() == [tmp_path / "service", tmp_path / "home" / "flashcrowd" / "autolimit"]
    memory = Memory(place)
    assert memory.had == {"up_limit": 5}
    memory.forget()
    memory.close()
    memory = Memory(place)
    assert memory.had is None
    memory.close()


def test_restoring_nothing_says_where_it_looked(tmp_path: Path) -> None:
    with served(FakeTransmission()) as fake:
        with running(fake.url, tmp_path / "service") as autolimit:
            autolimit.limited()
            autolimit.end(signal.SIGKILL)
        with running(fake.url, tmp_path / "user", "--restore") as autolimit:
            text = autolimit.until("nothing")["text"]
        assert str(tmp_path / "user") in text
        assert "another user" in text


def test_a_write_without_an_answer_is_waited_for_and_then_said(tmp_path: Path) -> None:
    world = World(500_001)
    client: Any = world
    world.memory = memory = Volatile()
    memory.keep({"limit": 500_001}, [4000])
    memory.orders.write(4000)
    with pytest.raises(Unsure, match="4 kB/s"):
        restore(client, memory, wait=world.wait, clock=lambda: world.now)
    assert world.now < 15
    assert memory.had is not None
    world.dead = True
    with pytest.raises(Gone):
        restore(client, memory, wait=world.wait, clock=lambda: world.now)


def test_an_order_that_comes_after_the_kill_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    world = World(500_001)
    client: Any = world
    world.late, place = 3.0, next(places)
    world.memory = memory = Memory(place)
    memory.keep({"limit": 500_001}, [4000])
    world.write(4000)
    memory.close()
    assert world.limit == 500_001
    world.memory = memory = Memory(place)
    said = restore(client, memory, wait=world.wait, clock=lambda: world.now)
    memory.close()
    world.wait(100.0)
    assert said == "Restored: an upload limit of 500.001 kB/s."
    assert world.limit == 500_001


def test_a_limit_given_back_late_is_no_wish() -> None:
    first, second = (Setting(limit, {"limit": limit}) for limit in (500_001, 300_001))
    owner = Owner(first, [4000])
    owner.told(0, None, answered=False)
    owner.saw(SECOND, second)
    assert owner.user == second
    # What was given back to the first is held up, and comes now.
    owner.saw(10 * SECOND, first)
    assert owner.user == second
    # The user may have it again later.
    owner.saw(100 * SECOND, first)
    assert owner.user == first


def played(world: World, seconds: int, by_hand: dict[int, int] | None = None) -> Session:
    """A session beside a client, with a busy upload and short round trips."""
    client: Any = world
    world.memory = memory = Volatile()
    session = Session(0, world.read(), control="autolimit", reflectors=1, rounded=world.rounded)
    for second in range(seconds):
        world.wait(1.0)
        world.uploaded += 100_000
        if by_hand and second in by_hand:
            world.by_hand(by_hand[second])
        session.on_answer(second * SECOND, 0, 20_000_000)
        order = session.order(second * SECOND)
        session.on_said(second * SECOND, turn(client, memory, order, torrents=False), order)
        while session.probe(second * SECOND) is not None:
            pass
    return session


def test_a_client_that_keeps_no_limit_is_watched_only() -> None:
    world = World(500_001)
    world.stubborn = True
    session = played(world, 60)
    assert session.remarks == [
        "the client does not keep the limits that it is given: only watching"
    ]
    assert session.status().phase == "suspended"
    assert len(world.memory.ours) <= 3
    # One of them comes at last: it does not stay.
    world.limit, world.stubborn = world.memory.ours[-1], False
    order = None
    for second in range(60, 70):
        session.on_said(second * SECOND, turn(world, world.memory, order, False), order)  # pyright: ignore[reportArgumentType]
        order = session.order(second * SECOND)
    assert world.limit == 500_001


def test_a_client_that_uploads_nothing_any_more_keeps_its_limit() -> None:
    """Whoever makes others wait: it is not this upload, and the next peer begins with the limit."""
    world = World(500_001)
    world.memory = Volatile()
    session = Session(0, world.read(), control="autolimit", reflectors=1, rounded=world.rounded)
    limits: list[int | None] = []
    for second in range(240):
        world.wait(1.0)
        carried = min(world.limit or 0, 10**6) if second < 120 else 0
        world.uploaded += carried
        now = second * SECOND
        for probe in range(3):
            while session.probe(now + probe * SECOND // 3) is not None:
                others = 40 + 60 * (second % 5) if second >= 120 else probe
                waits = 150 if carried > 57_000 else others
                session.on_answer(now + probe * SECOND // 3, 0, (20 + waits) * 10**6)
        order = session.order(now + SECOND - 1)
        client: Any = world
        said = turn(client, world.memory, order, torrents=False)
        session.on_said(now + SECOND - 1, said, order)
        limits.append(world.limit)
    assert session.status().up == 0
    found = limits[125]
    assert found is not None
    assert 20_000 < found < 500_000
    assert set(limits[125:]) == {found}


class Maker(World):
    """A client that makes other limits of those that it is given."""

    def __init__(self, limit: int, makes: Callable[[int], int]) -> None:
        super().__init__(limit)
        self.makes = makes

    def _take(self, limit: int | None) -> None:
        made = None if limit is None else self.makes(limit)
        self.restored.add(made)
        super()._take(made)


@pytest.mark.parametrize(
    ("makes", "left"),
    [
        pytest.param(lambda limit: max(limit, 64_123), 500_001, id="clamps"),
        pytest.param(lambda limit: limit // 10_007 * 10_007 or 10_007, 490_343, id="rounds"),
        pytest.param(lambda limit: limit // 2 + 3, 250_003, id="halves"),
    ],
)
def test_a_client_that_makes_other_limits_is_not_its_user(
    makes: Callable[[int], int], left: int
) -> None:
    world = Maker(500_001, makes)
    session = played(world, 120)
    assert session.remarks == [
        "the client does not keep the limits that it is given: only watching"
    ]
    assert session.owner.user.limit == 500_001
    assert world.limit == left
    loop: Any = None
    voice = Said()
    client: Any = world
    ended = _End(client, world.memory, session, loop).come(voice, None)
    assert ended == (0 if left == 500_001 else 1)
    assert world.limit == left


def test_a_limit_that_somebody_else_sets_again_and_again_is_left_to_him() -> None:
    world = World(900_001)
    by_hand = {second: 800_001 - 10 * second for second in range(10, 60, 5)}
    session = played(world, 60, by_hand)
    assert session.remarks[-1].startswith("something else changes the limit again and again")
    assert world.limit == by_hand[55]
    loop: Any = None
    voice = Said()
    client: Any = world
    assert _End(client, world.memory, session, loop).come(voice, None) == 1
    assert "may not be yours" in voice.texts[-1]
    assert "at the start it was an upload limit of 900.001 kB/s" in voice.texts[-1]
