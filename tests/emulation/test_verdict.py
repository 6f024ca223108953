"""What of an emulated run's punctuality makes it invalid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flashcrowd.emulation.self_test import packet_s
from flashcrowd.emulation.verdict import BAD_SECONDS, violations
from flashcrowd.study import Study

SECOND = {"late_p99_s": 1e-4, "oversleep_p99_s": 1e-3, "busy": 0.1}


def report(bad: int, seconds: int = 100, **second: float) -> Any:
    """A lab's report in which so many seconds are other ones."""
    rows = [SECOND | second] * bad + [SECOND] * (seconds - bad)
    return {"seconds": rows, "interface_drops": 0, "refused_writes": 0, "carrier": None}


@pytest.mark.parametrize(
    ("least_rtt_s", "slowest_s", "limit_s"),
    [(0.02, 0.0, 1e-3), (0.4, 0.0, 4e-3), (0.02, 0.0234, 2.34e-3), (0.4, 0.0234, 4e-3)],
)
def test_lateness_is_measured_by_the_round_trip_and_the_slowest_link(
    least_rtt_s: float, slowest_s: float, limit_s: float
) -> None:
    few, many = int(100 * BAD_SECONDS), int(100 * BAD_SECONDS) + 1
    late: dict[str, Any] = {"late_p99_s": 1.01 * limit_s}
    assert violations(report(few, **late), least_rtt_s, slowest_s) == []
    (said,) = violations(report(many, **late), least_rtt_s, slowest_s)
    assert f"later than {1e3 * limit_s:.3g} ms in {many} of 100 seconds" in said
    assert violations(report(100, late_p99_s=0.99 * limit_s), least_rtt_s, slowest_s) == []


def test_everything_that_was_exceeded_is_said() -> None:
    found = report(100, late_p99_s=1.0, oversleep_p99_s=1.0, busy=1.0)
    found |= {"interface_drops": 3, "refused_writes": 2}
    assert len(violations(found, 0.1, 0.0)) == 5


@pytest.mark.parametrize(
    ("change", "expected_s"),
    [
        ({}, 12e-3),
        ({"network.groups.far.access.up": "unlimited"}, 0.6e-3),
        # A ping to a host whose line is faster is held to more.
        ({"network.groups.right.access": "fibre 100/100"}, 0.6e-3),
    ],
)
def test_the_slowest_link_is_that_of_the_fastest_pair(
    tmp_path: Path, change: dict[str, str], expected_s: float
) -> None:
    path = tmp_path / "study.toml"
    path.write_text("""
format = 1
title = "Two ways"
[network]
rtt = "20 ms"
[network.groups.left]
access = { up = "20 Mbit/s", down = "20 Mbit/s" }
[network.groups.right]
access = { up = "1 Mbit/s", down = "8 Mbit/s" }
[network.groups.far]
access = { up = "500 kbit/s", down = "unlimited" }
[workloads.near]
kind = "ping"
from = "left"
to = "right"
[workloads.far]
kind = "ping"
from = "left"
to = "far"
[stop]
horizon = "9 s"
""")
    (point,) = Study.load(path, set=change).points()
    assert packet_s(point.plan().parsed) == pytest.approx(expected_s)
