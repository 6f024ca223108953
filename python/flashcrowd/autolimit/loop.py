"""The loop of a real client: input with a timestamp, drain outputs, next deadline."""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from flashcrowd.autolimit import route
from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.memory import Memory
from flashcrowd.autolimit.probes import Sounder
from flashcrowd.autolimit.session import Session, Status
from flashcrowd.autolimit.turn import LimitChange, Said, turn
from flashcrowd.base.signals import handled
from flashcrowd.client_api.client import Client, Gone, OwnLimits, Refused

PERIOD_NS = 10**9
"""How often the client is asked: `RATES_PERIOD` of the controllers."""
LATE_NS = 12 * 10**9
"""A request that is under way for longer is broken off; its own time-outs should have ended it."""
LAST_S = 2.0
"""Seconds that a request under way has at the end, before it is aborted."""
WATCH_NS = 5 * 10**9
"""How often route and clocks are looked at."""
TORRENTS_NS = 60 * 10**9
"""How often torrents are asked for limits of their own: the list is long in some clients."""
BACK_OFF_NS = 15 * 10**9
"""A client that is gone is asked less and less often, down to this."""


class Audience(Protocol):
    """Receives remarks and status of a run."""

    def remark(self, now: int, text: str) -> None:
        """Something that a person should know."""
        ...

    def status(self, now: int, status: Status) -> None:
        """The state, once a period."""
        ...


@dataclass(frozen=True)
class _UnderWay:
    """One request to the client: an order if there is one, then a reading."""

    order: LimitChange | None
    answer: Future[Said]
    began: int


