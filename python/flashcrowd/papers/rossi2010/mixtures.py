"""Four flows of two kinds: the paper's table, and the same one with what exists today."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from flashcrowd.drawing.blocks import Block, Cell, Figure, Table, Text
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.plots import Curve, Panel, against
from flashcrowd.papers.rossi2010 import quantities
from flashcrowd.papers.rossi2010.words import name
from flashcrowd.report import columns, wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate, estimate

HOME = Path(__file__).parent

#: The two halves of the table, each with the constants that it needs and with those of the text.
HALVES = (
    ("windows", "windows-7", "calibrated: window 7 segments, target 100 ms, buffer 170 packets"),
    ("windows", "windows-12", "of the text: window 17520 B, target 25 ms, buffer 1000 packets"),
    ("linux", "linux-106", "calibrated: window 106 segments, target 100 ms, buffer 170 packets"),
    ("linux", "linux-72", "of the text: six times 17520 B, target 25 ms, buffer 1000 packets"),
)

Row = list[str | Cell]


class Printed(TypedDict):
    """A row of Table 1 as the paper prints it; `repeated` is negative for a dash."""

    window: str
    tcp: int
    shares: list[float]
    eta: float
    jain: float
    repeated: float


def published() -> list[Printed]:
    """The rows of Table 1 as the paper prints them."""
    with (HOME / "published.toml").open("rb") as file:
        return tomllib.load(file)["row"]


def table_1(evidence: Evidence) -> Iterator[Block]:
    """The paper's table, twice: with calibrated constants and with those of its text."""
    study = evidence["mixtures"]
    for window, transport, words in HALVES:
        rows = [
            row
            for printed in published()
            if printed["window"] == window
            if (row := _row(study, transport, printed)) is not None
        ]
        if not rows:
            continue
        kind = "Windows" if window == "windows" else "Linux"
        caption = (
            f"TCP with the window of {kind}, {words}. Means over {study.points.count()} runs, "
            "below them what the paper prints. Shares are of the goodput after the first minute, "
            "flows of a kind in order of their share; utilisation counts IP bytes over 10 Mbit/s."
        )
        header = [
            "TCP", "LEDBAT", "flow 1", "flow 2", "flow 3", "flow 4", "utilisation",
            "Jain’s index", "sent again (%)",
        ]  # fmt: skip
        yield Table(header, rows, caption, frozenset())


def _row(study: StudyEvidence, transport: str, printed: Printed) -> Row | None:
    tcp = printed["tcp"]
    point = study.one({"tcp.transport": transport, "tcp.flows": tcp})
    if point is None or not point.good_runs:
        return None
    row: Row = [str(tcp), str(4 - tcp)]
    for flow, value in enumerate(printed["shares"]):
        row.append(_cell(_share(study, point, flow, tcp), f"{value:.2f}"))
    again = printed["repeated"]
    for measure, value in (
        (quantities.eta(study, {}), f"{printed['eta']:.2f}"),
        (quantities.jain(study, {}), f"{printed['jain']:.2f}"),
        (quantities.repeated(study, {}), "–" if again < 0 else f"{again:g}"),
    ):
        row.append(_cell(measure.at(point), value))
    return row


def _share(study: StudyEvidence, point: Point, flow: int, tcp: int) -> Estimate | None:
    """The share of the `flow`-th flow: TCP first, in each kind from the largest to the smallest."""
    values = []
    for run in point.good_runs:
        rates = list(quantities.flows(study, run.run).values())
        ordered = [*sorted(rates[:tcp], reverse=True), *sorted(rates[tcp:], reverse=True)]
        values.append(ordered[flow] / sum(rates))
    return estimate(values).within(0.0, 1.0) if values else None


def _cell(found: Estimate | None, printed: str) -> Cell:
    if found is None:
        return Cell("–", f"paper {printed}")
    places = 3 if found.mean < 0.1 else 2
    value = f"{found.mean:.{places}f}"
    if found.low is None or found.high is None:
        return Cell(value, f"paper {printed}")
    interval = f"[{found.low:.{places}f}, {found.high:.{places}f}]"
    return Cell(value, f"{interval.replace('-', wording.MINUS)}\npaper {printed}")


# --- today ---------------------------------------------------------------------------------------

MIXTURES = ((3, "three TCP, one LEDBAT"), (2, "two TCP, two LEDBAT"), (1, "one TCP, three LEDBAT"))


