import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study import mistakes

from flashcrowd.base import paths
from flashcrowd.base.errors import StudyError
from flashcrowd.base.units import Rate, Span
from flashcrowd.cli.options import load
from flashcrowd.study import Study

DOCUMENT: dict[str, Any] = {
    "format": 1,
    "title": "T",
    "network": {"groups": {"a": {}, "b": {"access": "ADSL 1/8"}}},
    "workloads": {"bulk": {"kind": "transfer", "from": "a", "to": "b", "size": "1 MB"}},
    "stacks": {"mine": {"base": "linux-6", "min_rto": "300 ms"}},
    "sweep": {"network.rtt": ["0 ms", "400 ms"]},
}


def with_values(**values: Any) -> Study:
    return Study.from_dict(
        DOCUMENT, set={path.replace("__", "."): it for path, it in values.items()}
    )


def test_a_value_replaces_that_of_the_file():
    assert with_values(network__loss="5 %").points()[0].values == {"network.rtt": "0 ms"}
    study = with_values(workloads__bulk__limit="1 Mbit/s", title="Other")
    assert study.title == "Other"
    assert study.resolved()["workloads"]["bulk"]["limit"] == "1 Mbit/s"


def test_a_value_reaches_into_what_a_name_stands_for():
    access = with_values(network__groups__b__access__up="2 Mbit/s").network.groups["b"].access
    assert access is not None
    assert (access.up, access.down) == (Rate("2 Mbit/s"), Rate("8 Mbit/s"))


def test_another_base_brings_its_own_values_along():
    mine = with_values(stacks__mine__base="windows-xp").stacks["mine"]
    assert (mine.controller, mine.min_rto) == ("new-reno", Span("300 ms"))
    access = with_values(network__groups__b__access__line="LAN 100").network.groups["b"].access
    assert access is not None
    assert (access.up, access.down) == (Rate("100 Mbit/s"), Rate("100 Mbit/s"))


def test_a_path_that_is_set_is_swept_no_more():
    study = with_values(network__rtt="7 ms")
    assert study.sweep == []
    assert study.network.rtt == Span("7 ms")


JOINT: dict[str, Any] = {
    **DOCUMENT,
    "sweep": [
        {
            "network.rtt": ["0 ms", "400 ms", "0 ms"],
            "workloads.bulk.limit": ["1 Mbit/s", "1 Mbit/s", "unlimited"],
        }
    ],
    "report": {"cases": ["near", "far", "free"]},
}


def test_a_path_that_alone_tells_points_apart_is_not_set():
    with pytest.raises(StudyError) as caught:
        Study.from_dict(JOINT, set={"network.rtt": "7 ms"})
    (problem,) = caught.value.problems
    assert problem.path == "network.rtt"
    assert "swept with workloads.bulk.limit" in problem.allowed
    assert "the values 1 and 2 of these are the same" in problem.allowed
    assert "[[sweep]]" in problem.hint
    both = {"network.rtt": "7 ms", "workloads.bulk.limit": "2 Mbit/s"}
    study = Study.from_dict(JOINT, set=both)
    assert study.sweep == []
    assert study.fixed == ("network.rtt", "workloads.bulk.limit")


def test_cases_stay_where_points_still_differ():
    axis = {"network.rtt": ["0 ms", "400 ms"], "workloads.bulk.limit": ["1 Mbit/s", "unlimited"]}
    given = {**JOINT, "sweep": [axis], "report": {"cases": ["near", "far"]}}
    study = Study.from_dict(given, set={"network.rtt": "7 ms"})
    assert study.sweep == [{"workloads.bulk.limit": ["1 Mbit/s", "unlimited"]}]
    assert study.report.cases == ["near", "far"]


def test_a_path_that_is_swept_no_more_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "s.toml"
    file.write_text(Study.from_dict(DOCUMENT).to_toml(), encoding="utf-8")
    load(file, ["network.rtt=7 ms"])
    said = capsys.readouterr().err
    assert "network.rtt is no longer swept: --set gives it one value\n" in said
    load(file, ["network.loss=5 %"])
    assert "no longer swept" not in capsys.readouterr().err


def test_repeats_and_seed_have_arguments_of_their_own():
    study = Study.from_dict(DOCUMENT, repeats=3, seed=9)
    assert (study.repeats, study.seed) == (3, 9)
    with pytest.raises(StudyError, match="repeats"):
        Study.from_dict(DOCUMENT, repeats=0)


@pytest.mark.parametrize(
    ("path", "value", "hint"),
    [
        ("network.rt", "7 ms", 'did you mean "network.rtt"?'),
        ("workloads.bulc.size", "7 MB", 'did you mean "workloads.bulk.size"?'),
        ("netwrk.rtt", "7 ms", 'did you mean "network.rtt"?'),
        ("network.rtt", "7", 'write "7 ms" or "7 s"'),
        ("network.groups.b.access.upp", "1 Mbit/s", 'did you mean "network.groups.b.access.up"?'),
    ],
)
def test_a_wrong_value_is_met_like_one_of_the_file(path: str, value: str, hint: str):
    with pytest.raises(StudyError) as caught:
        Study.from_dict(DOCUMENT, set={path: value})
    (problem,) = caught.value.problems
    assert (problem.path, problem.hint) == (path, hint)


