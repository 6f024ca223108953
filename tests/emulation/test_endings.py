"""A run of real programs ends when, how and why its simulation does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.clients.testbed import needs
from tests.emulation import forgiving_lab
from tests.emulation.left_behind import play_in

from flashcrowd._core import Plan
from flashcrowd.base.messages import Order
from flashcrowd.emulation import launch
from flashcrowd.engines.registry import engine
from flashcrowd.study import Study

Endings = Callable[..., list[tuple[str, str, float]]]
Tables = Mapping[str, Sequence[Mapping[str, Any]]]
Played = Callable[..., list[Tables]]

SWARM = """
format = 1
title = "Three people"
seed = 1

[network]
rtt = "20 ms"
stack = "linux-6"

[network.groups.homes]
hosts = 5
access = { up = "20 Mbit/s", down = "50 Mbit/s" }

[workloads.swarm]
kind = "swarm"
size = "256 kB"
piece = "16 KiB"
tracker = "homes-5"

[workloads.swarm.populations.seed]
role = "seed"
hosts = 1
group = "homes"
profile = "libtorrent"

[workloads.swarm.populations.people]
hosts = 3
group = "homes"
profile = "libtorrent"
"""

GAP = """arrivals = { kind = "times", at = ["0.2 s", "0.5 s", "6 s"] }
[stop]
horizon = "60 s"
stall = "4 s"
"""
"""The third one comes when the others have long been done."""

BEFORE_ANYBODY = """arrivals = { kind = "times", at = ["1 s", "1 s", "30 s"] }
[stop]
horizon = "60 s"
"""

IN_THE_MIDDLE = """arrivals = { kind = "times", at = ["0 s", "0 s", "0 s"] }
[stop]
horizon = "60 s"
"""

ORIGIN = """
format = 1
title = "Two people before a disk that takes half a minute"
seed = 1

[network]
rtt = "1 ms"
stack = "linux-6"

[network.groups.server]
access = { up = "1 Gbit/s", down = "1 Gbit/s" }

[network.groups.people]
hosts = 2
access = { up = "20 Mbit/s", down = "20 Mbit/s" }

[workloads.origin]
kind = "origin"
host = "server"
files = "1 MiB"
memory = "512 KiB"
extent = "64 KiB"
block = "16 KiB"
disk = { rate = "2 kB/s" }

[workloads.origin.populations.people]
group = "people"
arrivals = { spread = "0.1 s" }

[stop]
horizon = "20 s"
"""


THIN = """
format = 1
title = "A line on which a block takes longer than the stall"
seed = 1

[network]
rtt = "1 ms"
stack = "linux-6"

[network.groups.server]
access = { up = "1 Gbit/s", down = "1 Gbit/s" }

[network.groups.people]
hosts = 2
access = { up = "1 Mbit/s", down = "1 Mbit/s" }

[workloads.origin]
kind = "origin"
host = "server"
files = "2 MiB"
memory = "4 MiB"
extent = "1 MiB"
block = "1 MiB"
disk = { rate = "100 MB/s" }

[workloads.origin.populations.people]
group = "people"
arrivals = { spread = "0.1 s" }

[stop]
horizon = "40 s"
stall = "3 s"
"""

LEAVES = """
format = 1
title = "Three people, of whom the second one leaves early"
seed = 1

[network]
rtt = "1 ms"
stack = "linux-6"

[network.groups.server]
access = { up = "1 Gbit/s", down = "1 Gbit/s" }

[network.groups.people]
hosts = 3
access = { up = "2 Mbit/s", down = "2 Mbit/s" }

[workloads.origin]
kind = "origin"
host = "server"
files = "1000 kB"
memory = "1 MiB"
extent = "256 KiB"
block = "256 KiB"
disk = { rate = "100 MB/s" }

[workloads.origin.populations.people]
group = "people"
arrivals = { file = "people.csv" }

