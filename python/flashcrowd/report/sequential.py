"""Intervals that stay valid under optional stopping: repeated looks, until they are narrow.

An interval of 95 % covers the mean in 95 of 100 studies if the number of runs was fixed before. If
you look after each few runs, and stop at the first that pleases, you tend to stop when it is narrow
by chance (optional stopping). Repeated confidence intervals (Jennison and Turnbull, "Interim
analyses: the repeated confidence interval approach", Journal of the Royal Statistical Society B 51,
1989, 305-361) cover the mean at all looks together, for any reason to stop. Here the looks are
fixed beforehand (:class:`flashcrowd.base.looks.Looks`), and each of the K gets an equal part of the
probability of error: the interval at a look is Student's t at the level 1 - 0.05 / K. By
Bonferroni's inequality they err together in at most 5 % of studies where the values of runs are
normal; no approximation of how looks depend on each other is needed. The price is width: with nine
looks an interval of 20 runs is half as wide again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from flashcrowd.base.looks import Looks
from flashcrowd.report.statistics import LEVEL, Estimate, student_quantile


def level(looks: Looks) -> float:
    """The level of the interval at each look, so that all of them together have 95 %."""
    return 1 - (1 - LEVEL) / len(looks.schedule)


def estimate(values: Sequence[float] | np.ndarray, looks: Looks) -> Estimate:
    """Mean of one value per run, with the interval that holds at all looks together."""
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError("an estimate needs at least one run, and finite values")
    return _around(float(x.mean()), x, x, looks)


def difference(
    values: Mapping[int, float],
    base: Mapping[int, float],
    looks: Looks,
    *,
    relative: bool = False,
) -> Estimate | None:
    """How much larger `values` are than `base`, by seed, over the runs that both have.

    Points may have ended at different looks; their common runs are those of the earlier one, so
    that the interval is one of those at the looks. Without a common seed the two are compared as
    independent ones. As `statistics.difference` otherwise.
    """
    shared = sorted(seed for seed in values if seed in base)
    if not shared:
        return _apart(list(values.values()), list(base.values()), looks, relative)
    x = np.asarray([values[seed] for seed in shared], dtype=float)
    b = np.asarray([base[seed] for seed in shared], dtype=float)
    scale = float(b.mean()) if relative else 1.0
    if scale == 0:
        return None
    centre = float(x.mean() - b.mean()) / scale
    # The share of each run in the ratio of the means, linearised.
    influence = (x - (1 + centre) * b) / scale if relative else x - b
    return _around(centre, influence, (x - b) / scale, looks)


def _apart(
    values: Sequence[float], base: Sequence[float], looks: Looks, relative: bool
) -> Estimate | None:
    """The difference of runs without a common seed; degrees of freedom of the smaller number."""
    if not values or not base:
        return None
    x, b = np.asarray(values, dtype=float), np.asarray(base, dtype=float)
    scale = float(b.mean()) if relative else 1.0
    if scale == 0:
        return None
    centre = float(x.mean() - b.mean()) / scale
    n = min(len(x), len(b))
    low = high = None
    if n >= 2:
        ratio = 1 + centre if relative else 1.0
        error = math.hypot(
            float(x.std(ddof=1)) / math.sqrt(len(x)),
            ratio * float(b.std(ddof=1)) / math.sqrt(len(b)),
        )
        half = student_quantile((1 + level(looks)) / 2, n - 1) * error / abs(scale)
        low, high = centre - half, centre + half
    ends = sorted(((x.min() - b.max()) / scale, (x.max() - b.min()) / scale))
    return Estimate(centre, low, high, n, float(ends[0]), float(ends[1]))


def narrow(found: Estimate, looks: Looks) -> bool:
    """Whether half the width of an interval is at most the wanted part of the mean."""
    if found.low is None or found.high is None:
        return False
    return (found.high - found.low) / 2 <= looks.until * abs(found.mean)


def _around(centre: float, influence: np.ndarray, each: np.ndarray, looks: Looks) -> Estimate:
    n = len(influence)
    low = high = None
    if n >= 2 and np.ptp(influence) <= 1e-12 * max(1.0, abs(centre)):
        low = high = centre
    elif n >= 2:
        error = float(influence.std(ddof=1)) / math.sqrt(n)
        half = student_quantile((1 + level(looks)) / 2, n - 1) * error
        low, high = centre - half, centre + half
    return Estimate(centre, low, high, n, float(each.min()), float(each.max()))


def words(looks: Looks) -> str:
    """How the intervals are made, for the foot of a page."""
    schedule = looks.schedule
    return (
        f"This study repeats until half the width of the headline's intervals is at most "
        f"{100 * looks.until:.3g} % of the mean. It checks after {_few(schedule)} runs of a point. "
        f"Early stops do not make the intervals too narrow: they hold at all {len(schedule)} "
        f"checks together (repeated confidence intervals: Student's t at the level of "
        f"{100 * level(looks):.4g} % at each check)."
    )


def _few(schedule: Sequence[int]) -> str:
    if len(schedule) == 1:
        return str(schedule[0])
    if len(schedule) > 10:
        return f"{', '.join(map(str, schedule[:4]))}, … or {schedule[-1]}"
    return f"{', '.join(map(str, schedule[:-1]))} or {schedule[-1]}"
