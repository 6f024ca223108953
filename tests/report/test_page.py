"""The page as its readers meet it: dark or light, on a phone, by keyboard and by ear."""

import base64
import csv
import hashlib
import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import flashcrowd
from flashcrowd.drawing import page, style
from flashcrowd.drawing.blocks import Cell, Figure, Page, Section, Table, Text
from flashcrowd.drawing.canvas import canvas, from_zero
from flashcrowd.report import measures, study_page
from flashcrowd.report.arrange import layout
from flashcrowd.report.charts import pings
from flashcrowd.report.charts.means import means
from flashcrowd.report.charts.names import called
from flashcrowd.report.instants import Instant
from flashcrowd.report.measure import Measure
from flashcrowd.report.points import read
from flashcrowd.report.statistics import estimate
from flashcrowd.report.study_page import write
from flashcrowd.study import Study, catalogue

Swarm = Callable[..., Any]

SVG = "{http://www.w3.org/2000/svg}"


class Elements(HTMLParser):
    """All elements of a page, as (tag, attributes)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory, swarm: Swarm) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write(swarm(repeats=2), folder)
    return folder


@pytest.fixture(scope="module", name="text")
def _text(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_colors_of_figures_follow_the_scheme_of_the_page(text: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) > 8
    used = {name for drawing in drawings for name in re.findall(r"var\((--f\w+)\)", drawing)}
    fixed = [
        s for d in drawings for s in re.findall(r'style="[^"]*"', d) if "#" in s.split("url")[0]
    ]
    assert used
    assert fixed == []
    light, _, dark = text.partition("@media screen and (prefers-color-scheme:dark)")
    for name in used:
        ours = f"#{name.removeprefix('--f')}"
        assert f"{name}:{ours};" in light
        assert f"{name}:{style.dark(ours)};" in dark
        assert style.dark(ours) != ours


def test_figures_on_a_dark_page_can_be_seen_and_told_apart() -> None:
    paper = style.dark("#ffffff")
    shown = [style.dark(color) for color in style.PALETTE]
    assert min(_contrast(color, paper) for color in [*shown, style.dark(style.QUIET)]) > 4.5
    assert _contrast(style.dark(style.INK), paper) > 12
    for color in [look.color for look in style.looks(10, ordered=True)]:
        assert _contrast(style.dark(color), paper) > 3
    for blind in _BLIND:
        ours = min(_distance(a, b, blind) for a, b in combinations(shown, 2))
        usual = min(_distance(a, b, blind) for a, b in combinations(style.PALETTE, 2))
        assert ours > 0.6 * usual


def test_a_page_of_a_dark_scheme_has_the_paper_of_its_figures() -> None:
    css = page.html(Page("t", "", []))
    assert f"--paper: {style.dark('#ffffff')}" in css


def test_text_of_figures_can_be_read_on_a_phone(text: str) -> None:
    parts = re.findall(r'<div class="drawing narrow".*?(<svg.*?</svg>)', text, re.DOTALL)
    assert len(parts) == len(re.findall(r'<div class="drawing wide"', text))
    column = 400 - 2 * 0.8 * 16
    for part in parts:
        root = ElementTree.fromstring(re.sub(r"&(?!\w+;)", "&amp;", part))
        width = float(root.attrib["viewBox"].split()[2])
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", part)]
        sizes += [float(size) for size in re.findall(r"font: [^;\"]*?([\d.]+)px", part)]
        assert sizes
        assert min(sizes) * column / width >= 11


def test_files_of_figures_stand_for_themselves(folder: Path) -> None:
    files = list((folder / "figures").glob("*.svg"))
    assert files
    for file in files:
        assert ElementTree.parse(file).getroot().tag == f"{SVG}svg"
        assert "var(" not in file.read_text(encoding="utf-8")


def test_tables_name_themselves_their_columns_and_their_rows(text: str) -> None:
    elements = Elements(text)
    tables = elements.of("table")
    assert len(elements.of("caption")) == len(tables) > 5
    heads = elements.of("th")
    assert all(head.get("scope") in ("col", "row") for head in heads)
    for table in re.findall(r"<table>(.*?)</table>", text, re.DOTALL):
        for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]:
            assert row.startswith('<th scope="row"')


def test_a_row_is_named_by_its_first_words_and_cells_by_their_columns() -> None:
    table = Table(["RTT", "loss", "runs"], [["1 s", "0 %", Cell("n = 3")]], "c", frozenset({0, 1}))
    text = page.html(Page("t", "", [Section("s", "s", [table])]))
    row = re.findall(r"<tbody>\s*<tr>(.*?)</tr>", text, re.DOTALL)[0]
    assert row.count('<th scope="row"') == 2
    assert '<td data-label="runs">n = 3</td>' in row
    words = Table(["setting", "value"], [["a", "b"]], "c", frozenset({0, 1}))
    assert words.heads == 1


def test_whatever_scrolls_is_reached_by_the_keyboard_and_has_a_name(text: str) -> None:
    elements = Elements(text)
    boxes = [e for _, e in elements.found if "scroll" in (e.get("class") or "").split()]
    assert boxes
    for box in boxes:
        assert (box.get("role"), box.get("tabindex")) == ("region", "0")
        assert box.get("aria-label")
    ids = {e.get("id") for _, e in elements.found}
    first = elements.of("a")[0]
    assert first.get("class") == "skip"
    assert (first.get("href") or "").removeprefix("#") in ids
    assert all(e.get("aria-labelledby") in ids for e in elements.of("section"))
    assert ":focus-visible" in text


@pytest.mark.parametrize(("losses", "apart"), [(("0 %", "5 %"), False), (("0 %", "bursts"), True)])
def test_points_stand_at_their_values_on_a_numeric_axis(
    tmp_path: Path, swarm: Swarm, losses: tuple[str, ...], apart: bool
) -> None:
    """Along round-trip times, then along two words, where lines stand beside each other."""
    rtts = (0, 40, 400) if not apart else (0,)
    results = swarm(rtts_ms=rtts, losses=losses, repeats=2, extras=False)
    if apart:
        results = _by_words(results)
    write(results, tmp_path)
    (file,) = (tmp_path / "figures").glob("*-mean-download-time.svg")
    root = ElementTree.parse(file).getroot()
    ticks = _places(root, "xtick")
    marks = {
        x for group in root.iter(f"{SVG}g") if "tip" in group.get("id", "") for x in _xs(group)
    }
    assert len(ticks) == (2 if apart else 3)
    assert marks.isdisjoint(ticks) if apart else marks == ticks


def _by_words(results: Any) -> Any:
    """Two axes of words: loss against a round-trip time that has a name."""
    import pyarrow as pa

    rows = []
    for name in ("near", "far"):
        for row in results.tables["runs"].to_pylist():
            number = len(rows)
            point = row["point"] + (2 if name == "far" else 0)
            rows.append({**row, "run": number, "point": point, "network.rtt": name})
    results.tables["runs"] = pa.Table.from_pylist(rows)
    found = results.tables["downloads"].to_pylist()
    more = [{**row, "run": row["run"] + len(rows) // 2} for row in found]
    for row in more:
        if row["duration_s"] is not None:
            row["duration_s"] += 10
    results.tables["downloads"] = pa.Table.from_pylist([*found, *more])
    return results


def _places(root: ElementTree.Element, prefix: str) -> set[float]:
    groups = [g for g in root.iter(f"{SVG}g") if g.get("id", "").startswith(prefix)]
    return {x for group in groups for x in _xs(group)}


def _xs(group: ElementTree.Element) -> list[float]:
    return [round(float(use.attrib["x"]), 1) for use in group.iter(f"{SVG}use")]


def _linear(color: str) -> np.ndarray:
    values = np.array(to_rgb(color))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.2)."""
    light = [float(_linear(color) @ (0.2126, 0.7152, 0.0722)) + 0.05 for color in (one, other)]
    return max(light) / min(light)


