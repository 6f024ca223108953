"""Errors of a study, in words that name the place; and how a run ends without tables."""

from __future__ import annotations

import difflib
import errno
import os
import re
import traceback
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

FAILED = 1
"""Exit status if a run failed, or if the output cannot be written, also if its reader has gone."""

MISSING = "(missing)"
"""The value of a problem whose key is not there."""

MOST = 20
"""Mistakes or doubts that are shown of a long list."""

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Sequences that a terminal takes for a command (ECMA-48): colours, moves, titles."""


@dataclass(frozen=True)
class Problem:
    """One mistake.

    Attributes:
        path: dotted path of the place, as in `workloads.swarm.size`.
        value: the value there, as written, or `MISSING`.
        allowed: what is allowed there.
        hint: the nearest valid thing, or what to do; empty if nothing is near.
    """

    path: str
    value: str
    allowed: str
    hint: str = ""

    def lines(self) -> list[tuple[str, str]]:
        """The labelled lines below the path."""
        rows = [("value", self.value), ("allowed", self.allowed), ("hint", self.hint)]
        return [(label, text) for label, text in rows if text]


def warning(problem: Problem) -> str:
    """A doubt in one line: the place, the value, and why it can hardly be meant."""
    said = f"{problem.path} = {problem.value}: {problem.allowed}"
    return f"{said}; {problem.hint}" if problem.hint else said


def first(lines: Sequence[str]) -> list[str]:
    """The first of a long list, as many as a person reads, and how many more there are."""
    return [*lines[:MOST], *_more(lines)]


class StudyError(Exception):
    """A study cannot be used: every mistake found.

    Attributes:
        problems: the mistakes, at least one.
        source: the file, or what a person calls the study.
        study: the study, where its tables can be read one by one and contradict each other.
    """

    def __init__(self, problems: Sequence[Problem], source: str = "study") -> None:
        super().__init__(problems, source)
        self.problems = list(problems)
        self.source = source
        self.study: object = None

    def heading(self) -> str:
        """One line that counts the mistakes."""
        count = len(self.problems)
        return f"{self.source}: {count} {'problem' if count == 1 else 'problems'}"

    def __str__(self) -> str:
        blocks = [self.heading()]
        for problem in self.problems[:MOST]:
            rows = [f"    {label:<8} {text}" for label, text in problem.lines()]
            blocks.append("\n".join([f"  {problem.path}", *rows]))
        return "\n\n".join([*blocks, *(f"  {more}" for more in _more(self.problems))])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the same text as `str`, in colour where the terminal has it."""
        from rich.text import Text

        yield Text(self.heading(), style="bold red")
        for problem in self.problems[:MOST]:
            yield Text(f"\n  {problem.path}", style="bold")
            for label, text in problem.lines():
                style = "green" if label == "hint" else ""
                yield Text.assemble((f"    {label:<8} ", "dim"), (text, style))
        for more in _more(self.problems):
            yield Text(f"\n  {more}")


class Unusable(Exception):
    """A file or address that the user named cannot be used; the message says what to do."""


class Cancelled(Exception):
    """A run was cancelled; it has no tables."""


class EngineError(Exception):
    """A run ended without tables."""


class PlanRejected(EngineError):
    """An engine cannot run this plan; the message names the place."""


class EngineFault(EngineError):
    """A bug in an engine. Not the user's fault, and worth a report."""


_LIMITS = {
    errno.EFBIG: "files may not be so large (ulimit -f)",
    errno.EAGAIN: "no process or thread more may be started (ulimit -u)",
    errno.ENOMEM: "no memory is left, or no more is allowed (ulimit -v)",
    errno.EMFILE: "no more files may be open (ulimit -n)",
}


def why(error: BaseException) -> str:
    """Why a run failed, of what was raised: in a line what the system refused, with the limit.

    Anything else is a mistake in the program, and comes with its traceback.
    """
    if isinstance(error, OSError) or limit(error):
        return refused(error)
    return "".join(traceback.format_exception(error))


def refused(error: BaseException) -> str:
    """The system's error, in a line; with the limit that may be the reason."""
    said = str(error) or type(error).__name__
    return f"{said}: {limit(error)}" if limit(error) else said


def limit(error: BaseException) -> str:
    """The limit of this machine or user that may be behind an error; empty if none is."""
    if isinstance(error, MemoryError):
        return _LIMITS[errno.ENOMEM]
    said = str(error)
    if "can't start new thread" in said:
        return _LIMITS[errno.EAGAIN]
    for number, words in _LIMITS.items():
        # An error of a library has the words alone.
        if getattr(error, "errno", None) == number or os.strerror(number) in said:
            return words
    return ""


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `word`, if one is alike at all."""
    folded: dict[str, str] = {}
    for candidate in candidates:
        folded.setdefault(_fold(candidate), candidate)
    found = difflib.get_close_matches(_fold(word), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A hint that names the nearest candidate, or nothing."""
    found = nearest(word, candidates)
    return f"did you mean {found!r}?".replace("'", '"') if found else ""


def one_of(candidates: Iterable[str], limit: int = 12) -> str:
    """The candidates as a phrase; a long list is cut and says how long it is."""
    names = list(candidates)
    if not names:
        return "nothing"
    shown = ", ".join(names[:limit])
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return f"one of {shown}{more}" if len(names) > 1 else shown


def quoted(text: str) -> str:
    """A text between quotes, cut if long."""
    return f'"{text}"' if len(text) <= 40 else f'"{text[:37]}..."'


def is_plain(char: str) -> bool:
    """Whether a character is allowed in a line of text: it controls neither terminal nor reader.

    Refused are control characters, line and paragraph separators, lone surrogates, and what has no
    form of its own, such as U+202E, which turns the direction of all that follows. The two joiners
    of Unicode may stand: words of several scripts need them.
    """
    kind = unicodedata.category(char)
    return kind not in ("Cc", "Cf", "Zl", "Zp", "Cs") or char in "\u200c\u200d"


def visible(text: str) -> str:
    """A text in which each character that is not plain is shown as its code."""
    return "".join(char if is_plain(char) else _code(char) for char in text)


def shown_line(line: str) -> str:
    """A program's line as a terminal shows it: without colours, after its last carriage return."""
    return visible(_ESCAPE.sub("", line).rpartition("\r")[2].replace("\t", " "))


def _more(items: Sequence[object]) -> list[str]:
    return [f"… and {len(items) - MOST} more"] if len(items) > MOST else []


def _code(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _fold(word: str) -> str:
    """A word without what papers and files spell differently: TCP-LP and lp, LEDBAT++ and so on."""
    folded = word.casefold().replace("++", "-plus-plus").replace("_", "-").replace(" ", "-")
    return folded.removeprefix("tcp-") or folded
