"""Curves over time, a panel for each point or for each value of an axis."""

import numpy as np
from tests.report.conftest import swarm

from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.points import Point, read


def test_a_later_panel_may_hold_larger_numbers_than_the_first() -> None:
    # What is cut off fails in conftest.py.
    points = read(swarm().tables["runs"])

    def band(point: Point) -> Band:
        return Band(np.arange(5.0), np.full(5, 10.0**point.index))

    figure = line_figure(points, band, Frame("delay", "time (s)", "delay (ms)", "Delays."))
    assert figure is not None
    assert figure.svg.log
