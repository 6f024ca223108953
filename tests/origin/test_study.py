"""Content servers from the file to the page: the study that ships, in a short form."""

from pathlib import Path

import pytest

import flashcrowd
from flashcrowd.emulation import requirements
from flashcrowd.report.source import distinct
from flashcrowd.report.study_page import write
from flashcrowd.store import Results
from flashcrowd.study import Study

STUDY = Path(__file__).parents[2] / "studies" / "origin-crowd.toml"
SHORT = {
    "network.groups.slow.hosts": 20,
    "network.groups.fast.hosts": 20,
    "measures.windows.origins.from": "10 s",
    "measures.windows.origins.to": "26 s",
}
LINE_S = {"T10": 32 * 2**20 * 8 / 10e6 * 1500 / 1448, "T3": 32 * 2**20 * 8 / 44.736e6 * 1500 / 1448}
"""What the lines alone need for the file: 52 B of headers for 1448 B."""


@pytest.fixture(scope="module", name="results")
def _results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("origin") / "results"
    return flashcrowd.run(Study.load(STUDY, repeats=1, set=SHORT), folder)


def times(results: Results) -> dict[str, dict[str, float]]:
    """Mean download times by policy and population."""
    policies = ["in-order", "attach", "circus", "relevance"]
    points = {row["run"]: row["point"] for row in results.tables["runs"].to_pylist()}
    found: dict[str, dict[str, list[float]]] = {policy: {} for policy in policies}
    for row in results.tables["downloads"].to_pylist():
        of = found[policies[points[row["run"]]]].setdefault(row["population"], [])
        of.append(row["duration_s"])
    return {
        policy: {name: sum(each) / len(each) for name, each in of.items()}
        for policy, of in found.items()
    }


def test_any_order_brings_everybody_the_time_of_their_line(tmp_path: Path) -> None:
    """Two runs: whether somebody in a run of attach comes too late for the others is chance."""
    found = times(flashcrowd.run(Study.load(STUDY, repeats=2, set=SHORT), tmp_path / "results"))
    for policy in ("circus", "relevance"):
        for name, line_s in LINE_S.items():
            assert line_s < found[policy][name] < 1.02 * line_s, (policy, name)
    assert found["in-order"]["T3"] > 1.5 * found["relevance"]["T3"]
    assert found["attach"]["T3"] > 1.05 * found["relevance"]["T3"]


def test_the_disk_reads_less_the_more_is_shared(results: Results) -> None:
    rows = results.tables["origins"].to_pylist()
    assert [row["policy"] for row in rows] == ["in-order", "attach", "circus", "relevance"]
    in_order, attach, circus, relevance = (row["read_bytes"] for row in rows)
    assert in_order > 1.2 * circus
    assert attach > 1.2 * circus
    assert circus > 1.2 * relevance
    for row in rows:
        assert row["disk_busy_s"] <= 1.001 * (row["to_s"] - row["from_s"])
        assert row["miss_ratio"] == pytest.approx(row["read_bytes"] / row["sent_bytes"])
        # 1 MB/s of a read of 64 KiB in any order: 33.6; no read is shorter.
        assert row["disk_bps"] <= 8 * 40e6


def test_downloads_are_those_that_began_in_the_window(results: Results) -> None:
    came = [row["arrived_s"] for row in results.tables["downloads"].to_pylist()]
    assert came
    assert all(10 <= at < 26 for at in came)
    begun = sum(row["downloads"] for row in results.tables["origins"].to_pylist())
    assert begun == len(came)


def test_the_page_tells_of_disk_and_downloads(results: Results, tmp_path: Path) -> None:
    page = write(results, tmp_path).read_text(encoding="utf-8")
    assert "The origin" in page
    assert "Disk of origin: busy" in page
    assert "mean download time in T3" in page
    assert "mean residence (s)" in page
    assert "the most popular is number 0" in page
    for what in ("origin-rate", "disk-rate", "disk-waiting", "origin-clients"):
        assert f"series-{what}" in page, what
    assert len(distinct(results.tables["series"], "what")) == 4


def test_an_emulation_plays_it() -> None:
    plan = Study.load(STUDY).points()[0].plan().parsed
    assert list(requirements.impossible(plan)) == []
