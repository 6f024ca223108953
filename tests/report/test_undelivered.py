"""A dead network passes no check: what did not arrive has no time, counts nowhere, and is named."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console
from tests.report.conftest import Synthetic

import flashcrowd
from flashcrowd.base.errors import StudyError
from flashcrowd.cli import _status
from flashcrowd.report import answer, axis_words, compare, expectations, lacking, measures
from flashcrowd.report.headline import headline
from flashcrowd.report.points import points_of
from flashcrowd.report.summary import summary
from flashcrowd.store import Results
from flashcrowd.study import Study

pytestmark = pytest.mark.filterwarnings("ignore:.*nothing gets through")

HEAD: dict[str, Any] = {
    "format": 1,
    "title": "Dead or alive",
    "repeats": 3,
    "network": {
        "rtt": "40 ms",
        "groups": {"a": {"access": {"up": "10 Mbit/s", "down": "10 Mbit/s"}}, "b": {}},
    },
    "sweep": {"network.loss": ["0 %", "100 %"]},
    "stop": {"horizon": "400 s"},
}
ENDS = {"from": "a", "to": "b"}
FLOW = {"kind": "transfer", **ENDS}
WORKLOADS: dict[str, tuple[dict[str, Any], str, str]] = {
    "tcp": ({**FLOW, "size": "100 kB"}, "transfer time", "1000 s"),
    "utp": ({**FLOW, "size": "100 kB", "transport": "libtorrent"}, "transfer time", "1000 s"),
    "endless": ({**FLOW, "stop": "300 s"}, "goodput", "1 Gbit/s"),
    "web": ({"kind": "web", **ENDS}, "page time", "1000 s"),
    "ping": ({"kind": "ping", **ENDS, "interval": "10 s"}, "p95 ping", "1000 s"),
    "call": ({"kind": "call", **ENDS, "interval": "1 s"}, "one-way delay", "1000 s"),
    "download": (
        {"kind": "download", "from": "b", "to": "a", "size": "100 kB", "connections": 2},
        "download time",
        "1000 s",
    ),
    "origin": (
        {
            "kind": "origin",
            "host": "b",
            "files": "64 KiB",
            "populations": {"a": {"group": "a"}},
        },
        "download time",
        "1000 s",
    ),
    "swarm": (
        {
            "kind": "swarm",
            "size": "100 kB",
            "populations": {"b": {"group": "b", "role": "seed"}, "a": {"group": "a"}},
        },
        "download time",
        "1000 s",
    ),
}
"""Each with a measure of it and a bound that any number keeps."""


def study(name: str, **changes: Any) -> Study:
    workload, measure, below = WORKLOADS[name]
    expect = {"quick": {"measure": measure, "below": below}}
    return Study.from_dict({**HEAD, "workloads": {name: workload}, "expect": expect, **changes})


def ran(of: Study, out: Path) -> Results:
    return flashcrowd.run(of, out=out, progress=False)


@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_of_a_dead_network_counts(name: str, tmp_path: Path) -> None:
    results = ran(study(name), tmp_path)
    points = points_of(results)
    alive, dead = points.points
    assert {run.outcome for run in alive.runs} == {"completed"}
    ended = "horizon" if name == "swarm" else "undelivered"
    assert {run.outcome for run in dead.runs} == {ended}
    assert all(run.reason for run in dead.runs)
    for measure in measures.all_measures(results, points):
        assert measure.at(dead) is None or measure.failures, measure.name
    judged = {(each.where, each.outcome, each.why) for each in expectations.judge(results)}
    lacking = "3 of 3 runs did not end as planned"
    assert judged == {("loss 0 %", "kept", ""), ("loss 100 %", "undecided", lacking)}
    found = headline(results, points)
    assert found.measures
    for measure in found.measures:
        assert found.change(measure, dead) is None
    said = [it for it in answer.sentences(found, points) if "not compared" in it]
    assert said
    how = "cut off" if name == "swarm" else "undelivered"
    assert all(it.startswith(f"With a loss of 100 % (3 of 3 runs {how}), ") for it in said), said


SHARES = {"web": "unfinished pages", "ping": "unanswered pings", "call": "call loss"}


@pytest.mark.parametrize("name", SHARES)
def test_shares_of_what_failed_are_known(name: str, tmp_path: Path) -> None:
    results = ran(study(name), tmp_path)
    points = points_of(results)
    for measure in measures.named(results, flashcrowd.base.metrics.parse(SHARES[name])):
        found = measure.at(points.points[1])
        assert found is not None
        assert (found.mean, found.n) == (100.0, 3)


@pytest.fixture(name="lossy")
def _lossy(tmp_path: Path) -> Results:
    """Some of the flows at 8 % of loss get through; libtorrent gives up after a few losses."""
    size = {**WORKLOADS["utp"][0], "size": "60 kB"}
    changes = {
        "workloads": {"utp": size},
        "sweep": {"network.loss": ["0 %", "20 %"]},
        "repeats": 12,
    }
    return ran(study("utp", **changes), tmp_path / "lossy")


def test_those_that_fared_better_are_no_mean_of_the_point(lossy: Results) -> None:
    points = points_of(lossy)
    alive, some = points.points
    outcomes = [run.outcome for run in some.runs]
    lost = outcomes.count("undelivered")
    assert 0 < lost < 12
    found = headline(lossy, points)
    (measure,) = found.measures
    assert measure.name == "transfer time"
    assert len(measure.runs_of(some)) == 12 - lost
    assert found.change(measure, some) is None
    text = f"With a loss of 20 % ({lost} of 12 runs undelivered), transfer time is not compared."
    assert text in answer.sentences(found, points)
    judged = expectations.judge(lossy)
    assert [each.outcome for each in judged] == ["kept", "undecided"]
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(summary(lossy))
    shown = console.export_text()
    assert f"{lost} undelivered" in shown
    assert "transfer utp: 1 of 1 flows lost the connection, the first (flow 0 at " in shown
    assert len(alive.runs) == 12


def test_a_comparison_says_nothing_of_such_a_point(lossy: Results) -> None:
    compared = compare.compare(lossy, lossy, names=["old", "new"])
    (measure, *_) = compared.measures
    verdicts = {
        compared.setting(pair.point): pair.found.verdict for pair in compared.pairs(measure)
    }
    assert verdicts == {"loss 0 %": "equivalent", "loss 20 %": "undecided"}
    lost = lossy.tables["runs"].column("outcome").to_pylist().count("undelivered")
    said = f"{lost} of 24 runs of old did not deliver everything, and count in no mean: transfer"
    assert any(notice.startswith(said) for notice in compared.notices), compared.notices


def test_a_flow_that_was_stopped_before_its_end_has_no_time(tmp_path: Path) -> None:
    """Of two flows one is done when both are stopped: its time alone is no time of the transfer."""
    flows = {**WORKLOADS["tcp"][0], "size": "4 MB", "flows": 2, "spread": "4 s", "stop": "5 s"}
    one = study("tcp", workloads={"tcp": flows}, sweep={"network.loss": ["0 %"]}, repeats=5)
    results = ran(one, tmp_path)
    rows = results.tables["transfers"].to_pylist()
    for row in rows:
        assert (row["duration_s"] is None) == (row["bytes"] < 4_000_000)
    cut = {row["run"] for row in rows if row["duration_s"] is None}
    assert cut
    (measure,) = measures.named(results, flashcrowd.base.metrics.parse("transfer time")) or [None]
    if measure is not None:
        assert not cut & set(measure.of_run)
    assert all(each.outcome != "kept" for each in expectations.judge(results))


def test_a_group_of_which_some_were_stopped_has_no_download_time(tmp_path: Path) -> None:
    groups = {**HEAD["network"]["groups"], "a": {"hosts": 3}}
    slow = {**WORKLOADS["download"][0], "size": "4 MB", "spread": "4 s", "stop": "5 s"}
    lines = {"up": "20 Mbit/s", "down": "20 Mbit/s"}
    one = study(
        "download",
        workloads={"download": slow},
        sweep={"network.loss": ["0 %"]},
        network={**HEAD["network"], "groups": {**groups, "b": {"access": lines}}},
        repeats=5,
    )
    results = ran(one, tmp_path)
    rows = results.tables["fetches"].to_pylist()
    cut = {row["run"] for row in rows if row["duration_s"] is None}
    assert cut
    (measure,) = measures.named(results, flashcrowd.base.metrics.parse("download time")) or [None]
    if measure is not None:
        assert not cut & set(measure.of_run)
    assert all(each.outcome != "kept" for each in expectations.judge(results))


def test_the_measures_of_downloads_are_of_a_group_and_of_each_server(tmp_path: Path) -> None:
    groups = {"a": {"hosts": 2}, "b": {}, "c": {}}
    one = study(
        "download",
        workloads={"download": {**WORKLOADS["download"][0], "size": "4 MB", "mirrors": ["c"]}},
        network={"rtt": "40 ms", "groups": groups},
        sweep={"network.loss": ["0 %"]},
    )
    results = ran(one, tmp_path)
    said = ("download time", "download time in a", "server rate of download from c-1")
    for name in said:
        (measure,) = measures.named(results, flashcrowd.base.metrics.parse(name))
        assert len(measure.of_run) == 3, name
    rows = results.tables["fetches"].to_pylist()
    assert [row["download"] for row in rows[:2]] == ["download-1", "download-2"]
    with pytest.raises(StudyError, match="a server of a download"):
        study("download", report={"headline": ["server rate of download from d-1"]})


def test_an_expectation_of_a_swarm_that_was_stopped_is_not_kept(tmp_path: Path) -> None:
    swarm = {
        **WORKLOADS["swarm"][0],
        "size": "2 MB",
        "populations": {
            "b": {"group": "b", "role": "seed", "upload": "200 kB/s"},
            "a": {"group": "a", "arrivals": {"gap": "10 s"}},
        },
    }
    groups = {**HEAD["network"]["groups"], "a": {"hosts": 4}}
    one = study(
        "swarm",
        workloads={"swarm": swarm},
        sweep={"network.loss": ["0 %"]},
        network={**HEAD["network"], "groups": groups},
        timeline={"enough": {"at": "25 s", "stop": "swarm"}},
    )
    results = ran(one, tmp_path)
    assert set(results.tables["runs"].column("outcome").to_pylist()) == {"stopped"}
    (judged,) = expectations.judge(results)
    assert judged.found is not None
    assert judged.outcome == "undecided"
    assert judged.why.endswith("% never ended at loss 0 %")


#: What goes on, stays away and leaves as planned while the network dies under it: the quick ones
#: remain, and no run is anything but completed.
COMING = {"at": ["0 s", "4 s", "31 s", "31 s"], "leave": ["40 s"] * 4}
SURVIVORS: dict[str, tuple[dict[str, Any], str]] = {
    "origin": (
        {"populations": {"a": {"group": "a", "arrivals": COMING}}},
        "mean download time",
    ),
    "swarm": (
        {
            "populations": {
                "b": {"group": "b", "role": "seed", "upload": "200 kB/s"},
                "a": {"group": "a", "arrivals": COMING},
            }
        },
        "mean download time",
    ),
    "web": ({"page": "100 kB", "reading": "1 s", "stop": "60 s"}, "mean page time"),
    "ping": ({"interval": "1 s", "stop": "60 s"}, "p95 ping"),
    "call": ({"interval": "1 s", "stop": "60 s"}, "one-way delay"),
}


@pytest.mark.parametrize("name", SURVIVORS)
def test_a_network_that_dies_is_not_called_faster(name: str, tmp_path: Path) -> None:
    """From 30 s on nothing arrives; what arrived before was quicker, as the line was not full."""
    changes, measure = SURVIVORS[name]
    hosts = 4 if name in ("origin", "swarm") else 1
    groups = {"a": {"hosts": hosts}, "b": {"access": {"up": "2 Mbit/s", "down": "2 Mbit/s"}}}
    one = study(
        name,
        workloads={name: {**WORKLOADS[name][0], **changes}},
        network={**HEAD["network"], "groups": groups},
        timeline={"dies": {"at": "30 s", "change": "network.loss", "to": "0 %"}},
        sweep={"timeline.dies.to": ["0 %", "100 %"]},
        expect={
            "quick": {"measure": measure, "below": "1000 s"},
            "as-before": {"measure": measure, "change_below": "20 %"},
        },
    )
    results = ran(one, tmp_path)
    points = points_of(results)
    alive, dead = points.points
    assert {(run.outcome, run.reason) for run in dead.runs} == {("completed", "")}
    found = headline(results, points)
    assert found.measures
    for decisive in found.measures:
        assert decisive.at(dead) is not None
        assert decisive.missing(alive) == 0 < decisive.missing(dead)
        change = found.change(decisive, dead)
        assert change is None or change.mean > 0
    said = " ".join(answer.sentences(found, points))
    lost = flashcrowd.base.metrics.metric(found.measures[0].metric).lost
    share = lacking.share(found.measures[0], dead)
    assert f"leaves out {lost}: {share} with {axis_words.point(points, dead)}" in said
    assert "shorter" not in said
    assert "lower" not in said
    judged = {(it.name, it.where): it.outcome for it in expectations.judge(results)}
    assert judged["quick", alive.label] == "kept"
    assert judged["quick", dead.label] == "undecided"
    assert judged["as-before", dead.label] != "kept"


def test_a_network_that_is_slower_is_called_slower_though_some_left(tmp_path: Path) -> None:
    """Those who left would have been longer still: the change is what it says at least."""
    changes, measure = SURVIVORS["swarm"]
    coming = {"at": COMING["at"], "leave": ["none", "none", "none", "36 s"]}
    crowd = {**changes["populations"], "a": {"group": "a", "arrivals": coming}}
    groups = {**HEAD["network"]["groups"], "a": {"hosts": 4}}
    one = study(
        "swarm",
        workloads={"swarm": {**WORKLOADS["swarm"][0], "populations": crowd, "size": "400 kB"}},
        network={**HEAD["network"], "groups": groups},
        sweep={"workloads.swarm.populations.b.upload": ["200 kB/s", "20 kB/s"]},
        expect={"slower": {"measure": measure, "change_above": "10 %"}},
    )
    results = ran(one, tmp_path)
    points = points_of(results)
    found = headline(results, points)
    (decisive,) = found.measures
    assert decisive.missing(points.points[1]) == 0.25
    change = found.change(decisive, points.points[1])
    assert change is not None
    assert change.mean > 0.1
    assert [it.outcome for it in expectations.judge(results)] == ["kept"]


def test_strict_and_expect_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dead.toml"
    path.write_text(
        """
