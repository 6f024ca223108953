"""Means with intervals: every number that a report prints is made here.

The unit of replication is the run, never the peer: peers of one run share a swarm and are not
independent. From :data:`FEWEST_FOR_BOOTSTRAP` runs up an interval is the bias-corrected and
accelerated bootstrap (BCa), taken at the widened level that makes a bootstrap of a mean as wide
as Student's t on normal data (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015,
section 4.3); with fewer runs, where resampling can only repeat two or three values, it is
Student's t. One run has no interval: it is a sample and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
from scipy import special

#: Probability that an interval is meant to cover the mean.
LEVEL = 0.95

#: With fewer runs than this, Student's t replaces the bootstrap.
FEWEST_FOR_BOOTSTRAP = 5

#: Bootstrap resamples.
RESAMPLES = 4999

#: Seed of the resampling; fixed, so that a report of the same tables is the same report.
SEED = 20101


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over runs with its interval, or a single sample.

    Attributes:
        mean: mean over the runs, in the unit of the measure.
        low: lower end of the interval; ``None`` for a single run.
        high: upper end of the interval; ``None`` for a single run.
        n: number of runs behind the number.
        minimum: smallest run.
        maximum: largest run.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    minimum: float
    maximum: float

    @property
    def is_sample(self) -> bool:
        """Whether this is a single run, without an interval."""
        return self.low is None or self.high is None

    @property
    def is_constant(self) -> bool:
        """Whether all runs gave the same number, so that nothing random is behind it."""
        return self.low is not None and self.low == self.high

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out, so that there is a difference beyond doubt."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit, `factor` (> 0) times the numbers."""
        return Estimate(
            self.mean * factor,
            None if self.low is None else self.low * factor,
            None if self.high is None else self.high * factor,
            self.n,
            self.minimum * factor,
            self.maximum * factor,
        )

    def shifted(self, by: float) -> Estimate:
        """The same estimate with `by` added: a change becomes a factor by 1."""
        return Estimate(
            self.mean + by,
            None if self.low is None else self.low + by,
            None if self.high is None else self.high + by,
            self.n,
            self.minimum + by,
            self.maximum + by,
        )

    def within(self, least: float, most: float) -> Estimate:
        """The same estimate, its interval cut to what the number can be.

        The cut part could not be the mean, so the interval covers as often as before.
        """
        if self.low is None or self.high is None:
            return self
        low, high = max(self.low, least), min(self.high, most)
        return replace(self, low=min(low, self.mean), high=max(high, self.mean))


def estimate(values: Sequence[float] | np.ndarray) -> Estimate:
    """Mean of one value per run, with a 95 % interval over the runs."""
    x = _clean(values)
    low, high = _interval((x,), _mean, x - x.mean())
    return Estimate(float(x.mean()), low, high, len(x), float(x.min()), float(x.max()))


def difference(
    values: Mapping[int, float], base: Mapping[int, float], *, relative: bool = False
) -> Estimate | None:
    """How much larger the mean of `values` is than that of `base`; both by seed.

    Where both have runs of the same seed, those runs are compared in pairs and all others are
    left out; otherwise the two sets are resampled independently.

    Args:
        values: value of each run, by the run's seed.
        base: the same for the runs compared with.
        relative: divide by the mean of `base`, so that 0.05 means "5 % more".

    Returns:
        The estimate, `n` being the number of pairs (or the smaller of the two numbers of runs),
        or ``None`` if one side is empty. A ratio is also ``None`` if a run of `base` is zero: the
        mean of resampled runs could be zero, too.
    """
    shared = [seed for seed in values if seed in base]
    if shared:
        return _paired([values[s] for s in shared], [base[s] for s in shared], relative)
    if not values or not base:
        return None
    return _unpaired(list(values.values()), list(base.values()), relative)


def _paired(values: Sequence[float], base: Sequence[float], relative: bool) -> Estimate | None:
    x, b = _clean(values), _clean(base)
    if relative and _may_vanish(b):
        return None
    statistic = _ratio if relative else _minus
    centre = float(statistic(x, b))
    influence = (x - (1 + centre) * b) / b.mean() if relative else x - b - centre
    low, high = _interval((x, b), statistic, influence, paired=True)
    each = (x - b) / (b.mean() if relative else 1.0)
    return Estimate(centre, low, high, len(x), float(each.min()), float(each.max()))


