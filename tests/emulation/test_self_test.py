"""The self-test has time for what a slow line holds, and finds a network that is not the plan's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.probes import COVERED, NOT_FILLED, NOT_REACHED
from flashcrowd.emulation import self_test
from flashcrowd.emulation.tracker_host import with_tracker_host
from flashcrowd.plan.parts import numbered, workloads
from flashcrowd.plan.types import PingWorkload
from flashcrowd.study import Study
from flashcrowd.traps import trap


def sent_ns(probe: PingWorkload) -> range:
    """When a probe sends its echoes."""
    assert probe["stop_ns"] is not None
    return range(probe["start_ns"], probe["stop_ns"], probe["interval_ns"])


# 200 packets of 1400 B are 2.2 s at 1 Mbit/s. FQ-CoDel reads and marks what it takes for a header,
# and lets no queue of one flow stand.
@pytest.mark.parametrize(("name", "longest_s"), [("usual", 1.5), ("fair-modem", 0.0)])
def test_each_probe_is_over_before_the_next_begins(name: str, longest_s: float) -> None:
    (point,) = trap.load(name).study(["autolimit"], 1, []).points()
    probes = self_test.probe_plan(with_tracker_host(point.plan().parsed))
    pings = workloads(probes, PingWorkload)
    floods = [it for it in pings if it["name"].startswith("flood")]
    assert len(floods) > 2
    begins = [it["start_ns"] for it in pings if it["name"].startswith("idle")]
    longest = []
    for flood in floods:
        sent = sent_ns(flood)
        request = flood["from"], flood["to"], flood["size_bytes"]
        times = _core.echo_times(probes, 1, [(at, *request) for at in sent])
        over = max(at + time for at, time in zip(sent, times, strict=True) if time is not None)
        later = [at for at in begins if at > flood["start_ns"]]
        assert over < min([*later, probes.stop["horizon_ns"]])
        longest.append(over - sent.stop)
    assert max(longest) > 1e9 * longest_s


@pytest.mark.parametrize(("groups", "kinds"), [(3, 6), (4, 10)])
def test_kinds_of_paths_that_are_not_probed_are_counted(
    groups: int, kinds: int, study: Path
) -> None:
    """Groups of hosts with lines of their own, which talk to their own and to each other."""
    text = """
format = 1
title = "T"
[network]
rtt = "20 ms"
[workloads.swarm]
kind = "swarm"
size = "1 MB"
tracker = "g0-1"
"""
    for n in range(groups):
        role = "leecher" if n else "seed"
        text += f"""
[network.groups.g{n}]
hosts = 4
access = {{ up = "{n + 1} Mbit/s", down = "9 Mbit/s" }}
[workloads.swarm.populations.p{n}]
group = "g{n}"
role = "{role}"
profile = "libtorrent"
"""
    study.write_text(text)
    (point,) = Study.load(study).points()
    plan = point.plan().parsed
    rows = self_test.left_out(plan)
    assert len(self_test.paths(plan)) == 6
    names = [it["name"] for it in self_test.probe_plan(plan).workloads]
    assert sum(name.startswith("idle") for name in names) == 6
    found = [(row["probe"], row["planned"], row["measured"]) for row in rows]
    assert found == ([(COVERED, kinds, 6)] if kinds > 6 else [])
    assert self_test.failures(rows) == []


def plan_of(study: Path, loss: float = 0.0) -> Plan:
    """The study's network: a bottleneck with a queue of 50 packets, and another way back."""
    queue = 'queue = "50 packets"\n'
    text = study.read_text()
    assert queue in text
    more = f'loss = "{100 * loss:g} %"\nback = {{ rate = "100 Mbit/s" }}\n'
    study.write_text(text.replace(queue, queue + more))
    (point,) = Study.load(study).points()
    study.write_text(text)
    return point.plan().parsed


def found_over(real: Plan, plan: Plan, seed: int = 1) -> list[dict[str, Any]]:
    """What the probes of a plan find on a network that another plan says, as exactly as can be."""
    probes = self_test.probe_plan(plan)
    there = probes.with_(network=real.network)
    echoes = {}
    for index, spec in numbered(probes, PingWorkload):
        sent = sent_ns(spec)
        ends = spec["from"], spec["to"], spec["size_bytes"]
        times = _core.echo_times(there, seed, [(at, *ends) for at in sent])
        echoes[index] = [
            (at / 1e9, None if time is None else time / 1e9)
            for at, time in zip(sent, times, strict=True)
        ]
    return self_test.judged(probes, 1, echoes)


