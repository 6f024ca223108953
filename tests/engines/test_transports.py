"""Swarms whose blocks go by a transport of their own, from the study file to the tables."""

from pathlib import Path

import pyarrow as pa
import pytest

from flashcrowd import _core
from flashcrowd.study import Study

STUDY = Study.load(Path(__file__).parents[2] / "studies" / "swarm-transports.toml")


@pytest.mark.parametrize("point", list(STUDY.points()), ids=lambda point: str(point.index))
def test_every_mixture_ends_and_ledbat_keeps_its_queues_short(point) -> None:
    plan = point.plan()
    tables = _core.simulate(plan.parsed, 1)
    tables = {name: pa.table(table).to_pylist() for name, table in tables.items()}
    assert [row["outcome"] for row in tables["run"]] == ["completed"]
    assert sum(row["completed_s"] is not None for row in tables["downloads"]) == 16
    (workload,) = plan.data["workloads"]
    for population in workload["populations"][1:]:
        found = [
            r for r in tables["queues"] if (r["owner"], r["way"]) == (population["name"], "up")
        ]
        online = sum(row["online"] for row in found)
        mean = sum(row["online"] * row["packets"] for row in found) / online
        stack = plan.data["stacks"][population["data"].get("tcp", 0)]["name"]
        if "utp" in population["data"] or stack == "ns2-ledbat":
            # 25 ms and 100 ms are two and nine packets; acknowledgements and messages come on top.
            assert mean < 15, (population["name"], mean)
        else:
            assert mean > 20, (population["name"], mean)
