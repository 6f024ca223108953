"""The process of one run: `python -m flashcrowd.emulation.lab`.

It reads an order (a line of JSON with `plan`, `seed`, and whether to `probe` the network only),
makes the network in namespaces of its own, lets the run happen, and writes what came of it as JSON,
a line at a time: `progress`, and at last `tables` or `failed`. It ends when its standard input
ends, or whoever started it.

It lives in a namespace of processes: when it ends, however it ends, the kernel ends every program
that was started in it, and takes back interfaces and namespaces, which nothing else holds.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flashcrowd import _core
from flashcrowd.emulation import self_test
from flashcrowd.emulation.addresses import address
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.stack import settings
from flashcrowd.emulation.stage import Stage
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.verdict import violations

LEAD_S = 0.1
"""From the start of the network to the begin of the run: sockets are made meanwhile."""
_TELL_S = 0.2


def main() -> int:
    """Carry out one run."""
    with suppress(OSError):
        _core.die_with_parent()
    order = sys.stdin.buffer.readline()
    if not order:
        return 1
    try:
        isolate()
        child = os.fork()
    except OSError as error:
        _say({"failed": f"no namespaces: {error.strerror or error}; see `flashcrowd doctor`"})
        return 1
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    os._exit(_first(order))


def isolate() -> None:
    """Get the right to make namespaces, and have the next child be the first of its own processes.

    Raises:
        OSError: this system does not allow it.
    """
    try:
        _core.set_apart()
    except PermissionError:
        _core.become_root_of_own()
        _core.die_with_parent()  # new rights have undone it
        _core.set_apart()


def _first(order: bytes) -> int:
    """The first process of the namespace: all others end with it."""
    try:
        _core.die_with_parent()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        asked = json.loads(order)
        work = probe if asked["probe"] else run
        _say({"tables": work(asked["plan"], asked["seed"])})
        return 0
    except Exception as error:
        known = isinstance(error, OSError)
        words = str(error) if known else "".join(traceback.format_exception(error))
        _say({"failed": words})
        return 1
    finally:
        sys.stdout.flush()


def run(plan_json: str, seed: int) -> dict[str, Any]:
    """One run's tables, as lists of rows by name.

    Raises:
        OSError: what the kernel refused.
    """
    stage, outcome, reason, end_s, report = perform(plan_json, seed)
    tables = stage.tables(end_s)
    wrong = violations(report, least_rtt_s(tables))
    if wrong:
        outcome, reason = "invalid", "; ".join(wrong)
    totals = report["totals"]
    flows = [flow for flows in stage.flows.values() for flow in flows]
    tables["run"] = [
        {
            "outcome": outcome,
            "reason": reason,
            "end_s": end_s,
            "events": totals["sent"] + totals["delivered"],
            "packets_sent": totals["sent"],
            "packets_delivered": totals["delivered"],
            "packets_lost": totals["lost"],
            "packets_dropped": totals["dropped"],
            "payload_bytes_delivered": sum(flow.received for flow in flows),
            "retransmitted_packets": sum(flow.counts().retransmits for flow in flows),
        }
    ]
    tables["series"] += report["series"]
    tables["series"].sort(key=lambda row: row["t_s"])
    tables["links"], tables["queues"] = report["links"], report["queues"]
    tables["emulation"] = punctuality(report)
    return tables


def probe(plan_json: str, seed: int) -> dict[str, Any]:
    """What the self-test finds on a plan's network, as the table `probes`.

    Raises:
        OSError: what the kernel refused.
    """
    probes = json.dumps(self_test.probe_plan(json.loads(plan_json)))
    stage, *_ = perform(probes, seed)
    found = {index: echo.echoes for index, echo in stage.echoes.items()}
    return {"probes": self_test.judged(probes, seed, found)}


def perform(plan_json: str, seed: int) -> tuple[Stage, str, str, float, dict[str, Any]]:
    """Let a run happen: its programs, how it ended and why, when, and the network's report.

    Raises:
        OSError: what the kernel refused.
    """
    plan = json.loads(plan_json)
    addresses = [address(host) for host in range(len(plan["network"]["hosts"]))]
    lab = _core.Lab(plan_json, seed, settings(plan, addresses))
    hosts = Hosts(plan, addresses, lab.namespaces())
    stage = Stage(plan, _core.transfer_starts(plan_json, seed), hosts)
    gc.freeze()
    gc.disable()  # a collection would keep programs waiting
    table = Timetable(lab.start(LEAD_S))
    stage.open(table)
    said = 0.0

    def tell(progress: float) -> None:
        nonlocal said
        if table.now() - said >= _TELL_S:
            said = table.now()
            _say({"progress": progress})
            if select.select([sys.stdin], [], [], 0)[0] and not sys.stdin.buffer.read(1):
                os._exit(1)  # whoever asked for the run is gone

    outcome, reason = stage.play(table, tell, lab.has_ended)
    end_s = table.now()
    return stage, outcome, reason, end_s, json.loads(lab.stop())


def punctuality(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the table `emulation`."""
    rows = [dict(second, unmodelled_drops=0) for second in report["seconds"]]
    if rows:
        rows[-1]["unmodelled_drops"] = report["interface_drops"] + report["refused_writes"]
    return rows


def least_rtt_s(tables: Mapping[str, Any]) -> float:
    """The least round-trip time that was measured; 0 if none was."""
    pings = [row["rtt_s"] for row in tables["pings"] if row["rtt_s"] is not None]
    flows = [row["min_rtt_s"] for row in tables["transfers"] if row["min_rtt_s"] is not None]
    return min([*pings, *flows], default=0.0)


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
