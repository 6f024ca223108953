"""The paper's figures, each as the paper has it, from our runs; and what it does not ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flashcrowd.drawing.blocks import Block, Table, Text
from flashcrowd.papers import listing
from flashcrowd.papers.circus2004 import others, recovery
from flashcrowd.papers.circus2004.quantities import measure
from flashcrowd.papers.circus2004.words import CIRCUS, POPULATIONS, described, exact, settings
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence, Where
from flashcrowd.papers.paper import Draw
from flashcrowd.papers.plots import Curve, Panel, against
from flashcrowd.report import columns
from flashcrowd.report.points import Point

#: The policies of every figure, in this order.
POLICIES = ("in order", "attach", CIRCUS, "relevance")

NETWORK, DISK, MISSES, TIME = (
    {"measure": name} for name in ("network", "disk", "miss-ratio", "time")
)

_LABELS = {
    "network": "network throughput (MB/s)",
    "disk": "disk throughput (MB/s)",
    "miss-ratio": "miss ratio (%)",
    "time": "download time (s)",
    "stretch": "download time over the line’s",
}
_NUMBERS = ("network", "disk", "miss-ratio", "disk-use")


def _curve(
    study: StudyEvidence, label: str, x: str, given: Given, where: Where, factor: float = 1.0
) -> Curve:
    """A measure against what the setting `x` is in words, at the points of `where`."""
    of = measure(study, given)
    found: dict[float, Point] = {
        float(settings(study, point)[x]): point for point in study.select(exact(study, where))
    }
    numbers = {at: one for at, point in sorted(found.items()) if (one := of.at(point)) is not None}
    return Curve(
        label,
        [factor * at for at in numbers],
        [one.scaled(0.01) if given["measure"] == "miss-ratio" else one for one in numbers.values()],
    )


def _panel(
    study: StudyEvidence,
    title: str,
    x: tuple[str, str],
    given: Given,
    where: Where | None = None,
    marks: Sequence[tuple[float, str]] = (),
    log: str = "",
) -> Panel:
    """A panel with a curve for each policy; `x` is a setting and the label of the abscissa."""
    names = dict.fromkeys(str(settings(study, point)["policy"]) for point in study.points.points)
    curves = [_curve(study, name, x[0], given, {**(where or {}), "policy": name}) for name in names]
    return Panel(title, x[1], _label(given), curves, marks, log)


def _label(given: Given) -> str:
    """What an ordinate is called."""
    over = f", {given['over']}" if "over" in given else ""
    return _LABELS[given["measure"]].replace(" (%)", "").replace(" time", f" time{over}")


def _listing(study: StudyEvidence, *more: Given) -> Table:
    measures = [measure(study, {"measure": name}) for name in _NUMBERS]
    measures += [measure(study, given) for given in more]
    return listing.listing(study, measures, described, folded=True)


def _over(*lines: str) -> list[Given]:
    return [{"measure": "time", "over": line} for line in lines]


_SHADED = "shaded: from the smallest to the largest run."

_RATIO = "A miss ratio of 1 is a byte read for each byte sent."

LOAD = ("load", "load (% of 1 Gbit/s)")
ALONE = {"T1": 2882.0, "10T": 445.0, "T3": 99.47}
"""What a line alone needs for 512 MB, in seconds: 1448 B in 1500 B."""


def _alone(line: str) -> tuple[tuple[float, str]]:
    return ((ALONE[line], ""),)


def _lines(study: StudyEvidence) -> list[str]:
    """The lines of a study's populations."""
    return [POPULATIONS[name] for name in study.results.study["workloads"]["origin"]["populations"]]


def _headline(evidence: Evidence) -> Iterator[Block]:
    study = evidence["mix"]
    lines = _lines(study)
    yield Text(
        f"Clients on lines of 1.5 (T1), 10 (10T) and 44.7 Mbit/s (T3), here {', '.join(lines)}, "
        "ask for one file, as many over each. Served in order, all wait for the disk. Clients that "
        "go around together (attach) spare it where all are equally fast, and where they are not "
        "the fast wait."
    )
    yield against(
        [
            _panel(study, line, LOAD, given, marks=_alone(line), log="y")
            for line, given in zip(lines, _over(*lines), strict=True)
        ],
        "headline",
        f"Download times of {len(lines)} kinds of clients before one server, "
        f"{study.points.count()} per point, {_SHADED} Dashed: what the line alone needs.",
        runs=True,
    )  # fmt: skip


