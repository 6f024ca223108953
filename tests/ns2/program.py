"""ns-2 as a program: a scene in, what its trace says of flows and queues out."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from scenes import LEFT, RIGHT, SEGMENT, Link, Scene

PROGRAM = "ns"


def why_not() -> str | None:
    """Say what this machine lacks, or None if ns-2 can run."""
    if shutil.which(PROGRAM) is None:
        return "ns-2 is not installed: apt install ns2"
    return None


@dataclass(frozen=True)
class Agent:
    """A kind of TCP in ns-2, and its options besides the size of segments.

    Attributes:
        sink: the receiver of a one-way agent; `None` for FullTcp.
    """

    kind: str
    sink: str | None = None
    options: dict[str, str | int | float] = field(default_factory=dict[str, "str | int | float"])


@dataclass(frozen=True)
class Outcome:
    """What flows and queues did.

    Attributes:
        goodput_bps: of each flow, from its start to its end or the run's.
        durations_s: of each flow that ended, from its start to the last byte.
        retransmits: packets of data that were sent again.
        offered: packets that came to the watched links.
        dropped: of these.
        wait_s: the mean wait in their queues, without the transmission.
    """

    goodput_bps: list[float]
    durations_s: list[float]
    retransmits: int
    offered: int
    dropped: int
    wait_s: float


def run(scene: Scene, agent: Agent, folder: Path) -> Outcome:
    """Run ns-2 in a folder."""
    case, trace = folder / "case.tcl", folder / "trace.txt"
    case.write_text(_case(scene, agent))
    script = Path(__file__).with_name("flows.tcl")
    done = subprocess.run(
        [PROGRAM, script, case, trace], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"ns-2 failed: {done.stderr.strip() or done.stdout.strip()}")
    return read(scene, trace)


def _case(scene: Scene, agent: Agent) -> str:
    lines = []

    def link(number: int, to: int, it: Link) -> None:
        lines.append(f"link {number} {to} {it.rate_bps} {it.delay_s:.9f} {it.queue}")

    for host, (up, down) in enumerate(scene.lines):
        link(host, scene.router(host), up)
        link(scene.router(host), host, down)
    if scene.shared:
        link(LEFT, RIGHT, scene.shared)
        link(RIGHT, LEFT, scene.shared)
    named = {**agent.options, ("packetSize_" if agent.sink else "segsize_"): SEGMENT}
    options = " ".join(f"{name} {value}" for name, value in named.items())
    for number, flow in enumerate(scene.flows):
        way = f"{flow.sender} {flow.receiver} {flow.start_s:.6f}"
        if agent.sink is None:
            amount = -1 if flow.segments is None else flow.segments * SEGMENT
            lines.append(f"full {number} {agent.kind} {way} {amount} {{{options}}}")
        else:
            amount = -1 if flow.segments is None else flow.segments
            kinds = f"{agent.kind} {agent.sink}"
            lines.append(f"oneway {number} {kinds} {way} {amount} {{{options}}}")
    return "\n".join([*lines, f"end {scene.end_s}", ""])


def read(scene: Scene, trace: Path) -> Outcome:
    """Read a trace: event, time, from, to, type, size, flags, flow, addresses, number, id."""
    names = _names(scene)
    sources = [names[it.sender] for it in scene.flows]
    targets = [names[it.receiver] for it in scene.flows]
    watched = {(names[a], names[b]) for a, b in scene.watched}
    sent: list[Counter[str]] = [Counter() for _ in scene.flows]
    arrived: list[dict[str, int]] = [{} for _ in scene.flows]
    last = [0.0 for _ in scene.flows]
    came: dict[tuple[str, str, str], float] = {}
    offered = dropped = left = 0
    waited = 0.0
    with trace.open() as rows:
        for row in rows:
            event, time, a, b, kind, size, _, flow, _, _, number, packet, *_ = row.split()
            if (a, b) in watched:
                if event == "+":
                    offered += 1
                    came[a, b, packet] = float(time)
                elif event == "-":
                    waited += float(time) - came.pop((a, b, packet))
                    left += 1
                elif event == "d":
                    dropped += 1
                    came.pop((a, b, packet))
            if kind != "tcp" or int(size) <= 40:
                continue
            which = int(flow)
            if event == "+" and a == sources[which]:
                sent[which][number] += 1
            elif event == "r" and b == targets[which] and number not in arrived[which]:
                arrived[which][number] = int(size) - 40
                last[which] = float(time)
    goodput, durations = [], []
    for flow, got, at in zip(scene.flows, arrived, last, strict=True):
        ended = flow.segments is not None and len(got) == flow.segments
        end = at if ended else scene.end_s
        if ended:
            durations.append(at - flow.start_s)
        goodput.append(sum(got.values()) * 8 / (end - flow.start_s))
    retransmits = sum(it.total() - len(it) for it in sent)
    return Outcome(goodput, durations, retransmits, offered, dropped, waited / max(left, 1))


def _names(scene: Scene) -> dict[int, str]:
    """The numbers that ns-2 gives to nodes: from 0, in the order in which links mention them."""
    order = [it for host in range(len(scene.lines)) for it in (host, scene.router(host))]
    return {node: str(number) for number, node in enumerate(dict.fromkeys(order))}
