import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from flashcrowd.report import description, points
from flashcrowd.report.study_page import write
from flashcrowd.report.summary import summary

Swarm = Callable[..., Any]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, swarm: Swarm) -> Path:
    """The folder of a report with every kind of figure."""
    return write(swarm(stalled=True), tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def page(written: Path) -> str:
    return (written / "report.html").read_text(encoding="utf-8")


def _shown(results: Any, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(summary(results))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_it_says_what_was_run(page: str) -> None:
    assert "<h1>Latency and loss in a small crowd</h1>" in page
    assert "6 points: 3 values of RTT × 2 values of loss. 36 runs in all, 6 runs per point" in page
    assert "flashcrowd 0.1.0, commit 0123abc" in page


def test_points_along_one_axis_are_one_for_each_of_its_values(swarm: Swarm) -> None:
    results = swarm(losses=("0 %",), extras=False)
    lead = description.lead(points.points_of(results))
    assert lead == "3 points, one for each value of RTT. 18 runs in all, 6 runs per point."
    # As a store has it: the first axis of the sweep is the one with cases.
    results.study["sweep"] = [{"network.rtt": ["0 ms", "200 ms", "400 ms"]}]
    results.study["report"] = {"cases": ["near", "far", "further"]}
    lead = description.lead(points.points_of(results))
    assert lead == "3 points, one for each case. 18 runs in all, 6 runs per point."


def test_the_question_stands_before_the_answer(tmp_path: Path, swarm: Swarm) -> None:
    results = swarm(repeats=2, extras=False)
    results.study["description"] = "Does distance matter?"
    text = write(results, tmp_path).read_text(encoding="utf-8")
    assert text.index("Does distance matter?") < text.index("The answer")


def test_what_varies_is_not_said_to_have_one_value(swarm: Swarm) -> None:
    results = swarm(repeats=2, extras=False)
    results.study["network"] = {"rtt": "0 ms", "loss": {"kind": "bernoulli", "probability": "0 %"}}
    results.study["sweep"] = [results.study["sweep"]]
    said = dict(description.facts(results, points.points_of(results)))
    assert said["between any two hosts"] == "round-trip time varies, loss varies"
    assert said["swept: RTT"] == "0 ms, 200 ms, 400 ms"
    results.study["sweep"] = []
    assert dict(description.facts(results, points.points_of(results)))["between any two hosts"] == (
        "round-trip time 0 ms, loss 0 %"
    )


def test_a_narrow_terminal_cuts_no_number(swarm: Swarm) -> None:
    results = swarm(repeats=2, extras=False)
    for column, name in (("network.rtt", "network.groups.some-homes.access.up_queue"),):
        names = results.tables["runs"].column_names
        renamed = [name if each == column else each for each in names]
        results.tables["runs"] = results.tables["runs"].rename_columns(renamed)
    for width in (34, 40, 80):
        text = _shown(results, width)
        assert "…" not in text
        assert all(len(line.rstrip()) <= width for line in text.splitlines())
        assert text.count("400 ms") >= 2


def test_every_kind_of_table_has_its_figure_or_listing(page: str) -> None:
    for caption in (
        "Mean download time",
        "Share of the leechers of swarm crowd that have the whole file",
        "Distribution of the download times",
        "Pieces that the leechers have",
        "Time between successive sends",
        "Payload of the TCP segments",
        "Unchokes by peers that have the whole file",
        "smoothed round-trip time",
        "Distribution of ping phone",
        "Download rate of the swarm",
        "Links with a rate",
    ):
        assert caption in page, caption


def test_runs_that_stalled_stand_at_the_top_with_their_reason(page: str) -> None:
    assert "1 stalled run of 36" in page
    assert "no seed left, 3 pieces missing" in page
    assert "1 of 6 not complete" in page


def test_who_meets_the_horizon_is_told_how_to_count_such_runs(swarm: Swarm) -> None:
    results = swarm(rtts_ms=(0,), losses=("0 %",), repeats=2)
    runs = results.tables["runs"].to_pylist()
    for run in runs:
        run.update(outcome="horizon", reason="swarm crowd: 0 of 30 leechers complete")
    results.tables["runs"] = pa.Table.from_pylist(runs)
    results.study.update(stop={"horizon": "50 s"}, workloads={"crowd": {"kind": "swarm"}})
    text = " ".join(_shown(results).split())
    assert "2 runs horizon: swarm crowd: 0 of 30 leechers complete" in text
    assert '[timeline.enough] with at = "50 s" and stop = "crowd"' in text
    assert "timeline.enough" not in _shown(swarm(stalled=True))


def test_it_loads_nothing_from_anywhere(page: str) -> None:
    wanted = re.findall(r'(?:src|href|action|data|poster)\s*=\s*"([^"]*)"', page)
    wanted += re.findall(r"url\(([^)]*)\)", page)
    outside = [w for w in wanted if not w.startswith(("#", "data:"))]
    assert outside == []
    assert "default-src &#39;none&#39;" in page
    assert "@import" not in page
    assert len(page) < 1_500_000


def test_every_figure_and_every_row_has_its_count_of_runs(page: str) -> None:
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    drawings = [caption for caption in captions if 'class="file"' in caption]
    assert drawings
    assert all("n\u00a0=\u00a06" in caption for caption in drawings)
    bodies = re.findall(r"<thead>(.*?)</table>", page, re.DOTALL)
    tables = [body for body in bodies if "mean" in body]
    for table in tables:
        for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]:
            assert "n = " in row, row


def test_ids_are_unique_although_figures_share_the_document(page: str) -> None:
    seen: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            del tag
            seen.extend(value for name, value in attrs if name == "id" and value)

    Reader().feed(page)
    assert len(seen) == len(set(seen))


def test_figures_and_page_are_the_same_bytes_each_time(
    written: Path, tmp_path: Path, swarm: Swarm
) -> None:
    write(swarm(stalled=True), tmp_path)
    files = sorted(p.relative_to(written) for p in written.rglob("*.*"))
    assert len(files) > 8
    for file in files:
        assert (written / file).read_bytes() == (tmp_path / file).read_bytes()


def test_figures_are_files_of_their_own(written: Path) -> None:
    svg = (written / "figures" / "completion.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "http://www.w3.org/2000/svg" in svg
    assert "Date" not in svg


def test_texts_from_the_study_cannot_become_markup(tmp_path: Path, swarm: Swarm) -> None:
    results = swarm(repeats=2, extras=False)
    results.study["title"] = "<script>alert(1)</script>"
    text = write(results, tmp_path).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count("<script") == 1


def test_one_run_a_point_is_called_a_sample(tmp_path: Path, swarm: Swarm) -> None:
    text = write(swarm(repeats=1, extras=False), tmp_path).read_text(encoding="utf-8")
    assert "<small>sample</small>" in text
    assert "One run a point: samples, without intervals." in text
    assert "their 95\u00a0% intervals below. Changes" not in text
    assert "sample" in _shown(swarm(repeats=1))


def test_a_study_without_sweep_has_a_report(tmp_path: Path, swarm: Swarm) -> None:
    results = swarm(rtts_ms=(0,), losses=("0 %",), repeats=3)
    results.tables["runs"] = results.tables["runs"].drop_columns(["network.rtt", "network.loss"])
    text = write(results, tmp_path).read_text(encoding="utf-8")
    assert "1 point. 3 runs in all" in text


def test_the_summary_has_means_changes_and_what_went_wrong(swarm: Swarm) -> None:
    text = _shown(swarm(stalled=True))
    assert "mean download" in text
    assert "baseline" in text
    assert re.search(r"400 ms +0 % +6 +\S+ +\+3\.\d+ %", text)
    assert "1 stalled" in text
    assert "1 run stalled: no seed left, 3 pieces missing" in text


def test_the_summary_of_nothing_says_so(swarm: Swarm) -> None:
    results = swarm(repeats=1, extras=False)
    results.tables.pop("downloads")
    assert "No run has a number to summarise" in _shown(results)


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path, swarm: Swarm) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.svg").write_text("mine", encoding="utf-8")
    write(swarm(repeats=2, extras=False), tmp_path)
    assert (tmp_path / "figures" / "mine.svg").read_text(encoding="utf-8") == "mine"


def test_a_page_says_what_the_timeline_changes(swarm: Swarm) -> None:
    made = swarm(repeats=2)
    made.study["timeline"] = {
        "dip": {"at": "30 s", "change": "network.rtt", "to": "1 s"},
        "enough": {"at": "2 min", "stop": "swarm"},
    }
    facts = dict(description.facts(made, points.read(made.tables["runs"])))
    assert facts["timeline"] == "at 30 s network.rtt becomes 1 s; at 2 min swarm stops"