def _throughputs(evidence: Evidence) -> Iterator[Block]:
    alone, mix = evidence["load"], evidence["mix"]
    for number, given in ((8, NETWORK), (9, DISK)):
        panels = [_panel(alone, line, LOAD, given, {"line": line}) for line in ALONE]
        panels.append(_panel(mix, f"{', '.join(_lines(mix))} mixed", LOAD, given))
        what = _LABELS[given["measure"]].partition(" (")[0]
        yield against(
            panels, f"figure-{number}",
            f"Figure {number}: {what} against load, by line: {alone.points.count()} per point, "
            f"{_SHADED}",
            rows=2,
        runs=True,
        )  # fmt: skip
    yield _listing(alone, TIME)
    yield _listing(mix, *_over(*_lines(mix)))


def _times(evidence: Evidence) -> Iterator[Block]:
    alone, mix = evidence["load"], evidence["mix"]
    panels = [_panel(alone, line, LOAD, TIME, {"line": line}, _alone(line), "y") for line in ALONE]
    panels += [
        _panel(mix, f"{line} in the mix", LOAD, given, None, _alone(line), "y")
        for line, given in zip(ALONE, _over(*ALONE), strict=True)
    ]
    yield against(
        panels, "figure-10",
        "Figure 10: download times against load: above, all clients have one line; below, T1, 10T "
        "and T3 before one server. Shaded: from the smallest to the largest run; dashed: what the "
        "line alone needs. "
        "Where the disk is the limit, a time is the longer the longer the crowd goes on: alone, T3 "
        "goes on for 1100 s and 10T for 1300 s, T1 and the mix for 3800 s.",
        rows=2,
        runs=True,
    )  # fmt: skip


def _two(
    evidence: Evidence, name: str, x: tuple[str, str], slug: str, caption: str, log: str = ""
) -> Iterator[Block]:
    study = evidence[name]
    yield against(
        [
            _panel(study, "network", x, NETWORK, log=log),
            _panel(study, "disk", x, DISK, log=log),
            _panel(study, "download time", x, TIME, log=f"{log}y"),
        ],
        slug,
        f"{caption} {study.points.count()} per point, {_SHADED}",
        runs=True,
    )
    yield _listing(study, TIME)


def _sizes(evidence: Evidence) -> Iterator[Block]:
    return _two(
        evidence, "sizes", ("size", "length of the file (MB)"), "figure-11",
        "Figure 11: T3 lines at a load of 40 %, by the length of the file. Memory is 128 MB.",
    )  # fmt: skip


def _files(evidence: Evidence) -> Iterator[Block]:
    yield from _two(
        evidence, "files", ("files", "files"), "figure-12",
        "Figure 12: 10T lines at a load of 40 %, by the number of files. Memory is 256 MB.", "x",
    )  # fmt: skip


def _network(evidence: Evidence) -> Iterator[Block]:
    study = evidence["network"]
    of = {
        "T1 (s)": {"measure": "time", "over": "T1"},
        "T3 (s)": {"measure": "time", "over": "T3"},
        "miss ratio (%)": MISSES,
        "disk (MB/s)": DISK,
    }
    yield Text(
        "T1 and T3 clients before one server. The paper says that 10 % of the packets were lost. "
        "With so many lost, TCP over 75 ms takes hours for a download; the ten-fold time that the "
        "paper gives is near what 0.1 % make. Both are simulated."
    )
    numbers = [measure(study, given) for given in of.values()]
    cases: dict[int, list[columns.Row]] = {}
    for point in study.points.points:
        at = settings(study, point)
        row = [_path(at), at["policy"], *(one.at(point) for one in numbers)]
        cases.setdefault(at["load"], []).append(row)
    for load, rows in sorted(cases.items()):
        yield columns.table(
            ["round-trip time, loss", "policy", *of],
            rows,
            f"Figure 13: a load of {load} %. Means over {study.points.count()} with 95 % "
            "intervals, times at full size.",
            frozenset({0, 1}),
        )
    if "recovery" in evidence.studies:
        alone = evidence["recovery"]
        numbers = [measure(alone, {"measure": name}) for name in recovery.MEASURES]
        rows = [
            [_path(settings(alone, point)), *(one.at(point) for one in numbers)]
            for point in alone.points.points
        ]
        yield columns.table(
            ["round-trip time, loss", *(f"{one.name} ({one.unit})" for one in numbers)],
            rows,
            "How one T3 connection recovers from losses, alone and without a disk. Means over "
            f"{alone.points.count()} with 95 % intervals.",
            frozenset({0}),
        )


def _path(at: Mapping[str, str]) -> str:
    """Round-trip time and loss in words."""
    return f"{at['rtt']}, " + ("no loss" if at["loss"] == "none" else f"{at['loss']} lost")


def _loads(study: StudyEvidence) -> list[int]:
    """The loads of a study, least first."""
    return sorted({settings(study, point)["load"] for point in study.points.points})


def _by_load(
    study: StudyEvidence, title: Callable[[int], str], x: tuple[str, str], given: Given, log: str
) -> list[Panel]:
    return [_panel(study, title(at), x, given, {"load": at}, log=log) for at in _loads(study)]


