"""The view of a server: arrivals, bytes that move, finished streams and refused clients."""

from __future__ import annotations

import json
import time

from flashcrowd import _core
from flashcrowd.utp import lines
from flashcrowd.utp.reports import Report
from flashcrowd.utp.totals import NAMES, broken, heard_for
from flashcrowd.utp.voice import Voice

REFUSALS_EVERY = 1.0
"""Seconds between two lines about those who were turned away: a flood must not fill a log."""


class Serving:
    """The lines of a server, several streams at once.

    Attributes:
        streams: the reports of those that have finished.
        refused: how many callers were turned away.
        moved: bytes that have arrived, of all streams that are under way.
    """

    def __init__(self, server: _core.UtpServer, voice: Voice, interval: float) -> None:
        self.server, self.voice, self.interval = server, voice, interval
        self.then = self.asked = time.monotonic()
        self.before: dict[int, Report] = {}
        self.known: set[int] = set()
        self.silent: set[int] = set()
        self.headed = False
        self.streams: list[Report] = []
        self.refused = 0
        self.moved = 0

    def tick(self) -> None:
        """Prints arrivals, what moved if an interval is over, and finished streams."""
        active: dict[int, Report] = {it["id"]: it for it in json.loads(self.server.active())}
        finished: list[Report] = json.loads(self.server.take_finished())
        self.moved = sum(one["bytes"] for one in active.values())
        for one in sorted([*active.values(), *finished], key=lambda one: one["id"]):
            if one["id"] not in self.known:
                self.known.add(one["id"])
                self._connected(one)
        now = time.monotonic()
        if self.interval and now >= self.then + self.interval:
            for one in active.values():
                self._line(one, now - self.then)
            self.then, self.before = now, active
        for one in finished:
            self._finished(one)
        if now >= self.asked + REFUSALS_EVERY:
            self._refusals(now)

    def last(self) -> None:
        """Nothing comes any more."""
        self.tick()
        self._refusals(time.monotonic())

    def status(self) -> int:
        """The exit status after one measurement."""
        good = [one["error"] is None and one["verified"] is True for one in self.streams]
        return 0 if good and all(good) else 1

    def _connected(self, one: Report) -> None:
        verb = "sends" if one["direction"] == "to-server" else "receives"
        text = (
            f"{one['id']:4d}  {one['peer']} has connected, and {verb} ({NAMES[one['transport']]})."
        )
        fields = {name: one[name] for name in ("id", "peer", "direction", "transport")}
        self.voice.say(text, event="connected", **fields)

    def _line(self, one: Report, span: float) -> None:
        before = self.before.get(one["id"])
        # A stream that began within the interval moved its bytes in less.
        span = min(span, one["seconds"] - (before["seconds"] if before else 0.0))
        text = lines.receiving(span, before, one)
        if not lines.moved_since(before, one) and one["silent_seconds"] >= self.interval:
            # Printed once, until the stream goes on.
            since = max(one["seconds"] - one["silent_seconds"], 0.0)
            text = f"{one['id']:4d}  {since:6.1f} s  nothing is heard from the other end since then"
            text = "" if one["id"] in self.silent else text
            self.silent.add(one["id"])
        else:
            self.silent.discard(one["id"])
        if not self.headed:
            self.voice.say_people(lines.RECEIVER)
        self.headed = True
        self.voice.say(text, event="interval", span_s=span, **one)

    def _finished(self, one: Report) -> None:
        good = one["error"] is None and one["verified"] is True
        self.streams.append(one)
        seconds = heard_for(one)
        moved = f"{lines.size(one['bytes'])} in {seconds:.2f} s"
        text = f"{one['id']:4d}  {moved}, {lines.rate(one['bytes'], seconds)}, "
        stopper = one["stopped_by"]
        ours = "receiver" if one["direction"] == "to-server" else "sender"
        if one["error"] is not None:
            text = f"{one['id']:4d}  {broken(one)}"
        elif stopper == ours:
            text += "stopped here; what arrived is " + ("as it was sent." if good else "DAMAGED.")
        else:
            text += f"digest {one['digest']} " + ("equal." if good else "DIFFERS.")
        self.voice.say(text, event="finished", **one)

    def _refusals(self, now: float) -> None:
        self.asked = now
        found = self.server.take_refusals()
        if found is None:
            return
        refusals = json.loads(found)
        self.refused += refusals["count"]
        many = "" if refusals["count"] == 1 else f" ({refusals['count']} were, this is the last)"
        text = f"   -  {refusals['peer']} was turned away{many}: {refusals['why']}."
        self.voice.say(text, event="refused", **refusals)
