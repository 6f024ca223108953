"""Plans whose need is known because they were run: small ones, and the first points of studies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engines import plans

from flashcrowd.study import Study

STUDIES = Path(__file__).parents[2] / "studies"


def _small(*workloads: dict[str, Any], hosts: int = 4, loss: float = 0.0) -> str:
    plan = plans.plan(hosts, list(workloads), loss)
    plan["stop"]["horizon_ns"] = 100 * 10**9
    # What captures and logs take is tested where they are.
    del plan["measures"]["capture"], plan["measures"]["connections"]
    return json.dumps(plan)


def _point(name: str, index: int, **settings: Any) -> str:
    changed = {key.replace("__", "."): value for key, value in settings.items()}
    study = Study.load(STUDIES / f"{name}.toml", set=changed)
    return study.points()[index].plan().to_json()


CASES: dict[str, Callable[[], str]] = {
    "one transfer": lambda: _small(plans.transfer()),
    "without an end": lambda: _small(plans.transfer(None)),
    "limited": lambda: _small(plans.transfer() | {"rate_bps": 500_000}),
    "50 flows": lambda: _small(plans.transfer() | {"flows": 50}),
    "5 % lost": lambda: _small(plans.transfer(), loss=0.05),
    "pages": lambda: _small(plans.web()),
    "a download": lambda: _small(plans.download() | {"size_bytes": 10_000_000}),
    "a download of equal parts": lambda: _small(
        plans.download() | {"size_bytes": 10_000_000, "range_bytes": None}
    ),
    "a call": lambda: _small(plans.call()),
    "pings": lambda: _small(plans.ping()),
    "an origin": lambda: _small(plans.origin()),
    "3 leechers": lambda: _small(plans.swarm(3)),
    "39 leechers, 5 % lost": lambda: _small(plans.swarm(39), hosts=40, loss=0.05),
    "of each": lambda: _small(
        plans.swarm(3), plans.transfer(), plans.web(), plans.call(), plans.ping()
    ),
    "background-transfer": lambda: _point("background-transfer", 4),
    "capacity-steps": lambda: _point("capacity-steps", 0),
    "churn, at once": lambda: _point("churn", 0),
    "churn, never": lambda: _point("churn", 2),
    "client-ablation": lambda: _point("client-ablation", 0),
    "dumbbell": lambda: _point("dumbbell", 2),
    "heterogeneous-as": lambda: _point("heterogeneous-as", 1),
    "home-bystanders": lambda: _point("home-bystanders", 5),
    "upload-limit": lambda: _point("upload-limit", 2),
    "upload-limit, unlimited": lambda: _point("upload-limit", 6),
    "mobile-call": lambda: _point("mobile-call", 0),
    "latency, cut": lambda: _point("latency", 2, stop__horizon="60 s"),
    "latency, 1 s, cut": lambda: _point("latency", 3, stop__horizon="100 s"),
    "client-ablation, cut": lambda: _point("client-ablation", 0, stop__horizon="60 s"),
    "churn, cut": lambda: _point("churn", 0, stop__horizon="60 s"),
    "latency, 400 ms": lambda: _point("latency", 2),
    "lossy-bursts": lambda: _point("lossy-bursts", 7),
    "origin-crowd": lambda: _point(
        "origin-crowd", 3, network__groups__slow__hosts=12, network__groups__fast__hosts=12
    ),
    "swarm-transports, TCP": lambda: _point("swarm-transports", 0),
    "swarm-transports, uTP": lambda: _point("swarm-transports", 3),
}
