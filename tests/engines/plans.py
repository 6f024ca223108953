"""Small plans, written as an engine reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashcrowd import _core

FAST = {
    "rate_bps": None,
    "queue": {"kind": "drop-tail", "packets": None, "bytes": None},
    "delay_ns": 5_000_000,
    "jitter": None,
    "loss": None,
    "framing": {"kind": "plain", "overhead_bytes": 38},
}


def plan(hosts: int, workloads: list[dict[str, Any]], loss: float = 0.0) -> dict[str, Any]:
    """Hosts with lines of 8 Mbit/s each way."""
    queue = {"kind": "drop-tail", "packets": 100, "bytes": None}
    line = FAST | {"rate_bps": 8_000_000, "queue": queue}
    core = dict(FAST)
    if loss:
        core["loss"] = {"side": "receiver", "model": {"kind": "bernoulli", "probability": loss}}
    return {
        "format": 1,
        "title": "small",
        "network": {
            "groups": ["all"],
            "hosts": [
                {"name": f"h{n}", "group": 0, "stack": 0, "up": [2 * n], "down": [2 * n + 1]}
                for n in range(hosts)
            ],
            "links": [
                {"name": f"h{n}.{way}", "conditions": line, "delay": None}
                for n in range(hosts)
                for way in ("up", "down")
            ],
            "cores": [{"links": [], "conditions": core, "draw": None}],
            "core_of": [0],
        },
        "stacks": [json.loads(_core.tcp_profiles())["linux-6"]],
        "utps": [],
        "profiles": [json.loads(_core.client_profiles())["mainline-4.0.2"]],
        "workloads": workloads,
        "timeline": [],
        "measures": {
            "series": [{"what": "goodput", "every_ns": 100_000_000}],
            "pieces_ns": 1_000_000_000,
            "queues_ns": 1_000_000_000,
            "send_gaps": True,
            "payloads": True,
            "rtts": True,
            "unchokes": True,
            "have": True,
            "packets_ns": 1_000_000_000,
            "windows": [{"table": "links", "from_ns": 0, "to_ns": 10**12}],
            "capture": {"hosts": [0], "from_ns": 0, "to_ns": 10**12, "snap_bytes": 160},
            "connections": {
                "workloads": [
                    index
                    for index, workload in enumerate(workloads)
                    if workload["kind"] not in ("ping", "call")
                ],
                "hosts": None,
                "from_ns": 0,
                "to_ns": 10 * 10**9,
                "packets": True,
                "metrics": True,
                "timers": True,
            },
        },
        "stop": {"horizon_ns": 3600 * 10**9, "stall_ns": 600 * 10**9},
    }


def control(reflector: int) -> dict[str, Any]:
    """A controller of a population's upload limit, which asks its client ten times a second."""
    return {
        "controller": {"kind": "autolimit-baseline"},
        "reflectors": [reflector],
        "probe_bytes": 64,
        "start_spread_ns": 0,
        "lateness_ns": 0,
        "poll_ns": 100_000_000,
        "interface": {"refresh_ns": 0, "window_ns": None, "step_bytes": 1},
    }


def transfer(size_bytes: int | None = 1_000_000) -> dict[str, Any]:
    return {
        "kind": "transfer",
        "name": "bulk",
        "from": 0,
        "to": 1,
        "transport": None,
        "flows": 1,
        "size_bytes": size_bytes,
        "rate_bps": None,
        "start_ns": 0,
        "spread_ns": 0,
        "stop_ns": None,
    }


def ping() -> dict[str, Any]:
    return {
        "kind": "ping",
        "name": "bystander",
        "from": 0,
        "to": 1,
        "size_bytes": 84,
        "interval_ns": 100_000_000,
        "start_ns": 0,
        "stop_ns": None,
    }


