"""A damaged folder says which file is wrong and what to do; nothing is half written."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.store import (
    DamagedResults,
    IncompleteResults,
    ResultsDiffer,
    ResultsError,
    atomic,
    digests,
)
from flashcrowd.store import open as open_results
from flashcrowd.store.batch import files
from flashcrowd.store.errors import OtherFormat
from flashcrowd.study.campaign import conduct, fitting_folder
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
    before = tables(folder)
    cut(folder / "manifest.json")
    with pytest.raises(DamagedResults, match=r"manifest\.json: is damaged"):
        open_results(folder)
    assert again(folder).ran == []
    assert tables(folder) == before


def test_manifest_of_the_future(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["digest"]
    (folder / "manifest.json").write_text(digests.sealed(manifest | {"format": 99}))
    with pytest.raises(OtherFormat, match="has format 99, this version of flashcrowd reads 4"):
        open_results(folder)
    assert fitting_folder(campaign(), folder) == folder.with_name("r-2")


@pytest.mark.parametrize("text", ['{"dependencies": {}}', '{"format": "zip"}'])
def test_a_manifest_of_another_program_says_so(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ResultsError, match="is no manifest of flashcrowd") as caught:
        open_results(folder)
    assert "flashcrowd run " in caught.value.remedy


def test_a_manifest_of_another_folder_names_the_command(folder: Path, tmp_path: Path) -> None:
    plain = digests.unsealed((folder / "manifest.json").read_bytes())
    other = plain | {"runs": plain["runs"][:-1], "files": {"study.toml": "0" * 64}}
    (folder / "manifest.json").write_text(digests.sealed(other))
    with pytest.raises(ResultsError, match=f"flashcrowd run STUDY.toml --out {folder}"):
        open_results(folder)


def test_manifest_of_the_past(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"format": 2}')
    with pytest.raises(OtherFormat, match="has format 2, this version of flashcrowd reads 4"):
        open_results(folder)


def test_a_folder_that_is_not_bound_is_run_again(folder: Path) -> None:
    plain = digests.unsealed((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(digests.sealed(plain | {"format": 3}))
    with pytest.raises(OtherFormat, match="nothing says of which runs the tables are") as caught:
        open_results(folder)
    assert "run the study with --fresh" in caught.value.remedy
    with pytest.raises(OtherFormat, match="has format 3"):
        again(folder)


def test_runs_cut_off_are_run_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tables(folder)
    (file,) = files(folder)
    cut(file)
    assert len(again(folder).ran) == 6
    assert f"mending: {file} is damaged (its digest is not" in capsys.readouterr().err
    assert tables(folder) == before
    assert len(files(folder)) == 1


def test_one_damaged_file_of_several_costs_its_runs_only(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0))
    before = tables(folder)
    cut(files(folder)[2])
    assert len(again(folder).ran) == 1
    assert tables(folder) == before


def test_runs_damaged_before_the_tables_were_made_are_named(folder: Path) -> None:
    shutil.rmtree(folder / "tables")
    (file,) = files(folder)
    cut(file)
    with pytest.raises(DamagedResults) as caught:
        open_results(folder)
    assert caught.value.path == file
    words = f"flashcrowd run {folder / 'study.toml'} --out {folder}"
    assert caught.value.remedy.endswith(words)


def test_runs_from_elsewhere(folder: Path) -> None:
    other = folder.with_name("other")
    conduct(campaign(seed=500), FakeEngine(), other, Threads(1))
    (file,) = files(folder)
    (foreign,) = files(other)
    shutil.copy(foreign, file.with_name(foreign.name))
    with pytest.raises(ResultsError, match=r"parquet: has runs of another plan, seed or engine"):
        again(folder)


@pytest.mark.parametrize("name", ["downloads.parquet", "points.parquet", "digests.json"])
def test_a_table_cut_off_is_made_again(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tables(folder)
    cut(folder / "tables" / name)
    with pytest.raises(DamagedResults) as caught:
        dict(open_results(folder).tables)
    assert caught.value.path == folder / "tables" / name
    assert again(folder).ran == []
    assert f"tables/{name} is damaged" in capsys.readouterr().err
    assert tables(folder) == before
    assert again(folder).ran == []
    assert capsys.readouterr().err == ""


def test_tables_that_are_gone_are_made_again(folder: Path) -> None:
    before = tables(folder)
    shutil.rmtree(folder / "tables")
    with pytest.raises(IncompleteResults, match="6 of 6 runs are finished"):
        open_results(folder)
    assert again(folder).ran == []
    assert tables(folder) == before


def test_a_damaged_manifest_does_not_hide_another_study(folder: Path) -> None:
    cut(folder / "manifest.json")
    with pytest.raises(ResultsDiffer, match="has runs of another plan, seed or engine"):
        conduct(campaign(seed=500), FakeEngine(), folder, Threads(1))
    shutil.rmtree(folder / "runs")
    with pytest.raises(ResultsDiffer, match="seed: was 100, is 500"):
        conduct(campaign(seed=500), FakeEngine(), folder, Threads(1))
    cut(folder / "study.json")
    with pytest.raises(ResultsDiffer, match="do not say of which study"):
        again(folder)
    assert fitting_folder(campaign(), folder) == folder.with_name("r-2")


def test_a_damaged_study_is_no_change_of_settings(folder: Path) -> None:
    cut(folder / "study.json")
    with pytest.raises(ResultsDiffer, match=r"were of other settings; study\.json is damaged"):
        conduct(campaign(rtts=("0 ms", "1 ms")), FakeEngine(), folder, Threads(1))
    assert again(folder).ran == []
    assert open_results(folder).study["title"] == "a fake"


def test_lost_sessions_leave_a_note(folder: Path) -> None:
    cut(folder / "provenance.json")
    with pytest.raises(DamagedResults, match=r"provenance\.json"):
        _ = open_results(folder).provenance
    assert again(folder).ran == []
    first, second = open_results(folder).provenance["sessions"]
    assert "is damaged" in first["lost"]
    assert second["runs"] == 0


def test_a_study_file_is_no_results_folder(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text("format = 1")
    with pytest.raises(ResultsError, match=r"is a file, no results folder\n.*flashcrowd run") as it:
        open_results(tmp_path / "b.toml")
    assert "manifest" not in str(it.value)


def test_a_new_title_keeps_the_tables(folder: Path) -> None:
    before = (folder / "tables").stat().st_ino
    conduct(campaign(title="another"), FakeEngine(), folder, Threads(1))
    assert (folder / "tables").stat().st_ino == before
    assert open_results(folder).study["title"] == "another"


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
    real = os.replace

    def full(begun: str, name: str, **folders: int) -> None:
        if name.startswith("p0000-r") and files(folder):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(begun, name, **folders)

    folder = tmp_path / "r"
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ResultsError, match=r"p0000-r0001\..*parquet: cannot be written: No space"):
        conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0))
    monkeypatch.undo()
    assert [p.name.split(".")[0] for p in (folder / "runs").iterdir()] == ["p0000-r0000"]
    assert len(again(folder).ran) == 5


def test_disk_full_while_a_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match="cannot be written"):
        atomic.write_bytes(tmp_path / "x", b"1")
    assert list(tmp_path.iterdir()) == []
