"""A crowd that is shrunk as docs/too-big.md says, in small: seconds instead of minutes."""

import re
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.base import toml_text
from flashcrowd.engines.simulation import Simulator
from flashcrowd.study import Study
from flashcrowd.study.bound import Lines, bound, bounds

STUDY = Path(__file__).parents[2] / "studies" / "too-big.toml"
PAGE = Path(__file__).parents[2] / "docs" / "too-big.md"
PRINTED = re.compile(r"^ +(\S.*?\S) +5 +(\d+) +\S+(?: %)? +(\d+) ", re.M)
"""A case, its median and its 95th percentile, as the study prints them."""
MULTIPLIED = re.compile(r"^\| (.+?) \| (\d+) × (\d+) s: (.+?) \| \2 × (\d+) s: (.+?) \|$", re.M)
"""A case whose file is divided, its times, and how far they are from those of the whole."""
WHOLE, HALF_THE_PLAYERS, HALF_THE_FILE = 0, 1, 3
CASES = {"whole": WHOLE, "half the players": HALF_THE_PLAYERS, "half the file": HALF_THE_FILE}


def small() -> Study:
    """The whole, half the players and half the file, of a fifth of the players and of the file."""
    document: dict[str, Any] = toml_text.loads(STUDY.read_text(encoding="utf-8"))
    lists = {
        "network.groups.slow.hosts": [20, 10, 20],
        "network.groups.fast.hosts": [20, 10, 20],
        "workloads.update.populations.origin.upload": ["800 kbit/s", "400 kbit/s", "800 kbit/s"],
        "workloads.update.size": ["1600 kB", "1600 kB", "800 kB"],
        "workloads.update.piece": ["32 KiB", "32 KiB", "16 KiB"],
        "workloads.update.populations.players.arrivals.spread": ["36 s", "36 s", "18 s"],
    }
    del document["report"]
    return Study.from_dict({**document, "sweep": [lists]})


def median_s(study: Study, index: int) -> float:
    engine = Simulator()
    tables = engine.run(study.points()[index].plan().parsed, 1, engine.handle())
    times = sorted(time for time in tables["downloads"]["duration_s"].to_pylist() if time)
    point = study.points()[index].scenario
    assert len(times) == bounds(point)["update"].downloads  # everybody has it
    return times[len(times) // 2]


def test_half_the_players_take_as_long_and_half_the_file_more_than_half_as_long():
    study = small()
    whole, players, file = (median_s(study, index) for index in range(3))
    assert 0.8 < players / whole < 1.25
    assert 0.5 < file / whole < 0.95


def test_the_lines_say_the_same_of_a_crowd_that_is_shrunk():
    points = Study.load(STUDY).points()
    found = {name: bounds(points[index].scenario)["update"] for name, index in CASES.items()}
    whole = found["whole"]
    assert found["half the players"].fastest_s == whole.fastest_s
    assert found["half the file"].fastest_s == whole.fastest_s / 2
    for each in found.values():
        assert each.from_peers(each.fastest_s) == whole.from_peers(whole.fastest_s)


def test_forty_gigabytes_have_the_shares_of_the_real_day_at_each_size():
    real = bound(40 * 10**9, [Lines(1, 20e9)], [Lines(300_000, 37.7e6, 200e6)])
    for point in Study.load(STUDY.with_name("forty-gigabytes.toml")).points():
        day = point.scenario.stop.horizon.seconds
        small = bounds(point.scenario)["game"]
        assert small.from_peers(day) == pytest.approx(real.from_peers(86_400))
        assert small.peers_bps / small.source_bps == real.peers_bps / real.source_bps
        assert small.fastest_s < day / 2


def test_the_times_that_are_multiplied_back_are_those_that_the_study_prints():
    text = PAGE.read_text(encoding="utf-8")
    printed = {case: (int(median), int(p95)) for case, median, p95 in PRINTED.findall(text)}
    found = MULTIPLIED.findall(text)
    assert {case for case, *_ in found} <= printed.keys()
    assert len(found) == 4
    for case, factor, median, of_median, p95, of_p95 in found:
        assert printed[case] == (int(median), int(p95))
        for time, whole, says in zip(
            printed[case], printed["the whole"], (of_median, of_p95), strict=True
        ):
            assert says == _compared(int(factor) * time / whole)


def _compared(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.1f} times as long"
    return f"{abs(100 * (ratio - 1)):.0f} % {'longer' if ratio > 1 else 'shorter'}"
