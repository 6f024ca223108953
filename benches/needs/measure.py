"""What runs take, each in a process of its own, kept in a file of the repository."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).with_name("measured.json")
LEAST_BYTES = 5e6
"""Smaller runs cannot be told from what allocators hold in advance: pages of 2 MiB or nothing."""
LEAST_S = 0.01
"""Of shorter runs processor time is that of the first touch of memory."""

SPAN_S = 1.0
"""Runs are made again for so long: the least of four of 10 ms was up to twice that of many."""


def take(plan: str, span_s: float = SPAN_S) -> dict[str, Any]:
    """The `packets`, `events`, `end_s`, `bytes` of a run, and the least `seconds` in `span_s`."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), str(span_s)]
    made = subprocess.run(command, input=plan, capture_output=True, text=True, check=True)
    return json.loads(made.stdout)


def measure(plans: Mapping[str, str], known: Mapping[str, dict[str, Any]]) -> None:
    """Runs each case that is not known, and keeps what all of them took."""
    found: dict[str, dict[str, Any]] = {}
    for name, plan in plans.items():
        found[name] = known[name] if name in known else take(plan)
        if name not in known:
            one = found[name]
            print(f"{name}: {one['packets']} packets, {one['seconds']:.3f} s", flush=True)
    rows = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    MEASURED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def measured() -> dict[str, dict[str, Any]]:
    """What each case took when it was last measured."""
    return json.loads(MEASURED.read_text())
