"""The paper's figures, each as the paper has it, from our runs; and what its questions give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from flashcrowd.drawing.blocks import Block, Cell, Figure, Table, Text
from flashcrowd.drawing.canvas import Canvas, canvas, key, per_cent
from flashcrowd.drawing.style import QUIET, SeriesStyle, looks
from flashcrowd.papers.evidence import Evidence, StudyEvidence, Where
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.testa2011 import conclusions, quantities, queues, service, waits, windows
from flashcrowd.papers.testa2011.downloads import completions, kept
from flashcrowd.papers.testa2011.settings import (
    BACKGROUND,
    HALVES,
    LINES,
    PACKET_MS,
    PAPER_STAYS,
    STAYS,
    SWARMS,
    at,
    data,
)
from flashcrowd.report import columns, wording
from flashcrowd.report.points import Point

_KINDS = ("slow", "fast")

#: The smallest buffer of the paper's sweep, in packets.
_SMALLEST = 10

LOOKS = dict(zip(SWARMS, looks(len(SWARMS)), strict=True))


def _completion(evidence: Evidence) -> Iterator[Block]:
    study = evidence["populations"]
    yield _ranks(study)
    yield _distributions(study)
    yield _times(study)


def _ranks(study: StudyEvidence) -> Figure:
    """Fig. 2, left: a single run of each setting."""
    found = completions(study)
    with canvas(2, height=2.9) as drawing:
        for panel, stay in zip(drawing.panels, PAPER_STAYS, strict=True):
            for swarm, look in LOOKS.items():
                point = at(study, swarm, stay)
                if point is None or not point.good_runs:
                    continue
                one = found[point.good_runs[0].run]
                ranks = np.arange(1, len(one.duration_s) + 1)
                panel.plot(
                    ranks, one.duration_s, color=look.color, marker=look.marker, markersize=3,
                    linestyle="none", label=swarm,
                )  # fmt: skip
                panel.axvspan(0, one.discarded + 0.5, color="#ececec", linewidth=0, zorder=0)
            panel.set_title(stay)
            panel.set_xlabel("rank of completion")
            panel.set_xlim(0, None)
            panel.set_ylim(0, None)
        drawing.panels[0].set_ylabel("completion time (s)")
        key(drawing)
        svg = drawing.svg()
    caption = (
        "Fig. 2, left: time from arrival to completion in the order of completion. A single run "
        "(the first repeat) for each setting, as in the paper: a sample. The grey part is the "
        "transient, which counts nowhere else."
    )
    return Figure("completion-rank", svg, caption, "Completion time by rank, one run a setting")


def _distributions(study: StudyEvidence) -> Figure:
    """Fig. 2, middle."""
    counts: list[int] = []
    with canvas(2, height=2.9, sharex=False) as drawing:
        for panel, stay in zip(drawing.panels, PAPER_STAYS, strict=True):
            for swarm, look in LOOKS.items():
                point = at(study, swarm, stay)
                if point is not None:
                    counts.append(len(point.good_runs))
                    _cdf(panel, kept(study, point), look, swarm)
            panel.set_title(stay)
            panel.set_xlabel("completion time (s)")
            panel.set_ylim(0, 1.03)
            per_cent(panel)
        drawing.panels[0].set_ylabel("share of downloads")
        key(drawing)
        svg = drawing.svg()
    caption = (
        "Fig. 2, middle: distribution of the completion times, the second half of the completions "
        f"of all runs of a setting together, {_n(counts)}. The two abscissae differ."
    )
    return Figure("completion-cdf", svg, caption, "Distribution of completion times")


def _cdf(panel, values: np.ndarray, look, label: str) -> None:
    if len(values):
        share = np.linspace(0, 1, 101)
        panel.plot(
            np.quantile(values, share), share, color=look.color, linestyle=look.dashes,
            marker=look.marker, markevery=0.17, label=label,
        )  # fmt: skip


def _times(study: StudyEvidence) -> Table:
    """Mean completion time of each setting with its interval and quartiles."""
    measure = quantities.completion_time(study)
    rows: list[columns.Row] = []
    for stay in STAYS:
        for swarm in SWARMS:
            point = at(study, swarm, stay)
            mean = None if point is None else measure.at(point)
            if point is None or mean is None:
                continue
            base = at(study, "TCP", stay)
            change = measure.change(point, base) if base and base is not point else None
            low, middle, high = np.quantile(kept(study, point), (0.25, 0.5, 0.75))
            rows.append(
                [
                    stay, swarm, wording.runs(mean.n),
                    mean,
                    "–" if change is None else Cell(*wording.change(change)),
                    f"{low:.0f} / {middle:.0f} / {high:.0f}",
                ]
            )  # fmt: skip
    return columns.table(
        ["", "swarm", "runs", "mean (s)", "against all TCP", "quartiles (s)"],
        rows,
        "Completion time: means over runs with 95 % intervals, changes in pairs of runs that share "
        "a seed; quartiles of all downloads together. The authors' later texts show about 29 to "
        "30 s at best where seeds never leave, a mean of 157 s where they stay a random time, and "
        "of 220 s where they leave at once.",
        frozenset({0, 1}),
    )


def _queues(evidence: Evidence) -> Iterator[Block]:
    study = evidence["populations"]
    counts: list[int] = []
    with canvas(2, height=3.2) as drawing:
        for panel, stay in zip(drawing.panels, PAPER_STAYS, strict=True):
            for swarm, look in LOOKS.items():
                point = at(study, swarm, stay)
                if point is None:
                    continue
                counts.append(len(point.good_runs))
                line = queues.above(study, point)
                panel.plot(
                    line.packets, line.share, color=look.color, linestyle=look.dashes,
                    drawstyle="steps-post", label=swarm,
                )  # fmt: skip
            _queue_axes(panel, stay)
        drawing.panels[0].set_ylabel("samples with a longer queue")
        key(drawing)
        svg = drawing.svg()
    caption = (
        "Fig. 2, right: share of the samples of an uplink's queue that are longer than the "
        "abscissa, all uplinks of peers that are online sampled ten times a second, all runs of a "
        f"setting together, {_n(counts)}. The upper axis is the delay that full packets mean."
    )
    yield Figure("queues", svg, caption, "Uplink queues, complementary distribution")
    yield _queue_table(study)


def _queue_axes(panel, title: str) -> None:
    panel.set_title(title)
    panel.set_xlabel("packets in the uplink's queue")
    panel.set_yscale("log")
    panel.set_xlim(0, 205)
    panel.set_ylim(1e-4, 1.3)
    upper = panel.secondary_xaxis(
        "top", functions=(lambda x: x * PACKET_MS / 1e3, lambda x: x / PACKET_MS * 1e3)
    )
    upper.set_xlabel("delay of full packets (s)")


def _queue_table(study: StudyEvidence) -> Table:
    """Queue lengths of each setting, and of the two halves of the mix."""
    rows: list[columns.Row] = []
    for stay in STAYS:
        for swarm in SWARMS:
            point = at(study, swarm, stay)
            if point is None:
                continue
            for half, name in {"": "all", **HALVES}.items():
                if half and swarm != "50-50":
                    continue
                cells: columns.Row = [stay, swarm, name, wording.runs(len(point.good_runs))]
                for measure in (
                    queues.mean_length(study, half),
                    queues.longer(study, 3, half),
                    queues.longer(study, 100, half),
                    queues.longer(study, 100, half, online=False),
                ):
                    one = measure.at(point)
                    cells.append(one)
                rows.append(cells)
    return columns.table(
        [
            "", "swarm", "uplinks of", "runs", "mean (packets)", "above 3 packets (%)",
            "above 100 packets (%)",
            "above 100, all hosts (%)",
        ],
        rows,
        "Uplink queues of peers that are online, and in the last column of all hosts from start to "
        "end: means over runs with 95 % intervals. Three full packets are 36 ms, the first "
        "whole number above uTP's target of 25 ms; a hundred are 1.2 s.",
        frozenset({0, 1, 2}),
    )  # fmt: skip


def _halves(evidence: Evidence) -> Iterator[Block]:
    study = evidence["populations"]
    look = looks(2)
    counts: list[int] = []
    with canvas(2, height=2.9, sharex=False) as drawing:
        for panel, stay in zip(drawing.panels, PAPER_STAYS, strict=True):
            point = at(study, "50-50", stay)
            if point is None:
                continue
            counts.append(len(point.good_runs))
            for (half, name), one in zip(HALVES.items(), look, strict=True):
                _cdf(panel, kept(study, point, half), one, name)
            panel.set_title(stay)
            panel.set_xlabel("completion time (s)")
            panel.set_ylim(0, 1.03)
            per_cent(panel)
        drawing.panels[0].set_ylabel("share of downloads")
        key(drawing)
        svg = drawing.svg()
    caption = (
        "Fig. 3 (a): the swarm that is half TCP and half uTP, by what the downloading peer itself "
        f"uses for its uploads. All runs of a setting together, {_n(counts)}. The two abscissae "
        "differ."
    )
    yield Figure("halves", svg, caption, "Completion times of the two halves of the mixed swarm")
    points = [(stay, at(study, "50-50", stay)) for stay in STAYS]
    yield half_table(study, [(stay, point) for stay, point in points if point is not None], "")
    if "service" in evidence.studies:
        yield _service_table(evidence["service"])
    if "waits" in evidence.studies:
        yield _waits_table(evidence["waits"])


def _waits_table(study: StudyEvidence) -> Table:
    """How long requests and acknowledgements are on their way, by who sends them."""
    point = study.points.points[0]
    kinds = (waits.REQUEST, waits.ACKNOWLEDGEMENT)
    rows: list[columns.Row] = []
    for half, name in HALVES.items():
        found = [waits.transit(study, kind, half).at(point) for kind in kinds]
        rows.append([name, wording.runs(max((x.n for x in found if x), default=0)), *found])
    logged = study.results.study["measures"]["connections"]
    return columns.table(
        ["sent by", "runs", "a request (ms)", "an acknowledgement of a block (ms)"],
        rows,
        "How long small packets are on their way in the mixed swarm, seeds stay a random time: "
        f"from sending to arrival, those sent from {logged['from']} on. The lines alone take 26 ms "
        "on average; the rest is spent in queues. Means over runs with 95 % intervals.",
        frozenset({0}),
    )


def _service_table(study: StudyEvidence) -> Table:
    """What an unchoke brings, by who uploads and who downloads."""
    point = study.points.points[0]
    rows: list[columns.Row] = []
    for downloader, name in HALVES.items():
        found = [of(study, downloader).at(point) for of in (service.won, service.slots)]
        found += [service.rate(study, uploader, downloader).at(point) for uploader in HALVES]
        rows.append([name, wording.runs(max((x.n for x in found if x), default=0)), *found])
    return columns.table(
        [
            "downloads of",
            "runs",
            "unchokes won per minute",
            "held at a time",
            *(f"each brings, by {name} (kbit/s)" for name in HALVES.values()),
        ],
        rows,
        "Where the difference comes from, seeds stay a random time: how many unchokes a leecher "
        "wins and holds, and what an unchoke brings, by what the uploader uses. Means over runs "
        "with 95 % intervals.",
        frozenset({0}),
    )


def half_table(
    study: StudyEvidence,
    points: Sequence[tuple[str, Point]],
    heading: str,
    halves: Sequence[Mapping[str, str]] = (),
) -> Table:
    """Mean completion time of each half of the mix, and how far apart they are.

    Args:
        study: the results.
        points: the points with their words.
        heading: heading of these words.
        halves: the populations of the halves at each point, if not all of them.
    """
    rows: list[columns.Row] = []
    for (name, point), (first, second) in zip(
        points, halves or [HALVES] * len(points), strict=True
    ):
        difference = quantities.against(study, second, first).at(point)
        if difference is None:
            continue
        found = [quantities.completion_time(study, half).at(point) for half in (first, second)]
        part = quantities.part_of(study, second, first).at(point)
        rows.append(
            [
                name,
                wording.runs(difference.n),
                *found,
                Cell(*wording.change(difference)),
                part,
            ]
        )
    return columns.table(
        [heading, "runs", "TCP peers (s)", "uTP peers (s)", "uTP against TCP", "uTP's part (%)"],
        rows,
        "Mean completion time of the two halves, and by how much uTP's peers need longer (or, with "
        "a minus, less long) than TCP's of the same run; and which part of these completions are "
        "uTP's, half of the hosts. Means over runs with 95 % intervals.",
        frozenset({0}),
    )


def _buffers(evidence: Evidence) -> Iterator[Block]:
    study = evidence["buffers"]
    look = looks(2)
    points = study.points.points
    sizes = [_packets(study, point) for point in points]
    with canvas(1, height=3.2) as drawing:
        panel = drawing.panels[0]
        for (half, name), one in zip(HALVES.items(), look, strict=True):
            _quartiles(drawing, study, half, name, one)
        panel.set_xscale("log")
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.minorticks_off()
        panel.set_xlabel("buffer (packets)")
        panel.set_ylabel("completion time (s)")
        panel.set_ylim(0, 1.15 * _highest(study))
        panel.axvspan(9.4, 212, color="#f2f2f2", linewidth=0, zorder=0)
        panel.annotate(
            "the paper's range", (0.01, 0.02), xycoords=("data", "axes fraction"), color=QUIET,
            fontsize=8, xytext=(9.8, 0.02), textcoords=("data", "axes fraction"),
        )  # fmt: skip
        key(drawing)
        svg = drawing.svg()
    caption = (
        "Fig. 3 (b): completion time against the buffer at both ends of every access line; half "
        "TCP, half uTP, seeds stay a random time. Marks are means, bars reach from the first to "
        f"the third quartile, all downloads of a half together; {study.points.count()} per point. "
        "The ordinate is that of the paper's range; what is above it stands in the table."
    )
    yield Figure("buffers", svg, caption, "Completion time of both halves against the buffer")
    named = [(f"{size} packets", p) for size, p in zip(sizes, points, strict=True)]
    yield half_table(study, named, "buffer")


def _quartiles(
    drawing: Canvas, study: StudyEvidence, half: str, name: str, look: SeriesStyle
) -> None:
    panel = drawing.panels[0]
    xs, means = [], []
    for point in study.points.points:
        values = kept(study, point, half)
        if not len(values):
            continue
        x = _packets(study, point)
        low, high = np.quantile(values, (0.25, 0.75))
        panel.vlines(
            x, low, high, color=look.color, linewidth=5.0 if half == "first" else 2.2, alpha=0.6
        )
        xs.append(x)
        means.append(float(values.mean()))
        (mark,) = panel.plot(
            [x], [means[-1]], color=look.color, marker=look.marker, markersize=6, zorder=4
        )
        drawing.tip(mark, f"{point.label}, {name}: mean {means[-1]:.0f} s, {low:.0f} to {high:.0f}")
    panel.plot(xs, means, color=look.color, linestyle=look.dashes, marker=look.marker, label=name)


def _highest(study: StudyEvidence) -> float:
    """The highest third quartile of either half from the paper's smallest buffer upwards."""
    ends = [
        float(np.quantile(values, 0.75))
        for point in study.points.points
        if _packets(study, point) >= _SMALLEST
        for half in HALVES
        if len(values := kept(study, point, half))
    ]
    return max(ends, default=1.0)


