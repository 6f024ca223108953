"""Instants of a study worth a mark on an axis of time: changes of the timeline, late starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashcrowd.base.units import Span
from flashcrowd.report.sweep_values import shown


@dataclass(frozen=True, order=True, slots=True)
class Instant:
    """Something that happens at a given time.

    Attributes:
        t_s: when, in seconds.
        words: what, in a few words.
    """

    t_s: float
    words: str


def instants(study: Mapping[str, Any]) -> tuple[Instant, ...]:
    """The instants of a resolved study, in order; those that a sweep moves are left out."""
    swept = {path for axis in study.get("sweep") or () for path in axis}
    return tuple(sorted({*_changes(study, swept), *_starts(study, swept)}))


def _changes(study: Mapping[str, Any], swept: set[str]) -> Iterator[Instant]:
    for name, change in (study.get("timeline") or {}).items():
        if not isinstance(change, Mapping) or f"timeline.{name}.at" in swept:
            continue
        if "stop" in change:
            yield Instant(_seconds(change["at"]), f"{change['stop']} stops")
        else:
            what = str(change.get("change")).removeprefix("workloads.").removeprefix("network.")
            to = "" if f"timeline.{name}.to" in swept else f": {shown(change.get('to'))}"
            yield Instant(_seconds(change["at"]), what.replace(".", " ") + to)


def _starts(study: Mapping[str, Any], swept: set[str]) -> Iterator[Instant]:
    for name, workload in (study.get("workloads") or {}).items():
        start = workload.get("start") if isinstance(workload, Mapping) else None
        if isinstance(start, str) and f"workloads.{name}.start" not in swept:
            at = _seconds(start)
            if at > 0 and workload.get("kind") != "ping":
                yield Instant(at, f"{name} starts")


def _seconds(text: object) -> float:
    return Span(str(text)).seconds
