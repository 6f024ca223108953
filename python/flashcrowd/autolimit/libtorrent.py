"""libtorrent, as a library: a session of one's own program under control.

    with controlled(session):
        ...

The session keeps the limit that it had when the block ends.
"""

from __future__ import annotations

import selectors
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.loop import Audience, Loop
from flashcrowd.autolimit.memory import Volatile
from flashcrowd.autolimit.probes import PUBLIC, WAYS, Reflector, Sounder
from flashcrowd.autolimit.restore import restore
from flashcrowd.autolimit.session import CONTROL, Session, Status
from flashcrowd.client_api.libtorrent import Libtorrent


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
        audience: receives remarks and status, in that thread.

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
