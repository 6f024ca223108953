"""The settings of the paper in the words of its sweeps, and what figures call them."""

from __future__ import annotations

from flashcrowd.papers.evidence import StudyEvidence, Where
from flashcrowd.report.points import Point

#: What the blocks go over that the first and the second half of the peers upload.
SWARMS: dict[str, tuple[str, str]] = {
    "TCP": ("TCP", "TCP"),
    "uTP": ("uTP", "uTP"),
    "50-50": ("TCP", "uTP"),
}

#: How long seeds stay.
STAYS: dict[str, str] = {
    "seeds never leave": "never",
    "seeds stay a random time": "after 50 %",
    "seeds leave at once": "at-once",
}

#: The two that the paper shows.
PAPER_STAYS = ("seeds never leave", "seeds stay a random time")

#: The halves of the mixed swarm by the populations that they are.
HALVES = {"first": "TCP peers", "second": "uTP peers"}

#: What access lines the hosts have, in the study ``access``.
LINES: dict[str, Where] = {
    "all 1/8 Mbit/s": {"first-slow.access.up": "1 Mbit/s"},
    "half 0.5/4, half 1.5/12 Mbit/s": {"first-slow.access.up": "0.5 Mbit/s"},
}

#: What else the hosts send, in the study ``background``.
BACKGROUND: dict[str, Where] = {
    "nothing": {"upload-first-busy.flows": 0},
    "200 kbit/s from every host": {"upload-first-busy.limit": "200 kbit/s"},
    "bulk from every second host": {
        "upload-first-busy.flows": 1,
        "upload-first-other.flows": 0,
    },
    "bulk from every host": {
        "upload-first-other.flows": 1,
        "upload-first-busy.limit": "unlimited",
    },
}

#: Milliseconds that a full packet of 1500 B takes at 1 Mbit/s.
PACKET_MS = 12.0


def at(study: StudyEvidence, swarm: str, stay: str) -> Point | None:
    """The point of a swarm and a stay, if it was run."""
    return study.one({**data(study, swarm), "first.departure": STAYS[stay]})


def data(study: StudyEvidence, swarm: str) -> Where:
    """The condition that selects a swarm; populations are called after halves, or begin so."""
    paths = [path for axis in study.points.axes for path in axis.paths]
    found: dict[str, object] = {}
    for half, carrier in zip(HALVES, SWARMS[swarm], strict=True):
        for path in paths:
            population = path.split(".")[-2]
            if path.endswith(".data_transport") and population.startswith(half):
                found[f"{population}.data_transport"] = carrier
    return found


def words(study: StudyEvidence, point: Point) -> str:
    """A point in the words of the paper, as far as it has any for what the study sweeps."""
    parts = [swarm for swarm in SWARMS if point in study.select(data(study, swarm))]
    parts = [] if len(parts) > 1 else [p if p == "50-50" else f"all {p}" for p in parts]
    for name, values in (("first.departure", STAYS),):
        found = _swept(study, point, name)
        parts += [word for word, value in values.items() if value == found]
    queue = _swept(study, point, "first.access.up_queue")
    parts += [f"{queue}"] if queue is not None else []
    for levels in (LINES, BACKGROUND):
        for word, where in levels.items():
            if all(_swept(study, point, name) == value for name, value in where.items()):
                parts.append(word)
    return ", ".join(parts) or point.label


def _swept(study: StudyEvidence, point: Point, name: str) -> object:
    try:
        return study.value(point, name)
    except KeyError:
        return None
