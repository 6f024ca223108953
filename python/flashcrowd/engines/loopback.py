"""A real content server and its clients on this machine's loopback, in real time."""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.messages import Order
from flashcrowd.base.need import Need
from flashcrowd.base.rows import Row
from flashcrowd.emulation.launch import LabHandle, in_process
from flashcrowd.engines import Build, Cancelled, Finish, refusal
from flashcrowd.plan.parts import workloads
from flashcrowd.plan.types import OriginWorkload

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 2
"""Runs at a time."""
MOST_DELAY_NS = 2_000_000
"""A way this short is taken for none: a client's line has more than that in its queue."""
_REMEDY = "run it with --engine emulation"
"""Where there is a network."""
_LOOK_S = 0.1
_MODULE = "flashcrowd.content_server.loopback"
_MEASURES = ("pieces_ns", "queues_ns", "packets_ns", "send_gaps", "payloads", "rtts", "unchokes")


class Loopback:
    """The engine `loopback`: plans of one content server, without a network.

    The server is that of `flashcrowd serve`, with the plan's disk in front of a real file; its
    clients read from their sockets at their lines' rates. The server's own line, delays, losses and
    queues of the plan are not there; the emulation has them.
    """

    name = "loopback"

    def __init__(self) -> None:
        self.force = False
        self.repeat_invalid = 0
        self._turns = threading.Semaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._paces: list[Row] = []

    def handle(self) -> LabHandle:
        """A handle on one run."""
        return LabHandle()

    def check(self, plan: Plan) -> None:
        """Raise `PlanRejected` if a plan needs more than a loopback; all reasons at once."""
        refusal.check_for(plan, "cannot be played on the loopback", impossible)

    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        """The predicted need of a run of each plan; its seconds are those of the clock."""
        for plan in plans:
            self.check(plan)
        found = [Need(*plan.need()) for plan in plans]
        return [replace(need, events=0, packets=0, seconds=need.end_s) for need in found]

    def at_once(self, needs: Sequence[Need]) -> int:
        """As many as there are turns."""
        return AT_ONCE

    def run(self, plan: Plan, seed: int, handle: LabHandle) -> Mapping[str, pa.Table]:
        """One run's tables, see `Engine.run`; an invalid one is played again if that is asked."""
        from flashcrowd.store.schema import ENGINE_TABLES

        while not self._turns.acquire(timeout=_LOOK_S):
            if handle.cancelled:
                raise Cancelled
        try:
            asked = Order(plan.to_json(), seed)
            answer = in_process(_MODULE, asked, handle)
            for _ in range(self.repeat_invalid):
                if answer.tables["run"][0]["outcome"] != "invalid":
                    break
                answer = in_process(_MODULE, asked, handle)
        finally:
            self._turns.release()
        rows = answer.tables
        policy = rows["origins"][0]["policy"]
        with self._lock:
            self._paces.append({"policy": policy, "seed": seed, **answer.pace})
        return {name: ENGINE_TABLES[name].of_rows(found) for name, found in rows.items()}

    def finish(self) -> Finish:
        """How well disks and lines were played, a row for each run."""
        with self._lock:
            paces, self._paces = self._paces, []
        return {"pace": paces}

    def build(self) -> Build:
        """Version, commit, compiler, and the digest of what decides results."""
        build = _core.build_info()
        digest = sha256(f"{build['engine']} {build['server']}".encode())
        for room in ("content_server", "http"):
            for path in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        digest.update(f"{platform.release()} {platform.machine()}".encode())
        return {**build, "engine": digest.hexdigest()[:16]}


def impossible(plan: Plan) -> Iterator[str]:
    """The parts of a plan that a loopback cannot play, with a remedy."""
    if sys.platform != "linux":
        yield "the content server needs Linux"
        return
    origins = workloads(plan, OriginWorkload)
    if len(origins) != 1 or len(plan.workloads) != 1:
        yield f"workloads: one origin and nothing else has a real program here; {_REMEDY}"
        return
    if plan.timeline:
        yield f"timeline: nothing changes here during a run; {_REMEDY}"
    network = plan.network
    for population in origins[0]["populations"]:
        for host in population["hosts"]:
            down = [network["links"][it] for it in network["hosts"][host]["down"]]
            if all(it["conditions"]["rate_bps"] is None for it in down):
                name = network["hosts"][host]["name"]
                yield (
                    f"network: {name} has no rate; a line is played by reading at its rate; "
                    f"{_REMEDY}"
                )
                break
    sections = [*network["links"], *network["cores"]]
    if any(it["conditions"]["loss"] or it["conditions"]["jitter"] for it in sections):
        yield f"network: the loopback loses nothing and has no jitter; {_REMEDY}"
    delays = [it["conditions"]["delay_ns"] for it in sections]
    if max(delays, default=0) > MOST_DELAY_NS:
        yield f"network: a delay of {max(delays) / 1e6:g} ms; the loopback has none; {_REMEDY}"
    for series in plan.measures["series"]:
        if series["what"] not in (known := _core.OriginRules.SERIES):
            yield f"measures: {series['what']} is not known here, only {', '.join(known)}"
    for name in _MEASURES:
        if plan.measures.get(name):
            yield f"measures: {name.removesuffix('_ns')} is not recorded here"
