"""Words of plans: made from the enums of `crates/plan` by `make plan-types`."""

from __future__ import annotations

from typing import Literal, TypeAlias

Sampled: TypeAlias = Literal[
    "queue-packets",
    "queue-delay",
    "link-rate",
    "goodput",
    "window",
    "rtt",
    "own-delay",
    "swarm-rate",
    "online",
    "completed",
    "upload-limit",
    "origin-rate",
    "disk-rate",
    "disk-queue",
    "disk-waiting",
    "origin-clients",
]

Windowed: TypeAlias = Literal["links", "transfers", "pings", "pages", "calls", "origins"]

JitterShape: TypeAlias = Literal["uniform", "normal"]

Side: TypeAlias = Literal["sender", "receiver"]

Role: TypeAlias = Literal["seed", "leecher"]
