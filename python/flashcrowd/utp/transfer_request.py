"""The request of a measurement, in the words of the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.units import Rate, Size, UnitError

MOST_SECONDS = 1e8
"""Three years: more is a slip."""

DEFAULT_SECONDS = 10.0
"""The duration by default."""


@dataclass(frozen=True)
class TransferRequest:
    """How much is carried, which way, and how fast.

    Attributes:
        bytes: of each stream; None if it goes by time.
        seconds: how long, `omit` not counted; None if it goes by bytes.
        omit: seconds at the beginning that the totals leave out.
        rate: of each stream in bits per second, at most; None for no bound.
        to_server: streams that this end sends.
        to_client: streams that the server sends.
    """

    bytes: int | None
    seconds: float | None
    omit: float
    rate: int | None
    to_server: int
    to_client: int

    @classmethod
    def of(
        cls,
        *,
        bytes: str | None,
        seconds: float | None,
        omit: float,
        bitrate: str | None,
        parallel: int,
        reverse: bool,
        bidir: bool,
    ) -> TransferRequest:
        """From the switches.

        Raises:
            StudyError: switches that exclude each other, or values that cannot be.
        """
        problems: list[Problem] = []
        if bytes is not None and seconds is not None:
            problems.append(
                Problem("--seconds", f"{seconds:g}", "only one of --bytes and --seconds")
            )
        for name, value in (("--seconds", seconds), ("--omit", omit)):
            if value is not None and not (math.isfinite(value) and value <= MOST_SECONDS):
                allowed = f"a number of seconds, at most {MOST_SECONDS:.0f}"
                hint = "Ctrl-C ends a measurement in good order, and its totals are kept"
                problems.append(Problem(name, f"{value:g}", allowed, hint))
        if omit and bytes is not None:
            allowed = "a measurement by --seconds"
            problems.append(Problem("--omit", f"{omit:g}", allowed, "leave out --bytes"))
        if reverse and bidir:
            problems.append(Problem("--bidir", "given", "only one of --reverse and --bidir"))
        size, rate = _size(bytes, problems), _rate(bitrate, problems)
        if problems:
            raise StudyError(problems, "command line")
        if size is None and seconds is None:
            seconds = DEFAULT_SECONDS
        to_server, to_client = 0 if reverse else parallel, parallel if reverse or bidir else 0
        return cls(size, seconds, omit, rate, to_server, to_client)

    @property
    def streams(self) -> int:
        """How many there are."""
        return self.to_server + self.to_client

    def core(self) -> dict[str, object]:
        """As the core takes it."""
        return {
            "bytes": self.bytes,
            "seconds": None if self.seconds is None else self.seconds + self.omit,
            "rate": self.rate,
            "to_server": self.to_server,
            "to_client": self.to_client,
        }

    def document(self) -> dict[str, object]:
        """Its form in JSON."""
        return {
            "bytes": self.bytes,
            "seconds": self.seconds,
            "omit_s": self.omit,
            "rate_bps": self.rate,
            "to_server": self.to_server,
            "to_client": self.to_client,
        }


def _size(text: str | None, problems: list[Problem]) -> int | None:
    if text is None:
        return None
    try:
        return Size.or_bytes(text).bytes
    except UnitError as error:
        problems.append(Problem("--bytes", text, error.allowed, error.hint))
        return None


def _rate(text: str | None, problems: list[Problem]) -> int | None:
    if text is None:
        return None
    try:
        return Rate(text).bps
    except UnitError as error:
        problems.append(Problem("--bitrate", text, error.allowed, error.hint))
        return None
