"""Results in a reader's hands."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.store import Results, assemble, schema
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results") / "r"
    return conduct(campaign(peers=30), FakeEngine(), folder, Threads(2))


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


def test_polars_and_pandas_take_them_as_they_are(results: Results) -> None:
    assert pl.DataFrame(results.downloads).height == 180
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


def test_unknown_names(results: Results) -> None:
    with pytest.raises(AttributeError, match="uploads"):
        _ = results.uploads
    with pytest.raises(KeyError):
        _ = results.tables["uploads"]


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
    assert assemble.si_number(value) == pytest.approx(number)
