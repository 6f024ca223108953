"""Scalars of a run: one number a run, which is what means and intervals are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flashcrowd.report import downloads, source
from flashcrowd.report.points import Point, Points
from flashcrowd.report.source import Source
from flashcrowd.report.statistics import Estimate, difference, estimate


@dataclass(frozen=True)
class Measure:
    """One number of every run.

    Attributes:
        name: what is measured, as a table heading.
        unit: its unit.
        of_run: the value of each run that has one.
        note: how it is computed, in a sentence.
    """

    name: str
    unit: str
    of_run: Mapping[int, float]
    note: str

    def at(self, point: Point) -> Estimate | None:
        """Mean over the runs of `point` that ended as planned."""
        values = [self.of_run[r.run] for r in point.good_runs if r.run in self.of_run]
        return estimate(values) if values else None

    def change(self, point: Point, baseline: Point, *, relative: bool = True) -> Estimate | None:
        """How much larger `point` is than `baseline`, in pairs of runs that share a seed."""
        return difference(self._by_seed(point), self._by_seed(baseline), relative=relative)

    def _by_seed(self, point: Point) -> dict[int, float]:
        return {r.seed: self.of_run[r.run] for r in point.good_runs if r.run in self.of_run}


def all_measures(results: Source, points: Points) -> list[Measure]:
    """Every measure that the tables allow, the most telling first."""
    found = [
        *swarm_measures(results),
        *_transfer_measures(results),
        *_ping_measures(results),
        *_page_measures(results),
        *_call_measures(results),
    ]
    return [m for m in found if any(run in m.of_run for run in points.runs)]


def swarm_measures(results: Source) -> list[Measure]:
    """Mean and last download time of each swarm."""
    found = []
    names = downloads.swarms(results)
    for name in names:
        of = f" ({name})" if len(names) > 1 else ""
        mean, last = downloads.times_of_runs(results, name)
        found.append(
            Measure(
                f"mean download time{of}", "s", mean,
                "Mean over the leechers of a run, from arrival to the complete file.",
            )
        )  # fmt: skip
        found.append(
            Measure(
                f"last completion{of}", "s", last,
                "When the last leecher of a run has the file, on the clock of the run.",
            )
        )  # fmt: skip
    return found


def _transfer_measures(results: Source) -> list[Measure]:
    rows = source.table(results, "transfers")
    if rows is None:
        return []
    runs, names = source.integers(rows, "run"), source.strings(rows, "transfer")
    found = []
    for column, what, unit, factor, note in (
        ("goodput_bps", "goodput", "Mbit/s", 1e-6, "Mean over the flows of a transfer in a run."),
        ("mean_rtt_s", "round-trip time", "ms", 1e3, "Mean over the flows; samples of TCP."),
    ):
        values = source.numbers(rows, column) * factor
        found += [
            Measure(f"{what} of {name}", unit, _mean_by_run(runs, values, names == name), note)
            for name in dict.fromkeys(names.tolist())
        ]
    return found


def _ping_measures(results: Source) -> list[Measure]:
    rows = source.table(results, "pings")
    if rows is None:
        return []
    runs, names = source.integers(rows, "run"), source.strings(rows, "ping")
    rtt = source.numbers(rows, "rtt_s")
    found = []
    for name in dict.fromkeys(names.tolist()):
        chosen = names == name
        found.append(
            Measure(
                f"ping {name}", "ms", _mean_by_run(runs, rtt * 1e3, chosen),
                "Mean round-trip time of the answered echo requests of a run.",
            )
        )  # fmt: skip
        lost = np.isnan(rtt).astype(float) * 100
        found.append(
            Measure(
                f"unanswered pings of {name}", "%", _mean_by_run(runs, lost, chosen),
                "Share of the echo requests of a run without an answer.",
            )
        )  # fmt: skip
    return found


def _page_measures(results: Source) -> list[Measure]:
    rows = source.table(results, "pages")
    if rows is None:
        return []
    runs, names = source.integers(rows, "run"), source.strings(rows, "web")
    duration = source.numbers(rows, "duration_s")
    unfinished = np.isnan(duration).astype(float) * 100
    found = []
    for name in dict.fromkeys(names.tolist()):
        chosen = names == name
        found += [
            Measure(
                f"page of {name}", "s", _mean_by_run(runs, duration, chosen),
                "Mean time to fetch a page, over those of a run that came to their end.",
            ),
            Measure(
                f"unfinished pages of {name}", "%", _mean_by_run(runs, unfinished, chosen),
                "Share of the pages of a run that failed, were stopped or cut off by its end.",
            ),
        ]  # fmt: skip
    return found


def _call_measures(results: Source) -> list[Measure]:
    rows = source.table(results, "calls")
    if rows is None:
        return []
    runs, names = source.integers(rows, "run"), source.strings(rows, "call")
    senders = source.strings(rows, "from")
    sent, lost = source.numbers(rows, "sent"), source.numbers(rows, "lost")
    found = []
    for name, sender in dict.fromkeys(zip(names.tolist(), senders.tolist(), strict=True)):
        chosen = (names == name) & (senders == sender)
        for column, what, note in (
            ("mean_delay_s", "one-way delay", "Mean over the packets of a run that arrived."),
            ("jitter_s", "jitter", "RFC 3550's, mean over the intervals of a run by packets."),
        ):
            values = _mean_by_run(
                runs, source.numbers(rows, column) * 1e3, chosen & (lost < sent), sent - lost
            )
            found.append(Measure(f"{what} of {name} from {sender}", "ms", values, note))
        share = 100 * lost / np.maximum(sent, 1)
        found.append(
            Measure(
                f"loss of {name} from {sender}", "%", _mean_by_run(runs, share, chosen, sent),
                "Share of the packets of a run that did not arrive before its end.",
            )
        )  # fmt: skip
    return found


def _mean_by_run(
    runs: np.ndarray, values: np.ndarray, chosen: np.ndarray, weights: np.ndarray | None = None
) -> dict[int, float]:
    chosen = chosen & ~np.isnan(values)
    found = {}
    for run in np.unique(runs[chosen]):
        rows = chosen & (runs == run)
        weight = None if weights is None else weights[rows]
        found[int(run)] = float(np.average(values[rows], weights=weight))
    return found
