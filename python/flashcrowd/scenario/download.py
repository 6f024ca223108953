"""Downloads of a file over HTTP: several connections at once, one or several servers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from flashcrowd.base.units import Size, Span
from flashcrowd.scenario.fields import MaybePositiveSpan, MaybeSize, PositiveSize, Word, within
from flashcrowd.scenario.flows import Flow

FileLength = Annotated[Size, within(Size("1 B"), Size("16 TiB"))]
HeadLength = Annotated[Size, within(Size("1 B"), Size("1 MiB"))]


class Download(Flow):
    """A file that a host downloads over HTTP, as `flashcrowd fetch` does.

    Several connections divide the file. They are dealt round over the servers, `from` first. Each
    asks for a range, and for the next one a round trip after the last byte: requests are not
    pipelined. So a fast server brings more ranges than a slow one. A connection that is lost goes
    on at the next server that has lost none. Name lookup, encryption and the servers' own time are
    left out.
    """

    plan_hosts: ClassVar[tuple[str, ...]] = ("mirrors",)

    kind: Literal["download"] = "download"
    source: str = Field(alias="from")
    """The server (in a file: `from`)."""
    to: str
    """The host that downloads, or a group, of which each host does. It opens the connections."""
    mirrors: list[str] = Field(default_factory=list[str])
    """Further servers, which have the same file."""
    transport: str = "inherit"
    """What carries the connections, by name; "inherit" for the hosts' TCP stacks."""
    size: FileLength
    """Length of the file."""
    connections: Annotated[int, Field(ge=1, le=100)] = 1
    """Connections at once, to all servers together; aria2 calls it `--split`. One connection asks
    for the whole file, and mirrors are used only if it is lost."""
    range: Annotated[PositiveSize | None, Word("equal")] = Size("1 MiB")
    """What a connection asks for at a time; "equal" for one equal part for each connection. The
    default is aria2's `--piece-length`."""
    least_split: MaybeSize = Size("100 KiB")
    """Where no range is left, a free connection takes the second half of the longest rest of
    another, if this rest is at least so long; "none" for never, as aria2 does. The default is that
    of axel (`MIN_CHUNK_WORTH`)."""
    use_head: bool = True
    """Whether each server is first asked about the file (HEAD), which takes a round trip more;
    aria2's `--use-head`, which is false there. In either case the first connection asks alone until
    it knows the file's length."""
    request: HeadLength = Size("400 B")
    """Length of a request."""
    head: HeadLength = Size("300 B")
    """Length of the head of an answer."""
    start: Span = Span("0 s")
    """When it starts."""
    spread: Span = Span("0 s")
    """It starts at a random instant of this window after `start`."""
    stop: MaybePositiveSpan = None
    """When it stops, whole or not."""

    @property
    def ends(self) -> bool:
        """A run waits for it."""
        return True
