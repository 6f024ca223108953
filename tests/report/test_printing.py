"""Figures for papers: format, width and font; and every mean as data."""

import csv
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from flashcrowd.base.units import UnitError
from flashcrowd.cli.report import report
from flashcrowd.drawing import printing
from flashcrowd.report import estimates
from flashcrowd.report.study_page import write

Swarm = Callable[..., Any]


def _printed(folder: Path, results: Any, *how: str) -> Path:
    with printing.printing(printing.asked(*how)):
        write(results, folder)
    (file,) = (folder / "figures").glob(f"headline-1-*.{how[0]}")
    return file


def test_a_figure_has_the_width_and_the_font_that_are_asked_for(
    tmp_path: Path, swarm: Swarm
) -> None:
    results = swarm(repeats=3, extras=False)
    file = _printed(tmp_path, results, "svg", "252 pt", "Latin Modern Roman")
    root = ElementTree.parse(file).getroot()
    assert float(root.attrib["width"].removesuffix("pt")) == pytest.approx(252)
    assert root.attrib["font-family"].startswith("Latin Modern Roman")
    assert "Latin Modern" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_pdf_and_png_are_the_same_bytes_each_time(tmp_path: Path, swarm: Swarm) -> None:
    results = swarm(repeats=3, losses=("0 %",), extras=False)
    for form, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        found = [_printed(tmp_path / str(n), results, form, "8.8 cm").read_bytes() for n in (1, 2)]
        assert found[0].startswith(magic)
        assert found[0] == found[1]
    assert re.search(rb"/MediaBox \[ 0 0 249\.\d+", _page(tmp_path)) is not None


def _page(folder: Path) -> bytes:
    (file,) = (folder / "1" / "figures").glob("headline-1-*.pdf")
    return file.read_bytes()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (("gif",), "one of svg, pdf, png"),
        (("pdf", "252"), "a length with its unit"),
        (("pdf", "3 furlongs"), "a length with its unit"),
        (("pdf", "1 pt"), "1.5 to 20 in"),
        (("pdf", "252 pt", "No Such Font 17"), "a font of this machine"),
    ],
)
def test_what_cannot_be_printed_is_refused(how: tuple[str, ...], says: str) -> None:
    with pytest.raises(UnitError, match=says):
        printing.asked(*how)


def test_the_command_names_the_option_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(tmp_path, width="252 pt") == 2
    assert "--width '252 pt': needs --figures" in capsys.readouterr().err
    assert report(tmp_path, figures="gif") == 2
    assert "--figures 'gif'" in capsys.readouterr().err


def test_every_mean_of_a_study_is_a_row(swarm: Swarm) -> None:
    results = swarm(repeats=6)
    table = estimates.table(results)
    rows = [row for row in table.to_pylist() if row["measure"] == "mean download time"]
    assert [row["network.rtt"] for row in rows] == 2 * ["0 ms", "200 ms", "400 ms"]
    assert all(row["low"] < row["mean"] < row["high"] and row["n"] == 6 for row in rows)
    assert {row["unit"] for row in rows} == {"s"}
    assert {"p95 download time", "p95 ping"} <= set(table["measure"].to_pylist())
    keys = [(row["point"], row["measure"], row["of"]) for row in table.to_pylist()]
    assert len(keys) == len(set(keys))
    read = list(csv.DictReader(io.StringIO(estimates.csv(results))))
    assert len(read) == table.num_rows
    assert math.isclose(float(read[0]["mean"]), table["mean"][0].as_py(), rel_tol=1e-8)


def test_one_run_has_a_mean_and_no_interval(swarm: Swarm) -> None:
    table = estimates.table(swarm(repeats=1, extras=False))
    assert set(table["n"].to_pylist()) == {1}
    assert set(table["low"].to_pylist()) == {None}