def _unpaired(values: Sequence[float], base: Sequence[float], relative: bool) -> Estimate | None:
    x, b = _clean(values), _clean(base)
    if relative and _may_vanish(b):
        return None
    statistic = _ratio if relative else _minus
    centre, scale = float(statistic(x, b)), float(b.mean()) if relative else 1.0
    n = min(len(x), len(b))
    low = high = None
    if n >= FEWEST_FOR_BOOTSTRAP:
        low, high = _bootstrap((x, b), statistic, n, paired=False)
    elif n >= 2:
        error = math.hypot(
            float(x.std(ddof=1)) / math.sqrt(len(x)),
            (1 + centre if relative else 1.0) * float(b.std(ddof=1)) / math.sqrt(len(b)),
        )
        half = student_quantile((1 + LEVEL) / 2, n - 1) * error / scale
        low, high = centre - half, centre + half
    extremes = (x.min() - b.max()) / scale, (x.max() - b.min()) / scale
    return Estimate(centre, low, high, n, float(extremes[0]), float(extremes[1]))


def _may_vanish(base: np.ndarray) -> bool:
    """Whether the mean of resampled runs may be zero: then no ratio to it has an interval."""
    return bool((base == 0).any())


def _mean(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(x, axis=axis)


def _minus(x: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(x, axis=axis) - np.mean(b, axis=axis)


def _ratio(x: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(x, axis=axis) / np.mean(b, axis=axis) - 1


def _clean(values: Sequence[float] | np.ndarray) -> np.ndarray:
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError("an estimate needs at least one run, and finite values")
    return x


def _interval(
    samples: tuple[np.ndarray, ...],
    statistic: Callable[..., np.ndarray],
    influence: np.ndarray,
    *,
    paired: bool = False,
) -> tuple[float | None, float | None]:
    """Interval of `statistic`; `influence` is what each run adds to it, linearised."""
    n, centre = len(influence), float(statistic(*samples))
    if n < 2:
        return None, None
    # As exact as the numbers that it is made of, which may be large and differ little.
    size = 1.0 if statistic is _ratio else max(float(np.abs(x).max()) for x in samples)
    if np.ptp(influence) <= 1e-12 * max(1.0, abs(centre), size):
        return centre, centre
    if n < FEWEST_FOR_BOOTSTRAP:
        error = float(influence.std(ddof=1)) / math.sqrt(n)
        half = student_quantile((1 + LEVEL) / 2, n - 1) * error
        return centre - half, centre + half
    return _bootstrap(samples, statistic, n, paired=paired)


def _bootstrap(
    samples: tuple[np.ndarray, ...],
    statistic: Callable[..., np.ndarray],
    n: int,
    *,
    paired: bool,
) -> tuple[float, float]:
    nothing = statistic is _ratio and not samples[0].any()  # 100 % less, whatever is drawn
    if nothing or all(np.ptp(sample) == 0 for sample in samples):
        centre = float(statistic(*samples))
        return centre, centre
    return _bca(tuple(tuple(sample.tolist()) for sample in samples), statistic, n, paired)


@lru_cache(maxsize=4096)
def _bca(
    samples: tuple[tuple[float, ...], ...],
    statistic: Callable[..., np.ndarray],
    n: int,
    paired: bool,
) -> tuple[float, float]:
    """The bootstrap itself; a table, its figure and a verdict often ask for the same one."""
    from scipy.stats import bootstrap  # late: a second to load, and few runs need none

    # SciPy before 1.15 has another name for it.
    name = "rng" if "rng" in signature(bootstrap).parameters else "random_state"
    chance: dict[str, Any] = {name: np.random.default_rng(SEED)}
    result = bootstrap(
        samples,
        statistic,
        paired=paired,
        n_resamples=RESAMPLES,
        confidence_level=widened_level(n),
        method="BCa",
        vectorized=True,
        **chance,
    )
    interval = result.confidence_interval
    return float(interval.low), float(interval.high)


def student_quantile(probability: float, df: int) -> float:
    """The quantile of Student's t with `df` degrees of freedom."""
    return float(special.stdtrit(df, probability))


def widened_level(n: int, level: float = LEVEL) -> float:
    """The bootstrap level that covers a mean of `n` values as Student's t does at `level`."""
    quantile = student_quantile((1 + level) / 2, n - 1) * math.sqrt(n / (n - 1))
    return float(1 - 2 * special.ndtr(-quantile))
