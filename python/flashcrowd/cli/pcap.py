"""`flashcrowd pcap`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd import pcap as captures
from flashcrowd.cli.output import takes_files
from flashcrowd.cli.values import wholes
from flashcrowd.store import ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.store.errors import understood
from flashcrowd.store.html import amount


def pcap(
    folder: Annotated[Path, Parameter(help="The results folder.")],
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="The folder to write to.")],
    host: Annotated[
        list[str], Parameter(negative=(), help="A host, or a group of them. May be repeated.")
    ] = [],  # noqa: B006
    point: Annotated[
        list[int],
        Parameter(negative=(), converter=wholes, help="Number of a point. May be repeated."),
    ] = [],  # noqa: B006
    run: Annotated[
        list[int],
        Parameter(negative=(), converter=wholes, help="Number of a run. May be repeated."),
    ] = [],  # noqa: B006
) -> int:
    """Write what hosts saw on the wire as files for Wireshark: one pcapng a host and run.

    The study names the hosts in [measures.capture]. Exit status: 0 done, 2 nothing was captured, or
    no complete results.
    """
    if not takes_files(out):
        return 2
    try:
        results = open_results(folder)
        written = understood(captures.write)(results, out, hosts=host, points=point, runs=run)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    for file in written:
        print(f"{file.path}: {amount(file.packets, 'packet')}")
    return 0
