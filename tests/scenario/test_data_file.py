"""Files of rows: how they end, how numbers are written in them, and what their columns are called.

Each test is about all kinds of files at once.
"""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.base.errors import StudyError, warning
from flashcrowd.study import Study
from flashcrowd.study.brief import brief

KINDS: Mapping[str, str] = {
    "rtt": "cumulative fraction,RTT [ms]\n0,2\n0.25,11.5\n0.5,40\n1,300\n",
    "loss": "cumulative fraction,loss [%]\n0,0\n0.25,0.5\n0.5,2.5\n1,10\n",
    "departure": "cumulative fraction,session [min]\n0,1\n0.25,10\n0.5,25\n1,60\n",
    "times": "arrival [s],session [s]\n0,30\n2.5,\n4,90\n11,45\n",
    "per hour": "time [h],peers [1/h]\n0,20\n7,60\n18,240\n23,45\n",
    "rates": "time [s],rate [Mbit/s]\n0,8\n10,2.5\n12,0\n13,6\n",
    "opportunities": "1\n5\n15\n215\n",
}
ROWS = 4


def document(kind: str, table: dict[str, Any]) -> dict[str, Any]:
    """A study with a file of this kind at its place."""
    network: dict[str, Any] = {"groups": {"seed": {}, "homes": {"hosts": ROWS}}}
    people: dict[str, Any] = {"group": "homes"}
    if kind in ("rtt", "loss"):
        network[kind] = table
    elif kind == "departure":
        people[kind] = table
    elif kind in ("times", "per hour"):
        people["arrivals"] = table
    else:
        network["groups"]["homes"]["access"] = {"down": table}
    return {
        "format": 1,
        "title": "Made for a test",
        "network": network,
        "workloads": {
            "swarm": {
                "kind": "swarm",
                "size": "1 MB",
                "populations": {"seed": {"role": "seed", "group": "seed"}, "people": people},
            }
        },
    }


def study(kind: str, text: str | bytes, folder: Path, **more: Any) -> Study:
    content = text if isinstance(text, bytes) else text.encode()
    (folder / "a.csv").write_bytes(content)
    return Study.from_dict(document(kind, {"file": "a.csv", **more}), directory=folder)


def warned(made: Study) -> list[str]:
    return [warning(doubt) for doubt in made.warnings()]


def refused(kind: str, text: str | bytes, folder: Path, **more: Any) -> str:
    with pytest.raises(StudyError) as caught:
        study(kind, text, folder, **more)
    return str(caught.value)


each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_a_file_that_tells_its_end_is_read_without_a_word(kind: str, tmp_path: Path) -> None:
    for text, more in ((f"# rows: {ROWS}\n{KINDS[kind]}", {}), (KINDS[kind], {"rows": ROWS})):
        made = study(kind, text, tmp_path, **more)
        assert warned(made) == []
        again = Study.from_dict(made.resolved(), directory="/nowhere")
        assert again.fingerprint() == made.fingerprint()
        assert warned(again) == []


@each_kind
@pytest.mark.parametrize("said", ["in the file", "in the study", "nowhere"])
def test_a_file_that_was_cut_anywhere_is_refused_or_doubted(
    kind: str, said: str, tmp_path: Path
) -> None:
    text = f"# rows: {ROWS}\n{KINDS[kind]}" if said == "in the file" else KINDS[kind]
    more = {"rows": ROWS} if said == "in the study" else {}
    for cut in range(len(text)):
        try:
            told = warned(study(kind, text[:cut], tmp_path, **more))
        except StudyError:
            continue
        assert any("a.csv" in line for line in told), text[:cut]
        if said != "nowhere":
            # All rows are there: of the last one a part may be missing.
            assert cut > text.rstrip("\n").rindex("\n")


@each_kind
def test_a_cut_at_the_end_of_a_line_is_told_with_both_numbers(kind: str, tmp_path: Path) -> None:
    cut = "".join(KINDS[kind].splitlines(keepends=True)[:-1])
    for text, more in ((f"# rows: {ROWS}\n{cut}", {}), (cut, {"rows": ROWS})):
        told = refused(kind, text, tmp_path, **more)
        assert f"a file of {ROWS} rows" in told
        assert "a.csv has 3; was it cut?" in told


@pytest.mark.parametrize("kind", ["per hour", "rates", "opportunities"])
def test_an_end_that_nothing_tells_is_doubted(kind: str, tmp_path: Path) -> None:
    """Distributions end at 100 %, and arrivals are as many as hosts."""
    (told,) = warned(study(kind, KINDS[kind], tmp_path))
    assert "a.csv = 4 rows: nothing tells whether these are all" in told
    assert "`# rows: 4`" in told


