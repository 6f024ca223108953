from collections.abc import Callable
from typing import Any

import pyarrow as pa

from flashcrowd.report import arrange
from flashcrowd.report.points import read
from flashcrowd.report.setting_names import short_name
from flashcrowd.report.sweep_values import scale, shown
from flashcrowd.store import schema

Swarm = Callable[..., Any]


def test_points_carry_their_sweep_values_and_runs(swarm: Swarm) -> None:
    points = read(swarm(repeats=4, extras=False).tables["runs"])
    assert [axis.name for axis in points.axes] == ["RTT", "loss"]
    assert len(points.points) == 6
    assert points.baseline.label == "RTT 0 ms, loss 0 %"
    assert points.count() == "n = 4"


def test_no_column_of_the_schema_is_taken_for_a_swept_setting() -> None:
    ours = [column.field for column in (schema.RUN, *schema.RUN_KEYS)]
    ours += list(schema.ENGINE_TABLES["run"].schema)
    fields = [pa.field(field.name, field.type) for field in ours]
    layout = pa.schema([*fields, pa.field("network.rtt", pa.string())])
    row = {"run": 0, "point": 0, "repeat": 0, "seed": 1, "outcome": "completed"}
    runs = pa.Table.from_pylist([row | {"network.rtt": "1 ms"}], schema=layout)
    assert [axis.paths for axis in read(runs).axes] == [("network.rtt",)]


def test_settings_that_change_together_are_one_axis(swarm: Swarm) -> None:
    runs = swarm(rtts_ms=(0, 100), losses=("0 %",), extras=False).tables["runs"]
    both = runs.append_column("workloads.crowd.upload", runs.column("network.rtt"))
    points = read(both)
    assert [axis.paths for axis in points.axes] == [
        ("network.rtt", "workloads.crowd.upload"),
        ("network.loss",),
    ]


def test_stalled_runs_are_kept_and_marked(swarm: Swarm) -> None:
    points = read(swarm(stalled=True, extras=False).tables["runs"])
    bad = [run for point in points.points for run in point.runs if not run.good]
    assert [(run.outcome, run.repeat) for run in bad] == [("stalled", 0)]
    assert len(points.points[1].good_runs) == 5


def test_names_are_as_short_as_they_can_be() -> None:
    paths = ["network.rtt", "crowd.seed.upload", "crowd.leechers.upload"]
    assert short_name(paths[0], paths) == "RTT"
    assert short_name(paths[1], paths) == "seed upload limit"


def test_a_setting_says_whose_it_is() -> None:
    for path, name in (
        ("network.groups.home.access.up_queue", "home upload queue"),
        ("workloads.backup.transport", "backup transport"),
        ("workloads.swarm.populations.leechers.upload", "leechers' upload limit"),
        ("workloads.swarm.populations.people.departure", "people's departure"),
        ("network.groups.home.access.down", "home download rate"),
        ("network.links.bottleneck.queue", "bottleneck queue"),
        ("network.groups.home.access", "home access"),
        ("network.loss", "loss"),
    ):
        assert short_name(path, [path]) == name


def test_quantities_of_one_family_share_an_axis() -> None:
    found = scale(["0 s", "200 ms", "1 s"])
    assert found is not None
    assert (found.values, found.unit) == ((0.0, 200.0, 1000.0), "ms")
    assert scale(["20 KiB/s", "1 MiB/s"]) is not None
    assert scale(["5 %", "1 s"]) is None
    assert scale(["cubic", "reno"]) is None


def test_values_read_as_people_say_them() -> None:
    assert [shown(v) for v in (True, None, 3.0, "400 ms")] == ["on", "none", "3", "400 ms"]


def test_the_longest_numeric_axis_becomes_the_abscissa(swarm: Swarm) -> None:
    points = read(swarm(extras=False).tables["runs"])
    plan = arrange.layout(points)
    assert plan.along == 0
    assert [[line.label for line in panel.lines] for panel in plan.panels] == [
        ["loss 0 %", "loss 5 %"]
    ]
    curves = arrange.curves(points)
    assert [panel.title for panel in curves.panels] == ["loss 0 %", "loss 5 %"]
    assert [line.label for line in curves.panels[0].lines] == ["0 ms", "200 ms", "400 ms"]
