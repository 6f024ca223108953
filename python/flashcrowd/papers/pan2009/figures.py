"""The paper's figures, each as the paper has it, from our runs; and what its questions give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from flashcrowd.base.units import Rate
from flashcrowd.drawing.blocks import Block, Cell, Table, Text
from flashcrowd.papers import curves, listing
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence, Where
from flashcrowd.papers.pan2009 import hidden, quantities, rules, survives, today
from flashcrowd.papers.pan2009.drawings import bars, histograms
from flashcrowd.papers.pan2009.words import LIMITERS, LINES, case, described, limiter, stretch
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.plots import Curve, Panel, against
from flashcrowd.report import columns, wording
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import estimate

UP, DOWN = {"way": "up"}, {"way": "down"}
SETTLED = {"from_s": 20}

#: The queue in which flows take turns, and nothing is dropped.
TURNS = {"kind": "fq-codel", "target": "1000 s", "interval": "1000 s"}

#: What the eight lines do without uploads and without a limit, by the settings that select it.
UNLIMITED: Mapping[str, Where] = {
    "nothing uploaded": {"upload": "0 B/s", "home.stack": "xp", "up_queue": "100 packets"},
    "no limit": {"upload": "unlimited", "home.stack": "xp", "up_queue": "100 packets"},
    "no limit, twice as many acknowledgements": {"upload": "unlimited", "home.stack": "xp-each"},
    "no limit, acknowledgements overtake": {"upload": "unlimited", "up_queue": TURNS},
}


#: The client whose limit is controlled, in the series ``upload-limit``.
LIMITED = "home-1 shared"

#: The eight lines with controllers.
CONTROLLED: Mapping[str, Where] = {
    "no limit": {"upload_control": "unlimited"},
    "Auto-Speed until 3.0.3": {"upload_control": "auto-speed-v1"},
    "Auto-Speed since 3.0.4": {"upload_control": "auto-speed-v2"},
    "AIMD": {"upload_control": {"name": "adaptive-drc-aimd", "probe_period": "5 s"}},
    "MIMD": {"upload_control": {"name": "adaptive-drc-mimd", "probe_period": "5 s"}},
    "autolimit": {"upload_control": "autolimit"},
}

#: BiglyBT where programs run: by itself, and with each Auto-Speed that it has.
PROGRAMS: Mapping[str, Where] = {
    "no limit": {"upload_control": "none"},
    "Auto-Speed V1": {"upload_control": {"name": "auto-speed-v1", "reflector": "reflector"}},
    "Auto-Speed V2": {"upload_control": {"name": "auto-speed-v2", "reflector": "reflector"}},
}

#: Other readings of what the paper leaves open about its rules.
READINGS: Mapping[str, Where] = {
    "AIMD": CONTROLLED["AIMD"],
    "a ping every second": {"upload_control": "adaptive-drc-aimd"},
    "+ 1 kbit/s": {
        "upload_control": {
            "name": "adaptive-drc-aimd",
            "probe_period": "5 s",
            "step": "1 kbit/s",
        }
    },
    "MIMD": CONTROLLED["MIMD"],
    "MIMD, a ping every second": {"upload_control": "adaptive-drc-mimd"},
}


def _limits(evidence: Evidence) -> Iterator[Block]:
    study = evidence["limits"]
    panels = []
    for up, unit, factor, title in (
        ("125 kbit/s", "kbit/s", 1.0, "read in kbit/s: 1 Mbit/s down"),
        ("1 Mbit/s", "kB/s", 8.0, "read in kB/s: 8 Mbit/s down"),
    ):
        points = [
            (Rate(str(study.value(point, "upload"))).bps / 1e3 / factor, point)
            for point in study.select({"access.up": up})
            if study.value(point, "upload") != "unlimited"
        ]
        lines = [
            _curve(study, points, label, {**way, **SETTLED}, 1 / factor)
            for label, way in (("download", DOWN), ("upload", UP))
        ]
        marks = ((900.0, "900"), (200.0, "200"))
        panels.append(Panel(title, f"upload limit ({unit})", f"rate ({unit})", lines, marks))
    yield against(
        panels, "upload-limit",
        "The first figure: download and upload on the line against the client's upload limit, with "
        f"the uplink's 125 read in both units; {study.points.count()} per point, 95 % intervals "
        "shaded. Dashed: what the paper gives before and after the fall.",
    )  # fmt: skip
    yield _listing(study, [{**DOWN, **SETTLED}, {**UP, **SETTLED}], folded=True)


def _curve(
    study: StudyEvidence,
    points: Sequence[tuple[float, Point]],
    label: str,
    given: Given,
    factor: float,
) -> Curve:
    measure = quantities.rate(study, given)
    found = [(x, one) for x, point in points if (one := measure.at(point)) is not None]
    return Curve(label, [x for x, _ in found], [one.scaled(factor) for _, one in found])


def _ramp(evidence: Evidence) -> Iterator[Block]:
    yield from _rising(evidence["ramp"], "rising-limit")


def _limiter(evidence: Evidence) -> Iterator[Block]:
    study = evidence["ramp-biglybt"]
    yield from _rising(study, "rising-limit-biglybt")
    names = (("onset", {}), ("onset", {"share": 0.5}), ("together", {"with": "rtt"}))
    yield listing.listing(
        study, [quantities.MEASURES[it](study, given) for it, given in names], described
    )


def _rising(study: StudyEvidence, slug: str) -> Iterator[Block]:
    climbs = quantities.climbs(study)
    download, delay, rows = [], [], []
    for point in study.points.points:
        runs = [np.array(climbs[run.run]) for run in point.good_runs if run.run in climbs]
        if not runs:
            continue
        steps = np.array(runs)  # runs × steps × columns
        limits = steps[0, :, 0].tolist()
        of = [[estimate(steps[:, i, column]) for i in range(len(limits))] for column in range(5)]
        name = limiter(study, str(study.value(point, "profile")))
        download.append(Curve(name, limits, [one.scaled(1e-3) for one in of[2]]))
        delay.append(Curve(name, [one.mean for one in of[1]], of[3]))
        rows += [
            [name, f"{limit:g}", *(column[i] for column in of[1:])]
            for i, limit in enumerate(limits)
        ]
    yield against(
        [
            Panel("Figure 2", "upload limit (kbit/s)", "download (Mbit/s)", download),
            Panel("Figure 3", "upload (kbit/s)", "RTT (ms)", delay, ((506.0, "506 at 1000"),)),
        ],
        slug,
        "A limit that rises by 40 kbit/s every 10 s, up to the uplink’s 1000: download against the "
        "limit, RTT against the upload that passes the line. Means over the last eight seconds of "
        f"each step and over runs ({study.points.count()} per curve), 95 % intervals shaded. "
        "Dashed: the mean of Figure 4.",
    )
    yield columns.table(
        [
            "client", "limit (kbit/s)", "upload (kbit/s)", "download (kbit/s)", "RTT (ms)",
            "deviation (ms)",
        ],
        rows,
        "The same in numbers: means over runs with 95 % intervals.",
        frozenset({0}),
        folded=True,
    )  # fmt: skip


def _rtts(evidence: Evidence) -> Iterator[Block]:
    study = evidence["rtts"]
    seen = quantities.round_trips(study, SETTLED)
    panels = []
    for profile in LIMITERS:
        series = []
        for limit in ("400 kbit/s", "1000 kbit/s"):
            point = study.one({"profile": profile, "upload": limit})
            pings = [seen[run.run] for run in point.good_runs if run.run in seen] if point else []
            if pings:
                series.append((f"limit {limit}", np.concatenate(pings)))
        if series:
            panels.append((limiter(study, profile), series))
    if panels:  # every run of real programs may have been invalid
        yield histograms(
            panels, "round-trip-times",
            "Figure 4: how often a ping took how long, in bins of 10 ms, at two upload limits; all "
            f"pings of a run, {study.points.count()} of each together. The paper gives means of "
            "204 and 506 ms, and deviations of 13 and 65 ms.",
        )  # fmt: skip
    names = ("rtt", "rtt-deviation", "rtt-lean", "loss")
    measures = [quantities.MEASURES[name](study, SETTLED) for name in names]
    alarms = quantities.alarms(study, {**SETTLED, "k": 10, "idle": {"upload": "0 B/s"}})
    yield listing.listing(study, [*measures, alarms], described)


def _causes(evidence: Evidence) -> Iterator[Block]:
    study = evidence["causes"]
    rate, rtt = quantities.rate(study, {**DOWN, **SETTLED}), quantities.rtt(study, SETTLED)
    loss = quantities.loss(study, {})
    yield Text(
        "The line of Figures 2 to 4 with nothing uploaded and without a limit, and one thing "
        "changed at a time. If the delay of acknowledgements is what costs the download, it must "
        "fall where nothing is dropped, and where the delay is there without any upload; and it "
        "must not fall where acknowledgements overtake, nor where the window is large enough."
    )
    rows: list[columns.Row] = []
    for point in study.select({"upload": "unlimited"}):
        base = study.partner(point, {"upload": "0 B/s"})
        if base is None:
            continue
        changed = rate.change(point, base)
        rows.append(
            [
                case(study, point),
                rate.at(base),
                rate.at(point),
                "–" if changed is None else Cell(*wording.change(changed)),
                rtt.at(point),
                loss.at(point),
            ]
        )
    yield columns.table(
        [
            "", "download without uploads (kbit/s)", "with uploads (kbit/s)", "change",
            "RTT with uploads (ms)", "packets dropped (%)",
        ],
        rows,
        "No upload limit. Means over runs with 95 % intervals. No room for a queue: a buffer of "
        "five packets. Acknowledgements overtake: flows take turns, and nothing is dropped. A "
        "window that is large enough: 256 KiB for the download, whose own queue then makes the "
        "RTT.",
        frozenset({0}),
    )  # fmt: skip


def _transports(evidence: Evidence) -> Iterator[Block]:
    yield Text(
        "LEDBAT reacts to the delay of the way forth only, which the receiver measures. BBR "
        "goes by the bandwidth and the shortest round trip. Reno has a window as large as theirs."
    )
    yield _listing(evidence["transports"], [{**DOWN, **SETTLED}], folded=False)


def _no_limit(evidence: Evidence) -> Iterator[Block]:
    study = evidence["no-limit"]
    yield _lines(
        study, UNLIMITED, "no-limit",
        "Figures 5 and 6, the bars without a limit, beside three others: what passes the line over "
        "its capacity, on the eight lines of Table I, "
        f"{study.points.count()} per bar, with 95 % intervals. {stretch(study)}.",
    )  # fmt: skip
    yield _lines_table(study, UNLIMITED)


def _controlled(evidence: Evidence) -> Iterator[Block]:
    study = evidence["lines"]
    yield _lines(
        study, CONTROLLED, "controllers",
        "Figures 5 and 6: what passes the line over its capacity on the eight lines of Table I, "
        f"{study.points.count()} per bar, with 95 % intervals. {stretch(study)}, all IP bytes.",
    )  # fmt: skip
    yield _lines_table(study, CONTROLLED)
    yield from _over_time(study)
    readings = {name: where for name, where in READINGS.items() if study.select(where)}
    if len(readings) > 2:
        yield Text(
            "The paper gives neither how often it pings nor the unit of “+ 1”. Above, a ping goes "
            "out every 5 s, as often as Azureus itself pings, and 1 is 1 KiB/s, the unit of the "
            "client's own limits; beside other readings:"
        )
        yield _lines(
            study, readings, "readings",
            "The same with other readings of the rules, "
            f"{study.points.count()} per bar, with 95 % intervals.",
        )  # fmt: skip
        yield _lines_table(study, readings)


def _programs(evidence: Evidence) -> Iterator[Block]:
    study = evidence["programs"]
    yield _lines(
        study, PROGRAMS, "programs",
        "What passes the line over its capacity on the eight lines of Table I. The client is "
        "BiglyBT where programs run, with the Auto-Speed that it has itself; "
        f"{study.points.count()} per bar, with 95 % intervals. {stretch(study)}, all IP bytes.",
    )  # fmt: skip
    yield _lines_table(study, PROGRAMS)


def _over_time(study: StudyEvidence) -> Iterator[Block]:
    """The limit on line 7 over time, the mean of all runs."""
    limits = curves.read(study, "upload-limit")
    panels = []
    for name in ("AIMD", "MIMD"):
        point = _on(study, 7, CONTROLLED[name])
        runs = point.good_runs if point else []
        found = [limits[run.run][LIMITED] for run in runs if LIMITED in limits.get(run.run, {})]
        if found:
            length = min(len(curve.value) for curve in found)
            values = np.array([curve.value[:length] for curve in found]) / 1e3
            mean = [estimate(values[:, i]) for i in range(length)]
            x = found[0].t_s[:length].tolist()
            panels.append(Panel(name, "time (s)", "limit (kbit/s)", [Curve("limit", x, mean)]))
    if panels:
        yield against(
            panels, "limits-over-time",
            "The limit on line 7 (8 Mbit/s down, 1 Mbit/s up) over time. Means over "
            "runs, 95 % intervals shaded.",
            marks=False,
        )  # fmt: skip


def _lines(study: StudyEvidence, ways: Mapping[str, Where], slug: str, caption: str) -> Block:
    """Bars of both utilisations on the eight lines."""
    panels = []
    for way, y in ((DOWN, "downlink utilisation (%)"), (UP, "uplink utilisation (%)")):
        measure = quantities.use(study, way)
        series = []
        for name, where in ways.items():
            points = [_on(study, number, where) for number in LINES]
            if any(points):
                series.append((name, [measure.at(p) if p else None for p in points]))
        panels.append((y, series))
    names = [str(number) for number in LINES]
    return bars(names, panels, slug, caption, x="network configuration (Table I)")


def _lines_table(study: StudyEvidence, ways: Mapping[str, Where]) -> Table:
    """Both utilisations and the delay on the eight lines."""
    measures = [quantities.use(study, DOWN), quantities.use(study, UP), quantities.rtt(study, {})]
    rows: list[columns.Row] = []
    for number, (down, up) in LINES.items():
        for name, where in ways.items():
            point = _on(study, number, where)
            if point is not None:
                found = [measure.at(point) for measure in measures]
                runs = wording.runs(len(point.good_runs))
                rows.append([f"{number}: {down} / {up}", name, runs, *found])
    return columns.table(
        ["line", "", "runs", "downlink (%)", "uplink (%)", "RTT (ms)"],
        rows,
        "Utilisation, and mean RTT of a ping: means over runs with 95 % intervals.",
        frozenset({0, 1}),
        folded=True,
    )


def _on(study: StudyEvidence, number: int, where: Where) -> Point | None:
    down, up = LINES[number]
    return study.one({**where, "access.down": down, "access.up": up})


def _listing(study: StudyEvidence, given: Sequence[Given], *, folded: bool) -> Table:
    measures = [quantities.rate(study, one) for one in given]
    measures += [quantities.rtt(study, SETTLED), quantities.loss(study, {})]
    return listing.listing(study, measures, described, folded=folded)


FIGURES: Mapping[str, Draw] = {
    "figure-0": _limits,
    "figures-2-3": _ramp,
    "limiter": _limiter,
    "figure-4": _rtts,
    "causes": _causes,
    "transports": _transports,
    "no-limit": _no_limit,
    "figures-5-6": _controlled,
    "programs": _programs,
    "survives": survives.draw,
    "rules": rules.draw,
    "hidden": hidden.draw,
    "today": today.draw,
}
