"""How far the runs of a study are: a bar in a terminal or a notebook, lines everywhere else."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from flashcrowd.base import terminal
from flashcrowd.base.amounts import counted, duration
from flashcrowd.study.need import StudyNeed, long, size
from flashcrowd.study.pool import Watch

BEAT_S = 10.0
"""Time between two lines, in seconds of wall-clock time."""
ENOUGH = 0.05
"""The share of each run at work that is done before they say how long the rest will take."""


def say(line: str) -> None:
    """Prints a line to stderr, if it still has a reader."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Lines:
    """Progress without a terminal: a line at the start, every `every_s`, and at the end.

    Attributes:
        need: what all runs of the study need, if an engine could tell.
        again: the command that goes on where it was interrupted.
        every_s: time between two lines, in seconds.
        tell: takes each line.
        clock: gives the time of day, in seconds.
    """

    need: StudyNeed | None = None
    again: str = ""
    every_s: float = BEAT_S
    tell: Callable[[str], None] = say
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    def start(self, title: str, done: int, total: int) -> None:
        """Tells what is going to happen."""
        before = f", {done} of them done before" if done else ""
        parts = [f"{title}: {total} {'run' if total == 1 else 'runs'}{before}"]
        if self.need is not None and self.need.known:
            seconds = self.need.left(total - done)
            memory = f"{size(self.need.process_bytes)} of memory, {self.need.jobs} at a time"
            parts.append(f"about {duration(seconds)}{self._where}, and {memory}")
        if self.again:
            parts.append(f"if interrupted, go on with: {self.again}")
        self.tell("; ".join(parts))

    def warn(self, runs: int) -> None:
        """Warns that this number of runs will take long, and says what would be quicker."""
        if advice := long(0.0 if self.need is None else self.need.left(runs)):
            self.tell(f"warning: {advice} Ctrl-C stops, and keeps finished runs.")

    @property
    def _where(self) -> str:
        """The cores that these seconds are of; nothing where runs wait for real time."""
        if self.need is None or self.need.cores is None:
            return ""
        cores = counted(self.need.cores, "idle core")
        return f" on {cores}{'' if self.need.here else ' of the machine of benches/README.md'}"

    @contextmanager
    def watched(self, title: str, done: int, total: int) -> Iterator[Watch]:
        """Tells how it goes, until the block ends."""
        self.start(title, done, total)
        begin = last = self.clock()
        state = (0, 0.0)

        def watch(finished: int, work: float, workers: int | None = None) -> None:
            nonlocal last, state
            state = (finished, work)
            now = self.clock()
            if now - last >= self.every_s:
                last = now
                beat = self._beat(now - begin, done, finished, work, total)
                self.tell(beat + _workers(workers))

        yield watch
        finished, seconds = state[0], self.clock() - begin
        self.tell(f"{done + finished} of {counted(total, 'run')} done, after {duration(seconds)}")

    def _beat(self, seconds: float, done: int, finished: int, work: float, total: int) -> str:
        parts = [f"{done + finished} of {counted(total, 'run')} done"]
        at_work = 1 if self.need is None else min(self.need.jobs, total - done)
        if work >= ENOUGH * at_work:
            minutes = 60 * work / seconds
            rate = f"{minutes / 60:.3g} a second" if minutes >= 60 else f"{minutes:.2g} a minute"
            parts.append(rate)
            # A run at work is never quite done, so at its end the estimate runs out before it does.
            left = (total - done - work) * seconds / work
            if left >= 1.0:
                parts.append(f"about {duration(left)} left")
            elif at_end := total - done - finished:
                parts.append(_at_work(at_end))
        return ", ".join(parts)


def _at_work(runs: int) -> str:
    """The words where an estimate has run out."""
    if runs == 1:
        return "the last run is still at work"
    return f"the last {counted(runs, 'run')} are still at work"


def _workers(count: int | None) -> str:
    """How many workers there are, after a comma; nothing where there is no such number."""
    return "" if count is None else f", {count} {'worker' if count == 1 else 'workers'}"


@contextmanager
def shown(
    title: str, done: int, total: int, wanted: bool = True, lines: Lines | None = None
) -> Iterator[Watch | None]:
    """Show how far the runs of a study are, until the block ends.

    Args:
        title: what is being done.
        done: runs finished before.
        total: runs in all.
        wanted: False for silence.
        lines: what to tell where there is no terminal, and what will take long; None for silence.

    Yields:
        the display; None for none
    """
    console = terminal.console(stderr=True)
    if wanted and lines is not None:
        lines.warn(total - done)
    if not wanted:
        yield None
    elif console.is_terminal or console.is_jupyter:
        with _bar(console, title, done, total) as watch:
            yield watch
    elif lines is not None:
        with lines.watched(title, done, total) as watch:
            yield watch
    else:
        yield None


@contextmanager
def _bar(console: Console, title: str, done: int, total: int) -> Iterator[Watch]:
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]}/{task.total:.0f} runs{task.fields[workers]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    narrow = console.width < 80
    if narrow:  # how many runs are done, and the time that is left
        del columns[4], columns[1:3]
    room = max(4, console.width - 2 * len(str(total)) - (22 if narrow else 60))
    name = title if len(title) <= room else f"{title[: room - 1]}…"
    with Progress(*columns, console=console, transient=False) as progress:
        task = progress.add_task(_plain(name), total=total, completed=done, runs=done, workers="")

        def watch(finished: int, work: float, workers: int | None = None) -> None:
            told = "" if narrow else _workers(workers)
            progress.update(task, completed=done + work, runs=done + finished, workers=told)

        yield watch
        progress.refresh()  # the end, which a notebook is not shown otherwise


def _plain(title: str) -> str:
    """A title in which brackets are no markup."""
    from rich.markup import escape

    return escape(title)
