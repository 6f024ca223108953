"""What is what in words: queues, transports, and points of a study."""

from __future__ import annotations

import json
from collections.abc import Mapping

from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report.points import Point
from flashcrowd.report.sweep_values import shown

#: What transports and disciplines are called in figures and tables.
NAMES = {
    "ledbat": "LEDBAT",
    "ledbat-25": "LEDBAT, 25 ms",
    "draft": "LEDBAT’s first draft",
    "fair": "fair LEDBAT",
    "plus-plus": "LEDBAT++",
    "ledbat-plus-plus": "LEDBAT++ on uTP",
    "libutp": "libutp",
    "libtorrent": "libtorrent",
    "lp": "TCP-LP",
    "nice": "NICE",
    "vegas": "Vegas",
    "red": "RED",
    "choke": "CHOKe",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "pie": "PIE",
    "cake": "CAKE",
    "sfq": "SFQ",
    "drr": "DRR",
}


def name(value: object) -> str:
    """What a transport or a queue is called; a queue with what it says of itself."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, Mapping):
        kind = NAMES[value["kind"]]
        rest = {key: it for key, it in value.items() if key not in ("kind", "depth")}
        said = ", ".join(f"{key.replace('_', ' ')} {shown(it)}" for key, it in rest.items())
        return f"{kind} ({said})" if said else kind
    text = str(value)
    return f"drop-tail, {text}" if text.endswith("packets") else NAMES.get(text, text)


def described(study: StudyEvidence, point: Point) -> str:
    """A point in words: who is beside TCP, over which queue, and whatever else was swept."""
    values = {
        path: axis.levels[level][place]
        for axis, level in zip(study.points.axes, point.levels, strict=True)
        for place, path in enumerate(axis.paths)
    }
    parts = []
    for path, value in values.items():
        last = path.rsplit(".", 1)[-1]
        if last in ("transport", "queue"):
            parts.append(name(value))
        elif last == "rate":
            parts.append(str(value))
        elif last == "delay" and ".back." not in path:
            parts.append(f"{shown(value)} each way")
    tcp, low = (values.get(f"workloads.{kind}.flows") for kind in ("tcp", "low"))
    if low is not None:
        parts.append(f"{tcp} + {low} flows")
    return ", ".join(parts)
