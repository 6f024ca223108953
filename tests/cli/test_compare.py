"""Compare, expect and repeat until sure, as commands: what they print, and their exit status."""

import re
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.in_process import flashcrowd
from tests.runner import small
from tests.runner.bytes import tables

from flashcrowd.study import Study

STUDY = small.swarm("homes", hosts=4, size="500 kB", repeats=5)

EXPECT = """
[expect.quick]
measure = "largest download time"
below = "1 h"

[expect.not-slower]
measure = "mean download time"
{bound}
"""


@pytest.fixture(scope="module", name="folders")
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results folders: a study, the same again, and one with half the upload."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "small.toml").write_text(STUDY)
    half = 'workloads.swarm.populations.seed.upload="50 KiB/s"'
    for name, more in (("a", ()), ("again", ()), ("half", ("--set", half))):
        status, _, error = flashcrowd(folder, "run", "small.toml", "--out", name, "--quiet", *more)
        assert status == 0, error
    return folder


def test_the_same_runs_are_equivalent_and_other_settings_are_different(folders: Path) -> None:
    status, shown, error = flashcrowd(folders, "compare", "a", "again", "half", "--out", "page")
    assert status == 0, error
    same = (
        r"Download time is the same within 5 % in again as in a at all 2 points \(\d runs per point"
    )
    assert re.search(same, " ".join(shown.split()))
    longer = r"(longer|as long) in half than in a at all 2 points"
    assert re.search(longer, " ".join(shown.split()))
    page = (folders / "page" / "compare.html").read_text(encoding="utf-8")
    assert re.search(longer, page.replace("\u00a0", " "))
    assert "workloads.swarm.populations.seed.upload" in page
    for figure in ("completion-1", "durations-1"):
        drawn = (folders / "page" / "figures" / f"{figure}.svg").read_text(encoding="utf-8")
        assert all(f">{name}<" in drawn for name in ("a", "again", "half"))


def test_what_cannot_be_compared_is_refused(folders: Path) -> None:
    assert flashcrowd(folders, "compare", "a")[0] == 2
    status, _, error = flashcrowd(folders, "compare", "a", "again", "--margin", "5")
    assert status == 2
    assert "--margin" in error
    other = ("--set", 'network.rtt="1 s"', "--out", "far", "--quiet")
    assert flashcrowd(folders, "run", "small.toml", *other)[0] == 0
    status, _, error = flashcrowd(folders, "compare", "a", "far")
    assert status == 2
    assert "network.rtt: a has 20 ms, 200 ms; far has 1 s" in error


@pytest.mark.parametrize(
    ("bound", "expected", "word"),
    [
        ('change_below = "10000 %"', 0, "kept"),
        ('below = "1 ms"', 4, "broken"),
        ('below = "{mean}"', 5, "undecided"),
    ],
)
def test_expectations_have_a_status(folders: Path, bound: str, expected: int, word: str) -> None:
    rows = pq.read_table(folders / "a" / "tables" / "downloads.parquet")
    runs = pq.read_table(folders / "a" / "tables" / "runs.parquet")
    first = set(runs["run"].filter([p == 0 for p in runs["point"].to_pylist()]).to_pylist())
    times = [
        time
        for run, time in zip(rows["run"].to_pylist(), rows["duration_s"].to_pylist(), strict=True)
        if run in first and time is not None
    ]
    bound = bound.format(mean=f"{sum(times) / len(times):.3f} s")
    at = "" if word != "undecided" else 'at = { rtt = "20 ms" }\n'
    study = folders / "expecting.toml"
    study.write_text(STUDY + EXPECT.format(bound=bound) + at)
    # The runs of the folder count: what is expected changes nothing that was simulated.
    status, shown, error = flashcrowd(folders, "run", "expecting.toml", "--out", "a", "--expect")
    assert (status, error) == (expected, "")
    assert re.search(rf"not-slower .*{word}", shown)
    status, shown, _ = flashcrowd(folders, "expect", "a")
    assert status == expected
    assert re.search(rf"not-slower .*{word}", shown)
    assert flashcrowd(folders, "report", "a", "--out", "page")[0] == 0
    assert "What was expected" in (folders / "page" / "report.html").read_text(encoding="utf-8")


def test_a_study_that_expects_nothing_has_no_status_to_give(folders: Path) -> None:
    status, _, error = flashcrowd(folders, "expect", "half")
    assert status == 2
    assert "the study expects nothing" in error
    example = tomllib.loads(error[error.index("    [expect.") :])
    document = tomllib.loads(STUDY)
    assert Study.from_dict({**document, **example}).expect


def test_repeats_until_sure_are_the_same_for_any_number_of_jobs(tmp_path: Path) -> None:
    study = STUDY.replace("repeats = 5", 'repeats = { until = "8 %", at_most = 30 }')
    (tmp_path / "small.toml").write_text(study)
    for name, jobs in (("one", "1"), ("three", "3")):
        status, shown, error = flashcrowd(
            tmp_path, "run", "small.toml", "--out", name, "--jobs", jobs, "--report"
        )
        assert status == 0, error
        assert "within 8 %" in shown
    assert tables(tmp_path / "one") == tables(tmp_path / "three")
    page = (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
    assert "repeated confidence intervals" in page
