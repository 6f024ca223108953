"""What Deluge's daemon says, and whatever else may come over its connection."""

from __future__ import annotations

import contextlib
import socket
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.autolimit.fakes import FakeDeluge, FakeTransmission, framed, served
from tests.autolimit.test_garbage import only_looks

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Gone, Refused
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.deluge import Deluge
from flashcrowd.client_api.deluge_rpc import HEADER, VERSION, DelugeRpc, Request
from flashcrowd.client_api.http import MOST_BYTES

rencode = pytest.importorskip("deluge_client.rencode", reason="no deluge-client")


def reached(place: str, password: str | None = "secret") -> Deluge:
    address = Address.parse(place)
    return Deluge(address, Credentials(address.user, password))


@pytest.mark.parametrize(
    ("value", "limit"), [(-1.0, None), (0.0, None), (33.5, 34304), (300, 307_200)]
)
def test_a_limit_is_kib_and_none_is_below_zero(value: float, limit: int | None) -> None:
    with served(FakeDeluge()) as fake:
        assert isinstance(fake, FakeDeluge)
        fake.config["max_upload_speed"] = value
        client = reached(fake.url)
        client.connect()
        before = client.read().setting
        assert before.limit == limit
        client.write(5000)
        assert fake.config["max_upload_speed"] == 4.0
        client.restore(before.kept)
        assert fake.config["max_upload_speed"] == value
        client.close()


def test_hours_of_the_scheduler_are_alternative_speeds() -> None:
    with served(FakeDeluge()) as fake:
        client = reached(fake.url)
        client.connect()
        assert not client.read().alternative
        fake.alternative = True
        assert client.read().alternative
        client.close()


def test_a_daemon_that_was_started_again_is_logged_into_again() -> None:
    fake = FakeDeluge()
    with served(fake):
        client = reached(fake.url)
        client.connect()
        # What a connection that ended looks like from here.
        client.abort()
        client.read()
        assert fake.logins == 2
        client.close()


def test_who_may_only_look_and_who_has_no_name_are_refused() -> None:
    with served(FakeDeluge()) as fake:
        assert isinstance(fake, FakeDeluge)
        fake.level = 1
        client = reached(fake.url)
        with pytest.raises(Refused, match="level 5"):
            client.connect()
        nobody = reached(fake.url.replace("me@", ""), None)
        with pytest.raises(Refused, match="the address has no user"):
            nobody.connect()
        for each in (client, nobody):
            each.close()


def test_what_speaks_no_tls_is_not_deluge() -> None:
    with served(FakeTransmission()) as fake:
        client = reached(f"deluge://me@127.0.0.1:{fake.port}")
        with pytest.raises(Refused, match="not the daemon of Deluge"):
            client.connect()
        client.close()


def saying(said: bytes) -> tuple[DelugeRpc, socket.socket]:
    """A connection over which something was said, and its other end."""
    rpc = DelugeRpc("localhost", 1)
    rpc._socket, other = socket.socketpair()
    other.sendall(said)
    other.shutdown(socket.SHUT_WR)
    return rpc, other


def test_answers_may_come_in_any_order_with_events_between() -> None:
    rpc, other = saying(framed((1, 1, "b")) + framed((3, "Event", ())) + framed((1, 0, "a")))
    assert rpc.ask(Request("first"), Request("second")) == ["a", "b"]
    rpc.close()
    other.close()


@pytest.mark.parametrize(
    "body",
    [zlib.compress(bytes(MOST_BYTES + 1)), zlib.compress(b"\x01")[:-3], b"", b"\xff"],
    ids=["a bomb", "cut off", "nothing", "no zlib"],
)
def test_a_body_that_is_no_message_ends_the_connection(body: bytes) -> None:
    rpc, other = saying(HEADER.pack(VERSION, len(body)) + body)
    with pytest.raises(Gone, match="garbage"):
        rpc.ask(Request("daemon.info"))
    assert not rpc.connected
    other.close()


NAMES = ["max_upload_speed", "net.sent_payload_bytes", "net.recv_payload_bytes"]
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**200) | st.floats() | st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=8,
)
messages = st.one_of(
    st.tuples(st.sampled_from([1, 1, 1, 2, 3, None]), st.integers(-1, 6), values).map(framed),
    st.tuples(st.just(1), st.integers(0, 3), st.just(10)).map(framed),
    values.map(framed),
    st.binary(max_size=20).map(lambda body: HEADER.pack(VERSION, len(body)) + body),
    st.binary(max_size=20).map(
        lambda text: HEADER.pack(VERSION, len(zlib.compress(text))) + zlib.compress(text)
    ),
    st.binary(max_size=20),
    st.sampled_from([HEADER.pack(VERSION, 2**32 - 1), HEADER.pack(2, 5), HEADER.pack(VERSION, 0)]),
)


@given(said=st.lists(st.lists(messages, max_size=8).map(b"".join), min_size=1, max_size=5))
def test_any_bytes_on_the_wire_are_understood_or_refused(said: list[bytes]) -> None:
    turns, ends = iter(range(10**6)), []

    def connect(rpc: DelugeRpc, until: float) -> None:
        """To somebody who says his piece whatever he is asked, and hangs up."""
        rpc._socket, other = socket.socketpair()
        ends.append(other)
        other.sendall(said[next(turns) % len(said)])
        other.shutdown(socket.SHUT_WR)

    client = reached("deluge://me@localhost:1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DelugeRpc, "_connect", connect)
        only_looks(client)
        client.close()
    for other in ends:
        other.setblocking(False)
        asked = b""
        with contextlib.suppress(OSError):
            asked = other.recv(1 << 20)
        other.close()
        for method in methods(asked):
            assert not method.startswith("core.set")


def methods(asked: bytes) -> list[str]:
    """The methods that were called."""
    found: list[Any] = []
    while asked:
        length = HEADER.unpack(asked[: HEADER.size])[1]
        body, asked = asked[HEADER.size : HEADER.size + length], asked[HEADER.size + length :]
        found += rencode.loads(zlib.decompress(body), decode_utf8=True)
    return [call[1] for call in found]
