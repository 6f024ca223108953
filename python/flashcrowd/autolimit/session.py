"""One client under control, without clocks and sockets: what happens goes in, orders come out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flashcrowd import _core
from flashcrowd.autolimit import states
from flashcrowd.autolimit.delays import Delays
from flashcrowd.autolimit.line import LEAST
from flashcrowd.autolimit.owner import Owner
from flashcrowd.autolimit.turn import LimitChange, Said
from flashcrowd.client_api.client import MOST, Reading, Setting

CONTROL = "autolimit"
"""The controller that goes as high as it can without harm."""
FAVOURED = {"delay": "autolimit-delay", "upload": CONTROL}
"""The controller by what a person favours; the first one by default."""
GONE_NS = 10 * 10**9
"""A client that was silent for longer was down, and its line with it, for all that is known."""
MUTE_NS = 60 * 10**9
"""Without any answer to a probe for this long, nothing is known of the line any more."""
RATE_SPAN_NS = 5 * 10**9
"""Rates are shown over this time: clients renew their counters every second or two."""


@dataclass(frozen=True)
class Status:
    """The values of the display.

    Attributes:
        up: upload in bytes per second; None before two readings.
        down: download in bytes per second.
        limit: limit in force, bytes per second; None for none.
        wanted: what the controller wants, the user's own limit and the line's taken into account.
        delay: the last round trip over the least of its reflector, in nanoseconds.
        median: the median of these delays in the last seconds; None for too few answers.
        longest: the longest of them.
        decided: the delay by which the controller decided, in nanoseconds.
        threshold: the delay above which it takes the uplink for congested.
        phase: what it is doing, in a word.
        reason: why.
        queue: what the delays of the last seconds say of the queue; empty if nothing.
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
    median: int | None = None
    longest: int | None = None
    queue: str = ""


