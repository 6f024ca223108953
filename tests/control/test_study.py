"""Upload controllers from the file to the page: the study that ships, in a short form."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flashcrowd
from flashcrowd.report.study_page import write
from flashcrowd.scenario.upload_control import CONTROLLERS
from flashcrowd.store import Results
from flashcrowd.study import Study

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "upload-control.toml"
CONTROL = "workloads.seeding.populations.home.upload_control"
SHORT = {
    "repeats": 1,
    "workloads.download.stop": "50 s",
    "timeline.enough.at": "50 s",
    "measures.window.from": "35 s",
    "measures.window.to": "50 s",
}


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `flashcrowd run` makes of it."""
    folder = tmp_path_factory.mktemp("control") / "results"
    values = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "flashcrowd", "run", str(STUDY), "--out", str(folder), *values]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module", name="results")
def _results(folder: Path) -> Results:
    return flashcrowd.open(folder)


def test_the_study_has_every_controller() -> None:
    (axis,) = Study.load(STUDY).resolved()["sweep"]
    named = [each if isinstance(each, str) else each["name"] for each in axis[CONTROL]]
    assert list(dict.fromkeys(named)) == ["unlimited", "fixed", *list(CONTROLLERS)[2:]]


def test_each_run_tells_what_its_controller_did(results: Results) -> None:
    rows = results.tables["control"].to_pylist()
    by_run: dict[int, list[dict]] = {}
    for row in rows:
        assert (row["swarm"], row["population"], row["host"]) == ("seeding", "home", "home-1")
        assert row["phase"]
        assert row["reason"]
        by_run.setdefault(row["run"], []).append(row)
    assert sorted(by_run) == list(range(17))
    for run, mine in by_run.items():
        # Once a second until the peer leaves, a little late each time.
        assert len(mine) in (49, 50), run
        assert np.diff([row["t_s"] for row in mine]).min() >= 1.0 - 1e-9
    assert {row["limit_bps"] for row in by_run[0]} == {None}
    assert {row["limit_bps"] for row in by_run[3][1:]} == {480_000.0}
    fixed = np.mean([row["upload_bps"] for row in by_run[3][5:]])
    assert fixed == pytest.approx(480_000, rel=0.15)
    # Auto-Speed's first generation takes its time before it sets a limit at all.
    limited = [run for run in by_run if any(row["limit_bps"] for row in by_run[run])]
    assert {*limited, 8} == {*range(1, 17)}
    for run in range(6, 17):
        trips = [row["rtt_s"] for row in by_run[run] if row["rtt_s"] is not None]
        # 27.5 ms each way, and 64 B at both rates of the line.
        assert min(trips) >= 0.055


def test_the_series_has_the_limit_by_host(results: Results) -> None:
    rows = [row for row in results.tables["series"].to_pylist() if row["run"] == 3]
    assert {(row["what"], row["source"]) for row in rows} == {("upload-limit", "home-1")}
    assert {row["value"] for row in rows} == {480_000.0}
    assert not any(row["run"] == 0 for row in results.tables["series"].to_pylist())


@pytest.fixture(scope="module", name="again")
def _again(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One of its points alone."""
    study = Study.load(STUDY, set={**SHORT, CONTROL: "autolimit-baseline"})
    return flashcrowd.run(study, out=tmp_path_factory.mktemp("again") / "results", progress=False)


def test_the_same_point_gives_the_same_rows(results: Results, again: Results) -> None:
    rows = [{**row, "run": 0} for row in results.tables["control"].to_pylist() if row["run"] == 14]
    assert again.tables["control"].to_pylist() == rows


def test_a_report_draws_limits_delays_and_rates(again: Results, tmp_path: Path) -> None:
    write(again, tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Upload control" in text
    drawn = {path.stem for path in (tmp_path / "figures").glob("control-*.svg")}
    # The home downloads nothing by its client.
    assert drawn == {"control-limit", "control-delay", "control-upload"}
    assert "download starts; (2)" in text
