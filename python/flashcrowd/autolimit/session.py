"""One client under control, without clocks and sockets: input with an instant, then what is to be done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from flashcrowd import _core
from flashcrowd.autolimit.client import MOST, Reading, Setting

GONE_NS = 10 * 10**9
"""A client that was silent for longer was down, and its line with it, for all that is known."""
STUBBORN = 3
"""A client that did not keep our limit so often in a row does not take limits."""
RATE_SPAN_NS = 5 * 10**9
"""Rates are shown over so long: clients renew their counters every second or two."""


@dataclass(frozen=True)
class Order:
    """What the client is to be told.

    Attributes:
        limit: the limit, bytes per second as the client rounds it; None for what the user has.
    """

    limit: int | None


@dataclass(frozen=True)
class Status:
    """What there is to be shown.

    Attributes:
        up: upload in bytes per second; None before two readings.
        down: download in bytes per second.
        limit: limit in force, bytes per second; None for none.
        wanted: what the controller wants, the user's own limit and the line's taken into account.
        delay: the last round trip over the least of its reflector, in nanoseconds.
        decided: the delay by which the controller decided, in nanoseconds.
        threshold: the delay above which it takes the uplink for congested.
        phase: what it is doing, in a word.
        reason: why.
    """

    up: float | None
    down: float | None
    limit: int | None
    wanted: int | None
    delay: int | None
    decided: int | None
    threshold: int | None
    phase: str
    reason: str


class Session:
    """A controller and its client.

    Attributes:
        user: what the user wants the client to have, restored at the end.
        written: limits of which one may stand in the client because of us; empty if none does.
        remarks: what a person should know, oldest first; the reader takes them out.
    """

    def __init__(
        self,
        now: int,
        reading: Reading,
        *,
        control: str,
        reflectors: int,
        rounded: Callable[[int], int],
        line: int | None = None,
    ) -> None:
        """Begins.

        Args:
            now: the instant, in nanoseconds.
            reading: what the client said first.
            control: the controller's name.
            reflectors: how many there are.
            rounded: what the client makes of a limit.
            line: what the line carries, in bytes per second, if that is known.

        Raises:
            ValueError: there is no such controller.
        """
        self._rounded, self._line = rounded, line
        self._control = _core.UploadController(
            control, now, reflectors, _bps(reading.setting.limit)
        )
        self.user: Setting = reading.setting
        self.written: list[int] = []
        self.remarks: list[str] = []
        self._reading = reading
        self._counted: deque[tuple[int, int, int]] = deque()
        self._silent_since: int | None = None
        self._down = False
        self._misses = 0
        self._kept = True
        self._base: dict[int, int] = {}
        self._delay: int | None = None
        self._told: Order | None = None
        self._past: deque[int] = deque(maxlen=100)
        self._take(now, reading)

    # What happens.

    def on_reading(self, now: int, reading: Reading) -> None:
        """The client has answered."""
        restarted = reading.uploaded < self._reading.uploaded or self._down
        if self._down:
            self._down = False
            self.remarks.append("the client is back")
            self._control.on_event(now, "up")
        self._silent_since = None
        if reading.alternative != self._reading.alternative:
            if reading.alternative:
                self.remarks.append("alternative speeds are on: autolimit leaves them alone")
            else:
                self.remarks.append("alternative speeds are off: autolimit goes on")
                self._control.on_event(now, "resumed")
        self._judge(reading, restarted)
        self._take(now, reading)

    def on_silence(self, now: int, why: str) -> None:
        """The client did not answer."""
        if self._silent_since is None:
            self._silent_since = now
        if not self._down and now - self._silent_since >= GONE_NS:
            self._down = True
            self._counted.clear()
            self.remarks.append(f"the client is gone ({why}); waiting for it")
            self._control.on_event(now, "down")

    def on_answer(self, now: int, reflector: int, rtt: int | None) -> None:
        """A probe was answered, or was lost."""
        if rtt is not None:
            base = self._base[reflector] = min(self._base.get(reflector, rtt), rtt)
            self._delay = rtt - base
        if self.active:
            self._control.on_answer(now, reflector, rtt)

    def on_event(self, now: int, event: str) -> None:
        """Something happened to the line or to the clock; see `_core.UploadController.on_event`."""
        if event in ("path-changed", "up"):
            self._base.clear()
            self._delay = None
        if event == "resumed":
            self._counted.clear()
        self._control.on_event(now, event)

    def on_order(self, order: Order) -> None:
        """An order is carried out now; from here on its limit may stand in the client."""
        if order.limit is not None:
            self.written = [*self.written[-1:], order.limit]
            self._past.append(order.limit)

    def on_done(self, order: Order) -> None:
        """It was carried out; the next reading says what the client made of it."""
        self._told = order

    # What is to be done.

    @property
    def active(self) -> bool:
        """Whether the controller is at work: the client answers, and no other speeds are in force."""
        return not (self._down or self._reading.alternative)

    def probe(self, now: int) -> int | None:
        """The time-out of a probe that is due, if one is; ask until there is none."""
        due = self._control.probe(now)
        return None if due is None else due[1]

    @property
    def deadline(self) -> int | None:
        """When `probe` is to be asked again."""
        return self._control.deadline_ns

    def order(self) -> Order | None:
        """What the client is to be told now, if anything; asked after a reading."""
        in_force = self._reading.setting.limit
        if not self.active or self._told is not None or self.user.limit == 0 or not self._kept:
            return None
        wanted = self._wanted()
        if wanted is None or (self.user.limit is not None and wanted >= self.user.limit):
            return Order(None) if in_force != self.user.limit else None
        wanted = self._rounded(wanted)
        return Order(wanted) if wanted != in_force else None

    def status(self) -> Status:
        """What there is to be shown."""
        phase, reason, decided, threshold = self._control.state
        if self._down:
            phase, reason = "waiting", "the client is gone"
        elif self._reading.alternative:
            phase, reason = "suspended", "alternative speeds are on"
        elif self.user.limit == 0:
            phase, reason = "suspended", "your client is set to upload nothing"
        elif not self._kept:
            phase, reason = "suspended", "the client does not keep the limits that it is given"
        up, down = self._rates()
        limit = self._reading.setting.limit
        return Status(
            up, down, limit, self._wanted(), self._delay, decided, threshold, phase, reason
        )

    def _wanted(self) -> int | None:
        bps = self._control.limit_bps
        limits = [self._line, self.user.limit, None if bps is None else max(bps // 8, 1)]
        known = [limit for limit in limits if limit is not None]
        return min(*known, MOST) if known else None

    def _judge(self, reading: Reading, restarted: bool) -> None:
        """Whether the limit is the user's, one of ours, or somebody changed it."""
        limit = reading.setting.limit
        told, self._told = self._told, None
        kept = told is None or limit == (self.user.limit if told.limit is None else told.limit)
        if not kept:
            self._misses += 1
        elif told is not None:
            self._misses, self._kept = 0, True
        if self._misses >= STUBBORN and self._kept:
            self._kept = False
            self.remarks.append(
                "the client does not keep the limits that it is given: only watching"
            )
        if limit in self.written or (restarted and limit in self._past):
            return
        if limit != self.user.limit:
            shown = "no limit" if limit is None else f"{limit / 1e3:g} kB/s"
            self.remarks.append(
                f"the limit was changed in the client to {shown}: autolimit goes no higher, "
                "and leaves it so at the end"
            )
        self.user = reading.setting
        self.written = []

    def _take(self, now: int, reading: Reading) -> None:
        if self._counted and (
            reading.uploaded < self._counted[-1][1] or reading.downloaded < self._counted[-1][2]
        ):
            self._counted.clear()
        self._counted.append((now, reading.uploaded, reading.downloaded))
        while now - self._counted[0][0] > RATE_SPAN_NS and len(self._counted) > 2:
            self._counted.popleft()
        self._reading = reading
        if self.active:
            limit = _bps(reading.setting.limit)
            self._control.on_rates(now, reading.uploaded, reading.downloaded, limit)

    def _rates(self) -> tuple[float | None, float | None]:
        if len(self._counted) < 2:
            return None, None
        first, last = self._counted[0], self._counted[-1]
        span = (last[0] - first[0]) / 1e9
        if span <= 0:
            return None, None
        return (last[1] - first[1]) / span, (last[2] - first[2]) / span


def _bps(limit: int | None) -> int | None:
    return None if limit is None else max(limit * 8, 1)
