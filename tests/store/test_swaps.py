"""Files of another results folder: an error that says how to mend, or the right numbers."""

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, FakeHandle, campaign

import flashcrowd
from flashcrowd._core import Plan
from flashcrowd.cli import main
from flashcrowd.store import ForeignResults, IncompleteResults, ResultsError, schema
from flashcrowd.store import open as open_results
from flashcrowd.store.binding import rows_of
from flashcrowd.store.manifest import Manifest
from flashcrowd.store.merge import merge
from flashcrowd.store.shard import Shard
from flashcrowd.study.campaign import Campaign, conduct, conduct_shard
from flashcrowd.study.threads import Threads

DRAWS = [4, pytest.param(60, marks=pytest.mark.slow)]
"""Sets of files that are swapped, of each pair of folders."""

MINE = campaign()

READ: dict[Path, tuple[tuple[object, ...], tuple[object, ...]]] = {}
"""What sound folders hold."""


class Played(FakeEngine):
    """Its runs differ from execution to execution, as those of real programs do."""

    def __init__(self, execution: int) -> None:
        super().__init__()
        self.execution = execution

    def run(self, plan: Plan, seed: int, handle: FakeHandle) -> Mapping[str, pa.Table]:
        return super().run(plan, 1000 * self.execution + seed, handle)


KINDS = [".", "plans", "runs", "tables"]

OTHERS: dict[str, Callable[[], tuple[Campaign, FakeEngine]]] = {
    "seed": lambda: (campaign(seed=500), FakeEngine()),
    "delay": lambda: (campaign(rtts=("0 ms", "90 ms")), FakeEngine()),
    "points": lambda: (campaign(rtts=("0 ms", "400 ms", "90 ms")), FakeEngine()),
    "size": lambda: (campaign(peers=30), FakeEngine()),
    "repeats": lambda: (campaign(repeats=4), FakeEngine()),
    "title": lambda: (campaign(title="another"), FakeEngine()),
    "build": lambda: (campaign(engine="d2"), FakeEngine(digest="d2")),
    "execution": lambda: (campaign(), Played(2)),
}
"""What the other folder has in place of mine."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    place = tmp_path_factory.mktemp("swaps")
    conduct(MINE, FakeEngine(), place / "mine", Threads(1, 0.0))
    for name, made in OTHERS.items():
        conduct(*made(), place / name, Threads(1, 0.0))
    return {name: place / name for name in ("mine", *OTHERS)}


def entries(folder: Path) -> list[str]:
    """All files and folders of a results folder, as relative paths."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.name != ".lock")
    return sorted(str(path) for path in found)


def some(*folders: Path) -> list[str]:
    """The entries of folders, but of the tables, the runs and the plans two each."""
    every = sorted({entry for folder in folders for entry in entries(folder)})
    kinds = [[entry for entry in every if Path(entry).parent == Path(name)] for name in KINDS]
    return [*kinds[0], *(entry for kind in kinds[1:] for entry in (kind[0], kind[-1]))]


def swap(folder: Path, other: Path, entry: str) -> None:
    """Put an entry of the other folder, or its absence, in the place of this one's."""
    here, there = folder / entry, other / entry
    if here.is_dir():
        shutil.rmtree(here)
    here.unlink(missing_ok=True)
    if there.is_dir():
        shutil.copytree(there, here)
    elif there.exists():
        here.parent.mkdir(exist_ok=True)
        shutil.copy(there, here)


def whole(folder: Path) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """Numbers and meaning of a sound folder, read once."""
    if folder not in READ:
        READ[folder] = numbers(folder), meaning(folder)
    return READ[folder]


def numbers(folder: Path) -> tuple[object, ...]:
    """What the runs gave, and who made them."""
    results = open_results(folder)
    read = [results.tables[name] for name in schema.TABLES]
    return (*read, results.provenance)


def meaning(folder: Path) -> tuple[object, ...]:
    """What the folder says that it is."""
    results = open_results(folder)
    manifest = results.manifest
    return manifest, results.study, *(results.plan(p) for p in range(len(manifest.points)))


