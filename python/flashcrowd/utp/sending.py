"""A transfer as the end that called sees it: its intervals, and its result."""

from __future__ import annotations

import json
import time
from typing import Any

from flashcrowd import _core
from flashcrowd.base.signals import stopped
from flashcrowd.base.stopping import attend
from flashcrowd.utp import lines
from flashcrowd.utp.reports import Direction, Report, Total
from flashcrowd.utp.totals import DIRECTIONS, Mark, broken, summary, totals
from flashcrowd.utp.transfer_request import TransferRequest
from flashcrowd.utp.voice import Voice


class Sending:
    """One transfer over one transport.

    Attributes:
        status: the exit status that this transfer asks for.
        stopped: how often a person has asked to stop.
        totals: by direction, when it has ended.
    """

    def __init__(
        self,
        task: _core.UtpTransfer,
        transport: str,
        order: TransferRequest,
        voice: Voice,
        interval: float,
    ) -> None:
        self.task, self.transport, self.order, self.voice = task, transport, order, voice
        self.interval = interval
        self.started = self.then = time.monotonic()
        self.before: dict[int, Report] = {}
        self.latest: dict[int, Report] = {}
        self.marks: dict[int, Mark] = {}
        self.silent: set[int] = set()
        self.headed = False
        self.intervals: list[dict[str, object]] = []
        self.reports: list[Report] = []
        self.totals: dict[Direction, Total] = {}
        self.error: str | None = None
        self.status = 0
        self.stopped = 0

    def run(self, remote: str) -> None:
        """Waits for its end, and tells what happens."""
        self.stopped = attend(self.task, self._tick, self._moved)
        try:
            self.reports = _loads(self.task.result())
        except InterruptedError:
            self.error, self.status = "stopped before there was a connection", stopped()
            self.voice.say("Stopped before there was a connection.", **self._event("stopped"))
            return
        except OSError as error:
            self._fail(remote, error)
            return
        self._last()

    def document(self) -> dict[str, object]:
        """Its form in JSON."""
        return {
            "transport": self.transport,
            "error": self.error,
            "totals": self.totals,
            "streams": self.reports,
            "intervals": self.intervals,
        }

    def congestion(self) -> str | None:
        """TCP's congestion control at the end that sends, as the system names it."""
        names = [one["congestion"] for one in self.reports]
        return next((name for name in names if name), None)

    def _moved(self) -> int:
        """Bytes that have arrived, of all streams."""
        return sum(one["bytes"] for one in self.latest.values())

    def _tick(self) -> None:
        """Keeps the marks, and tells an interval if one is over."""
        self._look(_loads(self.task.streams()))
        now = time.monotonic()
        if self.latest and self.interval and now >= self.then + self.interval:
            self._interval(now)

    def _look(self, reports: list[Report]) -> None:
        if not reports:
            return
        if not self.latest:
            # Opening is no part of an interval.
            self.started = self.then = time.monotonic()
        self.latest = {report["id"]: report for report in reports}
        if any(report["seconds"] >= self.order.omit for report in reports):
            self._mark()

    def _mark(self, *, for_people: bool = True) -> None:
        """From here on bytes count, of all streams; an interval ends here."""
        if not self.order.omit or self.marks:
            return
        if self.interval:
            self._interval(time.monotonic(), for_people=for_people)
        self.marks = {id_: (one["seconds"], one["bytes"]) for id_, one in self.latest.items()}

    def _interval(self, now: float, *, for_people: bool = True) -> None:
        span = (self.then - self.started, now - self.started)
        omitted = bool(self.order.omit) and not self.marks
        moved = dict.fromkeys(DIRECTIONS, 0)
        streams = []
        for one in self.latest.values():
            before = self.before.get(one["id"])
            bytes_ = lines.moved_since(before, one)
            moved[one["direction"]] += bytes_
            streams.append(
                {
                    "id": one["id"],
                    "direction": one["direction"],
                    "bytes": bytes_,
                    "silent_s": one["silent_seconds"],
                    **one["connection"],
                }
            )
            if for_people:
                self._line(span, before, one, bytes_, omitted)
        used = {direction: moved[direction] for direction in self._directions()}
        if for_people and self.order.streams > 1 and len(self.silent) < self.order.streams:
            for direction, bytes_ in used.items():
                self.voice.say_people(lines.together(direction, span, bytes_))
        entry = {
            "begin_s": span[0],
            "end_s": span[1],
            "omitted": omitted,
            "bytes": used,
            "streams": streams,
        }
        self.intervals.append(entry)
        self.voice.say("", **self._event("interval"), **entry)
        self.then, self.before = now, self.latest

    def _line(
        self,
        span: tuple[float, float],
        before: Report | None,
        now: Report,
        moved: int,
        omitted: bool,
    ) -> None:
        """The lines for people on one stream: silence is reported once."""
        label = self.order.streams > 1 or now["direction"] == "to-client"
        if not self.headed:
            self.voice.say_people(lines.STREAMS if label else lines.SENDER)
        self.headed = True
        if moved == 0 and now["silent_seconds"] >= self.interval:
            if now["id"] in self.silent:
                return
            self.silent.add(now["id"])
            since = max(now["seconds"] - now["silent_seconds"], 0.0)
            text = f"{since:6.1f} s  nothing is heard from the other end since then"
        else:
            self.silent.discard(now["id"])
            text = lines.sending(span, before, now) + ("  (omitted)" if omitted else "")
        self.voice.say_people(lines.labelled(now, text) if label else text)

    def _last(self) -> None:
        """The rest of the last interval, and the totals."""
        self._look(self.reports)
        self._mark(for_people=False)  # It ended before anything counted.
        if self.interval:
            self._interval(time.monotonic(), for_people=False)
        self.totals = totals(self.reports, self.marks)
        good = all(one["error"] is None and one["verified"] for one in self.reports)
        self.status = stopped() if self.stopped > 1 else 0 if good else 1
        for report in self.reports:
            self.voice.say("", event="finished", **report)
        text = summary(self.reports, self.totals)
        if self.headed:
            text = "\n" + text
        self.voice.say(text, **self._event("totals"), totals=self.totals)
        for report in self.reports:
            if report["error"] is not None:
                self.error = self.error or broken(report)
                self.voice.complain(f"{report['peer']}: {report['error']}")

    def _fail(self, remote: str, error: OSError) -> None:
        """Nothing was measured."""
        if self.stopped > 1:
            self.error, self.status = "stopped at once; nothing was verified", stopped()
            self.voice.say("Stopped at once; nothing was verified.", **self._event("stopped"))
            return
        self.error, self.status = _why(error, self.transport), 1
        self.voice.say("", **self._event("failed"), to=remote, error=self.error)
        self.voice.complain(f"{remote}: {self.error}")

    def _directions(self) -> list[Direction]:
        present = {report["direction"] for report in self.latest.values()}
        return [direction for direction in DIRECTIONS if direction in present]

    def _event(self, name: str) -> dict[str, Any]:
        return {"event": name, "transport": self.transport}


def _why(error: OSError, transport: str) -> str:
    """Why nothing was measured: absent, unwilling and full are different things."""
    protocol = {"utp": "UDP", "tcp": "TCP"}[transport]
    why = {
        ConnectionRefusedError: f"no program listens there for {protocol} (or a firewall refuses)",
        TimeoutError: f"the other end does not answer; is {protocol} let through to that port?",
        ConnectionResetError: "the other end is there and refuses connections (RESET): it ends, it"
        " has more of them than it takes, or it is not `flashcrowd utp serve`",
    }
    found = next((text for kind, text in why.items() if isinstance(error, kind)), None)
    return str(error) if found is None else found


def _loads(text: str) -> Any:
    return json.loads(text)
