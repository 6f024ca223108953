"""What the lines alone say, and that no run is faster."""

from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashcrowd.base.amounts import duration
from flashcrowd.cli import bound_text, main
from flashcrowd.cli.bound_text import numbered
from flashcrowd.engines.simulation import Simulator
from flashcrowd.scenario.check import SHRINK
from flashcrowd.study import Study
from flashcrowd.study.bound import Bound, Lines, bound, bounds

MBIT = 1e6


def test_a_swarm_is_bound_by_the_longest_of_three_times():
    slow_source = bound(10**6, [Lines(1, 1 * MBIT)], [Lines(4, 10 * MBIT, 10 * MBIT)])
    assert slow_source.fastest_s == slow_source.copy_s == 8
    assert slow_source.reason == "the source's line"
    slow_lines = bound(10**6, [Lines(1, 100 * MBIT)], [Lines(4, 10 * MBIT, 0.5 * MBIT)])
    assert slow_lines.fastest_s == slow_lines.slowest_s == 16
    assert slow_lines.reason == "the slowest line down"
    many = bound(10**6, [Lines(1, 2 * MBIT)], [Lines(98, 1 * MBIT, 10 * MBIT)])
    assert many.fastest_s == many.together_s == pytest.approx(98 * 8 / 100)
    assert many.reason == "all lines up together"


def test_a_source_that_sends_nothing_is_one_sentence():
    said = bound_text._sentences(
        bound_text._Said("crowd", bound(10**6, [Lines(1, 0)], [Lines(2)]), None, True)
    )
    assert said == ["No download can end: the source sends nothing."]


def test_without_peers_the_source_sends_all_copies():
    alone = bound(10**6, [Lines(2, 1 * MBIT)], [Lines(10, 0, 10 * MBIT)])
    assert alone.fastest_s == alone.alone_s == 40
    assert (alone.reason, alone.total_bytes) == ("the source's line", 10**7)


def test_peers_send_what_the_source_cannot_in_the_time():
    players = bound(40 * 10**9, [Lines(1, 20e9)], [Lines(300_000, 37.7e6, 200e6)])
    assert players.total_bytes == 12 * 10**15
    assert players.alone_s / 86_400 == pytest.approx(55.6, abs=0.05)
    assert players.needed_bps(86_400) == pytest.approx(1.11e12, rel=0.01)
    assert players.from_peers(86_400) == pytest.approx(0.982, abs=0.0005)
    assert players.from_peers(players.alone_s) == 0


def test_only_the_fastest_lines_count_until_a_run_is_over():
    lines = [Lines(3, 0, 1 * MBIT), Lines(2, 0, 8 * MBIT)]
    assert bound(10**6, [Lines(1, inf)], lines, downloads=2).slowest_s == 1
    assert bound(10**6, [Lines(1, inf)], lines, downloads=3).slowest_s == 8
    replaced = bound(10**6, [Lines(1, inf)], lines, downloads=9, replaced=True)
    assert (replaced.downloads, replaced.slowest_s) == (9, 1)


def test_nobody_who_sends_nothing_is_ever_done():
    assert bound(10**6, [Lines(1, 0)], [Lines(2, 0, MBIT)]).fastest_s == inf
    assert bound(10**6, [Lines(1, MBIT)], []).total_bytes == 0


GROUPS = {
    "server": {"access": {"up": "10 Mbit/s", "down": "10 Mbit/s"}},
    "homes": {"hosts": 4, "access": "ADSL 1/8"},
}


def study(**more: Any) -> Study:
    return Study.from_dict({"format": 1, "title": "T", "network": {"groups": GROUPS}, **more})


def swarm(**peers: Any) -> dict[str, Any]:
    seeds = {"role": "seed", "group": "server", "upload": "2 Mbit/s"}
    populations = {"seeds": seeds, "homes": {"group": "homes", **peers}}
    return {"kind": "swarm", "size": "1 MB", "populations": populations}


def test_limits_of_clients_count_and_a_controller_is_none():
    found = bounds(study(workloads={"s": swarm(upload="100 kbit/s")}).scenario)["s"]
    assert (found.source_bps, found.peers_bps, found.down_bps) == (2e6, 0.4e6, 8e6)
    controlled = swarm(upload="100 kbit/s", upload_control="autolimit")
    assert bounds(study(workloads={"s": controlled}).scenario)["s"].peers_bps == 4e6


