"""What an engine refuses names the place in the study, and not in the plan."""

import json
from pathlib import Path

import pytest

from flashcrowd.cli import main
from flashcrowd.plan.place import in_study

PLAN = json.dumps(
    {
        "network": {"links": [{"name": "home-1 up"}], "core_of": [0]},
        "stacks": [{"name": "linux-2.6"}],
        "workloads": [{"name": "first"}, {"name": "talk", "populations": [{"name": "seeds"}]}],
    }
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "plan: workloads[1].size_bytes: must be at most 1500, the MTU of home-1",
            "workloads.talk.size: must be at most 1500, the MTU of home-1",
        ),
        (
            "workloads[0].every_ns: must be at least interval_ns",
            "workloads.first.every: must be at least interval",
        ),
        (
            "workloads[1].populations[0].upload_bps: too much",
            "workloads.talk.populations.seeds.upload: too much",
        ),
        ('stacks[0].mtu_bytes: too few', 'stacks."linux-2.6".mtu: too few'),
        (
            "network.links[0].conditions.rate_bps: none",
            'network.links."home-1 up".conditions.rate: none',
        ),
        ("network.core_of[7]: 8 of 1", "network.core_of[7]: 8 of 1"),
        ("expected value at line 1 column 1", "expected value at line 1 column 1"),
        ("no such thing: x[0]", "no such thing: x[0]"),
    ],
)  # fmt: skip
def test_names_stand_for_numbers_and_keys_have_no_units(said: str, meant: str) -> None:
    assert in_study(said, PLAN) == meant


CALL = """
format = 1
title = "A call"
network.rtt = "40 ms"
network.groups.home.hosts = 1
network.groups.there.hosts = 1
workloads.talk = {KEYS}
stop.horizon = "1 s"
"""


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ('{ kind = "call", from = "home", to = "there", size = "2000 B" }', "2000 B"),
        ('{ kind = "ping", from = "home", to = "there", size = "1501 B" }', "1501 B"),
    ],
)
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_size_above_the_mtu_names_the_workload(
    command: str, keys: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "call.toml"
    study.write_text(CALL.replace("{KEYS}", keys), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([command, str(study)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "workloads.talk.size" in said
    assert "must be at most 1500, the MTU of home-1" in said
    assert "_bytes" not in said
    assert command == "run" or f'"{value}"' in said