def test_the_network_of_the_plan_is_found(study: Path) -> None:
    plan = plan_of(study)
    rows = {row["probe"]: row for row in found_over(plan, plan)}
    assert not self_test.failures([*rows.values()])
    assert rows["least round trip on the idle path"]["measured"] == pytest.approx(0.050, rel=0.01)
    # Of 1428 B with their IP and ICMP headers 1400 are counted.
    assert rows["rate of the full path"]["measured"] == pytest.approx(10e6, rel=0.01)
    # 50 packets of 1400 B at 10 Mbit/s.
    assert rows["wait on the full path"]["measured"] == pytest.approx(0.056, rel=0.03)


def slower(network: dict[str, Any]) -> None:
    for link in network["links"]:
        if link["conditions"]["rate_bps"]:
            link["conditions"]["rate_bps"] = link["conditions"]["rate_bps"] * 9 // 10


def farther(network: dict[str, Any]) -> None:
    for core in network["cores"]:
        core["conditions"]["delay_ns"] += 3_000_000


def shorter(network: dict[str, Any]) -> None:
    for link in network["links"]:
        link["conditions"]["queue"]["packets"] = 40


@pytest.mark.parametrize(
    ("rate", "queue"),
    [("1 Mbit/s", 200), ("10 Mbit/s", 300), ("100 Mbit/s", 1000), ("2 Mbit/s", 20)],
)
def test_a_queue_of_any_usual_length_is_filled(study: Path, rate: str, queue: int) -> None:
    text = study.read_text().replace('"10 Mbit/s"', f'"{rate}"')
    study.write_text(text.replace('"50 packets"', f'"{queue} packets"'))
    (point,) = Study.load(study).points()
    plan = point.plan().parsed
    assert self_test.failures(rows := found_over(plan, plan)) == []
    assert NOT_FILLED not in {row["probe"] for row in rows}
    real = copy.deepcopy(plan.network)
    for link in real["links"]:
        link["conditions"]["queue"]["packets"] = queue * 9 // 10
    said = self_test.failures(found_over(plan.with_(network=real), plan))
    assert any("self-test: wait on the full path " in line for line in said), said


def test_what_no_flood_reaches_is_said(study: Path) -> None:
    text = study.read_text().replace('"10 Mbit/s"', '"1 Gbit/s"')
    study.write_text(text.replace('"50 packets"', '"3000 packets"'))
    (point,) = Study.load(study).points()
    rows = found_over(plan := point.plan().parsed, plan)
    assert self_test.failures(rows) == []
    found = {row["probe"]: (row["planned"], row["measured"]) for row in rows}
    assert found[NOT_FILLED] == (3000, 0)
    rate, probed = found[NOT_REACHED]
    assert rate == 1e9
    assert probed == pytest.approx(114e6, rel=0.01)
    assert "rate of the full path" not in found


def lossy(network: dict[str, Any]) -> None:
    for link in network["links"]:
        model = {"kind": "bernoulli", "probability": 0.15}
        link["conditions"]["loss"] = {"side": "receiver", "model": model}


@pytest.mark.parametrize(
    ("change", "probe"),
    [
        (slower, "rate of the full path"),
        (farther, "least round trip on the idle path"),
        (shorter, "wait on the full path"),
        (lossy, "answers on the full path"),
    ],
)
def test_another_network_than_the_plan_s_is_told(
    study: Path, change: Callable[[Any], None], probe: str
) -> None:
    plan = plan_of(study)
    real = copy.deepcopy(plan.network)
    change(real)
    said = self_test.failures(found_over(plan.with_(network=real), plan))
    assert any(f"self-test: {probe} " in line for line in said), said


def test_random_loss_is_told_with_its_interval(study: Path) -> None:
    plan = plan_of(study, loss=0.05)
    rows = {row["probe"]: row for row in found_over(plan, plan)}
    loss = rows["loss on the idle path, both ways"]
    assert loss["planned"] == pytest.approx(0.05)
    assert loss["low"] < loss["measured"] < loss["high"]
    assert loss["low"] < 0.05 < loss["high"] < 0.12
    assert loss["within"]
    little = plan_of(study, loss=0.005)
    said = self_test.failures(found_over(plan_of(study, loss=0.2), little))
    assert any("loss on the idle path" in line for line in said), said
