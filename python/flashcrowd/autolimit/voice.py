"""How a run reports: a live line on a terminal, lines elsewhere, or a JSON object a line."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any

from flashcrowd.autolimit.session import Status
from flashcrowd.base import terminal

LIVE_NS = 500_000_000
"""The period of the live line."""
JSON_NS = 10**9
"""Without a terminal and in JSON the state is written at most this often."""
QUIET_NS = 60 * 10**9
"""... and lines for people, which a log keeps, once a minute and when the phase changed..."""
SETTLED_NS = 10 * 10**9
"""... for this long: a rest takes 6 to 8 s, and is no news."""


class Unheard(BrokenPipeError):
    """The output has no reader any more; raised once, and nothing is written afterwards."""


class Voice:
    """Tells a person or a machine.

    A stream that takes nothing for now, as on a full disk, is no reason to end: what is written
    meanwhile is lost.
    """

    def __init__(self, as_json: bool, dry: bool = False) -> None:
        """In JSON, or for people; `dry` if nothing is changed."""
        self._json, self._dry = as_json, dry
        self._live = not as_json and sys.stdout.isatty()
        self._shown: int | None = None
        self._phase = self._seen = ""
        self._since = 0
        self._line = False
        self._unheard = False

    def say(self, text: str, /, **event: Any) -> None:
        """A sentence for people, an event for machines.

        Raises:
            Unheard: the reader has gone, as it turns out now.
        """
        if self._json:
            self._write(f"{json.dumps({'at': time.time(), **event})}\n")
        else:
            ended, self._line = "\n" if self._line else "", False
            self._write(f"{ended}{text}\n")

    def remark(self, now: int, text: str) -> None:
        """Something that a person should know."""
        if self._json:
            self.say("", event="remark", text=text)
        else:
            self.say(f"{time.strftime('%H:%M:%S')}  {text[:1].upper()}{text[1:]}.")

    def status(self, now: int, status: Status) -> None:
        """The state, not more often than is of use."""
        period = JSON_NS if self._json else LIVE_NS if self._live else QUIET_NS
        if status.phase != self._seen:
            self._seen, self._since = status.phase, now
        turned = status.phase != self._phase and now - self._since >= SETTLED_NS
        early = self._shown is not None and now - self._shown < period
        if early and (self._live or self._json or not turned):
            return
        self._shown, self._phase = now, status.phase
        if self._json:
            self.say("", event="status", **asdict(status))
        elif self._live:
            self._write(line(status, self._dry), anew=True)
            self._line = True
        else:
            self._write(f"{time.strftime('%H:%M:%S')}  {line(status, self._dry)}\n")

    def _write(self, text: str, *, anew: bool = False) -> None:
        if self._unheard:
            return
        try:
            if anew:
                terminal.rewrite(sys.stdout, text)
            else:
                sys.stdout.write(text)
                sys.stdout.flush()
        except BrokenPipeError as error:
            self._unheard = True
            raise Unheard(*error.args) from None
        except OSError:
            pass


def line(status: Status, dry: bool = False) -> str:
    """The live line: rates, limit, delay over the least one, what is done, why, and the queue.

    Unknown values are left out.
    """
    limit = rate(status.wanted if dry else status.limit, "none")
    words = []
    if status.up is not None:
        words += [f"up {rate(status.up, '-')}", f"down {rate(status.down, '-')}"]
    words.append(f"{'would set' if dry else 'limit'} {limit}")
    if status.delay is not None:
        middle = "" if status.median is None else f" (median {_delay(status.median)})"
        words.append(f"delay {_delay(status.delay)}{middle}")
    why = f"{status.reason}; {status.queue}" if status.queue else status.reason
    return "  ".join([*words, f"{status.phase}: {why}"])


def _delay(span: int) -> str:
    return f"+{span / 1e6:.0f} ms"


def rate(bytes_per_second: float | None, none: str) -> str:
    """A rate as clients show it."""
    if bytes_per_second is None:
        return none
    if bytes_per_second < 1e6:
        return f"{bytes_per_second / 1e3:.0f} kB/s"
    return f"{bytes_per_second / 1e6:.2f} MB/s"