def _packets(study: StudyEvidence, point: Point) -> int:
    return int(str(study.value(point, "first.access.up_queue")).split()[0])


def _conclusions(evidence: Evidence) -> Iterator[Block]:
    yield Text(
        "One thing at a time is changed that the paper does not state, or that its simulator left "
        "out, and each of its conclusions is put to the same test again. A conclusion survives "
        "where its cell says reproduced."
    )
    yield conclusions.table(evidence)


def _access(evidence: Evidence) -> Iterator[Block]:
    study = evidence["access"]
    yield Text(
        "The conclusion of the paper asks for access lines of different capacity. Here half of "
        "the peers of each half have 0.5/4 Mbit/s and the others 1.5/12 Mbit/s, against 1/8 "
        "Mbit/s for all; seeds stay a random time."
    )
    yield from _swarms_table(study, LINES, "access lines")
    mixed = [(name, _one(study, "50-50", where)) for name, where in LINES.items()]
    found = [(name, point) for name, point in mixed if point is not None]
    yield half_table(study, found, "50-50, access lines")
    for _, point in found[1:]:
        yield half_table(
            study,
            [("peers with 0.5/4 Mbit/s", point), ("peers with 1.5/12 Mbit/s", point)],
            "50-50, mixed lines",
            [{f"{half}-{kind}": name for half, name in HALVES.items()} for kind in _KINDS],
        )


