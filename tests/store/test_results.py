"""Results in a reader's hands."""

import re
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.runner.fake import FakeEngine, campaign

import flashcrowd
from flashcrowd.results import Results
from flashcrowd.store import assemble, schema, swept
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results") / "r"
    conduct(campaign(peers=30), FakeEngine(), folder, Threads(2))
    return flashcrowd.open(folder)


def test_every_table_is_there(results: Results) -> None:
    assert tuple(results.tables) == schema.TABLES
    for name in schema.TABLES:
        assert results.tables[name] is getattr(results, name)
        assert name in dir(results)


def test_types_and_order_are_as_documented(results: Results) -> None:
    for name, layout in schema.ENGINE_TABLES.items():
        if name != "run":
            assert results.tables[name].schema.equals(layout.final_schema), name
    assert results.timings.schema.equals(schema.TIMINGS.final_schema)
    field = results.downloads.schema.field("arrived_s")
    assert field.metadata == {b"unit": b"s", b"meaning": b"when it came"}


def test_polars_takes_them_as_they_are_and_pandas_by_a_method(results: Results) -> None:
    assert pl.DataFrame(results.downloads).height == 180
    assert results.downloads.to_pandas().shape == (180, results.downloads.num_columns)
    if hasattr(pd.DataFrame, "from_arrow"):  # from pandas 3 on
        assert len(pd.DataFrame.from_arrow(results.downloads)) == 180
    lazy = pl.scan_parquet(results.tables.path("downloads"))
    assert lazy.filter(pl.col("run") == 1).collect().height == 30


def test_where_keeps_some_runs(results: Results) -> None:
    slow = results.where({"network.rtt": "400 ms"})
    assert slow.runs.column("run").to_pylist() == [3, 4, 5]
    assert set(slow.downloads.column("run").to_pylist()) == {3, 4, 5}
    assert slow.where({"seed": 101}).runs.column("run").to_pylist() == [4]
    with pytest.raises(KeyError, match="no column 'rtt' in runs; there are run, point"):
        results.where({"rtt": 1})


def test_timings_join_on_request(results: Results) -> None:
    joined = results.with_timings()
    assert joined.column("run").to_pylist() == list(range(6))
    assert min(joined.column("wall_s").to_pylist()) >= 0.0


def test_unknown_names_are_met_with_those_that_there_are(results: Results) -> None:
    known = re.escape(", ".join(schema.TABLES))
    with pytest.raises(
        AttributeError, match=f"no attribute or table 'pngs'; there are {known}; did"
    ):
        _ = results.pngs
    with pytest.raises(KeyError, match=f"no table 'dwnloads'; there are {known}") as caught:
        _ = results.tables["dwnloads"]
    assert 'did you mean "downloads"?' in str(caught.value)
    with pytest.raises(KeyError, match="no table 'nosuch'; there are"):
        results.tables.path("nosuch")
    with pytest.raises(KeyError, match="did you mean"):
        results.where({"network.rt": 1})
    with pytest.raises(IndexError, match="no point 2; there are 2, from 0"):
        results.plan(2)


def test_what_they_look_like(results: Results) -> None:
    text = repr(results)
    assert f"{str(results.path)!r}: 6 runs, 2 points; tables runs, " in text
    assert "  downloads: 180 rows\n" in repr(results.tables)
    some = results.where({"network.rtt": "400 ms"})
    assert "3 runs" in repr(some)
    assert "  downloads: 90 rows\n" in repr(some.tables)


def test_a_notebook_shows_the_title_the_answer_and_the_place(results: Results) -> None:
    page = results._repr_html_()
    assert page.startswith("<div><strong>a fake</strong>")
    assert "network.rtt" in page or "400 ms" in page, "the summary of the terminal"
    assert page.index("<pre>") < page.index(f"<code>{results.path}</code>")
    assert "6 runs of 2 points" in page
    assert '<th scope="row" style="text-align:left">downloads</th><td>180</td>' in (
        results.tables._repr_html_()
    )


def test_a_notebook_is_shown_no_markup_of_a_title(tmp_path: Path) -> None:
    title = "<script>alert(1)</script>"
    conduct(campaign(title=title), FakeEngine(), tmp_path / "r", Threads(1))
    assert "<script>" not in flashcrowd.open(tmp_path / "r")._repr_html_()


def test_results_compare_themselves_with_others(results: Results, tmp_path: Path) -> None:
    other = conduct(campaign(seed=500, peers=30), FakeEngine(), tmp_path / "other", Threads(1))
    found = results.compare(other.path, names=["here", "there"])
    assert [side.name for side in found.sides] == ["here", "there"]
    assert "there" in found._repr_html_()
    with pytest.raises(ValueError, match="at least two results folders"):
        results.compare()


def test_damage_is_shown_and_not_raised_by_what_is_only_looked_at(tmp_path: Path) -> None:
    results = conduct(campaign(), FakeEngine(), tmp_path / "r", Threads(1))
    file = results.tables.path("runs")
    file.write_bytes(file.read_bytes()[:-1])
    again = flashcrowd.open(results.path)
    for text in (repr(again), again._repr_html_(), repr(again.tables), again.tables._repr_html_()):
        assert "runs.parquet: is damaged" in text


def test_the_package_shows_what_it_is_for() -> None:
    shown = [name for name in dir(flashcrowd) if not name.startswith("_")]
    assert shown == ["fetch", "open", "run"]
    assert flashcrowd.__version__


def test_row_groups_do_not_depend_on_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assemble, "ROW_GROUP", 50)
    results = conduct(campaign(peers=70), FakeEngine(), tmp_path / "r", Threads(1))
    file = pq.ParquetFile(results.tables.path("downloads"))
    sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    assert sizes == [50] * 8 + [20]


@pytest.mark.parametrize(
    ("value", "number"),
    [("400 ms", 0.4), ("50 kB/s", 400_000.0), ("10 MB", 1e7), ("5 %", 0.05), (3, 3.0)]
    + [("cubic", None), (True, None), (["a"], None)],
)
def test_swept_quantities_have_si_numbers(value: object, number: float | None) -> None:
    assert swept.si_number(value) == pytest.approx(number)
