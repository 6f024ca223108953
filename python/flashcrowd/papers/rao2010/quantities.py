"""Numbers of a run that this paper speaks of, beyond download times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flashcrowd.base.units import Share
from flashcrowd.papers import repairs as losses
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.papers.repairs import Repair
from flashcrowd.report import source
from flashcrowd.report.measures import Measure

#: Largest TCP payload in an Ethernet frame of 1500 B without any TCP option.
LARGEST_PAYLOAD = 1460


@dataclass(frozen=True)
class Unchokes:
    """What became of the unchokes by the initial seed in each run.

    Attributes:
        ended: how many ended.
        abrupt: how many of these ended while the leecher's next request was on its way.
        length_s: their mean length in seconds.
    """

    ended: Mapping[int, int]
    abrupt: Mapping[int, int]
    length_s: Mapping[int, float]


def unchokes(study: StudyEvidence) -> Unchokes:
    """Unchokes by the initial seed, counted for each run; a run without any counts as zero."""
    rows = _seed_unchokes(study)
    runs = source.integers(rows, "run")
    idle = source.strings(rows, "cause") == "idle"
    length = source.numbers(rows, "end_s") - source.numbers(rows, "start_s")
    every = list(study.points.runs)
    return Unchokes(
        {run: int((runs == run).sum()) for run in every},
        {run: int(((runs == run) & idle).sum()) for run in every},
        {run: float(length[runs == run].mean()) for run in every if (runs == run).any()},
    )


def _seed_unchokes(study: StudyEvidence) -> pa.Table:
    """The rows of ``unchokes`` of population ``seed``; of a file, only these are read."""
    study.rows("unchokes")
    path = getattr(study.results.tables, "path", None)
    if path is not None:
        return pq.read_table(path("unchokes"), filters=[("population", "==", "seed")])
    return source.where(study.results.tables["unchokes"], "population", "seed")


def abrupt(study: StudyEvidence) -> Measure:
    """Share of the initial seed's unchokes that ended abruptly, in per cent."""
    counts = unchokes(study)
    shares = {run: 100 * counts.abrupt[run] / ended for run, ended in counts.ended.items() if ended}
    return Measure(
        "abrupt ends", "%", shares,
        "Share of the unchokes by the initial seed that a round of its choker ended while the "
        "leecher's next request was still on its way.",
        most=100.0,
    )  # fmt: skip


def gaps_above(study: StudyEvidence, limit_ms: float) -> Measure:
    """Share of the leechers' sends that came more than `limit_ms` after the one before."""
    shares = {
        run: 100 * float(counts[gaps >= limit_ms].sum() / counts.sum())
        for run, gaps, counts in _gaps(study)
    }
    note = "Time between successive sends of a leecher to one peer."
    return Measure(f"sends more than {limit_ms:g} ms apart", "%", shares, note, most=100.0)


def median_gap(study: StudyEvidence) -> Measure:
    """Median time between successive sends of a leecher to one peer, in milliseconds."""
    medians = {}
    for run, gaps, counts in _gaps(study):
        order = np.argsort(gaps)
        total = np.cumsum(counts[order])
        medians[run] = float(gaps[order][np.searchsorted(total, total[-1] / 2)])
    note = "Median over all sends of all leechers of a run, in bins of one millisecond."
    return Measure("median time between sends", "ms", medians, note)


def _gaps(study: StudyEvidence):
    rows = source.where(study.rows("send_gaps"), "population", "leechers")
    return _grouped(rows, "gap_ms")


def payload_above(study: StudyEvidence, limit: int = LARGEST_PAYLOAD) -> Measure:
    """Share of the segments whose payload is larger than a frame can carry, in per cent."""
    rows = study.rows("payloads")
    shares = {
        run: 100 * float(counts[sizes > limit].sum() / counts.sum())
        for run, sizes, counts in _grouped(rows, "bytes")
    }
    note = "Of all segments with payload."
    return Measure(f"segments of more than {limit} B", "%", shares, note, most=100.0)


def largest_payload(study: StudyEvidence) -> Measure:
    """The largest payload of a run, in bytes."""
    rows = study.rows("payloads")
    largest = {run: float(sizes.max()) for run, sizes, _ in _grouped(rows, "bytes")}
    return Measure("largest payload", "B", largest, "Of all segments of a run.")


def payloads_like_writes(study: StudyEvidence) -> Measure:
    """Share of the segments that carry exactly one of mainline's writes, in per cent.

    A PIECE message of 16397 B goes out as eleven writes of 1380 B and one of 1217 B.
    """
    rows = source.where(study.rows("payloads"), "population", "leechers")
    shares = {}
    for run, sizes, counts in _grouped(rows, "bytes"):
        data = sizes >= 1000
        single = np.isin(sizes, (1380, 1217))
        shares[run] = 100 * float(counts[single].sum() / max(1.0, counts[data].sum()))
    note = "Segments of 1380 or 1217 B among those of at least 1000 B."
    return Measure("segments that are one write", "%", shares, note, most=100.0)


def _grouped(rows: pa.Table, column: str):
    runs = source.integers(rows, "run")
    values, counts = source.numbers(rows, column), source.numbers(rows, "count")
    order = np.argsort(runs, kind="stable")
    distinct, starts = np.unique(runs[order], return_index=True)
    for run, members in zip(distinct, np.split(order, starts[1:]), strict=True):
        if counts[members].sum() > 0:
            yield int(run), values[members], counts[members]


