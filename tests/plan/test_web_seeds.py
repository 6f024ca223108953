"""Web seeds in a study: what they are in a plan, mistakes that are named, and a study that runs."""

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import flashcrowd
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.cli import main
from flashcrowd.plan.lower import lower
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import OriginWorkload, SwarmWorkload
from flashcrowd.scenario import Scenario
from flashcrowd.study import Study


def document(
    swarm: dict[str, Any] | None = None,
    origin: dict[str, Any] | None = None,
    players: dict[str, Any] | None = None,
) -> dict[str, Any]:
    groups = {
        "web": {"access": "fibre 100/100"},
        "homes": {"hosts": 4, "access": "cable 5/50"},
        "game": {},
    }
    crowd = {"group": "homes", "profile": "libtorrent", "departure": "at-once", **(players or {})}
    workloads = {
        "patch": {
            "kind": "swarm",
            "size": "2 MB",
            "web_seeds": ["mirror"],
            "populations": {"players": crowd},
            **(swarm or {}),
        },
        "ping": {"kind": "ping", "from": "web", "to": "game"},
        "mirror": {"kind": "origin", "host": "web", "files": "2 MB", **(origin or {})},
    }
    return {"title": "T", "network": {"groups": groups, "rtt": "20 ms"}, "workloads": workloads}


def problems(**own: Any) -> list[Problem]:
    with pytest.raises(StudyError) as caught:
        Study.from_dict({"format": 1, "seed": 1, "repeats": 1, **document(**own)})
    return list(caught.value.problems)


def test_an_origin_is_named_and_stands_by_its_place_among_the_workloads():
    plan = lower(Scenario.model_validate(document())).parsed
    assert workload(plan, 0, SwarmWorkload).get("web_seeds") == [{"origin": 2, "file": 0}]
    assert workload(plan, 2, OriginWorkload)["populations"] == []


def test_a_plan_without_web_seeds_says_nothing_of_them():
    seed = {"role": "seed", "group": "game"}
    populations = {"seed": seed, "players": {"group": "homes"}}
    given = document(swarm={"web_seeds": [], "populations": populations})
    given["workloads"]["mirror"]["populations"] = {"others": {"group": "homes"}}
    swarm = lower(Scenario.model_validate(given)).data["workloads"][0]
    assert "web_seeds" not in swarm


@pytest.mark.parametrize(
    ("own", "place", "words"),
    [
        ({"swarm": {"web_seeds": ["miror"]}}, "web_seeds[0].origin", "mirror"),
        ({"swarm": {"web_seeds": ["ping"]}}, "web_seeds[0].origin", "an origin"),
        ({"swarm": {"web_seeds": [{"origin": "mirror", "file": 1}]}}, "web_seeds[0].file", "1"),
        ({"origin": {"files": "3 MB"}}, "web_seeds[0].origin", "the size of the swarm's, 2 MB"),
        ({"origin": {"host": "homes-1"}}, "web_seeds[0].origin", "without leechers"),
        ({"players": {"profile": "mainline-4.0.2"}}, "patch.web_seeds", "knows web seeds"),
        ({"swarm": {"web_seeds": []}}, "patch.populations", "the file is nowhere"),
    ],
)
def test_what_cannot_be_is_named(own: dict[str, Any], place: str, words: str):
    found = problems(**own)
    assert any(place in it.path and words in f"{it.allowed} {it.hint}" for it in found), found


STUDY = """
format = 1
title = "T"
seed = 1
repeats = 2
[network]
rtt = "20 ms"
[network.groups]
web = { access = "fibre 100/100" }
homes = { hosts = 4, access = "cable 5/50" }
[workloads.patch]
kind = "swarm"
size = "2 MB"
web_seeds = ["mirror"]
populations.players = { group = "homes", profile = "libtorrent", departure = "at-once" }
[workloads.mirror]
kind = "origin"
host = "web"
files = "2 MB"
[report]
headline = ["mean download time", "source upload"]
"""


def test_a_study_tells_what_the_server_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(STUDY, encoding="utf-8")
    out = tmp_path / "results"
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "s.toml"), "--out", str(out)])
    assert not ended.value.code
    assert "source upload" in capsys.readouterr().out
    results = flashcrowd.open(out)
    rows = results.tables["web_seeds"].to_pylist()
    assert [row["origin"] for row in rows] == ["mirror"] * 8
    for run in (0, 1):
        brought = sum(row["web_bytes"] for row in rows if row["run"] == run)
        assert 2_000_000 <= brought <= 4 * 2_000_000
        (origin,) = [row for row in results.tables["origins"].to_pylist() if row["run"] == run]
        assert brought <= origin["sent_bytes"]
        assert origin["read_bytes"] == 2_000_000, "once from the disk"


RULES = """
[workloads.patch.populations.seed]
role = "seed"
group = "maker"
profile = "modern"
transport = "inherit"

[profiles.pieces]
base = "libtorrent"
web_seeds.request = "1 B"

[profiles.gaps]
base = "libtorrent"
web_seeds = { order = "gaps", request = "1 B", leave_gaps = true }

[profiles.modern-gaps]
base = "modern"
web_seeds = { order = "gaps", request = "1 B", leave_gaps = true }

[[sweep]]
workloads.patch.populations.players.profile = [
    "libtorrent", "pieces", "gaps", "modern", "modern-gaps",
]
"""


def test_every_rule_gives_what_it_gave(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """A row a rule: seconds to the last completion, requests, bytes that the server brought, those
    of them that came twice, and bytes that the seed and the players sent."""
    study = STUDY.replace("repeats = 2", "repeats = 1").replace("hosts = 4", "hosts = 8")
    maker = 'maker = { access = "ADSL 1/8" }'
    study = study.replace("[workloads.patch]", f"{maker}\n[workloads.patch]")
    tcp = 'departure = "at-once", transport = "inherit"'
    study = study.replace('departure = "at-once"', tcp)
    study = study.replace('rtt = "20 ms"', 'rtt = "20 ms"\nloss = "0.1 %"')
    (tmp_path / "s.toml").write_text(study + RULES, encoding="utf-8")
    results = flashcrowd.run(tmp_path / "s.toml", tmp_path / "results", progress=False)
    tables = {
        name: results.tables[name].to_pylist() for name in ("web_seeds", "populations", "downloads")
    }

    def of(table: str, column: str, run: int) -> list[float]:
        return [row[column] for row in tables[table] if row["run"] == run]

    found = [
        (
            round(max(of("downloads", "completed_s", run)), 3),
            sum(of("web_seeds", "requests", run)),
            sum(of("web_seeds", "web_bytes", run)),
            sum(of("web_seeds", "wasted_bytes", run)),
            sum(of("populations", "uploaded_bytes", run)),
        )
        for run in range(5)
    ]
    assert found == snapshot
