"""Hosts that leave the cutting of super-segments (TSO) to their network card, over real devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.emulation.carried import carried
from tests.engines.plans import made

from flashcrowd.cli import _status
from flashcrowd.emulation import stack
from flashcrowd.emulation.launch import LabHandle, in_lab
from flashcrowd.study import Study

LARGE = '\n[stacks.large]\nbase = "linux-6"\ntso = "64 KiB"\n'
MSS = 1448


def with_large(study: Path, *changes: tuple[str, str]) -> Path:
    """The study with a stack that has TSO."""
    text = study.read_text().replace('stack = "linux-6"', 'stack = "large"')
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    study.write_text(text + LARGE)
    return study


def tables_of(study: Path) -> Mapping[str, list[dict[str, Any]]]:
    (run,) = Study.load(study).runs()
    return in_lab(run.point.plan().parsed, run.seed, LabHandle())


@pytest.mark.clocked
def test_frames_queue_one_by_one(study: Path) -> None:
    tables = carried(with_large(study))
    (transfer,) = tables["transfers"]
    assert transfer["bytes"] == 4_000_000
    assert 8e6 < transfer["goodput_bps"] < 9.7e6
    link = {row["link"]: row for row in tables["links"]}["bottleneck"]
    assert link["max_queue_packets"] == 50, "packets of the MTU, no super-segments"
    assert link["bytes"] / link["packets"] < 1500


@pytest.mark.parametrize("tso", [True, False], ids=["with", "without"])
def test_payloads_are_long_where_nothing_queues(swarm: Path, *, tso: bool) -> None:
    lines = 'access = { up = "20 Mbit/s", down = "50 Mbit/s" }\n'
    with_large(swarm, (lines, ""), ("rtts = true", "payloads = true"), ("hosts = 4", "hosts = 1"))
    if not tso:
        swarm.write_text(swarm.read_text().replace('tso = "64 KiB"', 'tso = "0 B"'))
    tables = tables_of(swarm)
    (row,) = tables["downloads"]
    assert row["pieces"] == 16
    assert {it["population"] for it in tables["payloads"]} == {"seed", "crowd"}
    of_seed = [it for it in tables["payloads"] if it["population"] == "seed"]
    assert (max(it["bytes"] for it in of_seed) > MSS) is tso
    sent = sum(it["bytes"] * it["count"] for it in of_seed)
    assert 1_000_000 < sent < 1_200_000


def test_a_kernel_has_bounds(study: Path) -> None:
    with_large(study)
    (point,) = Study.load(study).points()
    plan = json.loads(point.plan().to_json())
    assert stack.offloads(made(plan))
    large = next(it for it in plan["stacks"] if it["name"] == "large")
    assert stack.of_host(large)["largest_segment"] == 65_536
    assert stack.differences(large) == []
    assert stack.differences({**large, "tso_bytes": 65_537}) == [
        "tso 65537 B (Linux: 65536 at most)"
    ]
    assert stack.largest_segment({**large, "tso_bytes": 1500}) == 0, "one packet is none"


@pytest.mark.usefixtures("closed_tun")
def test_tun_is_needed(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _status(["doctor", str(with_large(study))]) == 2
    assert "super-segments (tso) need TUN; as root: chmod 0666" in capsys.readouterr().out


def test_nodes_do_not_carry_them(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(with_large(study)), "--engine", "emulation", "--out", str(tmp_path / "e")]
    assert _status([*words, "--across", "127.0.0.1:9"]) == 2
    assert "super-segments (tso) are not carried between nodes" in capsys.readouterr().err
