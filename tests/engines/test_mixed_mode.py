"""A client whose neighbours send over TCP and over uTP, and what it leaves to each."""

import json
import tomllib
from pathlib import Path

import pyarrow as pa

from flashcrowd import _core
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario

STUDY = Path(__file__).parents[2] / "studies" / "mixed-mode.toml"


def share_of_tcp(profile: str) -> float:
    """Of what the home of the study downloads, the share that comes over TCP, by one of eight."""
    study = tomllib.loads(STUDY.read_text())
    study["workloads"]["swarm"]["populations"]["home"]["profile"] = profile
    wanted = {key: study[key] for key in ("title", "network", "profiles", "workloads", "stop")}
    plan = lower(Scenario.model_validate(wanted))
    tables = _core.simulate(_core.Plan(json.dumps(dict(plan.data))), 1)
    assert pa.table(tables["run"])["outcome"].to_pylist() == ["completed"]
    populations = pa.table(tables["populations"]).to_pylist()
    sent = {row["population"]: row["uploaded_bytes"] for row in populations}
    return sent["tcp"] / (sent["tcp"] + sent["utp"])


def test_tcp_leaves_utp_half_of_a_full_line_where_it_has_one_of_eight_connections():
    assert share_of_tcp("tcp-first") > 0.8
    assert 0.3 < share_of_tcp("libtorrent") < 0.6
