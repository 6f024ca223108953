"""Whatever answers in a client's place: it is understood, or it is one line of an error.

In JSON or in any bytes. No setting is changed by it, and in the end the client has what its user
set.
"""

from __future__ import annotations

import contextlib
import json
import socket
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.autolimit.fakes import FAKES, Fake, FakeDeluge, FakeQBittorrent, FakeTransmission

from flashcrowd.autolimit.memory import Volatile
from flashcrowd.autolimit.orders import Orders
from flashcrowd.autolimit.restore import Unsure, restore
from flashcrowd.autolimit.session import Session
from flashcrowd.autolimit.turn import turn
from flashcrowd.client_api import http
from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Gone, Refused
from flashcrowd.client_api.clients import CLIENTS, reach
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.deluge_rpc import ERROR, Rejected, Request
from flashcrowd.client_api.http import Answer
from flashcrowd.client_api.libtorrent import Libtorrent

OVER_HTTP = [name for name in CLIENTS if name != FakeDeluge.scheme]
SECOND = 10**9

huge = st.sampled_from([-(2**63), 2**53, 2**63, 2**64, 10**400])
scalars = st.none() | st.booleans() | st.integers() | huge | st.floats() | st.text(max_size=5)
NAMES = [
    "arguments",
    "result",
    "current-stats",
    "speed-limit-up",
    "speed-limit-up-enabled",
    "alt-speed-enabled",
    "rpc-version",
    "version",
    "uploadedBytes",
    "downloadedBytes",
    "torrents",
    "up_info_data",
    "dl_info_data",
    "up_rate_limit",
    "up_limit",
    "uploadLimited",
    "max_upload_speed",
    "net.sent_payload_bytes",
    "net.recv_payload_bytes",
]
values = st.recursive(
    scalars | st.just("success"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8)
    ),
    max_leaves=12,
)
bodies = (
    st.binary(max_size=30)
    | values.map(lambda value: json.dumps(value).encode())
    | st.sampled_from([b"0", b"1", b"v4.5.2", b"v4\x1b[2J", b"2.8"])
)
answers = st.builds(
    Answer,
    st.sampled_from([200, 200, 200, 204, 301, 401, 403, 404, 409, 421, 500]),
    st.dictionaries(
        st.sampled_from(["x-transmission-session-id", "set-cookie"]),
        st.text(max_size=5),
        max_size=2,
    ),
    bodies,
)


class Saying:
    """In the place of `Http`: the answers of a list, over and over.

    Attributes:
        changes: requests that would change a setting.
    """

    def __init__(self, answers: list[Answer]) -> None:
        self.answers, self.turn = answers, 0
        self.changes: list[Any] = []

    def ask(self, method: str, path: str, body: Any = None, headers: Any = None) -> Answer:
        if "setPreferences" in path or "session-set" in str(body):
            self.changes.append(body)
        self.turn += 1
        return self.answers[self.turn % len(self.answers)]


def client_of(name: str) -> Any:
    return reach(Address(name, "localhost", 1, "me"), Credentials("me", "secret"))


def only_looks(client: Any) -> None:
    """Everything but orders; errors are ours, of one line, and without the password."""
    for ask in (client.connect, client.read, client.own_limits):
        try:
            found = ask()
        except (Gone, Refused) as error:
            assert "secret" not in str(error)  # noqa: PT017
            assert str(error).isprintable()  # noqa: PT017
            continue
        if ask == client.connect:
            assert found.isprintable()
        if ask == client.read:
            limit = found.setting.limit
            assert 0 <= found.uploaded < 2**63
            assert 0 <= found.downloaded < 2**63
            assert limit is None or 0 <= limit < 2**63
            # What was believed is what a controller, a history and a person get to see.
            session = Session(
                0, found, control="autolimit", reflectors=4, rounded=client.rounded, line=None
            )
            order = session.order(0)
            assert order is None or order.limit is None or 0 < order.limit < 2**31
            session.status()


@pytest.mark.parametrize("name", OVER_HTTP)
@given(said=st.lists(answers, min_size=1, max_size=6))
def test_any_answer_is_understood_or_refused(name: str, said: list[Answer]) -> None:
    client = client_of(name)
    client._http = saying = Saying(said)
    only_looks(client)
    assert saying.changes == []
    with contextlib.suppress(Gone, Refused):
        client.write(5000)


