"""The paper's experiments with the programs of today, as they are or as the simulation has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flashcrowd.base.units import Span
from flashcrowd.drawing.blocks import Block, Text
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.rossi2010 import quantities
from flashcrowd.papers.rossi2010.listing import listing
from flashcrowd.report.measures import Measure
from flashcrowd.report.sweep_values import shown

#: The begin of a stretch, in which flows settle, that is left out: so much of it.
_SETTLING = 1 / 3

_WHO_PLAYS = (
    "“Played by flashcrowd” is our own uTP with the rules of the program named; the simulation "
    "plays these rules, whoever is named."
)


def mixtures(evidence: Evidence) -> Iterator[Block]:
    """The paper's table: four flows of two kinds."""
    yield Text(
        "What a background flow gets beside TCP, and what it costs: the same mixtures with uTP by "
        f"the programs that people have, where programs ran. {_WHO_PLAYS}"
    )
    for study in _each(evidence, "programs"):
        yield listing(
            study,
            [
                quantities.share(study, {"kind": "ledbat"}),
                quantities.ratio(study, {}),
                quantities.eta(study, {}),
                quantities.queue_delay(study, {"from_s": quantities.FIRST_MINUTE_S}),
                quantities.repeated(study, {}),
            ],
        )


def adsl(evidence: Evidence) -> Iterator[Block]:
    """An ADSL line with TCP on either path."""
    yield Text(
        "What a flow of uTP leaves to a TCP flow on the same uplink, and what is left of it when "
        f"only the acknowledgements of a TCP download share the uplink. {_WHO_PLAYS}"
    )
    for study in _each(evidence, "programs-adsl"):
        measures = []
        for words, from_s, to_s in _stretches_of_adsl(study.results.study):
            given = {"from_s": from_s, "to_s": to_s}
            for found in (
                quantities.goodput(study, {**given, "flow": "ledbat/0"}),
                quantities.ping(study, given),
            ):
                measures.append(_called(f"{found.name}, {words}", found))
        yield listing(study, measures)


def steps(evidence: Evidence) -> Iterator[Block]:
    """One flow while capacity, delay and jitter change."""
    yield Text(
        "What one flow carries, and how long the queue is that it keeps, while the path changes "
        f"under it: capacity, then delay, then jitter, of either path. {_WHO_PLAYS}"
    )
    for study in _each(evidence, "programs-steps"):
        stretches = _stretches_of_path(study.results.study)
        for measure in (quantities.goodput, quantities.queue_delay):
            found = [
                _called(words, measure(study, {"from_s": from_s, "to_s": to_s}))
                for words, from_s, to_s in stretches
            ]
            yield listing(study, found, what=f"{measure(study, {}).name.capitalize()}. ")


def _each(evidence: Evidence, name: str) -> Iterator[StudyEvidence]:
    """A study, and that of libutp, which not every machine has."""
    for study in (name, f"{name}-libutp"):
        if study in evidence.studies:
            yield evidence[study]


def _called(words: str, found: Measure) -> Measure:
    return replace(found, name=words)


def _settled(from_s: float, to_s: float) -> tuple[float, float]:
    return from_s + _SETTLING * (to_s - from_s), to_s


def _stretches_of_adsl(document: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Quiet, TCP on the uplink, TCP on the way back: when each is."""
    workloads = document["workloads"]
    found = [("quiet", *_settled(0.0, Span(workloads["forward"]["start"]).seconds))]
    for name, words in (("forward", "TCP forward"), ("backward", "TCP back")):
        start, stop = (Span(workloads[name][key]).seconds for key in ("start", "stop"))
        found.append((words, *_settled(start, stop)))
    return found


def _stretches_of_path(document: Mapping[str, Any]) -> Sequence[tuple[str, float, float]]:
    """The stretches between the changes of the timeline, each called by what changed."""
    changes: dict[float, list[str]] = {0.0: ["at first"]}
    for event in document["timeline"].values():
        what = event["change"].removeprefix("network.links.bottleneck.").replace("back.", "back ")
        to = event["to"]
        value = f"0 to {to['spread']}" if isinstance(to, Mapping) else shown(to)
        changes.setdefault(Span(event["at"]).seconds, []).append(f"{what} {value}")
    starts = sorted(changes)
    ends = [*starts[1:], Span(document["workloads"]["flow"]["stop"]).seconds]
    return [
        (", ".join(changes[start]), *_settled(start, end))
        for start, end in zip(starts, ends, strict=True)
    ]
