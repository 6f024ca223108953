"""Real programs in network namespaces, in real time, over the same links as the simulation."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.need import Need
from flashcrowd.base.probes import UNMEASURED
from flashcrowd.base.rows import Row, Rows, of_columns
from flashcrowd.clients.programs import memory
from flashcrowd.emulation import self_test
from flashcrowd.emulation.budget import busiest, share, side_by_side, steered, waiting_hosts
from flashcrowd.emulation.capabilities import missing
from flashcrowd.emulation.card import kernel, sources, versions
from flashcrowd.emulation.ensemble import alike, divided, in_labs
from flashcrowd.emulation.joined import LABS
from flashcrowd.emulation.launch import LabHandle, in_lab
from flashcrowd.emulation.origin import PACES
from flashcrowd.emulation.requirements import impossible, programs, undivided
from flashcrowd.emulation.self_test import failures
from flashcrowd.emulation.tracker_host import with_tracker_host
from flashcrowd.engines import Build, EngineError, Finish, PlanRejected, refusal
from flashcrowd.plan.parts import workloads
from flashcrowd.plan.types import OriginWorkload

if TYPE_CHECKING:
    import pyarrow as pa

_Found = tuple[list[Row], list[str]]
"""Of a self-test: rows of the table `probes`, and in words how late this machine was meanwhile."""
RETEST_S = 60.0
"""A network that was measured this long ago is measured again after the last run."""
SELF_TESTS = 3
"""Measurements of a network, at most, if probes do not find the plan's on a late machine."""
RETESTS = 8
"""Self-tests that run side by side."""
_HOST_BYTES = 2_000_000
"""Of kernel memory for a namespace with its interface, and of buffers."""
_LAB_BYTES = 60_000_000
"""The two processes of a lab: 19 and 35 MB (`Pss` at the peak) where they played five libtorrents,
whose sessions are counted besides, 13 and 17 MB where they played a transfer."""