class Loop:
    """Runs a session until it is stopped."""

    def __init__(
        self,
        client: Client,
        session: Session,
        sounder: Sounder,
        selector: selectors.BaseSelector,
        audience: Audience,
        *,
        memory: Memory | None,
        clock: Clock,
        seconds: float | None = None,
    ) -> None:
        """With `memory` None nothing is changed in the client; ends after `seconds`, if given."""
        self._client, self._session, self._sounder = client, session, sounder
        self._selector, self._audience = selector, audience
        self._memory, self._clock = memory, clock
        self._worker = ThreadPoolExecutor(1, "flashcrowd-autolimit")
        self._ears, self._mouth = socket.socketpair()
        for end in (self._ears, self._mouth):
            end.setblocking(False)
        selector.register(self._ears, selectors.EVENT_READ, None)
        self._stopped = False
        now = clock.now()
        self._ends = None if seconds is None else now + int(seconds * 1e9)
        self._turn: _UnderWay | None = None
        self._next_turn = now
        self._failures = 0
        self._next_watch = now + WATCH_NS
        self._next_torrents = now
        self._own = OwnLimits()
        self._route = self._look()
        self._had_route = self._route is not None

    def stop(self) -> None:
        """End soon. May be called from a signal's handler or another thread."""
        self._stopped = True
        self._wake()

    def run(self) -> None:
        """Until it is stopped.

        Raises:
            Refused: the client refuses now what it took before.
        """
        try:
            while not self._stopped:
                now = self._clock.now()
                if self._ends is not None and now >= self._ends:
                    return
                self._watch(now)
                self._converse(now)
                self._probe(now)
                self._tell(now)
                self._sleep(now)
        finally:
            self._finish()

    def _finish(self) -> None:
        """Waits for what is under way: nothing may reach the client after this."""
        patience_s = LAST_S
        while self._turn is not None and not self._turn.answer.done():
            with contextlib.suppress(LateError, Gone, Refused, OSError):
                self._turn.answer.result(patience_s)
                break
            self._client.abort()
            patience_s = 0.5
        self._worker.shutdown(cancel_futures=True)
        self._selector.unregister(self._ears)
        self._ears.close()
        self._mouth.close()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._mouth.send(b"\0")

    def _watch(self, now: int) -> None:
        """Looks whether time or the route did something behind our back."""
        unseen, jump = self._clock.look()
        if jump:
            self._audience.remark(now, f"the clock was set by {jump:+.0f} s; nothing depends on it")
        if unseen:
            self._audience.remark(
                now, "time went by unseen (sleep?): what was under way is forgotten"
            )
            self._sounder.forget()
            self._session.on_event(now, "resumed")
        if now < self._next_watch and not unseen:
            return
        self._next_watch = now + WATCH_NS
        there = self._look()
        if there == self._route:
            return
        before, self._route = self._route, there
        self._sounder.forget()
        if there is None:
            self._audience.remark(now, "there is no route any more; waiting")
            self._session.on_event(now, "down")
        elif before is None:
            self._audience.remark(now, "there is a route again")
            self._session.on_event(now, "up")
        else:
            self._audience.remark(now, "the route has changed: the line is learnt anew")
            self._session.on_event(now, "path-changed")

    def _look(self) -> route.Route | None:
        return route.look(self._sounder.at_work[0])

    def _converse(self, now: int) -> None:
        """Takes the client's answer, and asks again when it is time."""
        under_way = self._turn
        if under_way is not None:
            if not under_way.answer.done():
                if now - under_way.began > LATE_NS:
                    self._client.abort()
                    self._turn = replace(under_way, began=now)
                return
            self._turn = None
            try:
                said = under_way.answer.result()
            except Gone as gone:
                self._session.on_silence(now, str(gone), under_way.order)
                self._failures += 1
                self._next_turn = now + min(PERIOD_NS << min(self._failures, 10), BACK_OFF_NS)
                return
            except OSError as error:
                # Not the client's: the state file's, so nothing may be changed.
                raise _unwritten(error) from error
            self._failures = 0
            self._session.on_said(now, said, under_way.order)
            if self._memory is not None and self._memory.had is not None:
                self._remember(self._memory)
            if said.own is not None:
                self._say_own(now, said.own)
        if now >= self._next_turn:
            self._next_turn = now + PERIOD_NS
            order = self._session.order(now) if self._memory is not None else None
            torrents = now >= self._next_torrents
            if torrents:
                self._next_torrents = now + TORRENTS_NS
            answer = self._worker.submit(turn, self._client, self._memory, order, torrents)
            answer.add_done_callback(lambda _: self._wake())
            self._turn = _UnderWay(order, answer, now)

    def _remember(self, memory: Memory) -> None:
        """The state file follows a user who changed the limit."""
        owner = self._session.owner
        try:
            if memory.had != owner.user.kept:
                memory.keep(owner.user.kept, owner.ours)
        except OSError as error:
            raise _unwritten(error) from error

    def _say_own(self, now: int, own: OwnLimits) -> None:
        if own == self._own:
            return
        self._own = own
        said = []
        if own.limited:
            said.append(f"{own.limited} with an upload limit of their own, which stays")
        if own.exempt:
            said.append(
                f"{own.exempt} that do not follow the client's limit, which autolimit cannot slow"
            )
        self._audience.remark(
            now, f"torrents: {'; '.join(said) or 'all go by the client’s limit now'}"
        )

    def _probe(self, now: int) -> None:
        for heard in self._sounder.expire(now):
            self._session.on_answer(now, heard.reflector, heard.rtt)
        if self._sounder.changed:
            self._sounder.changed = False
            self._session.on_event(now, "up")
        # Probes that fall due while no probes are needed are skipped, and not sent later.
        while (timeout := self._session.probe(now)) is not None:
            if self._session.active and self._route is not None:
                self._sounder.probe(now, timeout)

    def _tell(self, now: int) -> None:
        for source in (self._session.remarks, self._sounder.remarks):
            while source:
                self._audience.remark(now, source.pop(0))
        self._audience.status(now, self._session.status())

    def _sleep(self, now: int) -> None:
        """Until something is ready or due."""
        due = [self._next_watch, self._session.deadline, self._ends]
        due.append(self._next_turn if self._turn is None else self._turn.began + LATE_NS)
        wait = min(instant for instant in due if instant is not None) - now
        ready = self._selector.select(max(wait, 0) / 1e9)
        for key, _ in ready:
            arrived = self._clock.now()
            if key.fileobj is self._ears:
                with contextlib.suppress(OSError):
                    self._ears.recv(4096)
            elif isinstance(key.fileobj, socket.socket):
                for heard in self._sounder.ready(arrived, key.fileobj):
                    self._session.on_answer(arrived, heard.reflector, heard.rtt)


def _unwritten(error: OSError) -> Refused:
    return Refused(f"the state file cannot be written: {error.strerror or error}")


def stoppable(
    stop: Callable[[], None], numbers: Sequence[signal.Signals]
) -> AbstractContextManager[None]:
    """Has signals call `stop` until the block ends, except for ignored signals."""
    taken = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    return handled(taken, lambda number, frame: stop())
