"""Numbers of a run that this paper speaks of: rates on the line, round-trip times, losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from flashcrowd.base.units import Rate, Span
from flashcrowd.papers import curves, steps
from flashcrowd.papers.evidence import Given, StudyEvidence
from flashcrowd.papers.measured import Quantity, named
from flashcrowd.report import source as tables
from flashcrowd.report.measures import Measure

#: What the timeline of the study with a rising limit changes.
LIMIT = "workloads.shared.populations.home.upload"

#: The limit rises every ten seconds, and the download is taken as fallen below this share.
_FALLEN = 0.9

_WIRE = "IP bytes on the home's line, as a packet trace counts them."

#: What a client calls its rate: a packet of 1500 B carries 1460 B of the stream.
_STREAM = 1460 / 1500


def _stretch(study: StudyEvidence, given: Given) -> tuple[float, float]:
    """From when to when: as `given`, or else from the begin of the study's own window."""
    return curves.stretch({"from_s": begin_s(study), **given})


def begin_s(study: StudyEvidence) -> float:
    """When the window of the study begins, in seconds."""
    window = study.results.study.get("measures", {}).get("window", {})
    return Span(window.get("from", "0 s")).seconds


def rate(study: StudyEvidence, given: Given) -> Measure:
    """What passes the home's line one way (``way``: up or down), in kbit/s.

    With `stream`, the part of full packets that is not header, as clients show rates.
    """
    way, stream = given["way"], bool(given.get("stream"))
    factor = 1e-3 * (_STREAM if stream else 1.0)
    rates = curves.read(study, "link-rate")
    of_run = curves.means(rates, f"home-1 {way}", *_stretch(study, given), factor)
    note = "Full packets on the home's line, less their headers." if stream else _WIRE
    return Measure(f"{way}load", "kbit/s", of_run, note)


def use(study: StudyEvidence, given: Given) -> Measure:
    """The same as a share of the line's capacity, in per cent."""
    way = given["way"]
    capacity = {
        run: Rate(str(value)).bps / 1e3
        for run, value in study.of_runs(f"network.groups.home.access.{way}").items()
    }
    of_run = {run: 100 * value / capacity[run] for run, value in rate(study, given).of_run.items()}
    return Measure(f"{way}link utilisation", "%", of_run, _WIRE, most=100.0)


def uploaded(study: StudyEvidence, given: Given) -> Measure:
    """The blocks that the home's client uploads over the uplink's capacity, in per cent."""
    del given
    rows = tables.where(study.results.tables["populations"], "swarm", "shared")
    rows = tables.where(rows, "population", "home")
    capacity = study.of_runs("network.groups.home.access.up")
    runs, sent = tables.integers(rows, "run"), tables.numbers(rows, "uploaded_bytes")
    found = {
        int(run): 800 * float(bytes_) / Rate(str(capacity[int(run)])).bps / ends
        for run, bytes_ in zip(runs, sent, strict=True)
        if (ends := study.points.runs[int(run)].end_s)
    }
    return Measure(
        "uplink used for uploads", "%", found, "Blocks, without headers, from 0 s.", most=100.0
    )


# --- round-trip times ----------------------------------------------------------------------------


def round_trips(study: StudyEvidence, given: Given) -> dict[int, np.ndarray]:
    """The round-trip times of the answered pings of a stretch, for each run, in milliseconds."""
    rows = study.results.tables["pings"]
    from_s, to_s = _stretch(study, given)
    sent, rtt = tables.numbers(rows, "sent_s"), tables.numbers(rows, "rtt_s")
    chosen = (sent >= from_s) & (sent < to_s) & ~np.isnan(rtt)
    runs = tables.integers(rows, "run")
    return {run: 1e3 * rtt[mine] for run, mine in tables.by_run(runs, chosen)}


def _of_pings(
    study: StudyEvidence, given: Given, name: str, of: Callable[[np.ndarray], float], note: str
) -> Measure:
    found = {run: of(rtt) for run, rtt in round_trips(study, given).items() if len(rtt) > 1}
    return Measure(name, "ms", found, note)


def rtt(study: StudyEvidence, given: Given) -> Measure:
    """Mean round-trip time, in milliseconds."""
    return _of_pings(study, given, "RTT", lambda x: float(x.mean()), "Mean of the pings.")


def rtt_deviation(study: StudyEvidence, given: Given) -> Measure:
    """Standard deviation of the round-trip time, in milliseconds."""
    note = "Standard deviation of the pings of a run."
    return _of_pings(study, given, "deviation of the RTT", lambda x: float(x.std()), note)


def rtt_p95(study: StudyEvidence, given: Given) -> Measure:
    """95th percentile of the round-trip time, in milliseconds."""
    note = "Of the pings of a run."
    return _of_pings(study, given, "p95 RTT", lambda x: float(np.quantile(x, 0.95)), note)


def rtt_lean(study: StudyEvidence, given: Given) -> Measure:
    """How much further the 95th percentile is above the median than the 5th below it."""

    def lean(x: np.ndarray) -> float:
        low, middle, high = np.quantile(x, (0.05, 0.5, 0.95))
        return float((high - middle) - (middle - low))

    found = {run: lean(rtt) for run, rtt in round_trips(study, given).items()}
    note = "95th percentile less median, less what lies between median and 5th percentile."
    return Measure("upper less lower side", "ms", found, note, least=-np.inf)


