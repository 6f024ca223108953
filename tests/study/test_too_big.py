"""A crowd that is shrunk as docs/too-big.md says, in small: seconds instead of minutes."""

from pathlib import Path
from typing import Any

from flashcrowd import toml_text
from flashcrowd.engines.simulation import Simulator
from flashcrowd.study import Study
from flashcrowd.study.bound import bounds

STUDY = Path(__file__).parents[2] / "studies" / "too-big.toml"
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
    tables = engine.run(study.points()[index].plan().to_json(), 1, engine.handle())
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
    for bound in found.values():
        assert bound.from_peers(bound.fastest_s) == whole.from_peers(whole.fastest_s)
