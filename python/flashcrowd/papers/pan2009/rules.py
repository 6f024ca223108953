"""The rules of Adaptive-DRC, read in other ways than ours where the paper leaves them open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flashcrowd.drawing.blocks import Block, Cell, Table, Text
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.pan2009 import quantities
from flashcrowd.papers.pan2009.words import LINES
from flashcrowd.report import wording
from flashcrowd.report.statistics import Estimate

#: What the rules are called, by their controllers.
RULES = {"AIMD": "adaptive-drc-aimd", "MIMD": "adaptive-drc-mimd"}

#: Readings in words, by what differs from ours.
READINGS: Mapping[str, Mapping[str, object]] = {
    "as above": {},
    "a ping every 2 s": {"probe_period": "2 s"},
    "a ping every 10 s": {"probe_period": "10 s"},
    "µ and σ of 5 answers": {"baseline_samples": 5},
    "µ and σ of 40 answers": {"baseline_samples": 40},
    "at least 8 KiB/s": {"floor": "8 KiB/s"},
    "a lost ping is congestion": {"lost_is_congestion": True},
}


def draw(evidence: Evidence) -> Iterator[Block]:
    """What each reading leaves of both directions, line by line."""
    if "rules" not in evidence.studies:
        yield Text("Quick mode leaves this out.")
        return
    study = evidence["rules"]
    rows: list[list[str | Cell]] = []
    for called, name in RULES.items():
        for says, more in READINGS.items():
            controller = {"name": name, "probe_period": "5 s", **more}
            cells = [_used(study, number, controller) for number in LINES]
            rows.append([called, says, *cells])
    yield Table(
        ["rule", "", *(str(number) for number in LINES)],
        rows,
        "Downlink / uplink utilisation in per cent on the eight lines of Table I, means over "
        f"{study.points.count()}. As above: a ping every 5 s, µ and σ of 20 answers, a least "
        "limit of 1 KiB/s, and a lost ping says nothing.",
        frozenset({0, 1}),
    )


def _used(study: StudyEvidence, number: int, controller: object) -> str | Cell:
    """Both utilisations of a line, with their intervals."""
    down, up = LINES[number]
    point = study.one({"access.down": down, "access.up": up, "upload_control": controller})
    found: list[Estimate] = []
    for way in ("down", "up"):
        here = quantities.use(study, {"way": way}).at(point) if point else None
        if here is None:
            return "–"
        found.append(here)
    return Cell(
        "/".join(wording.mean(one) for one in found),
        " / ".join(wording.interval(one) for one in found),
    )
