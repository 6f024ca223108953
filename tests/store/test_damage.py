"""A damaged folder says which file is wrong and what to do; nothing is half written."""

import errno
import json
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.store import IncompleteResults, ResultsError, atomic
from flashcrowd.store import open as open_results
from flashcrowd.store.batch import files
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    conduct(campaign(), FakeEngine(), tmp_path / "r", Threads(1))
    return tmp_path / "r"


def again(folder: Path) -> FakeEngine:
    engine = FakeEngine()
    conduct(campaign(), engine, folder, Threads(1))
    return engine


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="is not a results folder"):
        open_results(tmp_path / "nothing")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultsError, match="is in the way"):
        conduct(campaign(), FakeEngine(), tmp_path, Threads(1))
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    with pytest.raises(ResultsError, match="is in the way"):
        conduct(campaign(), FakeEngine(), tmp_path / "r", Threads(1))


def test_manifest_cut_off(folder: Path) -> None:
    cut(folder / "manifest.json")
    with pytest.raises(ResultsError, match=r"manifest\.json: is damaged"):
        open_results(folder)
    with pytest.raises(ResultsError, match=r"manifest\.json: is damaged"):
        again(folder)


def test_manifest_of_the_future(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(ResultsError, match="has format 99, this version of flashcrowd reads 2"):
        open_results(folder)


def test_runs_cut_off(folder: Path) -> None:
    before = tables(folder)
    (file,) = files(folder)
    cut(file)
    with pytest.raises(ResultsError, match=r"p0000-r0000\+5\.parquet: is damaged") as caught:
        again(folder)
    assert f"Delete {file} and run the study again" in str(caught.value)
    file.unlink()
    shutil.rmtree(folder / "tables")
    assert len(again(folder).ran) == 6
    assert tables(folder) == before


def test_a_bit_that_the_disk_turned_is_no_number(folder: Path) -> None:
    """Every byte of the pages: checksums, or a header or footer that cannot be read."""
    before = tables(folder)
    (file,) = files(folder)
    good = file.read_bytes()
    shutil.rmtree(folder / "tables")
    found = 0
    for place in range(4, len(good), max(1, len(good) // 150)):
        file.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        try:
            again(folder)
        except ResultsError:
            found += 1
        else:  # a byte without meaning, such as a statistic: the numbers are what they were
            assert tables(folder) == before
            shutil.rmtree(folder / "tables")
    assert found > 75


def test_runs_from_elsewhere(folder: Path) -> None:
    other = folder.with_name("other")
    conduct(campaign(seed=500), FakeEngine(), other, Threads(1))
    (file,) = files(folder)
    (foreign,) = files(other)
    shutil.copy(foreign, file)
    with pytest.raises(ResultsError, match=r"parquet: has runs of another plan, seed or engine"):
        again(folder)


def test_a_table_cut_off_is_made_again(folder: Path) -> None:
    before = tables(folder)
    cut(folder / "tables" / "downloads.parquet")
    with pytest.raises(ResultsError, match=r"downloads\.parquet: is damaged") as caught:
        _ = open_results(folder).downloads
    assert f"Delete {folder / 'tables'}" in caught.value.remedy
    shutil.rmtree(folder / "tables")
    with pytest.raises(IncompleteResults, match="6 of 6 runs are finished"):
        open_results(folder)
    assert again(folder).ran == []
    assert tables(folder) == before


def test_killed_before_the_manifest_was_written(folder: Path) -> None:
    before = tables(folder)
    for name in ("tables", "runs"):
        shutil.rmtree(folder / name)
    for name in ("manifest.json", "provenance.json"):
        (folder / name).unlink()
    (folder / ".unfinished-x").write_text("{")
    assert len(again(folder).ran) == 6
    assert tables(folder) == before


def test_disk_full_while_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pq.write_table
    calls = []

    def full(*args, **kwargs):
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **kwargs)

    folder = tmp_path / "r"
    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(ResultsError, match=r"p0000-r0001\.parquet: cannot be written: No space"):
        conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0))
    monkeypatch.undo()
    assert [p.name for p in (folder / "runs").iterdir()] == ["p0000-r0000.parquet"]
    assert len(again(folder).ran) == 5


def test_disk_full_while_a_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match="cannot be written"):
        atomic.write_bytes(tmp_path / "x", b"1")
    assert list(tmp_path.iterdir()) == []
