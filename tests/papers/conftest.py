"""A small study whose numbers are known, in the shape that claims read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from flashcrowd.papers.evidence import Evidence, StudyEvidence


@dataclass
class Tables:
    tables: dict[str, pa.Table]
    study: dict[str, Any] = field(default_factory=lambda: {"title": "made up"})
    provenance: dict[str, Any] = field(default_factory=dict)


#: Mean download time in seconds for each upload limit and round-trip time.
Times = dict[tuple[str, str], float]


def evidence(times: Times, *, runs: int = 6, noise: float = 0.2, stalled: int = 0) -> Evidence:
    """A study ``latency`` with one leecher a run, whose time is that of `times` and little more."""
    rows: list[dict[str, Any]] = []
    downloads: list[dict[str, Any]] = []
    for point, ((limit, rtt), time) in enumerate(times.items()):
        for repeat in range(runs):
            run, bad = len(rows), repeat < stalled
            rows.append(
                {
                    "run": run, "point": point, "repeat": repeat, "seed": repeat,
                    "swarm.seed.upload": limit, "swarm.leechers.upload": limit,
                    "network.rtt": rtt, "outcome": "stalled" if bad else "completed",
                    "reason": "no seed left" if bad else "", "end_s": time,
                }
            )  # fmt: skip
            done = time * (1 + noise * (repeat % 3 - 1) / 100 * (1 + point % 2))
            downloads.append(
                {
                    "run": run, "swarm": "s", "population": "leechers", "host": "l",
                    "arrived_s": 0.0, "completed_s": done, "left_s": None, "duration_s": done,
                    "downloaded_bytes": 1, "pieces": 4,
                }
            )  # fmt: skip
    made = Tables(
        {"runs": pa.Table.from_pylist(rows), "downloads": pa.Table.from_pylist(downloads)}
    )
    return Evidence({"latency": StudyEvidence("latency", made)})


@pytest.fixture(name="evidence")
def _evidence() -> Callable[..., Evidence]:
    return evidence
