"""Two tables of `docs/upload-controllers.md` are those of `flashcrowd traps --repeats 5` and of
`studies/upload-control.toml`.

`FLASHCROWD_WRITE=1 pytest -m slow -n 0 tests/docs/test_upload_controllers.py` writes them into the
page. Runs that `results/traps` has are not made again.
"""

import json
import os
import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
from benches.validation.points import made

import flashcrowd
from flashcrowd import traps
from flashcrowd.report import headline, points, wording
from flashcrowd.report.source import Source
from flashcrowd.report.statistics import Estimate
from flashcrowd.traps import words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "upload-controllers.md"
TABLE = re.compile(r"(?<=<!-- traps -->\n\n).*?(?=\n<!-- end of traps -->)", re.S)
ONE_LINE = re.compile(r"(?<=<!-- one line -->\n\n).*?(?=\n<!-- end of one line -->)", re.S)
STUDY = ROOT / "studies" / "upload-control.toml"
FEWEST = 3
"""Runs below which a mean has no interval in the table."""

HEADS = ("download", "upload", "delay", "start", "step", "below half", "all")


def table(rows: list[list[str]]) -> str:
    """Rows of `words.aims` as the page has them."""
    head = [f"of {len(traps.names())} traps", *HEADS]
    body = [[name if name == "oracle" else f"`{name}`", *met] for name, *met in rows]
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_table_is_what_the_traps_show() -> None:
    found = traps.conduct(out=ROOT / "results" / "traps", repeats=5)
    text = PAGE.read_text(encoding="utf-8")
    fresh = TABLE.sub(table(list(words.aims(found))), text)
    if os.environ.get("FLASHCROWD_WRITE"):
        PAGE.write_text(fresh, encoding="utf-8")
    else:
        assert fresh == text


def control(value: str) -> str:
    """A controller as the page has it, from its setting."""
    about = json.loads(value) if value.startswith("{") else {"name": value}
    return ", ".join([f"`{about['name']}`", *filter(None, [about.get("limit")])])


def number(found: Estimate | None) -> str:
    """A mean with its interval; that of fewer than three runs says nothing."""
    assert found
    if found.n < FEWEST:
        return f"{wording.mean(found)} (n = {found.n})"
    return f"{wording.mean(found)} {wording.interval(found)}"


def one_line(results: Source) -> str:
    """The table of all controllers on one line."""
    read = points.points_of(results)
    measures = headline.headline(results, read).measures
    lines = [
        ["", "p95 ping (ms)", "download (Mbit/s)", "uplink used (%)"],
        ["---"] * 4,
        *(
            [control(str(value)), *(number(of.at(it)) for of in measures)]
            for it, (value,) in zip(read.points, read.axes[0].levels, strict=True)
        ),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_the_table_of_one_line_has_every_controller() -> None:
    found = ONE_LINE.search(PAGE.read_text(encoding="utf-8"))
    assert found
    rows = [row.split(" | ")[0].lstrip("| ") for row in found[0].splitlines()[2:]]
    (swept,) = tomllib.loads(STUDY.read_text(encoding="utf-8"))["sweep"]
    (values,) = swept["workloads"]["seeding"]["populations"]["home"].values()
    assert rows == [control(it if isinstance(it, str) else json.dumps(it)) for it in values]


@pytest.mark.slow
def test_the_table_of_one_line_is_what_the_study_shows(tmp_path: Path) -> None:
    table = one_line(flashcrowd.run(STUDY, out=tmp_path / "results"))
    text = PAGE.read_text(encoding="utf-8")
    fresh = ONE_LINE.sub(lambda _: table, text)
    if os.environ.get("FLASHCROWD_WRITE"):
        PAGE.write_text(fresh, encoding="utf-8")
        made("upload-controllers.md", "`studies/upload-control.toml`", date.today())
    else:
        assert fresh == text
