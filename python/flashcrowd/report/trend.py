"""Where numbers along an ordered axis begin to change, turn, and change no more."""

from __future__ import annotations

from collections.abc import Callable

Differ = Callable[[int, int], bool]

#: After this number of levels without a difference, the trend has not begun.
_FLAT = 3

_ENDS = ("first", "last")


def trend(
    means: dict[int, float], moves: Differ, differ: Differ
) -> tuple[list[list[int]], bool, bool] | None:
    """First and last level of a trend, and where it turns or bends; whether it bends, or settles.

    Where the ends hardly differ and nothing turns there is no trend.

    Args:
        means: the mean at each level, in order.
        moves: whether the difference of two levels matters.
        differ: whether it does, and the runs show it.
    """
    order = list(means)
    turning = _turning(order, means, differ)
    if len(turning) != len(_ENDS):
        return (turning, False, False) if turning else None
    # Level is only what hardly differs, not what the runs cannot tell apart.
    bend, end = _bend(order, moves), order[-_flat(order[::-1], moves)]
    settles = end != order[-1]
    if bend is None or bend >= end:
        return [[order[0]], [end]], False, settles
    return [[order[0]], [bend], [end]], True, settles


def _turning(order: list[int], means: dict[int, float], differ: Differ) -> list[list[int]]:
    """First and last level of a trend, and between them where it turns; empty if it has none.

    A level within the ends is where it turns if it differs from both of them, to one side.
    """
    first, last = order[0], order[-1]
    for extreme in (min, max):
        inner = extreme(order[1:-1], key=means.__getitem__)
        beyond = extreme(means[first], means[last], means[inner]) == means[inner]
        if beyond and differ(inner, first) and differ(inner, last):
            return [[first], [inner], [last]]
    return [[first], [last]] if differ(first, last) else []


def _bend(order: list[int], moves: Differ) -> int | None:
    """The last of at least three levels from the first on that hardly differ from it."""
    flat = _flat(order, moves)
    return order[flat - 1] if flat >= _FLAT else None


def _flat(order: list[int], moves: Differ) -> int:
    """How many levels from the first on hardly differ from it; the last one does."""
    flat = 1
    while flat < len(order) - 1 and not moves(order[0], order[flat]):
        flat += 1
    return flat
