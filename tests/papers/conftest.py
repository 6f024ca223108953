"""A small study whose numbers are known, in the shape that claims read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from flashcrowd.papers.claim import Claim, Judge, judge
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Finding


@dataclass
class Tables:
    tables: dict[str, pa.Table]
    study: dict[str, Any] = field(default_factory=lambda: {"title": "made up"})
    provenance: dict[str, Any] = field(default_factory=dict)


def made_of(rows: Mapping[str, list[Any]], *study: dict[str, Any]) -> Tables:
    """Results with these rows, by table."""
    return Tables({name: pa.Table.from_pylist(it) for name, it in rows.items()}, *study)


def run_row(run: int, point: int, repeat: int, **settings: Any) -> dict[str, Any]:
    """A row of the table `runs`: one that is complete after two minutes, if not said otherwise."""
    ended = {"outcome": "completed", "reason": "", "end_s": 120.0}
    return {"run": run, "point": point, "repeat": repeat, "seed": repeat, **ended, **settings}


def judged(
    by: str, given: Mapping[str, Any], study: StudyEvidence, judges: Mapping[str, Judge]
) -> Finding:
    """What a judge finds in a study called `made`."""
    claim = Claim("c", "s", "says", by, ("made",), {"study": "made", **given})
    return judge([claim], Evidence({"made": study}), judges)[0].finding


#: Mean download time in seconds for each upload limit and round-trip time.
Times = dict[tuple[str, str], float]


def evidence(times: Times, *, runs: int = 6, noise: float = 0.2, stalled: int = 0) -> Evidence:
    """A study ``latency`` with one leecher a run, whose time is that of `times` and little more."""
    rows: list[dict[str, Any]] = []
    downloads: list[dict[str, Any]] = []
    for point, ((limit, rtt), time) in enumerate(times.items()):
        for repeat in range(runs):
            run, bad = len(rows), repeat < stalled
            ended = {"outcome": "stalled", "reason": "no seed left"} if bad else {}
            limits = {"swarm.seed.upload": limit, "swarm.leechers.upload": limit}
            settings = {**limits, "network.rtt": rtt, "end_s": time, **ended}
            rows.append(run_row(run, point, repeat, **settings))
            done = time * (1 + noise * (repeat % 3 - 1) / 100 * (1 + point % 2))
            downloads.append(
                {
                    "run": run, "swarm": "s", "population": "leechers", "host": "l",
                    "arrived_s": 0.0, "completed_s": done, "left_s": None, "duration_s": done,
                    "downloaded_bytes": 1, "pieces": 4,
                }
            )  # fmt: skip
    made = made_of({"runs": rows, "downloads": downloads})
    return Evidence({"latency": StudyEvidence("latency", made)})


@pytest.fixture(name="evidence")
def _evidence() -> Callable[..., Evidence]:
    return evidence
