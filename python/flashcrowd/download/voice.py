"""A download's display: a bar in a terminal, a line now and then everywhere else."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

from flashcrowd.base import terminal
from flashcrowd.base.amounts import duration, scaled
from flashcrowd.download.account import HERE, Fetched
from flashcrowd.download.account import Progress as Far

EVERY_S = 10.0
"""Time between two lines where there is no terminal, in seconds."""
STATE = 50
"""Columns that are left to how far a download is."""
BAR = 42
"""Columns of the bar."""
WIDE = STATE + BAR + 8
"""A terminal with at least this many columns shows a bar."""
NARROW = STATE + 8
"""One with fewer shows no name."""


@dataclass(frozen=True)
class BatchPosition:
    """Which file of several one is.

    Attributes:
        number: of the file, from 1.
        count: of all files.
        bytes: that came for the files before it.
        seconds: that they took.
    """

    number: int
    count: int
    bytes: int
    seconds: float


class Voice:
    """Tells on standard error how far a download is, until the block ends.

    Args:
        name: of the file.
        place: which file of several it is; None if it is the only one.
        quiet: say nothing of it.
        every_s: time between two lines where there is no terminal, in seconds.
        console: where to show a bar, if it is a terminal; standard error if not given.
    """

    def __init__(
        self,
        name: str,
        quiet: bool = False,
        place: BatchPosition | None = None,
        every_s: float = EVERY_S,
        console: Console | None = None,
    ) -> None:
        self._name = name if place is None else f"[{place.number}/{place.count}] {name}"
        self._place = place
        self._quiet = quiet
        self._every_s = every_s
        self._last = time.monotonic()
        self._far: Far | None = None
        self._bar: Progress | None = None
        self._task = self._all = TaskID(0)
        self._console = console or terminal.console(stderr=True)
        width = self._console.width
        if not quiet and self._console.is_terminal:
            room = max(8, width - STATE - (BAR if width >= WIDE else 0))
            name = self._name
            shown = name if len(name) <= room else f"{name[: room - 1]}…"
            columns: list[ProgressColumn] = [
                TextColumn("{task.description}"),
                TextColumn("{task.fields[state]}"),
            ]
            if width >= WIDE:
                columns.insert(1, BarColumn())
            elif width < NARROW:
                del columns[0]
            self._bar = Progress(*columns, console=self._console)
            self._task = self._bar.add_task(escape(shown), total=None, state="")
            if place is not None:
                self._all = self._bar.add_task("in all", total=place.count, state="")

    def __enter__(self) -> Voice:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Takes the hands off the terminal."""
        if self._bar is not None:
            self._bar.stop()

    def watch(self, far: Far) -> None:
        """How far it is."""
        self._far = far
        if self._bar is not None:
            state = self._line(far)
            if self._console.width < NARROW:
                percent = f"{100 * far.done // far.length} %, " if far.length else ""
                state = f"{percent}{'verifying' if far.verifying else scaled(far.rate, 'B/s')}"
            self._bar.update(self._task, completed=far.done, total=far.length, state=state)
            if self._place is not None:
                self._watch_all(self._place, far, self._bar)
        elif not self._quiet and time.monotonic() - self._last >= self._every_s:
            self._last = time.monotonic()
            self._say(f"{self._name}: {self._line(far)}")

    def _watch_all(self, place: BatchPosition, far: Far, bar: Progress) -> None:
        came, seconds = place.bytes + far.received, place.seconds + far.seconds
        state = f"{place.number - 1} of {place.count} files, {scaled(came, 'B')}"
        if self._console.width >= NARROW:
            state += f", {scaled(came / max(seconds, 1e-6), 'B/s')}"
        part = far.done / far.length if far.length else 0.0
        bar.update(self._all, completed=place.number - 1 + part, state=state)

    def tell(self, line: str) -> None:
        """A sentence that a person should know."""
        if self._bar is not None:
            self._say(line)
        elif not self._quiet:
            self._say(f"{self._name}: {line}")

    def _say(self, line: str) -> None:
        # A download goes on if its output has no reader any more.
        with contextlib.suppress(OSError, ValueError):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    @property
    def keeps(self) -> bool:
        """Whether something is kept of a download that is stopped now."""
        return self._far is not None and self._far.kept

    def kept(self) -> str:
        """The message about a download that was stopped."""
        if self._far is None or not self._far.kept:
            return "Nothing had come that can be kept."
        return f"{self._far.path.name}.part keeps {self._state(self._far)}."

    def summary(self, fetched: Fetched) -> str:
        """A file that was fetched, in a line."""
        if fetched.how == HERE:
            by = "SHA-256" if "sha256" in fetched.verified else "the server's digest"
            return f"{fetched.path}: already here, {by} matches"
        rate = scaled(fetched.received / max(fetched.seconds, 1e-6), "B/s")
        parts = [f"{fetched.path}: {scaled(fetched.bytes, 'B')}"]
        if fetched.received:
            parts.append(f"{scaled(fetched.received, 'B')} in {duration(fetched.seconds)}, {rate}")
        if fetched.resumed:
            parts.append(f"{scaled(fetched.resumed, 'B')} were there")
        if fetched.how == "any order":
            parts.append("in the server's order")
        elif fetched.how == "hinted ranges":
            parts.append("by the server's hints")
        if fetched.retries:
            parts.append(f"{fetched.retries} {'retry' if fetched.retries == 1 else 'retries'}")
        if fetched.refetched:
            parts.append(f"{scaled(fetched.refetched, 'B')} came damaged and again")
        words = {
            "blocks": "the server's digests of its blocks",
            "server": "the server's digest",
            "sha256": "the SHA-256 that was given",
        }
        by = " and ".join(words[each] for each in fetched.verified)
        parts.append(f"verified by {by}" if by else "not verified: no digest came")
        return "; ".join(parts)

    def _state(self, far: Far) -> str:
        done = scaled(far.done, "B")
        return done if far.length is None else f"{done} of {scaled(far.length, 'B')}"

    def _line(self, far: Far) -> str:
        parts = [self._state(far)]
        whole = far.done == far.length
        if far.verifying:
            parts.append("verifying")
        elif far.received or not whole:
            parts.append(scaled(far.rate, "B/s"))
        if far.left_s is not None and not whole:
            parts.append(f"about {duration(far.left_s)} left")
        return ", ".join(parts)
