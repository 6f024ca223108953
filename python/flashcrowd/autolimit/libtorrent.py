"""libtorrent, as a library: a session of one's own program under control.

    with controlled(session):
        ...

The session keeps the limit that it had when the block ends.
"""

from __future__ import annotations

import selectors
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flashcrowd.autolimit.client import MOST, OwnLimits, Reading, Setting
from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.loop import Audience, Loop
from flashcrowd.autolimit.memory import Volatile
from flashcrowd.autolimit.probes import PUBLIC, WAYS, Reflector, Sounder
from flashcrowd.autolimit.restore import restore
from flashcrowd.autolimit.session import CONTROL, Session, Status

_LIMIT = "upload_rate_limit"
LEAST = 1024
"""Below this many bytes per second libtorrent sends less than a block in half a minute."""


class Libtorrent:
    """A session of libtorrent (tried with 2.1.1). It never fails to answer."""

    name = "libtorrent"
    place = "libtorrent"
    peer = None

    def __init__(self, session: Any) -> None:
        self._session = session
        self._totals: dict[Any, tuple[int, int]] = {}

    def connect(self) -> str:
        """The name alone: a module's version need not be that of the session."""
        return self.name

    def read(self) -> Reading:
        """Counters of all torrents; those of torrents that were removed stay counted."""
        for handle in self._session.get_torrents():
            if handle.is_valid():
                status = handle.status()
                self._totals[status.info_hashes] = (
                    status.total_payload_upload,
                    status.total_payload_download,
                )
        setting = self.setting(self._session.get_settings())
        up, down = (sum(total[way] for total in self._totals.values()) for way in (0, 1))
        return Reading(up, down, setting, False)

    def setting(self, kept: Mapping[str, Any]) -> Setting:
        """The limit; 0 and below is none."""
        limit = max(int(kept[_LIMIT]), 0)
        return Setting(limit or None, {_LIMIT: limit})

    def rounded(self, limit: int) -> int:
        """Bytes, but not so few that nothing moves; 0 would be no limit."""
        return max(min(limit, MOST), LEAST)

    def write(self, limit: int) -> None:
        """Set the limit."""
        self._session.apply_settings({_LIMIT: self.rounded(limit)})

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Set what it had."""
        self._session.apply_settings({_LIMIT: kept[_LIMIT]})

    def own_limits(self) -> OwnLimits:
        """Torrents with an upload limit of their own."""
        handles = [handle for handle in self._session.get_torrents() if handle.is_valid()]
        return OwnLimits(sum(handle.upload_limit() > 0 for handle in handles))

    def abort(self) -> None:
        """Nothing is ever under way for long."""

    def close(self) -> None:
        """The session belongs to somebody else."""


class _Nobody:
    """An audience for those who want none."""

    def remark(self, now: int, text: str) -> None:
        pass

    def status(self, now: int, status: Status) -> None:
        pass


@contextmanager
def controlled(
    session: Any,
    *,
    control: str = CONTROL,
    line: int | None = None,
    reflectors: Sequence[Reflector] = PUBLIC,
    ways: Sequence[str] = tuple(WAYS),
    audience: Audience | None = None,
) -> Iterator[None]:
    """Controls the upload limit of a session, in a thread of its own, until the block ends.

    Args:
        session: a `libtorrent.session`.
        control: the controller's name.
        line: what the uplink carries, in bytes per second; a ceiling.
        reflectors: who answers probes.
        ways: ways to probe, in the order in which they are tried.
        audience: who is told what happens, from that thread.

    Raises:
        ValueError: there is no such controller.
        OSError: this machine allows none of the ways to probe.
    """
    client, memory, clock = Libtorrent(session), Volatile(), Clock()
    with selectors.DefaultSelector() as selector:
        sounder = Sounder(selector, reflectors, ways)
        try:
            decides = Session(
                clock.now(),
                client.read(),
                control=control,
                reflectors=len(reflectors),
                rounded=client.rounded,
                line=line,
            )
            loop = Loop(
                client, decides, sounder, selector, audience or _Nobody(),
                memory=memory, clock=clock,
            )  # fmt: skip
            thread = threading.Thread(target=loop.run, name="flashcrowd-autolimit")
            thread.start()
            try:
                yield
            finally:
                loop.stop()
                thread.join()
                restore(client, memory)
        finally:
            sounder.close()