@pytest.mark.parametrize("kind", ["rtt", "loss", "departure"])
@pytest.mark.parametrize("rows", [slice(1), slice(3), slice(1, 4), slice(3, 4)])
def test_a_distribution_goes_from_0_to_100_percent(kind: str, rows: slice, tmp_path: Path) -> None:
    header, *lines = KINDS[kind].splitlines(keepends=True)
    whole = study(kind, header + "".join(lines), tmp_path).resolved()
    told = refused(kind, header + "".join(lines[rows]), tmp_path)
    assert "a distribution from 0 % to 100 %" in told
    assert "was the file cut?" in told
    table = whole["network"].get(kind)
    if kind == "departure":
        table = whole["workloads"]["swarm"]["populations"]["people"][kind]
    with pytest.raises(StudyError, match=r"points(.|\n)*a distribution from 0 % to 100 %"):
        Study.from_dict(document(kind, {"points": table["points"][rows]}))


@each_kind
@pytest.mark.parametrize(
    "cell",
    ["1_000", "\u0661\u0662", "1\0", "\uff11", "0x10", "1e999", "inf", "nan", "1,5", "1 000"],
)
def test_a_number_is_ascii_digits_with_a_point_at_most(
    kind: str, cell: str, tmp_path: Path
) -> None:
    *lines, last = KINDS[kind].splitlines()
    first = last.rpartition(",")[0]
    for wrong in {cell, f'"{cell}"'}:
        row = f"{first},{wrong}" if first else wrong
        told = refused(kind, "\n".join([*lines, row, ""]), tmp_path)
        assert f"a.csv line {len(lines) + 1} has" in told


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "opportunities"])
def test_quoted_cells_are_read_as_others(kind: str, tmp_path: Path) -> None:
    plain = study(kind, KINDS[kind], tmp_path)
    quoted = re.sub(r"[^,\n]+", r'"\g<0>"', KINDS[kind])
    assert study(kind, quoted, tmp_path).fingerprint() == plain.fingerprint()
    spaced = quoted.replace(",", ", ").replace("\n", "\r\n")
    assert study(kind, spaced, tmp_path).fingerprint() == plain.fingerprint()
    assert "line 2 has" in refused(kind, re.sub(r"\n0", '\n"0', KINDS[kind]), tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "opportunities"])
@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_are_named(kind: str, mark: str, name: str, tmp_path: Path) -> None:
    told = refused(kind, KINDS[kind].replace(",", mark), tmp_path)
    assert f"columns are separated by commas, not by {name}" in told


@pytest.mark.parametrize(
    ("kind", "header", "said"),
    [
        ("rtt", "cumulative fraction,one-way delay [ms]", 'column "one-way delay": it is read as'),
        ("rtt", "hops,RTT [ms]", 'column "hops": it is read as cumulative fractions'),
        ("times", "departure [s],session [s]", 'column "departure": it is read as instants'),
        ("per hour", "time [h],bytes [1/h]", 'column "bytes": it is read as rates of arrival'),
        ("rates", "time [s],loss [Mbit/s]", 'column "loss": it is read as rates'),
        ("rates", "delay [s],rate [Mbit/s]", 'column "delay": it is read as times'),
    ],
)
def test_a_column_with_an_unclear_name_is_doubted(
    kind: str, header: str, said: str, tmp_path: Path
) -> None:
    first, rest = KINDS[kind].split("\n", 1)
    assert header.count(",") == first.count(",")
    (told,) = warned(study(kind, f"{header}\n# rows: {ROWS}\n{rest}", tmp_path))
    assert said in told


def test_fractions_may_be_in_percent_and_in_nothing_else(tmp_path: Path) -> None:
    plain = study("rtt", KINDS["rtt"], tmp_path)
    percent = "cumulative fraction [%],RTT [ms]\n0,2\n25,11.5\n50,40\n100,300\n"
    assert study("rtt", percent, tmp_path).fingerprint() == plain.fingerprint()
    told = refused("rtt", percent.replace("[%]", "[ms]"), tmp_path)
    assert "a first line as in" in told


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# rows: many\n", "a whole number of rows"),
        ("# rows: 4\n# Rows: 5\n", "another"),
        ("# rows = 4\n", "a comment `# rows: 4`"),
        ("#row 4\n", "a comment `# rows: 4`"),
        ("# rows=4\n", "a comment `# rows: 4`"),
        ("# 4 rows\n", "a comment `# rows: 4`"),
    ],
)
@each_kind
def test_a_comment_about_rows_says_one_number(
    kind: str, comment: str, said: str, tmp_path: Path
) -> None:
    assert said in refused(kind, comment + KINDS[kind], tmp_path)


@pytest.mark.parametrize("comment", ["# rows of a table\n", "# 4 rows of seats\n", "# 4\n"])
def test_other_comments_are_free(comment: str, tmp_path: Path) -> None:
    kind = next(iter(KINDS))
    warned(study(kind, comment + KINDS[kind], tmp_path, rows=ROWS))


