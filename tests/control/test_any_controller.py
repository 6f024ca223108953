"""Any controller beside any client, over a line that loses packets."""

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from flashcrowd import _core
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import Scenario, shipped
from flashcrowd.scenario.upload_control import CONTROLLERS

STEP_BPS = 8000


def scenario(control: dict[str, Any], client: str, loss: float, up: str) -> Scenario:
    """A seed at home with a controller, three leechers elsewhere, and a minute."""
    line = {"line": "ADSL 1/8", "loss": f"{loss:.2f} %"}
    seed = {"role": "seed", "group": "home", "profile": client, "upload_control": control}
    leechers = {"group": "others", "profile": client, "arrivals": {"spread": "0 s"}}
    groups = {"home": {"access": {**line, "up": up}}, "others": {"hosts": 3, "access": line}}
    swarm = {"kind": "swarm", "size": "100 MB", "populations": {"seed": seed, "all": leechers}}
    return Scenario.model_validate(
        {
            "title": "test",
            "network": {"groups": {**groups, "server": {}}},
            "workloads": {"swarm": swarm},
            "stop": {"horizon": "1 min"},
        }
    )


def run(plan_json: str, seed: int) -> dict[str, pa.Table]:
    tables = _core.simulate(_core.Plan(plan_json), seed, _core.RunHandle())
    return {name: pa.table(table) for name, table in dict(tables).items()}


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(list(CONTROLLERS)),
    client=st.sampled_from(sorted(shipped.profiles())),
    loss=st.floats(0, 20),
    up_kbps=st.integers(64, 4000),
    refresh=st.sampled_from(["0 s", "1 s", "2 s"]),
    window=st.sampled_from(["none", "1 s", "12 s"]),
    seed=st.integers(0, 2**32),
)
def test_limits_are_possible_ones_and_packets_come_from_somewhere(
    name: str, client: str, loss: float, up_kbps: int, refresh: str, window: str, seed: int
) -> None:
    interface = {"refresh": refresh, "window": window, "step": "1 kB"}
    control = {"name": name, "lateness": "50 ms", "interface": interface}
    plan = lower(scenario(control, client, loss, f"{up_kbps} kbit/s")).to_json()
    tables, again = run(plan, seed), run(plan, seed)
    assert all(table.equals(again[name]) for name, table in tables.items())
    rows = tables["control"].to_pylist()
    # The slow start of mainline 5 begins at 10 MB/s.
    limits = {row["limit_bps"] for row in rows} - {None}
    assert all(STEP_BPS <= limit <= 1e9 and limit % STEP_BPS == 0 for limit in limits)
    assert all(0 <= row[way] < 1e9 for row in rows for way in ("upload_bps", "download_bps"))
    (total,) = tables["run"].to_pylist()
    over = sum(total[f"packets_{end}"] for end in ("delivered", "lost", "dropped"))
    assert over <= total["packets_sent"] < over + 2000, "what is on its way is in queues"
