"""What a person would say of real studies, beside what is printed first: answers/answers.toml.

`FLASHCROWD_WRITE=1 pytest tests/report/test_answers.py -n 0` writes what is printed into the table.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_tutorial import blocks
from tests.report.voice import breaches

import flashcrowd
from flashcrowd.report import answer, expectations
from flashcrowd.report.headline import headline
from flashcrowd.report.points import points_of
from flashcrowd.study import Study
from flashcrowd.study.template import TEMPLATES

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).parent / "answers" / "answers.toml"
ROWS: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["answer"]
WRITE = bool(os.environ.get("FLASHCROWD_WRITE"))


def name(row: dict[str, Any]) -> str:
    return f"{Path(row['study']).stem}-{row.get('repeats', '')}".replace(" ", "-")


def study(row: dict[str, Any]) -> Study:
    """A file, "template NAME", or "tutorial NAME", made small."""
    given: dict[str, Any] = {"set": row.get("set"), "repeats": row.get("repeats")}
    kind, _, which = row["study"].partition(" ")
    if not which:
        return Study.load(ROOT / row["study"], **given)
    if kind == "template":
        text = TEMPLATES[which].filled("ADSL 1/8", row.get("with", []))
    else:
        text = tutorial(which)
    return Study.from_dict(tomllib.loads(text), **given)


def tutorial(which: str) -> str:
    """The study of the tutorial: `first`, the same with its `question`, or `bystander`."""
    file = "bystander.toml" if which == "bystander" else "first.toml"
    of = [block["body"] for block in blocks() if block["name"] == file]
    return "\n".join(of if which == "question" else of[:1])


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_study_is_answered_nearly_as_a_person_would(row: dict[str, Any], tmp_path: Path) -> None:
    results = flashcrowd.run(study(row), out=tmp_path / "results", progress=False)
    points = points_of(results)
    judged = expectations.judge(results, points)
    said = answer.sentences(headline(results, points), points, judged)
    if WRITE:
        write(row, said)
        return
    assert said == row["printed"]
    for sentence in said:
        assert breaches(sentence) == [], sentence


def write(row: dict[str, Any], said: list[str]) -> None:
    table = TABLE.read_text(encoding="utf-8")
    parts = re.split(r"(?m)^(?=\[\[answer\]\]$)", table)
    number = 1 + ROWS.index(row)
    kept = re.sub(r"printed = \[\n.*?^\]\n", "", parts[number], flags=re.S | re.M).rstrip("\n")
    lines = "".join(f"    {quoted(sentence)},\n" for sentence in said)
    parts[number] = f"{kept}\nprinted = [\n{lines}]\n" + ("\n" if number < len(ROWS) else "")
    TABLE.write_text("".join(parts), encoding="utf-8")


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_the_table_has_twenty_studies_with_what_a_person_would_say() -> None:
    assert len(ROWS) >= 20
    assert all(row["person"].strip() for row in ROWS)