def says_how(error: ResultsError) -> None:
    """An error about a folder names the command, or the option, that helps."""
    assert "--out" in error.remedy, error


def hold(folder: Path, mine: Path, other: Path) -> None:
    """All that can be read is of one folder; what is run again gives its numbers."""
    try:
        read = numbers(folder), meaning(folder)
    except ResultsError as error:
        says_how(error)
    else:
        sound = [whole(one) for one in (mine, other)]
        if rows_of(Manifest.read(mine)) == rows_of(Manifest.read(other)):
            sound += [(sound[0][0], sound[1][1]), (sound[1][0], sound[0][1])]
        assert read in sound, "numbers of another study"
    before = tables(mine)
    mixed = other.name == "execution"  # whose runs may stand beside mine, as those of shards do
    try:
        merge(folder.with_name("merged"), [folder])
    except ResultsError:
        assert not folder.with_name("merged").exists()
    else:
        if not mixed:
            assert tables(folder.with_name("merged")) in (before, tables(other))
        shutil.rmtree(folder.with_name("merged"))
    try:
        conduct(MINE, FakeEngine(), folder, Threads(1, 0.0), tell=lambda _: None)
    except ResultsError as error:
        says_how(error)
        return
    told: list[str] = []
    conduct(MINE, FakeEngine(), folder, Threads(1, 0.0), tell=told.append)
    assert told == []
    assert meaning(folder) == meaning(mine)
    numbers(folder)
    if not mixed:
        assert tables(folder) == before


