"""Seeds with a disk in a study: what they are in a plan, and mistakes that are named."""

from pathlib import Path
from typing import Any

import pytest
from tests.engines.plans import made

import flashcrowd
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.cli import main
from flashcrowd.emulation import requirements
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario
from flashcrowd.study import Study

STORAGE = {"memory": "2 MiB", "extent": "64 KiB"}


def document(
    seed: dict[str, Any] | None = None,
    crowd: dict[str, Any] | None = None,
    **own: Any,
) -> dict[str, Any]:
    groups = {"source": {"access": "fibre 100/100"}, "homes": {"hosts": 4, "access": "cable 5/50"}}
    populations = {
        "source": {"role": "seed", "group": "source", "profile": "suggests", **(seed or {})},
        "crowd": {"group": "homes", "profile": "libtorrent", **(crowd or {})},
    }
    file = {"kind": "swarm", "size": "8 MiB", "populations": populations, **own}
    return {
        "title": "T",
        "network": {"groups": groups, "rtt": "20 ms"},
        "profiles": {"suggests": {"base": "libtorrent", "fast": {"suggest": "read-cache"}}},
        "workloads": {"file": file},
    }


def plan_of(**own: Any) -> Any:
    return dict(lower(Scenario.model_validate(document(**own))).data)


def problems(**own: Any) -> list[Problem]:
    with pytest.raises(StudyError) as caught:
        Study.from_dict({"format": 1, "seed": 1, "repeats": 1, **document(**own)})
    return list(caught.value.problems)


def test_a_storage_is_lowered_and_none_is_not_spoken_of():
    plan = plan_of(seed={"storage": {**STORAGE, "disk": "ssd"}})
    source, crowd = plan["workloads"][0]["populations"]
    assert source["storage"] == {
        "disk": {"kind": "ssd", "latency_ns": 100_000, "channels": 16, "rate_bps": 4_400_000_000},
        "memory_bytes": 2 << 20,
        "extent_bytes": 64 << 10,
        "reads": 2,
    }
    assert "storage" not in crowd
    assert plan["profiles"][source["profile"]]["fast"]["suggest"] == "read-cache"
    assert "storage" not in plan_of(seed={"storage": "none"})["workloads"][0]["populations"][0]


@pytest.mark.parametrize(
    ("own", "place", "words"),
    [
        ({"seed": {"storage": {"disk": "ssd"}}}, "source.storage.memory", "this key is needed"),
        ({"crowd": {"storage": STORAGE}}, "crowd.storage", "only seeds read from a disk"),
        ({"seed": {"storage": STORAGE, "profile": "modern"}}, "source.storage", "libtorrent"),
        ({"seed": {"storage": STORAGE}, "block": "10 kB"}, "source.storage", "no power of two"),
        ({"seed": {"storage": STORAGE}, "piece": "100 KiB"}, "source.storage", "cut a piece"),
        ({"seed": {"storage": {**STORAGE, "extent": "8 KiB"}}}, "extent", "1 to 64 blocks"),
        ({"seed": {"storage": {"memory": "128 KiB"}}}, "memory", "at least 1 MiB"),
        (
            {"seed": {"storage": {**STORAGE, "disk": {"size": "1 MB"}}}},
            "storage.disk.size",
            "the file's 8 MiB",
        ),
        ({"seed": {"storage": {**STORAGE, "disk": "tape"}}}, "storage.disk", "hard-disk"),
    ],
)
def test_what_cannot_be_is_named(own: dict[str, Any], place: str, words: str):
    found = problems(**own)
    assert any(place in it.path and words in f"{it.allowed} {it.hint}" for it in found), found


def test_suggestions_need_the_extension():
    given = document()
    given["profiles"]["suggests"]["fast"]["enabled"] = False
    with pytest.raises(StudyError, match="suggest"):
        Study.from_dict({"format": 1, "seed": 1, "repeats": 1, **given})


def test_no_real_program_reads_from_a_disk_that_is_made_up():
    (refusal,) = requirements.impossible(made(plan_of(seed={"storage": STORAGE})))
    assert "population source: storage is simulated only" in refusal


STUDY = """
format = 1
title = "T"
seed = 1
repeats = 2
[network]
rtt = "20 ms"
[network.groups]
source = { access = "fibre 100/100" }
homes = { hosts = 4, access = "cable 5/50" }
[profiles.suggests]
base = "libtorrent"
fast.suggest = "read-cache"
[workloads.file]
kind = "swarm"
size = "8 MiB"
[workloads.file.populations.source]
role = "seed"
group = "source"
profile = "suggests"
storage = { memory = "1 MiB", extent = "64 KiB" }
[workloads.file.populations.crowd]
group = "homes"
profile = "libtorrent"
upload = "0 B/s"
[report]
headline = ["mean download time", "disk throughput", "miss ratio"]
"""


def test_a_study_tells_what_the_disk_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(STUDY, encoding="utf-8")
    out = tmp_path / "results"
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "s.toml"), "--out", str(out)])
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "disk throughput" in printed
    assert "miss ratio" in printed
    rows = flashcrowd.open(out).tables["origins"].to_pylist()
    assert [(row["origin"], row["host"], row["policy"]) for row in rows] == [
        ("file", "source-1", "requested")
    ] * 2
    for row in rows:
        assert row["sent_bytes"] >= 4 * (8 << 20), "nobody else gives anything"
        assert row["read_bytes"] >= 8 << 20
        assert row["evictions"] > 0
