"""Figures of this paper: who has how much over which queue, and in which network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flashcrowd.base.units import Rate, Span
from flashcrowd.drawing.blocks import Block, Figure
from flashcrowd.papers import listing
from flashcrowd.papers.aqm2014 import quantities
from flashcrowd.papers.aqm2014.words import described, name
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.plots import Curve, Panel, against
from flashcrowd.report.statistics import Estimate


def _listing(study_name: str, *, folded: bool = False) -> Draw:
    def draw(evidence: Evidence) -> Iterator[Block]:
        yield _table(evidence[study_name], folded=folded)

    return draw


def _over(study_name: str, setting: str, words: str, x: Callable[[object], float]) -> Draw:
    """What a flow of low priority has over what a TCP flow has, along a setting, a panel each."""

    def draw(evidence: Evidence) -> Iterator[Block]:
        study = evidence[study_name]
        yield _curves(study, study_name, setting, words, x)
        yield _table(study, folded=True)

    return draw


def _table(study: StudyEvidence, *, folded: bool) -> Block:
    measures = [
        quantities.ratio(study, {}),
        quantities.tcp_share(study, {}),
        quantities.tcp_lost(study, {}),
        quantities.queue_delay(study, {"from_s": 60}),
    ]
    return listing.listing(study, measures, described, folded=folded)


def _curves(
    study: StudyEvidence, slug: str, setting: str, words: str, x: Callable[[object], float]
) -> Figure:
    """A panel for each queue, with a curve for each protocol; one panel where queues are swept."""
    ratio = quantities.ratio(study, {})
    panels: dict[str, dict[str, tuple[list[float], list[Estimate]]]] = {}
    for point in study.points.points:
        mean = ratio.at(point)
        if mean is None:
            continue
        title = "drop-tail" if setting == "queue" else name(study.value(point, "bottleneck.queue"))
        low = name(study.value(point, "low.transport"))
        places, found = panels.setdefault(title, {}).setdefault(low, ([], []))
        places.append(x(study.value(point, setting)))
        found.append(mean)
    drawn = [
        Panel(
            title, words, "over a TCP flow",
            [Curve(label, *curve) for label, curve in curves.items()],
            [(1, "no priority")], "x",
        )
        for title, curves in panels.items()
    ]  # fmt: skip
    caption = (
        f"Goodput of a flow of low priority over that of a TCP flow, against the {words}. Points "
        f"are means over runs, bands 95 % intervals; {study.points.count()} per point."
    )
    return against(drawn, slug, caption, rows=max(1, len(drawn) // 2))


FIGURES: Mapping[str, Draw] = {
    "breakdown": _listing("breakdown"),
    "buffers": _over("buffers", "queue", "buffer (packets)", lambda it: float(str(it).split()[0])),
    "capacity": _over("capacity", "rate", "capacity (Mbit/s)", lambda it: Rate(str(it)).bps / 1e6),
    "rtt": _over(
        "rtt", "bottleneck.delay", "round trip (ms)", lambda it: 2e3 * Span(str(it)).seconds
    ),
    "flows": _listing("flows", folded=True),
    "settings": _listing("settings", folded=True),
    "flavours": _listing("flavours", folded=True),
    "today": _listing("today", folded=True),
}
