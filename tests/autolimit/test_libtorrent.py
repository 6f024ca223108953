"""A session of libtorrent in the same process."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.late import PATIENCE_S

from flashcrowd.autolimit.libtorrent import controlled
from flashcrowd.autolimit.probes import Reflector
from flashcrowd.autolimit.session import Status
from flashcrowd.client_api.libtorrent import Libtorrent

libtorrent = pytest.importorskip("libtorrent", reason="libtorrent is not installed")


class Listener:
    """Hears until a limit is in force."""

    def __init__(self) -> None:
        self.limits: list[int | None] = []

    def remark(self, now: int, text: str) -> None:
        raise AssertionError(text)

    def status(self, now: int, status: Status) -> None:
        self.limits.append(status.limit)


@pytest.mark.parametrize("had", [0, 123_457])
def test_a_session_is_controlled_within_a_block(had: int) -> None:
    quiet = {"enable_dht": False, "enable_lsd": False, "enable_upnp": False}
    session = libtorrent.session(
        {
            "listen_interfaces": "127.0.0.1:0",
            "upload_rate_limit": had,
            "enable_natpmp": False,
            **quiet,
        }
    )
    listener = Listener()
    before = Libtorrent(session).read().setting
    ends = time.monotonic() + PATIENCE_S
    reflectors = [Reflector("127.0.0.1", 9), Reflector("127.0.0.2", 9)]
    options: Any = {"control": "unlimited", "line": 100_000, "ways": ["tcp"]}
    with controlled(session, reflectors=reflectors, audience=listener, **options):
        while session.get_settings()["upload_rate_limit"] == had and time.monotonic() < ends:
            time.sleep(0.02)
        assert 0 < session.get_settings()["upload_rate_limit"] < 123_457
    assert listener.limits[0] == before.limit
    assert Libtorrent(session).read().setting == before
    with pytest.raises(ValueError, match="fast"), controlled(session, control="fast", ways=["tcp"]):
        pass
