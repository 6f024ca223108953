"""Which lines packets waited for, and what the field calls it where they waited long.

That is bufferbloat. A queue that stands longer than CoDel's interval of 100 ms (RFC 8289) is
larger than a round trip needs, and everybody on the line waits for it (RFC 7567).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from flashcrowd.report import axis_words, source
from flashcrowd.report.points import Point, Points
from flashcrowd.report.source import Source
from flashcrowd.report.wording import number

BLOATED_S = 0.1
"""Packets that wait longer than this on average stand in a queue that lasts: CoDel's interval."""

_ACCESS = re.compile(r"(?P<group>.+)-\d+ (?P<way>up|down)")


def bufferbloat(results: Source, points: Points) -> list[str]:
    """Each line in which packets waited long at some of the points, and what mends it."""
    found: dict[str, list[tuple[float, float, Point]]] = {}
    for point in points.points:
        for kind, used, wait_s in waits(results, [run.run for run in point.runs]):
            if wait_s >= BLOATED_S:
                found.setdefault(kind, []).append((wait_s, used, point))
    said = []
    for kind, cases in found.items():
        wait_s, used, point = max(cases, key=lambda case: case[0])
        every = len(points.points)
        at = f" with {axis_words.point(points, point)}" if every > 1 else ""
        more = f" It is so at {len(cases)} of {every} points." if len(cases) > 1 else ""
        said.append(
            f"Bufferbloat{at}: packets waited {milliseconds(wait_s)} on average in the queue of "
            f"{kind}. The line carried {per_cent(used)} of its capacity.{more} A smaller queue, "
            "FQ-CoDel, or a limit below the rate of the line mends it."
        )
    return said


def waits(results: Source, runs: list[int] | None) -> Iterator[tuple[str, float, float]]:
    """Of each kind of link its share that was used, and the mean wait of its packets in seconds."""
    rows = rows_of(results, "links", runs)
    if rows is None:
        return
    names, used = source.strings(rows, "link"), source.numbers(rows, "utilisation")
    delays, packets = source.numbers(rows, "mean_queue_delay_s"), source.numbers(rows, "packets")
    groups = table_of(table_of(results.study, "network"), "groups")
    kinds = np.asarray([_kind(str(name), groups) for name in names], dtype=object)
    for kind in dict.fromkeys(kinds.tolist()):
        chosen = (kinds == kind) & ~np.isnan(used)
        if chosen.any():
            waited = chosen & ~np.isnan(delays) & (packets > 0)
            wait = np.average(delays[waited], weights=packets[waited]) if waited.any() else 0.0
            yield str(kind), float(used[chosen].mean()), float(wait)


def rows_of(results: Source, name: str, runs: list[int] | None) -> pa.Table | None:
    """The rows of these runs in a table, of all without any; ``None`` if there are none."""
    rows = source.table(results, name)
    if rows is None or runs is None:
        return rows
    rows = rows.filter(pa.array(np.isin(source.integers(rows, "run"), runs), type=pa.bool_()))
    return rows if rows.num_rows else None


def _kind(link: str, groups: Mapping[str, object]) -> str:
    """What a link is called: those of the hosts of a group are one."""
    match = _ACCESS.fullmatch(link)
    if match is None or match["group"] not in groups:
        return f"the link {link}"
    hosts = table_of(groups, match["group"]).get("hosts", 1)
    each = "of each of " if isinstance(hosts, int) and hosts > 1 else "of "
    return f"the {match['way']}link {each}{match['group']}"


def table_of(content: Any, key: str) -> Mapping[str, Any]:
    """The table at a key of a study; empty where there is none."""
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def per_cent(share: float) -> str:
    """A share in per cent, with a decimal near 0 % and near 100 %."""
    value = 100 * share
    return f"{number(value, 1 if 99 < value < 100 or 0 < value < 1 else 0)} %"


def milliseconds(seconds: float) -> str:
    """A time in milliseconds, from a second up in seconds."""
    if seconds >= 1:
        return f"{number(seconds, 1)} s"
    return f"{number(1e3 * seconds, 0 if seconds >= 0.01 else 1)} ms"
