"""Shards, put together."""

import json
from pathlib import Path

import pytest
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.base.looks import Looks
from flashcrowd.cli import main
from flashcrowd.store import IncompleteResults, ResultsDiffer, ResultsError
from flashcrowd.store import open as open_results
from flashcrowd.store.merge import merge
from flashcrowd.store.shard import Shard
from flashcrowd.study.campaign import Campaign, conduct, conduct_shard
from flashcrowd.study.threads import Threads


def shards(folder: Path, count: int, wanted: Campaign | None = None) -> list[Path]:
    """The folders of all shards of a study."""
    made = []
    for number in range(1, count + 1):
        made.append(folder / f"s{number}")
        shard = Shard(number, count)
        conduct_shard(wanted or campaign(), FakeEngine(), made[-1], Threads(1), shard)
    return made


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7])
def test_the_tables_are_those_of_one_machine(tmp_path: Path, count: int) -> None:
    """Also where a shard has no run at all."""
    merge(tmp_path / "out", shards(tmp_path, count))
    conduct(campaign(), FakeEngine(), tmp_path / "calm", Threads(1))
    assert tables(tmp_path / "out") == tables(tmp_path / "calm")


def test_every_run_is_in_one_shard() -> None:
    runs = campaign(repeats=8).manifest.runs
    parts = [Shard(number, 5).of_runs(runs) for number in range(1, 6)]
    assert sorted((run for part in parts for run in part), key=runs.index) == list(runs)
    assert {len(part) for part in parts} == {3, 4}


def test_no_shard_has_all_of_a_point() -> None:
    runs = sorted(campaign(repeats=6).manifest.runs, key=lambda run: (run.repeat, run.point))
    for number in (1, 2):
        assert {run.point for run in Shard(number, 2).of_runs(runs)} == {0, 1}


def test_who_made_which_runs_is_kept(tmp_path: Path) -> None:
    results = merge(tmp_path / "out", shards(tmp_path, 2))
    sessions = results.provenance["sessions"]
    assert [(one["shard"], one["runs"]) for one in sessions] == [("1/2", 3), ("2/2", 3)]
    assert results.provenance["engine"] == "d1"


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    one, _, three = shards(tmp_path, 3)
    with pytest.raises(ResultsError) as caught:
        merge(tmp_path / "out", [one, three])
    assert "2 of 6 runs are missing (p0000-r0001, p0001-r0000)" in str(caught.value)
    assert "They are of shard 2/3 (no folder)." in caught.value.remedy
    assert not (tmp_path / "out").exists()


def test_a_shard_that_is_unfinished_is_named(tmp_path: Path) -> None:
    one, two = shards(tmp_path, 2)
    for file in (two / "runs").iterdir():
        file.unlink()
    with pytest.raises(ResultsError, match=r"They are of shard 2/2 \(in .*s2\)"):
        merge(tmp_path / "out", [one, two])


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (campaign(peers=21), "workloads.swarm.peers: was 20, is 21"),
        (campaign(seed=7), "seed: was 100, is 7"),
        (campaign(engine="d2"), "engine: was fake 0.0 (d1), is fake 0.0 (d2)"),
        (campaign(repeats=5), "runs: 6 in"),
    ],
    ids=["setting", "seed", "engine", "repeats"],
)
def test_a_shard_of_another_study_is_named(tmp_path: Path, other: Campaign, named: str) -> None:
    one = tmp_path / "one"
    conduct_shard(campaign(), FakeEngine(), one, Threads(1), Shard(1, 2))
    two = tmp_path / "two"
    engine = FakeEngine(digest=other.manifest.engine.digest)
    conduct_shard(other, engine, two, Threads(1), Shard(2, 2))
    with pytest.raises(ResultsDiffer) as caught:
        merge(tmp_path / "out", [one, two])
    assert caught.value.path == two
    assert any(change.startswith(named) for change in caught.value.changes), caught.value.changes
    assert not (tmp_path / "out").exists()


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    one, two = shards(tmp_path, 2)
    (file,) = (two / "runs").iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ResultsError, match="is damaged") as caught:
        merge(tmp_path / "out", [one, two])
    assert caught.value.path == file
    assert not (tmp_path / "out").exists()
    conduct_shard(campaign(), FakeEngine(), two, Threads(1), Shard(2, 2))
    merge(tmp_path / "out", [one, two])


def test_a_shard_goes_on_as_a_whole_study(tmp_path: Path) -> None:
    (one, _) = shards(tmp_path, 2)
    with pytest.raises(IncompleteResults, match="3 of 6 runs are finished"):
        open_results(one)
    engine = FakeEngine()
    conduct(campaign(), engine, one, Threads(1))
    assert len(engine.ran) == 3


def test_runs_that_two_folders_have_count_once(tmp_path: Path) -> None:
    folders = shards(tmp_path, 2)
    conduct(campaign(), FakeEngine(), tmp_path / "calm", Threads(1))
    merge(tmp_path / "out", [*folders, tmp_path / "calm"])
    assert tables(tmp_path / "out") == tables(tmp_path / "calm")
    merge(tmp_path / "out", folders)
    assert tables(tmp_path / "out") == tables(tmp_path / "calm")


def test_a_rule_has_no_shards(tmp_path: Path) -> None:
    plain = campaign()
    ruled = Campaign(plain.manifest, plain.study, plain.plans, plain.source, Looks(0.1, 3, 9))
    with pytest.raises(ValueError, match="no shards"):
        conduct_shard(ruled, FakeEngine(), tmp_path / "r", Threads(1), Shard(1, 2))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "-1/2", "1/0", "1/2/3"])
def test_no_shard(text: str) -> None:
    with pytest.raises(ValueError, match="as in 2/8"):
        Shard.parse(text)


STUDY = Path(__file__).parents[2] / "studies" / "dumbbell.toml"


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(STUDY), "--quiet", "--set", "stop.horizon=1 s", "--repeats", "1"]

    def status(*more: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(more)
        return int(caught.value.code or 0)

    for number in (1, 2):
        out = str(tmp_path / str(number))
        assert status("run", *words, "--shard", f"{number}/2", "--out", out) == 0
    assert status("merge", str(tmp_path / "out"), str(tmp_path / "1")) == 2
    assert "shard 2/2 (no folder)" in capsys.readouterr().err
    assert status("merge", str(tmp_path / "out"), str(tmp_path / "1"), str(tmp_path / "2")) == 0
    assert status("run", *words, "--out", str(tmp_path / "calm")) == 0
    assert tables(tmp_path / "out") == tables(tmp_path / "calm")
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["seeds"]
    assert status("run", *words[:-2], "--repeats", "until 5 %", "--shard", "1/2") == 2
    assert "--shard: repeats are a number" in capsys.readouterr().err
    assert status("run", *words, "--shard", "3/2") == 2
    assert "--shard: a shard is needed, as in 2/8" in capsys.readouterr().err