def _blocks(evidence: Evidence) -> Iterator[Block]:
    study = evidence["blocks"]
    x = ("block", "block (KB)")
    panels = _by_load(study, lambda at: f"network, load {at} %", x, NETWORK, "x")
    panels += _by_load(study, lambda at: f"miss ratio, load {at} %", x, MISSES, "x")
    yield against(
        panels, "figure-14",
        "Figure 14: 10T and T3 lines, by the size of a block, which is read and sent at once by "
        f"every policy. {_RATIO} {study.points.count()} per point, {_SHADED}",
        rows=2,
        runs=True,
    )  # fmt: skip
    yield _listing(study, *_over("10T", "T3"))


def _knob(
    study: StudyEvidence, knob: str, as_published: float, at: int
) -> Callable[[Given], list[Curve]]:
    """Circus against one of its settings, and the others as level lines."""
    values: dict[float, Point] = {}
    for point in study.select(exact(study, {"load": at})):
        name = settings(study, point)["policy"]
        if name == CIRCUS:
            values[as_published] = point
        elif name.startswith(f"{CIRCUS}, {knob} "):
            values[float(name.split()[2])] = point

    def curves(given: Given) -> list[Curve]:
        of = measure(study, given)
        factor = 0.01 if given["measure"] == "miss-ratio" else 1.0
        found = {x: one.scaled(factor) for x, p in sorted(values.items()) if (one := of.at(p))}
        drawn = []
        for name in POLICIES:
            if name == CIRCUS:
                drawn.append(Curve(name, list(found), list(found.values())))
                continue
            point = study.one(exact(study, {"load": at, "policy": name}))
            level = of.at(point) if point else None
            if level is not None and found:
                drawn.append(Curve(name, [min(found), max(found)], [level.scaled(factor)] * 2))
        return drawn

    return curves


def _knobs(
    study: StudyEvidence, knob: str, usual: float, label: str, given: Sequence[Given], log: str = ""
) -> list[Panel]:
    return [
        Panel(
            f"load {at} %", label,
            _label(each),
            _knob(study, knob, usual, at)(each), (),
            log + ("y" if each["measure"] == "time" else ""),
        )
        for each in given for at in _loads(study)
    ]  # fmt: skip


def _tuned(
    knob: str, usual: float, label: str, slug: str, caption: str, *, numbers: bool = False
) -> Draw:
    """Circus against one of its settings, in the study ``knobs``."""

    def drawn(evidence: Evidence) -> Iterator[Block]:
        study = evidence["knobs"]
        yield against(
            _knobs(study, knob, usual, label, [NETWORK, MISSES], "x"), slug,
            f"{caption} {_RATIO} {study.points.count().capitalize()} per point, {_SHADED}",
            rows=2, runs=True,
        )  # fmt: skip
        if numbers:
            yield _listing(study, *_over("10T", "T3"))

    return drawn


def _thresholds(evidence: Evidence) -> Iterator[Block]:
    study = evidence["thresholds"]
    yield against(
        _knobs(study, "threshold", 75, "threshold (% of the file)", [*_over("T3"), MISSES]),
        "figure-16",
        "Figure 16: T1 and T3 lines, by the part of the file that a client must have before it may "
        f"take what is outside the region. The other policies have no threshold. {_RATIO}",
        rows=2,
        runs=True,
    )  # fmt: skip
    yield _listing(study, *_over("T1", "T3"))


def _plain(name: str, *lines: str) -> Draw:
    def drawn(evidence: Evidence) -> Iterator[Block]:
        study = evidence[name]
        measures = [measure(study, {"measure": each}) for each in _NUMBERS]
        measures += [measure(study, given) for given in _over(*lines)]
        yield listing.listing(study, measures, described)

    return drawn


#: How each item of ``paper.toml`` is drawn.
FIGURES: Mapping[str, Draw] = {
    "headline": _headline,
    "figures-8-9": _throughputs,
    "figure-10": _times,
    "figure-11": _sizes,
    "figure-12": _files,
    "figure-13": _network,
    "figure-14": _blocks,
    "figure-15": _tuned(
        "queue", 5, "queue (blocks)", "figure-15",
        "Figure 15: 10T and T3 lines, by how many blocks are chosen for a client before its socket "
        "has room for them. The other policies have no such queue.",
    ),
    "figure-16": _thresholds,
    "figure-17": _tuned(
        "leapfront", 1, "leapfront factor", "figure-17",
        "Figure 17: 10T and T3 lines, by how far ahead of the region’s begin a block must be, in "
        "active lengths, for its client to move the region.", numbers=True,
    ),
    "others": others.drawn,
    "memory": _plain("memory", "10T"),
    "reads": _plain("reads", "10T", "T3"),
    "scale": _plain("scale", "10T", "T3"),
}  # fmt: skip
