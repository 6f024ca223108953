"""Arrivals, sessions and rates from files: what is read, and what is refused with its line."""

import contextlib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from flashcrowd.base.errors import StudyError
from flashcrowd.base.units import Span, UnitError
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import SwarmWorkload
from flashcrowd.scenario.arrival_file import read_arrivals
from flashcrowd.scenario.arrivals import Arrivals, Rates, Times
from flashcrowd.scenario.files import Files
from flashcrowd.study import Study
from flashcrowd.study.point import Point
from flashcrowd.study.schema import study_schema

ARRIVALS: TypeAdapter[Any] = TypeAdapter(Arrivals)


def study(text: str, folder: Path, *, hosts: int = 3, **population: Any) -> Study:
    (folder / "a.csv").write_text(text, encoding="utf-8")
    document = {
        "format": 1,
        "title": "Made for a test",
        "network": {"groups": {"seed": {}, "homes": {"hosts": hosts}}},
        "workloads": {
            "swarm": {
                "kind": "swarm",
                "size": "1 MB",
                "populations": {
                    "seed": {"role": "seed", "group": "seed"},
                    "people": {"group": "homes", "arrivals": {"file": "a.csv"}, **population},
                },
            }
        },
    }
    return Study.from_dict(document, directory=folder)


def people(point: Point) -> Any:
    """The population in question, as the plan has it."""
    return workload(point.plan().parsed, 0, SwarmWorkload)["populations"][1]


def lowered(made: Study, key: str = "arrivals") -> dict[str, Any]:
    (point,) = made.points()
    return people(point)[key]


def test_instants_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    made = study("# made up\narrival [ms]\n2000\n\n0\n12.5\n", tmp_path)
    assert lowered(made) == {"kind": "times", "at_ns": [2_000_000_000, 0, 12_500_000]}


def test_a_second_column_is_a_session_or_a_departure(tmp_path: Path) -> None:
    ends = [5_000_000_000, None, 130_000_000_000]
    for text in (
        "\ufeffarrival [s],session [s]\n1,4\n2,\n10,120\n",
        "Arrival [s], Left [min]\n1,0.08333333333333333\n2, \n10,2.1666666666666665\n",
    ):
        made = lowered(study(text, tmp_path))
        assert made["kind"] == "sessions"
        assert made["at_ns"] == [1_000_000_000, 2_000_000_000, 10_000_000_000]
        assert made["leave_ns"] == ends


def test_rates_are_read_by_their_unit(tmp_path: Path) -> None:
    for unit, values in (("1/h", "60,0,3.6"), ("1/min", "1,0,0.06"), ("1/d", "1440,0,86.4")):
        lines = "\n".join(f"{n},{v}" for n, v in enumerate(values.split(",")))
        made = lowered(study(f"time [h],peers [{unit}]\n{lines}\n", tmp_path))
        assert made["kind"] == "rates"
        assert made["period_ns"] is None
        assert [step["at_ns"] for step in made["steps"]] == [n * 3600 * 10**9 for n in range(3)]
        assert [step["per_s"] for step in made["steps"]] == pytest.approx([1 / 60, 0, 0.001])


def test_a_resolved_study_needs_no_file_and_results_belong_to_the_content(tmp_path: Path) -> None:
    text = "arrival [s],session [s]\n0,3\n1,\n2,9\n"
    made = study(text, tmp_path)
    (tmp_path / "a.csv").unlink()
    again = Study.from_dict(made.resolved())
    assert again.fingerprint() == made.fingerprint()
    assert again.resolved() == made.resolved()
    people = made.resolved()["workloads"]["swarm"]["populations"]["people"]
    assert people["arrivals"]["source"] == "a.csv"
    assert study(text.replace("2,9", "2,8"), tmp_path).fingerprint() != made.fingerprint()
    assert study(f"# else\n{text}", tmp_path).fingerprint() == made.fingerprint()


def test_a_sweep_over_files_reads_each(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("arrival [s]\n7\n8\n9\n")
    made = study("arrival [s],session [s]\n0,3\n1,\n2,9\n", tmp_path)
    key = "workloads.swarm.populations.people.arrivals.file"
    swept = {**made.resolved(), "sweep": {key: ["a.csv", "b.csv"]}}
    points = Study.from_dict(swept, directory=tmp_path).points()
    kinds = [people(point)["arrivals"] for point in points]
    assert [it["kind"] for it in kinds] == ["sessions", "times"]
    assert kinds[1]["at_ns"] == [7 * 10**9, 8 * 10**9, 9 * 10**9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no lines"),
        ("arrival [s]\n", "has none"),
        ("arrival\n0\n", 'line 1 has "arrival"'),
        ("arrival [kg]\n0\n", "line 1 has"),
        ("arrival [s],weight [s]\n0,1\n", "line 1 has"),
        ("arrival [s],session [kg]\n0,1\n", "line 1 has"),
        ("time [h],peers [1/kg]\n0,1\n", "line 1 has"),
        ("a [s],b [s],c [s]\n0,1,2\n", "line 1 has"),
        ("arrival [s]\n0\nx\n", 'line 3 has "x"'),
        ("arrival [s]\n0\n1,2\n", 'line 3 has "1,2"'),
        ("arrival [s]\n-1\n", 'line 2 has "-1"'),
        ("arrival [s]\nnan\n", 'line 2 has "nan"'),
        ("arrival [s]\n1e400\n", 'line 2 has "1e400"'),
        ("arrival [s]\n1700000000\n", 'line 2 has "1700000000"'),
        ("arrival [s],session [s]\n3,0\n", 'line 2 has "3,0"'),
        ("arrival [s],departure [s]\n3,3\n", 'line 2 has "3,3"'),
        ("arrival [s],session [s]\n3\n", 'line 2 has "3"'),
        ("arrival [s]\n" + "0\n" * 100_001, "has more"),
    ],
    ids=lambda it: it[:40] if isinstance(it, str) else None,
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        study(text, tmp_path)
    (problem,) = refused.value.problems
    assert problem.path == "workloads.swarm.populations.people.arrivals.file"
    assert said in problem.hint
    assert str(tmp_path / "a.csv") in problem.hint


@pytest.mark.parametrize("name", ["no/such.csv", ".", "/dev/zero", "binary.csv"])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnitError) as refused:
        read_arrivals(name, Files(tmp_path))
    assert "cannot read" in refused.value.hint


