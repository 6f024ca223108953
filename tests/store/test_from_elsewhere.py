"""Folders that somebody else has filled: no link leads out of them, nothing in them holds up."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.base import folder_files
from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Page
from flashcrowd.store import (
    DamagedResults,
    ResultsError,
    atomic,
    batch,
    digests,
    page_folder,
    schema,
    verified,
)
from flashcrowd.store import open as open_results
from flashcrowd.store.merge import merge
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads

PLACES = [
    "manifest.json",
    "study.json",
    "study.toml",
    "provenance.json",
    ".lock",
    "runs",
    "plans",
    "tables",
    "plans/p0000.json",
    "tables/digests.json",
    "tables/runs.parquet",
    "runs/*.parquet",
]

FILLED = ["runs", "points", "downloads", "links", "timings"]
"""Tables that have rows: the engine of these tests says nothing for the others."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "sound"
    conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0))
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "r")
    return tmp_path / "r"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """What is not the folder's: after the test as it was before."""
    place = tmp_path / "outside"
    place.mkdir()
    yield place
    assert _all(place) == place_before.pop(place, _all(place))


place_before: dict[Path, dict[str, object]] = {}


def _all(place: Path) -> dict[str, object]:
    return {
        str(file.relative_to(place)): (file.lstat().st_ino, file.is_file() and file.read_bytes())
        for file in sorted(place.rglob("*"))
    }


def _at(folder: Path, place: str) -> Path:
    return next(iter(sorted(folder.glob(place)))) if "*" in place else folder / place


def _linked(path: Path, outside: Path) -> None:
    """Move what a path is to elsewhere, with files beside it, and link it there."""
    there = outside / path.name
    if path.exists():
        path.rename(there)
    else:
        there.write_text("precious")
    if there.is_dir():
        (there / ".unfinished-precious").write_text("precious")
        (there / "p0009-r0009.0123456789abcdef.parquet").write_text("precious")
    path.symlink_to(there)
    place_before[outside] = _all(outside)


def _users(folder: Path) -> dict[str, Callable[[], object]]:
    """All that somebody does with a results folder, by a name."""

    def everything() -> None:
        results = open_results(folder)
        _ = [*(results.tables[name] for name in schema.TABLES), results.study, results.provenance]
        _ = [results.plan(point) for point in range(len(results.manifest.points))]

    return {
        "run": lambda: conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0)),
        "run with more repeats": lambda: conduct(
            campaign(repeats=4), FakeEngine(), folder, Threads(1, 0.0)
        ),
        "read": everything,
        "merge into": lambda: merge(folder, [folder.with_name("sound")]),
        "merge": lambda: merge(folder.with_name("merged"), [folder]),
    }


def _refused(use: Callable[[], object]) -> str:
    """What is said; nothing if it is none of this use's business."""
    try:
        use()
    except DamagedResults as error:
        pytest.fail(f"it would be mended: {error}")
    except ResultsError as error:
        return str(error)
    return ""


USES = ["run", "run with more repeats", "read", "merge into", "merge"]
WRITERS = {"run", "run with more repeats", "merge into"}


def _silent(use: str, place: str) -> bool:
    """Whether a use need not say a word: it does not read that place, or puts it away whole."""
    anew = place.startswith("tables") and use in ("run with more repeats", "merge into")
    return anew or use not in WRITERS


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", PLACES)
def test_no_use_follows_a_link(
    place: str, use: str, folder: Path, sound: Path, outside: Path
) -> None:
    shutil.copytree(sound, folder.with_name("sound"))
    path = _at(folder, place)
    _linked(path, outside)
    said = _refused(_users(folder)[use])
    if said:
        assert "is no f" in said
        assert "but a link, which is not followed" in said
        assert str(path) in said
    # Who writes refuses every link; who reads, those that it reads.
    assert said or _silent(use, place)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (place, kind)
        for place in PLACES
        for kind in ("pipe", "endless", "long")
        # Of a long .lock nobody reads more than a line.
        if "." in place and (place, kind) != (".lock", "long")
    ],
)
def test_nothing_waits_or_grows(
    place: str, kind: str, use: str, folder: Path, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(sound, folder.with_name("sound"))
    path = _at(folder, place)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 42)
    said = _refused(_users(folder)[use])
    assert said or _silent(use, place)
    words = {"pipe": "a pipe", "endless": "a link", "long": "bytes long"}
    assert not said or words[kind] in said


