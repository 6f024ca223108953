"""The page about logs of connections does what it says."""

import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest
from tests.docs.test_tutorial import BLOCK, ROOT, execute

from flashcrowd.study import Study


def test_the_page_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "connections.md").read_text(encoding="utf-8")
    commands = 0
    for block in BLOCK.finditer(page):
        if block["verb"] == "file":
            (tmp_path / block["name"]).write_text(block["body"])
        elif block["kind"] == "console":
            for line in block["body"].splitlines():
                outcome = execute(line.removeprefix("$ "), tmp_path)
                assert outcome.returncode == 0, f"{line}\n{outcome.stdout}\n{outcome.stderr}"
                commands += 1
        elif block["kind"] == "python":
            outcome = execute([sys.executable, "-W", "error", "-c", block["body"]], tmp_path)
            assert outcome.returncode == 0, outcome.stderr
            commands += 1
    assert commands == 4
    assert [path.suffix for path in (tmp_path / "logs").iterdir()] == [".sqlog"]
    # What the page says of the figure.
    events = pl.read_parquet(tmp_path / "upload" / "tables" / "connection_events.parquet")
    drawn = (tmp_path / "upload" / "figures" / "connection-1.svg").read_text(encoding="utf-8")
    shown = (ROOT / "docs" / "images" / "connection.svg").read_text(encoding="utf-8")
    assert drawn == shown
    late = events.filter(pl.col("t_s") > 1)["smoothed_rtt_s"].drop_nulls() * 1e3
    assert (late.min(), late.max()) == (pytest.approx(78, abs=0.5), pytest.approx(112, abs=0.5))
    assert events["min_rtt_s"].min() == pytest.approx(0.04, abs=1e-3)
    left = events.filter(pl.col("old") == "slow_start", pl.col("new") == "congestion_avoidance")
    assert left["t_s"][0] == pytest.approx(0.19, abs=5e-3)
    losses = events.filter(pl.col("event") == "packet_lost")["t_s"]
    assert (round(losses[0], 2), (losses < 1.3).sum(), len(losses)) == (1.14, 5, 7)


def test_the_page_has_every_key() -> None:
    page = (ROOT / "docs" / "connections.md").read_text(encoding="utf-8")
    (block,) = (block for block in BLOCK.finditer(page) if block["verb"] == "file")
    resolved = Study.from_dict(tomllib.loads(block["body"])).resolved()
    for key in resolved["measures"]["connections"]:
        assert f"`{key}`" in page
