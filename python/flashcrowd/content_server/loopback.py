"""The process of one run on the loopback: `python -m flashcrowd.content_server.loopback`.

It reads an order, a line of JSON with `plan` and `seed`; makes the files and a content server on
them, whose disk is the plan's, lets the plan's clients come, and writes what came of it as JSON, a
line at a time: `progress`, and at last `tables` and `pace`, or `failed`. It ends when its standard
input ends, or whoever started it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

from flashcrowd import _core
from flashcrowd.base.errors import why
from flashcrowd.base.rows import Rows
from flashcrowd.content_server import undelivered
from flashcrowd.content_server.crowd import Crowd, LinesPace
from flashcrowd.content_server.ledger import Ledger
from flashcrowd.content_server.processor import Cost, Processor
from flashcrowd.content_server.running import begin, raise_descriptors
from flashcrowd.content_server.trial_server import contents_of, lost_pace, settings, write
from flashcrowd.content_server.visit import visits_of
from flashcrowd.plan.parts import numbered, parse
from flashcrowd.plan.types import OriginWorkload, Stop

MOST_LOST = 0.01
"""A crowd whose lines have lost more than this part of what they could carry is void."""
MOST_STOLEN = 0.05
"""So is one during which others had more than this part of the processors."""
_TELL_S = 0.2


def main() -> int:
    """Carry out one run."""
    with suppress(OSError):
        _core.die_with_parent()
    with suppress(OSError):
        # Where it may; the server's threads inherit it. Beside other work lines would be read late.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    order = sys.stdin.buffer.readline()
    if not order:
        return 1
    try:
        asked = json.loads(order)
        _say(run(asked["plan"], asked["seed"]))
        return 0
    except Exception as error:
        _say({"failed": why(error)})
        return 1


class Pace(LinesPace, Cost):
    """How well disk and lines were played, and what that cost."""


class Answer(TypedDict):
    """What one run gave."""

    tables: Rows
    pace: Pace


def run(plan_json: str, seed: int) -> Answer:
    """One run: `tables`, lists of rows by name, and its `pace`.

    Raises:
        OSError: what the system refused.
    """
    plan = parse(plan_json)
    index, origin = next(numbered(plan, OriginWorkload))
    visits = visits_of(plan, plan_json, seed, index)
    raise_descriptors(2 * len(visits))
    contents = contents_of(origin, seed)
    with tempfile.TemporaryDirectory(prefix="flashcrowd-origin-") as folder:
        write(contents, Path(folder))
        # A small send buffer, so that TCP stops the server where the line would.
        sockets = {"send_buffer_bytes": origin["unsent_bytes"]}
        server = begin(settings(origin, Path(folder), sockets), ["127.0.0.1:0"])
        ledger = Ledger(server, plan, index)
        crowd = Crowd(server, visits, contents, ledger)
        said = time.monotonic()

        def tell(progress: float) -> None:
            nonlocal said
            if time.monotonic() - said < _TELL_S:
                return
            said = time.monotonic()
            _say({"progress": progress})
            if select.select([sys.stdin], [], [], 0)[0] and not sys.stdin.buffer.read(1):
                os._exit(1)  # whoever asked for the run is gone

        try:
            return played(crowd, ledger, plan["stop"], tell)
        finally:
            server.stop()
            server.stop()


def played(
    crowd: Crowd,
    ledger: Ledger,
    stop: Stop,
    tell: Callable[[float], None],
) -> Answer:
    """Let a crowd come and go: `tables`, lists of rows by name, and its `pace`.

    Args:
        crowd: who comes, to a server that has begun.
        ledger: what is written down of that server.
        stop: when the plan ends at the latest.
        tell: called now and then with how far it is, 0 to 1.
    """
    gc.freeze()
    gc.disable()  # a collection would keep lines waiting
    processor = Processor()
    try:
        outcome, reason = crowd.play(
            ledger.name, stop["horizon_ns"] / 1e9, stop["stall_ns"] / 1e9, tell
        )
        cost = processor.since()
    finally:
        gc.enable()
        gc.unfreeze()
    pace: Pace = {**crowd.pace(), **cost}
    lost = undelivered.of_clients(ledger.name, crowd.visitors, crowd.end_s, outcome)
    outcome, reason = _core.with_undelivered(outcome, reason, list(lost))
    if wrong := list(violations(pace)):
        outcome, reason = "invalid", "; ".join(wrong)
    if crowd.failures:
        outcome, reason = "failed", "; ".join(crowd.failures[:5])
    nothing = dict.fromkeys(
        ("events", "packets_sent", "packets_delivered", "packets_lost", "packets_dropped"), 0
    )
    tables = {
        "run": [
            {
                "outcome": outcome,
                "reason": reason,
                "end_s": crowd.end_s,
                **nothing,
                "payload_bytes_delivered": sum(it.answer.received for it in crowd.visitors),
                "retransmitted_packets": 0,
            }
        ],
        **ledger.tables(crowd.visitors),
    }
    return {"tables": tables, "pace": pace}


def violations(pace: Pace) -> list[str]:
    """Why a run is no measurement of what the plan says; empty if it is one."""
    wrong = [it for it in (lost_pace(pace),) if it]
    if pace["lines_lost"] > MOST_LOST:
        wrong.append(f"lines were read too late for {pace['lines_lost']:.1%} of what they carry")
    if pace["stolen"] > MOST_STOLEN:
        wrong.append(f"others had {pace['stolen']:.1%} of the processors of this machine")
    return wrong


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
