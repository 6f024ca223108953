"""Users of the web: pages of heavy-tailed length over fresh connections, and time to read them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, model_validator

from flashcrowd.base.units import Size, Span, UnitError
from flashcrowd.scenario.fields import (
    MaybePositiveSpan,
    PositiveSize,
    Table,
    kind_from,
    positive,
    shorthand,
    within,
)
from flashcrowd.scenario.flows import Flow

PageLength = Annotated[Size, within(Size("1 B"), Size("1 TiB"))]
RequestLength = Annotated[Size, within(Size("1 B"), Size("1 MiB"))]
ReadingTime = Annotated[Span, within(Span("0 s"), Span("1 d"))]
Shape = Annotated[float, Field(ge=0.01, le=100)]


class PageSize(Table):
    """Length of pages: a lognormal body, and beyond some size a bounded Pareto tail in its place.

    It is the form that Barford and Crovella (1998) give to files in their SURGE. The defaults are
    pages of today, with images, scripts and the rest in one length. The median is that of desktop
    pages in October 2024 (HTTP Archive, Web Almanac 2024: 2,652 KB). `sigma` follows from a 90th
    percentile of 3.2 medians (Web Almanac 2019: 1.9 and 6 MB). The tail has SURGE's shape and, of
    all pages, SURGE's 7 %. Files as in SURGE are `median = "11580 B"`, `sigma = 1.318`,
    `tail_from = "133 kB"`.
    """

    median: PageLength = Size("2652 kB")
    """Median of the body."""
    sigma: Annotated[float, Field(ge=0, le=10)] = 0.9
    """Standard deviation of the logarithm of the body; 0 for pages that all are as the median."""
    tail_from: PageLength = Size("10 MB")
    """Where the tail begins."""
    tail_shape: Shape = 1.1
    """Shape of the tail; the heavier the smaller."""
    largest: PageLength = Size("100 MB")
    """Where the tail ends."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.tail_from < self.median:
            raise UnitError(f"a size of at least median, {self.median}", key="tail_from")
        if self.largest < self.tail_from:
            raise UnitError(f"a size of at least tail_from, {self.tail_from}", key="largest")
        return self


def _fixed(given: Any) -> Any:
    """A plain size: pages that all have it."""
    if isinstance(given, str | Size):
        size = positive(Size(given)) if isinstance(given, str) else given
        return {"median": size, "sigma": 0.0, "tail_from": size, "largest": size}
    return given


class ExponentialReading(Table):
    """Exponentially distributed."""

    kind: Literal["exponential"] = "exponential"
    mean: ReadingTime
    """Mean time."""


class ParetoReading(Table):
    """Pareto, bounded: `least = "1 s"`, `shape = 1.5` are the idle times of SURGE's users."""

    kind: Literal["pareto"] = "pareto"
    least: Annotated[Span, within(Span("1 us"), Span("1 d"))]
    """Least time."""
    shape: Shape
    """Shape of the distribution."""
    longest: ReadingTime = Span("1 h")
    """Longest time."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.longest < self.least:
            raise UnitError(f"a time of at least least, {self.least}", key="longest")
        return self


ReadingTable = Annotated[ExponentialReading | ParetoReading, Discriminator("kind")]
Reading = Annotated[
    ReadingTable,
    kind_from(None, mean="exponential", shape="pareto"),
    shorthand("mean", ReadingTable | str, kind="exponential"),
]


class Web(Flow):
    """Users who fetch pages over fresh connections, one after another, and read each for a while.

    `from` is the host of the users, `to` the one that has the pages. Name lookup, encryption and
    the server's own time are left out.
    """

    kind: Literal["web"] = "web"
    source: str = Field(alias="from")
    """The host of the users (in a file: `from`); it opens the connections."""
    to: str
    """The host that has the pages."""
    transport: str = "inherit"
    """What carries the connections, by name; "inherit" for the hosts' TCP stacks."""
    users: Annotated[int, Field(ge=0, le=100_000)] = 1
    """Users at the host, independent of each other."""
    connections: Annotated[int, Field(ge=1, le=100)] = 1
    """Connections that each page opens at once. Each asks for an equal part of the page."""
    request: RequestLength = Size("400 B")
    """Length of a request."""
    page: Annotated[
        PageSize, BeforeValidator(_fixed, json_schema_input_type=PageSize | PositiveSize)
    ] = PageSize()
    """Length of the pages; a plain size for pages that all have it."""
    reading: Reading = ExponentialReading(mean=Span("30 s"))
    """Time from the end of a page to the request for the next one. The default is that of 3GPP2's
    evaluation of cdma2000 (C.R1002): exponential, with a mean of 30 s."""
    start: Span = Span("0 s")
    """When it starts."""
    spread: Span = Span("0 s")
    """Each user asks for the first page at a random instant of this window after `start`."""
    stop: MaybePositiveSpan = None
    """When it stops, giving up what is under way; "none" to go on as long as the run."""
