"""Whole runs over links that follow a trace, through the command line and the tables."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from flashcrowd import _core
from flashcrowd.cli import main
from flashcrowd.engines.simulation import Simulator
from flashcrowd.plan.plan import Plan
from flashcrowd.study import Study

QUEUES: list[Any] = ["50 packets", "codel", "fq-codel", "pie", "red", "cake"]
PACKET_BITS = 1500 * 8
HEADER = "time [s],rate [Mbit/s]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "steps.csv").write_text(HEADER + "0,4\n2,0.5\n4,0\n5,6\n")
    (tmp_path / "same.csv").write_text(HEADER + "0,4\n0.7,4\n1,4\n")
    # 4 Mbit/s: a packet of 1500 B each 3 ms.
    (tmp_path / "each3").write_text("".join(f"{3 * n}\n" for n in range(1, 101)))
    (tmp_path / "bursts").write_text("10\n" * 5 + "11\n40\n40\n400\n")
    return tmp_path


def study(folder: Path, rate: Any, queue: Any = "50 packets", **more: Any) -> Study:
    document = {
        "format": 1,
        "title": "Over a trace",
        "network": {
            "rtt": "30 ms",
            "groups": {"a": {}, "b": {}},
            "links": {"line": {"rate": rate, "queue": queue, "back": {"rate": "5 Mbit/s"}}},
            "paths": {"p": {"between": ["a", "b"], "through": ["line"]}},
        },
        "workloads": {
            "bulk": {"kind": "transfer", "from": "a", "to": "b", "stop": "12 s", "flows": 2},
            "pings": {"kind": "ping", "from": "b", "to": "a", "interval": "100 ms", "stop": "12 s"},
        },
        "measures": {"series": {"link-rate": "100 ms", "queue-delay": "100 ms"}},
        "stop": {"horizon": "12 s"},
        **more,
    }
    return Study.from_dict(document, directory=folder)


def status(*words: str) -> int | str | None:
    """The exit status of a command line."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def plan(made: Study) -> _core.Plan:
    return made.points()[0].plan().parsed


def tables(made: Study, seed: int = 1) -> dict[str, pa.Table]:
    return {name: pa.table(table) for name, table in _core.simulate(plan(made), seed).items()}