def _background(evidence: Evidence) -> Iterator[Block]:
    study = evidence["background"]
    yield Text(
        "The other scenario that the conclusion asks for. Beside the swarm, every host (or every "
        "second one) sends something else over TCP to a server on the Internet, from the start to "
        "the end of the run; seeds stay a random time."
    )
    yield from _swarms_table(study, BACKGROUND, "also sent")
    mixed = [(name, _one(study, "50-50", where)) for name, where in BACKGROUND.items()]
    found = [(name, point) for name, point in mixed if point is not None]
    yield half_table(study, found, "50-50, also sent")
    yield _goodput_table(study, found)


def _one(study: StudyEvidence, swarm: str, where: Where) -> Point | None:
    return study.one({**data(study, swarm), **where})


def _swarms_table(
    study: StudyEvidence, levels: Mapping[str, Where], heading: str
) -> Iterator[Table]:
    """Mean completion time of the three swarms at each level, and changes against all TCP.

    Nothing if all TCP was not run, as in quick mode.
    """
    measure = quantities.completion_time(study)
    rows: list[list[str | Cell]] = []
    for name, where in levels.items():
        base = _one(study, "TCP", where)
        if base is None:
            continue
        row: list[str | Cell] = [name]
        for swarm in SWARMS:
            point = _one(study, swarm, where)
            mean = None if point is None else measure.at(point)
            if point is None or mean is None:
                row.append("–")
                continue
            change = measure.change(point, base) if base is not point else None
            small = f"{wording.interval(mean)}, {wording.runs(mean.n)}"
            if change is not None:
                text, interval = wording.change(change)
                small += f"\n{text} {interval.rpartition(', n')[0]} against all TCP"
            row.append(Cell(wording.mean(mean), small))
        rows.append(row)
    if rows:
        yield Table(
            [heading, *(f"{swarm} (s)" for swarm in SWARMS)],
            rows,
            "Mean completion time: means over runs with 95 % intervals, and the change against "
            "the swarm that is all TCP, in pairs of runs that share a seed.",
            frozenset({0}),
        )


