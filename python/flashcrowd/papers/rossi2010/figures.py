"""The paper's figures, each as the paper has it, from our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flashcrowd.base.units import Rate
from flashcrowd.drawing.blocks import Block
from flashcrowd.papers import steps
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.rossi2010 import causes, mixtures, programs, quantities
from flashcrowd.papers.rossi2010.drawings import (
    Frame,
    Line,
    Panel,
    corners,
    dots,
    first_run,
    over_time,
)
from flashcrowd.papers.rossi2010.listing import listing
from flashcrowd.papers.rossi2010.words import family, name
from flashcrowd.report.measures import Measure

#: Transports and buffers of the figures with one flow: those that reproduce the table, and the
#: text's own.
READINGS = (
    ("calibrated constants", "170 packets", ("windows-7", "alpha2", "beta1")),
    ("constants of the text", "1000 packets", ("windows-12", "alpha2", "beta1-25")),
)
CONSTANTS = (
    "Calibrated constants: TCP window of 7 segments, targets of 25 ms (α2) and 100 ms (β1), buffer "
    "of 170 packets; of the text: 12 segments, 25 ms, 1000 packets."
)
#: What the lines of the figures with ADSL carry; beside it β1 was run with other framings.
ATM = "pppoa-vcmux"
TARGETS = (("calibrated: target 100 ms", "beta1"), ("text: target 25 ms", "beta1-25"))
ONE_RUN = "One run is drawn, not a mean."


def _sizes(evidence: Evidence) -> Iterator[Block]:
    study = evidence["sizes"]
    points = {study.value(point, "transport"): point for point in study.points.points}
    runs = {run: rest for run, *rest in quantities.packets(study)}
    panels = []
    for transport, point in points.items():
        mine = [run.run for run in point.good_runs if run.run in runs]
        if not mine:
            continue
        time, ip, _ = runs[mine[0]]
        seen = np.unique(np.stack([np.round(time / 0.25), ip]), axis=1)
        panels.append((name(transport), 0.25 * seen[0], seen[1]))
    if panels:
        yield dots(
            panels, "packet-sizes", "IP packet (B)",
            f"Packets that the sender puts on the wire in the first minute. {ONE_RUN} A dot is a "
            "size that occurs in a quarter of a second, however often.",
        )  # fmt: skip
    measures = [
        quantities.median_size(study, {"from_s": 5}),
        quantities.time_to_full(study, {}),
        quantities.full_packets(study, {"from_s": 45}),
        quantities.sizes(study, {"from_s": 5}),
        quantities.overhead(study, {}),
        quantities.packet_rate(study, {"from_s": 5}),
    ]
    yield listing(study, measures)


def _throughput(evidence: Evidence) -> Iterator[Block]:
    study = evidence["throughput"]
    groups = (
        ("LEDBAT, calibrated", "170 packets", ("alpha1", "alpha2", "beta1")),
        ("LEDBAT, text", "1000 packets", ("alpha1-25", "alpha2", "beta1-25")),
        ("TCP, calibrated", "170 packets", ("windows-7", "linux-106")),
        ("TCP, text", "1000 packets", ("windows-12", "linux-72")),
    )
    panels = [
        Panel(title, _read(study, members, queue, mean_s=1)) for title, queue, members in groups
    ]
    yield from _figure(
        panels,
        Frame(
            "throughput", "throughput (Mbit/s)",
            f"Throughput of one flow alone at the sender, in windows of 1 s. {ONE_RUN} "
            "Calibrated: TCP windows of 7 and 106 segments, targets of 100, 25 and 100 ms, buffer "
            "of 170 packets; text: 12 and 72 segments, 25 ms, 1000 packets.",
        ),
    )  # fmt: skip
    settled = {"from_s": 60, "to_s": 240}
    yield listing(
        study,
        [
            quantities.throughput(study, settled),
            quantities.goodput(study, settled),
            quantities.unevenness(study, settled),
        ],
    )


def _capacity(evidence: Evidence) -> Iterator[Block]:
    path = "network.links.bottleneck.rate"
    for study_name, slug, words in (
        ("capacity-up", "capacity-up", "rises"),
        ("capacity-down", "capacity-down", "falls"),
    ):
        if study_name not in evidence.studies:
            continue
        study = evidence[study_name]
        changes = [
            (step.from_s, step.to_s, Rate(str(step.value)).bps / 1e6)
            for step in steps.read(study, path, 1020)
            if step.from_s > 0
        ]
        panels = [
            Panel(title, _read(study, transports, queue, mean_s=5), corners(changes))
            for title, queue, transports in READINGS
        ]
        yield from _figure(
            panels,
            Frame(
                slug, "throughput (Mbit/s)",
                f"Throughput at the sender while the capacity {words} in steps of 250 kbit/s, in "
                f"windows of 5 s. {ONE_RUN} Before 60 s the capacity is 10 Mbit/s. {CONSTANTS}",
                profile="capacity", top=2.6,
            ),
        )  # fmt: skip
        yield listing(study, list(_of_capacities(study, changes)), folded=True)


def _of_capacities(
    study: StudyEvidence, changes: Sequence[tuple[float, float, float]]
) -> Iterator[Measure]:
    for from_s, to_s, mbit in changes:
        given = {"from_s": from_s + 20, "to_s": to_s, "mbit": mbit}
        found = quantities.utilisation(study, given)
        name = f"of {1000 * mbit:.0f} kbit/s"
        yield replace(found, name=name, note="Goodput of each capacity.")


def _delay(evidence: Evidence) -> Iterator[Block]:
    yield from _both_ways(
        evidence, "delay", "Throughput at the sender while the delay of one path rises by 20 ms "
        f"every two minutes, in windows of 5 s. {ONE_RUN} {CONSTANTS}", _delays, "delay",
    )  # fmt: skip


def _jitter(evidence: Evidence) -> Iterator[Block]:
    yield from _both_ways(
        evidence, "jitter", "Throughput at the sender while the delay of each packet of one path "
        f"is drawn around 20 ms, wider every two minutes, in windows of 5 s. {ONE_RUN} Packets "
        f"overtake each other; repeats count as throughput. {CONSTANTS}",
        _jitters, "range of the delay",
    )  # fmt: skip


def _both_ways(
    evidence: Evidence, what: str, caption: str, profile_of: Any, called: str
) -> Iterator[Block]:
    panels = []
    for way in ("forward", "backward"):
        if f"{what}-{way}" not in evidence.studies:
            continue
        study = evidence[f"{what}-{way}"]
        high, low = profile_of(study, way)
        panels += [
            Panel(f"{way}, {title}", _read(study, transports, queue, mean_s=5), high, low)
            for title, queue, transports in READINGS
        ]
    frame = Frame(
        what, "throughput (Mbit/s)", caption, profile=called, right="one-way delay (ms)", top=11
    )
    yield from _figure(panels, frame)
    for way in ("forward", "backward"):
        if f"{what}-{way}" in evidence.studies:
            study = evidence[f"{what}-{way}"]
            words = f"On the {way} path. "
            yield listing(study, list(_every_two_minutes(study)), what=words, folded=True)


def _every_two_minutes(study: StudyEvidence):
    for at in range(60, 660, 120):
        found = quantities.goodput(study, {"from_s": at + 20, "to_s": at + 120})
        yield replace(found, name=f"goodput from {at + 20} s")


def _delays(study: StudyEvidence, way: str):
    side = "" if way == "forward" else "back."
    path = f"network.links.bottleneck.{side}delay"
    found = [(s.from_s, s.to_s, _ms(s.value)) for s in steps.read(study, path, 660)]
    return corners(found), ()


def _jitters(study: StudyEvidence, way: str):
    side = "" if way == "forward" else "back."
    link = f"network.links.bottleneck.{side}"
    least = [(s.from_s, s.to_s, _ms(s.value)) for s in steps.read(study, f"{link}delay", 660)]
    return corners([(a, b, 40 - low) for a, b, low in least]), corners(least)


def _ms(value: object) -> float:
    return float(str(value).split()[0])


def _adsl(evidence: Evidence) -> Iterator[Block]:
    study = evidence["adsl"]
    groups = (
        ("calibrated constants", ("linux", "windows-7", "beta1")),
        ("constants of the text", ("linux", "windows-12", "beta1-25")),
    )
    for slug, what, source, factor, y, words in (
        (
            "adsl-throughput",
            "link-rate",
            "first-1 up",
            1e-3,
            "throughput (kbit/s)",
            "Throughput at the sender",
        ),
        ("adsl-queue", "queue-delay", "first-line", 1.0, "queueing delay (s)", "Queueing delay"),
    ):
        panels = [
            Panel(
                title,
                _lines(
                    study, [{"transport": t, "first-line.framing": ATM} for t in members],
                    what=what, source=source, factor=factor,
                ),
            )
            for title, members in groups
        ]  # fmt: skip
        yield from _figure(
            panels,
            Frame(slug, y, f"{words} on an ADSL uplink of 640 kbit/s, one flow alone. {ONE_RUN}"),
        )
    settled = {"from_s": 30, "to_s": 240, "source": "first-1 up", "link": "first-line"}
    measures = [
        quantities.throughput(study, settled), quantities.goodput(study, settled),
        quantities.unevenness(study, settled),
        quantities.queue_delay(study, settled), quantities.ping(study, settled),
    ]  # fmt: skip
    yield listing(study, measures)


def _interference(evidence: Evidence) -> Iterator[Block]:
    study = evidence["interference"]
    shades = ((120, 240, "TCP forward"), (360, 480, "TCP backward"))
    panels, pings = [], []
    for title, transport in TARGETS:
        where = {"transport": transport, "back.queue": "200 kB"}
        lines = _lines(study, [where], what="goodput", source="ledbat/0", factor=1e-3)
        panels.append(Panel(title, lines, shades=shades))
        line = _pings(study, where)
        pings.append(Panel(title, [line] if line else [], shades=shades))
    yield from _figure(
        panels,
        Frame(
            "interference", "goodput (kbit/s)",
            f"Goodput of LEDBAT on an ADSL uplink of 640 kbit/s, in windows of 1 s. {ONE_RUN} "
            "In the shaded stretches a TCP transfer goes the same way or the other way. Buffers "
            "of 300 kB at the sender’s home and 200 kB at the other.",
        ),
    )  # fmt: skip
    yield from _figure(
        pings,
        Frame("interference-ping", "ping (s)", f"The bystander’s ping meanwhile. {ONE_RUN}"),
    )
    measures = []
    for words, a, b in (("quiet", 30, 120), ("TCP forward", 140, 240), ("TCP back", 380, 480)):
        given = {"from_s": a, "to_s": b, "flow": "ledbat/0"}
        for found in (quantities.goodput(study, given), quantities.ping(study, given)):
            measures.append(replace(found, name=f"{found.name}, {words}", note=""))
    yield listing(study, measures)


def _pings(study: StudyEvidence, where: Mapping[str, object]) -> Line | None:
    from flashcrowd.report import source as tables

    point = study.one(where)
    if point is None or not point.good_runs:
        return None
    rows = study.results.tables["pings"]
    mine = tables.integers(rows, "run") == point.good_runs[0].run
    sent, rtt = tables.numbers(rows, "sent_s")[mine], tables.numbers(rows, "rtt_s")[mine]
    return Line("ping", sent, rtt)


def _read(study: StudyEvidence, transports: Sequence[str], queue: str, mean_s: int) -> list[Line]:
    return _lines(study, [{"transport": t, "queue": queue} for t in transports], mean_s=mean_s)


def _lines(
    study: StudyEvidence,
    wheres: Sequence[Mapping[str, object]],
    *,
    what: str = "link-rate",
    source: str = "senders-1 up",
    factor: float = 1e-6,
    mean_s: int = 1,
) -> list[Line]:
    found = []
    for where in wheres:
        curve = first_run(study, what, source, where, factor=factor, mean_s=mean_s)
        if curve is not None:
            found.append(Line(family(where["transport"]), *curve))
    return found


def _figure(panels: Sequence[Panel], frame: Frame) -> Iterator[Block]:
    figure = over_time(panels, frame)
    if figure:
        yield figure


FIGURES: dict[str, Draw] = {
    "figure-1": _sizes,
    "figure-2a": _throughput,
    "figure-2b": _capacity,
    "figure-3a": _delay,
    "figure-3b": _jitter,
    "figure-4a": _adsl,
    "figure-4b": _interference,
    "table-1": mixtures.table_1,
    "causes": causes.draw,
    "today": mixtures.today,
    "programs": programs.mixtures,
    "programs-adsl": programs.adsl,
    "programs-steps": programs.steps,
}
