"""What is possible and can hardly be meant: a warning each, and the study runs."""

import copy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import flashcrowd
from flashcrowd.base.errors import StudyError, warning
from flashcrowd.study import Study

ROOT = Path(__file__).parents[2]
STUDY = """
format = 1
title = "A small study"

[network]
rtt = "20 ms"

[network.groups.seed]

[network.groups.homes]
hosts = 3
access = { up = "1 Mbit/s", down = "8 Mbit/s" }

[network.links.neck]
rate = "1 Mbit/s"

[network.paths.narrow]
between = ["seed", "homes"]
through = ["neck"]

[workloads.swarm]
kind = "swarm"
size = "256 KiB"

[workloads.swarm.populations.seed]
role = "seed"
group = "seed"

[workloads.swarm.populations.leechers]
group = "homes"
"""


def study(changes: dict[str, Any]) -> Study:
    document = copy.deepcopy(tomllib.loads(STUDY))
    for path, value in changes.items():
        *above, last = path.split(".")
        table = document
        for segment in above:
            table = table.setdefault(segment, {})
        table[last] = value
    return Study.from_dict(document)


def warned(**changes: Any) -> list[str]:
    return [warning(doubt) for doubt in study(changes).warnings()]


BULK = {"kind": "transfer", "from": "homes-1", "to": "seed"}
ENDLESS = (
    "workloads.bulk = without size and stop: it has no end, and is cut when swarm ends; "
    'say `stop = "none"` if that is meant'
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"network.groups.homes.access.up_queue": "10 B"},
            'network.groups.homes.access.up_queue = "10 B": no packet fits: an '
            "acknowledgement alone has 40 B",
        ),
        (
            {"network.groups.homes.access.down_queue": "10 packets, 1400 B"},
            'network.groups.homes.access.down_queue = "10 packets, 1400 B": no full packet '
            "fits: it has 1500 B",
        ),
        (
            {"network.links.neck.queue": "1600 B", "network.links.neck.framing": "atm"},
            'network.links.neck.queue = "1600 B": no full packet fits: it has 1749 B',
        ),
        (
            {"network.groups.homes.access.loss": "100 %"},
            'network.groups.homes.access.loss = "100 %": nothing gets through',
        ),
        (
            {"network.links.neck.loss": {"to_bad": "1 %", "to_good": "1 %", "loss_good": "100 %"}},
            'network.links.neck.loss = "both states at 100 %": nothing gets through',
        ),
        (
            {"network.groups.homes.access.up": "1 bit/s"},
            'network.groups.homes.access.up = "1 bit/s": a packet of 1500 B takes 3.3 h',
        ),
        (
            {"network.links.neck.rate": "100 bit/s"},
            'network.links.neck.rate = "100 bit/s": a packet of 1500 B takes 2.0 min',
        ),
        (
            {"workloads.swarm.stop_after": 99},
            "workloads.swarm.stop_after = 99: there are 3 leechers, so it ends nothing",
        ),
        (
            {"workloads.swarm.populations.leechers.upload": "1.5 Mbit/s"},
            'workloads.swarm.populations.leechers.upload = "1.5 Mbit/s": the line sends at most '
            "1 Mbit/s, so this limits nothing; raise network.groups.homes.access as well",
        ),
        (
            {"workloads.swarm.populations.leechers.profile": "libtorrent"},
            "workloads.swarm.populations.seed.profile = not given: it is mainline-4.0.2, a client "
            'of 2005; the others are libtorrent; say `profile = "libtorrent"`, or "mainline-4.0.2" '
            "if that is meant",
        ),
        (
            {"sweep": {"workloads.swarm.populations.leechers.profile": ["modern", "libtorrent"]}},
            "workloads.swarm.populations.seed.profile = not given: it is mainline-4.0.2, a client "
            "of 2005; the others are modern and libtorrent; say "
            '`profile = "modern"`, or "mainline-4.0.2" if that is meant',
        ),
        ({"workloads.bulk": BULK}, ENDLESS),
        (
            {"workloads.swarm.populations.seed.upload": "0 B/s"},
            'workloads.swarm.populations.seed.upload = "0 B/s": no seed uploads, so no leecher '
            "gets the file",
        ),
        (
            {
                "network.groups.flats": {"hosts": 2},
                "workloads.swarm.populations.seed.group": "homes",
                "workloads.swarm.populations.leechers.group": ["homes", "flats"],
            },
            'workloads.swarm.populations.leechers.group = "homes": none of it is left: seed takes '
            "all of its hosts; write `hosts = 1` in seed to take only one, or give seed its own "
            "group",
        ),
    ],
)
def test_what_can_hardly_be_meant_is_told(changes: dict[str, Any], said: str) -> None:
    assert warned(**changes) == [said]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"network.groups.homes.access.up_queue": "1500 B"},
        {"network.groups.homes.access.loss": "99 %"},
        {"network.groups.homes.access.up": "1 kbit/s"},
        {"network.links.neck": {"rate": "unlimited", "queue": "10 B"}},
        {"workloads.swarm.stop_after": 3},
        {
            "workloads.swarm.populations.seed": {"role": "seed", "group": "homes", "hosts": 1},
            "workloads.swarm.populations.leechers.group": ["homes", "seed"],
        },
        {"workloads.swarm.populations.leechers.upload": "0 B/s"},
        {
            "workloads.swarm.populations.seed.upload": "0 B/s",
            "timeline.later": {
                "at": "5 s",
                "change": "workloads.swarm.populations.seed.upload",
                "to": "1 MB/s",
            },
        },
        {"workloads.bulk": {**BULK, "stop": "none"}},
        {"workloads.bulk": {**BULK, "size": "1 MB"}},
        {"workloads.bulk": BULK, "stop.horizon": "60 s"},
        {"workloads.bulk": BULK, "timeline.end": {"at": "5 s", "stop": "bulk"}},
        {"workloads.bulk": BULK, "sweep": {"workloads.bulk.size": ["none", "1 MB"]}},
    ],
)
def test_what_may_be_meant_is_not(changes: dict[str, Any]) -> None:
    assert warned(**changes) == []


