"""Folders side by side: points by their values, runs by their seeds, versions in words."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Page
from flashcrowd.report import compare_match, compare_page
from flashcrowd.report.compare import Incomparable, Side, compare, compare_sides, open_side
from flashcrowd.store import digests, schema, verified
from flashcrowd.store.binding import Binding
from flashcrowd.store.manifest import FILE, Manifest
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads


def slower(source, factor: float):
    """The same runs, in which everybody needs `factor` times as long."""
    rows = source.tables["downloads"]
    for column in ("completed_s", "duration_s"):
        values = pa.array([None if v is None else v * factor for v in rows[column].to_pylist()])
        rows = rows.set_column(rows.column_names.index(column), column, values)
    return type(source)({**source.tables, "downloads": rows}, source.study, source.provenance)


def shown(what, width: int = 160) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(what)
    return console.export_text()


@pytest.fixture(name="two", scope="module")
def _two(swarm: Callable) -> list[Side]:
    first = swarm(extras=False)
    return [Side.of(first, "old"), Side.of(slower(first, 1.02), "new")]


@pytest.fixture(name="built", scope="module")
def _built(two: list[Side]) -> Page:
    return compare_page.build(compare_sides(two))


def test_differences_are_those_of_runs_with_one_seed(two: list[Side]) -> None:
    found = compare_sides(two)
    measure = found.measures[0]
    pairs = found.pairs(measure)
    assert len(found.settings) == len(pairs) == 6
    for pair in pairs:
        change = pair.found.change
        assert change is not None
        assert change.mean == pytest.approx(0.02)
        assert change.n == 6
        assert pair.found.paired
        assert pair.found.words == "equivalent within 5 %"
        assert (found.folder(pair.point), found.folder(pair.base)) == ("new", "old")


@pytest.mark.parametrize("width", [40, 80, 100, 140])
def test_a_narrow_terminal_keeps_points_folders_numbers_and_verdicts(
    two: list[Side], width: int
) -> None:
    text = shown(compare_sides(two, margin=0.01).summary(), width)
    assert "…" not in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    rows = [line.split() for line in text.splitlines() if "different" in line and "new" in line]
    rows = [row for row in rows if "against" not in row]
    means = text.count("Mean download time (s)") + text.count("Last completion (s)")
    assert len(rows) == 6 * max(means, 1)
    assert all("%" in row for row in rows)
    assert ("[" in text) == (width >= 80)


def test_the_margin_decides(two: list[Side]) -> None:
    found = compare_sides(two, margin=0.01)
    assert {p.found.words for p in found.pairs(found.measures[0])} == {"different"}
    assert found.answer()[0] == (
        "Download time is 2.0 % longer in new than in old at all 6 points (6 runs per point)."
    )


def test_terminal_and_page_say_the_same(two: list[Side], built: Page, tmp_path: Path) -> None:
    found = compare_sides(two)
    text = shown(found)
    answer = (
        "Download time is the same within 5 % in new as in old at all 6 points (6 runs per point)."
    )
    assert answer in text
    assert "200 ms" in text
    saved = found.write(tmp_path).read_text(encoding="utf-8")
    said = saved.replace("\u00a0", " ")
    assert answer in said
    assert "two one-sided tests at the level of 5 % each" in said
    assert (tmp_path / "figures" / "completion-1.svg").exists()
    assert (tmp_path / "figures" / "durations-1.svg").exists()
    assert saved == page.html(built)


def test_a_terminal_names_the_first_settings_that_differ(two: list[Side]) -> None:
    found = compare_sides(two)
    assert "The studies have the same settings." in shown(found)
    for count, said in (
        (2, "What differs: a.0 and a.1."),
        (7, "What differs: a.0, a.1, a.2, a.3, a.4 and 2 other settings."),
    ):
        settings = tuple((f"a.{number}", ("1", "2")) for number in range(count))
        found.merged = replace(found.merged, settings=settings)
        assert said in shown(found)


def test_curves_lie_over_each_other(built: Page) -> None:
    curves = next(section for section in built.sections if section.slug == "curves")
    assert curves.blocks
    for figure in built.figures():
        if figure.slug.startswith(("completion", "durations")):
            assert ">old<" in figure.svg.wide
            assert ">new<" in figure.svg.wide


def test_a_point_says_which_setting_its_value_is_of(swarm: Callable) -> None:
    first = swarm(losses=("0 %",), extras=False)
    found = compare_sides([Side.of(first, "old"), Side.of(slower(first, 1.02), "new")], 0.01)
    assert [found.setting(group[0]) for group in found.settings] == [
        "RTT 0 ms", "RTT 200 ms", "RTT 400 ms",
    ]  # fmt: skip
    assert "RTT 200 ms" in shown(found.summary())


def test_points_are_matched_by_value_however_written(swarm: Callable) -> None:
    first, second = swarm(extras=False), swarm(rtts_ms=(200, 400, 800), extras=False)
    runs = second.tables["runs"]
    texts = [f"{int(v.split()[0]) / 1000:g} s" for v in runs["network.rtt"].to_pylist()]
    place = runs.column_names.index("network.rtt")
    second.tables["runs"] = runs.set_column(place, "network.rtt", pa.array(texts))
    found = compare_sides([Side.of(first, "a"), Side.of(second, "b")])
    assert {found.setting(group[0]) for group in found.settings} == {
        f"RTT {rtt} ms, loss {loss} %" for rtt in (200, 400) for loss in (0, 5)
    }
    assert "2 of 6 points of a are not in all folders: left out." in found.notices
    assert "2 of 6 points of b are not in all folders: left out." in found.notices
    for pair in found.pairs(found.measures[0]):
        assert pair.found.change is not None
        assert pair.found.change.mean == pytest.approx(0)


def test_what_one_folder_does_not_sweep_is_looked_up_in_its_study(swarm: Callable) -> None:
    first, second = swarm(extras=False), swarm(losses=("5 %",), extras=False)
    second.tables["runs"] = second.tables["runs"].drop_columns(["network.loss"])
    second.study["network"] = {"loss": "5 %"}
    found = compare_sides([Side.of(first, "a"), Side.of(second, "b")])
    assert len(found.settings) == 3
    first_of = {found.points.runs[r.run].seed for g in found.settings for r in g[0].runs}
    assert len(first_of) == 6


def test_nothing_in_common_is_refused_in_words(swarm: Callable) -> None:
    sides = [
        Side.of(swarm(rtts_ms=(0, 200), extras=False), "a"),
        Side.of(swarm(rtts_ms=(300, 400), extras=False), "b"),
    ]
    with pytest.raises(Incomparable) as refused:
        compare_sides(sides)
    assert "network.rtt: a has 0 ms, 200 ms; b has 300 ms, 400 ms" in str(refused.value)


def test_a_measure_that_one_folder_lacks_is_named(swarm: Callable) -> None:
    full, bare = swarm(), swarm(extras=False)
    found = compare_sides([Side.of(full, "full"), Side.of(bare, "bare")])
    assert any("is not there in bare" in notice for notice in found.notices)
    assert all("ping" not in measure.name for measure in found.measures)


def test_a_measure_that_a_folder_lacks_as_its_runs_stalled_says_so(swarm: Callable) -> None:
    full, cut = swarm(), swarm()
    stalled = pa.array(["stalled"] * cut.tables["runs"].num_rows)
    place = cut.tables["runs"].column_names.index("outcome")
    cut.tables["runs"] = cut.tables["runs"].set_column(place, "outcome", stalled)
    cut.tables["pings"] = cut.tables["pings"].slice(0, 0)
    found = compare_sides([Side.of(full, "full"), Side.of(cut, "cut")])
    told = [notice for notice in found.notices if "is not there in cut" in notice]
    assert told
    assert all(re.search(r"\(([0-9]+) of \1 runs stalled\)\.$", notice) for notice in told), told


def test_where_somebody_looked_the_intervals_and_the_test_are_those_of_all_looks(
    swarm: Callable,
) -> None:
    first = swarm(extras=False)
    second = slower(swarm(extras=False), 1.02)
    plain = compare_sides([Side.of(first, "a"), Side.of(second, "b")])
    second.study["repeats"] = {"until": "2 %", "at_least": 3, "at_most": 50}
    looked = compare_sides([Side.of(first, "a"), Side.of(second, "b")])
    (before, *_), (after, *_) = (each.pairs(each.measures[0]) for each in (plain, looked))
    assert after.here is not None
    assert before.here is not None
    assert after.here.low is not None
    assert before.here.low is not None
    assert after.here.low < before.here.low
    assert looked.measures[0].looks is not None


def test_runs_without_a_common_seed_are_independent(swarm: Callable) -> None:
    first, second = swarm(extras=False), swarm(extras=False)
    runs = second.tables["runs"]
    seeds = pa.array([seed + 1000 for seed in runs["seed"].to_pylist()])
    second.tables["runs"] = runs.set_column(runs.column_names.index("seed"), "seed", seeds)
    found = compare_sides([Side.of(first, "a"), Side.of(second, "b")])
    assert not any(pair.found.paired for pair in found.pairs(found.measures[0]))


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["/x/a", "/x/b"], ["a", "b"]),
        (["/x/old/r", "/x/new/r"], ["old/r", "new/r"]),
        (["/x/r", "/x/r"], ["r (1)", "r (2)"]),
    ],
)
def test_names_tell_folders_apart(folders: list[str], names: list[str]) -> None:
    assert compare_match.short_names(folders) == names


def test_results_of_two_programs_say_so_at_the_head(tmp_path: Path) -> None:
    one = conduct(campaign(), FakeEngine(), tmp_path / "one", Threads(1))
    two = conduct(campaign(engine="d2"), FakeEngine(digest="d2"), tmp_path / "two", Threads(1))
    found = compare(one, two)
    assert found.notices[0] == (
        "Made by different programs, so a difference may come from the program: "
        "one by fake 0.0 (d1); two by fake 0.0 (d2)."
    )
    assert len(found.settings) == 2


def test_another_version_of_the_tables_is_read_by_name(tmp_path: Path) -> None:
    one = conduct(campaign(), FakeEngine(), tmp_path / "one", Threads(1))
    conduct(campaign(), FakeEngine(), tmp_path / "old", Threads(1))
    _age(tmp_path / "old")
    old = open_side(tmp_path / "old", "old")
    assert old.columns == (
        f"downloads (tables of version {schema.VERSION - 1}, not {schema.VERSION}) "
        "has no pieces; has, unknown here, chunks; has in another unit arrived_s.",
    )
    found = compare_sides([Side.of(one, "one"), old])
    assert any("Tables of different versions" in notice for notice in found.notices)
    assert any(notice.startswith("old: downloads (tables of version") for notice in found.notices)
    measure = next(m for m in found.measures if "download" in m.name)
    runs = list(measure.of_run.values())
    assert len(runs) == 12
    assert runs[:6] == runs[6:]


def _age(folder: Path) -> None:
    """Make a folder one of the version before, whose downloads had other columns."""
    import pyarrow.parquet as pq

    file = folder / FILE
    plain = digests.unsealed(file.read_bytes())
    file.write_text(digests.sealed(plain | {"tables": schema.VERSION - 1}))
    rows = pq.read_table(folder / "tables" / "downloads.parquet")
    rows = rows.rename_columns([c.replace("pieces", "chunks") for c in rows.column_names])
    place = rows.column_names.index("arrived_s")
    other = rows.schema.field("arrived_s").with_metadata({"unit": "ms"})
    values = pa.chunked_array([np.asarray(rows["arrived_s"]) * 1e3])
    rows = rows.set_column(place, other, values)
    pq.write_table(rows, folder / "tables" / "downloads.parquet")
    (folder / "tables" / verified.FILE).unlink()
    verified.write(folder / "tables", Binding.of(folder, Manifest.read(folder)))
