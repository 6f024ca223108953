"""The page of all comparisons, and the table of README."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benches.validation import papers
from benches.validation.points import Change, Model, Point, Validation

_HEAD = """\
# How sure are the answers?

<!-- Written by `make validation` from benches/validation/points.toml. -->

Each model is compared with something that this project did not write.
A difference is (simulated − real) / real. Up to {limit:g} % counts as *agrees*.

- **Runs**: of the other side, then simulated.
- **Test**: a test repeats the comparison, with the command of its row.
- **Current**: the simulated numbers have all of today's rules.
- **Older**: rules changed since. [The list of changes](#changes-of-the-rules) says which.
"""

_COLUMNS = ("what", "compared with", "number", "difference", "verdict", "runs", "state")


def page(data: Validation) -> str:
    """docs/validation.md."""
    parts = [_HEAD.format(limit=data.limit)]
    for model in data.model:
        parts.append(f"## {model.name[0].upper()}{model.name[1:]}\n")
        rows = [_row(data, it) for it in model.points]
        parts.append(_table(_COLUMNS, rows))
        parts.append(f"Details: [{model.details.partition('#')[0]}]({model.details}).\n")
    parts.append("## Papers\n")
    parts.append(
        "Claims of papers, and what simulations made of them. A claim is by construction if its "
        "setting was read off it.\n"
    )
    head = ["paper", "campaign", "claims", *papers.VERDICTS]
    parts.append(_table(head, [it.cells for it in papers.counts()]))
    parts.append("## Tables of pages\n")
    parts.append("Pages have more simulated tables. This is the state of their numbers.")
    parts.append("*Written* is when a command last wrote the table, if one does.\n")
    tables = [
        (
            f"[{it.page}]({it.page})",
            it.what,
            str(it.made or "–"),
            _state(data.since(it), named=True),
        )
        for it in data.table
    ]
    parts.append(_table(["page", "table", "written", "state"], tables))
    parts.append("## Changes of the rules\n")
    parts.append("These changes moved numbers, the newest last.\n")
    changes = [(str(it.date), it.name, it.what, ", ".join(it.rules)) for it in data.change]
    parts.append(_table(["date", "name", "rule", "part"], changes))
    return "\n".join(parts)


def summary(data: Validation) -> str:
    """The table of README."""
    head = ["model", "compared with", "result", "largest difference"]
    return _table(head, [_summed(data, it) for it in data.model if it.readme])


def _summed(data: Validation, model: Model) -> Sequence[str]:
    found = [it for it in model.points if it.largest is not None]
    if not found:
        last = model.points[-1]
        return model.name, last.against, data.verdict(last), "–"
    worst = max(found, key=lambda it: abs(it.largest or 0))
    number = f"{worst.what}, {worst.measure}: {_percent(worst.largest or 0)}"
    return model.name, worst.against, data.verdict(worst), number


def _row(data: Validation, point: Point) -> Sequence[str]:
    verdict = data.verdict(point)
    return (
        point.what,
        f"{point.against}, {point.real}" if point.real else point.against,
        point.measure,
        span(point),
        f"**{verdict}**" if verdict == "differs" else verdict,
        "\u00a0/\u00a0".join(map(str, point.runs)) if point.runs else "–",
        f"test: `{point.held}`" if point.held else _state(data.since(point)) if point.real else "–",
    )


def span(point: Point) -> str:
    """The difference of a comparison, or what came out."""
    if point.percent is None:
        return point.result
    least, most = point.percent
    return _percent(least) if least == most else f"{_percent(least)} to {_percent(most)}"


def _percent(value: float) -> str:
    return f"{value:+.3g}\u00a0%".replace("-", "−") if value else "0\u00a0%"


def _state(later: Sequence[Change], *, named: bool = False) -> str:
    if not later:
        return "current"
    if named:
        return f"older than: {', '.join(it.name for it in later)}"
    return f"older by {len(later)}" + (" change" if len(later) == 1 else " changes")


def _table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(_lines(list(head), rows)) + "\n"


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
