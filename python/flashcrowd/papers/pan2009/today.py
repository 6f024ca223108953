"""The question that the paper leaves open: what a controller is still worth on lines of today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flashcrowd.drawing.blocks import Block, Table, Text
from flashcrowd.papers.evidence import Evidence, StudyEvidence, Where
from flashcrowd.papers.pan2009 import quantities
from flashcrowd.papers.pan2009.drawings import bars
from flashcrowd.papers.pan2009.words import control
from flashcrowd.report import columns, wording
from flashcrowd.report.points import Point

#: What the uploads go over, by the settings that select it.
UPLOADS: Mapping[str, Where] = {
    "CUBIC": {"network.stack": "linux-6", "external.transport": "inherit"},
    "BBR": {"network.stack": "bbr", "external.transport": "inherit"},
    "uTP": {"network.stack": "linux-6", "external.transport": "libtorrent"},
}

#: What the modem's queue is.
QUEUES: Mapping[str, Where] = {
    "200 ms": {"up_queue": "125 kB"},
    "1 s": {"up_queue": "625 kB"},
    "2 s": {"up_queue": "1250 kB"},
    "CoDel": {"up_queue": "codel"},
    "FQ-CoDel": {"up_queue": "fq-codel"},
    "CAKE": {"up_queue": {"kind": "cake", "bandwidth": "4750 kbit/s"}},
}

#: What counts: the time in which the download is under way.
_SETTLED = {"from_s": 30}


def draw(evidence: Evidence) -> Iterator[Block]:
    """The download in each case, and the numbers."""
    study = evidence["today"]
    download = quantities.use(study, {"way": "down", **_SETTLED})
    yield Text(
        "A cable line of 5/50 Mbit/s, an RTT of 30 ms, Linux of today with windows that grow, a "
        "client with libtorrent’s rules and its quota every half second. A seed uploads to ten "
        "others, from 20 s on one connection downloads, and a ping says what somebody else at home "
        "feels. What a controller can win at most is what lies between no limit and the best limit."
    )
    controls = _controls(study)
    queues = [name for name, where in QUEUES.items() if study.select(where)]
    panels = []
    for name, uploads in UPLOADS.items():
        series = []
        for says, where in controls.items():
            points = [study.one({**uploads, **QUEUES[queue], **where}) for queue in queues]
            if any(points):
                series.append((says, [download.at(p) if p else None for p in points]))
        if series:
            panels.append((f"{name}: download (%)", series))
    yield bars(
        queues, panels, "today",
        "What is left of a download while a seed uploads, by what the uploads go over and by the "
        "modem’s queue: share of the downlink’s 50 Mbit/s, "
        f"{study.points.count()} per bar, with 95 % intervals.",
        x="queue of the uplink",
    )  # fmt: skip
    yield _table(study, controls, queues)


def _controls(study: StudyEvidence) -> Mapping[str, Where]:
    """The ways to limit the upload that were run, in order, by what they are called."""
    found: dict[str, Where] = {}
    for point in study.points.points:
        says, where = control(study, point)
        found.setdefault(says, where)
    return found


def _table(study: StudyEvidence, controls: Mapping[str, Where], queues: list[str]) -> Table:
    """Download, upload and ping of each case."""
    measures = [
        quantities.use(study, {"way": "down", **_SETTLED}),
        quantities.use(study, {"way": "up", **_SETTLED}),
        quantities.rtt(study, _SETTLED),
        quantities.rtt_p95(study, _SETTLED),
    ]
    rows: list[columns.Row] = []
    for uploads, over in UPLOADS.items():
        for queue in queues:
            for says, where in controls.items():
                point: Point | None = study.one({**over, **QUEUES[queue], **where})
                found = [] if point is None else [measure.at(point) for measure in measures]
                if point is None or not any(found):
                    continue
                rows.append([uploads, queue, says, wording.runs(len(point.good_runs)), *found])
    return columns.table(
        [
            "uploads over", "queue", "upload", "runs", "downlink (%)", "uplink (%)",
            "mean ping (ms)", "p95 ping (ms)",
        ],
        rows,
        "Share of both capacities, and what a ping sees, over 50 s of the download: means over "
        "runs with 95 % intervals. The uplink also carries acknowledgements.",
        frozenset({0, 1, 2}),
        folded=True,
    )  # fmt: skip