def test_a_doubt_about_a_swept_value_names_its_place_once() -> None:
    sweep = {
        "network.groups.homes.access.up_queue": ["10 B", "64 KiB"],
        "network.rtt": ["1 ms", "2 ms"],
    }
    (doubt,) = study({"sweep": sweep}).warnings()
    assert doubt.path == 'sweep."network.groups.homes.access.up_queue"[0]'


@pytest.mark.parametrize("file", sorted(ROOT.glob("studies/*.toml")), ids=lambda path: path.stem)
def test_the_studies_that_ship_are_meant(file: Path) -> None:
    assert Study.load(file).warnings() == []


def test_a_resolved_study_says_what_it_means() -> None:
    endless = study({"workloads.bulk": BULK})
    assert len(endless.warnings()) == 1
    assert Study.from_dict(endless.resolved()).warnings() == []


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_warning_is_printed_and_the_study_runs(command: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(STUDY, encoding="utf-8")
    setting = "workloads.swarm.stop_after=99"
    done = subprocess.run(
        [sys.executable, "-m", "flashcrowd", command, "s.toml", "--set", setting],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "warning: workloads.swarm.stop_after = 99: there are 3 leechers" in done.stderr


def test_python_warns_as_python_does(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="there are 3 leechers") as caught:
        flashcrowd.run(study({"workloads.swarm.stop_after": 99}), tmp_path / "r", progress=False)
    assert caught[0].filename == __file__


def test_more_flows_than_a_plan_takes_are_refused_at_their_place() -> None:
    bulk = {"kind": "transfer", "from": "homes-1", "to": "seed", "size": "1 MB"}
    study({"workloads.bulk": {**bulk, "flows": 0}})
    with pytest.raises(StudyError, match=r"workloads\.bulk\.flows\s+value\s+1000001"):
        study({"workloads.bulk": {**bulk, "flows": 1_000_001}})


CROWD = "workloads.swarm.populations.leechers"


@pytest.mark.parametrize(
    "changes",
    [
        {f"{CROWD}.upload": "1 Mbit/s"},
        # Of two lines one is fast enough, or one has no rate.
        {
            "network.groups.flats": {"access": "fibre 100/100"},
            f"{CROWD}.group": ["homes", "flats"],
            f"{CROWD}.upload": "50 Mbit/s",
        },
        {
            "network.groups.flats": {},
            f"{CROWD}.group": ["homes", "flats"],
            f"{CROWD}.upload": "50 Mbit/s",
        },
        {"sweep": {f"{CROWD}.upload": ["500 kbit/s", "2 Mbit/s"]}},
        {
            f"{CROWD}.upload": "2 Mbit/s",
            "timeline.faster": {
                "at": "1 s",
                "change": "network.groups.homes.access.up",
                "to": "3 Mbit/s",
            },
        },
        # The client is that of all, is named, or is swept.
        {f"{CROWD}.profile": "mainline-4.0.2"},
        {"profiles.mine": {"base": "mainline-4.0.2"}, f"{CROWD}.profile": "mine"},
        {
            "workloads.swarm.populations.seed.profile": "mainline-4.0.2",
            f"{CROWD}.profile": "libtorrent",
        },
        {
            f"{CROWD}.profile": "libtorrent",
            "sweep": {"workloads.swarm.populations.seed.profile": ["mainline-4.0.2", "modern"]},
        },
    ],
)
def test_limits_that_a_line_reaches_and_clients_that_are_meant_are_not_doubted(
    changes: dict[str, Any],
):
    assert warned(**changes) == []