@pytest.mark.parametrize("kind", OTHERS)
def test_any_file_or_folder_of_another_study(
    kind: str, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    mine, other = folders["mine"], folders[kind]
    for entry in some(mine, other):
        shutil.copytree(mine, tmp_path / "r")
        swap(tmp_path / "r", other, entry)
        hold(tmp_path / "r", mine, other)
        shutil.rmtree(tmp_path / "r")


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("kind", OTHERS)
def test_any_set_of_files_of_another_study(
    kind: str, draws: int, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    draw = random.Random(kind)
    mine, other = folders["mine"], folders[kind]
    top = sorted({path.name for one in (mine, other) for path in one.iterdir()} - {".lock"})
    every = sorted({*entries(mine), *entries(other)})
    for _ in range(draws):
        from_what = draw.choice([top, every])
        shutil.copytree(mine, tmp_path / "r")
        for entry in draw.sample(from_what, draw.randint(1, len(from_what))):
            swap(tmp_path / "r", other, entry)
        hold(tmp_path / "r", mine, other)
        shutil.rmtree(tmp_path / "r")


@pytest.mark.parametrize("kind", [kind for kind in OTHERS if kind != "title"])
def test_tables_copied_over_are_noticed_wherever_they_are_read(
    kind: str, folders: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = folders["mine"]
    shutil.copytree(mine, tmp_path / "r")
    shutil.copytree(folders[kind] / "tables", tmp_path / "r" / "tables", dirs_exist_ok=True)
    for read in (open_results, flashcrowd.open, flashcrowd.open(mine).compare):
        with pytest.raises(ForeignResults, match="tables: is of another results folder") as caught:
            read(tmp_path / "r")
        study = tmp_path / "r" / "study.toml"
        assert caught.value.remedy.endswith(f"flashcrowd run {study} --out {tmp_path / 'r'}")
    for words in (["report"], ["expect"], ["compare", str(mine)]):
        with pytest.raises(SystemExit) as status:
            main([*words, str(tmp_path / "r")])
        assert status.value.code == 2
        assert "tables: is of another results folder" in capsys.readouterr().err
    conduct(MINE, FakeEngine(), tmp_path / "r", Threads(1, 0.0))
    assert "another results folder" in capsys.readouterr().err
    assert tables(tmp_path / "r") == tables(mine)


def test_sessions_of_another_folder_are_not_taken_over(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders["mine"], tmp_path / "r")
    swap(tmp_path / "r", folders["execution"], "provenance.json")
    with pytest.raises(ForeignResults, match=r"provenance\.json: is of another results folder"):
        _ = open_results(tmp_path / "r").provenance
    conduct(MINE, FakeEngine(), tmp_path / "r", Threads(1, 0.0))
    lost, now = open_results(tmp_path / "r").provenance["sessions"]
    assert "another results folder" in lost["lost"]
    assert now["runs"] == 0


def test_lost_sessions_are_told(folders: Mapping[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["mine"], tmp_path / "r")
    (tmp_path / "r" / "provenance.json").unlink()
    told: list[str] = []
    conduct(MINE, FakeEngine(), tmp_path / "r", Threads(1, 0.0), tell=told.append)
    assert ["provenance.json is damaged" in text for text in told] == [True]


@pytest.mark.parametrize("kind", ["seed", "delay", "size", "repeats", "build"])
def test_runs_of_another_study_do_not_count_as_finished(
    kind: str, folders: Mapping[str, Path], tmp_path: Path
) -> None:
    conduct_shard(MINE, FakeEngine(), tmp_path / "r", Threads(1, 0.0), Shard(1, 2))
    shutil.copytree(folders[kind] / "runs", tmp_path / "r" / "runs", dirs_exist_ok=True)
    with pytest.raises(ResultsError, match="has runs of another plan, seed or engine") as caught:
        open_results(tmp_path / "r")
    assert "move it out of runs/" in caught.value.remedy


def test_a_run_that_is_there_twice_counts_once(folders: Mapping[str, Path], tmp_path: Path) -> None:
    conduct_shard(MINE, FakeEngine(), tmp_path / "r", Threads(1, 0.0), Shard(1, 2))
    shutil.copytree(folders["execution"] / "runs", tmp_path / "r" / "runs", dirs_exist_ok=True)
    with pytest.raises(IncompleteResults, match="6 of 6 runs are finished"):
        open_results(tmp_path / "r")


@pytest.mark.parametrize("more", [[], ["study.json"], ["study.json", "plans", "study.toml"]])
def test_a_lost_manifest_is_mended(
    more: list[str], folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(folders["mine"], folder)
    for name in ("manifest.json", *more):
        swap(folder, tmp_path, name)
    with pytest.raises(ResultsError) as caught:
        open_results(folder)
    assert more or "flashcrowd run" in caught.value.remedy
    with pytest.raises(ResultsError, match="has runs of another plan, seed or engine"):
        conduct(campaign(seed=500), FakeEngine(), folder, Threads(1))
    told: list[str] = []
    engine = FakeEngine()
    conduct(MINE, engine, folder, Threads(1), tell=told.append)
    assert engine.ran == []
    assert any("manifest.json is damaged (it is gone)" in text for text in told)
    assert tables(folder) == tables(folders["mine"])
    assert meaning(folder) == meaning(folders["mine"])


def test_a_manifest_of_another_folder_is_mended(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(folders["mine"], folder)
    for name in ("manifest.json", "study.json", "plans"):
        swap(folder, folders["seed"], name)
    with pytest.raises(ForeignResults, match="tables"):
        open_results(folder)
    engine = FakeEngine()
    conduct(MINE, engine, folder, Threads(1))
    assert engine.ran == []
    assert meaning(folder) == meaning(folders["mine"])


def test_runs_of_this_study_do_not_give_away_the_folder_of_another(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(folders["seed"], folder)
    swap(folder, folders["mine"], "runs")
    before = tables(folder)
    with pytest.raises(ResultsError, match="--out"):
        conduct(MINE, FakeEngine(), folder, Threads(1))
    assert tables(folder) == before


def test_without_its_runs_a_folder_says_what_it_said(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders["mine"], tmp_path / "r")
    shutil.rmtree(tmp_path / "r" / "runs")
    assert numbers(tmp_path / "r") == numbers(folders["mine"])