@pytest.mark.parametrize("queue", QUEUES)
def test_a_trace_of_one_rate_gives_the_tables_of_the_rate(folder: Path, queue: Any) -> None:
    plain = tables(study(folder, "4 Mbit/s", queue))
    # PIE and RED reckon with the rate of the last 100 ms, which is the same.
    for end in ("repeat", "hold"):
        traced = tables(study(folder, {"file": "same.csv", "end": end}, queue))
        for name, table in plain.items():
            assert traced[name].equals(table), name


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("file", ["steps.csv", "each3", "bursts"])
def test_no_more_is_carried_than_the_trace_offers(folder: Path, file: str, queue: Any) -> None:
    made = study(folder, {"file": file}, queue)
    found = tables(made)
    rate = made.scenario.network.links["line"].rate
    assert rate is not None
    capacity = rate.capacity  # type: ignore[union-attr]
    length = capacity.length_ns()
    offered = capacity.bits(length) * (12 * 10**9 // length) + capacity.bits(12 * 10**9 % length)
    links = pl.DataFrame(found["links"])
    [carried, utilisation] = (
        links.filter(pl.col("link") == "line").select("bytes", "utilisation").row(0)
    )
    assert 0 < carried * 8 <= offered
    # The packet in transmission counts by its bits.
    assert 0 <= utilisation - carried * 8 / offered < PACKET_BITS / offered
    assert utilisation <= 1
    # Two flows keep a queue of steps and even opportunities nearly full.
    assert utilisation > (0.1 if file == "bursts" else 0.6)
    # A sample has what left in 100 ms.
    rates = pl.DataFrame(found["series"]).filter(
        (pl.col("what") == "link-rate") & (pl.col("source") == "line")
    )
    most = {"steps.csv": 6e6, "each3": 34 * PACKET_BITS / 0.1, "bursts": 9 * PACKET_BITS / 0.1}
    assert rates["value"].max() <= most[file] + 10  # type: ignore[operator]


def test_nothing_arrives_in_an_outage(folder: Path) -> None:
    found = tables(study(folder, {"file": "steps.csv"}))
    pings = pl.DataFrame(found["pings"]).filter(pl.col("rtt_s").is_not_null())
    answered = (pings["sent_s"] + pings["rtt_s"]).to_list()
    # The trace lasts for 6 s; from 4 to 5 s, and from 10 to 11 s, its rate is zero.
    dead = [at for at in answered if 4.05 < at < 5.0 or 10.05 < at < 11.0]
    assert not dead
    assert len([at for at in answered if 5.0 < at < 10.0]) > 20


def test_a_window_counts_what_was_offered_in_it(folder: Path) -> None:
    window = {"from": "4 s", "to": "6 s"}
    found = tables(study(folder, {"file": "steps.csv"}, measures={"window": window}))
    line = pl.DataFrame(found["links"]).row(0, named=True)
    # Of 2 s, one is dead and one has 6 Mbit/s.
    assert line["utilisation"] == pytest.approx(line["bytes"] * 8 / 6e6, abs=PACKET_BITS / 6e6)
    assert 0.8 < line["utilisation"] <= 1


def test_changes_in_place_are_counted_too(folder: Path) -> None:
    timeline = {
        "dip": {"at": "3 s", "change": "network.links.line.rate", "to": {"file": "steps.csv"}},
        "end": {"at": "6 s", "change": "network.links.line.rate", "to": "2 Mbit/s"},
    }
    found = tables(study(folder, "4 Mbit/s", timeline=timeline))
    line = pl.DataFrame(found["links"]).row(0, named=True)
    # 3 s of 4 Mbit/s; a trace that begins then, 2 s of 4 and 1 of 0.5; 6 s of 2.
    offered = 12e6 + 8.5e6 + 12e6
    assert 0 <= line["utilisation"] - line["bytes"] * 8 / offered < PACKET_BITS / offered
    assert 0.8 < line["utilisation"] <= 1


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("after", ["400 kbit/s", "4 Mbit/s", "40 Mbit/s", {"file": "steps.csv"}])
def test_a_full_link_is_full_whatever_its_rate_becomes(
    folder: Path, after: Any, queue: Any
) -> None:
    timeline = {"change": {"at": "11 s", "change": "network.links.line.rate", "to": after}}
    found = tables(study(folder, "4 Mbit/s", queue, timeline=timeline))
    line = pl.DataFrame(found["links"]).row(0, named=True)
    assert (0.5 if after == "40 Mbit/s" else 0.9) < line["utilisation"] <= 1
    rates = pl.DataFrame(found["series"]).filter(
        (pl.col("what") == "link-rate") & (pl.col("source") == "line") & (pl.col("t_s") <= 11)
    )
    assert rates["value"].max() <= 4e6 + 10  # type: ignore[operator]
    assert rates.filter(pl.col("t_s") > 2)["value"].mean() > 3.5e6  # type: ignore[operator]


def test_the_need_goes_by_the_mean_rate(folder: Path) -> None:
    rates = ("4 Mbit/s", {"file": "same.csv"}, {"file": "each3"}, {"file": "steps.csv"})
    needs = Simulator().needs([plan(study(folder, rate)) for rate in rates])
    packets = [need.packets for need in needs if need is not None]
    assert packets[0] == packets[1]
    assert packets[2] == pytest.approx(packets[0], rel=0.02)
    # 15 Mbit in 6 s.
    assert packets[3] == pytest.approx(packets[0] * 2.5 / 4, rel=0.05)
    for made, need in ((rates[0], packets[0]), (rates[3], packets[3])):
        sent = sum(tables(study(folder, made))["links"]["packets"].to_pylist())
        assert need / 2 < sent < need * 2


PHONE = """
format = 1
title = "On a phone"
[network.groups.phone]
access = {{ {access} }}
[network.groups.server]
[workloads.download]
kind = "transfer"
from = "server"
to = "phone"
size = "200 kB"
"""


def test_a_study_with_a_trace_from_file_to_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "phone.toml"
    path.write_text(PHONE.format(access='up = "1 Mbit/s", down = { file = "bursts" }'))
    assert status("check", str(path), "--all") == 0
    checked = capsys.readouterr().out
    assert 'capacity = "opportunities 10 10 10 10 10 11 40 40 400"' in checked
    assert status("draw", str(path)) == 0
    drawing = capsys.readouterr().out
    assert "↓ 270 kbit/s in the mean" in drawing.replace("\u00a0", " ")
    assert 'class="capacity"' in drawing
    out = folder / "results"
    assert status("run", str(path), "--out", str(out)) == 0
    assert status("report", str(out)) == 0
    page = (out / "report.html").read_text()
    assert "Capacity of the links by their traces" in page
    assert (out / "figures" / "capacity.svg").exists()
    transfers = pl.read_parquet(out / "tables" / "transfers.parquet")
    [time] = (transfers["end_s"] - transfers["start_s"]).to_list()
    # 200 kB and their headers are some 138 packets, and nine opportunities come in 400 ms.
    assert 138 / 9 * 0.4 < time < 2 * 138 / 9 * 0.4
    # The plan that is kept has the trace, so the file may go.
    (folder / "bursts").unlink()
    [kept] = (out / "plans").iterdir()
    network = Plan.from_json(kept.read_text()).data["network"]
    assert network.get("traces", [])[0].get("at_ms") == [10, 10, 10, 10, 10, 11, 40, 40, 400]
    study_json = json.loads((out / "study.json").read_text())
    assert study_json["network"]["groups"]["phone"]["access"]["down"]["file"] == "bursts"


def test_a_bad_trace_is_told_at_the_prompt(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.csv").write_text(HEADER + "0,4\n1,x\n")
    path = folder / "bad.toml"
    path.write_text(PHONE.format(access='down = { file = "bad.csv" }'))
    assert status("check", str(path)) == 2
    told = capsys.readouterr().err
    assert "network.groups.phone.access.down" in told
    assert 'bad.csv line 3 has "x"' in told
    assert "a rate as a number" in told
