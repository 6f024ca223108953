"""The paper's figures and tables, each as the paper has it, from our runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flashcrowd.drawing.blocks import Block, Figure, Text
from flashcrowd.drawing.canvas import canvas, key, per_cent
from flashcrowd.drawing.style import looks
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.rao2010 import iplane, quantities
from flashcrowd.papers.tables import change_grid, level_grid, levels
from flashcrowd.report import source
from flashcrowd.report.charts import histograms
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.charts.means import Shown, draw, means
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate

ALIKE_20 = {"seed.upload": "20 KiB/s", "leechers.upload": "20 KiB/s"}
FAST_SEED = {"seed.upload": "50 KiB/s", "leechers.upload": "20 KiB/s"}


def _iplane(evidence: Evidence) -> Iterator[Block]:
    del evidence
    marks = (("rtt", 400.0, 0.98), ("rtt", 1000.0, 0.998), ("loss", 5.0, 0.95))
    titles = {"rtt": "round-trip time (ms)", "loss": "loss rate (%)"}
    look = looks(2)
    with canvas(2, height=2.6, sharex=False) as drawing:
        for panel, what in zip(drawing.panels, titles, strict=True):
            fractions, values = iplane.quantiles(what)
            panel.plot(values, fractions, color=look[0].color, label="shipped fit")
            for of, value, fraction in marks:
                if of == what:
                    panel.plot(
                        [value], [fraction], color=look[1].color, marker="s", linestyle="none",
                        label="percentiles that the paper quotes",
                    )  # fmt: skip
            panel.set_xlabel(titles[what])
            per_cent(panel)
        drawing.panels[0].set_xlim(0, 1100)
        drawing.panels[0].set_ylabel("share of links")
        drawing.panels[0].set_ylim(0, 1.03)
        key(drawing)
        svg = drawing.svg()
    caption = (
        "Distributions of round-trip time and loss rate that ship as “iplane”: fits through the "
        "three percentiles that the paper quotes of five iPlane samples. Files, not runs."
    )
    yield Figure("iplane", svg, caption, "Distributions of round-trip time and loss")


def _hosts(evidence: Evidence) -> Iterator[Block]:
    study = evidence["hosts"]
    measure = quantities.rtt_estimate(study)
    figure = means(measure, study.points, "rtt-estimate", along="leechers")
    if figure:
        yield figure
    yield levels(study, measure, relative_to={"hosts": 2})


def _payloads(evidence: Evidence) -> Iterator[Block]:
    study = evidence["loss"]
    rows = source.where(study.rows("payloads"), "population", "leechers")
    chosen = study.points.only(study.select({**ALIKE_20, "loss": "0 %"}))
    if not chosen.points:
        return  # real programs run other rates in quick mode
    frame = Frame(
        "payloads", "payload (bytes)", "share of segments",
        "Payload of the TCP segments of the leechers, upload limit 20 KB/s, no loss. All runs of "
        f"a point together, {chosen.count()} per line. The largest payload of a 1500-byte frame is "
        "1460 B, 1448 B with timestamps.",
        share=True, log=True, step=True, along="RTT",
    )  # fmt: skip
    figure = histograms.counted(rows, "bytes", chosen, frame)
    if figure:
        yield figure
    measures = [quantities.largest_payload(study), quantities.payload_above(study)]
    yield level_grid(study, measures, chosen.points)


def _completion(evidence: Evidence) -> Iterator[Block]:
    study = evidence["latency"]
    figure = means(study.download_time, study.points, "completion-rtt", along="RTT")
    if figure:
        yield figure
    change = Shown(
        "change in download time", "%", lambda point: _change(study, point),
        "Mean download time against that at 0 ms with the same upload limits, in pairs of runs "
        "that share a seed.",
        {15.0: "the paper’s bound, 15 %"},
    )  # fmt: skip
    figure = draw(change, study.points, "completion-change", along="RTT")
    if figure:
        yield figure
    yield change_grid(study, rows="RTT", columns="upload limit", against={"rtt": "0 ms"})


def _change(study: StudyEvidence, point: Point) -> Estimate | None:
    base = study.partner(point, {"rtt": "0 ms"})
    found = None if base is None else study.download_time.change(point, base)
    return None if found is None else found.scaled(100)


def _send_gaps(evidence: Evidence) -> Iterator[Block]:
    study = evidence["latency"]
    rows = source.where(study.rows("send_gaps"), "population", "leechers")
    chosen = study.points.only(study.select({"rtt": ["0 ms", "400 ms"]}))
    frame = Frame(
        "send-gaps", "time between sends (ms)", "share of sends",
        "Time between successive sends of a leecher to one peer. All runs of a point together, "
        f"{chosen.count()} per line; labels with two limits name the seed's and the leechers'.",
        share=True, log=True, step=True, along="upload limit", xlim=(5, 2000),
    )  # fmt: skip
    figure = histograms.counted(rows, "gap_ms", chosen, frame)
    if figure:
        yield figure
    measures = [
        quantities.median_gap(study),
        *(quantities.gaps_above(study, limit) for limit in (20.0, 120.0, 200.0)),
    ]
    yield level_grid(study, measures, chosen.points)


def _causes(evidence: Evidence) -> Iterator[Block]:
    study = evidence["causes"]
    yield Text(
        "Without ramp-up, TCP begins with a window of 200 segments and never takes it back when "
        "the application pauses. Without the idle class, a seed keeps a leecher whose next "
        "request is still on its way. What a long round-trip time still costs without a mechanism "
        "is not its work."
    )
    for client, stack, words in (
        ("as-is", "testbed", "the paper’s client and TCP"),
        ("as-is", "no-ramp-up", "without TCP’s ramp-up"),
        ("no-idle-class", "testbed", "without the seed’s idle class"),
        ("no-idle-class", "no-ramp-up", "without either"),
    ):
        yield change_grid(
            study, rows="RTT", columns="upload limit", against={"rtt": "0 ms"},
            where={"leechers.profile": client, "stack": stack}, what=words,
        )  # fmt: skip


def _pieces(evidence: Evidence) -> Iterator[Block]:
    study = evidence["latency"]
    rtts = ["0 ms", "400 ms", "1000 ms"]
    found = study.select({**ALIKE_20, "rtt": rtts}) + study.select({**FAST_SEED, "rtt": rtts})
    if not found:
        yield Text("It is about 20 KB/s, which was not run.")
        return
    chosen = study.points.only(sorted(found, key=lambda point: point.index))
    lines = quantities.progress(study, quantities.piece_count(study))

    def band(point: Point) -> Band | None:
        members = [lines[run.run] for run in point.runs if run.run in lines]
        if not members:
            return None
        grid = np.linspace(0, max(float(line.t_s[-1]) for line in members), 160)
        stack = np.vstack([np.interp(grid, line.t_s, line.pieces) for line in members])
        return Band(grid, stack.mean(axis=0), stack.min(axis=0), stack.max(axis=0))

    frame = Frame(
        "pieces", "time since the start of the run (s)", "pieces at a leecher",
        "Pieces available at a leecher, mean over all leechers. Lines are means over runs, bands "
        f"the range of the runs; {chosen.count()} per line.",
        along="RTT",
    )  # fmt: skip
    figure = line_figure(chosen, band, frame)
    if figure:
        yield figure


def _unchokes(evidence: Evidence) -> Iterator[Block]:
    study = evidence["unchokes"]
    measure = quantities.abrupt(study)
    figure = means(measure, study.points, "abrupt", along="RTT")
    if figure:
        yield figure
    counts = quantities.unchokes(study)
    yield level_grid(study, [*_counts(counts), measure], study.points.points)


def _counts(counts: quantities.Unchokes):
    from flashcrowd.report.measures import Measure

    ended = {run: float(value) for run, value in counts.ended.items()}
    ends = {run: float(value) for run, value in counts.abrupt.items()}
    yield Measure("unchokes by the seed", "a run", ended, "By the initial seed.")
    yield Measure("of these abrupt", "a run", ends, "")
    yield Measure("mean length", "s", counts.length_s, "")


def _couplings(evidence: Evidence) -> Iterator[Block]:
    study = evidence["couplings"]
    yield Text(
        "One rule of the client is switched off at a time, all upload limits at 20 KB/s. Changes "
        "are against 0 ms with the same client; what differs between the rows is the work of the "
        "rule."
    )
    yield change_grid(study, rows="client", columns="RTT", against={"rtt": "0 ms"})
    abrupt = quantities.abrupt(study)
    idle, gap = quantities.seed_idle(study), quantities.median_gap(study)
    yield level_grid(study, [abrupt, idle, gap], study.points.points)


def _systems(evidence: Evidence) -> Iterator[Block]:
    study = evidence["systems"]
    yield Text(
        "Rows name the delay of the loopback and of the Ethernet device at each crossing; a "
        "round trip has four crossings, so that 25 / 100 ms is a round-trip time of 100 ms "
        "inside a system and 400 ms between systems. A single value is the homogeneous case."
    )
    none = {"second.devices.loopback": "0 ms", "second.devices.ethernet": "0 ms"}
    yield change_grid(study, rows="loopback / Ethernet delay", columns="upload limit", against=none)


def _loss(evidence: Evidence) -> Iterator[Block]:
    study = evidence["loss"]
    for tso, words in (("0 B", "without TSO"), ("64 KiB", "with TSO")):
        if not study.select({"tso": tso}):
            yield Text(f"No run {words}.")
            continue
        for loss in ("0 %", "5 %"):
            yield change_grid(
                study, rows="RTT", columns="upload limit",
                against={"rtt": "0 ms", "loss": "0 %"},
                where={"tso": tso, "loss": loss}, what=f"{words}, loss {loss}",
            )  # fmt: skip
    if not study.select({"tso": "64 KiB"}):
        return
    yield change_grid(
        study, rows="RTT", columns="upload limit", against={"tso": "0 B"},
        where={"tso": "64 KiB", "loss": "5 %"}, what="TSO on against TSO off, loss 5 %",
    )  # fmt: skip


def _windows(evidence: Evidence) -> Iterator[Block]:
    study = evidence["windows"]
    measures = [quantities.window_reduced(study), quantities.window_regained(study)]
    yield level_grid(study, measures, study.points.points)


def _utp(evidence: Evidence) -> Iterator[Block]:
    study = evidence["utp"]
    none = {"rtt": "0 ms", "loss": "0 %"}
    for transport, words in (("inherit", "over TCP"), ("libutp", "over libutp")):
        yield change_grid(
            study, rows="RTT / loss", columns="upload limit", against=none,
            where={"leechers.transport": transport}, what=words,
        )  # fmt: skip
    alone = evidence["ramp-up"]
    yield level_grid(alone, [quantities.transfer_time(alone)], alone.points.points)


def _busy(evidence: Evidence) -> Iterator[Block]:
    study = evidence["busy"]
    yield change_grid(study, rows="client", columns="RTT", against={"rtt": "0 ms"})
    measures = [quantities.largest_payload(study), quantities.payload_above(study)]
    yield level_grid(study, measures, study.points.points)


def _internet(evidence: Evidence) -> Iterator[Block]:
    study = evidence["internet"]
    yield Text(
        "Each pair of hosts draws its own round-trip time and loss, or has neither. This is the "
        "paper's conclusion put to the test directly."
    )
    yield from _plain(study)


def _plain(study: StudyEvidence) -> Iterator[Block]:
    axis = study.axis("rtt").name
    yield change_grid(study, rows=axis, columns="upload limit", against={"rtt": "0 ms"})


FIGURES: dict[str, Draw] = {
    "iplane": _iplane,
    "hosts": _hosts,
    "payloads": _payloads,
    "completion": _completion,
    "send-gaps": _send_gaps,
    "causes": _causes,
    "pieces": _pieces,
    "unchokes": _unchokes,
    "couplings": _couplings,
    "systems": _systems,
    "loss": _loss,
    "windows": _windows,
    "utp": _utp,
    "internet": _internet,
    "busy": _busy,
}
