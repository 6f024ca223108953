"""Which lines packets waited for, and what the field calls it where they waited long.

That is bufferbloat, unless each flow has a queue of its own. A queue that stays longer than CoDel's
interval of 100 ms (RFC 8289) is larger than a round trip needs, and all hosts on the line wait for
it (RFC 7567).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from flashcrowd.report import axis_words, source
from flashcrowd.report.points import RUN_COLUMNS, Point, Points
from flashcrowd.report.source import Source
from flashcrowd.report.wording import number
from flashcrowd.scenario.queue import SEPARATING

BLOATED_S = 0.1
"""Packets that wait longer than this on average are in a standing queue: CoDel's interval."""

_ACCESS = re.compile(r"(?P<group>.+)-\d+ (?P<way>up|down)")


@dataclass(frozen=True)
class Wait:
    """How long packets waited for links of a kind.

    Attributes:
        kind: the links in words.
        used: their share that was used, in the mean.
        wait_s: the mean wait of their packets, in seconds.
        queue: the path of their queue in a study file.
    """

    kind: str
    used: float
    wait_s: float
    queue: str


def long_waits(results: Source, points: Points) -> list[str]:
    """Each line in which packets waited long at some of the points, and what that means."""
    found: dict[tuple[str, str], list[tuple[Wait, Point]]] = {}
    for point in points.points:
        runs = [run.run for run in point.runs]
        for wait in waits(results, runs):
            if wait.wait_s >= BLOATED_S:
                discipline = _discipline(results, runs, wait.queue)
                separating = discipline if discipline in SEPARATING else ""
                found.setdefault((wait.kind, separating), []).append((wait, point))
    said = []
    for (kind, separating), cases in found.items():
        wait, point = max(cases, key=lambda case: case[0].wait_s)
        every = len(points.points)
        at = f" with {axis_words.point(points, point)}" if every > 1 else ""
        more = f" It is so at {len(cases)} of {every} points." if len(cases) > 1 else ""
        name = axis_words.spelled(separating)
        means = (
            f" {name} has a queue for each flow: a flow waits for its own packets, and other flows "
            "do not."
            if separating
            else " A smaller queue, FQ-CoDel, or a limit below the rate of the line mends it."
        )
        said.append(
            f"{'Long queues of single flows' if separating else 'Bufferbloat'}{at}: packets waited "
            f"{milliseconds(wait.wait_s)} on average in the queue of {kind}. The line carried "
            f"{per_cent(wait.used)} of its capacity.{more}{means}"
        )
    return said


def _discipline(results: Source, runs: list[int], path: str) -> str:
    """The kind of the queue at a path in some runs; empty for drop-tail and where it varies."""
    if any(change.get("change") == path for change in table_of(results.study, "timeline").values()):
        return ""
    queue: Any = results.study
    parts, rows = path.split("."), rows_of(results, "runs", runs)
    for at, key in enumerate(parts, 1):
        whole = ".".join(parts[:at])
        queue = queue.get(key) if isinstance(queue, Mapping) else None
        if rows is not None and whole in rows.column_names and whole not in RUN_COLUMNS:
            queue = _table(rows.column(whole).to_pylist()[0])
    kind = queue.get("kind") if isinstance(queue, Mapping) else queue
    return kind if isinstance(kind, str) else ""


def _table(value: object) -> object:
    """A value that was swept; of a table the runs have the JSON."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def waits(results: Source, runs: list[int] | None) -> Iterator[Wait]:
    """Of each kind of link its share that was used, and the mean wait of its packets."""
    rows = rows_of(results, "links", runs)
    if rows is None:
        return
    names, used = source.strings(rows, "link"), source.numbers(rows, "utilisation")
    delays, packets = source.numbers(rows, "mean_queue_delay_s"), source.numbers(rows, "packets")
    groups = table_of(table_of(results.study, "network"), "groups")
    lines = [_line(str(name), groups) for name in names]
    kinds = np.asarray([kind for kind, _ in lines], dtype=object)
    for kind, queue in dict(lines).items():
        chosen = (kinds == kind) & ~np.isnan(used)
        if chosen.any():
            waited = chosen & ~np.isnan(delays) & (packets > 0)
            wait = np.average(delays[waited], weights=packets[waited]) if waited.any() else 0.0
            yield Wait(kind, float(used[chosen].mean()), float(wait), queue)


def rows_of(results: Source, name: str, runs: list[int] | None) -> pa.Table | None:
    """The rows of these runs in a table, of all without any; ``None`` if there are none."""
    rows = source.table(results, name)
    if rows is None or runs is None:
        return rows
    rows = rows.filter(pa.array(np.isin(source.integers(rows, "run"), runs), type=pa.bool_()))
    return rows if rows.num_rows else None


def _line(link: str, groups: Mapping[str, object]) -> tuple[str, str]:
    """The name of a link, and the path of its queue: those of the hosts of a group are one."""
    match = _ACCESS.fullmatch(link)
    if match is None or match["group"] not in groups:
        return f"the link {link}", f"network.links.{link}.queue"
    hosts = table_of(groups, match["group"]).get("hosts", 1)
    each = "of each of " if isinstance(hosts, int) and hosts > 1 else "of "
    path = f"network.groups.{match['group']}.access.{match['way']}_queue"
    return f"the {match['way']}link {each}{match['group']}", path


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
