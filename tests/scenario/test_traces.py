"""Link capacity from files: what is read, and what is refused."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.base.errors import StudyError
from flashcrowd.base.units import UnitError
from flashcrowd.scenario.capacity import Capacity
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.trace import Trace
from flashcrowd.scenario.trace_file import read_capacity, shipped
from flashcrowd.study import Study

HEADER = "time [s],rate [Mbit/s]\n"


def read(tmp_path: Path, content: str | bytes) -> Capacity:
    data = content.encode() if isinstance(content, str) else content
    path = tmp_path / "a.trace"
    path.write_bytes(data)
    return read_capacity("a.trace", Files(tmp_path))


def study(rate: Any, **more: Any) -> dict[str, Any]:
    """A transfer over a link with this rate."""
    return {
        "format": 1,
        "title": "T",
        "network": {
            "groups": {"a": {}, "b": {}},
            "links": {"line": {"rate": rate, "back": {"rate": "1 Mbit/s"}}},
            "paths": {"p": {"between": ["a", "b"], "through": ["line"]}},
        },
        "workloads": {"t": {"kind": "transfer", "from": "a", "to": "b", "size": "1 MB"}},
        **more,
    }


def test_a_mahimahi_trace_is_its_milliseconds(tmp_path: Path) -> None:
    read_ = read(tmp_path, "0\n5\n5\n20\n")
    assert (read_.kind, read_.times, read_.length_ns()) == (
        "opportunities",
        (0, 5, 5, 20),
        20 * 10**6,
    )
    assert str(read_) == "opportunities 0 5 5 20"
    # Three packets after the first instant, and the one of that instant once a round.
    assert read_.mean_bps() == 4 * 1500 * 8 / 0.020


def test_a_csv_file_has_the_units_of_its_header(tmp_path: Path) -> None:
    same = Capacity.of("rates", (0, 500_000_000, 2_000_000_000), (5_000_000, 0, 1_500_000))
    for text in (
        "time [s],rate [Mbit/s]\n0,5\n0.5,0\n2,1.5\n",
        "# a comment\n\nt [ms], r [kbit/s]\n0, 5000\n500 ,0\n2e3,1.50e3\n",
        "\ufefft [min],r [bit/s]\r\n0,5000000\r\n0.0083333333333,0\r\n.033333333333,1500000\r\n",
        "t [us],r [kB/s]\n0,625.\n500000,0.0\n2000000,187.5",
    ):
        assert read(tmp_path, text) == same
    assert same.length_ns() == 3_500_000_000
    assert same.mean_bps() == (2.5e6 + 1.5 * 1.5e6) / 3.5


@pytest.mark.parametrize(
    ("content", "allowed", "hint"),
    [
        ("", "a Mahimahi trace", "a.trace is empty"),
        ("# nothing else\n\n", "a Mahimahi trace", "a.trace is empty"),
        (
            "time [s],rate [Mbit/s]\n5,1\n2.5,1\n",
            "times that rise",
            'line 3 has "2.5,1"; 2.5 s comes after 5 s',
        ),
        ("5\n4\n", "times that do not fall", 'line 2 has "4"; 4 comes after 5'),
        ("5\n-1\n", "zero or more", 'line 2 has "-1"'),
        ("5\n1.5\n", "whole number of milliseconds", 'line 2 has "1.5"'),
        ("5\n٣\n", "whole number of milliseconds", "line 2 has"),
        ("0\n0\n", "more than zero milliseconds", 'line 1 has "0"'),
        ("1\n99999999999999\n", "at most a year", 'line 2 has "99999999999999"'),
        (b"1\n\x00\x002\n", "without NUL", r'line 2 has "\u0000\u00002"'),
        (b"\xff\xfe1\x00", "a Mahimahi trace", "not UTF-8"),
        ("0,5\n", 'a first line as in "time [s],rate [Mbit/s]"', 'line 1 has "0,5"'),
        ("time [s],rate [ms]\n0,5\n", "a first line", 'line 1 has "time [s],rate [ms]"'),
        (HEADER, "at least one line after the first", "a.trace has none"),
        (HEADER + "0,1,2\n", "two columns", 'line 2 has "0,1,2"'),
        (HEADER + "1,1\n", "a first time of zero", 'line 2 has "1,1"; subtract it from all'),
        (HEADER + "0,1\n2,2\n2,1\n", "times that rise", 'line 4 has "2,1"'),
        (HEADER + "0,1\n-2,2\n", "a time of zero or more", 'line 3 has "-2"'),
        (HEADER + "0,-1\n", "a rate of zero or more", 'line 2 has "-1"'),
        (HEADER + "0,nan\n", "a rate as a number", 'line 2 has "nan"'),
        (HEADER + "0,1e999\n", "a rate as a number", 'line 2 has "1e999"'),
        (HEADER + "0,5 Mbit/s\n", 'its unit "Mbit/s" stands', 'line 2 has "5 Mbit/s"'),
        (HEADER + "0,9e9\n", "at most 1000 Gbit/s", 'line 2 has "0,9e9"'),
        (HEADER + "0,1\n9e8,1\n", "at most a year", 'line 3 has "9e8,1"'),
        (HEADER + "0,0\n1,0\n", "a rate of more than zero somewhere", "nothing would ever arrive"),
    ],
)
def test_bad_files_are_refused_by_line(
    tmp_path: Path, content: str | bytes, allowed: str, hint: str
) -> None:
    with pytest.raises(UnitError) as caught:
        read(tmp_path, content)
    assert allowed in caught.value.allowed
    assert hint in caught.value.hint


def test_too_many_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnitError, match="at most 1000000 entries"):
        read(tmp_path, "7\n" * 1_000_002)


@pytest.mark.parametrize("name", ["/dev/zero", ".", "none-such", "", "a\0b", "x" * 5000])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study.from_dict(study({"file": name}), directory=tmp_path)
    [problem] = caught.value.problems
    assert problem.path == "network.links.line.rate"
    assert "a Mahimahi trace" in problem.allowed
    assert problem.hint


def test_a_name_that_is_nearly_one_that_ships_gets_a_hint(tmp_path: Path) -> None:
    with pytest.raises(UnitError) as caught:
        read_capacity("synthetic-mobil", Files(tmp_path))
    assert caught.value.hint == 'did you mean "synthetic-mobile"?'


def test_only_rates_can_be_held(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("5\n10\n")
    (tmp_path / "dead.csv").write_text(HEADER + "0,1\n5,0\n")
    (tmp_path / "c.csv").write_text(HEADER + "0,1\n5,2\n")
    for name, hint in (
        ("m", "no last rate to hold"),
        ("dead.csv", "the last rate of dead.csv is zero"),
    ):
        with pytest.raises(StudyError) as caught:
            Study.from_dict(study({"file": name, "end": "hold"}), directory=tmp_path)
        [problem] = caught.value.problems
        assert (problem.path, problem.value) == ("network.links.line.rate.end", '"hold"')
        assert hint in problem.hint
    Study.from_dict(study({"file": "c.csv", "end": "hold"}), directory=tmp_path)


def test_the_trace_that_ships_is_made_by_its_rule() -> None:
    assert shipped() == ["synthetic-mobile"]
    found = read_capacity("synthetic-mobile", Files())
    dice, rate = random.Random(1), 8.0
    for step, (at, bps) in enumerate(zip(found.times, found.bps, strict=True)):
        rate *= 0.7 ** (2 * dice.random() - 1)
        rate = 400 / rate if rate > 20 else 1 / rate if rate < 1 else rate
        seconds = step / 2
        assert at == seconds * 10**9
        dead = 40 <= seconds < 41 or 85 <= seconds < 86
        assert bps == (0 if dead else round(round(rate, 2) * 10**6))
    assert found.length_ns() == 120 * 10**9


numbers = st.lists(st.integers(0, 10**6), max_size=30).map(
    lambda them: [*sorted(them), max(them, default=0) + 1000]
)


@given(times=numbers)
def test_texts_of_capacities_are_read_back(times: list[int]) -> None:
    rising = [0, *sorted({(at + 1) * 10**6 for at in times})]
    for one in (
        Capacity.of("opportunities", times),
        Capacity.of("rates", rising, [at % 7919 * 1000 + 1 for at in rising]),
    ):
        assert Capacity(str(one)) == one
        assert sum(one.binned(7)) == pytest.approx(one.mean_bps() * 7, rel=1e-3)


def outcome(folder: Path, content: str | bytes) -> Capacity | UnitError:
    try:
        return read(folder, content)
    except UnitError as error:
        return error


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(tmp_path_factory: Any, content: bytes) -> None:
    found = outcome(tmp_path_factory.getbasetemp(), content)
    if isinstance(found, UnitError):
        assert found.allowed
        assert found.hint
    else:
        assert found.times == tuple(sorted(found.times))


cells = st.sampled_from(
    ["0", "1", "0.5", "-1", "1e3", "nan", "x", "", "7 ", "1e99", "0x1", "9" * 50]
)


@given(rows=st.lists(st.tuples(cells, cells), max_size=6), header=st.booleans())
def test_any_table_is_read_or_refused_in_words(
    tmp_path_factory: Any, rows: list[tuple[str, str]], header: bool
) -> None:
    text = (HEADER if header else "") + "".join(f"{a},{b}\n" for a, b in rows)
    found = outcome(tmp_path_factory.getbasetemp(), text)
    if isinstance(found, UnitError):
        assert found.hint
    else:
        assert max(found.bps) > 0
        assert found.times[0] == 0


@pytest.mark.parametrize("text", ["", "rates 0", "rates 0 x", "bits 0 1", "rates 0 -1", "rates"])
def test_texts_that_are_no_capacity_are_refused(text: str) -> None:
    with pytest.raises(UnitError):
        Capacity(text)


def test_the_resolved_study_needs_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "0,1\n5,2\n")
    made = Study.from_dict(study({"file": "a.csv"}), directory=tmp_path)
    resolved = made.resolved()
    rate = resolved["network"]["links"]["line"]["rate"]
    assert rate["capacity"] == "rates 0 1000000 5000000000 2000000"
    again = Study.from_dict(resolved, directory="/nowhere")
    assert again.fingerprint() == made.fingerprint()
    assert again.resolved() == resolved
    # Another file in its place is read, and not what stands beside it.
    other = {**rate, "file": "b.csv"}
    (tmp_path / "b.csv").write_text(HEADER + "0,3\n")
    changed = Study.from_dict(study(other), directory=tmp_path)
    link = changed.scenario.network.links["line"].rate
    assert isinstance(link, Trace)
    assert link.capacity.bps == (3_000_000,)


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    def digest(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        made = Study.from_dict(study({"file": name}), directory=tmp_path)
        return made.points()[0].plan().digest()

    one = digest("a.csv", HEADER + "0,1\n5,2\n")
    assert digest("b.csv", "# as a.csv\n" + HEADER + "0,1.0\n5.0,2\n") == one
    assert digest("a.csv", HEADER + "0,1\n5,3\n") != one


def test_a_sweep_goes_over_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "0,1\n5,2\n")
    (tmp_path / "b.csv").write_text(HEADER + "0,3\n")
    for path, values in (
        ("network.links.line.rate", [{"file": "a.csv"}, {"file": "b.csv"}, "1 Mbit/s"]),
        ("network.links.line.rate.file", ["a.csv", "b.csv"]),
    ):
        made = Study.from_dict(study({"file": "a.csv"}, sweep={path: values}), directory=tmp_path)
        plans = [point.plan().data["network"] for point in made.points()]
        assert [len(plan.get("traces", [])) for plan in plans] == [1, 1, 0][: len(values)]
        points = [plan.get("traces", [])[0].get("points") for plan in plans[:2]]
        assert points == [[(0, 10**6), (5 * 10**9, 2 * 10**6)], [(0, 3 * 10**6)]]
