"""The measuring window of a table: which part of each run its numbers are about."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from flashcrowd.base import paths
from flashcrowd.base.words import Windowed
from flashcrowd.report import source
from flashcrowd.report.source import Source, section
from flashcrowd.scenario.measures import Measures

Extent = tuple[float, float]
"""First second that counts, and the first that counts no more; infinite for the end of the run."""

WHOLE: Extent = (0.0, math.inf)


def extents(results: Source, table: str) -> dict[int, Extent]:
    """The time of each run that a table covers."""
    runs = results.tables["runs"]
    numbers = source.integers(runs, "run").tolist()
    if table not in get_args(Windowed):
        return dict.fromkeys(numbers, WHOLE)
    measures = section(results.study.get("measures"))
    said = {key: measures[key] for key in ("window", "windows") if key in measures}
    swept = [name for name in runs.column_names if name.startswith("measures.window")]
    values = zip(*(runs.column(name).to_pylist() for name in swept), strict=True)
    known: dict[tuple[Any, ...], Extent] = {}
    found = {}
    for number, row in zip(numbers, values if swept else [()] * len(numbers), strict=True):
        if row not in known:
            known[row] = _extent(said, dict(zip(swept, row, strict=True)), table)
        found[number] = known[row]
    return found


def _extent(said: Mapping[str, Any], swept: Mapping[str, Any], table: Any) -> Extent:
    document: dict[str, Any] = {"measures": dict(said)}
    for path, value in swept.items():
        given = json.loads(value) if str(value).startswith("{") else value
        document = paths.replaced(document, paths.parse(path) or [], given)
    window = Measures.model_validate(document["measures"]).window_of(table)
    end = math.inf if window.to is None else window.to.seconds
    return (window.begin.seconds, end)