def _goodput_table(study: StudyEvidence, points: Sequence[tuple[str, Point]]) -> Table:
    """What the other traffic gets beside a swarm peer that uploads over TCP or over uTP."""
    rows: list[columns.Row] = []
    measures = [quantities.background_goodput(study, half) for half in HALVES]
    for name, point in points:
        found = [measure.at(point) for measure in measures]
        if any(one is not None for one in found):
            rows.append(
                [
                    name,
                    wording.runs(max(one.n for one in found if one is not None)),
                    *found,
                ]
            )
    return columns.table(
        ["50-50, also sent", "runs", *(f"beside {name} (kbit/s)" for name in HALVES.values())],
        rows,
        "Goodput of the other traffic of a host in the mixed swarm, by what the swarm's peer on "
        "that host uploads over: mean over hosts and runs with 95 % intervals.",
        frozenset({0}),
    )


def _n(counts: Sequence[int]) -> str:
    least, most = min(counts, default=0), max(counts, default=0)
    return f"n = {least} runs" if least == most else f"n = {least} to {most} runs"


FIGURES: dict[str, Draw] = {
    "completion": _completion,
    "queues": _queues,
    "halves": _halves,
    "buffers": _buffers,
    "windows": windows.draw,
    "conclusions": _conclusions,
    "access": _access,
    "background": _background,
}
