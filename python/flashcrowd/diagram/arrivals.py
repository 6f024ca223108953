"""Arrivals over time, as a curve: how many have come, and how many are there at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashcrowd.base.units import Span
from flashcrowd.diagram.layout import TITLE, width, wrapped
from flashcrowd.diagram.panel import ACCENT, FAINT, SECOND, Panel, line, text

_HIGH = 90.0
_MOST_POINTS = 400

Curve = list[tuple[float, float]]


def panels(study: Mapping[str, Any], across: float, top: float) -> Iterator[Panel]:
    """A curve for each population of a resolved study that has instants or rates of arrivals."""
    for name, workload in study.get("workloads", {}).items():
        for population, table in (workload.get("populations") or {}).items():
            curves = _curves(table, study)
            if curves:
                made = _panel(f"When {population} of {name} come", curves, across, top)
                yield made
                top = made.bottom


def _curves(table: Mapping[str, object], study: Mapping[str, object]) -> dict[str, Curve]:
    arrivals = table.get("arrivals")
    if not isinstance(arrivals, Mapping):
        return {}
    if arrivals.get("kind") == "rates":
        return {"expected to have come": _expected(arrivals, _hosts(table, study))}
    if arrivals.get("kind") != "times" or len(arrivals["at"]) < 3:
        return {}
    came = sorted(_seconds(at) for at in arrivals["at"])
    curves = {"have come": _steps([(at, 1) for at in came])}
    pairs = zip(arrivals["at"], arrivals.get("leave") or [], strict=False)
    ends = [(_seconds(leave), -1) for _, leave in pairs if leave not in (None, "none")]
    if ends:
        curves["are there at most"] = _steps(sorted([*((at, 1) for at in came), *ends]))
    return curves


def _seconds(span: object) -> float:
    return Span(str(span)).ns / 1e9


def _hosts(table: Mapping[str, Any], study: Mapping[str, Any]) -> int:
    if table.get("hosts", "all") != "all":
        return int(table["hosts"])
    groups = [table["group"]] if isinstance(table["group"], str) else table["group"]
    return sum(int(study["network"]["groups"][name].get("hosts", 1)) for name in groups)


def _steps(changes: Sequence[tuple[float, int]]) -> Curve:
    points: Curve = [(0.0, 0.0)]
    level = 0
    for at, change in changes:
        points.append((at, level))
        level += change
        points.append((at, level))
    every = -(-len(points) // (2 * _MOST_POINTS))
    return points if every == 1 else [*points[::every], points[-1]]


def _expected(arrivals: Mapping[str, Any], hosts: int) -> Curve:
    """The area under the rate, up to as many as there are hosts."""
    steps = [(_seconds(at), float(rate) / 3600) for at, rate in arrivals["per_hour"]]
    period = arrivals.get("period")
    length = None if period in (None, "none") else _seconds(period)
    points: Curve = [(0.0, 0.0)]
    begun = 0.0
    while len(points) < _MOST_POINTS:
        for number, (at, rate) in enumerate(steps):
            last = number + 1 == len(steps)
            end = length if last else steps[number + 1][0]
            now, came = points[-1]
            rest = hosts - came
            if rate and (end is None or rate * (end - at) >= rest):
                return [*points, (now + rest / rate, float(hosts))]
            if end is None:
                return points
            points.append((begun + end, came + rate * (end - at)))
        begun += length or 0.0
    return points


def _panel(title: str, curves: Mapping[str, Curve], across: float, top: float) -> Panel:
    last = max(x for curve in curves.values() for x, _ in curve) or 1.0
    most = max(y for curve in curves.values() for _, y in curve) or 1.0
    parts: list[str] = []
    for words in wrapped(title, across - 1, TITLE, bold=True):
        parts.append(text(0.5, top + TITLE, words, TITLE, bold=True))
        top += TITLE + 3
    parts.extend(_legend(list(curves), top + 14))
    top += 30
    left, right, bottom = 8 + width(f"{most:.0f}", 11), across - 12, top + _HIGH

    def on(point: tuple[float, float]) -> tuple[float, float]:
        x, y = point
        return left + (right - left) * x / last, bottom - _HIGH * y / most

    parts.append(line([(left, bottom), (right, bottom)], FAINT, 1.2))
    parts.append(line([(left, top), (right, top)], FAINT, 1.2))
    for color, curve in zip((ACCENT, SECOND), curves.values(), strict=False):
        end = [(last, curve[-1][1])]
        parts.append(line([on(point) for point in [*curve, *end]], color, 1.8))
    parts.append(text(2, top + 4, f"{most:.0f}"))
    parts.append(text(2, bottom + 4, "0"))
    parts.append(text(left, bottom + 16, "0 s"))
    said = _spoken(last)
    parts.append(text(right - width(said, 11), bottom + 16, said))
    return Panel(parts, bottom + 34)


def _legend(names: Sequence[str], y: float) -> Iterator[str]:
    x = 0.5
    for color, name in zip((ACCENT, SECOND), names, strict=False):
        yield line([(x, y - 4), (x + 16, y - 4)], color, 2.4)
        yield text(x + 21, y, name)
        x += 40 + width(name, 11)


def _spoken(seconds: float) -> str:
    for unit, long in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * long:
            return f"{seconds / long:.3g} {unit}"
    return f"{seconds:.3g} s"
