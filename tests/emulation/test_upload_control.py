"""Upload controllers beside real clients: the table that a simulation fills, filled by both."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.testbed import needs
from tests.late import ended

import flashcrowd
from flashcrowd.emulation import self_test
from flashcrowd.emulation.requirements import impossible
from flashcrowd.store.results import Results
from flashcrowd.study import Study

pytestmark = pytest.mark.usefixtures("measured_once")

STUDY = """
format = 1
title = "Seeds with upload controllers, behind a modem each"
seed = 1
repeats = 1

[network]
rtt = "30 ms"
stack = "linux-6"

[network.groups.home]
hosts = 2
access = { up = "2 Mbit/s", down = "8 Mbit/s" }

[network.groups.server]
hosts = 3

[workloads.seeding]
kind = "swarm"
size = "16 MB"
piece = "256 KiB"
tracker = "server-1"

[workloads.seeding.populations.one]
role = "seed"
group = "home"
hosts = 1
profile = "libtorrent"
upload_control = { name = "autolimit", reflector = ["server-2", "server-3"], probe_size = "100 B" }

[workloads.seeding.populations.two]
role = "seed"
group = "home"
hosts = 1
profile = "libtorrent"
upload = "200 kB/s"
upload_control = { name = "fixed", limit = "60 kB/s", reflector = "server-2", interface = "exact" }

[workloads.seeding.populations.crowd]
group = "server"
hosts = 1
profile = "libtorrent"
upload = "0 B/s"

[timeline.hand]
at = "4 s"
change = "workloads.seeding.populations.one.upload"
to = "3 kB/s"

[measures.series]
upload-limit = "1 s"

