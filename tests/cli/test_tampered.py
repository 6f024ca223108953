"""Each file of a results folder, tampered with in many ways: every command says so in words.

No traceback, no exit status but those that are documented, no control character on the terminal,
and nothing written outside of the folder.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.in_process import flashcrowd
from tests.runner import small

from flashcrowd.base.errors import is_plain
from flashcrowd.store import digests, schema

BAD = "\x1b]0;owned\x07\x1b[2J"
STUDY = (
    small.swarm("homes", hosts=2, size="100 kB", repeats=2)
    + '[expect.quick]\nmeasure = "largest download time"\nbelow = "1 h"\n'
)
JSON = ["manifest.json", "study.json", "provenance.json", "tables/digests.json"]
FILES = [
    *JSON, "study.toml", "plans/p0000.json", "runs/*.parquet", "tables/runs.parquet",
    "tables/downloads.parquet", ".lock",
]  # fmt: skip
COMMANDS: dict[str, list[str]] = {
    "report": ["report", "x"],
    "compare": ["compare", "sound", "x", "--out", "page"],
    "compare, first": ["compare", "x", "sound"],
    "expect": ["expect", "x"],
    "run": ["run", "sound/study.toml", "--out", "x", "--report", "--expect"],
    "merge": ["merge", "merged", "x"],
    "merge into": ["merge", "x", "sound"],
    "qlog": ["qlog", "x", "--out", "logs"],
    "pcap": ["pcap", "x", "--out", "packets"],
}
STATUSES = {0, 1, 2, 4, 5}
FILLED = ["runs", "points", "downloads", "populations", "timings"]
"""Tables of the study that have rows."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tampered")
    (folder / "s.toml").write_text(STUDY)
    assert flashcrowd(folder, "run", "s.toml", "--out", "sound", "--quiet")[0] == 0
    return folder / "sound"


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Iterator[Path]:
    """A sound folder, one to tamper with, and what is nobody's business."""
    shutil.copytree(sound, tmp_path / "sound")
    shutil.copytree(sound, tmp_path / "x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (outside / ".unfinished-file").write_text("precious")
    yield tmp_path
    left = {file.name: file.read_text() for file in outside.iterdir()}
    assert left == {"file": "precious", ".unfinished-file": "precious"}


def _all_commands(place: Path, names: list[str]) -> None:
    for name in names:
        for made in ("merged", "page", "logs", "packets"):
            shutil.rmtree(place / made, ignore_errors=True)
        status, out, error = flashcrowd(place, *COMMANDS[name])
        assert status in STATUSES, f"{name}: {error}"
        assert status != 2 or error.strip(), name
        assert "Traceback" not in error, name
        odd = [char for char in out + error if char not in "\n\t" and not is_plain(char)]
        assert not odd, f"{name}: {out}{error}"


EVERY = [False, pytest.param(True, marks=pytest.mark.slow)]
"""Whether each command is tried on a tampered folder, or one that is drawn for the case."""


def _some(every: bool, case: str, *names: str) -> list[str]:
    return [*names] if every else [random.Random(case).choice(names)]


def _at(place: Path, file: str) -> Path:
    folder = place / "x"
    return min(folder.glob(file)) if "*" in file else folder / file


def _cut(file: Path, place: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _empty(file: Path, place: Path) -> None:
    file.write_bytes(b"")


def _noise(file: Path, place: Path) -> None:
    file.write_bytes(random.Random(7).randbytes(5000))


def _escapes(file: Path, place: Path) -> None:
    file.write_text(json.dumps({BAD: BAD, "format": BAD}))


def _gone(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)


def _link(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to(place / "outside" / "file")


def _link_to_a_folder(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to(place / "outside")


def _link_to_nothing(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to(place / "outside" / "new")


def _pipe(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def _folder(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)
    file.mkdir()


def _endless(file: Path, place: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/zero")


def _holes(file: Path, place: Path) -> None:
    with file.open("ab") as opened:
        opened.truncate(1 << 40)


@pytest.mark.parametrize(
    ("file", "how"),
    [
        (file, how)
        for file in FILES
        for how in (
            _cut, _empty, _noise, _escapes, _gone, _link, _link_to_a_folder, _link_to_nothing,
            _pipe, _folder, _endless, _holes,
        )
        # Nothing is read of .lock.
        if (file, how) != (".lock", _holes)
    ],
)  # fmt: skip
@pytest.mark.parametrize("every", EVERY)
def test_another_file_in_its_place(
    every: bool, file: str, how: Callable[[Path, Path], None], place: Path
) -> None:
    path = _at(place, file)
    how(path, place)
    case = f"{file} {how.__name__}"
    _all_commands(place, _some(every, case, "report", "expect", "merge", "qlog", "run"))


@pytest.mark.parametrize("name", ["runs", "plans", "tables", "figures"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_linked_folder(command: str, name: str, place: Path) -> None:
    shutil.rmtree(place / "x" / name, ignore_errors=True)
    (place / "x" / name).symlink_to(place / "outside")
    _all_commands(place, [command])


def _sealed(file: Path, plain: dict[str, Any]) -> None:
    file.write_text(digests.sealed(plain))


def _reseal(folder: Path) -> None:
    """Give all files right digests, as somebody would who wants to be believed."""
    manifest = digests.unsealed((folder / "manifest.json").read_bytes())
    if isinstance(manifest.get("files"), dict):
        manifest["files"] = {
            name: digests.of_file(folder / name, folder) if (folder / name).is_file() else said
            for name, said in manifest["files"].items()
        }
    _sealed(folder / "manifest.json", manifest)
    tables = digests.unsealed((folder / "tables/digests.json").read_bytes())
    if isinstance(tables.get("files"), dict):
        tables["files"] = {
            file.name: digests.of_file(file, folder)
            for file in (folder / "tables").glob("*.parquet")
        }
    _sealed(folder / "tables/digests.json", tables)


VALUES: list[Any] = [None, True, -1, 1e308, 1 << 70, "", BAD, "9" * 50, [], {}, [[]], {"a": BAD}]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each table or list with a key of it, from the outside in."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _mutate(plain: Any, draw: random.Random) -> None:
    holder, key = draw.choice([*_places(plain)])
    if draw.random() < 0.3 and isinstance(holder, dict):
        del holder[key]
    elif draw.random() < 0.2 and isinstance(holder, dict):
        holder[BAD] = holder.pop(key)
    else:
        holder[key] = draw.choice(VALUES)


MUTANTS = [3, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.parametrize("mutants", MUTANTS)
@pytest.mark.parametrize("file", JSON)
def test_other_values_with_right_digests(file: str, mutants: int, place: Path) -> None:
    draw = random.Random(f"{file} {mutants}")
    good = json.loads((place / "x" / file).read_text())
    good.pop(digests.KEY, None)
    for _ in range(mutants):
        shutil.rmtree(place / "x")
        shutil.copytree(place / "sound", place / "x")
        plain = json.loads(json.dumps(good))
        _mutate(plain, draw)
        path = place / "x" / file
        if file == "study.json":
            path.write_text(json.dumps(plain))
        else:
            _sealed(path, plain)
        _reseal(place / "x")
        names = ("compare", "report", "expect", "merge", "run")
        _all_commands(place, _some(mutants > 3, str(draw.random()), *names))


def _columns(name: str, sound: Path) -> list[str]:
    return pq.read_schema(sound / "tables" / f"{name}.parquet").names


def _table_of(table: pa.Table, how: str, draw: random.Random) -> pa.Table:
    if how == "no rows":
        return table.slice(0, 0)
    place = draw.randrange(table.num_columns)
    field = table.schema.field(place)
    if how == "a column less":
        return table.remove_column(place)
    if how == "texts":
        for at, one in enumerate(table.schema):
            if pa.types.is_string(one.type):
                table = table.set_column(at, one, pa.array([BAD] * len(table), one.type))
        return table
    if pa.types.is_floating(field.type):
        values: list[Any] = [draw.choice([float("nan"), float("inf"), -1e308, 0.0])] * len(table)
    elif pa.types.is_integer(field.type):
        values = [draw.choice([0, 1 << 62, 99])] * len(table)
    else:
        values = [draw.choice(["", BAD, "x" * 1000])] * len(table)
    return table.set_column(place, field, pa.array(values, field.type))


def test_no_other_table_has_rows(sound: Path) -> None:
    rows = {
        name: pq.read_metadata(sound / f"tables/{name}.parquet").num_rows for name in schema.TABLES
    }
    assert [name for name, count in rows.items() if count] == FILLED


@pytest.mark.parametrize(
    ("name", "how"),
    [
        (name, how)
        for name in schema.TABLES
        for how in ("texts", "no rows", "a column less", "values")
        if name != "timings" and (name in FILLED or how == "a column less")
    ],
)
@pytest.mark.parametrize("every", EVERY)
def test_other_tables_with_right_digests(every: bool, name: str, how: str, place: Path) -> None:
    file = place / "x" / "tables" / f"{name}.parquet"
    table = pq.read_table(file)
    draw = random.Random(f"{name} {how}")
    for _ in range(3 if how == "values" else 1):
        pq.write_table(_table_of(table, how, draw), file)
        _reseal(place / "x")
        names = _some(every or how == "texts", f"{name} {how}", "compare", "report", "expect")
        _all_commands(place, names)