class Session:
    """A controller and its client.

    Attributes:
        owner: whose the client's limit is.
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
        settings: str | None = None,
        ours: Sequence[int] = (),
        given: Sequence[int | None] = (),
        waits: bool = True,
    ) -> None:
        """Begins.

        Args:
            now: the instant, in nanoseconds.
            reading: what the client said first.
            control: the controller's name.
            reflectors: how many there are.
            rounded: what the client makes of a limit.
            line: what the line carries, in bytes per second, if that is known.
            settings: in what the controller differs from its defaults, as a JSON object.
            ours: limits that an earlier run ordered.
            given: limits that were given back for it, and may come late.
            waits: whether a controller that probes begins when the client uploads, not before.

        Raises:
            ValueError: there is no such controller, or it has no such settings.
        """
        self._rounded, self._line = rounded, line
        self._control = _core.UploadController(
            control, now, reflectors, _bps(reading.setting.limit), settings
        )
        self.owner = Owner(reading.setting, ours, given, now)
        self.remarks = self.owner.remarks
        self._reading = reading
        self._counted: deque[tuple[int, int, int]] = deque()
        self._silent_since: int | None = None
        self._down = False
        self._base: dict[int, int] = {}
        self._delays = Delays()
        # A controller that probes knows nothing before the first answer: without a way to any
        # reflector its first limit, of a few kB/s, would stay for ever.
        self._blind = self._control.deadline_ns is not None
        self._mute_since: int | None = None
        self._mute = False
        # An idle client harms no call, and the next peer should not begin with a few kB/s.
        self._idle = self._waits = waits and self._blind
        self._started = False
        self._take(now, reading)

    # Events.

    def on_said(self, now: int, said: Said, order: LimitChange | None = None) -> None:
        """The client has answered; `order` is what it was sent."""
        reading = said.reading
        restarted = self._restarted(reading)
        away = restarted or self._down
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
        if away:
            self.owner.again()
        if restarted:
            self.owner.reloaded(reading.setting.limit)
        if order is not None and said.done:
            self.owner.told(now, order.limit, True)
            self.owner.made(reading.setting.limit, order.seen)
        self.owner.saw(now, reading.setting)
        self._take(now, reading)

    def _restarted(self, now: Reading) -> bool:
        """Whether the client's counters were reset: it was restarted since the last reading."""
        before = self._reading
        fewer = now.uploaded < before.uploaded or now.downloaded < before.downloaded
        return fewer or (self._silent_since is not None and now.uploaded == now.downloaded == 0)

    def on_silence(self, now: int, why: str, order: LimitChange | None = None) -> None:
        """The client did not answer; the order may have come to it."""
        if order is not None:
            self.owner.told(now, order.limit, False)
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
            self._delays.note(now, rtt - base)
        self._hear(now, rtt is not None)
        if self.active:
            self._control.on_answer(now, reflector, rtt)

    def on_event(self, now: int, event: str) -> None:
        """Something happened to the line or to the clock; see `_core.UploadController.on_event`."""
        if event in ("path-changed", "up"):
            self._base.clear()
            self._delays.forget()
        if event == "resumed":
            self._counted.clear()
        if event != "down":
            self._mute_since = None
        self._control.on_event(now, event)

    # Orders.

    @property
    def active(self) -> bool:
        """Whether the controller is at work: the client answers, at its ordinary speeds."""
        return not (self._down or self._reading.alternative)

    def probe(self, now: int) -> int | None:
        """The time-out of a probe that is due, if one is; ask until there is none."""
        due = self._control.probe(now)
        self._started = self._started or self._control.state[0] not in ("learning", "waiting")
        return None if due is None else due[1]

    @property
    def deadline(self) -> int | None:
        """When `probe` is to be asked again."""
        return self._control.deadline_ns

    @property
    def user(self) -> Setting:
        """The setting that the user wants, restored at the end."""
        return self.owner.user

    def order(self, now: int) -> LimitChange | None:
        """The order to the client now, if any; from here on it may be in force."""
        seen, user = self._reading.setting.limit, self.owner.user
        if not self.active or self.owner.disputed or self.owner.hopeless:
            return None
        if not self.owner.free(now):
            return None
        wanted = self._ours()
        if seen == (user.limit if wanted is None else wanted):
            return None
        self.owner.order(wanted)
        return LimitChange(wanted, seen, user.kept, tuple(self.owner.ours))

    def _ours(self) -> int | None:
        """The limit that we want, as the client rounds it; None for the user's."""
        user = self.owner.user.limit
        if self._blind or user == 0 or not self.owner.obeyed:
            return None
        wanted = self._wanted()
        wanted = None if wanted is None else self._rounded(wanted)
        return None if wanted is None or (user is not None and wanted >= user) else wanted

    def status(self) -> Status:
        """The values of the display."""
        phase, reason, decided, threshold = self._control.state
        heard = self._delays
        queue = heard.words()
        if (instead := self._instead()) is not None:
            (phase, reason, _), queue = instead, ""
        up, down = self._rates()
        limit = self._reading.setting.limit
        wanted = self.user.limit if self._blind else self._wanted()
        return Status(
            up, down, limit, wanted, heard.last, decided, threshold, phase, reason,
            heard.median, heard.longest, queue,
        )  # fmt: skip

    def _instead(self) -> states.State | None:
        """The state where the controller's own would mislead."""
        if self._down:
            return states.GONE
        if self._reading.alternative:
            return states.ALTERNATIVE
        if self.user.limit == 0:
            return states.NOTHING
        if self.owner.disputed:
            return states.DISPUTED
        if not self.owner.obeyed:
            return states.UNOBEYED
        if self._mute:
            return states.MUTE
        if self._blind and self._mute_since is None:
            return states.STARTING
        if self._blind:
            return states.BLIND
        if self._idle:
            return states.IDLE
        # Too little in the first windows; probes that are lost are no part of a start.
        early = not self._started and self._mute_since is None
        return states.EARLY if early and self._control.state[0] == "waiting" else None

    def _hear(self, now: int, answered: bool) -> None:
        """Whether anything is known of the line."""
        if answered:
            if self._mute:
                self.remarks.append("probes are answered again: autolimit goes on")
            self._blind = self._mute = False
            self._mute_since = None
            return
        if self._mute_since is None:
            self._mute_since = now
        if now - self._mute_since >= MUTE_NS and not self._mute:
            self._blind = self._mute = True
            self.remarks.append("no probe is answered: only watching, with your own limit")

    @property
    def _ceiling(self) -> int | None:
        """The highest limit that a person allows: the client's own, or the rate of the line."""
        return _least(self._line, self.user.limit)

    def _wanted(self) -> int | None:
        bps = None if self._idle else self._control.limit_bps
        if bps is not None and self._rests:
            # It is not the upload that makes others wait: a lower limit would change nothing.
            limit = _bps(self._reading.setting.limit)
            bps = None if limit is None else max(bps, limit)
        wanted = _least(self._ceiling, None if bps is None else max(bps // 8, 1))
        return None if wanted is None else min(wanted, MOST)

    @property
    def _rests(self) -> bool:
        """Whether the client uploads nothing at present."""
        up, _ = self._rates()
        return self._waits and up is not None and up < LEAST

    def _take(self, now: int, reading: Reading) -> None:
        if self._counted and (
            reading.uploaded < self._counted[-1][1] or reading.downloaded < self._counted[-1][2]
        ):
            self._counted.clear()
        self._counted.append((now, reading.uploaded, reading.downloaded))
        while now - self._counted[0][0] > RATE_SPAN_NS and len(self._counted) > 2:
            self._counted.popleft()
        self._reading = reading
        if self._idle and (self._rates()[0] or 0.0) >= LEAST:
            self._idle = False
        if self.active:
            limit, ceiling = _bps(reading.setting.limit), _bps(self._ceiling)
            self._control.on_rates(now, reading.uploaded, reading.downloaded, limit, ceiling)

    def _rates(self) -> tuple[float | None, float | None]:
        if len(self._counted) < 2:
            return None, None
        first, last = self._counted[0], self._counted[-1]
        span = (last[0] - first[0]) / 1e9
        if span <= 0:
            return None, None
        return (last[1] - first[1]) / span, (last[2] - first[2]) / span


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _bps(limit: int | None) -> int | None:
    return None if limit is None else max(min(limit, MOST) * 8, 1)