@pytest.mark.parametrize(("hosts", "said"), [(4, "hosts = 3"), (2, "give homes 3 hosts")])
def test_lines_and_hosts_are_as_many(tmp_path: Path, hosts: int, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        study("arrival [s]\n0\n1\n2\n", tmp_path, hosts=hosts)
    (problem,) = refused.value.problems
    assert problem.value == '"a.csv", 3 arrivals'
    assert said in problem.hint


def test_fewer_hosts_may_be_said(tmp_path: Path) -> None:
    text = "arrival [s]\n0\n1\n2\n"
    (tmp_path / "a.csv").write_text(text)
    made = study(text, tmp_path, hosts=3)
    document = made.resolved()
    document["network"]["groups"]["homes"]["hosts"] = 5
    document["workloads"]["swarm"]["populations"]["people"]["hosts"] = 3
    assert len(lowered(Study.from_dict(document), "hosts")) == 3


def test_a_replacement_has_no_session(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as refused:
        study(
            "arrival [s],session [s]\n0,1\n0,2\n0,3\n", tmp_path,
            replace=True, departure="at-once",
        )  # fmt: skip
    assert any("replacement" in problem.allowed for problem in refused.value.problems)


def test_sessions_are_drawn_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("cumulative fraction,session [min]\n0,1\n0.5,2\n1,60\n")
    made = study("arrival [s]\n0\n1\n2\n", tmp_path, departure={"file": "s.csv"})
    as_written = {"arrivals": {"file": "a.csv"}, "departure": {"file": "s.csv"}}
    document = made.resolved()
    document["workloads"]["swarm"]["populations"]["people"] |= as_written
    jsonschema_rs.Draft202012Validator(study_schema()).validate(document)
    assert lowered(made, "departure") == {
        "kind": "session", "stay_s": [[0.0, 60.0], [0.5, 120.0], [1.0, 3600.0]],
    }  # fmt: skip
    assert Study.from_dict(made.resolved()).fingerprint() == made.fingerprint()


@pytest.mark.parametrize(
    "given_",
    [
        {"per_hour": []},
        {"per_hour": [["1 s", 5]]},
        {"per_hour": [["0 s", 5], ["0 s", 6]]},
        {"per_hour": [["0 s", -1]]},
        {"per_hour": [["0 s", 5], ["1 h", 0]]},
        {"per_hour": [["0 s", 0], ["1 h", 0]], "period": "2 h"},
        {"per_hour": [["0 s", 5], ["1 h", 6]], "period": "1 h"},
        {"per_hour": [["0 s", 5]], "period": "1 ms"},
        {"at": ["1 s"], "leave": ["1 s"]},
        {"at": ["1 s"], "leave": ["2 s", "3 s"]},
        {"at": ["1 s"], "file": "a.csv"},
    ],
)
def test_impossible_arrivals_are_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ARRIVALS.validate_python(given_)


times = st.integers(0, 10**15)


@given(st.lists(st.tuples(times, st.none() | st.integers(1, 10**15)), min_size=1, max_size=20))
def test_any_trace_is_read_to_the_nanosecond(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int | None]]
) -> None:
    path = tmp_path_factory.mktemp("trace") / "a.csv"
    lines = [f"{at / 1000!r},{'' if stay is None else stay}" for at, stay in rows]
    path.write_text("\n".join(["t [us],stay [ns]", *lines]))
    made = ARRIVALS.validate_python({"file": path.name}, context={"directory": path.parent})
    assert isinstance(made, Times)
    wanted = [round(at / 1000 * 1000) for at, _ in rows]
    assert [span.ns for span in made.at] == wanted
    found = [None if it is None else it.ns for it in made.leave]
    assert found == [
        None if stay is None else at + stay for at, (_, stay) in zip(wanted, rows, strict=True)
    ]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("text") / "a.csv"
    path.write_bytes(("arrival [s],session [s]\n" + text).encode("utf-8", "surrogatepass"))
    with contextlib.suppress(UnitError):
        found = read_arrivals(path.name, Files(path.parent))
        assert all(isinstance(at, Span) for at in found["at"])


def test_rates_of_a_table_and_of_a_file_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("time [h],peers [1/h]\n0,20\n7,60.5\n")
    context = {"directory": tmp_path}
    made = ARRIVALS.validate_python({"file": "r.csv", "period": "24 h"}, context=context)
    own = ARRIVALS.validate_python({"per_hour": [["0 h", 20], ["7 h", 60.5]], "period": "24 h"})
    assert isinstance(made, Rates)
    assert made.per_hour == own.per_hour
    assert made.period == own.period == Span("24 h")
