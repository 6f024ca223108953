"""The documentation of the tables is the schema's own."""

from pathlib import Path

import pyarrow as pa
import pytest

from flashcrowd.store import schema

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == schema.markdown(), "run `make tables`"


@pytest.mark.parametrize("name", schema.TABLES)
def test_every_table_is_on_the_page(name: str) -> None:
    assert f"## `{name}`" in PAGE.read_text(encoding="utf-8")


def test_columns_say_what_they_mean() -> None:
    for layout in (*schema.ENGINE_TABLES.values(), schema.POINTS, schema.TIMINGS):
        names = [column.name for column in layout.columns]
        assert len(names) == len(set(names))
        for column in layout.columns:
            assert column.meaning, (layout.name, column.name)
            timed = column.name.endswith("_s")
            assert (column.unit == "s") == timed, (layout.name, column.name)


def test_a_missing_column_is_named() -> None:
    pings = schema.ENGINE_TABLES["pings"]
    table = pings.empty().drop_columns(["rtt_s"])
    with pytest.raises(ValueError, match=r"'pings': columns missing \['rtt_s'\]"):
        pings.cast(table)


def test_a_row_of_programs_has_all_columns_and_no_others() -> None:
    pings = schema.ENGINE_TABLES["pings"]
    row = {"ping": "a", "seq": 0, "sent_s": 0.0, "rtt_s": None}
    assert pings.of_rows([row]).to_pylist() == [row]
    for wrong in ({**row, "rtt_ms": 1.0}, {it: row[it] for it in row if it != "rtt_s"}):
        with pytest.raises(ValueError, match=r"'pings': columns missing or unknown: \['rtt_m?s'\]"):
            pings.of_rows([row, wrong])


def test_a_null_where_there_must_be_a_value_is_refused() -> None:
    pings = schema.ENGINE_TABLES["pings"]
    table = pa.table({"ping": ["a"], "seq": [0], "sent_s": [None], "rtt_s": [None]})
    with pytest.raises(ValueError, match="'pings'"):
        pings.cast(table)
