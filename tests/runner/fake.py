"""An engine without a network: its tables are a function of plan and seed."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from flashcrowd.base.cores import cores
from flashcrowd.base.need import Need
from flashcrowd.engines import Build, Cancelled, EngineFault, Finish
from flashcrowd.plan.digest import digest
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
        self.ran: list[tuple[str, int]] = []
        self.most_at_a_time = 0
        self.force = False
        self.repeat_invalid = 0
        self._now = 0
        self._lock = threading.Lock()

    def handle(self) -> FakeHandle:
        return FakeHandle()

    def check(self, plan_json: str) -> None:
        json.loads(plan_json)

    def needs(self, plans: Sequence[str]) -> list[Need | None]:
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

    def run(self, plan_json: str, seed: int, handle: FakeHandle) -> Mapping[str, pa.Table]:
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
        self.ran.append((plan_json, seed))
        return tables(json.loads(plan_json), seed)


def tables(plan: Mapping[str, Any], seed: int) -> dict[str, pa.Table]:
    """Tables of the right columns, filled by a generator that knows plan and seed."""
    draw = random.Random(f"{plan['rtt']} {seed}")
    rows = {"run": 1, "downloads": plan.get("peers", 20), "links": 3, "pings": 0}
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
    plans = [json.dumps({"title": title, "rtt": rtt, "peers": peers}) for rtt in rtts]
    manifest = Manifest(
        name="fake",
        fingerprint=f"{rtts} {repeats}",
        engine=Engine("fake", "0.0", engine),
        points=tuple(
            Point({"network.rtt": rtt}, digest(plan)) for rtt, plan in zip(rtts, plans, strict=True)
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