ACCESS = "network.groups.leechers.access"
CROWD = "workloads.swarm.populations.leechers"
WORDS: list[tuple[str, Any, str, Any, str, Any]] = [
    # A whole and a part that are set; a sibling that is then there, and its value.
    (ACCESS, "5/50 Mbit/s", "up_queue", "77 packets", "down", "50 Mbit/s"),
    (ACCESS, "VDSL 10/50", "up", "2 Mbit/s", "down_queue", "400 packets"),
    (ACCESS, {"up": "3 Mbit/s"}, "down", "9 Mbit/s", "up", "3 Mbit/s"),
    (f"{ACCESS}.line", "LAN 100", "up", "2 Mbit/s", "framing", "38 B"),
    (f"{ACCESS}.up_queue", "fq-codel", "target", "7 ms", "flows", 1024),
    (f"{ACCESS}.jitter", "3 ms", "shape", "normal", "spread", "3 ms"),
    ("network.loss", "1 %", "side", "receiver", "probability", "1 %"),
    ("network.links.neck.queue", "codel", "target", "7 ms", "kind", "codel"),
    (f"{CROWD}.arrivals", "flash-crowd", "start", "3 s", "kind", "flash-crowd"),
    (f"{CROWD}.arrivals", {"kind": "poisson"}, "gap", "3 s", "kind", "poisson"),
    (f"{CROWD}.departure", {"kind": "after"}, "mean", "4 s", "kind", "after"),
    ("stacks.mine.base", "windows-xp", "min_rto", "123 ms", "controller", "new-reno"),
    ("profiles.mine.base", "libtorrent", "nagle", True, "fast.allowed_set", 5),
]


@pytest.mark.parametrize("turn", [1, -1], ids=["whole first", "part first"])
@pytest.mark.parametrize(("whole", "word", "key", "value", "other", "there"), WORDS)
def test_a_part_refines_a_whole_in_either_order(
    whole: str, word: Any, key: str, value: Any, other: str, there: Any, turn: int
):
    table = re.sub(r"\.(line|base)$", "", whole)
    both = [(whole, word), (f"{table}.{key}", value)][::turn]
    resolved = Study.from_dict(mistakes.study(), set=dict(both)).resolved()
    found = paths.look_up(resolved, table.split("."))
    assert found[key] == value
    assert paths.look_up(found, other.split(".")) == there


@pytest.mark.parametrize("turn", [1, -1], ids=["whole first", "part first"])
@pytest.mark.parametrize(
    ("whole", "word", "key", "value"),
    [
        (ACCESS, "none", "up", "1 Mbit/s"),
        (ACCESS, "5/50 Mbps", "up", "1 Mbit/s"),
        ("network.stack", "linux-6", "min_rto", "1 s"),
        (f"{CROWD}.profile", "libtorrent", "choker.slots", 7),
        (f"{CROWD}.departure", "at-once", "mean", "3 s"),
        (f"{CROWD}.arrivals", "flash-crowd", "gap", "3 s"),
    ],
)
def test_a_part_that_a_whole_has_no_room_for_is_refused(
    whole: str, word: Any, key: str, value: Any, turn: int
):
    both = [(whole, word), (f"{whole}.{key}", value)][::turn]
    with pytest.raises(StudyError, match=re.escape(whole)):
        Study.from_dict(mistakes.study(), set=dict(both))


def test_a_part_of_what_is_swept_is_refused_unless_the_whole_is_set():
    swept = {**mistakes.study(), "sweep": {ACCESS: ["ADSL 1/8", "ADSL 1/24"]}}
    part = {f"{ACCESS}.up": "2 Mbit/s"}
    with pytest.raises(StudyError) as caught:
        Study.from_dict(swept, set=part)
    (problem,) = caught.value.problems
    assert (problem.path, problem.hint) == (
        f"{ACCESS}.up",
        f"set `{ACCESS}` as well, and the value refines it",
    )
    for both in itertools.permutations({**part, ACCESS: "ADSL 1/24"}.items()):
        study = Study.from_dict(swept, set=dict(both))
        found = paths.look_up(study.resolved(), ACCESS.split("."))
        assert (found["up"], found["down"]) == ("2 Mbit/s", "24 Mbit/s")


RESOLVED = Study.from_dict(mistakes.study()).resolved()
PLACES = [
    place
    for place in paths.leaves(RESOLVED)
    if place[0] in ("network", "workloads", "timeline", "stop") and len(place) > 1
]


def _other(value: Any) -> Any:
    """Another value of the same kind, which may be possible."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return re.sub(r"^[0-9.]+", "7", value)
    return value


def _holds(found: Any, wanted: Any) -> bool:
    """Whether a table has every key of another one."""
    if isinstance(wanted, dict):
        return all(key in found and _holds(found[key], it) for key, it in wanted.items())
    return found == wanted


@given(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3, unique=True), st.booleans())
def test_what_is_set_is_read_back_or_refused(places: list[tuple[str, ...]], change: bool):
    """Wholes as they are resolved, and other values of their parts, in any order."""
    values: dict[str, Any] = {}
    for place in places:
        value = paths.look_up(RESOLVED, place)
        values[paths.join(place)] = _other(value) if change else value
    try:
        study = Study.from_dict(mistakes.study(), set=values)
    except StudyError:
        return
    resolved = study.resolved()
    expected = RESOLVED
    for place in sorted(places, key=len):
        expected = paths.replaced(expected, place, values[paths.join(place)])
    for place in places:
        assert _holds(paths.look_up(resolved, place), paths.look_up(expected, place)), place
