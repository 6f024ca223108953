"""Runs of bytes against a set of positions."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.http.ranges import Ranges

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 40)), max_size=30)


@given(STEPS, st.integers(0, 45), st.integers(0, 45))
def test_runs_are_a_set_of_positions(steps, low, high):
    ranges, positions = Ranges(), set()
    for adds, start, end in steps:
        if adds:
            ranges.add(start, end)
            positions |= set(range(start, end))
        else:
            ranges.remove(start, end)
            positions -= set(range(start, end))
        assert ranges.bytes == len(positions)
    runs = list(ranges)
    assert {it for start, end in runs for it in range(start, end)} == positions
    assert all(start < end for start, end in runs)
    assert all(one[1] < two[0] for one, two in pairwise(runs))
    gaps = list(ranges.gaps(low, high))
    assert {it for start, end in gaps for it in range(start, end)} == (
        set(range(low, high)) - positions
    )
    assert ranges.holds(low, high) == (set(range(low, high)) <= positions)
    assert ranges.prefix == next(it for it in range(50) if it not in positions)
    assert list(Ranges(runs)) == runs
