"""Numbers of a run that this paper speaks of, one a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flashcrowd.base.units import Rate, Size
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.papers.testa2011.downloads import completions
from flashcrowd.report import source
from flashcrowd.report.measures import Measure
from flashcrowd.report.source import by_run

_KEPT = "Of the second half of a run's completions; the first half is discarded as the paper does."

#: Where completion times have come to in the end: this many completions, or all if there are fewer.
_LAST = 10


def completion_time(study: StudyEvidence, who: str = "") -> Measure:
    """Mean time from arrival to completion, in seconds; `who` begins the populations' names."""
    found = {
        run: float(mine.mean())
        for run, one in completions(study).items()
        if len(mine := one.kept(who))
    }
    return Measure("mean completion time", "s", found, _KEPT)


def against(study: StudyEvidence, who: str = "second", other: str = "first") -> Measure:
    """How much longer some populations need than others of the same run, as a share."""
    mine, theirs = (completion_time(study, name).of_run for name in (who, other))
    found = {run: mine[run] / theirs[run] - 1 for run in mine if run in theirs}
    return Measure("uTP peers against TCP peers", "", found, _KEPT, least=-1.0)


def part_of(study: StudyEvidence, who: str = "second", other: str = "first") -> Measure:
    """Which part of the completions of two groups of populations the one makes, in per cent."""
    found = {}
    for run, one in completions(study).items():
        mine, theirs = len(one.kept(who)), len(one.kept(other))
        if mine + theirs:
            found[run] = 100 * mine / (mine + theirs)
    return Measure("uTP's part of the completions", "%", found, _KEPT, most=100.0)


def downlink_use(study: StudyEvidence) -> Measure:
    """How much of the downlink's rate the file's bytes fill in the last completions of a run."""
    size = Size(study.results.study["workloads"]["torrent"]["size"]).bytes
    rate = Rate("8 Mbit/s").bps
    found = {
        run: 100 * 8 * size / rate / float(one.duration_s[-_LAST:].mean())
        for run, one in completions(study).items()
    }
    note = f"Payload over what 8 Mbit/s would bring, mean of the last {_LAST} completions."
    return Measure("use of the downlink", "%", found, note, most=100.0)


def share_ratio(study: StudyEvidence) -> Measure:
    """Uploaded over downloaded bytes of the leechers that stayed their time and left."""
    rows = study.results.tables["downloads"]
    runs = source.integers(rows, "run")
    up, down = source.numbers(rows, "uploaded_bytes"), source.numbers(rows, "downloaded_bytes")
    gone = ~np.isnan(source.numbers(rows, "duration_s")) & ~np.isnan(source.numbers(rows, "left_s"))
    found = {run: float(up[who].sum() / down[who].sum()) for run, who in by_run(runs, gone)}
    return Measure(
        "uploaded over downloaded", "", found, "Of the peers that completed and left again."
    )


def seeds_a_leecher(study: StudyEvidence) -> Measure:
    """Seeds online for each leecher online, over the time in which the completions that count fall.

    The initial seed is one of them.
    """
    rows = study.results.tables["downloads"]
    runs = source.integers(rows, "run")
    came, done, left = (
        source.numbers(rows, name) for name in ("arrived_s", "completed_s", "left_s")
    )
    ends = _ends(study)
    found = {}
    for run, who in by_run(runs, np.ones(len(runs), dtype=bool)):
        finished = np.sort(done[who][~np.isnan(done[who])])
        begin, end = finished[len(finished) // 2], ends[run]
        stop = np.nan_to_num(left[who], nan=end)
        ready = np.nan_to_num(done[who], nan=end)
        seeding = _overlap(ready, stop, begin, end).sum() + (end - begin)
        leeching = _overlap(came[who], np.minimum(ready, stop), begin, end).sum()
        if leeching:
            found[run] = float(seeding / leeching)
    return Measure("seeds for each leecher", "", found, "Mean over the time that counts.")


def upload_rate(study: StudyEvidence, who: str) -> Measure:
    """What the peers of one half upload while they are online, in kbit/s."""
    rows = study.results.tables["downloads"]
    runs, came, left = (source.numbers(rows, name) for name in ("run", "arrived_s", "left_s"))
    sent, ends = source.numbers(rows, "uploaded_bytes"), _ends(study)
    until = np.array([ends[int(run)] for run in runs])
    online = np.where(np.isnan(left), until, left) - came
    mine = np.array([name.startswith(who) for name in source.strings(rows, "population")])
    found = {
        run: 8e-3 * float(sent[those].sum() / online[those].sum())
        for run, those in by_run(runs.astype(int), mine)
        if online[those].sum()
    }
    return Measure("upload of a peer", "kbit/s", found, "Blocks, over the time online.")


def background_goodput(study: StudyEvidence, half: str) -> Measure:
    """What the hosts of one half send beside the swarm, each, in kbit/s."""
    rows = study.results.tables["transfers"]
    runs, names = source.integers(rows, "run"), source.strings(rows, "transfer")
    goodput = source.numbers(rows, "goodput_bps") / 1e3
    mine = np.array([name.startswith(f"upload-{half}") for name in names], dtype=bool)
    measured = mine & ~np.isnan(goodput)
    found = {run: float(goodput[who].mean()) for run, who in by_run(runs, measured)}
    return Measure("goodput of the other traffic", "kbit/s", found, "Mean over hosts.")


def background_gain(study: StudyEvidence) -> Measure:
    """How much more the other traffic gets beside uTP peers than beside TCP's, as a share."""
    tcp, utp = (background_goodput(study, half).of_run for half in ("first", "second"))
    found = {run: utp[run] / tcp[run] - 1 for run in utp if tcp.get(run)}
    return Measure("beside uTP against beside TCP", "", found, "Mean over hosts.", least=-1.0)


def dropped(study: StudyEvidence) -> Measure:
    """Packets dropped by full queues, of a thousand sent."""
    rows = study.results.tables["runs"]
    runs = source.integers(rows, "run")
    lost, sent = (source.numbers(rows, name) for name in ("packets_dropped", "packets_sent"))
    found = {int(r): 1000 * float(a / s) for r, a, s in zip(runs, lost, sent, strict=True) if s}
    return Measure(
        "packets dropped", "in 1000", found, "By full queues, of all packets sent.", most=1e3
    )


def _ends(study: StudyEvidence) -> Mapping[int, float]:
    return {number: run.end_s for number, run in study.points.runs.items()}


def _overlap(start: np.ndarray, stop: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Seconds of each span [start, stop] inside [begin, end]."""
    return np.clip(np.minimum(stop, end) - np.maximum(start, begin), 0, None)