class Emulator:
    """The engine `emulation`.

    Attributes:
        across: other nodes that play a share of each run, as ADDRESS:PORT; see `member.py`.
    """

    name = "emulation"

    def __init__(self) -> None:
        self.force = False
        self.repeat_invalid = 0
        self.across: tuple[str, ...] = ()
        self._repeated = 0
        self._tested: dict[str, _Tested] = {}
        self._counting = threading.Lock()
        self._programs: set[str] = set()
        self._paces: list[Row] = []
        self._labs = Counter[tuple[tuple[str, Any], ...]]()
        self._agreed: frozenset[str] | None = None

    def handle(self) -> LabHandle:
        """A handle on one run."""
        return LabHandle()

    def check(self, plan: Plan) -> None:
        """Raise `PlanRejected` if this machine cannot emulate a plan; all reasons at once."""
        refusal.check_for(
            plan, "cannot be emulated", lambda plan: [*impossible(plan), *missing(plan)]
        )
        asked = frozenset(programs(plan))
        if self.across:
            if wrong := [*undivided(plan)]:
                raise PlanRejected("cannot be emulated:\n  " + "\n  ".join(wrong))
            try:
                divided(with_tracker_host(plan), 1 + len(self.across))
                if self._agreed is None or not asked <= self._agreed:
                    alike(self.across, asked)
                    self._agreed = asked | (self._agreed or frozenset())
            except EngineError as error:
                raise PlanRejected(f"cannot be emulated:\n  {error}") from None
        self._programs |= asked

    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        """The predicted need of a run of each plan, see `Engine.needs`."""
        for plan in plans:
            self.check(plan)
        return [self._need(plan) for plan in plans]

    def _need(self, plan: Plan) -> Need:
        """The predicted need of a run of a plan; its seconds are those of the clock."""
        need = Need(*plan.need())
        size = _LAB_BYTES + _HOST_BYTES * len(plan.network["hosts"]) + memory(plan)
        for origin in workloads(plan, OriginWorkload):
            files = origin["files"]  # its clients compare what comes with a copy in memory
            size += files["count"] * files["size_bytes"] + origin["settings"]["memory_bytes"]
        return replace(need, seconds=need.end_s, bytes=size)

    def at_once(self, needs: Sequence[Need]) -> int:
        """Programs mostly wait: as many as the budget of packets has room for."""
        return side_by_side(needs)

    def run(self, plan: Plan, seed: int, handle: Any) -> Mapping[str, pa.Table]:
        """One run's tables, see `Engine.run`; an invalid one is played again if that is asked."""
        import pyarrow as pa

        from flashcrowd.store.schema import ENGINE_TABLES

        rows = self._played(plan, seed, handle)
        for _ in range(self.repeat_invalid):
            if rows["run"][0]["outcome"] != "invalid":
                break
            with self._counting:
                self._repeated += 1
            rows = self._played(plan, seed, handle, anew=True)
        with self._counting:
            self._paces += [{**pace, "seed": seed} for pace in rows.pop(PACES, ())]
            self._labs.update(tuple(lab.items()) for lab in rows.pop(LABS, ()))
        unknown = rows.keys() - ENGINE_TABLES.keys()
        if unknown:
            raise EngineError(f"the lab gave tables that nobody knows: {sorted(unknown)}")
        return {
            name: found.cast(ENGINE_TABLES[name].schema)
            if isinstance(found, pa.Table)
            else ENGINE_TABLES[name].of_rows(found)
            for name, found in rows.items()
        }

    def _played(self, plan: Plan, seed: int, handle: Any, anew: bool = False) -> dict[str, Any]:
        """The tables of a run by name, once it fits beside the others: rows, or Arrow's.

        Args:
            plan: the plan.
            seed: the run's.
            handle: a handle for it.
            anew: whether to measure a network once more that differed from the plan's.
        """
        need = self._need(plan)
        mean = need.packets / max(need.seconds, 1.0)
        packets_per_s = busiest(plan, seed, mean)
        apart = steered(plan, packets_per_s)
        with share(packets_per_s, waiting_hosts(plan), handle, apart) as processor:
            try:
                probes, late = self._self_test(plan, seed, handle, anew)
                found = self._in_labs(plan, seed, handle, processor=processor)
                rows = {**found, "probes": probes}
            except EngineError as error:
                rows, late = _failed(str(error)), []
        wrong = failures(rows["probes"])
        if wrong and rows["run"][0]["outcome"] != "failed":
            rows["run"][0]["outcome"] = "invalid"
            told = [rows["run"][0]["reason"], *late, *wrong]
            rows["run"][0]["reason"] = "; ".join(filter(None, told))
        return rows

    def _in_labs(
        self,
        plan: Plan,
        seed: int,
        handle: Any,
        probe: bool = False,
        processor: int | None = None,
    ) -> Mapping[str, Any]:
        """The tables of a run, or of the self-test, by this machine or by all nodes."""
        if self.across:
            return in_labs(plan, seed, handle, self.across, probe=probe)
        return in_lab(plan, seed, handle, probe=probe, processor=processor)

    def _probed(self, plan: Plan, seed: int, handle: Any) -> _Found:
        """Results of the probes; re-measured if not the plan's, and this machine was late."""
        found = self._in_labs(plan, seed, handle, probe=True)
        for _ in range(SELF_TESTS - 1):
            if not (found["late"] and failures(found["probes"])):
                break
            found = self._in_labs(plan, seed, handle, probe=True)
        return found["probes"], [row["reason"] for row in found["late"]]

    def _self_test(self, plan: Plan, seed: int, handle: Any, anew: bool) -> _Found:
        """Results of the probes on a plan's network, measured once for each network.

        Networks are measured side by side, each within the share of the run that came first: a slow
        line with a long queue takes more than a minute.
        """
        whole = with_tracker_host(plan)
        network = [whole.network, self_test.paths(whole), whole.stacks]
        network = json.dumps(network, sort_keys=True)
        key = sha256(network.encode()).hexdigest()
        with self._counting:
            tested = self._tested.setdefault(key, _Tested(plan, seed))
        with tested.testing:
            if tested.found is None or (anew and failures(tested.found[0])):
                tested.found = self._probed(plan, seed, handle)
                tested.at = time.monotonic()
            return tested.found

    def finish(self) -> Finish:
        """The self-test after the last run: each network that was measured long ago, once more.

        With it goes how well the disks of content servers kept their pace, a row for each run, and
        how hosts were attached, whether they received on other processors than the emulator's, and
        whether the emulator had real-time priority when runs ended.
        """
        now = time.monotonic()
        measured = [it for it in self._tested.values() if it.found is not None]
        old = [it for it in measured if now - it.at >= RETEST_S]
        kept: Finish = {}
        with self._counting:
            if self._repeated:
                kept["invalid_repeated"] = self._repeated
            if self._paces:
                kept["pace"] = self._paces
            if self._labs:
                kept["labs"] = [
                    {**dict(lab), "runs": runs} for lab, runs in sorted(self._labs.items())
                ]
            self._repeated, self._paces = 0, []
            self._labs.clear()
        if self.across:
            kept["nodes"] = 1 + len(self.across)
        if not old:
            return kept
        with ThreadPoolExecutor(RETESTS) as side_by_side:
            again = side_by_side.map(lambda it: self._probed(it.plan, it.seed, self.handle()), old)
            rows = [row for rows, _ in again for row in rows]
        probes = [row for row in rows if row["probe"] not in UNMEASURED]
        within = sum(row["within"] for row in probes)
        kept["self_test_after"] = {
            "networks": len(old),
            "probes": len(probes),
            "within": within,
            "failures": failures(probes),
        }
        return kept

    def build(self) -> Build:
        """Version, commit, compiler, and the digest of what decides results.

        That is the emulator, the Python programs in its namespaces, this kernel, whose TCP is
        what is measured, and the clients that plans ask for which were checked.
        """
        build = _core.build_info()
        found = _versions(frozenset(self._programs))
        return {**build, "engine": _identity(found), "programs": dict(found)}


@dataclass
class _Tested:
    """A network whose paths are measured once."""

    plan: Plan
    seed: int
    found: _Found | None = None
    at: float = 0.0
    testing: threading.Lock = field(default_factory=threading.Lock)


def _failed(why: str) -> Rows:
    """The tables of a run whose lab crashed."""
    return {**of_columns([_core.run_table("failed", why)]), "probes": []}


Versions = tuple[tuple[str, str], ...]


@cache
def _versions(names: frozenset[str]) -> Versions:
    """The programs of these names, and which version of them is here."""
    return tuple((name, it) for name, it in versions(names).items() if it is not None)


@cache
def _identity(found: Versions) -> str:
    digest = sha256(f"{sources()} {kernel()}".encode())
    digest.update(json.dumps(found).encode())
    return digest.hexdigest()[:16]
