"""The process of one run on the loopback: `python -m flashcrowd.content_server.loopback`.

It reads an `Order`; makes the files and a content server on them, whose disk is the plan's, lets
the plan's clients come, and says `Progress`, and at last `Tables` or `Failed`. It ends when its
standard input ends, or whoever started it.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flashcrowd import _core
from flashcrowd.base.errors import why
from flashcrowd.base.messages import Asker, Failed, Order, Tables
from flashcrowd.base.rows import of_columns
from flashcrowd.content_server.crowd import Crowd, LinesPace
from flashcrowd.content_server.ledger import Ledger
from flashcrowd.content_server.processor import Cost, Processor
from flashcrowd.content_server.running import begin, raise_descriptors
from flashcrowd.content_server.trial_server import contents_of, lost_pace, settings, write
from flashcrowd.content_server.visit import visits_of
from flashcrowd.plan.parts import numbered
from flashcrowd.plan.types import OriginWorkload

MOST_LOST = 0.01
"""A crowd whose lines have lost more than this part of what they could carry is void."""
MOST_STOLEN = 0.05
"""So is one during which others had more than this part of the processors."""


def main() -> int:
    """Carry out one run."""
    with suppress(OSError):
        _core.die_with_parent()
    with suppress(OSError):
        # Where it may; the server's threads inherit it. Beside other work lines would be read late.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    engine = Asker(Order)
    asked = engine.asked()
    try:
        engine.say(run(_core.Plan(asked.plan), asked.seed, engine.progress))
        return 0
    except Exception as error:
        engine.say(Failed(why(error)))
        return 1


class Pace(LinesPace, Cost):
    """How well disk and lines were played, and what that cost."""


def run(plan: _core.Plan, seed: int, tell: Callable[[float], None]) -> Tables:
    """One run; `tell` hears now and then how far it is, 0 to 1.

    Raises:
        OSError: what the system refused.
    """
    index, origin = next(numbered(plan, OriginWorkload))
    visits = visits_of(plan, seed, index)
    raise_descriptors(2 * len(visits))
    contents = contents_of(origin, seed)
    with tempfile.TemporaryDirectory(prefix="flashcrowd-origin-") as folder:
        write(contents, Path(folder))
        # A small send buffer, so that TCP stops the server where the line would.
        sockets = {"send_buffer_bytes": origin["unsent_bytes"]}
        server = begin(settings(origin, Path(folder), sockets), ["127.0.0.1:0"])
        rules = _core.OriginRules(plan, seed)
        ledger = Ledger(server, index, rules)
        crowd = Crowd(server, visits, contents, ledger, rules, rules.place(index))
        try:
            return played(crowd, ledger, rules, plan.stop["horizon_ns"] / 1e9, tell)
        finally:
            server.stop()
            server.stop()


def played(
    crowd: Crowd,
    ledger: Ledger,
    rules: _core.OriginRules,
    horizon_s: float,
    tell: Callable[[float], None],
) -> Tables:
    """Let a crowd come and go.

    Args:
        crowd: who comes, to a server that has begun.
        ledger: what is written down of that server.
        rules: what the crowd does.
        horizon_s: when it ends at the latest.
        tell: called now and then with how far it is, 0 to 1.
    """
    gc.freeze()
    gc.disable()  # a collection would keep lines waiting
    processor = Processor()
    try:
        outcome, reason = crowd.play(horizon_s, tell)
        cost = processor.since()
    finally:
        gc.enable()
        gc.unfreeze()
    pace: Pace = {**crowd.pace(), **cost}
    lost = rules.undelivered(crowd.end_s, outcome)
    outcome, reason = _core.with_undelivered(outcome, reason, lost)
    wrong = list(violations(pace))
    if wrong and outcome != "failed":
        outcome, reason = "invalid", "; ".join(wrong)
    payload_bytes = rules.payload_bytes()
    row = _core.run_table(outcome, reason, crowd.end_s, payload_bytes=payload_bytes)
    return Tables({**of_columns([row]), **ledger.tables()}, pace)


def violations(pace: Pace) -> list[str]:
    """Why a run is no measurement of what the plan says; empty if it is one."""
    wrong = [it for it in (lost_pace(pace),) if it]
    if pace["lines_lost"] > MOST_LOST:
        wrong.append(f"lines were read too late for {pace['lines_lost']:.1%} of what they carry")
    if pace["stolen"] > MOST_STOLEN:
        wrong.append(f"others had {pace['stolen']:.1%} of the processors of this machine")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