def today(evidence: Evidence) -> Iterator[Block]:
    """The table with today's TCP and LEDBAT, over the size of the buffer."""
    study = evidence["today"]
    yield Text(
        "The paper ends with a question: what does “lower than best effort” mean, if the answer "
        "depends on TCP's window? Here TCP is CUBIC with windows that grow as needed, as systems "
        "ship it today, and the background flows are what exists today. A fair share would be a "
        "quarter for everyone; a background transport should take less where TCP is present, and "
        "the whole line where it is not."
    )
    share = quantities.share(study, {"kind": "ledbat"})
    yield _over_buffers(
        study, share, [(mix, words) for mix, words in MIXTURES], "today-share",
        "share of a LEDBAT flow",
        "What one LEDBAT flow gets of the line, against the size of the buffer; the dashed line "
        "is the fair share, a quarter. Points are means over runs, bands 95 % intervals; "
        f"{study.points.count()} per point. The dashed vertical line marks a "
        "bandwidth-delay product.", 0.25,
    )  # fmt: skip
    yield _over_buffers(
        study, quantities.queue_delay(study, {"from_s": 60}),
        [(0, "four LEDBAT")],
        "today-queue", "queueing delay (ms)",
        "Mean delay in the queue of the bottleneck with four LEDBAT flows and nothing else; beside "
        f"TCP it is TCP’s. Bands are 95 % intervals; {study.points.count()} per point.", None,
    )  # fmt: skip
    yield _over_buffers(
        study, quantities.jain(study, {"kind": "ledbat"}),
        [(0, "four LEDBAT"), (1, MIXTURES[2][1])],
        "today-fairness", "Jain’s index",
        "Fairness among the LEDBAT flows, without and with a TCP flow beside them; 1 is fair, "
        "0.25 is one flow of four taking all. Bands are 95 % intervals; "
        f"{study.points.count()} per point.", None,
    )  # fmt: skip
    for tcp in (4, 3, 2, 1, 0):
        yield _grid(study, tcp)


def _buffers(study: StudyEvidence) -> list[str]:
    found = {str(study.value(p, "queue")): None for p in study.points.points}
    return sorted(found, key=_packets)


def _packets(queue: str) -> int:
    return int(queue.split()[0])


def _flavours(study: StudyEvidence) -> list[str]:
    return list({str(study.value(p, "ledbat.transport")): None for p in study.points.points})


def _over_buffers(
    study: StudyEvidence,
    measure: Measure,
    mixtures: Sequence[tuple[int, str]],
    slug: str,
    y: str,
    caption: str,
    fair: float | None,
) -> Figure:
    panels = []
    for tcp, words in mixtures:
        curves = []
        for flavour in _flavours(study):
            found = []
            for queue in _buffers(study):
                where = {"ledbat.transport": flavour, "queue": queue, "tcp.flows": tcp}
                point = study.one(where)
                mean = None if point is None else measure.at(point)
                if mean is not None:
                    found.append((_packets(queue), mean))
            curves.append(Curve(name(flavour), [x for x, _ in found], [one for _, one in found]))
        marks = [] if fair is None else [(fair, "fair share")]
        panels.append(Panel(words, "buffer (packets)", y, curves, marks, "x", [_PRODUCT]))
    return against(panels, slug, caption)


#: Packets of a bandwidth-delay product of the bottleneck.
_PRODUCT = 42


def _grid(study: StudyEvidence, tcp: int) -> Table:
    """One mixture: a row a buffer, a column a flavour."""
    flavours = _flavours(study)
    measures = [
        ("share of a LEDBAT flow", quantities.share(study, {"kind": "ledbat"})),
        ("utilisation", quantities.eta(study, {})),
        ("queue (ms)", quantities.queue_delay(study, {"from_s": 60})),
        ("Jain’s index, all", quantities.jain(study, {})),
        ("TCP sent again (%)", quantities.repeated(study, {})),
    ]
    if tcp == 4:
        flavours, measures = flavours[:1], measures[1:]
    if tcp == 0:
        measures = measures[1:4]
    body: list[columns.Row] = []
    for queue in _buffers(study):
        for flavour in flavours:
            point = study.one({"ledbat.transport": flavour, "queue": queue, "tcp.flows": tcp})
            if point is None:
                continue
            row: columns.Row = [queue, name(flavour) if tcp < 4 else "–"]
            for _, measure in measures:
                found = measure.at(point)
                row.append(found)
            body.append(row)
    caption = (
        f"{tcp} TCP (CUBIC) and {4 - tcp} LEDBAT flows. Means over runs with 95 % "
        f"intervals, {study.points.count()} per row, after the first minute."
    )
    header = ["buffer", "LEDBAT", *(heading for heading, _ in measures)]
    return columns.table(header, body, caption, frozenset({0, 1}), folded=tcp != 2)
