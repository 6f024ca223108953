"""What a measuring window holds counts as soon as the window has closed."""

import io
import tomllib
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import flashcrowd
from flashcrowd.report import answer
from flashcrowd.report.headline import headline
from flashcrowd.report.measures import observations
from flashcrowd.report.points import points_of
from flashcrowd.report.summary import summary
from flashcrowd.study import Study

STUDY = """
format = 1
title = "A download and a game beside a swarm that is cut off"
repeats = 2

[network]
rtt = "20 ms"

[network.groups.homes]
hosts = 4
access = "VDSL 10/50"

[workloads.crowd]
kind = "swarm"
size = "100 MB"

[workloads.crowd.populations.seed]
role = "seed"
group = "homes"
hosts = 1

[workloads.crowd.populations.leechers]
role = "leecher"
group = "homes"
hosts = 2
departure = "all-done"

[workloads.fetch]
kind = "transfer"
from = "homes-4"
to = "homes-3"
flows = 2
limit = "1 Mbit/s"

[workloads.game]
kind = "ping"
from = "homes-4"
to = "homes-3"
interval = "100 ms"

[measures]
window = { from = "2 s", to = "5 s" }

[stop]
horizon = "8 s"
"""


def run(tmp_path: Any, **values: Any) -> Any:
    (tmp_path / "s.toml").write_text(STUDY, encoding="utf-8")
    study = Study.load(tmp_path / "s.toml", set=values)
    return flashcrowd.run(study, tmp_path / "out", progress=False)


def means(results: Any) -> dict[str, tuple[float, int]]:
    (point,) = points_of(results).points
    measures = {each.metric.name: each.measure() for each in observations(results)}
    found = {name: measure.at(point) for name, measure in measures.items()}
    return {name: (it.mean, it.n) for name, it in found.items() if it is not None}


def test_what_had_been_measured_counts_and_what_was_cut_off_does_not(tmp_path: Any) -> None:
    results = run(tmp_path)
    assert set(results.tables["runs"]["outcome"].to_pylist()) == {"horizon"}
    found = means(results)
    assert found["ping"][1] == found["goodput"][1] == found["utilisation"][1] == 2
    assert found["goodput"][0] == pytest.approx(1.0, rel=0.05)
    # Payload of the window over the time of the window, not over that of the flows.
    assert found["total goodput"][0] == pytest.approx(2 * found["goodput"][0], rel=1e-9)
    assert not {"download time", "last completion", "seed upload", "seed idle time"} & set(found)


def test_a_window_that_the_horizon_cuts_does_not_count(tmp_path: Any) -> None:
    found = means(run(tmp_path, **{"measures.window.to": "9 s"}))
    assert not {"ping", "goodput", "total goodput"} & set(found)


@pytest.mark.parametrize(
    "window",
    [{"measures.window.to": "end"}, {"measures.windows": {"pings": {}, "transfers": {}}}],
)
def test_what_goes_on_as_long_as_the_run_counts_up_to_the_horizon(
    tmp_path: Any, window: Any
) -> None:
    found = means(run(tmp_path, **window))
    assert found["ping"][1] == found["goodput"][1] == found["total goodput"][1] == 2
    assert "download time" not in found


@pytest.mark.parametrize("end", ["size", "stop"])
def test_a_transfer_that_the_horizon_cuts_does_not_count(tmp_path: Any, end: str) -> None:
    values = {
        "measures.window.to": "end",
        f"workloads.fetch.{end}": {"size": "9 MB", "stop": "9 s"}[end],
    }
    assert not {"goodput", "total goodput", "round-trip time"} & set(means(run(tmp_path, **values)))


def test_the_answer_speaks_of_the_call_beside_a_swarm_that_is_cut_off(tmp_path: Any) -> None:
    call = {"kind": "call", "from": "homes-4", "to": "homes-3"}
    study = tomllib.loads(STUDY)
    study |= {"workloads": {"crowd": study["workloads"]["crowd"], "talk": call}, "measures": {}}
    results = flashcrowd.run(Study.from_dict(study), tmp_path / "out", progress=False)
    points = points_of(results)
    said = " ".join(answer.sentences(headline(results, points), points))
    assert 'No run has a number for "mean download time".' in said
    assert "One-way delay of talk from homes-4 is " in said


def test_a_swept_window_is_that_of_its_point(tmp_path: Any) -> None:
    swept = STUDY.replace("repeats = 2", "repeats = 1") + (
        '\n[sweep]\n"measures.window.to" = ["5 s", "6 s", "9 s"]\n'
    )
    (tmp_path / "s.toml").write_text(swept, encoding="utf-8")
    results = flashcrowd.run(tmp_path / "s.toml", tmp_path / "out", progress=False)
    (ping,) = (each.measure() for each in observations(results) if each.metric.name == "ping")
    assert [len(ping.runs_of(point)) for point in points_of(results).points] == [1, 1, 0]
    (total,) = (each for each in observations(results) if each.metric.name == "total goodput")
    assert list(total.values)[:2] == pytest.approx([2.0, 2.0], rel=0.05)


def test_where_the_number_of_flows_is_swept_one_flow_has_a_total(tmp_path: Any) -> None:
    swept = STUDY + '\n[sweep]\n"workloads.fetch.flows" = [1, 2]\n'
    (tmp_path / "s.toml").write_text(swept, encoding="utf-8")
    results = flashcrowd.run(tmp_path / "s.toml", tmp_path / "out", progress=False)
    (total,) = (each for each in observations(results) if each.metric.name == "total goodput")
    assert list(total.values) == pytest.approx([1.0, 2.0, 1.0, 2.0], rel=0.05)


def test_an_invalid_run_never_counts(tmp_path: Any) -> None:
    results = run(tmp_path)
    rows = results.tables["runs"].to_pylist()
    for row in rows:
        row["outcome"] = "invalid"
    tables = {name: results.tables[name] for name in results.tables}
    tables["runs"] = pa.Table.from_pylist(rows, schema=tables["runs"].schema)
    changed = SimpleNamespace(study=results.study, provenance={}, tables=tables)
    assert means(changed) == {}


def test_the_summary_counts_those_runs(tmp_path: Any) -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(summary(run(tmp_path)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "2 horizon" in text
    assert "–" not in text
