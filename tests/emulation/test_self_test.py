"""The self-test has time for what a slow line holds."""

from __future__ import annotations

import json

import pytest

from flashcrowd import _core
from flashcrowd.emulation import self_test
from flashcrowd.emulation.tracker_host import with_tracker_host
from flashcrowd.traps import trap


# 200 packets of 1400 B are 2.2 s at 1 Mbit/s. FQ-CoDel reads and marks what it takes for a header,
# and lets no queue of one flow stand.
@pytest.mark.parametrize(("name", "longest_s"), [("usual", 1.5), ("fair-modem", 0.0)])
def test_each_probe_is_over_before_the_next_begins(name: str, longest_s: float) -> None:
    (point,) = trap.load(name).study(["autolimit"], 1, []).points()
    probes = self_test.probe_plan(with_tracker_host(json.loads(point.plan().to_json())))
    floods = [it for it in probes["workloads"] if it["name"].startswith("flood")]
    assert len(floods) > 2
    begins = [it["start_ns"] for it in probes["workloads"] if it["name"].startswith("idle")]
    longest = []
    for flood in floods:
        sent = range(flood["start_ns"], flood["stop_ns"], flood["interval_ns"])
        request = flood["from"], flood["to"], flood["size_bytes"]
        times = _core.echo_times(json.dumps(probes), 1, [(at, *request) for at in sent])
        over = max(at + time for at, time in zip(sent, times, strict=True) if time is not None)
        later = [at for at in begins if at > flood["start_ns"]]
        assert over < min([*later, probes["stop"]["horizon_ns"]])
        longest.append(over - flood["stop_ns"])
    assert max(longest) > 1e9 * longest_s
