"""Several files, one after the other: the outcome of each, and of all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flashcrowd.base.amounts import duration, scaled
from flashcrowd.download.account import HERE, Fetched
from flashcrowd.download.present import check
from flashcrowd.download.voice import BatchPosition, Voice
from flashcrowd.download.wanted import Wanted
from flashcrowd.http.errors import FetchError, Local

SHOWN = 20
"""Files that failed and are named again at the end."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a file.

    Attributes:
        wanted: the file.
        fetched: if it was fetched.
        error: if it could not be had.

    With neither it was there already.
    """

    wanted: Wanted
    fetched: Fetched | None = None
    error: FetchError | None = None


@dataclass
class Several:
    """Fetches files one after the other; one that fails keeps no other from being fetched.

    Args:
        wanted: the files.
        fetch: fetches one, and tells a voice how far it is.
        say: takes a line for a person.
        told: receives each outcome as soon as there is one.
        quiet: whether only errors are printed.
        skip_existing: whether a file that is there already is left as it is.
        overwrite: whether to fetch a file again that is there with another digest.

    Attributes:
        outcomes: the outcomes of those that were tried.
    """

    wanted: Sequence[Wanted]
    fetch: Callable[[Wanted, Voice], Fetched]
    say: Callable[[str], None]
    told: Callable[[Outcome], None] = lambda outcome: None
    quiet: bool = False
    skip_existing: bool = False
    overwrite: bool = False
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def run(self) -> int:
        """Fetches them all; gives the exit status: 0, or that of the failures.

        It is 1 if another try may bring one that failed, else 2.

        Raises:
            KeyboardInterrupt: Ctrl-C; what came is kept, and a line says so.
        """
        begin = time.monotonic()
        for number, each in enumerate(self.wanted, 1):
            place = BatchPosition(
                number, len(self.wanted), self._received, time.monotonic() - begin
            )
            outcome = self._one(each, place)
            self.outcomes.append(outcome)
            self.told(outcome)
        self._sum_up(time.monotonic() - begin)
        return min((it.error.status for it in self.outcomes if it.error), default=0)

    @property
    def _received(self) -> int:
        return sum(it.fetched.received for it in self.outcomes if it.fetched)

    def _one(self, each: Wanted, place: BatchPosition) -> Outcome:
        try:
            if self.skip_existing and os.path.lexists(each.target):
                try:
                    if each.sha256 is not None:
                        check(each.target, each.sha256)
                    checked = "not checked" if each.sha256 is None else "SHA-256 matches"
                    self._say(f"{each.target}: already here, {checked}")
                    return Outcome(each)
                except Local:
                    if not self.overwrite:
                        raise
            with Voice(each.target.name, self.quiet, place) as voice:
                try:
                    fetched = self.fetch(each, voice)
                except KeyboardInterrupt:
                    voice.stop()
                    there = sum(it.error is None for it in self.outcomes)
                    self.say(f"\nStopped. {voice.kept()} {there} of {place.count} files are there.")
                    raise
            self._say(voice.summary(fetched))
            return Outcome(each, fetched)
        except FetchError as error:
            self.say(str(error))
            return Outcome(each, error=error)

    def _say(self, line: str) -> None:
        if not self.quiet:
            self.say(line)

    def _sum_up(self, seconds: float) -> None:
        fetched = [it for it in self.outcomes if it.fetched and it.fetched.how != HERE]
        failed = [it for it in self.outcomes if it.error]
        there = len(self.outcomes) - len(fetched) - len(failed)
        text = f"{len(fetched)} of {len(self.outcomes)} files fetched"
        if self._received:
            text += f": {scaled(self._received, 'B')} in {duration(seconds)}"
            text += f", {scaled(self._received / max(seconds, 1e-6), 'B/s')}"
        elif fetched:
            text += ": nothing was left to transfer"
        if there:
            text += f"; {there} {'was' if there == 1 else 'were'} there"
        if failed:
            text += f"; {len(failed)} failed:"
        if failed or not self.quiet:
            self.say(text if failed else f"{text}.")
        for it in failed[:SHOWN]:
            self.say(f"  {it.wanted.url}")
        if len(failed) > SHOWN:
            self.say(f"  and {len(failed) - SHOWN} more")