def test_a_change_to_a_faster_line_counts_from_the_beginning():
    change = {"at": "5 s", "change": "network.groups.homes.access.down", "to": "50 Mbit/s"}
    made = study(workloads={"s": swarm()}, timeline={"faster": change})
    assert bounds(made.scenario)["s"].down_bps == 50e6
    change["to"] = "1 Mbit/s"
    made = study(workloads={"s": swarm()}, timeline={"slower": change})
    assert bounds(made.scenario)["s"].down_bps == 8e6


def test_a_server_and_a_web_seed_are_sources():
    origin = {"kind": "origin", "host": "server", "files": "1 MB"}
    clients = {**origin, "populations": {"homes": {"group": "homes"}}}
    assert bounds(study(workloads={"o": clients}).scenario)["o"].alone_s == pytest.approx(3.2)
    seeded = {**swarm(profile="modern"), "web_seeds": ["o"]}
    found = bounds(study(workloads={"s": seeded, "o": origin}).scenario)
    assert list(found) == ["s"]
    assert found["s"].source_bps == 12e6


rates = st.sampled_from([200, 500, 1000, 3000, 8000])
crowds = st.fixed_dictionaries(
    {
        "up": rates,
        "down": rates,
        "slow": rates,
        "source": rates,
        "limit": st.sampled_from(["unlimited", "20 kB/s", "0 B/s"]),
        "hosts": st.integers(1, 4),
        "kilobytes": st.integers(20, 300),
        "client": st.sampled_from(["mainline-4.0.2", "modern", "libtorrent"]),
        "leaving": st.sampled_from(["never", "at-once"]),
        "seed": st.integers(1, 1000),
    }
)


@given(crowds)
@settings(deadline=None, max_examples=40)
def test_no_simulated_swarm_is_faster_than_its_bound(crowd: dict[str, Any]):
    """From the first arrival, at zero, to the last completion."""
    line = {"up": f"{crowd['up']} kbit/s", "down": f"{crowd['down']} kbit/s"}
    slow = {"up": f"{crowd['up']} kbit/s", "down": f"{crowd['slow']} kbit/s"}
    source = {"up": f"{crowd['source']} kbit/s", "down": "10 Mbit/s"}
    peers = {
        "group": ["fast", "slow"],
        "profile": crowd["client"],
        "upload": crowd["limit"],
        "departure": crowd["leaving"],
        "arrivals": {"kind": "flash-crowd", "spread": "0 s"},
    }
    seeds = {"role": "seed", "group": "server", "profile": crowd["client"]}
    document = {
        "format": 1,
        "title": "T",
        "network": {
            "rtt": "10 ms",
            "groups": {
                "server": {"access": source},
                "fast": {"hosts": crowd["hosts"], "access": line},
                "slow": {"hosts": crowd["hosts"], "access": slow},
            },
        },
        "workloads": {
            "swarm": {
                "kind": "swarm",
                "size": f"{crowd['kilobytes']} kB",
                "piece": "32 KiB",
                "populations": {"seeds": seeds, "peers": peers},
            }
        },
    }
    [point] = Study.from_dict(document).points()
    least = bounds(point.scenario)["swarm"].fastest_s
    engine = Simulator()
    tables = engine.run(point.plan().parsed, crowd["seed"], engine.handle())
    times = [time for time in tables["downloads"]["completed_s"].to_pylist() if time is not None]
    done = len(times) == 2 * crowd["hosts"]
    assert not done or max(times) >= least
    assert done or least > 0


def test_points_are_named_by_ranges():
    assert numbered([0, 1, 2, 3, 7, 9, 10]) == "points 0 to 3, 7, 9, 10"
    assert numbered([4]) == "point 4"
    assert numbered([0, 1], of=2) == "each point"


PATCH = """
format = 1
title = "A patch for everybody"

[network.groups.server]
access = { up = "20 Gbit/s", down = "20 Gbit/s" }

[network.groups.players]
hosts = 300000
access = { up = "37.7 Mbit/s", down = "200 Mbit/s" }

[workloads.patch]
kind = "swarm"
size = "40 GB"
piece = "4 MiB"

[workloads.patch.populations.origin]
role = "seed"
group = "server"

[workloads.patch.populations.players]
group = "players"

[stop]
horizon = "24 h"
"""


