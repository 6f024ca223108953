"""The outcome of a controller on a trap, compared with the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flashcrowd.report.source import Source
from flashcrowd.report.statistics import Estimate, difference, estimate
from flashcrowd.traps import observed_run
from flashcrowd.traps.observed_run import ObservedRun
from flashcrowd.traps.trap import SHARES, Trap

HARMLESS = 0.97
"""The oracle leaves the download at least this part of what the best limit leaves it."""

STANDING_MS = 10.0
"""Without a download, what a bystander waits nine times in ten is at most this above its least."""

DOWNLOAD, UPLOAD, DELAY_MS, HALF_S, START_S, STEP_S = 0.95, 0.85, 30.0, 10.0, 30.0, 15.0
"""The aims: shares of the oracle's, how much above its 95th percentile of the bystander's delay,
the longest time below half, and the time to converge at the start and after a step.
"""

CONVERGED = 0.75
"""Upload and download are taken as found from this part of the oracle's on."""

_SMOOTH_S = 5
_CONVERGED_S = 10


@dataclass(frozen=True)
class Outcome:
    """One controller on one trap.

    Attributes:
        name: the controller, or ``oracle``.
        uplink: its upload as a part of the uplink.
        upload: its upload as a part of the oracle's.
        download: the same of the download; ``None`` if there is none.
        delay_ms: how much longer the bystander's 95th percentile is than with the oracle.
        start_s: until it has converged at the start, of the middle run; infinite for never.
        step_s: the same after the step; ``None`` without one.
        half_s: the longest time in which upload or download are below half of the oracle's.
        call_ms: 95th percentile of a call's one-way delay; ``None`` without a call.
        call_lost: its lost packets in per cent.
    """

    name: str
    uplink: Estimate
    upload: Estimate
    download: Estimate | None
    delay_ms: Estimate
    start_s: float
    step_s: float | None
    half_s: Estimate
    call_ms: Estimate | None = None
    call_lost: Estimate | None = None

    @property
    def aims(self) -> dict[str, bool]:
        """Which aims its means meet."""
        return {
            "download": self.download is None or self.download.mean >= DOWNLOAD,
            "upload": self.upload.mean >= UPLOAD,
            "delay": self.delay_ms.mean <= DELAY_MS,
            "start": self.start_s <= START_S,
            "step": self.step_s is None or self.step_s <= STEP_S,
            "half": self.half_s.mean <= HALF_S,
        }


@dataclass(frozen=True)
class Verdicts:
    """A trap with what became of all.

    Attributes:
        trap: which one.
        shares: the limit that the oracle has in each stretch, as a part of the uplink.
        outcomes: the oracle's own, then each controller's.
        runs: how many runs each has.
    """

    trap: Trap
    shares: tuple[float, ...]
    outcomes: tuple[Outcome, ...]
    runs: int


def judge(
    trap: Trap, results: Source, controllers: Sequence[str], shares: Sequence[float] = SHARES
) -> Verdicts:
    """Hold the controllers of a trap's study against the best of its fixed limits, `shares`."""
    points = observed_run.read(trap, results)
    fixed = [points[index] for index in range(len(shares))]
    chosen = [_oracle(trap, fixed, stretch) for stretch in trap.stretches]
    oracle = _Oracle(trap, [fixed[index] for index in chosen])
    found = [_outcome(oracle, "oracle", None)]
    for index, name in enumerate(controllers, len(shares)):
        found.append(_outcome(oracle, name, points[index]))
    best = tuple(shares[index] for index in chosen)
    return Verdicts(trap, best, tuple(found), len(fixed[0]))


def _oracle(
    trap: Trap, fixed: Sequence[Sequence[ObservedRun]], stretch: tuple[float, float]
) -> int:
    """The highest fixed limit that does no harm in a stretch.

    Means over runs decide. Harm is a download below `HARMLESS` of the best one. Without a download
    it is a queue that stands: the bystander's tenth percentile is more than a full packet, or
    `STANDING_MS`, above the least. (The bursts of a client's limiter come with any limit, and
    beside a download what stands is mostly the download's own queue.)
    """
    downloads = [np.mean([run.mean(run.down, *stretch) for run in runs]) for runs in fixed]
    if max(downloads) > 0:
        return max(i for i, down in enumerate(downloads) if down >= HARMLESS * max(downloads))
    standing = [np.mean([run.delay(0.1, *stretch) for run in runs]) for runs in fixed]
    packet_ms = 1e3 * 1500 * 8 / trap.most.bps
    most = min(standing) + max(STANDING_MS, packet_ms)
    return max(index for index, delay in enumerate(standing) if delay <= most)