@each_kind
def test_rows_beside_another_number_of_entries_are_refused(kind: str, tmp_path: Path) -> None:
    resolved = study(kind, KINDS[kind], tmp_path, rows=ROWS).resolved()
    assert f"'rows': {ROWS}" in str(resolved)
    wrong = eval(str(resolved).replace(f"'rows': {ROWS}", "'rows': 5"))
    with pytest.raises(StudyError, match=r"rows\n    value    5\n    allowed  4, the number"):
        Study.from_dict(wrong, directory=tmp_path)


@pytest.mark.parametrize("kind", ["rtt", "loss", "departure"])
def test_a_sweep_over_files_of_a_distribution_reads_each(kind: str, tmp_path: Path) -> None:
    study(kind, KINDS[kind], tmp_path)
    other = KINDS[kind].replace("0.25,", "0.375,")
    (tmp_path / "b.csv").write_text(other)
    place = "workloads.swarm.populations.people." if kind == "departure" else "network."
    for values in (["a.csv", "b.csv"], ["b.csv", "a.csv"]):
        swept = {**document(kind, {"file": "a.csv"}), "sweep": {f"{place}{kind}.file": values}}
        points = Study.from_dict(swept, directory=tmp_path).points()
        digests = [point.plan().digest() for point in points]
        assert len(set(digests)) == 2
        alone = Study.from_dict(document(kind, {"file": values[1]}), directory=tmp_path)
        assert alone.points()[0].plan().digest() == digests[1]
        whole = {**swept, "sweep": {place + kind: [{"file": name} for name in values]}}
        points = Study.from_dict(whole, directory=tmp_path).points()
        assert [point.plan().digest() for point in points] == digests


@pytest.mark.parametrize("kind", ["rtt", "loss", "departure"])
def test_a_file_and_points_of_ones_own_are_refused(kind: str, tmp_path: Path) -> None:
    points = [["0 %", "0 ms"], ["100 %", "1 ms"]]
    told = refused(kind, KINDS[kind], tmp_path, points=points)
    assert "a file, or points of one's own" in told


@pytest.mark.parametrize("kind", ["rtt", "times"])
def test_reading_and_writing_a_file_takes_time_in_proportion_to_its_rows(
    kind: str, tmp_path: Path
) -> None:
    """Four times the rows take about four times as long; in proportion to the square, sixteen."""

    def seconds(rows: int) -> float:
        header = KINDS[kind].split("\n", 1)[0]
        last = rows - 1
        lines = [f"{n / last:.9f},{100 + n / 100}" for n in range(rows)]
        if kind != "rtt":
            lines = [f"{n},{100 + n % 7}" for n in range(rows)]
        text = "\n".join([f"# rows: {rows}", header, *lines, ""])
        (tmp_path / "a.csv").write_text(text)
        given = document(kind, {"file": "a.csv"})
        if kind == "times":
            given["network"]["groups"]["homes"]["hosts"] = rows
        begin = time.process_time()
        made = Study.from_dict(given, directory=tmp_path)
        made.points()[0].plan().to_json()
        made.to_toml()
        return time.process_time() - begin

    assert seconds(18_000) < 9 * min(seconds(4_500) for _ in range(2))


@each_kind
def test_a_pipe_is_refused_and_not_waited_for(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(StudyError, match="no file but a folder, a pipe or a device"):
        Study.from_dict(document(kind, {"file": "pipe.csv"}), directory=tmp_path)


@each_kind
def test_a_file_that_another_value_replaces_is_not_needed(kind: str, tmp_path: Path) -> None:
    place, value = {
        "rtt": ("network.rtt", "20 ms"),
        "loss": ("network.loss", "1 %"),
        "departure": ("workloads.swarm.populations.people.departure", "never"),
        "times": ("workloads.swarm.populations.people.arrivals.file", "b.csv"),
        "per hour": ("workloads.swarm.populations.people.arrivals", "flash-crowd"),
        "rates": ("network.groups.homes.access.down", "1 Mbit/s"),
        "opportunities": ("network.groups.homes.access.down.file", "b.csv"),
    }[kind]
    (tmp_path / "b.csv").write_text(KINDS[kind])
    given = document(kind, {"file": "missing.csv"})
    made = Study.from_dict(given, directory=tmp_path, set={place: value})
    assert len(made.points()) == 1
    for other in ({"network.stack": "linux-6"}, {f"{place}s": value}):
        with pytest.raises(StudyError, match=r"missing\.csv"):
            Study.from_dict(given, directory=tmp_path, set=other)


@pytest.mark.parametrize("kind", ["rtt", "loss", "departure", "rates", "opportunities"])
def test_what_a_study_says_in_brief_names_the_file(kind: str, tmp_path: Path) -> None:
    made = study(kind, KINDS[kind], tmp_path, rows=ROWS)
    said = brief(made)
    assert "points" not in str(said)
    assert "capacity" not in str(said)
    again = Study.from_dict(said, directory=tmp_path)
    assert again.fingerprint() == made.fingerprint()
    assert brief(again) == said
