"""The measurements of a trap's run, second by second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flashcrowd.report import source as tables
from flashcrowd.report.source import Source
from flashcrowd.traps.trap import Trap

HOME = "home"


@dataclass(frozen=True)
class ObservedRun:
    """One run.

    Attributes:
        seed: of the run.
        up: what the clients uploaded in each second, in bit/s of payload, as they count it.
        down: what the home downloaded in each second, in bit/s.
        sent_s: when each answered ping of the bystander was sent.
        rtt_ms: its round-trip time.
        call_ms: 95th percentile of the one-way delay in each second of a call, the worse way.
        call_lost: packets of the call that were lost, in per cent.
    """

    seed: int
    up: np.ndarray
    down: np.ndarray
    sent_s: np.ndarray
    rtt_ms: np.ndarray
    call_ms: np.ndarray
    call_lost: float | None

    def mean(self, of: np.ndarray, from_s: float, to_s: float) -> float:
        """The mean of `up` or `down` over a stretch."""
        return float(of[int(from_s) : int(to_s)].mean())

    def pings(self, from_s: float, to_s: float) -> np.ndarray:
        """The round-trip times of the pings that were sent in a stretch."""
        return self.rtt_ms[(self.sent_s >= from_s) & (self.sent_s < to_s)]

    def delay(self, quantile: float, from_s: float, to_s: float) -> float:
        """A quantile of these; not a number without one."""
        found = self.pings(from_s, to_s)
        return float(np.quantile(found, quantile)) if len(found) else float("nan")


def read(trap: Trap, results: Source) -> dict[int, list[ObservedRun]]:
    """The runs of each point of a trap's study, but for those that failed."""
    runs = results.tables["runs"]
    columns = (tables.integers(runs, name) for name in ("run", "point", "seed"))
    outcomes = tables.strings(runs, "outcome")
    seconds = int(trap.to_s)
    up, down = dict(_up(trap, results)), dict(_down(trap, results))
    pings, calls = dict(_pings(trap, results)), dict(_calls(results))
    silence, nothing = np.zeros(seconds), (np.empty(0), np.empty(0))
    found: dict[int, list[ObservedRun]] = {}
    for run, point, seed, how in zip(*columns, outcomes, strict=True):
        if how == "failed":  # a real program crashed: nothing to be seen
            continue
        sent_s, rtt_ms = pings.get(run, nothing)
        ms, lost = calls.get(int(run), (np.empty(0), None))
        one = ObservedRun(
            int(seed), up.get(run, silence), down.get(run, silence), sent_s, rtt_ms, ms, lost
        )
        found.setdefault(int(point), []).append(one)
    return found


def _up(trap: Trap, results: Source) -> Iterator[tuple[int, np.ndarray]]:
    """From the rows of each controller, of which each says the rate since the one before."""
    rows = results.tables["control"]
    peers, t_s = tables.integers(rows, "peer"), tables.numbers(rows, "t_s")
    rate = tables.numbers(rows, "upload_bps")
    grid = np.arange(int(trap.to_s) + 1)
    for run, mine in tables.by_run(tables.integers(rows, "run")):
        total = np.zeros(len(grid) - 1)
        for peer in np.unique(peers[mine]):
            one = mine[peers[mine] == peer]
            times = np.concatenate(([0.0], t_s[one]))
            bits = np.concatenate(([0.0], np.cumsum(rate[one] * np.diff(times))))
            total += np.diff(np.interp(grid, times, bits))
        yield run, total


def _down(trap: Trap, results: Source) -> Iterator[tuple[int, np.ndarray]]:
    """Of all transfers to the home."""
    workloads = results.study["workloads"]
    ours = {name for name, of in workloads.items() if str(of.get("to", "")).startswith(HOME)}
    rows = tables.where(results.tables["series"], "what", "goodput")
    source = tables.strings(rows, "source")
    chosen = np.array([name.partition("/")[0] in ours for name in source], dtype=bool)
    t_s, value = tables.numbers(rows, "t_s"), tables.numbers(rows, "value")
    for run, mine in tables.by_run(tables.integers(rows, "run"), chosen):
        total = np.zeros(int(trap.to_s))
        # A sample is of the second before; one of a real clock comes a little late.
        second = np.rint(t_s[mine]).astype(int) - 1
        inside = (second >= 0) & (second < len(total))
        np.add.at(total, second[inside], value[mine][inside])
        yield run, total


def _pings(trap: Trap, results: Source) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
    rows = results.tables["pings"]
    sent, rtt = tables.numbers(rows, "sent_s"), tables.numbers(rows, "rtt_s")
    for run, mine in tables.by_run(tables.integers(rows, "run"), ~np.isnan(rtt)):
        yield run, (sent[mine], 1e3 * rtt[mine])


def _calls(results: Source) -> Iterator[tuple[int, tuple[np.ndarray, float]]]:
    rows = results.tables["calls"]
    p95, sent, lost = (tables.numbers(rows, name) for name in ("p95_delay_s", "sent", "lost"))
    for run, mine in tables.by_run(tables.integers(rows, "run")):
        share = 100 * float(np.nansum(lost[mine]) / np.nansum(sent[mine]))
        yield run, (1e3 * p95[mine][~np.isnan(p95[mine])], share)