#: Answers of HTTP that are cut, lengthened or out of order.
heads = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 409 Conflict\r\nX-Transmission-Session-Id: a\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.0 204\r\n",
        b"HTTP/2 200\r\n",
        b"HTTP/1.1 -7 ?\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 4\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Content-Encoding: gzip\r\n",
        b"Set-Cookie: SID=1;\r\n",
        b"ffffffffffffffff\r\n",
        b"-4\r\n",
        b"4\r\nOk.",
        b"\r\n",
        b"\r\n\r\n",
    ]
)
on_the_wire = st.lists(heads | bodies | st.binary(max_size=60), max_size=8).map(b"".join)


@pytest.mark.parametrize("name", OVER_HTTP)
@given(said=st.lists(on_the_wire, min_size=1, max_size=5))
def test_any_bytes_on_the_wire_are_understood_or_refused(name: str, said: list[bytes]) -> None:
    turns, ends = iter(range(10**6)), []

    def dial(host: str, port: int, ends_at: float) -> socket.socket:
        """To somebody who says his piece whatever he is asked, and hangs up."""
        link, other = socket.socketpair()
        ends.append(other)
        other.sendall(said[next(turns) % len(said)])
        other.shutdown(socket.SHUT_WR)
        return link

    client = client_of(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "dial", dial)
        patch.setattr(http, "peer", lambda link: "localhost")
        only_looks(client)
        client.close()
    asked = b""
    for other in ends:
        other.setblocking(False)
        with contextlib.suppress(OSError):
            asked += other.recv(1 << 20)
        other.close()
    assert b"setPreferences" not in asked
    assert b"session-set" not in asked


@dataclass
class Swap:
    """One value of an answer is another one."""

    name: str
    value: Any

    def of(self, body: bytes) -> bytes:
        try:
            said = json.loads(body)
        except ValueError:
            # qBittorrent's version is no JSON.
            here = self.name == "version" and body.startswith(b"v")
            return f"v{self.value}".encode("utf-8", "replace") if here else body
        return json.dumps(self.inside(said)).encode()

    def inside(self, said: Any) -> Any:
        """The same, with the other value wherever its name is."""
        if isinstance(said, list):
            return [self.inside(each) for each in said]
        if not isinstance(said, dict):
            return said
        return {
            key: self.value if key == self.name else self.inside(it) for key, it in said.items()
        }


class Wire:
    """In the place of `Http`: a client's own answers, spoilt from request to request."""

    def __init__(self, fake: Fake, spoils: list[Any]) -> None:
        self.fake, self.spoils = fake, spoils

    def ask(self, method: str, path: str, body: Any = None, headers: Any = None) -> Answer:
        sent = dict.fromkeys(("Authorization", "Cookie", "X-Transmission-Session-Id"))
        sent.update(headers or {})
        spoil = self.spoils.pop(0) if self.spoils else None
        if spoil == "before":
            raise Gone("no answer in time")
        answer = self.fake.answer(method, path, sent, (body or "").encode())
        status, given, said = answer
        if spoil == "after":
            raise Gone("no answer in time")
        if isinstance(spoil, float):
            said = said[: int(spoil * len(said))]
        elif isinstance(spoil, Swap):
            said = spoil.of(said)
        elif isinstance(spoil, Answer):
            return spoil
        return Answer(status, {name.lower(): value for name, value in given.items()}, said)


class RpcWire:
    """The same in the place of `DelugeRpc`."""

    def __init__(self, fake: FakeDeluge, spoils: list[Any]) -> None:
        self.fake, self.spoils = fake, spoils
        self.connected = False

    def ask(self, *requests: Request) -> list[Any]:
        self.connected = True
        spoil = self.spoils.pop(0) if self.spoils else None
        if spoil == "before":
            self._cut()
        calls = ((0, each.method, each.arguments, each.named) for each in requests)
        replies = [self.fake.reply(call) for call in calls]
        if spoil == "after" or isinstance(spoil, float):
            self._cut()
        for kind, _, value, *_ in replies:
            if kind == ERROR:
                raise Rejected(value)
        if isinstance(spoil, Answer):
            return [spoil.text for _ in replies]
        values = [value for _, _, value in replies]
        return [spoil.inside(value) for value in values] if isinstance(spoil, Swap) else values

    def _cut(self) -> None:
        self.connected = self.fake.inside = False
        raise Gone("no answer in time")

    def close(self) -> None:
        self.connected = self.fake.inside = False


