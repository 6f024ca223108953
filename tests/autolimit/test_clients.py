"""What each client's interface says, and what becomes of answers that nobody could expect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.autolimit.fakes import (
    FAKES,
    Fake,
    FakeDeluge,
    FakeQBittorrent,
    FakeTransmission,
    dead,
    late,
    served,
)

from flashcrowd.client_api import http
from flashcrowd.client_api.address import PORTS, Address
from flashcrowd.client_api.client import Client, Gone, OwnLimits, Refused
from flashcrowd.client_api.clients import CLIENTS, reach
from flashcrowd.client_api.credentials import Credentials


def reached(fake: Fake, password: str = "secret") -> Client:
    return reach(Address.parse(fake.url), Credentials("me", password))


@pytest.mark.parametrize("kind", FAKES)
def test_reads_writes_and_restores(kind: type[Fake]) -> None:
    with served(kind()) as fake:
        client = reached(fake)
        assert client.connect().startswith(client.name)
        had = client.read().setting
        limit = client.rounded(33333)
        client.write(limit)
        assert client.read().setting.limit == limit <= 33333
        client.restore(had.kept)
        assert client.read().setting == had
        assert client.own_limits() in (OwnLimits(1, 0), OwnLimits(1, 1))
        client.close()


@pytest.mark.parametrize("kind", FAKES)
def test_limits_are_never_zero_nor_beyond_32_bits(kind: type[Fake]) -> None:
    client = reach(Address(kind.scheme, "localhost", 1), Credentials(""))
    assert client.rounded(1) in (1000, 1024)
    assert 0 < client.rounded(10**15) < 2**31


def test_every_client_has_a_port_and_a_fake() -> None:
    fakes = {FakeTransmission.scheme, FakeQBittorrent.scheme, FakeDeluge.scheme}
    assert set(CLIENTS) == set(PORTS) == fakes


def test_alternative_speeds_of_qbittorrent_are_left_alone() -> None:
    with served(FakeQBittorrent()) as fake:
        assert isinstance(fake, FakeQBittorrent)
        fake.alternative = True
        client = reached(fake)
        client.connect()
        reading = client.read()
        assert (reading.alternative, reading.setting.limit) == (True, 51200)
        client.write(2048)
        assert fake.limits == [2048, 10240]
        client.close()


def test_a_login_that_ran_out_is_renewed_once() -> None:
    with served(FakeQBittorrent()) as fake:
        assert isinstance(fake, FakeQBittorrent)
        client = reached(fake)
        client.connect()
        fake.cookie = "SID=2"
        client.read()
        assert fake.logins == 2
        client.close()


def test_a_token_that_changed_is_taken() -> None:
    with served(FakeTransmission()) as fake:
        assert isinstance(fake, FakeTransmission)
        client = reached(fake)
        client.connect()
        fake.token = "second"
        client.read()
        client.close()


@pytest.mark.parametrize("kind", FAKES)
def test_wrong_passwords_are_tried_once(kind: type[Fake]) -> None:
    with served(kind()) as fake:
        client = reached(fake, "wrong")
        with pytest.raises(Refused, match="refused the password of me"):
            client.connect()
        assert not isinstance(fake, FakeQBittorrent | FakeDeluge) or fake.logins == 1
        client.close()


@pytest.mark.parametrize("kind", [FakeTransmission, FakeQBittorrent])
def test_the_other_client_is_recognized(kind: type[Fake]) -> None:
    other = FakeQBittorrent.scheme if kind is FakeTransmission else FakeTransmission.scheme
    with served(kind()) as fake:
        fake.scheme = other
        client = reached(fake)
        with pytest.raises(Refused, match=r"is not|refused"):
            client.connect()
        client.close()


@pytest.mark.parametrize("kind", [FakeTransmission, FakeQBittorrent])
def test_a_server_that_takes_no_requests_is_not_that_client(kind: type[Fake]) -> None:
    with served(kind()) as fake:
        fake.mood = lambda path, answer: (501, {}, b"Unsupported method ('POST')")
        client = reached(fake)
        with pytest.raises(Refused, match=r"what answers there is not .*status 501"):
            client.connect()
        client.close()


def test_an_old_transmission_is_refused() -> None:
    with served(FakeTransmission()) as fake:
        assert isinstance(fake, FakeTransmission)
        fake.session["rpc-version"] = 5
        client = reached(fake)
        with pytest.raises(Refused, match="too old"):
            client.connect()
        client.close()


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize("mood", [dead, late], ids=["dead", "late"])
def test_silence_is_no_answer(kind: type[Fake], mood: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", 0.3)
    with served(kind()) as fake:
        client = reached(fake)
        client.connect()
        fake.mood = mood
        with pytest.raises(Gone):
            client.read()
        client.close()


@given(st.text(max_size=40) | st.from_regex(r"[a-z+]{1,14}://[^ ]{0,20}", fullmatch=True))
def test_any_address_is_read_or_refused(text: str) -> None:
    try:
        address = Address.parse(text)
    except Refused as refused:
        assert "\n" not in str(refused)  # noqa: PT017
    else:
        assert Address.parse(address.place) == Address(
            address.client, address.host, address.port, "", address.path, address.tls
        )


@pytest.mark.parametrize(
    "text",
    [
        "qbittorrent://me:geheim@host:8080",
        "qbittorrent://me:a/geheim@host:8080",
        "qbittorrent://me:a@geheim@host:8080",
        "qbittorrent:me:geheim@host",
        "qbittorrent:/me:geheim@host",
        "vuze://me:geheim@host",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Refused) as refused:
        Address.parse(text)
    assert "geheim" not in str(refused.value)
    with pytest.raises(Refused, match="--password-file"):
        Address.parse("qbittorrent://me:geheim@host:8080")