format = 1
title = "Dead"
repeats = 2
network = { rtt = "40 ms", loss = "90 %", groups = { a = {}, b = {} } }
[workloads.bulk]
kind = "transfer"
from = "a"
to = "b"
size = "10 MB"
transport = "libtorrent"
[expect.quick]
measure = "transfer time"
below = "4 s"
"""
    )
    words = ["run", str(path), "--out", str(tmp_path / "r"), "--quiet"]
    assert _status(words) == 0
    warned = "2 of 2 runs did not deliver everything: transfer bulk: 1 of 1 flows lost"
    assert warned in capsys.readouterr().err
    assert _status([*words, "--strict"]) == 3
    assert _status([*words, "--expect"]) == 5
    assert _status(["expect", str(tmp_path / "r")]) == 5


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        (
            {"workloads.game.limit": ["unlimited", "1 Mbit/s", "2 Mbit/s"]},
            "50 % with no game limit, 50 % with 1 Mbit/s and 50 % with 2 Mbit/s",
        ),
        ({"network.loss": ["2 %", "none"]}, "50 % with a loss of 2 % and 50 % with no loss"),
        (
            {"network.rtt": ["50 ms"], "network.loss": ["1 %", "2 %", "3 %", "4 %"]},
            "50 % with a loss of 1 %, 50 % with 2 % and some at 2 other points",
        ),
        (
            {"network.rtt": ["50 ms", "1 s"], "network.loss": ["none"]},
            "50 % with an RTT of 50 ms and 50 % with 1 s",
        ),
        (
            {"network.rtt": ["50 ms"], "workloads.game.limit": ["unlimited"]},
            "50 % of all",
        ),
    ],
)
def test_points_whose_means_leave_out_something_are_named_as_in_the_answer(
    sweep: dict[str, list[str]], words: str
) -> None:
    runs, pings = [], []
    for run, values in enumerate(product(*sweep.values())):
        swept = dict(zip(sweep, values, strict=True))
        good = {"outcome": "completed", "reason": "", "end_s": 2.0}
        runs.append({"run": run, "point": run, "repeat": 0, "seed": 0, **swept, **good})
        for sent, rtt in ((0.0, 0.02), (1.0, None)):
            pings.append({"run": run, "ping": "game", "sent_s": sent, "rtt_s": rtt})
    tables = {"runs": pa.Table.from_pylist(runs), "pings": pa.Table.from_pylist(pings)}
    made = Synthetic(tables, {"title": "?", "workloads": {"game": {"kind": "ping"}}})
    points = points_of(made)
    (measure, *_) = headline(made, points).measures
    (said,) = lacking.sentences(measure, points)
    assert said == f"The {measure.name} leaves out pings that were never answered: {words}."
