"""Access lines, by name or in one's own words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema

from flashcrowd.scenario.discipline import AnyQueue
from flashcrowd.scenario.fields import LONGEST_DELAY, Table, Word, shorthand
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import MaybeJitter, MaybeLoss
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.trace import LinkRate
from flashcrowd.units import Span, UnitError, text_schema

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
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
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

LineName = Literal[
    "modem 56k", "ADSL 0.25/2", "ADSL 0.5/2", "ADSL 1/8", "ADSL 1/24", "VDSL 10/50", "cable 5/50",
    "cable 50/500", "4G 10/40", "satellite 3/20", "fibre 100/100", "fibre 1000/1000", "LAN 100",
    "LAN 1000",
]  # fmt: skip


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
    def _by_name(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("line"), str):
            return {**LINES.get(given["line"], {}), **given}
        return given


Access = Annotated[Line | None, shorthand("line", LineName | Line), Word("none")]
"""An access line: a name, a table, or "none"."""