[stop]
horizon = "7 s"
"""


@pytest.fixture
def controlled(tmp_path: Path) -> Path:
    """Two seeds, played by libtorrent: `autolimit` beside one, a fixed limit beside the other."""
    needs("libtorrent")
    path = tmp_path / "controlled.toml"
    path.write_text(STUDY)
    return path


def emulated(study: Path, out: Path) -> Results:
    results = flashcrowd.run(study, out=out, progress=False, engine="emulation")
    (run,) = results.tables["runs"].to_pylist()
    ended(run, "horizon")
    return results


def of(results: Results, population: str) -> list[dict]:
    rows = results.tables["control"].to_pylist()
    return [row for row in rows if row["population"] == population]


def test_controllers_beside_libtorrent_fill_the_table_of_the_simulation(
    controlled: Path, tmp_path: Path
) -> None:
    results = emulated(controlled, tmp_path / "e")
    simulated = flashcrowd.run(controlled, out=tmp_path / "s", progress=False)
    assert results.tables["control"].schema == simulated.tables["control"].schema
    for engine in (results, simulated):
        rows = engine.tables["control"].to_pylist()
        assert [row["t_s"] for row in rows] == sorted(row["t_s"] for row in rows)
        assert {row["host"] for row in rows} == {"home-1", "home-2"}
        # Both are asked once a second, from some instant of the first second on.
        assert 5 <= len(of(engine, "one")) <= 8
        heard = [row for row in of(engine, "one") if row["rtt_s"] is not None]
        assert heard, "reflectors answer"
        assert all(row["rtt_s"] >= row["base_rtt_s"] >= 0.03 for row in heard)
        assert {row["limit_bps"] for row in of(engine, "two")[1:]} == {480_000}
        assert {row["phase"] for row in of(engine, "two")} == {"holding"}
        assert all(row["rtt_s"] is None for row in of(engine, "two")), "a fixed limit has no probes"
        limits = [row for row in engine.tables["series"].to_pylist() if row["value"] == 480_000]
        assert {(row["what"], row["source"]) for row in limits} == {("upload-limit", "home-2")}
        # It begins to search at a few kB/s.
        assert 0 < of(engine, "one")[2]["limit_bps"] < 1_000_000
    # For one seed both begin at the same instant after their clients, but for what is late.
    begun = [of(engine, "one")[0]["t_s"] for engine in (results, simulated)]
    assert begun[0] > begun[1] - 0.05
    # A user's hand is a ceiling for the real loop.
    assert of(results, "one")[-1]["limit_bps"] == 24_000


def test_the_ways_to_reflectors_are_measured(controlled: Path) -> None:
    plan = next(iter(Study.load(controlled).points())).plan().parsed
    named = [host["name"] for host in plan.network["hosts"]]
    pairs = self_test._pairs(plan, plan.workloads[0])
    reached = {(named[one], named[other]) for one, other in pairs}
    assert {("home-1", "server-2"), ("home-2", "server-2")} <= reached


def test_transmission_and_qbittorrent_are_controlled(controlled: Path, tmp_path: Path) -> None:
    needs("transmission", "qbittorrent")
    one, both, two = STUDY.partition("[workloads.seeding.populations.two]")
    one = one.replace('role = "seed"\n', 'role = "seed"\nprogram = "transmission"\n')
    two = two.replace('role = "seed"\n', 'role = "seed"\nprogram = "qbittorrent"\n')
    controlled.write_text(one + both + two.replace('"exact"', '"qbittorrent"'))
    results = emulated(controlled, tmp_path / "e")
    # Whole KiB/s, and whole kB/s.
    assert {row["limit_bps"] for row in of(results, "two")} == {8 * 58 * 1024}
    last = of(results, "one")[-1]
    assert last["limit_bps"] == 24_000
    assert last["base_rtt_s"] >= 0.03
    listed = {
        (row["population"], row["setting"].removeprefix("upload_control.")): row["given"]
        for row in results.tables["programs"].to_pylist()
        if row["setting"].startswith("upload")
    }
    assert listed["one", "probe_size"].startswith("44 B")
    assert listed["one", "interface.step"] == "1000 B/s"
    assert "ceiling" in listed["one", "upload"]
    assert "ceiling" in listed["two", "upload"]
    # A fixed limit has no probes, and the interface is the one that the study asks for.
    assert {name for population, name in listed if population == "two"} == {"upload", "lateness"}


def test_a_program_that_autolimit_does_not_know_is_refused(controlled: Path) -> None:
    controlled.write_text(STUDY.replace('role = "seed"\n', 'role = "seed"\nprogram = "aria2"\n'))
    plan = next(iter(Study.load(controlled).points())).plan().parsed
    said = list(impossible(plan))
    assert len(said) == 2
    assert "no interface to aria2, only to libtorrent, qbittorrent, transmission" in said[0]
    assert "population one" in said[0]


OWN = """
upload_control = { name = "auto-speed-v1", reflector = ["server-2", "server-3", "server-4"] }
"""


def biglybt(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """A seed that BiglyBT plays with the Auto-Speed that it has itself."""
    one, _, rest = STUDY.partition("[workloads.seeding.populations.two]")
    crowd = rest[rest.index("[workloads.seeding.populations.crowd]") :]
    one = one.replace("[network.groups.server]\nhosts = 3", "[network.groups.server]\nhosts = 4")
    one = (
        one[: (begin := one.index("upload_control"))]
        + 'program = "biglybt"'
        + OWN
        + one[one.index("\n", begin) :]
    )
    for before, after in changes:
        assert before in one + crowd
        one, crowd = one.replace(before, after), crowd.replace(before, after)
    path = tmp_path / "biglybt.toml"
    path.write_text(one + crowd)
    return path


def impossible_of(study: Path) -> list[str]:
    plan = next(iter(Study.load(study).points())).plan().parsed
    return [it for it in impossible(plan) if "biglybt" in it]


def test_biglybt_controls_itself_alone_and_wants_three_nodes_to_ping(tmp_path: Path) -> None:
    needs("biglybt")
    assert impossible_of(biglybt(tmp_path)) == []
    (said,) = impossible_of(biglybt(tmp_path, ("auto-speed-v1", "autolimit")))
    assert "has upload controllers of its own alone; choose auto-speed-v1 or auto-speed-v2" in said
    (said,) = impossible_of(biglybt(tmp_path, (', "server-4"', "")))
    assert "chooses among 3 nodes of its DHT before it pings one, and there are 2" in said


@pytest.mark.slow
def test_biglybt_pings_nodes_over_the_line_and_moves_its_limit(tmp_path: Path) -> None:
    needs("biglybt")
    hand = STUDY[STUDY.index("[timeline.hand]") : STUDY.index("[measures.series]")]
    study = biglybt(tmp_path, (hand, ""), ('horizon = "7 s"', 'horizon = "120 s"'))
    results = emulated(study, tmp_path / "e")
    rows = of(results, "one")
    heard = [row["rtt_s"] for row in rows if row["rtt_s"] is not None]
    assert len(heard) > 5
    # The path has 30 ms, and the clock of BiglyBT steps of 25 ms.
    assert all(0.005 <= rtt < 5.0 for rtt in heard), heard
    limits = [row["limit_bps"] for row in rows if row["limit_bps"] is not None]
    assert len(set(limits)) > 3
    # Its steps are of 1 KiB/s.
    assert all(limit % 8192 == 0 for limit in limits)
    listed = {row["setting"] for row in results.tables["programs"].to_pylist()}
    assert {"upload_control.name", "upload_control.reflector"} <= listed
