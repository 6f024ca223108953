"""The page of a comparison: the answer, the numbers behind it, and curves over each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Block, Cell, Facts, Page, Section, Table, Text
from flashcrowd.report import columns, compare_words, downloads, listings, wording
from flashcrowd.report.charts import completion, histograms, means, series
from flashcrowd.report.compare_match import AXIS
from flashcrowd.report.compare_pairs import Pairs
from flashcrowd.report.measures import Measure
from flashcrowd.report.study_page import METHOD
from flashcrowd.store import page_folder

MARKS = {"equivalent": "good", "different": "bad", "undecided": "open"}
"""Marks of the verdicts; the word stands beside."""

_MOST_ROWS = 25
_MOST_SETTINGS = 40


def write(comparison: Pairs, folder: Path) -> Path:
    """Write ``compare.html`` and ``figures/*.svg`` into `folder`; gives the path of the page."""
    made = build(comparison)
    return page_folder.save(page.html(made), page.figures(made), folder, "compare.html")


def build(comparison: Pairs) -> Page:
    """The page, not yet laid out."""
    names = [side.name for side in comparison.sides]
    sections = [
        Section("The answer", "answer", list(_answer(comparison))),
        Section("Means and differences", "means", list(_means(comparison))),
        Section("Distributions and progress", "curves", list(_curves(comparison))),
        Section("What differs", "settings", list(_settings(comparison))),
        Section("Where they come from", "provenance", list(_provenance(comparison))),
    ]
    common = wording.count(len(comparison.settings), "common point")
    return Page(
        title=" against ".join([", ".join(names[1:]), names[0]]),
        lead=f"{_study(comparison)}{wording.count(len(names), 'results folder')}, {common}, "
        f"{wording.count(len(comparison.points.runs), 'run')} in all.",
        sections=[section for section in sections if section.blocks],
        foot=f"{METHOD} {compare_words.method(comparison)}",
        warnings=comparison.notices,
    )


def _study(comparison: Pairs) -> str:
    """The study, if all folders are of one."""
    titles = {str(side.study.get("title") or "") for side in comparison.sides}
    (title, *more) = titles
    return f"{title}: " if title and not more else ""


def _answer(comparison: Pairs) -> Iterator[Block]:
    for sentence in compare_words.sentences(comparison):
        yield Text(sentence)
    yield from _figures(comparison, range(comparison.decisive))
    yield Text(compare_words.method(comparison))


def _figures(comparison: Pairs, numbers: Iterable[int]) -> Iterator[Block]:
    for number in numbers:
        measure = comparison.measures[number]
        figure = means.means(measure, comparison.points, f"compare-{number + 1}", lines=AXIS)
        if figure:
            yield figure


def _means(comparison: Pairs) -> Iterator[Block]:
    for number, measure in enumerate(comparison.measures):
        if number >= comparison.decisive:
            yield from _figures(comparison, [number])
        yield _table(comparison, measure, folded=number > 0)


def _table(comparison: Pairs, measure: Measure, *, folded: bool) -> Table:
    first = comparison.sides[0].name
    pairs = {pair.point.index: pair for pair in comparison.pairs(measure)}
    points = [point for group in comparison.settings for point in group]
    unit, found = columns.scaled(measure.unit, columns.of_measure(measure, points))
    numbers = dict(zip([point.index for point in points], _numbers(found), strict=True))
    header = ["point", "folder", "runs", columns.heading("mean", unit), "smallest to largest run"]
    header += [f"difference from {first}", "verdict"]
    rows: list[list[str | Cell]] = []
    for group in comparison.settings:
        for point in group:
            row: list[str | Cell] = [
                comparison.setting(point) or "the only one",
                comparison.folder(point),
                *numbers[point.index],
            ]
            pair = pairs.get(point.index)
            if pair is None:
                row += ["", ""]
            else:
                change = pair.found.change
                row.append(Cell(*wording.change(change)) if change else "–")
                how = "in pairs" if pair.found.paired else "independent runs"
                row.append(Cell(pair.found.words, how, MARKS[pair.found.verdict]))
            rows.append(row)
    tally = compare_words.tally(comparison.pairs(measure))
    caption = f"{wording.sentence(measure.name)}: {tally}. {measure.note}"
    folded = len(rows) > (_MOST_ROWS // 2 if folded else _MOST_ROWS)
    return Table(header, rows, caption, frozenset({0, 1, 6}), folded=folded)


def _numbers(column: columns.Column) -> list[list[str | Cell]]:
    """Of each row its count of runs, its mean and its range."""
    lost = Cell("no complete run", mark="bad")
    return [
        ["n = 0", lost, ""] if mean is None else [wording.runs(mean.n), cell, spread]
        for mean, cell, spread in zip(
            column, columns.cells(column), columns.ranges(column), strict=True
        )
    ]


def _curves(comparison: Pairs) -> Iterator[Block]:
    points, merged = comparison.points, comparison.merged
    names = downloads.swarms(merged)
    for number, name in enumerate(names):
        who = downloads.leechers(merged, name)
        of = f"swarm {name}"
        for draw, slug in (
            (completion.completion_curves, "completion"),
            (completion.duration_distribution, "durations"),
        ):
            figure = draw(who, points, f"{slug}-{number + 1}", of, along=AXIS)
            if figure:
                yield figure
    yield from histograms.ping_times(merged, points, along=AXIS)
    yield from series.series(merged, points, along=AXIS)


def _settings(comparison: Pairs) -> Iterator[Block]:
    found = comparison.merged.settings
    if not found:
        yield Text(compare_words.SAME_SETTINGS)
        return
    header = ["setting", *(side.name for side in comparison.sides)]
    rows = [[path, *values] for path, values in found]
    yield Table(
        header, rows, f"{wording.count(len(rows), 'setting')} that {_is(len(rows))} not the same.",
        frozenset(range(len(header))), folded=len(rows) > _MOST_SETTINGS,
    )  # fmt: skip


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _provenance(comparison: Pairs) -> Iterator[Block]:
    facts = []
    for side in comparison.sides:
        commit = side.provenance.get("commit")
        parts = [side.program or "unknown program", f"tables of version {side.version}"]
        parts += [f"commit {commit}"] if commit else []
        parts.append(str(side.study.get("title") or "a study without a title"))
        facts.append((side.name, ", ".join(parts)))
    yield Facts(facts)
    outcomes = listings.outcomes(comparison.points)
    if outcomes:
        yield outcomes
