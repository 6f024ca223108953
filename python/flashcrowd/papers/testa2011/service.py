"""Which half serves which: unchokes by the halves of the mixed swarm, and what they bring."""

from __future__ import annotations

import numpy as np

from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report import source
from flashcrowd.report.measures import Measure
from flashcrowd.report.source import by_run


def rate(study: StudyEvidence, uploader: str, downloader: str) -> Measure:
    """What an unchoke of a peer of one half by a peer of another brings, in kbit/s."""
    rows = study.results.tables["unchokes"]
    runs, seconds = source.integers(rows, "run"), _seconds(study)
    payload = source.numbers(rows, "bytes")
    by = source.strings(rows, "population") == uploader
    found = {
        run: 8e-3 * float(payload[who].sum() / seconds[who].sum())
        for run, who in by_run(runs, by & (_remotes(study) == downloader))
        if seconds[who].sum()
    }
    return Measure("rate of an unchoke", "kbit/s", found, "Payload over the time unchoked.")


def slots(study: StudyEvidence, half: str) -> Measure:
    """How many peers unchoke a leecher of one half at a time, on average."""
    rows = study.results.tables["unchokes"]
    runs, seconds = source.integers(rows, "run"), _seconds(study)
    leeching = _leeching(study, half)
    found = {
        run: float(seconds[who].sum()) / leeching[run]
        for run, who in by_run(runs, _remotes(study) == half)
        if leeching.get(run)
    }
    return Measure("unchokes held by a leecher", "", found, "Mean over the time as a leecher.")


def won(study: StudyEvidence, half: str) -> Measure:
    """How many unchokes a leecher of one half wins per minute."""
    rows = study.results.tables["unchokes"]
    leeching = _leeching(study, half)
    found = {
        run: 60 * len(who) / leeching[run]
        for run, who in by_run(source.integers(rows, "run"), _remotes(study) == half)
        if leeching.get(run)
    }
    return Measure("unchokes won by a leecher", "per min", found, "Per minute as a leecher.")


def won_apart(study: StudyEvidence) -> Measure:
    """How many more unchokes a leecher on uTP wins per minute than one on TCP, as a share."""
    tcp, utp = (won(study, half).of_run for half in ("first", "second"))
    found = {run: utp[run] / tcp[run] - 1 for run in utp if tcp.get(run)}
    name = "unchokes won by uTP leechers against TCP's"
    return Measure(name, "", found, "Per minute as a leecher.", least=-1.0)


def _seconds(study: StudyEvidence) -> np.ndarray:
    rows = study.results.tables["unchokes"]
    return source.numbers(rows, "end_s") - source.numbers(rows, "start_s")


def _remotes(study: StudyEvidence) -> np.ndarray:
    """Population of the unchoked peer of each unchoke."""
    peers = study.results.tables["downloads"]
    names = dict(
        zip(
            zip(source.integers(peers, "run"), source.integers(peers, "peer"), strict=True),
            source.strings(peers, "population"),
            strict=True,
        )
    )
    rows = study.results.tables["unchokes"]
    keys = zip(source.integers(rows, "run"), source.integers(rows, "remote"), strict=True)
    return np.array([names.get(key, "seed") for key in keys], dtype=object)


def _leeching(study: StudyEvidence, half: str) -> dict[int, float]:
    """Seconds that the peers of one half spent as leechers, by run."""
    rows = study.results.tables["downloads"]
    runs, came = source.integers(rows, "run"), source.numbers(rows, "arrived_s")
    ends = np.array([study.points.runs[int(run)].end_s for run in runs])
    until = np.nan_to_num(source.numbers(rows, "completed_s"), nan=np.inf)
    left = np.nan_to_num(source.numbers(rows, "left_s"), nan=np.inf)
    span = np.clip(np.minimum(np.minimum(until, left), ends) - came, 0, None)
    mine = source.strings(rows, "population") == half
    return {run: float(span[who].sum()) for run, who in by_run(runs, mine)}
