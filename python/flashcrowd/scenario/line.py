"""Access lines, by name or in one's own words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, ValidationInfo, model_validator
from pydantic_core import CoreSchema

from flashcrowd.base.errors import Problem, did_you_mean, one_of
from flashcrowd.base.units import Rate, Span, UnitError, text_schema
from flashcrowd.scenario.described import literal
from flashcrowd.scenario.discipline import AnyQueue
from flashcrowd.scenario.fields import LONGEST_DELAY, Table, Word, shorthand
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import MaybeJitter, MaybeLoss
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.trace import LinkRate

_GOLDEN = 0x9E37_79B9_7F4A_7C15


class Delay:
    """A one-way delay, "12.5 ms", or a range, "1 ms to 25 ms" or "1 ms to 25 ms, drawn".

    A range is spread evenly over the hosts of a group: the host of rank k among n has the delay
    low + (high - low) (k + 1/2) / n. The ranks follow the golden-ratio sequence, so that hosts with
    neighbouring numbers lie far apart, and a host has the same delay in each run. From a range that
    is "drawn", each run draws a delay for each host, uniformly.

    Attributes:
        low: the least delay.
        high: the greatest delay; equal to `low` if all hosts have the same.
        drawn: whether each run draws.
    """

    __slots__ = ("drawn", "high", "low")
    allowed = 'a time, as in "12.5 ms", or a range, as in "1 ms to 25 ms" or "1 ms to 25 ms, drawn"'

    low: Span
    high: Span
    drawn: bool

    def __init__(self, text: str | Span | Delay) -> None:
        if isinstance(text, Delay):
            self.low, self.high, self.drawn = text.low, text.high, text.drawn
            return
        self.drawn = isinstance(text, str) and text.endswith(", drawn")
        if isinstance(text, str):
            text = text.removesuffix(", drawn")
        parts = text.split(" to ") if isinstance(text, str) else [text]
        try:
            self.low, self.high = Span(parts[0]), Span(parts[-1])
        except UnitError as error:
            raise UnitError(self.allowed, error.hint or error.allowed) from None
        if len(parts) > 2 or self.high < self.low:
            raise UnitError(self.allowed, "the smaller time comes first")
        if self.drawn and self.low == self.high:
            raise UnitError(self.allowed, "only from a range can be drawn")
        if self.high > LONGEST_DELAY:
            raise UnitError(f"a time of at most {LONGEST_DELAY}")

    def over(self, hosts: int) -> list[int]:
        """The delay of each of `hosts` hosts, in nanoseconds; none where each run draws its own."""
        if self.drawn:
            return [0] * hosts
        low, width = self.low.ns, self.high.ns - self.low.ns
        if not width:
            return [low] * hosts
        order = sorted(range(hosts), key=lambda host: host * _GOLDEN % 2**64)
        delays = [0] * hosts
        for rank, host in enumerate(order):
            delays[host] = low + width * (2 * rank + 1) // (2 * hosts)
        return delays

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return f"{self.low} to {self.high}{', drawn' if self.drawn else ''}"

    def __repr__(self) -> str:
        return f'Delay("{self}")'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Delay) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Span, Span, bool]:
        return self.low, self.high, self.drawn

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validates texts and delays; serialises to the text."""
        return text_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, object]:
        """A string."""
        return {"type": "string", "examples": ["12.5 ms", "1 ms to 25 ms", "1 ms to 25 ms, drawn"]}


LINES: dict[str, dict[str, str]] = {
    # up and down; queue up and down; one-way delay; framing. Sources are in docs/studies.md.
    name: {"up": up, "down": down, "up_queue": up_queue, "down_queue": down_queue, "delay": delay,
           "framing": framing}
    for name, (up, down, up_queue, down_queue, delay, framing) in {
        "modem 56k": ("33.6 kbit/s", "56 kbit/s", "10 packets", "20 packets", "50 ms", "0 B"),
        "ADSL 0.25/2": ("256 kbit/s", "2 Mbit/s", "50 packets", "100 packets", "12.5 ms", "0 B"),
        "ADSL 0.5/2": ("512 kbit/s", "2 Mbit/s", "50 packets", "100 packets", "12.5 ms", "0 B"),
        "ADSL 1/8": ("1 Mbit/s", "8 Mbit/s", "200 packets", "200 packets", "12.5 ms", "0 B"),
        "ADSL 1/24": ("1 Mbit/s", "24 Mbit/s", "200 packets", "200 packets", "12.5 ms", "0 B"),
        "VDSL 10/50": ("10 Mbit/s", "50 Mbit/s", "200 packets", "400 packets", "8 ms", "0 B"),
        "cable 5/50": ("5 Mbit/s", "50 Mbit/s", "200 packets", "400 packets", "10 ms", "0 B"),
        "cable 50/500": ("50 Mbit/s", "500 Mbit/s", "500 packets", "1000 packets", "10 ms", "0 B"),
        "4G 10/40": ("10 Mbit/s", "40 Mbit/s", "500 packets", "1000 packets", "25 ms", "0 B"),
        "satellite 3/20": ("3 Mbit/s", "20 Mbit/s", "200 packets", "400 packets", "270 ms", "0 B"),
        "fibre 100/100": ("100 Mbit/s", "100 Mbit/s", "500 packets", "500 packets", "2 ms", "0 B"),
        "fibre 1000/1000": ("1 Gbit/s", "1 Gbit/s", "1000 packets", "1000 packets", "2 ms", "0 B"),
        "LAN 100": ("100 Mbit/s", "100 Mbit/s", "1000 packets", "1000 packets", "0 ms", "38 B"),
        "LAN 1000": ("1 Gbit/s", "1 Gbit/s", "1000 packets", "1000 packets", "0 ms", "38 B"),
    }.items()
}  # fmt: skip
"""The access lines that have a name."""

