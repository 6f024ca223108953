"""The process of one run: `python -m flashcrowd.emulation.lab`.

It reads a `LabOrder`, or for one node's part of a run a `ShareOrder`, whose folder may be an
argument. It makes the network in namespaces of its own, carries the run out, and reports
`Progress`, or of a share its `Standing`, and at last `Tables` or `Failed`. It ends when its
standard input or its parent ends.

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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base import signals
from flashcrowd.base.errors import why
from flashcrowd.base.messages import Asker, Failed, Tables
from flashcrowd.base.rows import Columns, Row, Rows, of_columns
from flashcrowd.emulation import self_test, taps
from flashcrowd.emulation.addresses import address
from flashcrowd.emulation.app import merge
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.joined import ARRIVALS, LABS
from flashcrowd.emulation.messages import Begin, LabOrder, Nodes, Ready, Report, ShareOrder, Tuned
from flashcrowd.emulation.node_assignment import Conductor, NodeAssignment
from flashcrowd.emulation.stack import settings
from flashcrowd.emulation.stage import Stage
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.tracker_host import with_tracker_host
from flashcrowd.emulation.verdict import violations

LEAD_S = 0.1
"""From the start of the network to the begin of the run: sockets are made meanwhile."""
MEET_S = 300.0
"""Seconds that other nodes have to prepare their clients."""
TUNE_S = 0.5
"""Seconds that clocks are compared before a run begins on several nodes."""


def main() -> int:
    """Carry out one run."""
    with suppress(OSError):
        _core.die_with_parent()
    engine = Asker(LabOrder, ShareOrder)
    asked = engine.asked()
    try:
        share = NodeAssignment.of(asked) if isinstance(asked, ShareOrder) else None
    except OSError as error:
        address = asked.address if isinstance(asked, ShareOrder) else ""
        engine.say(Failed(f"no socket at {address}: {error.strerror or error}"))
        return 1
    try:
        isolate()
        lab = os.pidfd_open(os.getpid())
        child = os.fork()
    except OSError as error:
        words = f"no namespaces: {error.strerror or error}; see `flashcrowd doctor`"
        engine.say(Failed(words))
        return 1
    if child:
        _, status = os.waitpid(child, 0)
        return signals.end_by(os.waitstatus_to_exitcode(status))
    os._exit(_first(lab, engine, asked, share))


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


def _first(lab: int, engine: Asker, asked: LabOrder, share: NodeAssignment | None) -> int:
    """The first process of the namespace: all others end with it, and it with the lab."""
    try:
        _core.die_with_parent()
        if select.select([lab], [], [], 0.0)[0]:
            return 1  # the lab has ended before that
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        plan = with_tracker_host(Plan(asked.plan))
        work = probe if asked.probe else run
        folder = Path(asked.folder or sys.argv[1])
        engine.say(Tables(work(plan, asked, folder, share)))
        return 0
    except Exception as error:
        engine.say(Failed(why(error)))
        return 1


def run(plan: Plan, asked: LabOrder, folder: Path, share: NodeAssignment | None) -> Rows:
    """One run's tables, as lists of rows by name; of a share, what is known of it here.

    Beside tables there are rows of `LABS`, and of `PACES` if there are content servers.

    Raises:
        OSError: what the kernel refused.
    """
    played = perform(plan, asked, folder, share)
    stage, report, outcome, reason = played.stage, played.report, played.outcome, played.reason
    tables = stage.tables(played.end_s)
    if outcome != "failed":
        lines = list(stage.undelivered(played.end_s, outcome))
        outcome, reason = _core.with_undelivered(outcome, reason, lines)
    wrong = [*late(plan, report, tables), *stage.violations()]
    if wrong and outcome != "failed":
        outcome, reason = "invalid", "; ".join(wrong)
    totals = report["totals"]
    row = _core.run_table(
        outcome,
        reason,
        played.end_s,
        packets=(totals["sent"], totals["delivered"], totals["lost"], totals["dropped"]),
        payload_bytes=stage.payload_bytes,
        retransmitted_packets=stage.retransmits,
    )
    merge(tables, of_columns([*played.network, row]))
    tables["series"].sort(key=lambda row: row["t_s"])
    tables["emulation"] = punctuality(report)
    tables[LABS] = [{name: report[name] for name in ("attachment", "real_time", "steered")}]
    if share:
        tables[ARRIVALS] = stage.arrivals()
    return tables


def probe(plan: Plan, asked: LabOrder, folder: Path, share: NodeAssignment | None) -> Rows:
    """The results of the self-test on a plan's network, as the table `probes`.

    Rows of `late` say where it was not punctual, and how long it stalled.

    Raises:
        OSError: what the kernel refused.
    """
    nodes = json.loads(share.division)["hosts"] if share else None
    probes = self_test.probe_plan(plan, nodes)
    played = perform(probes, asked, folder, share)
    found = played.stage.echoes()
    # One node reports for the whole network.
    more = self_test.left_out(plan, nodes) if share is None or share.node == 0 else []
    missed = late(plan, played.report, played.stage.tables(played.end_s))
    missed += self_test.stalls(played.report["seconds"])
    return {
        "probes": self_test.judged(probes, asked.seed, found) + more,
        "late": [{"reason": reason} for reason in missed],
    }


@dataclass(frozen=True)
class Played:
    """A run that is over.

    Attributes:
        stage: its programs.
        outcome: how it ended, as in the table `run`.
        reason: why.
        end_s: when.
        report: what the network did.
        network: the tables about that.
    """

    stage: Stage
    outcome: str
    reason: str
    end_s: float
    report: Report
    network: Columns


def perform(plan: Plan, asked: LabOrder, folder: Path, share: NodeAssignment | None) -> Played:
    """Let a run happen.

    Raises:
        OSError: what the kernel refused.
    """
    addresses = [address(host) for host in range(len(plan.network["hosts"]))]
    part = (share.division, share.node) if share else None
    hosts_json = settings(plan, addresses)
    lab = _core.Lab(plan, asked.seed, hosts_json, asked.attachment, part, asked.processor)
    hosts = Hosts(plan, addresses, lab.namespaces(), share.hosts if share else None)
    conductor = Conductor()
    stage = Stage(plan, asked.seed, hosts, folder)
    try:
        stage.prepare()
        gc.freeze()
        gc.disable()  # a collection would keep programs waiting
        begin_ns = _met(lab, share, conductor) if share else lab.start(LEAD_S)
        table = Timetable(begin_ns)
        stage.open(table)
        if share:
            outcome, reason = stage.play_share(table, conductor, lab.has_ended)
        else:
            outcome, reason = stage.play(table, conductor.progress, lab.has_ended)
        end_s = table.now()
        # Messages of programs as they close are no part of the run: nothing carries them any more.
        stage.cut_off(end_s)
        report_json, network, captures, packets = lab.stop()
        report = json.loads(report_json)
        taps.keep(folder, captures, packets, stage.ports())
        stage.finish()
        if stage.failure:
            outcome, reason = "failed", stage.failure
        return Played(stage, outcome, reason, end_s, report, network)
    finally:
        stage.close()


def _met(lab: _core.Lab, share: NodeAssignment, conductor: Conductor) -> int:
    """Find the other nodes, agree with them on the time, and start; when the run begins.

    Raises:
        OSError: a node did not answer.
    """
    port = share.socket.getsockname()[1]
    nodes = conductor.ask(Ready(port), Nodes, MEET_S)
    lab.join(share.socket.fileno(), share.run, nodes.addresses)
    begin = conductor.ask(Tuned(lab.tune(TUNE_S)), Begin, MEET_S)
    lab.start_at(begin.at_ns)
    return begin.at_ns


def punctuality(report: Report) -> list[Row]:
    """The rows of the table `emulation`."""
    rows = [dict(second, unmodelled_drops=0) for second in report["seconds"]]
    if rows:
        carrier = report["carrier"] or {"lost": 0, "refused": 0}
        rows[-1]["unmodelled_drops"] = (
            report["interface_drops"]
            + report["refused_writes"]
            + carrier["lost"]
            + carrier["refused"]
        )
    return rows


def late(plan: Plan, report: Report, tables: Rows) -> list[str]:
    """Where a run was not punctual, in words."""
    return violations(report, least_rtt_s(plan, tables), self_test.packet_s(plan))


def least_rtt_s(plan: Plan, tables: Rows) -> float:
    """The least round-trip time that was measured, or that a crowd's paths have; 0 if unknown."""
    pings = [row["rtt_s"] for row in tables["pings"] if row["rtt_s"] is not None]
    flows = [row["min_rtt_s"] for row in tables["transfers"] if row["min_rtt_s"] is not None]
    return min([*pings, *flows, *self_test.crowd_rtts_s(plan)], default=0.0)


if __name__ == "__main__":
    sys.exit(main())