def checked(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["check", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_crowd_too_big_to_be_run_has_its_bound(tmp_path: Path, capsys: Any):
    path = tmp_path / "patch.toml"
    path.write_text(PATCH)
    assert checked(str(path)) == 2
    out, err = capsys.readouterr()
    assert "300001 hosts" in err
    assert SHRINK in err
    assert "patch: 40 GB × 300,000 = 12 PB." in out
    assert "The source alone takes 56 d at 20 Gbit/s." in out
    assert "All lines up together take 2.4 h at 11.3 Tbit/s." in out
    assert "1.11 Tbit/s are needed: peers or a CDN send at least 98 % of the bytes." in out
    assert "For 1 d, at least 9.7 % of the hosts must upload" in out


def test_another_mistake_is_told_alone(tmp_path: Path, capsys: Any):
    path = tmp_path / "patch.toml"
    path.write_text(PATCH.replace("hosts = 300000", "hosts = 3").replace('"players"', '"gamers"'))
    assert checked(str(path)) == 2
    assert capsys.readouterr().out == ""


def test_equal_bounds_of_a_sweep_are_told_once(tmp_path: Path, capsys: Any):
    path = tmp_path / "patch.toml"
    small = PATCH.replace("hosts = 300000", "hosts = 30").replace("40 GB", "40 MB")
    path.write_text(f'{small}\n[sweep]\nnetwork.rtt = ["10 ms", "20 ms"]\n')
    assert checked(str(path)) == 0
    out = capsys.readouterr().out
    assert out.count("40 MB × 30 = 1.2 GB") == 1
    assert "patch, each point:" in out


SHARES = """
[workloads.patch.populations.free-riders]
group = "players"
share = "0 %"
upload = "0 B/s"

[sweep]
workloads.patch.populations.free-riders.share = ["0 %", "50 %", "90 %", "100 %"]
network.rtt = ["10 ms", "20 ms"]
"""


def test_a_table_has_swept_values_a_verdict_and_the_share_that_must_upload(
    tmp_path: Path, capsys: Any
):
    """30 players at 37.7 Mbit/s and a source of 20: 9.6 Gbit in 40 s need 220 of 1131 Mbit/s."""
    path = tmp_path / "patch.toml"
    small = PATCH.replace("hosts = 300000", "hosts = 30").replace("40 GB", "40 MB")
    small = small.replace("20 Gbit/s", "20 Mbit/s").replace("24 h", "40 s")
    # Those with a share come first: the others take what is left.
    head, players, rest = small.partition("[workloads.patch.populations.players]")
    path.write_text(f"{head}{SHARES.partition('[sweep]')[0]}{players}{rest}[sweep]"
                    f"{SHARES.partition('[sweep]')[2]}")  # fmt: skip
    assert checked(str(path)) == 0
    rows = capsys.readouterr().out.splitlines()
    cells = {
        value: next(row for row in rows if f"(free-riders' share {value})" in row)
        for value in ("0 %", "50 %", "90 %", "100 %")
    }
    assert [row.endswith(": too short") for row in cells.values()] == [False, False, True, True]
    assert "network.rtt" not in "".join(cells.values())
    (share,) = [row for row in rows if "must upload" in row]
    assert "for 40 s (stop.horizon), at least 20 % of the hosts" in share


def test_the_least_share_is_the_one_with_which_the_lines_just_manage():
    def of(share: str) -> Bound:
        riders = {"group": "homes", "share": share, "upload": "0 B/s"}
        seeds = {"role": "seed", "group": "server"}
        crowd = {"seeds": seeds, "riders": riders, "homes": {"group": "homes"}}
        return bounds(study(workloads={"s": {**swarm(), "populations": crowd}}).scenario)["s"]

    least = of("0 %").least_share(2.5)
    assert least == of("50 %").least_share(2.5) == pytest.approx((12.8 - 10) / 4)
    assert of("25 %").fastest_s < 2.5 < of("50 %").fastest_s
    assert of("0 %").least_share(0.9) is None  # one line down takes 1 s
    assert of("0 %").least_share(2) is None  # all of them send 14 Mbit/s at most


def test_a_rounded_time_hides_at_most_five_per_cent():
    for tenths in range(11, 5000):
        for unit in (0.001, 0.1, 1, 60, 3600, 86_400):
            seconds = tenths / 10 * unit
            number, _, name = duration(seconds).partition(" ")
            sizes = {"d": 86_400, "h": 3600, "min": 60, "s": 1, "ms": 0.001}
            assert float(number) * sizes[name] == pytest.approx(seconds, rel=0.05)