def web() -> dict[str, Any]:
    return {
        "kind": "web",
        "name": "pages",
        "from": 0,
        "to": 1,
        "transport": None,
        "users": 2,
        "connections": 2,
        "request_bytes": 400,
        "page": {
            "median_bytes": 50_000,
            "sigma": 1.0,
            "tail_from_bytes": 200_000,
            "tail_shape": 1.1,
            "largest_bytes": 2_000_000,
        },
        "reading": {"kind": "exponential", "mean_ns": 10**9},
        "start_ns": 0,
        "spread_ns": 0,
        "stop_ns": None,
    }


def download(mirrors: list[int] | None = None) -> dict[str, Any]:
    return {
        "kind": "download",
        "name": "image",
        "from": 0,
        "to": 1,
        "mirrors": mirrors or [],
        "transport": None,
        "size_bytes": 1_000_000,
        "connections": 3,
        "range_bytes": 100_000,
        "least_split_bytes": 20_000,
        "use_head": True,
        "request_bytes": 400,
        "head_bytes": 300,
        "start_ns": 0,
        "spread_ns": 0,
        "stop_ns": None,
    }


def call() -> dict[str, Any]:
    return {
        "kind": "call",
        "name": "voice",
        "from": 0,
        "to": 1,
        "size_bytes": 200,
        "interval_ns": 20_000_000,
        "every_ns": 10**9,
        "start_ns": 0,
        "stop_ns": None,
    }


def origin() -> dict[str, Any]:
    """A server on host 0 with little memory, and clients in any order and in order."""
    clients = {"arrivals": {"kind": "poisson", "start_ns": 0, "gap_ns": 10**9}}
    return {
        "kind": "origin",
        "name": "server",
        "host": 0,
        "transport": None,
        "files": {"count": 2, "size_bytes": 600_000, "zipf": 1.0},
        "settings": {
            "block_bytes": 16_384,
            "extent_bytes": 65_536,
            "memory_bytes": 4 * 65_536,
            "reads": 2,
            "patience_ns": 60 * 10**9,
            "scheduling": {"kind": "circus", "active_bytes": 65_536},
        },
        "disk": {"kind": "hard-disk", "rate_bps": 80_000_000},
        "unsent_bytes": 32_768,
        "request_bytes": 400,
        "head_bytes": 300,
        "part_bytes": 150,
        "populations": [
            {"name": "any", "hosts": [1, 2], "in_order": False} | clients,
            {"name": "ordered", "hosts": [3], "in_order": True} | clients,
        ],
    }


CRATES = Path(__file__).parents[2] / "crates"

TRACKER = {
    "host": None,
    "answer_delay_ns": 0,
    "rules": json.loads((CRATES / "swarm" / "tests" / "tracker.json").read_text()),
}
"""Mainline's."""


def swarm(leechers: int, size_bytes: int = 2_000_000) -> dict[str, Any]:
    common = {"profile": 0, "transport": None, "data": None, "replace": False}
    return {
        "kind": "swarm",
        "name": "crowd",
        "size_bytes": size_bytes,
        "piece_bytes": 262_144,
        "block_bytes": 16_384,
        "tracker": TRACKER,
        "populations": [
            common
            | {
                "name": "seed",
                "role": "seed",
                "hosts": [0],
                "upload_bps": 800_000,
                "arrivals": {"kind": "times", "at_ns": [0]},
                "departure": {"kind": "never"},
            },
            common
            | {
                "name": "leechers",
                "role": "leecher",
                "hosts": list(range(1, leechers + 1)),
                "upload_bps": 800_000,
                "arrivals": {"kind": "flash-crowd", "start_ns": 0, "spread_ns": 10**9},
                "departure": {"kind": "all-done"},
            },
        ],
        "stop_after_completions": None,
    }


def made(plan: Mapping[str, Any]) -> _core.Plan:
    """A plan as engines take it."""
    return _core.Plan(as_json(plan))


def as_json(plan: Mapping[str, Any]) -> str:
    return json.dumps(plan)
