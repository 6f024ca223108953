"""Curves over time, a panel for each point or for each value of an axis."""

import numpy as np
import pytest
from tests.report.conftest import swarm
from tests.report.test_answer import crossed, transfers

from flashcrowd.report import measures
from flashcrowd.report.charts.lines import Band, Frame, line_figure
from flashcrowd.report.charts.means import means
from flashcrowd.report.points import Point, points_of, read


def test_a_later_panel_may_hold_larger_numbers_than_the_first() -> None:
    # What is cut off fails in conftest.py.
    points = read(swarm().tables["runs"])

    def band(point: Point) -> Band:
        return Band(np.arange(5.0), np.full(5, 10.0**point.index))

    figure = line_figure(points, band, Frame("delay", "time (s)", "delay (ms)", "Delays."))
    assert figure is not None
    assert figure.svg.log


@pytest.mark.parametrize(("count", "letters"), [(36, 5), (36, 40), (60, 5), (36, 90)])
def test_a_figure_has_room_for_many_names_and_for_long_ones(count: int, letters: int) -> None:
    # A warning, as of panels without room, is an error of a test.
    names = {"x" * letters + str(i): [10.0 + i, 11.0 + i, 12.0 + i] for i in range(count)}
    queues = ("10 packets", "20 packets", "30 packets")
    as_ticks = transfers({name: {"a": runs} for name, runs in names.items()})
    as_lines = crossed({(name, queue): runs for name, runs in names.items() for queue in queues})
    for found in (as_ticks, as_lines):
        (goodput,) = [
            each.measure() for each in measures.observations(found) if each.metric.name == "goodput"
        ]
        assert means(goodput, points_of(found), "goodput") is not None