def rtt_estimate(study: StudyEvidence) -> Measure:
    """TCP's smoothed round-trip time, sampled at each send of a leecher, in milliseconds."""
    rows = source.where(study.rows("rtts"), "population", "leechers")
    runs, mean = source.integers(rows, "run"), source.numbers(rows, "mean_s") * 1e3
    found = {int(r): float(m) for r, m in zip(runs, mean, strict=True) if not np.isnan(m)}
    note = "TCP's own round-trip time, mean over all sends of all leechers of a run."
    return Measure("TCP's RTT estimate", "ms", found, note)


def seed_idle(study: StudyEvidence) -> Measure:
    """Share of the time of its unchokes in which the initial seed waits for a request."""
    rows = _seed_unchokes(study)
    runs = source.integers(rows, "run")
    length = source.numbers(rows, "end_s") - source.numbers(rows, "start_s")
    idle = source.numbers(rows, "idle_s")
    found = {
        run: 100 * float(idle[those].sum() / in_all)
        for run, those in source.by_run(runs)
        if (in_all := length[those].sum()) > 0
    }
    note = "Of the time of the unchokes by the initial seed: that in which no request waited there."
    return Measure("idle time of unchokes", "%", found, note, most=100.0)


def repeats(study: StudyEvidence) -> Measure:
    """Packets sent again for each segment with payload that was lost."""
    rows = study.results.tables["runs"]
    runs, again = source.integers(rows, "run"), source.numbers(rows, "retransmitted_packets")
    rates = {run: Share(str(rate)).value for run, rate in study.of_runs("network.loss").items()}
    sent: dict[int, float] = {}
    for run, _, counts in _grouped(study.rows("payloads"), "bytes"):
        sent[run] = float(counts.sum())
    found = {
        int(run): float(number) / (rates[run] * sent[run])
        for run, number in zip(runs, again, strict=True)
        if run in sent and rates[run]
    }
    note = (
        "Of the segments with payload, the share that the study's loss rate takes counts as lost."
    )
    return Measure("packets sent again per lost segment", "", found, note)


def window_reduced(study: StudyEvidence) -> Measure:
    """The least window of the seed during a repair, in per cent of that before the loss."""
    found: dict[int, list[float]] = {}
    for run, repair in _repairs(study):
        if repair.before > 0 and not np.isnan(repair.least):
            found.setdefault(run, []).append(100 * repair.least / repair.before)
    means = {run: float(np.mean(values)) for run, values in found.items()}
    note = "The least until it has grown back, or the next repair begins, of that before the loss."
    return Measure("reduced window", "%", means, note)


def window_regained(study: StudyEvidence) -> Measure:
    """Share of the repairs after which the window grew back before the next one, in per cent."""
    found: dict[int, list[bool]] = {}
    for run, repair in _repairs(study):
        found.setdefault(run, []).append(repair.regained)
    shares = {run: 100 * float(np.mean(values)) for run, values in found.items()}
    note = "Of the repairs that another one followed, or the old window."
    return Measure("windows that grow back", "%", shares, note, most=100.0)


def _repairs(study: StudyEvidence) -> Iterator[tuple[int, Repair]]:
    for run, log in losses.logs(study):
        for repair in losses.repairs(log):
            yield run, repair


def transfer_time(study: StudyEvidence) -> Measure:
    """How long the transfer of a run took, in seconds."""
    rows = study.rows("transfers")
    runs, took = source.integers(rows, "run"), source.numbers(rows, "duration_s")
    found = {int(r): float(t) for r, t in zip(runs, took, strict=True) if not np.isnan(t)}
    return Measure("time of a transfer", "s", found, "From the first packet to the last byte.")


@dataclass(frozen=True)
class Progress:
    """Pieces that the leechers have over the time of one run, those who are done included."""

    t_s: np.ndarray
    pieces: np.ndarray


def progress(study: StudyEvidence, pieces: int) -> dict[int, Progress]:
    """Mean number of pieces at the leechers of each run.

    The table counts leechers that are not complete; the others have all of the `pieces`.
    """
    rows = source.where(study.results.tables["pieces"], "population", "leechers")
    runs = source.integers(rows, "run")
    t_s, mean, count = (source.numbers(rows, name) for name in ("t_s", "mean", "leechers"))
    found = {}
    for run in np.unique(runs):
        mine = np.flatnonzero(runs == run)
        mine = mine[np.argsort(t_s[mine], kind="stable")]
        crowd = float(count[mine].max()) or 1.0
        begun = np.maximum.accumulate(count[mine]) >= crowd
        done = np.where(begun, crowd - count[mine], 0.0)
        held = (mean[mine] * count[mine] + pieces * done) / crowd
        found[int(run)] = Progress(t_s[mine], held)
    return found


def distance(one: Progress, other: Progress) -> float:
    """Mean distance of two curves, until both runs are over."""
    end_s = max(float(one.t_s[-1]), float(other.t_s[-1]))
    grid = np.linspace(0.0, end_s, 500)
    held = [np.interp(grid, line.t_s, line.pieces) for line in (one, other)]
    return float(np.mean(np.abs(held[0] - held[1])))


def pieces_at(study: StudyEvidence, pieces: int, t_s: float) -> Measure:
    """Mean number of pieces at a leecher `t_s` seconds after the start."""
    found = {
        run: float(np.interp(t_s, line.t_s, line.pieces))
        for run, line in progress(study, pieces).items()
    }
    return Measure(f"pieces at a leecher after {t_s:.0f} s", "pieces", found, "Mean over leechers.")


def piece_count(study: StudyEvidence) -> int:
    """How many pieces the file has, as the table ``downloads`` shows."""
    return int(source.integers(study.results.tables["downloads"], "pieces").max())
