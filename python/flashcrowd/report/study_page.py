"""The report of a study: what was run, what came out, and what was given in detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Block, Facts, Page, Section, Table, Text
from flashcrowd.report import (
    answer,
    description,
    diagnosis,
    downloads,
    drawing,
    emulated,
    expectations,
    listings,
    measures,
    playback,
    source,
    stopping,
    waits,
    wording,
)
from flashcrowd.report.charts import (
    capacity,
    completion,
    connections,
    control,
    histograms,
    means,
    pings,
    series,
)
from flashcrowd.report.charts.names import called
from flashcrowd.report.expectations import Judged
from flashcrowd.report.headline import Headline, chosen
from flashcrowd.report.instants import instants
from flashcrowd.report.measures import observations
from flashcrowd.report.observations import Observations
from flashcrowd.report.points import Point, Points, points_of
from flashcrowd.report.source import Source, section
from flashcrowd.store import page_folder

#: How the intervals are made, for the foot of every page.
METHOD = (
    "Every mean is over runs, never over peers, and has its count of runs n. "
    "Intervals cover 95 %: from five runs up by the bootstrap over runs (BCa, at the level "
    "widened for small n), with two to four runs by Student's t; a single run is called a sample. "
    "They are over seeds, not over models: they do not say how far a model is from reality. "
    "Changes compare runs of the same seed in pairs."
)


#: With more points than this the figures of the headline are before its tables.
_FIGURES_FIRST = 4


def write(results: Source, folder: Path) -> Path:
    """Write ``report.html`` and ``figures/*.svg`` into `folder`; gives the path of the page."""
    made = build(results)
    return page_folder.save(page.html(made), page.figures(made), folder)


def build(results: Source) -> Page:
    """The page, not yet laid out."""
    points = points_of(results)
    everything = observations(results)
    decisive = chosen(results.study, everything, points)
    judged = expectations.judge(results, points)
    sections = [
        Section("The answer", "answer", list(_answer(results, decisive, points, judged))),
        *_expected(judged),
        Section("Why was it slow?", "why", list(_why(results, points, decisive))),
        *_outcome(points),
        *_results(results, points, everything, decisive),
        Section("What was run", "what", list(_what(results, points))),
        Section("How exact was it?", "exact", list(emulated.blocks(results))),
        Section("In detail", "detail", list(_detail(results, points))),
    ]
    return Page(
        title=description.title(results.study),
        lead=description.lead(points),
        sections=[section for section in sections if section.blocks],
        foot=stopping.method(results.study, METHOD),
        warnings=_warnings(points),
        question=description.question(results.study),
    )


def _expected(judged: Sequence[Judged]) -> Iterator[Section]:
    if judged:
        yield Section("What was expected", "expected", [expectations.table(judged)])


def _answer(
    results: Source, decisive: Headline, points: Points, judged: Sequence[Judged]
) -> Iterator[Block]:
    for sentence in (
        *answer.sentences(decisive, points, judged, results.provenance),
        *expectations.sentences(judged),
        *stopping.sentences(results.study, decisive, points),
    ):
        yield Text(sentence)
    # A long table would hide the figures, on a phone above all.
    figures_first = len(points.points) > _FIGURES_FIRST
    figures = list(_figures(decisive, points))
    if _ping_leads(results, decisive):
        figures = [*pings.over_time(results, points, instants(results.study)), *figures]
    if figures_first:
        yield from figures
    if decisive.measures:
        yield listings.of_headline(decisive, points, decisive.measures)
    for parts in decisive.parts.values():
        yield listings.of_parts(decisive, points, parts)
    if not figures_first:
        yield from figures


def _ping_leads(results: Source, decisive: Headline) -> bool:
    """Whether a ping decides, and something starts or changes meanwhile: it is shown over time."""
    first = next(iter(decisive.measures), None)
    return first is not None and first.metric == "ping" and bool(instants(results.study))


def _figures(decisive: Headline, points: Points) -> Iterator[Block]:
    for number, measure in enumerate(decisive.measures):
        figure = means.means(measure, points, f"headline-{number + 1}-{_slug(measure.name)}")
        if figure:
            yield figure


def _warnings(points: Points) -> list[str]:
    bad = [run for point in points.points for run in point.runs if not run.good]
    if not bad:
        return []
    kinds = ", ".join(
        wording.count(sum(run.outcome == kind for run in bad), f"{kind} run")
        for kind in dict.fromkeys(run.outcome for run in bad)
    )
    return [
        f"{kinds} of {len(points.runs)}: these did not end as planned and are left out of the "
        "means, but for those of a measuring window that had closed by then. Where the horizon cut "
        "them off, means of what goes on as long as the run have them as well."
    ]


def _what(results: Source, points: Points) -> Iterator[Block]:
    if results.study.get("network"):
        yield drawing.network(results.study)
        traced = capacity.figure(results.study)
        if traced:
            yield traced
    yield Facts(description.facts(results, points))


def _why(results: Source, points: Points, decisive: Headline) -> Iterator[Block]:
    """The causes that held up the runs of each point, or of the most telling ones of many."""
    few = len(points.points) <= diagnosis.MOST_COLUMNS
    shown = points.points if few else _telling(points, decisive)
    for sentence in waits.long_waits(results, points):
        yield Text(sentence)
    table = diagnosis.table(results, shown)
    if table is not None:
        yield table


def _telling(points: Points, decisive: Headline) -> list[Point]:
    """The first point and the one whose first measure is furthest from its baseline."""
    chosen = [points.baseline]
    if decisive.baseline and decisive.measures:
        first = decisive.measures[0]
        changes = {point: decisive.change(first, point) for point in points.points}
        differ = [(abs(change.mean), point) for point, change in changes.items() if change]
        if differ:
            chosen.append(max(differ, key=lambda pair: (pair[0], -pair[1].index))[1])
    return list(dict.fromkeys(chosen))


def _outcome(points: Points) -> Iterator[Section]:
    table = listings.outcomes(points)
    if table:
        yield Section("Runs that did not end as planned", "outcomes", [table])


def _results(
    results: Source, points: Points, everything: Sequence[Observations], decisive: Headline
) -> Iterator[Section]:
    shown = playback.playback(results, points)
    if shown is not None:
        yield Section("Playback", "playback", [shown])
    yield from _swarms(results, points)
    servers = [
        listing(rows, points)
        for name, listing in (
            ("origins", listings.origins),
            ("origin_files", listings.origin_files),
        )
        if (rows := source.table(results, name)) is not None
    ]
    yield Section("Content servers", "origins", servers)
    felt = histograms.ping_times(results, points)
    if not _ping_leads(results, decisive):
        felt = [*pings.over_time(results, points, instants(results.study)), *felt]
    yield Section("Pings", "pings", felt)
    controlled = control.over_time(results, points, instants(results.study))
    yield Section("Upload control", "control", controlled)
    spread = [
        listings.spread(observed, points)
        for observed in everything
        if observed.metric.many and not observed.single
    ]
    yield Section("Means and percentiles", "spread", spread)
    told = {measure.name for measure in decisive.measures}
    blocks: list[Block] = []
    for number, measure in enumerate(measures.means(everything, points)):
        if measure.name in told:
            continue
        figure = means.means(measure, points, f"mean-{number + 1}-{_slug(measure.name)}")
        if figure:
            blocks.append(figure)
        blocks.append(listings.of_measure(decisive, measure, points))
    yield Section("More means and changes", "means", blocks)
    yield Section("Time series", "series", series.series(results, points))
    yield Section("Connections", "connections", connections.over_time(results, points))
    rows = source.table(results, "links")
    if rows is not None:
        yield Section("Links", "links", [listings.links(rows, points)])


def _swarms(results: Source, points: Points) -> Iterator[Section]:
    names = downloads.swarms(results)
    for name in names:
        who = downloads.leechers(results, name)
        suffix = f"-{_slug(name)}" if len(names) > 1 else ""
        kind = str(section(section(results.study.get("workloads")).get(name)).get("kind", "swarm"))
        of = called(kind, name)
        blocks: list[Block | None] = [
            completion.completion_curves(who, points, f"completion{suffix}", of),
            completion.duration_distribution(who, points, f"durations{suffix}", of),
        ]
        for population, rows in _parts(results, "pieces", name):
            slug = f"pieces{suffix}-{_slug(population)}"
            blocks.append(series.pieces(rows, points, slug, f"population {population}"))
        for population, rows in _parts(results, "send_gaps", name):
            slug = f"send-gaps{suffix}-{_slug(population)}"
            blocks.append(histograms.send_gaps(rows, points, slug, f"population {population}"))
        for population, rows in _parts(results, "payloads", name):
            slug = f"payloads{suffix}-{_slug(population)}"
            blocks.append(histograms.payloads(rows, points, slug, f"population {population}"))
        for table, listing in (("unchokes", listings.unchokes), ("rtts", listings.rtts)):
            rows = source.table(results, table)
            if rows is not None:
                blocks.append(listing(source.where(rows, "swarm", name), points))
        title = f"The {kind}" if len(names) == 1 else f"{kind.capitalize()} {name}"
        yield Section(title, f"swarm-{_slug(name)}", [block for block in blocks if block])


def _parts(results: Source, table: str, swarm: str) -> Iterator[tuple[str, pa.Table]]:
    """The rows of `table` for each population of `swarm`."""
    rows = source.table(results, table)
    if rows is None:
        return
    rows = source.where(rows, "swarm", swarm)
    for name in source.distinct(rows, "population"):
        yield name, source.where(rows, "population", name)


def _detail(results: Source, points: Points) -> Iterator[Block]:
    yield Facts(description.origin(results, points))
    settings = [[path, value] for path, value in listings.settings(dict(results.study))]
    yield Table(
        ["setting", "value"], settings,
        f"The resolved study: all {len(settings)} settings, defaults included.",
        frozenset({0, 1}), folded=True,
    )  # fmt: skip
    provenance = [[path, value] for path, value in listings.settings(dict(results.provenance))]
    if provenance:
        yield Table(
            ["", ""], provenance, "Provenance: program, machine and time.",
            frozenset({0, 1}), folded=True,
        )  # fmt: skip


def _slug(text: str) -> str:
    words_only = "".join(c if c.isalnum() else " " for c in text).split()
    return "-".join(words_only).lower()
