from pathlib import Path
from typing import Any

import pytest

from flashcrowd.cli.options import load
from flashcrowd.errors import StudyError
from flashcrowd.study import Study
from flashcrowd.units import Rate, Span

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
