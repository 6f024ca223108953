"""Real programs in network namespaces, in real time, over the same links as the simulation."""

from __future__ import annotations

import json
import platform
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashcrowd import _core
from flashcrowd.clients import PROGRAMS
from flashcrowd.emulation import self_test
from flashcrowd.emulation.budget import expected_s, share
from flashcrowd.emulation.capabilities import missing
from flashcrowd.emulation.launch import LabHandle, in_lab
from flashcrowd.emulation.requirements import impossible, programs
from flashcrowd.emulation.self_test import failures
from flashcrowd.emulation.tracker_host import with_tracker_host
from flashcrowd.engines import EngineError, PlanRejected
from flashcrowd.engines.need import Need

if TYPE_CHECKING:
    import pyarrow as pa

_HOST_BYTES = 2_000_000
"""Of kernel memory for a namespace with its interface, and of buffers."""


class Emulator:
    """The engine `emulation`."""

    name = "emulation"

    def __init__(self) -> None:
        self.force = False
        self._tested: dict[str, list[dict[str, Any]]] = {}
        self._testing = threading.Lock()
        self._programs: set[str] = set()

    def control(self) -> LabHandle:
        """A control for one run."""
        return LabHandle()

    def check(self, plan_json: str) -> None:
        """Raise `PlanRejected` if this machine cannot emulate a plan; all reasons at once."""
        try:
            _core.check_plan(plan_json)
        except _core.PlanError as error:
            raise PlanRejected(str(error)) from None
        plan = json.loads(plan_json)
        problems = [*impossible(plan), *missing(plan)]
        if problems:
            raise PlanRejected("cannot be emulated:\n  " + "\n  ".join(problems))
        self._programs |= programs(plan)

    def needs(self, plans: Sequence[str]) -> list[Need | None]:
        """What a run of each plan is expected to need, see `Engine.needs`."""
        return [self._need(plan) for plan in plans]

    def _need(self, plan_json: str) -> Need:
        """What a run of a plan is expected to need.

        The clock is a real one: its time is the study's horizon, or, of a plan of swarms, what
        their peers can upload in.
        """
        try:
            need = Need(**json.loads(_core.plan_need(plan_json)))
        except _core.PlanError as error:
            raise PlanRejected(str(error)) from None
        plan = json.loads(plan_json)
        size = _HOST_BYTES * len(plan["network"]["hosts"])
        seconds = expected_s(plan)
        return Need(events=need.events, packets=need.packets, seconds=seconds, bytes=size)

    def run(self, plan_json: str, seed: int, control: Any) -> Mapping[str, pa.Table]:
        """One run's tables, see `Engine.run`."""
        import pyarrow as pa

        from flashcrowd.store.schema import ENGINE_TABLES

        need = self._need(plan_json)
        hosts = len(json.loads(plan_json)["network"]["hosts"])
        with share(need.packets / max(need.seconds, 1.0), hosts, control):
            probes = self._self_test(plan_json, seed, control)
            rows = {**in_lab(plan_json, seed, control), "probes": probes}
        wrong = failures(probes)
        if wrong:
            rows["run"][0]["outcome"] = "invalid"
            told = [rows["run"][0]["reason"], *wrong]
            rows["run"][0]["reason"] = "; ".join(filter(None, told))
        unknown = rows.keys() - ENGINE_TABLES.keys()
        if unknown:
            raise EngineError(f"the lab gave tables that nobody knows: {sorted(unknown)}")
        return {
            name: pa.Table.from_pylist(found, schema=ENGINE_TABLES[name].schema)
            for name, found in rows.items()
        }

    def _self_test(self, plan_json: str, seed: int, control: Any) -> list[dict[str, Any]]:
        """What probes find on a plan's network, measured once for each network."""
        plan = with_tracker_host(json.loads(plan_json))
        network = [plan["network"], self_test.paths(plan), plan["stacks"]]
        network = json.dumps(network, sort_keys=True)
        key = sha256(network.encode()).hexdigest()
        with self._testing:
            if key not in self._tested:
                self._tested[key] = in_lab(plan_json, seed, control, probe=True)["probes"]
            return self._tested[key]

    def build(self) -> Mapping[str, Any]:
        """Version, commit, compiler, and the digest of what decides results.

        That is the emulator, the Python programs in its namespaces, this kernel, whose TCP is
        what is measured, and the clients that plans ask for which were checked.
        """
        build = _core.build_info()
        versions = _versions(frozenset(self._programs))
        return {**build, "engine": _identity(versions), "programs": dict(versions)}


Versions = tuple[tuple[str, str], ...]


@cache
def _versions(names: frozenset[str]) -> Versions:
    """The clients of these names, and which version of them is here."""
    found = {name: PROGRAMS[name].found() for name in sorted(names)}
    return tuple((name, it.version) for name, it in found.items() if it is not None)


@cache
def _identity(versions: Versions) -> str:
    digest = sha256(str(_core.build_info()["emulation"]).encode())
    for room in ("emulation", "clients"):
        for path in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(f"{platform.release()} {platform.machine()}".encode())
    digest.update(json.dumps(versions).encode())
    return digest.hexdigest()[:16]
