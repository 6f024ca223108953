"""What a content server says of itself, as the structs of the same names in `crates/server`."""

from __future__ import annotations

import json
from typing import TypedDict

from flashcrowd import _core


class PaceReport(TypedDict):
    """How a disk for trials has kept its pace."""

    busy_s: float
    reads: int
    positioned_reads: int
    cost: float
    lateness_max_s: float
    lateness_p99_s: float
    lost_s: float
    void: bool


class Snapshot(TypedDict):
    """What a server does now, and has done so far."""

    connections: int
    clients: int
    files: int
    answers: int
    turned_away: int
    sent_bytes: int
    served_bytes: int
    blocks: int
    hits: int
    read_bytes: int
    reads: int
    reads_ahead: int
    evictions: int
    residence_s: float
    waiting: int
    queued_reads: int
    disk_errors: int
    memory_bytes: int
    log_lines_lost: int
    trial_disk: PaceReport | None


def snapshot(server: _core.ContentServer) -> Snapshot:
    """What a server does now."""
    return parsed(server.snapshot())


def parsed(said: str) -> Snapshot:
    """What a server has said (JSON)."""
    return json.loads(said)


def pace(found: Snapshot) -> PaceReport:
    """How the disk of a server that has one for trials has kept its pace."""
    assert found["trial_disk"] is not None
    return found["trial_disk"]
