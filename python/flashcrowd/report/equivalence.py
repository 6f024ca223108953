"""Are two sets of runs alike? Two one-sided tests (TOST) with a margin that is stated beforehand.

That a difference was not found does not say that there is none: perhaps there were too few runs.
The test of equivalence turns the question round. It asks whether the ratio of the two means is more
than 1 - margin, and whether it is less than 1 + margin, and says "equivalent" only if both are
shown at the level (Schuirmann, "A comparison of the two one-sided tests procedure and the power
approach for assessing the equivalence of average bioavailability", 1987). Each of the two is a
test of the mean of x - (1 ± margin) b, so that no ratio of random numbers needs a distribution of
its own: Student's t over pairs that share a seed, Welch's t where there are no pairs (Hauschke,
Kieser, Diletti, Burke, "Sample size determination for proving equivalence based on the ratio of two
means for normally distributed data", 1999).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from flashcrowd.report.statistics import Estimate, difference

#: Probability of a false "equivalent" for a difference equal to the margin.
LEVEL = 0.05

#: Margin if none is stated: a ratio of means between 0.95 and 1.05.
MARGIN = 0.05

Verdict = Literal["equivalent", "different", "undecided"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The verdict on the difference of two means.

    Attributes:
        verdict: ``equivalent`` if the two one-sided tests show it; else ``different`` if the
            interval of the difference is without zero; else ``undecided``.
        margin: relative margin, 0.05 for 5 %.
        change: relative difference of the means with its 95 % interval, ``None`` if there is none.
        p: the larger p-value of the two one-sided tests, ``None`` without a test.
        paired: whether runs of one seed were compared in pairs.
    """

    verdict: Verdict
    margin: float
    change: Estimate | None
    p: float | None
    paired: bool

    @property
    def words(self) -> str:
        """The verdict: ``equivalent within 5 %``, ``different`` or ``undecided``."""
        if self.verdict == "equivalent":
            return f"equivalent within {100 * self.margin:.3g} %"
        return self.verdict


def equivalence(
    values: Mapping[int, float],
    base: Mapping[int, float],
    margin: float = MARGIN,
    level: float = LEVEL,
    change: Estimate | None = None,
) -> Equivalence:
    """Whether the mean of `values` is that of `base`, but for the margin; both by seed.

    Runs of one seed are compared in pairs and all others left out; without a common seed, the two
    sets are compared as independent ones.

    Args:
        values: value of each run, by the run's seed.
        base: the same for the runs compared with.
        margin: relative margin, more than 0 and less than 1.
        level: of each of the two one-sided tests.
        change: the relative difference, if it is known already (see `statistics.difference`).

    Raises:
        ValueError: the margin is not between 0 and 1.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin: {margin}; a share between 0 and 1 is needed")
    if change is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            change = difference(values, base, relative=True)
    if change is not None and not _finite(change):
        change = None  # some resamples of the base have the mean zero: there is no ratio
    shared = sorted(seed for seed in values if seed in base)
    paired = bool(shared)
    p = _larger_p(values, base, shared, margin)
    verdict: Verdict = "undecided"
    if p is not None and p < level:
        verdict = "equivalent"
    elif change is not None and change.is_clear:
        verdict = "different"
    return Equivalence(verdict, margin, change, p, paired)


def _finite(change: Estimate) -> bool:
    ends = (change.mean, change.low or 0.0, change.high or 0.0)
    return all(math.isfinite(end) for end in ends)


def _larger_p(
    values: Mapping[int, float], base: Mapping[int, float], shared: list[int], margin: float
) -> float | None:
    """The larger p-value of the two one-sided tests; ``None`` where fewer than two runs remain."""
    if shared:
        x = np.asarray([values[seed] for seed in shared], dtype=float)
        b = np.asarray([base[seed] for seed in shared], dtype=float)
    else:
        x = np.asarray(list(values.values()), dtype=float)
        b = np.asarray(list(base.values()), dtype=float)
    if min(len(x), len(b)) < 2:
        return None
    if b.mean() < 0:  # a mean below zero turns both sides round
        x, b = -x, -b
    above, df_above = _t(x, b, 1 - margin, paired=bool(shared))
    below, df_below = _t(x, b, 1 + margin, paired=bool(shared))
    return float(max(special.stdtr(df_above, -above), special.stdtr(df_below, below)))


def _t(x: np.ndarray, b: np.ndarray, factor: float, *, paired: bool) -> tuple[float, float]:
    """The statistic t of the mean of x - factor × b, and its degrees of freedom."""
    if paired:
        each = x - factor * b
        centre, error, df = _moments(each)
        return _ratio(centre, error, float(np.abs(x).max())), df
    mean_x, error_x, df_x = _moments(x)
    mean_b, error_b, df_b = _moments(factor * b)
    error = math.hypot(error_x, error_b)
    df = error**4 / (error_x**4 / df_x + error_b**4 / df_b) if error > 0 else df_x + df_b
    return _ratio(mean_x - mean_b, error, float(np.abs(x).max())), df


def _moments(x: np.ndarray) -> tuple[float, float, float]:
    """Mean, standard error of the mean, degrees of freedom."""
    return float(x.mean()), float(x.std(ddof=1)) / math.sqrt(len(x)), float(len(x) - 1)


def _ratio(centre: float, error: float, size: float) -> float:
    """`centre` over its error; runs in which nothing is random decide without a doubt."""
    if error > 1e-12 * size:
        return centre / error
    if abs(centre) <= 1e-12 * size:
        return 0.0
    return math.copysign(math.inf, centre)
