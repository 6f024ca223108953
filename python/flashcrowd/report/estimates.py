"""Every mean of a study as a tidy table: a row for each point, measure and statistic."""

from __future__ import annotations

import csv as csv_files
import io
from collections.abc import Iterator

import pyarrow as pa

from flashcrowd.base.rows import Row
from flashcrowd.report import measures
from flashcrowd.report.headline import chosen
from flashcrowd.report.listings import SPREAD
from flashcrowd.report.measure import Measure
from flashcrowd.report.observations import Observations
from flashcrowd.report.points import Points, points_of
from flashcrowd.report.source import Source

#: Columns after those of the point.
_COLUMNS = (
    ("measure", pa.string()),
    ("of", pa.string()),
    ("unit", pa.string()),
    ("mean", pa.float64()),
    ("low", pa.float64()),
    ("high", pa.float64()),
    ("n", pa.int64()),
    ("smallest", pa.float64()),
    ("largest", pa.float64()),
)


def table(results: Source) -> pa.Table:
    """The means of a study with their 95 % intervals, in the units of their measures.

    Columns: `point`, each swept setting by its dotted path, `measure`, `of` (the workload), `unit`,
    `mean`, `low` and `high` (the interval, null with one run), `n` (runs), `smallest` and
    `largest` (run). The measures of the headline come first; links have the table `links`.
    """
    points = points_of(results)
    rows = list(_rows(points, _measures(results, points)))
    paths = [path for axis in points.axes for path in axis.paths]
    schema = pa.schema(
        [
            ("point", pa.int64()),
            *((path, pa.string()) for path in paths),
            *_COLUMNS,
        ]
    )
    return pa.Table.from_pylist(rows, schema)


def csv(results: Source) -> str:
    """The same as CSV text."""
    found = table(results)
    sink = io.StringIO()
    writer = csv_files.writer(sink, lineterminator="\n")
    writer.writerow(found.column_names)
    for row in found.to_pylist():
        writer.writerow(["" if value is None else _text(value) for value in row.values()])
    return sink.getvalue()


def _text(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _measures(results: Source, points: Points) -> list[Measure]:
    """The headline's measures, then those of everything that was observed, each once."""
    everything = measures.observations(results)
    found = list(chosen(results.study, everything, points).measures)
    for observed in everything:
        if observed.metric.kind != "link":
            found += _of(observed)
    return list({(measure.name, measure.of): measure for measure in found}.values())


def _of(observed: Observations) -> Iterator[Measure]:
    """Mean and percentiles where a run observes many, else its only number."""
    many = observed.metric.many and not observed.single
    for statistic in SPREAD if many else SPREAD[:1]:
        yield observed.measure(statistic)


def _rows(points: Points, found: list[Measure]) -> Iterator[Row]:
    for measure in found:
        for point in points.points:
            mean = measure.at(point)
            if mean is None:
                continue
            levels = zip(points.axes, point.levels, strict=True)
            settings = {
                path: str(value)
                for axis, level in levels
                for path, value in zip(axis.paths, axis.levels[level], strict=True)
            }
            yield {
                "point": point.index,
                **settings,
                "measure": measure.name,
                "of": measure.of,
                "unit": measure.unit,
                "mean": mean.mean,
                "low": mean.low,
                "high": mean.high,
                "n": mean.n,
                "smallest": mean.minimum,
                "largest": mean.maximum,
            }
