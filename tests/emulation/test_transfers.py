"""The kernel's TCP over the emulated network, beside the model's over the simulated one."""

import re
from pathlib import Path

import pytest
from tests.late import late

import flashcrowd
from flashcrowd.cli import _status
from flashcrowd.engines import registry
from flashcrowd.store import Results
from flashcrowd.study import Study
from flashcrowd.study.runner import run

pytestmark = [pytest.mark.clocked, pytest.mark.usefixtures("measured_once")]

REPEATS = 2
"""A neighbour of this machine may be busy for so many runs."""
PRECISE = 0.002
"""Seconds: what a machine that is busy with other tests adds to a round trip, most of the time."""


def ran(study: Path | Study, engine: str, out: Path) -> Results:
    """The results of one run; the test is left out on a machine that is late each time."""
    playing = registry.engine(engine)
    playing.repeat_invalid = REPEATS
    results = run(study, out=out, progress=False, engine=playing)
    played = only(results, "runs")
    if played["outcome"] == "invalid":
        assert not played["reason"].startswith("self-test"), "the network is not the plan's"
        late(f"{1 + REPEATS} times, {played['reason']}")
    return results


def only(results: Results, table: str) -> dict:
    (row,) = results.tables[table].to_pylist()
    return row


def test_a_transfer_takes_as_long_as_in_the_simulation(study: Path, tmp_path: Path) -> None:
    simulated = only(ran(study, "simulation", tmp_path / "s"), "transfers")
    results = ran(study, "emulation", tmp_path / "e")
    emulated = only(results, "transfers")
    assert emulated["bytes"] == simulated["bytes"] == 4_000_000
    assert emulated["goodput_bps"] == pytest.approx(simulated["goodput_bps"], rel=0.08)
    assert emulated["min_rtt_s"] == pytest.approx(simulated["min_rtt_s"], abs=PRECISE)
    assert emulated["mean_rtt_s"] == pytest.approx(simulated["mean_rtt_s"], rel=0.25)
    assert emulated["retransmits"] > 0, "slow start fills the queue"
    assert results.manifest.engine.name == "emulation"
    link = {row["link"]: row for row in results.tables["links"].to_pylist()}["bottleneck"]
    assert link["max_queue_packets"] == 50
    assert link["utilisation"] > 0.8
    row = only(results, "runs")
    assert row["packets_delivered"] + row["packets_dropped"] <= row["packets_sent"]
    series = {row["what"] for row in results.tables["series"].to_pylist()}
    assert series == {"queue-delay", "goodput", "window", "rtt"}


def test_a_ping_takes_the_round_trip_of_the_plan(study: Path, tmp_path: Path) -> None:
    loaded = Study.load(study, set={"workloads.bulk.size": "3 kB"})
    results = ran(loaded, "emulation", tmp_path / "e")
    trips = [row["rtt_s"] for row in results.tables["pings"].to_pylist() if row["rtt_s"]]
    assert trips
    # 84 bytes at 10 Mbit/s both ways are 134 us.
    assert min(trips) == pytest.approx(0.0501344, abs=PRECISE)
    assert min(trips) >= 0.0501


def test_a_call_has_the_delay_of_the_way_in_both_directions(study: Path, tmp_path: Path) -> None:
    call = '[workloads.call]\nkind = "call"\nfrom = "left"\nto = "right"\nstop = "1500 ms"\n'
    study.write_text(f"{study.read_text()}\n{call}")
    loaded = Study.load(study, set={"workloads.bulk.size": "2 MB"})
    rows = {
        engine: {
            (row["from"], row["start_s"]): row
            for row in ran(loaded, engine, tmp_path / engine).tables["calls"].to_pylist()
        }
        for engine in ("simulation", "emulation")
    }
    keys = {("left-1", 0.0), ("left-1", 1.0), ("right-1", 0.0), ("right-1", 1.0)}
    assert rows["simulation"].keys() == rows["emulation"].keys() == keys
    for (sender, start), row in rows["emulation"].items():
        assert (row["to"], row["sent"]) == (
            "right-1" if sender == "left-1" else "left-1",
            50 if start == 0 else 25,
        )
    back = rows["emulation"]["right-1", 0.0]
    # The way back has acknowledgements on it, and no queue; 200 bytes at 10 Mbit/s are 160 us.
    assert back["lost"] == 0
    assert back["mean_delay_s"] == pytest.approx(0.02516, abs=PRECISE)
    assert back["jitter_s"] < PRECISE


