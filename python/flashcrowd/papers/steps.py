"""What a timeline changed in steps: the stretches of a run, each with the value that it had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashcrowd.base.units import Span
from flashcrowd.papers.evidence import StudyEvidence


@dataclass(frozen=True)
class Step:
    """A stretch of a run.

    Attributes:
        from_s: when it began.
        to_s: when it ended.
        value: what the setting was, as written in the study.
    """

    from_s: float
    to_s: float
    value: Any


def read(study: StudyEvidence, path: str, end_s: float) -> list[Step]:
    """The steps that the timeline of `study` gives the setting at `path`, from 0 to `end_s`."""
    document = study.results.study
    changes = [event for event in document["timeline"].values() if event.get("change") == path]
    times = [(Span(event["at"]).seconds, event["to"]) for event in changes]
    times = [(0.0, _at(document, path)), *sorted(times, key=lambda pair: pair[0])]
    ends = [*(at for at, _ in times[1:]), end_s]
    return [Step(at, to, value) for (at, value), to in zip(times, ends, strict=True) if to > at]


def _at(document: Mapping[str, object], path: str) -> Any:
    value: Any = document
    for part in path.split("."):
        value = value[part]
    return value
