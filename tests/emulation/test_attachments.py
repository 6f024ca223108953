"""Hosts without TUN, attached by veth and a raw socket; hosts that receive on other processors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.emulation.carried import carried
from tests.late import late

from flashcrowd.base.cores import cores
from flashcrowd.emulation.joined import LABS
from flashcrowd.emulation.launch import LabHandle, in_lab
from flashcrowd.emulation.self_test import failures
from flashcrowd.engines.emulation import SELF_TESTS
from flashcrowd.study import Study

pytestmark = pytest.mark.clocked


def test_the_network_is_the_same_by_veth(study: Path) -> None:
    (run,) = Study.load(study).runs()
    plan = run.point.plan().parsed

    # A network that is not the plan's is so each time; what a machine was late for says nothing.
    tries: list[dict[str, Any]] = []
    while len(tries) < SELF_TESTS and (not tries or failures(tries[-1]["probes"])):
        tries.append(in_lab(plan, run.seed, LabHandle(), probe=True, attachment="veth"))
    found = tries[-1]["probes"]
    if failures(found) and all(it["late"] for it in tries):
        late(f"{SELF_TESTS} times")
    assert found
    assert failures(found) == []
    tables = carried(study, attachment="veth")
    (transfer,) = tables["transfers"]
    assert transfer["bytes"] == 4_000_000
    assert any(row["rtt_s"] for row in tables["pings"])
    on_time(tables)
    # 10 Mbit/s with headers, slow start and what it loses in a queue of 50 packets.
    assert 8e6 < transfer["goodput_bps"] < 9.7e6
    assert 0.05 <= transfer["min_rtt_s"] < 0.06
    link = {row["link"]: row for row in tables["links"]}["bottleneck"]
    assert link["max_queue_packets"] == 50, "packets of the MTU, no super-segments"


def on_time(tables: Mapping[str, Any]) -> None:
    """How fast a transfer was on a machine that was late says nothing of the network."""
    (run,) = tables["run"]
    if run["outcome"] == "invalid":
        late(run["reason"])


def steered_wakes() -> int:
    """How often a processor was told that another one has packets for it (`received_rps`)."""
    rows = Path("/proc/net/softnet_stat").read_text().splitlines()
    return sum(int(row.split()[9], 16) for row in rows)


@pytest.mark.skipif(cores() == 1, reason="one processor has no other")
@pytest.mark.skipif(
    not Path("/proc/sys/net/core/rps_default_mask").exists(), reason="this kernel steers no packets"
)
@pytest.mark.parametrize("attachment", ["tun", "veth"])
def test_hosts_receive_on_other_processors_than_the_emulator_s(
    attachment: Literal["tun", "veth"], study: Path
) -> None:
    before = steered_wakes()
    tables = carried(study, attachment=attachment, processor=0)
    # 2,800 segments and as many pings and acknowledgements; some are taken together.
    assert steered_wakes() - before > 500
    (lab,) = tables[LABS]
    assert lab["steered"]
    (transfer,) = tables["transfers"]
    assert transfer["bytes"] == 4_000_000
    on_time(tables)
    assert 8e6 < transfer["goodput_bps"] < 9.7e6
