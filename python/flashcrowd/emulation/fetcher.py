"""`flashcrowd fetch` on a host of a lab: it waits for the begin of its download, and tells of it.

    python -m flashcrowd.emulation.fetcher ORDER

Reads what to fetch from the file ORDER, a line of JSON, as soon as somebody writes it. Writes such
lines: `ready`, then what each server has brought, and at last `ended_ns`, on the monotonic clock.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from flashcrowd.download import FetchError, Progress, fetch


class Order(TypedDict):
    """What to fetch, and when."""

    begin_ns: int
    urls: list[str]
    path: str
    connections: int
    range_bytes: int | None
    least_split_bytes: int | None


def main() -> None:
    """Fetch the file of the command line's order."""
    _say({"ready": True})
    with Path(sys.argv[1]).open(encoding="utf-8") as orders:
        order: Order = json.loads(orders.readline())
    time.sleep(max(0.0, (order["begin_ns"] - time.monotonic_ns()) / 1e9))
    begin_ns = time.monotonic_ns()

    def watch(progress: Progress) -> None:
        _say({"begin_ns": begin_ns, "servers": [asdict(it) for it in progress.servers]})

    error = ""
    try:
        fetch(
            order["urls"][0],
            order["path"],
            mirrors=order["urls"][1:],
            progress=watch,
            tell=lambda line: print(line, flush=True),
            # A server that has lost a connection gets no further one, as in the simulation.
            tries=1,
            any_order=False,
            # The lab's files end with it, and a disk has no place in the network that is measured.
            durable=False,
            connections=order["connections"],
            range_bytes=order["range_bytes"],
            least_split_bytes=order["least_split_bytes"],
        )
    except FetchError as failed:
        error = str(failed)
    _say({"ended_ns": time.monotonic_ns(), "error": error})


def _say(said: dict[str, Any]) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