def test_a_file_with_another_name_is_not_written_in_its_place(folder: Path, outside: Path) -> None:
    (outside / "precious").write_text("precious")
    (folder / ".lock").unlink()
    os.link(outside / "precious", folder / ".lock")
    place_before[outside] = _all(outside)
    with pytest.raises(ResultsError, match="has another name, too"):
        conduct(campaign(), FakeEngine(), folder, Threads(1))


@pytest.mark.parametrize("name", ["figures", "report.html"])
def test_a_report_is_written_into_its_folder_alone(name: str, folder: Path, outside: Path) -> None:
    there = outside / name
    there.mkdir() if name == "figures" else there.write_text("precious")
    (folder / name).symlink_to(there)
    place_before[outside] = _all(outside)
    made = Page(title="t", lead="", sections=[])
    if name == "figures":
        with pytest.raises(ResultsError, match="is no folder but a link"):
            page_folder.save(page.html(made), page.figures(made), folder)
    else:  # a file takes its place whole: the link goes, and not what it leads to
        page_folder.save(page.html(made), page.figures(made), folder)
        assert not (folder / name).is_symlink()


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(folder)
    conduct(campaign(repeats=4), FakeEngine(), tmp_path / "latest", Threads(1))
    assert open_results(tmp_path / "latest").tables["runs"].num_rows == 8


def test_folders_of_a_campaign_are_no_links(outside: Path, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "one").symlink_to(outside)
    for below in ("one", "one/deeper"):
        with pytest.raises(ResultsError, match="is no folder but a link"):
            atomic.enclosed(tmp_path / "all" / below, tmp_path / "all")
    new = tmp_path / "all" / "two"
    assert atomic.enclosed(new, tmp_path / "all") == new
    assert atomic.enclosed(tmp_path / "new" / "one", tmp_path / "new") == tmp_path / "new" / "one"


def _reseal(folder: Path, name: str, table: pa.Table, rows: int = 1 << 17) -> None:
    """Put another table in a folder's, with a right digest."""
    pq.write_table(table, folder / "tables" / f"{name}.parquet", row_group_size=rows)
    path = folder / "tables" / verified.FILE
    plain = digests.unsealed(path.read_bytes())
    plain["files"][f"{name}.parquet"] = digests.of_file(
        folder / "tables" / f"{name}.parquet", folder
    )
    path.write_text(digests.sealed(plain))


def test_rows_without_end_are_refused_before_they_are_read(folder: Path) -> None:
    rows = open_results(folder).tables["downloads"].slice(0, 1)
    many = pa.concat_tables([rows.slice(0, 0), *([rows] * 2)]).take(pa.array([0] * 3_000_000))
    _reseal(folder, "downloads", many, rows=3_000_000)
    results = open_results(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch.parquet._core, "available_memory", lambda: 50_000_000)
        with pytest.raises(ResultsError, match=r"GB of memory, and 0\.1 GB are available"):
            _ = results.tables["downloads"]


def test_a_long_text_in_many_rows_is_counted_before_it_is_read(folder: Path) -> None:
    column = open_results(folder).tables["downloads"]
    place = column.schema.get_field_index("host")
    text = pa.array(["x" * 1_000_000] * 20).dictionary_encode()
    long = pa.array([0] * 100_000).dictionary_encode()
    long = pa.DictionaryArray.from_arrays(long.indices, text.dictionary)
    rows = column.take(pa.array([0] * 100_000))
    rows = rows.set_column(place, column.schema.field(place).with_type(long.type), long)
    _reseal(folder, "downloads", rows)  # 100 GB in less than a megabyte
    assert (folder / "tables" / "downloads.parquet").stat().st_size < 1_000_000
    with pytest.raises(ResultsError, match=r"needs 100\.\d GB of memory"):
        _ = open_results(folder).tables["downloads"]