def wired(client: Any, fake: Fake, spoils: list[Any]) -> Wire | RpcWire:
    """Puts a fake behind a client, with spoilt answers between them."""
    if isinstance(fake, FakeDeluge):
        client._rpc = wire = RpcWire(fake, spoils)
    else:
        client._http = wire = Wire(fake, spoils)
    return wire


@pytest.mark.parametrize("kind", FAKES)
@given(
    name=st.sampled_from([*NAMES, "honorsSessionLimits"]),
    value=scalars | st.text(max_size=60) | values,
)
def test_any_value_of_an_answer_is_understood_or_refused(
    kind: type[Fake], name: str, value: Any
) -> None:
    fake = kind()
    client = client_of(fake.scheme)
    wired(client, fake, [Swap(name, value)] * 50)
    only_looks(client)
    assert fake.writes == []


def _no_reading(answer: Answer) -> bool:
    """Not what could be a client's own answer: a lie that is well told is believed."""
    return not any(name.encode() in answer.body for name in ("up_", "speed", "1"))


spoils = st.one_of(
    st.none(),
    st.none(),
    st.sampled_from(["before", "after"]),
    st.floats(0.0, 1.0),
    answers.filter(_no_reading),
)


@pytest.mark.parametrize("kind", FAKES)
@given(spoilt=st.lists(spoils, max_size=60), limited=st.booleans())
def test_whatever_spoils_answers_the_user_has_in_the_end_what_he_had(
    kind: type[Fake], spoilt: list[Any], limited: bool
) -> None:
    fake = kind()
    if isinstance(fake, FakeQBittorrent):
        fake.limits[0] = 51200 if limited else 0
    elif isinstance(fake, FakeTransmission):
        fake.session["speed-limit-up-enabled"] = limited
    elif isinstance(fake, FakeDeluge):
        fake.config["max_upload_speed"] = 33.5 if limited else -1.0
    client = client_of(fake.scheme)
    wire = wired(client, fake, [])
    client.connect()
    before = client.read().setting
    session = Session(0, client.read(), control="autolimit", reflectors=4, rounded=client.rounded)
    memory = Volatile()
    wire.spoils = list(spoilt)
    now = [0.0]
    memory.orders = Orders(lambda: now[0])
    for second in range(1, 30):
        now[0] = second
        session.on_answer(second * SECOND, second % 4, 20_000_000)
        order = session.order(second * SECOND)
        try:
            said = turn(client, memory, order, torrents=second % 7 == 0)
        except Gone as gone:
            session.on_silence(second * SECOND, str(gone), order)
        except Refused:
            break
        else:
            session.on_said(second * SECOND, said, order)
        assert all(0 < limit < 2**31 for limit in memory.ours)
    wire.spoils = []
    # Who was refused logs in again, as a person would after the first line.
    client.connect()
    # A write without an answer may come later, which is said.
    with contextlib.suppress(Unsure):
        restore(client, memory, wait=lambda s: now.__setitem__(0, now[0] + s), clock=lambda: now[0])
    assert client.read().setting == before


class _Session:
    """A session of libtorrent with any numbers."""

    def __init__(self, limit: int, counted: list[tuple[int, int]]) -> None:
        self.limit, self.counted = limit, counted

    def get_settings(self) -> dict[str, int]:
        return {"upload_rate_limit": self.limit}

    def get_torrents(self) -> list[Any]:
        return [_Torrent(number, *each) for number, each in enumerate(self.counted)]


class _Torrent:
    def __init__(self, number: int, up: int, down: int) -> None:
        self.info_hashes = number
        self.total_payload_upload, self.total_payload_download = up, down

    def is_valid(self) -> bool:
        return self.total_payload_upload % 3 > 0

    def status(self) -> Any:
        return self

    def upload_limit(self) -> int:
        return self.total_payload_download - 5


numbers = st.integers(-(2**31), 2**31 - 1)
counters = st.integers(0, 2**60)


@given(limit=numbers, counted=st.lists(st.tuples(counters, counters), max_size=6))
def test_any_session_of_libtorrent_is_read(limit: int, counted: list[tuple[int, int]]) -> None:
    only_looks(Libtorrent(_Session(limit, counted)))