def test_pages_are_those_of_the_simulation(study: Path, tmp_path: Path) -> None:
    web = """
[workloads.web]
kind = "web"
from = "right"
to = "left"
users = 2
connections = 2
page = { median = "20 kB", sigma = 1.0, tail_from = "100 kB", largest = "200 kB" }
reading = "100 ms"
stop = "3 s"
"""
    study.write_text(f"{study.read_text()}\n{web}")
    loaded = Study.load(study, set={"workloads.bulk.size": "3 MB"})
    pages = {
        engine: {
            (row["user"], row["page"]): row
            for row in ran(loaded, engine, tmp_path / engine).tables["pages"].to_pylist()
        }
        for engine in ("simulation", "emulation")
    }
    both = pages["simulation"].keys() & pages["emulation"].keys()
    assert len(both) > 6
    for key in both:
        simulated, emulated = (pages[it][key] for it in ("simulation", "emulation"))
        assert emulated["bytes"] == simulated["bytes"]
        if emulated["first_byte_s"] is not None:
            # A round trip to connect and one for the request, behind what the transfer queues.
            assert 0.1 <= emulated["first_byte_s"] - emulated["start_s"] < 2
    assert pages["emulation"][0, 0]["start_s"] == pytest.approx(0, abs=0.05)
    done = [row for row in pages["emulation"].values() if row["end_s"] is not None]
    assert len(done) > 4


@pytest.mark.parametrize("controller", ["new-reno", "bbr"])
def test_the_kernels_controllers_are_set(controller: str, study: Path, tmp_path: Path) -> None:
    text = study.read_text().replace('stack = "linux-6"', 'stack = "other"')
    study.write_text(f'{text}\n[stacks.other]\nbase = "linux-6"\ncontroller = "{controller}"\n')
    loaded = Study.load(study, set={"workloads.bulk.size": "1 MB"})
    results = ran(loaded, "emulation", tmp_path / "e")
    assert only(results, "transfers")["bytes"] == 1_000_000


def test_each_segment_is_acknowledged_if_the_stack_does_that(study: Path, tmp_path: Path) -> None:
    """What is lost is acknowledged at once in any case, so that the queue holds all there is."""
    text = study.read_text().replace('stack = "linux-6"', 'stack = "other"')
    own = 'base = "linux-6"\ndelayed_ack.segments = 1'
    study.write_text(f"{text}\n[stacks.other]\n{own}\n")
    queue = {"network.links.bottleneck.queue": "300 packets"}
    alone = {"workloads.bulk.size": "1 MB", "workloads.bystander.stop": "200 ms"}
    results = ran(Study.load(study, set=queue | alone), "emulation", tmp_path / "e")
    packets = {row["link"]: row["packets"] for row in results.tables["links"].to_pylist()}
    assert packets["bottleneck back"] == pytest.approx(packets["bottleneck"], rel=0.05)


def test_the_timeline_changes_network_and_workloads(study: Path, tmp_path: Path) -> None:
    changes = """
[timeline.faster]
at = "1.5 s"
change = "workloads.bulk.limit"
to = "6 Mbit/s"

[timeline.narrower]
at = "3 s"
change = "network.links.bottleneck.rate"
to = "2 Mbit/s"
"""
    text = study.read_text().replace('size = "4 MB"', 'stop = "5 s"\nlimit = "1 Mbit/s"')
    text = text.replace('"20 s"', '"5 s"').replace("queue-delay =", "link-rate =")
    study.write_text(text + changes)
    rates = [
        (row["t_s"], row["value"] / 1e6)
        for row in ran(study, "emulation", tmp_path / "e").tables["series"].to_pylist()
        if row["what"] == "link-rate" and row["source"] == "bottleneck"
    ]

    def mean(begin: float, end: float) -> float:
        values = [value for at, value in rates if begin < at <= end]
        return sum(values) / len(values)

    # Pings are 0.02 Mbit/s, headers 3.6 %.
    assert mean(0.5, 1.5) == pytest.approx(1.05, rel=0.1)
    assert mean(2, 3) == pytest.approx(6.2, rel=0.1)
    assert mean(3.2, 4.8) == pytest.approx(2.0, rel=0.1)


def test_what_no_program_plays_is_refused_before_anything_starts(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study.read_text().replace('stack = "linux-6"', 'stack = "windows-xp"')
    ends = 'from = "left"\nto = "right"\ntransport = "libutp"\n'
    study.write_text(f'{text}\n[workloads.web]\nkind = "web"\n{ends}')
    words = ["run", str(study), "--engine", "emulation", "--out", str(tmp_path / "e")]
    assert _status(words) == 2
    said = capsys.readouterr().err
    assert "pages go over the kernel's TCP" in said
    assert "delayed_ack" in said
    assert "Nothing was run." in said
    assert not (tmp_path / "e").exists()


def test_both_engines_are_compared(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = Study.load(study, set={"workloads.bulk.size": "1 MB"}, repeats=2)
    for engine in ("simulation", "emulation"):
        flashcrowd.run(loaded, out=tmp_path / engine, progress=False, engine=engine)
    folders = [str(tmp_path / engine) for engine in ("simulation", "emulation")]
    assert _status(["compare", *folders]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^Transfer time is .*(?:emulation|simulation)", said, re.MULTILINE), said