def alarms(study: StudyEvidence, given: Given) -> Measure:
    """Share of the pings above µ + kσ, with µ and σ of the run without uploads with its seed.

    Parameters: `k`; `idle`, the setting of that other run.
    """
    found = {}
    seen = round_trips(study, given)
    for point in study.points.points:
        partner = study.partner(point, given["idle"])
        if partner is None:
            continue
        base = {run.seed: seen[run.run] for run in partner.good_runs if run.run in seen}
        for run in point.good_runs:
            if run.seed in base and run.run in seen:
                idle = base[run.seed]
                bound = idle.mean() + float(given["k"]) * idle.std()
                found[run.run] = 100 * float((seen[run.run] > bound).mean())
    note = "µ and σ are those of the run with the same seed in which nothing is uploaded."
    return Measure("pings above µ + kσ", "%", found, note, most=100.0)


def overlap(study: StudyEvidence, given: Given) -> Measure:
    """Area that the histograms of two runs with one seed share, in per cent, in bins of 10 ms.

    Parameter: `other`, the setting of the other run.
    """
    seen = round_trips(study, given)
    bins = np.arange(0, 20_000, 10)
    share = {run: np.histogram(x, bins)[0] / len(x) for run, x in seen.items()}
    found = {}
    for point in study.points.points:
        partner = study.partner(point, given["other"])
        if partner is None or partner.index == point.index:
            continue
        base = {run.seed: share[run.run] for run in partner.good_runs if run.run in share}
        for run in point.good_runs:
            if run.seed in base and run.run in share:
                both = np.minimum(share[run.run], base[run.seed]).sum()
                found[run.run] = 100 * float(both)
    return Measure("area in common", "%", found, "Histograms in bins of 10 ms.", most=100.0)


# --- losses --------------------------------------------------------------------------------------


def loss(study: StudyEvidence, given: Given) -> Measure:
    """Packets that the uplink's queue dropped, of those that came to it, in per cent."""
    del given
    rows = tables.where(study.results.tables["links"], "link", "home-1 up")
    runs = tables.integers(rows, "run")
    sent, dropped = (tables.numbers(rows, name) for name in ("packets", "dropped"))
    found = {
        int(run): 100 * float(lost / (passed + lost))
        for run, passed, lost in zip(runs, sent, dropped, strict=True)
        if passed + lost
    }
    return Measure(
        "packets dropped in the uplink", "%", found, "Of those that came to its queue.", most=100.0
    )


# --- the limit in steps --------------------------------------------------------------------------


def climbs(study: StudyEvidence) -> dict[int, list[tuple[float, float, float, float, float]]]:
    """Of each run, each step of a rising limit: limit, upload, download (kbit/s), RTT, its σ (ms).

    The two seconds after a step are left out.
    """
    kept: dict[int, list[tuple[float, float, float, float, float]]]
    kept = study.__dict__.setdefault("_climbs", {})
    if not kept:
        for run, row in _climbs(study):
            kept.setdefault(run, []).append(row)
    return kept


def _climbs(
    study: StudyEvidence,
) -> Iterator[tuple[int, tuple[float, float, float, float, float]]]:
    end_s = max(run.end_s for run in study.points.runs.values())
    for step in steps.read(study, LIMIT, end_s):
        begin = max(step.from_s, 20.0) if step.from_s == 0 else step.from_s + 2
        given = {"from_s": begin, "to_s": step.to_s}
        up, down = (rate(study, {**given, "way": way}).of_run for way in ("up", "down"))
        for run, values in round_trips(study, given).items():
            if run in up and run in down:
                kbit = Rate(str(step.value)).bps / 1e3
                row = (kbit, up[run], down[run], float(values.mean()), float(values.std()))
                yield run, row


def onset(study: StudyEvidence, given: Given) -> Measure:
    """The limit from which on the download stays below a share of what it was at first, kbit/s.

    Parameter: `share`, by default nine tenths.
    """
    share = float(given.get("share", _FALLEN))
    found = {}
    for run, rows in climbs(study).items():
        table = np.array(rows)
        fallen = table[:, 2] < share * table[:2, 2].mean()
        standing = np.flatnonzero(~fallen)
        first = standing[-1] + 1 if len(standing) else 0
        if first < len(table):
            found[run] = float(table[first, 0])
    percent = f"{100 * share:g} %"
    note = (
        f"The first limit from which the download stays below {percent} of that at the two "
        "lowest limits."
    )
    name = f"limit from which the download is below {100 * share:g} %"
    return Measure(name, "kbit/s", found, note)


def together(study: StudyEvidence, given: Given) -> Measure:
    """Spearman's rank correlation of the upload and another number over the steps of a run.

    Parameter: `with`, ``rtt`` or ``down``.
    """
    column = {"down": 2, "rtt": 3}[given["with"]]
    found = {}
    for run, rows in climbs(study).items():
        table = np.array(rows)
        found[run] = rank_correlation(table[:, 1], table[:, column])
    name = {"down": "download", "rtt": "RTT"}[given["with"]]
    called, note = f"rank correlation of upload and {name}", "Spearman's, over steps of 10 s."
    return Measure(called, "", found, note, least=-1.0, most=1.0)


def rank_correlation(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float:
    """Spearman's: the correlation of the ranks."""
    from scipy.stats import rankdata  # late: a second to load

    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


#: Each measure, by the name that claims use.
MEASURES: Mapping[str, Quantity] = {
    "rate": rate,
    "use": use,
    "uploaded": uploaded,
    "rtt": rtt,
    "rtt-deviation": rtt_deviation,
    "rtt-p95": rtt_p95,
    "rtt-lean": rtt_lean,
    "alarms": alarms,
    "overlap": overlap,
    "loss": loss,
    "onset": onset,
    "together": together,
}

#: The measure that `given` names, with its parameters.
measure = named(MEASURES)