#: Full protanopia and deuteranopia (Machado, Oliveira and Fernandes 2009, table of matrices).
_BLIND = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
              [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
              [-0.011820, 0.042940, 0.968881]]),
)  # fmt: skip


def _distance(one: str, other: str, blind: np.ndarray) -> float:
    """Distance in the Oklab space of two colours as an eye with these cones sees them."""
    return float(np.linalg.norm(_oklab(blind @ _linear(one)) - _oklab(blind @ _linear(other))))


def _oklab(linear: np.ndarray) -> np.ndarray:
    cones = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                      [0.2119034982, 0.6806995451, 0.1073969566],
                      [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
    opponent = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                         [1.9779984951, -2.4285922050, 0.4505937099],
                         [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip
    return opponent @ np.cbrt(cones @ np.clip(linear, 0, 1))


def test_numbers_stay_beside_their_units() -> None:
    says = "47.8 % in 5 runs (n = 5) at 1000 ms, 100 KiB/s and 3 more"
    text = page.html(Page("t", says, [Section("s", "s", [Text(says)])]))
    assert (
        text.count(
            "47.8\u00a0% in 5 runs (n\u00a0=\u00a05) at 1000\u00a0ms, 100\u00a0KiB/s and 3 more"
        )
        == 2
    )


def test_a_measure_of_one_level_is_drawn_along_another_axis(swarm: Swarm) -> None:
    results = swarm(rtts_ms=(0, 200), repeats=2, extras=False)
    points = read(results.tables["runs"])
    (rtt, loss), far = points.axes, {p.index for p in points.points if p.label.startswith("RTT 2")}
    assert (rtt.name, loss.name) == ("RTT", "loss")
    of_run = {r.run: float(p.index) for p in points.points for r in p.runs if p.index in far}
    figure = means(Measure("goodput", "Mbit/s", of_run, ""), points, "x")
    assert figure is not None
    assert figure.alt == "goodput in Mbit/s against loss (%)"


def test_folders_are_lines_and_the_rest_are_panels(swarm: Swarm) -> None:
    points = read(swarm(repeats=1, extras=False).tables["runs"])
    assert [len(panel.lines) for panel in layout(points).panels] == [2]
    plan = layout(points, along="RTT", lines="RTT")
    assert [panel.title for panel in plan.panels] == ["loss 0 %", "loss 5 %"]


def test_values_that_hardly_differ_do_not_fill_the_axis() -> None:
    assert from_zero([26.0009, 26.0012])
    assert not from_zero([5.69, 5.77])
    assert from_zero([1.0, 5.0])


def test_numbers_on_an_axis_keep_their_digits() -> None:
    with canvas() as drawing:
        drawing.panels[0].plot([0, 1], [0.00001, 0.00005])
        drawing.panels[0].set_yticks([0.00001, 0.00005], ["0.00001", "0.00005"])
        assert ">0.00005</text>" in drawing.svg().wide


def test_a_workload_named_after_its_kind_is_named_once() -> None:
    assert called("swarm", "swarm") == "the swarm"
    assert called("swarm", "crowd") == "swarm crowd"


def test_instants_are_numbered_and_their_words_stand_in_the_caption(swarm: Swarm) -> None:
    results = swarm(rtts_ms=(0,), losses=("0 %",), repeats=2)
    instants = (Instant(5.0, "network.rtt: 1 s"), Instant(5.0, "network.loss: 5 %"))
    (figure,) = pings.over_time(results, read(results.tables["runs"]), instants)
    assert "Marks: (1) at 5 s network.rtt: 1 s; (2) at 5 s network.loss: 5 %." in figure.caption
    assert ">1, 2</text>" in figure.svg.wide
    assert ">1, 2</text>" in figure.svg.narrow


def test_a_table_of_many_columns_is_set_closer() -> None:
    def drawn(columns: int) -> str:
        header, row = [f"c{i}" for i in range(columns)], ["1"] * columns
        return page.html(Page("T", "L", [Section("S", "s", [Table(header, [row], "All.")])]))

    assert '<table class="dense">' in drawn(9)
    assert '<table class="dense">' not in drawn(8)


def test_a_page_runs_its_own_scripts_and_no_others(text: str) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    sums = [base64.b64encode(hashlib.sha256(it.encode()).digest()).decode() for it in scripts]
    assert scripts
    assert re.findall(r"sha256-([^&']*)", html.unescape(policy)) == sums
    assert not re.search(r'<[^>]* on\w+="', text)


def test_two_runs_are_two_dots_and_no_interval(tmp_path: Path, swarm: Swarm) -> None:
    results = swarm(repeats=2, extras=False)
    figure = _mean_figure(results)
    assert "dots the two runs" in figure.caption
    assert "95 %" not in figure.caption
    more = _mean_figure(swarm(repeats=3, extras=False))
    assert "thick bars 95 % intervals" in more.caption


def _mean_figure(results: Any) -> Figure:
    points = read(results.tables["runs"])
    (measure, *_) = measures.all_measures(results, points)
    figure = means(measure, points, "x")
    assert figure is not None
    return figure


def test_two_cases_are_not_joined_by_a_line(swarm: Swarm) -> None:
    def dashes(rtts_ms: tuple[int, ...]) -> int:
        drawn = _mean_figure(swarm(rtts_ms=rtts_ms, losses=("0 %",), repeats=3, extras=False))
        return drawn.svg.wide.count("stroke: #0072b2; stroke-width: 1.6")

    assert dashes((0, 400)) < dashes((0, 200, 400))


def test_the_numbers_of_a_figure_are_beside_it(folder: Path) -> None:
    (file,) = (folder / "figures").glob("*-1-mean-download-time.csv")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 6
    assert rows[0].keys() >= {"series", "x", "y", "low", "high", "n"}
    assert {row["x"] for row in rows} == {"0", "200", "400"}
    assert {row["n"] for row in rows} == {"2"}
    assert all(float(row["low"]) <= float(row["y"]) <= float(row["high"]) for row in rows)
    for drawing in (folder / "figures").glob("*.svg"):
        assert drawing.stem == "network" or drawing.with_suffix(".csv").is_file()


def test_a_figure_has_one_font_for_its_page_to_replace_and_paints_no_paper(folder: Path) -> None:
    for file in (folder / "figures").glob("*.svg"):
        if file.stem == "network":
            continue
        text = file.read_text(encoding="utf-8")
        assert len(re.findall(r"font-family", text)) == 1
        assert "DejaVu Sans" in text.partition(">")[0]
        assert "fill: #ffffff" not in text


def test_a_column_of_numbers_has_one_precision(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    (body,) = re.findall(r'id="answer".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    means_of = re.findall(r'data-label="mean download time[^"]*">([\d.]+)', body)
    assert len(means_of) == 6
    assert len({len(it.partition(".")[2]) for it in means_of}) == 1


_DRIVER = """
const key = document.querySelector("[data-key]"), out = {};
const drawing = key.closest(".drawing");
const dim = () => drawing.querySelectorAll("[data-series].dim").length;
out.before = dim();
key.dispatchEvent(new Event("pointerenter"));
out.pointed = dim();
key.dispatchEvent(new Event("pointerleave"));
out.after = dim();
const entry = drawing.querySelector('[data-key][role="button"]');
entry.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
out.kept = dim();
out.pressed = entry.getAttribute("aria-pressed");
out.tools = document.querySelectorAll("button.tool").length;
HTMLAnchorElement.prototype.click = function () { out.file = this.download; };
URL.createObjectURL = (blob) => {
  blob.text().then((it) => { out.csv = it; document.title = JSON.stringify(out); });
  return "blob:x";
};
const tools = [...document.querySelectorAll("button.tool")];
tools.find((it) => it.textContent === "Table as CSV").click();
"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_lines_can_be_told_apart_by_pointing_and_tables_taken_away(
    text: str, tmp_path: Path
) -> None:
    """In a browser: as it is, and with a script that plays a reader."""

    def dumped(page: str) -> str:
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        command = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--virtual-time-budget=2000", f"--user-data-dir={tmp_path / 'profile'}", file.as_uri(),
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "Table as CSV</button>" in dumped(text)
    free = re.sub(r"<meta http-equiv[^>]*>", "", text)
    played = dumped(free.replace("</body>", f"<script>{_DRIVER}</script></body>"))
    (title,) = re.findall(r"<title>(\{.*?\})</title>", played, re.DOTALL)
    out = json.loads(html.unescape(title))
    assert (out["before"], out["after"], out["pressed"]) == (0, 0, "true")
    assert out["pointed"] == out["kept"] > 0
    assert out["tools"] >= text.count("<table")
    rows = list(csv.reader(out["csv"].removeprefix("\ufeff").splitlines()))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 7
    assert float(rows[1][rows[0].index("mean download time (s)")]) > 400


_LABELS = """
const shown = (cell) => getComputedStyle(cell, "::before").content;
const cells = [...document.querySelectorAll("tbody td[data-label]")];
document.title = JSON.stringify(
  cells.filter((it) => it.textContent).map((it) => [it.dataset.label, shown(it)])
);
"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize(("width", "labelled"), [(500, True), (1200, False)])
def test_every_number_has_its_label_on_a_phone(
    text: str, tmp_path: Path, width: int, labelled: bool
) -> None:
    file = tmp_path / "page.html"
    free = re.sub(r"<meta http-equiv[^>]*>", "", text)
    file.write_text(free.replace("</body>", f"<script>{_LABELS}</script></body>"), "utf-8")
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
        f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}", file.as_uri(),
    ]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (title,) = re.findall(r"<title>(\[.*?\])</title>", shown, re.DOTALL)
    labels = json.loads(html.unescape(title))
    assert "change" in dict(labels)
    for label, before in labels:
        assert (label in before) if labelled else before == "none"


def test_a_ping_beside_an_upload_begins_with_its_figure_over_time(tmp_path: Path) -> None:
    study = Study.load(catalogue.STUDIES / "bufferbloat.toml", repeats=2)
    results = flashcrowd.run(study, tmp_path / "out", progress=False)
    path = study_page.write(results, tmp_path)
    page = path.read_text(encoding="utf-8")
    assert re.findall(r"figures/([a-z0-9-]+)\.svg", page)[0] == "ping-ping-over-time"
    assert page.count("The ping over time, by when each was sent.") == 1
    assert "ping (ms)" in (tmp_path / "figures" / "ping-ping-over-time.svg").read_text("utf-8")
    # The line is measured while the upload is on, and the idle ping is shown before.
    links = results.tables["links"].to_pylist()
    assert all(row["utilisation"] > 0.9 for row in links if row["link"] == "home-1 up")
    sent = [row for row in results.tables["pings"].to_pylist() if row["sent_s"] < 10]
    assert {round(row["rtt_s"] * 1e3) for row in sent} == {40}


def test_a_table_takes_text_and_no_means() -> None:
    with pytest.raises(TypeError, match="a cell of a table is text, not Estimate"):
        Table(["a", "b"], [["one", estimate([1.0, 2.0])]], "It.")  # type: ignore[list-item]
