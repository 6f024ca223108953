"""The end of a run on a terminal: the answer, one column a measure, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from flashcrowd.base import reasons
from flashcrowd.report import answer, expectations, stopping, wording
from flashcrowd.report.headline import Headline, headline
from flashcrowd.report.listings import counted
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import Point, Points, points_of
from flashcrowd.report.source import Source


def summary(results: Source) -> RenderableType:
    """A study's summary, for a terminal: sentences, and the headline's measures as a table.

    The same measures are at the head of the report. Changes are against the baseline, in pairs of
    runs that share a seed.
    """
    points = points_of(results)
    found = headline(results, points)
    if not found.measures:
        said = answer.sentences(found, points) or ["No run has a number to summarise."]
        return Group(*map(Text, said), *_reasons(results, points))
    judged = expectations.judge(results, points)
    return Group(
        *(Text(it) for it in answer.sentences(found, points, judged, results.provenance)),
        *(Text(sentence) for sentence in stopping.sentences(results.study, found, points)),
        _Levels(points, found, found.measures),
        *(_Levels(points, found, list(parts.values())) for parts in found.parts.values()),
        *([expectations.summary(judged)] if judged else []),
        *_reasons(results, points),
    )


#: Wider than any table, to ask how much room one would take.
_ROOMY = 10_000

#: What a table has beside its means: nothing, changes, intervals of the means, and of the changes.
_BARE, _NONE, _MEANS, _ALL = 0, 1, 2, 3


@dataclass(frozen=True)
class _Levels:
    """Measures as a table, a row a point; as much of it as the terminal has room for."""

    points: Points
    headline: Headline
    measures: Sequence[Measure]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields one table, with as many intervals as there is room for; else one a measure."""
        roomy = options.update(max_width=_ROOMY)

        def fits(table: Table) -> bool:
            return Measurement.get(console, roomy, table).maximum <= options.max_width

        whole = next(filter(fits, self._variants(self.measures)), None)
        if whole is not None:
            yield whole
            return
        for measure in self.measures:
            yield next(filter(fits, self._variants([measure])), self._table([measure], _BARE))

    def _variants(self, measures: Sequence[Measure]) -> Iterator[Table]:
        for intervals in (_ALL, _MEANS, _NONE):
            yield self._table(measures, intervals)

    def _table(self, measures: Sequence[Measure], intervals: int) -> Table:
        narrow = intervals <= _NONE
        changed = {it.name for it in measures if intervals > _BARE and self.headline.compares(it)}
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1 if narrow else 2, 0, 0))
        for axis in self.points.axes:
            name = _lines(axis.name, 8) if narrow else axis.name
            table.add_column(name, justify="right", no_wrap=True)
        if not narrow:
            table.add_column("runs", justify="right", no_wrap=True)
        for measure in measures:
            unit = measure.column(self.points.points).unit
            heading = _lines(f"{measure.name} ({unit})", 12 if narrow else 20)
            table.add_column(heading, justify="right", no_wrap=True)
            if measure.name in changed:
                table.add_column("change", justify="right", no_wrap=True)
        flagged = any(not run.good for run in self.points.runs.values())
        if flagged:
            table.add_column("not complete")
        for point in self.points.points:
            row: list[RenderableType] = [
                axis.label(level)
                for axis, level in zip(self.points.axes, point.levels, strict=True)
            ]
            if not narrow:
                row.append(str(counted(point, measures)))
            for measure in measures:
                cells = self._cells(measure, point, intervals)
                row += cells if measure.name in changed else cells[:1]
            if flagged:
                row.append(Text(_flags(point), style="bold red"))
            table.add_row(*row)
        return table

    def _cells(self, measure: Measure, point: Point, intervals: int) -> list[RenderableType]:
        found = measure.at(point)
        if found is None:
            return ["–", ""] if self.headline.baseline else ["–"]
        column = measure.column(self.points.points)
        shown, places = found.scaled(column.factor), column.places
        below = wording.interval(shown, places=places) if intervals >= _MEANS else ""
        cells: list[RenderableType] = [_two(wording.mean(shown, places=places), below)]
        if self.headline.baseline:
            change = self.headline.change(measure, point)
            if change is None:
                base = self.headline.baseline.of(point) is None
                cells.append(Text("baseline" if base else "–", style="dim"))
            else:
                text, interval = wording.change(change)
                paired = "" if change.n == found.n else f", {change.n} pairs"
                below = interval.rpartition(", n")[0] + paired
                cells.append(_two(text, below if intervals == _ALL else ""))
        return cells


def _two(text: str, below: str) -> Text:
    return Text.assemble(text, "\n", (below, "dim")) if below else Text(text)


def _lines(heading: str, width: int) -> str:
    """A heading in lines of about `width`."""
    lines = [""]
    for word in heading.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _flags(point: Point) -> str:
    bad = [run.outcome for run in point.runs if not run.good]
    return ", ".join(f"{bad.count(kind)} {kind}" for kind in dict.fromkeys(bad))


def _reasons(results: Source, points: Points) -> list[Text]:
    """Each reason for an incomplete run once, with how often it was given; what to do about it."""
    bad = [run for run in points.runs.values() if not run.good]
    found = [
        Text(f"{wording.count(count, 'run')} {reason}", style="red")
        for reason, count in reasons.alike(f"{run.outcome}: {run.reason}" for run in bad)
    ]
    if any(run.outcome == "horizon" for run in bad):
        found.append(Text(_meant(results.study)))
    return found


def _meant(study: Mapping[str, Any]) -> str:
    """How runs that the horizon cut off would count."""
    workloads = study.get("workloads", {})
    horizon = study.get("stop", {}).get("horizon", "40 s")
    name = next((it for it, one in workloads.items() if one.get("kind") == "swarm"), None)
    name = name or next(iter(workloads), "swarm")
    return (
        "Runs that the horizon cuts off count only in means of what goes on as long as the run, "
        "and of a measuring window that had closed by then. Where a cut is meant, end what goes "
        "on: "
        f'[timeline.enough] with at = "{horizon}" and stop = "{name}".'
    )
