"""An engine without a network: its tables are a function of plan and seed."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence

import pyarrow as pa

from flashcrowd._core import Plan
from flashcrowd.base.cores import cores
from flashcrowd.base.kept import as_json
from flashcrowd.base.need import Need
from flashcrowd.engines import Build, Cancelled, EngineFault, Finish
from flashcrowd.plan.digest import digest
from flashcrowd.plan.parts import EMPTY
from flashcrowd.store import schema
from flashcrowd.store.manifest import Engine, Manifest, Point, Run
from flashcrowd.study.campaign import Campaign


class FakeHandle:
    def __init__(self) -> None:
        self.progress = 0.0
        self.stop = threading.Event()

    def cancel(self) -> None:
        self.stop.set()


class Kept(Finish, total=False):
    finished_after: int


class FakeEngine:
    """Each run takes `pause_s`; runs with a seed in `faulty` fail."""

    name = "fake"

    def __init__(self, pause_s: float = 0.0, faulty: tuple[int, ...] = (), digest: str = "d1"):
        self.pause_s = pause_s
        self.faulty = faulty
        self.digest = digest
        self.ran: list[tuple[Plan, int]] = []
        self.most_at_a_time = 0
        self.force = False
        self.repeat_invalid = 0
        self._now = 0
        self._lock = threading.Lock()

    def handle(self) -> FakeHandle:
        return FakeHandle()

    def check(self, plan: Plan) -> None:
        plan.check()

    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        return [None for _ in plans]

    def at_once(self, needs: Sequence[Need]) -> int:
        return cores()

    def finish(self) -> Kept:
        return {"finished_after": len(self.ran)}

    def build(self) -> Build:
        return {
            "version": "0.0",
            "profile": "release",
            "commit": None,
            "engine": self.digest,
            "emulation": "",
            "server": "",
            "rustc": None,
        }

    def run(self, plan: Plan, seed: int, handle: FakeHandle) -> Mapping[str, pa.Table]:
        with self._lock:
            self._now += 1
            self.most_at_a_time = max(self.most_at_a_time, self._now)
        try:
            if handle.stop.wait(self.pause_s * random.uniform(0.5, 1.5)):
                raise Cancelled
            if seed in self.faulty:
                raise EngineFault("engine fault, please report it")
        finally:
            with self._lock:
                self._now -= 1
        self.ran.append((plan, seed))
        return tables(plan, seed)


def planned(title: str = "a fake", rtt: str = "0 ms", peers: int = 20) -> Plan:
    """A plan without hosts: its ends stand for what the engine is to know."""
    stop = {"horizon_ns": 1 + rtt_ms(rtt), "stall_ns": peers}
    return Plan(as_json({**EMPTY, "title": title, "stop": stop}))


def rtt_ms(rtt: str) -> int:
    return int(rtt.removesuffix(" ms"))


def tables(plan: Plan, seed: int) -> dict[str, pa.Table]:
    """Tables of the right columns, filled by a generator that knows plan and seed."""
    draw = random.Random(f"{plan.stop['horizon_ns']} {seed}")
    rows = {"run": 1, "downloads": plan.stop["stall_ns"], "links": 3, "pings": 0}
    return {name: _table(schema.ENGINE_TABLES[name], count, draw) for name, count in rows.items()}


def _table(layout: schema.Layout, rows: int, draw: random.Random) -> pa.Table:
    columns = {}
    for column in layout.columns:
        if column.kind == "text":
            words = [draw.choice(["a", "b", "ü"]) for _ in range(rows)]
            values = pa.array(words, pa.string()).dictionary_encode()
        elif column.kind == "count":
            values = pa.array([draw.randrange(1000) for _ in range(rows)], pa.uint64())
        else:
            values = pa.array([draw.random() for _ in range(rows)], pa.float64())
        columns[column.name] = values
    return pa.table(columns)


def campaign(
    rtts: tuple[str, ...] = ("0 ms", "400 ms"),
    repeats: int = 3,
    seed: int = 100,
    engine: str = "d1",
    title: str = "a fake",
    peers: int = 20,
) -> Campaign:
    plans = [planned(title, rtt, peers) for rtt in rtts]
    manifest = Manifest(
        name="fake",
        fingerprint=f"{rtts} {repeats}",
        engine=Engine("fake", "0.0", engine),
        points=tuple(
            Point({"network.rtt": rtt}, digest(plan.to_json()))
            for rtt, plan in zip(rtts, plans, strict=True)
        ),
        runs=tuple(
            Run(point, repeat, seed + repeat)
            for point in range(len(rtts))
            for repeat in range(repeats)
        ),
    )
    study = {
        "title": title,
        "repeats": repeats,
        "seed": seed,
        "network": {"rtt": list(rtts)},
        "workloads": {"swarm": {"peers": peers}},
    }
    return Campaign(manifest, study, tuple(plans), "title = 'a fake'\n")
