"""What is what in words: lines, loads, policies and sizes as the paper has them, at full size."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from flashcrowd.base.units import Rate, Share, Size, Span
from flashcrowd.papers.evidence import StudyEvidence, Where
from flashcrowd.report.points import Point

#: The paper's lines, by their rate.
LINES = {"T1": "1.544 Mbit/s", "10T": "10 Mbit/s", "T3": "44.736 Mbit/s"}

#: Populations cannot be called 10T.
POPULATIONS = {"T1": "T1", "T10": "10T", "T3": "T3"}

#: The time that the paper's disk takes to a place, as we assume it.
POSITIONING = Span("5 ms")

#: What Circus is called where all is as published.
CIRCUS = "circus"


def scale_of(positioning: object) -> int:
    """How many times smaller a run is than the paper's, by its disk."""
    return round(POSITIONING.seconds / Span(str(positioning)).seconds)


def _of_document(study: StudyEvidence, path: str) -> Any:
    value: Any = study.results.study
    for part in path.split("."):
        value = value[part]
    return value


def scale(study: StudyEvidence) -> int:
    """The scale of a study in which it does not vary."""
    return scale_of(_of_document(study, "workloads.origin.disk.positioning.time"))


def line(rate: object) -> str:
    """The name of a line of this rate."""
    return next(name for name, bps in LINES.items() if Rate(bps) == Rate(str(rate)))


def policy(value: object) -> str:
    """A policy in words: what differs from Circus as published."""
    about: Mapping[str, object] | None = None
    if isinstance(value, str) and value.startswith("{"):
        about = json.loads(value)
    elif isinstance(value, Mapping):
        about = value
    if about is None or about["kind"] != CIRCUS:
        return str(value if about is None else about["kind"]).replace("-", " ")
    as_published = {"kind", "active"}
    parts = []
    for key, given in about.items():
        text = _KNOBS[key](given) if key in _KNOBS else ""
        if key not in as_published and text:
            parts.append(text)
    return ", ".join([CIRCUS, *parts])


_INDEPENDENCE = {
    "at-threshold": "independent at once",
    "while-empty": "independent for a while",
}
_KNOBS: Mapping[str, Callable[[Any], str]] = {
    "queue": lambda value: f"queue {value}",
    "threshold": lambda value: f"threshold {round(100 * Share(str(value)).value)} %",
    "leapfront": lambda value: f"leapfront {value:g}",
    "pin_region": lambda value: "region kept" if value else "",
    "lead_bound": lambda value: "leaders bounded" if value else "",
    "begin": lambda value: "newcomers at block 0" if value == "file" else "",
    "follow": lambda value: str(value).replace("-", " ") if value == "newest-first" else "",
    "slide": lambda value: f"region {value}s",
    "independence": lambda value: _INDEPENDENCE.get(value, ""),
    "read_ahead": lambda value: "" if value else "no read-ahead",
}


def load(study: StudyEvidence, gap: object) -> int:
    """The load of a study in per cent of 1 Gbit/s, if a client of each kind comes every `gap`."""
    size = Size(str(_of_document(study, "workloads.origin.files.size")))
    kinds = len(_of_document(study, "workloads.origin.populations"))
    return round(100 * kinds * 8 * size.bytes / Span(str(gap)).seconds / 1e9)


def _size(unit: int) -> Callable[[StudyEvidence, object], int]:
    return lambda study, value: round(Size(str(value)).bytes * scale(study) / unit)


#: Words for settings: name, end of the path, and what a written value is at full size.
SETTINGS: Mapping[str, tuple[str, Callable[[StudyEvidence, object], Any]]] = {
    "line": ("clients.access.down", lambda study, value: line(value)),
    "load": ("arrivals.gap", load),
    "size": ("files.size", _size(1 << 20)),
    "files": ("files.count", lambda study, value: int(str(value))),
    "rtt": ("network.rtt", lambda study, value: str(value)),
    "loss": ("network.loss", lambda study, value: str(value)),
    "scale": ("positioning.time", lambda study, value: scale_of(value)),
    "block": ("origin.block", _size(1 << 10)),
    "read": ("origin.extent", _size(1 << 10)),
    "memory": ("origin.memory", _size(1 << 20)),
    "policy": ("origin.policy", lambda study, value: policy(value)),
}


def _paths(study: StudyEvidence) -> dict[str, tuple[str, int, int]]:
    """Of each of `SETTINGS` that a study sweeps: its path, its axis and its place there."""
    found: dict[str, tuple[str, int, int]] = {}
    for name, (end, _) in SETTINGS.items():
        for number, axis in enumerate(study.points.axes):
            for place, path in enumerate(axis.paths):
                if path.endswith(end) and name not in found:
                    found[name] = (path, number, place)
    swept = {path for axis in study.points.axes for path in axis.paths}
    if "scale" in found:  # everything else goes with it
        return {name: found[name] for name in ("scale", "policy")}
    if any(path.endswith("files.size") for path in swept):
        found.pop("load", None)  # the load is one, and the gap goes with the size
    if "block" in found:
        found.pop("read", None)  # goes with the block
    return found


def settings(study: StudyEvidence, point: Point) -> dict[str, Any]:
    """What varies at a point, in words."""
    return {
        name: SETTINGS[name][1](
            study, study.points.axes[number].levels[point.levels[number]][place]
        )
        for name, (_, number, place) in _paths(study).items()
    }


def exact(study: StudyEvidence, where: Where) -> Where:
    """The written values that words mean; names that are no words are left as they are."""
    paths = _paths(study)
    found: dict[str, object] = {}
    for name, wanted in where.items():
        if name not in paths:
            found[name] = wanted
            continue
        path, number, place = paths[name]
        levels = [level[place] for level in study.points.axes[number].levels]
        words = wanted if isinstance(wanted, list) else [wanted]
        written = [raw for raw in dict.fromkeys(levels) if SETTINGS[name][1](study, raw) in words]
        found[path] = written[0] if len(written) == 1 else written
    return found


_SHOWN: Mapping[str, Callable[[Any], str]] = {
    "line": str,
    "load": lambda value: f"load {value} %",
    "size": lambda value: f"{value} MB",
    "files": lambda value: f"{value} file{'' if value == 1 else 's'}",
    "rtt": lambda value: f"RTT {value}",
    "loss": lambda value: "no loss" if value == "none" else f"loss {value}",
    "scale": lambda value: "full size" if value == 1 else f"1/{value}",
    "block": lambda value: f"blocks of {value} KB",
    "read": lambda value: f"reads of {value} KB",
    "memory": lambda value: f"memory {value} MB",
    "policy": str,
}


def described(study: StudyEvidence, point: Point) -> str:
    """A point in words."""
    return ", ".join(_SHOWN[name](value) for name, value in settings(study, point).items())