class _Oracle:
    """The runs of the best limit of each stretch, by seed."""

    def __init__(self, trap: Trap, stretches: Sequence[Sequence[ObservedRun]]) -> None:
        self.trap = trap
        self.runs = [{run.seed: run for run in runs} for runs in stretches]

    def own(self) -> list[ObservedRun]:
        """Its measurements, as if its limit changed from stretch to stretch."""
        return list(self.runs[0].values())

    def parts(
        self, run: ObservedRun | None, seed: int
    ) -> list[tuple[ObservedRun, tuple[float, float]]]:
        """The measurements of a run in each stretch; the oracle's, without a run."""
        pairs = zip(self.runs, self.trap.stretches, strict=True)
        return [(run or runs[seed], stretch) for runs, stretch in pairs]

    def total(self, run: ObservedRun | None, seed: int, of: str) -> float:
        """The mean of `up` or `down` over all stretches."""
        parts = self.parts(run, seed)
        length = sum(to - start for _, (start, to) in parts)
        weighed = (it.mean(getattr(it, of), *at) * (at[1] - at[0]) for it, at in parts)
        return sum(weighed) / length

    def added_ms(self, run: ObservedRun, seed: int) -> float:
        """The bystander's 95th percentile less that with the oracle, in the worst stretch."""
        pairs = zip(self.parts(run, seed), self.parts(None, seed), strict=True)
        return max(it.delay(0.95, *at) - best.delay(0.95, *at) for (it, at), (best, _) in pairs)

    def converged_s(self, run: ObservedRun | None, seed: int, number: int, begin: float) -> float:
        """Seconds from `begin` until upload, download and delay stay those of the oracle."""
        best, (start, to) = self.parts(None, seed)[number]
        run = run or best
        last_s = int(to - _CONVERGED_S)
        limit_ms = best.delay(0.95, start, to) + DELAY_MS
        whole = {of: best.mean(getattr(best, of), start, to) for of in ("up", "down")}
        for second in range(int(begin), last_s + 1):
            at = second, second + _CONVERGED_S
            # A download that pauses is no sign of anything: what the oracle has then is wanted.
            rates = (
                run.mean(getattr(run, of), *at)
                >= CONVERGED * min(mean, best.mean(getattr(best, of), *at))
                for of, mean in whole.items()
            )
            if all(rates) and not run.delay(0.95, *at) > limit_ms:
                return second + _CONVERGED_S - begin
        return float("inf")

    def half_s(self, run: ObservedRun, seed: int) -> float:
        """The longest time in which a rate is below half of the oracle's, of means over 5 s."""
        longest = 0
        pairs = zip(self.parts(run, seed), self.parts(None, seed), strict=True)
        for (it, (start, to)), (best, _) in pairs:
            for of in ("up", "down"):
                ours, theirs = (_smooth(getattr(x, of)[int(start) : int(to)]) for x in (it, best))
                longest = max(longest, _longest(ours < 0.5 * theirs))
        return float(longest)


def _smooth(values: np.ndarray) -> np.ndarray:
    return np.convolve(values, np.ones(_SMOOTH_S) / _SMOOTH_S, mode="valid")


def _longest(true: np.ndarray) -> int:
    """How many in a row are true at most."""
    longest = count = 0
    for each in true:
        count = count + 1 if each else 0
        longest = max(longest, count)
    return longest


def _outcome(oracle: _Oracle, name: str, runs: Sequence[ObservedRun] | None) -> Outcome:
    trap = oracle.trap
    seeds = list(oracle.runs[0])
    by_seed: Mapping[int, ObservedRun | None]
    by_seed = dict.fromkeys(seeds) if runs is None else {run.seed: run for run in runs}
    shown = {seed: run or oracle.runs[0][seed] for seed, run in by_seed.items()}
    up, down = (
        ({s: oracle.total(r, s, of) for s, r in by_seed.items()},
         {s: oracle.total(None, s, of) for s in seeds})
        for of in ("up", "down")
    )  # fmt: skip
    step = None
    if trap.step_s is not None:
        step = _middle([oracle.converged_s(r, s, 1, trap.step_s) for s, r in by_seed.items()])
    calls = [run for run in shown.values() if run.call_lost is not None]
    added = {s: oracle.added_ms(r, s) if r else 0.0 for s, r in by_seed.items()}
    return Outcome(
        name=name,
        uplink=estimate([value / trap.most.bps for value in up[0].values()]).within(0.0, 1.0),
        upload=_share(*up) or estimate([1.0]),
        download=_share(*down),
        delay_ms=estimate(list(added.values())),
        start_s=_middle([oracle.converged_s(r, s, 0, trap.begin_s) for s, r in by_seed.items()]),
        step_s=step,
        half_s=estimate([oracle.half_s(r, s) if r else 0.0 for s, r in by_seed.items()]).within(
            0.0, trap.to_s
        ),
        call_ms=estimate([float(np.quantile(run.call_ms, 0.95)) for run in calls])
        if calls
        else None,
        call_lost=estimate([run.call_lost or 0.0 for run in calls]) if calls else None,
    )


def _share(values: Mapping[int, float], base: Mapping[int, float]) -> Estimate | None:
    """A part of the oracle's, in pairs of runs that share a seed; none of nothing."""
    if max(base.values()) < 1.0:
        return None
    found = difference(values, base, relative=True)
    if found is None:
        return None
    low, high = (None if end is None else max(0.0, 1 + end) for end in (found.low, found.high))
    return Estimate(1 + found.mean, low, high, found.n, 1 + found.minimum, 1 + found.maximum)


def _middle(values: Sequence[float]) -> float:
    """The middle one; of two the greater."""
    return sorted(values)[len(values) // 2]