def test_no_other_table_has_rows(folder: Path) -> None:
    tables = open_results(folder).tables
    assert [name for name in schema.TABLES if tables[name].num_rows] == FILLED


@pytest.mark.parametrize(
    ("how", "name"),
    [(how, name) for how in ("without columns", "of texts", "of nothing") for name in schema.TABLES]
    + [("of other runs", name) for name in FILLED],
)
def test_tables_of_another_shape_are_an_error(how: str, name: str, folder: Path) -> None:
    table = open_results(folder).tables[name]
    if how == "without columns":
        table = table.select(table.column_names[:-1])
    elif how == "of texts":
        table = table.cast(pa.schema([pa.field(it.name, pa.string()) for it in table.schema]))
    elif how == "of nothing":
        types = [pa.field(it.name, it.type) for it in table.schema]
        table = pa.table([pa.nulls(1, it.type) for it in types], schema=pa.schema(types))
    else:
        table = table.set_column(0, table.schema.field(0), pa.array([77] * len(table)))
    _reseal(folder, name, table)
    with pytest.raises(DamagedResults, match=rf"{name}\.parquet: is damaged: it"):
        _ = open_results(folder).tables[name]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", 1),
        ("fingerprint", None),
        ("engine", {"name": "sim"}),
        ("engine", []),
        ("points", {}),
        ("points", [3]),
        ("points", [{"values": [], "plan": "x"}]),
        ("runs", [{"point": 0, "repeat": 0, "seed": "1"}]),
        ("runs", [{"point": 9, "repeat": 0, "seed": 1}]),
        ("runs", [{"point": 0, "repeat": 0, "seed": 1 << 64}]),
        ("runs", [{"point": 0, "repeat": 0, "seed": 1}] * 2),
        ("runs", None),
        ("tables", "4"),
        ("files", [1]),
        ("files", {"study.json": 1}),
    ],
)
def test_a_manifest_of_another_shape_is_an_error(key: str, value: object, folder: Path) -> None:
    path = folder / "manifest.json"
    plain = digests.unsealed(path.read_bytes())
    for other in (plain | {key: value}, {k: v for k, v in plain.items() if k != key}):
        path.write_text(digests.sealed(other))
        if key in ("files", "tables") and key not in other:
            continue  # they have defaults
        with pytest.raises(DamagedResults, match=r"manifest\.json: is damaged") as caught:
            open_results(folder)
        assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize("name", ["provenance.json", "tables/digests.json"])
@pytest.mark.parametrize("value", [1, "x", None, [1], {"a": 1}])
def test_sealed_files_of_another_shape_are_an_error(value: object, name: str, folder: Path) -> None:
    path = folder / name
    plain = digests.unsealed(path.read_bytes())
    for key in plain:
        if isinstance(plain[key], str) and isinstance(value, str):
            continue
        path.write_text(digests.sealed(plain | {key: value}))
        try:
            _users(folder)["read"]()
        except ResultsError:
            continue
        assert name == "provenance.json"  # what it says besides is only shown


@pytest.mark.parametrize("depth", [300, 5000])
@pytest.mark.parametrize("use", USES)
def test_a_study_of_any_depth_is_an_error_in_words(
    use: str, depth: int, folder: Path, sound: Path
) -> None:
    shutil.copytree(sound, folder.with_name("sound"))
    text = '{"title": "t", "a": ' + '{"a": ' * depth + "1" + "}" * depth + "}"
    (folder / "study.json").write_text(text)
    path = folder / "manifest.json"
    plain = digests.unsealed(path.read_bytes())
    plain["files"]["study.json"] = digests.of(text.encode())
    plain["points"][0]["plan"] = "another"
    path.write_text(digests.sealed(plain))
    with suppress(ResultsError):
        _users(folder)[use]()


def test_a_descriptor_is_closed_whatever_happens(folder: Path, outside: Path) -> None:
    (outside / "x").write_text("x")
    (folder / "link").symlink_to(outside)
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for path in (folder / "link" / "x", folder / "none" / "x", folder / "runs"):
        with pytest.raises(OSError):  # noqa: PT011
            folder_files.read(path, folder)
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == before
