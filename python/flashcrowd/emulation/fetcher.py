"""`flashcrowd fetch` on a host of a lab: it waits for the begin of its download, and reports it.

    python -m flashcrowd.emulation.fetcher ORDER

Reads what to `Fetch` from the file ORDER, once it is written. Reports that it is `Waiting`, then
what each server has `Brought`, and at last that it has `Ended`; between these, the messages of the
command to people.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from flashcrowd.base.messages import Message, decoded, encoded
from flashcrowd.download import FetchError, Progress, fetch


@dataclass(frozen=True)
class Fetch(Message):
    """The file to fetch, and when, on the monotonic clock."""

    begin_ns: int
    urls: list[str]
    path: str
    connections: int
    range_bytes: int | None
    least_split_bytes: int | None


@dataclass(frozen=True)
class Waiting(Message):
    """It waits for its order."""


@dataclass(frozen=True)
class Brought(Message):
    """The bytes of a server since a begin, see `Served`."""

    begin_ns: int
    server: int
    url: str
    connections: int
    lost: int
    ranges: int
    bytes: int
    asked_s: float | None
    first_byte_s: float | None
    last_byte_s: float | None


@dataclass(frozen=True)
class Ended(Message):
    """The command has ended, on the monotonic clock; with the file if without an error."""

    at_ns: int
    error: str


def main() -> None:
    """Fetch the file of the command line's order."""
    _say(Waiting())
    with Path(sys.argv[1]).open("rb") as orders:
        order = decoded(orders.readline(), Fetch)
    time.sleep(max(0.0, (order.begin_ns - time.monotonic_ns()) / 1e9))
    begin_ns = time.monotonic_ns()

    def watch(progress: Progress) -> None:
        for number, served in enumerate(progress.servers):
            _say(Brought(begin_ns, number, **asdict(served)))

    error = ""
    try:
        fetch(
            order.urls[0],
            order.path,
            mirrors=order.urls[1:],
            progress=watch,
            tell=lambda line: print(line, flush=True),
            # A server that has lost a connection gets no further one, as in the simulation.
            tries=1,
            any_order=False,
            # The lab's files end with it, and a disk has no place in the network that is measured.
            durable=False,
            connections=order.connections,
            range_bytes=order.range_bytes,
            least_split_bytes=order.least_split_bytes,
        )
    except FetchError as failed:
        error = str(failed)
    _say(Ended(time.monotonic_ns(), error))


def _say(message: Message) -> None:
    print(encoded(message).decode(), end="", flush=True)


if __name__ == "__main__":
    main()
