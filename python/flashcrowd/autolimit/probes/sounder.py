"""All probes of a session: the way they go, to which reflectors, how often, and the answers."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from flashcrowd.autolimit.probes.icmp import Icmp
from flashcrowd.autolimit.probes.prober import Prober, Reflector
from flashcrowd.autolimit.probes.tcp import Tcp
from flashcrowd.autolimit.probes.udp import Udp
from flashcrowd.autolimit.probes.vote import Vote

WAYS: dict[str, Callable[[], Prober]] = {"icmp": Icmp, "tcp": Tcp, "udp": Udp}
"""The ways to probe, in the order in which they are tried."""
BUDGET_BPS = 2000
"""Probe traffic that leaves the host, in bits per second."""
BURST_BITS = 4000
"""Bits that may be saved up of it: two seconds."""
SILENCE_NS = 6 * 10**9
"""Without any answer for this long, though probes went out, another way is tried."""


@dataclass(frozen=True)
class Heard:
    """The result of a probe: its reflector, and the round trip in nanoseconds or None."""

    reflector: int
    rtt: int | None


@dataclass(frozen=True)
class _UnderWay:
    reflector: int
    sent: int
    until: int


class Sounder:
    """Sends probes and hears of them.

    Attributes:
        way: how it probes now.
        remarks: what a person should know, oldest first; the reader takes them out.
        changed: whether the way was changed since this was last set to False; delays of two ways do
            not compare.
    """

    def __init__(
        self, selector: selectors.BaseSelector, reflectors: Sequence[Reflector], ways: Sequence[str]
    ) -> None:
        """Opens the first way that this machine allows.

        Raises:
            OSError: it allows none.
        """
        self.reflectors = list(reflectors)
        self.remarks: list[str] = []
        self.changed = False
        self._selector = selector
        self._ways = list(ways)
        self._vote = Vote(len(reflectors))
        self._under_way: dict[int, _UnderWay] = {}
        self._number = 0
        self._credit = float(BURST_BITS)
        self._credited = 0
        self._heard_at: int | None = None
        self._told: set[str] = set()
        self._watched: set[socket.socket] = set()
        self._prober = self._open()

    @property
    def way(self) -> str:
        """How it probes now."""
        return self._prober.kind

    @property
    def at_work(self) -> list[Reflector]:
        """The reflectors that are probed."""
        return [self.reflectors[number] for number in self._vote.at_work]

    def probe(self, now: int, timeout: int) -> bool:
        """Send a probe, if the budget has it; whether it went out."""
        self._credit = min(self._credit + (now - self._credited) * BUDGET_BPS / 1e9, BURST_BITS)
        self._credited = now
        if self._credit < self._prober.cost * 8:
            return False
        if self._heard_at is None:
            self._heard_at = now
        target = self._vote.next()
        self._number = (self._number + 1) % 65536
        try:
            opened = self._prober.send(self._number, self.reflectors[target])
        except OSError:
            return False  # no route: silence, as if it were lost
        self._credit -= self._prober.cost * 8
        self._under_way[self._number] = _UnderWay(target, now, now + timeout)
        if opened is not None and opened not in self._watched:
            ready = selectors.EVENT_WRITE if self._prober.writing() else selectors.EVENT_READ
            self._selector.register(opened, ready, self)
            self._watched.add(opened)
        return True

    def ready(self, now: int, which: socket.socket) -> Iterator[Heard]:
        """A socket is ready."""
        once = self._prober.writing()
        if once:
            self._unwatch(which)
        for number in self._prober.receive(which):
            # Unexpected and duplicate answers are ignored.
            if (probe := self._under_way.pop(number, None)) is not None:
                self._heard_at = now
                self._told.clear()
                yield from self._tell(now, probe.reflector, now - probe.sent)

    def expire(self, now: int) -> Iterator[Heard]:
        """Probes that are lost by now; after a silence of all, another way."""
        for number, probe in list(self._under_way.items()):
            if now >= probe.until:
                del self._under_way[number]
                if (opened := self._prober.forget(number)) is not None:
                    self._unwatch(opened)
                yield from self._tell(now, probe.reflector, None)
        waiting = [probe for probe in self._under_way.values() if now - probe.sent > 10**9]
        silent = self._heard_at is not None and now - self._heard_at > SILENCE_NS
        if silent and len(waiting) >= 4 and len(self._ways) > 1:
            self._switch(now)

    def forget(self) -> None:
        """After a path change or a suspend: forget all outstanding probes."""
        for number in self._under_way:
            if (opened := self._prober.forget(number)) is not None:
                self._unwatch(opened)
        self._under_way.clear()
        self._heard_at = None
        self._vote.forget()

    def close(self) -> None:
        """Close every socket."""
        for opened in list(self._watched):
            self._unwatch(opened)
        self._prober.close()

    def _tell(self, now: int, reflector: int, rtt: int | None) -> Iterator[Heard]:
        for dropped, why in self._vote.hear(now, reflector, rtt):
            self.remarks.append(f"the reflector {self.reflectors[dropped]} is dropped: {why}")
        yield Heard(reflector, rtt)

    def _switch(self, now: int) -> None:
        before = self.way
        self.forget()
        self.close()
        self._ways.append(self._ways.pop(0))
        self._prober = self._open()
        if self.way != before:
            # Until something answers each way is tried again and again, and said once.
            if before not in self._told:
                self.remarks.append(f"probes by {before} get no answer; trying {self.way}")
            self._told.add(before)
            self.changed = True

    def _open(self) -> Prober:
        """The first way that can be opened; one that cannot is left out for good."""
        why = OSError("no way to probe")
        while self._ways:
            try:
                return WAYS[self._ways[0]]()
            except OSError as error:
                why = error
                del self._ways[0]
        raise why

    def _unwatch(self, opened: socket.socket) -> None:
        if opened in self._watched:
            self._watched.discard(opened)
            self._selector.unregister(opened)
