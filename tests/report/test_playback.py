"""A swarm's playback: what the page's data say is what the table says, and they weigh little."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Page, Playback, Section
from flashcrowd.report import piece_map, playback
from flashcrowd.report.points import Points, read
from flashcrowd.report.source import Source

Swarm = Callable[..., Any]


def recorded(swarm: Swarm, pieces: int, leechers: int, repeats: int = 1, **more: Any) -> Any:
    """Results in which each leecher completed its pieces at random until its download ended."""
    results = swarm(repeats=repeats, leechers=leechers, **more)
    columns: dict[str, list[np.ndarray]] = {"run": [], "peer": [], "piece": [], "t_s": []}
    random = np.random.default_rng(1)
    for row in results.tables["downloads"].to_pylist():
        if row["population"] == "seed":
            continue
        end = row["completed_s"] or 400.0
        times = np.sort(random.uniform(0, end, pieces))
        times[-1] = end
        columns["run"].append(np.full(pieces, row["run"]))
        columns["peer"].append(np.full(pieces, row["peer"]))
        columns["piece"].append(random.permutation(pieces))
        columns["t_s"].append(times)
    table = pa.table({name: np.concatenate(parts) for name, parts in columns.items()})
    for name, text in (("swarm", "crowd"), ("population", "leechers")):
        table = table.append_column(name, pa.array([text] * table.num_rows))
    results.tables["have"] = table
    rows = results.tables["downloads"].to_pylist()
    results.tables["downloads"] = pa.Table.from_pylist(
        [row for row in rows if row["population"] != "seed"]
    )
    return results


def made(results: Source) -> tuple[Playback, list[dict[str, Any]]]:
    points: Points = read(results.tables["runs"])
    block = playback.playback(results, points)
    assert block is not None
    return block, json.loads(block.json)["runs"]


def unpacked(run: dict[str, Any]) -> list[list[tuple[int, int]]]:
    """The ticks and columns of each peer's steps, read as the page's script reads them."""
    data = iter(base64.b64decode(run["have"]))

    def varint() -> int:
        value, factor = 0, 1
        while True:
            byte = next(data)
            value += (byte & 127) * factor
            factor *= 128
            if byte < 128:
                return value

    def steps() -> Iterator[tuple[int, int]]:
        tick = 0
        for _ in range(varint()):
            tick += varint()
            yield tick, varint()

    found = [list(steps()) for _ in run["peers"]]
    assert next(data, None) is None
    return found


@pytest.mark.parametrize("pieces", [1, 40, 100])
def test_up_to_a_hundred_pieces_the_data_are_the_table(swarm: Swarm, pieces: int) -> None:
    results = recorded(swarm, pieces, 12, rtts_ms=(0,), losses=("0 %",))
    run = made(results)[1][0]
    assert (run["columns"], run["levels"]) == (pieces, 1)
    table = {}
    for row in results.tables["have"].to_pylist():
        table.setdefault(row["peer"], []).append((row["t_s"], row["piece"]))
    assert sorted(peer[0] for peer in run["peers"]) == sorted(table)
    for peer, steps in zip(run["peers"], unpacked(run), strict=True):
        wanted = sorted(table[peer[0]])
        assert [column for _, column in steps] == [piece for _, piece in wanted]
        for (tick, _), (t_s, _) in zip(steps, wanted, strict=True):
            assert abs(tick * run["tick"] - t_s) <= run["tick"] / 2


def test_more_pieces_share_columns_that_fill_up_in_steps(swarm: Swarm) -> None:
    results = recorded(swarm, 1234, 5, rtts_ms=(0,), losses=("0 %",))
    run = made(results)[1][0]
    assert (run["columns"], run["levels"], run["pieces"]) == (100, 4, 1234)
    have = results.tables["have"].to_pylist()
    members = np.bincount(np.arange(1234) * 100 // 1234)
    for peer, steps in zip(run["peers"], unpacked(run), strict=True):
        mine = sorted((row["t_s"], row["piece"]) for row in have if row["peer"] == peer[0])
        for seconds in (50.0, 200.0, 350.0):
            count = np.bincount([p * 100 // 1234 for t, p in mine if t <= seconds], minlength=100)
            level = np.bincount([c for t, c in steps if t * run["tick"] <= seconds], minlength=100)
            # Within half a tick of `seconds` a piece may count on either side.
            assert np.abs(level - count * 4 // members).sum() <= 2
        assert len(steps) == 400


def test_the_page_of_three_hundred_peers_weighs_less_than_a_megabyte(swarm: Swarm) -> None:
    for pieces in (40, 4000):
        results = recorded(swarm, pieces, 300, rtts_ms=(0, 200), losses=("0 %", "5 %"))
        block, runs = made(results)
        whole = page.html(Page("Weight", "", [Section("s", "s", [block])]))
        assert 100_000 < len(whole.encode()) < 1_000_000
        assert all(len(run["peers"]) == 300 for run in runs)
        steps = sum(len(steps) for run in runs for steps in unpacked(run))
        assert steps <= playback.MOST_STEPS
        assert ("left out" in block.caption) == (len(runs) < 4)


def test_more_peers_than_rows_are_a_sample_and_a_coarser_grid_holds_them() -> None:
    fine = piece_map.grid(4000, 100.0, 300, playback.MOST_STEPS)
    coarse = piece_map.grid(4000, 100.0, 1000, playback.MOST_STEPS)
    assert (fine.columns, fine.levels) == (100, 4)
    assert (coarse.columns, coarse.levels) == (100, 1)
    assert piece_map.grid(4000, 100.0, 5000, playback.MOST_STEPS).columns == 24
    assert piece_map.grid(3, 1e-9, 1, 10).tick_s == 1e-3


def test_rates_and_queues_stand_below_with_their_units(swarm: Swarm) -> None:
    results = recorded(swarm, 40, 5, rtts_ms=(0,), losses=("0 %",))
    line = made(results)[1][0]["lines"][0]
    rows = [row for row in results.tables["series"].to_pylist() if row["run"] == 0]
    assert (line["name"], line["unit"]) == ("download rate of the swarm", "Mbit/s")
    assert line["t"] == [row["t_s"] for row in rows]
    assert np.allclose(line["v"], [row["value"] * 1e-6 for row in rows], rtol=5e-3)


def test_only_runs_that_ended_as_planned_are_played(swarm: Swarm) -> None:
    results = recorded(swarm, 10, 5, repeats=2, stalled=True)
    first = {point.index: point.good_runs[0].run for point in read(results.tables["runs"]).points}
    assert first[1] == 3
    runs = made(results)[1]
    ends = {row["run"]: row["end_s"] for row in results.tables["runs"].to_pylist()}
    assert [run["end"] for run in runs] == [ends[run] for run in first.values()]


def test_without_the_table_there_is_none(swarm: Swarm) -> None:
    results = swarm(repeats=1, extras=False)
    assert playback.playback(results, read(results.tables["runs"])) is None


def test_it_asks_nobody_for_anything_and_names_cannot_become_markup() -> None:
    block = Playback("one", json.dumps({"runs": [], "x": "</script><b>"}), "c", "a")
    text = page.html(Page("t", "", [Section("s", "s", [block])]))
    assert text.count("</script>") == 3  # of the data, and of both scripts
    assert "<b>" not in text
    script = text[text.rindex("<script>") :]
    for word in ("fetch", "XMLHttp", "import", "http:", "https:", "src=", "WebSocket", "eval"):
        assert word not in script
    assert "prefers-reduced-motion" in script
    assert re.search(r'role="group".*?<noscript>', text, re.DOTALL)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_is_one(tmp_path: Path) -> None:
    text = page.html(Page("t", "", [Section("s", "s", [Playback("p", "{}", "c", "a")])]))
    script = tmp_path / "playback.js"
    script.write_text(text[text.rindex("<script>") + 8 : text.rindex("</script>")])
    subprocess.run(["node", "--check", str(script)], check=True)