[stop]
horizon = "40 s"
"""
"""A block takes 1.1 s, the file 4.2 s."""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """The rows of a run, simulated first and then by other engines."""
    play_in(forgiving_lab, monkeypatch)

    def play(plan: Plan, seed: int, name: str) -> Tables:
        if name == "simulation":
            player = engine(name)
            tables = player.run(plan, seed, player.handle())
            return {name: table.to_pylist() for name, table in tables.items()}
        if name == "emulation":
            return launch.in_lab(plan, seed, launch.LabHandle())
        with monkeypatch.context() as patched:
            patched.setenv(forgiving_lab.LOOPBACK, "1")
            asked = Order(plan.to_json(), seed)
            return launch.in_process(forgiving_lab.__name__, asked, launch.LabHandle()).tables

    def found(study: str, *others: str) -> list[Tables]:
        path = tmp_path / "study.toml"
        path.write_text(study)
        (point,) = Study.load(path).points()
        return [play(point.plan().parsed, 1, name) for name in ("simulation", *others)]

    return found


@pytest.fixture
def endings(played: Played) -> Endings:
    """Outcome, reason and last instant of a run, simulated first and then by other engines."""

    def found(study: str, *others: str) -> list[tuple[str, str, float]]:
        rows = [tables["run"][0] for tables in played(study, *others)]
        return [(row["outcome"], row["reason"], row["end_s"]) for row in rows]

    return found


def test_nobody_stalls_while_nobody_waits(endings: Endings) -> None:
    needs("libtorrent")
    simulated, emulated = endings(SWARM + GAP, "emulation")
    assert simulated[:2] == emulated[:2] == ("completed", "")
    assert simulated[2] > 6
    assert emulated[2] > 6


@pytest.mark.parametrize("stay_s", [0.5, 3.0], ids=["before anybody came", "in the middle"])
def test_pieces_that_nobody_has_and_nobody_will_bring_end_a_run(
    stay_s: float, tmp_path: Path, endings: Endings
) -> None:
    needs("libtorrent")
    (tmp_path / "seed.csv").write_text(f"arrival [s],session [s]\n0,{stay_s}\n")
    people = BEFORE_ANYBODY if stay_s < 1 else IN_THE_MIDDLE
    leaves = 'role = "seed"\narrivals = { file = "seed.csv" }\nupload = "60 kB/s"\n'
    study = SWARM.replace('role = "seed"\n', leaves) + people
    simulated, emulated = endings(study, "emulation")
    # How far the seed came is each engine's own; before anybody came it is nowhere.
    words = r"swarm swarm: no seed left, (\d+) of 16 pieces missing, 0 of 3 leechers complete"
    for outcome, reason, end_s in (simulated, emulated):
        assert outcome == "stalled"
        found = re.fullmatch(words, reason)
        assert found is not None, reason
        assert found[1] == "16" if stay_s < 1 else 0 < int(found[1]) < 16
        assert stay_s <= end_s < 15


def test_an_origin_stalls_and_is_cut_off_in_the_same_words(endings: Endings) -> None:
    others = ("emulation", "loopback")
    found = endings(ORIGIN + 'stall = "2 s"\n', *others)
    for outcome, reason, end_s in found:
        assert outcome == "stalled"
        words = r"origin origin: no block reached any of 2 clients since 0\.\d{6} s"
        assert re.fullmatch(words, reason), reason
        assert 2 <= end_s < 6
    found = endings(ORIGIN.replace('"20 s"', '"2 s"'), *others)
    expected = ("horizon", "origin origin: 0 of 2 downloads are complete")
    assert [it[:2] for it in found] == [expected] * 3


def test_a_part_of_a_block_is_no_progress_on_any_engine(endings: Endings) -> None:
    for outcome, reason, end_s in endings(THIN, "emulation", "loopback"):
        words = r"origin origin: no block reached any of 2 clients since 0\.\d{6} s"
        assert (outcome, bool(re.fullmatch(words, reason))) == ("stalled", True), reason
        assert 3 <= end_s < 6
    cut = THIN.replace('"40 s"', '"2 s"')
    expected = ("horizon", "origin origin: 0 of 2 downloads are complete")
    assert [it[:2] for it in endings(cut, "emulation", "loopback")] == [expected] * 3


def test_a_client_that_leaves_has_whole_blocks_on_each_engine(
    tmp_path: Path, played: Played
) -> None:
    sessions = ("0,", "0,1.9", "0.5,")
    (tmp_path / "people.csv").write_text("arrival [s],session [s]\n" + "\n".join(sessions) + "\n")
    for tables in played(LEAVES, "emulation", "loopback"):
        assert (tables["run"][0]["outcome"], tables["run"][0]["reason"]) == ("completed", "")
        columns = ("peer", "pieces", "downloaded_bytes")
        found = [tuple(row[name] for name in columns) for row in tables["downloads"]]
        assert found == [(0, 4, 1_000_000), (1, 1, 1 << 18), (2, 4, 1_000_000)]
        left = [row["left_s"] - row["arrived_s"] for row in tables["downloads"]]
        assert left[1] == pytest.approx(1.9, abs=0.2)
        done = [row["completed_s"] is not None for row in tables["downloads"]]
        assert done == [True, False, True]
        assert tables["run"][0]["payload_bytes_delivered"] == 2_000_000 + (1 << 18)
        (origin,) = tables["origins"]
        assert (origin["downloads"], origin["completed"]) == (3, 2)
