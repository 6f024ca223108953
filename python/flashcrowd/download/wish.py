"""The options of a download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Wish:
    """The options of a download.

    Attributes:
        target: where the file is to be.
        overwrite: whether a file of that name may be replaced.
        sha256: the digest that the file must have; empty if unknown.
        any_order: whether a server may be asked for its own order.
        tries: exchanges in a row that may fail.
        connections: how many at once, to all addresses together.
        range_bytes: what each of several asks for at a time; None for equal parts.
        least_split_bytes: the shortest rest of one of which another takes half; None for none.
        durable: whether what was fetched is to outlast a power cut.
    """

    target: Path
    overwrite: bool = False
    sha256: bytes = b""
    any_order: bool = True
    tries: int = 8
    connections: int = 1
    range_bytes: int | None = None
    least_split_bytes: int | None = None
    durable: bool = True