if TYPE_CHECKING:
    LineName = str
else:
    LineName = literal([*LINES])


RATES = 'its rates up and down, as in "5/50 Mbit/s" or "up 5 Mbit/s, down 50 Mbit/s"'
"""How a line without a name is written."""
UP_FIRST = "more up than down: the rate up comes first, and lines are sold the other way round"
"""The doubt about a line that sends more than it receives."""
_PAIR = re.compile(r"([0-9._]+)\s*/\s*([0-9._]+)\s*([A-Za-z].*)")
_WORDS = re.compile(r"up\s+([^,]+)(?:,\s*down\s+(.+))?")
RatePair = Annotated[str, Field(pattern=f"^{_PAIR.pattern}$|^{_WORDS.pattern}$")]
"""A line by its rates, for the JSON Schema."""


def line_values(text: str, *, down_too: bool = True) -> dict[str, str]:
    """The values of a line in a few words: its name, or its rates up and down.

    Raises:
        UnitError: it is none, or the rate down is missing though it is needed.
    """
    text = text.strip()
    if text in LINES:
        return LINES[text]
    down: str | None
    if (pair := _PAIR.fullmatch(text)) is not None:
        up, down = f"{pair[1]} {pair[3]}", f"{pair[2]} {pair[3]}"
    elif (words := _WORDS.fullmatch(text)) is not None:
        up, down = words[1], words[2]
    else:
        raise UnitError(f"{one_of(LINES)}; or {RATES}", _near(text))
    if down is None and down_too:
        raise UnitError(RATES, "the rate down is missing")
    try:
        return {"up": str(Rate(up))} | ({} if down is None else {"down": str(Rate(down))})
    except UnitError as error:
        hint = error.hint or error.allowed
        if pair is not None:
            hint = hint.replace(f'"{pair[1]} ', f'"{pair[1]}/{pair[2]} ')
        raise UnitError(RATES, hint) from None


def _up_first(name: str, rates: dict[str, str]) -> Problem:
    """The doubt about a pair of rates: with words for the ways there is none."""
    words = f'"up {rates["up"]}, down {rates["down"]}"'
    return Problem("access", shown(name), UP_FIRST, f"if it is meant, write {words}")


def _near(text: str) -> str:
    """A line that is probably meant: one without a unit, or a name that is misspelt."""
    number = r"[0-9.]+"
    if re.fullmatch(rf"{number}\s*/\s*{number}", text):
        return f'write "{text} Mbit/s" or "{text} kbit/s"'
    return did_you_mean(text, LINES)


class Line(Table):
    """The line that connects one host: a queue and a rate each way. Each host has its own."""

    line: Annotated[LineName | None, Word("none")] = None
    """The named line whose values hold where none are given."""
    up: LinkRate = None
    """Rate from the host to the network, or a trace of it: `{ file = "lte.up" }`."""
    down: LinkRate = None
    """Rate from the network to the host, or a trace of it."""
    up_queue: AnyQueue = Queue("200 packets")
    """Where the queue on the host's side is full, or its discipline."""
    down_queue: AnyQueue = Queue("200 packets")
    """Where the queue on the network's side is full, or its discipline."""
    delay: Delay = Delay("0 ms")
    """One-way delay, each way; a range is spread over the hosts of the group, or drawn."""
    framing: Framing = Framing("0 B")
    """What a frame costs beyond its IP packet, "ethernet" (38 B), "shaper" (14 B), "ip" (0 B) or a
    size; or "atm", whole cells with an encapsulation of 40 B."""
    jitter: MaybeJitter = None
    """Random delay, each way."""
    loss: MaybeLoss = None
    """Random loss, each way."""

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("line"), str):
            return given
        if (name := given["line"]) in (*LINES, "none"):
            return {**LINES.get(name, {}), **given}
        try:
            rates = line_values(name)
        except UnitError as error:
            raise UnitError(error.allowed, error.hint, "line") from None
        if _PAIR.fullmatch(name.strip()) and Rate(rates["up"]) > Rate(rates["down"]):
            Files.of(info).doubts[_up_first(name, rates)] = None
        return {**rates, **given, "line": None}


Access = Annotated[Line | None, shorthand("line", LineName | RatePair | Line), Word("none")]
"""An access line: a name, its rates as in "5/50 Mbit/s", a table, or "none"."""
