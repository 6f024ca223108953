"""Giving back what the user had: at the end of a run, and for a run that was killed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from flashcrowd.autolimit.memory import Memory
from flashcrowd.client_api.client import Client, Gone, Setting

ATTEMPTS = 2
"""After this number of requests without an answer the client is gone; the next run restores."""
SETTLE_S = 5.0
"""Seconds that a client may take to follow each order, earlier ones and this one."""
LONGEST_S = 30.0
"""Give up after 30 s, however slow the client is."""
PERIOD_S = 0.25
UNTOUCHED = "The client's limit was not touched."


class Unsure(Gone):
    """The client has what the user had, and may have a limit of ours later."""


def restore(
    client: Client,
    memory: Memory,
    *,
    stopped: Callable[[], bool] = lambda: False,
    stale: Sequence[int | None] = (),
    wait: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Set what the user had, unless it was changed by others since; one line for a person.

    Nothing is forgotten before the client was seen to have it, with no limit of ours on its way:
    until then the state file stays, and the next run restores.

    Args:
        client: the client.
        memory: what the user had.
        stopped: whether to give it up.
        stale: limits with which the client restarted, which neither the user nor we set.
        wait: sleeps for the given seconds.
        clock: seconds that only go forward.

    Raises:
        Gone: the client does not answer, or does not keep it.
        Unsure: a limit of ours that the client was given was never seen.
        Refused: the client refuses, or the state file is damaged.
    """
    if memory.had is None:
        return UNTOUCHED
    try:
        user = client.setting(memory.had)
    except Gone as gone:
        raise memory.damaged(f"it is damaged ({gone})") from None
    failures, written, began = 0, False, clock()
    until = began + SETTLE_S
    while True:
        if stopped() or clock() - began > LONGEST_S:
            raise Gone("given up")
        try:
            setting = client.read().setting
            memory.orders.saw(setting.limit)
            doubtful = memory.orders.doubtful()
            back, over = setting.kept == user.kept, clock() >= until
            strange = not back and setting.limit not in (user.limit, *memory.ours, *stale)
            if not written and not strange and (over if doubtful else not back):
                memory.orders.write(user.limit)
                client.restore(user.kept)
                memory.orders.answered()
                written, until = True, clock() + SETTLE_S
                continue
        except Gone:
            failures += 1
            if failures >= ATTEMPTS:
                raise
            wait(PERIOD_S)
            continue
        if not doubtful and (back or (strange and not written)):
            memory.forget()
            if back:
                return f"Restored: {told(setting)}."
            return f"The client has {told(setting)}, which is not of autolimit: it stays."
        if strange and not written:
            # Set by hand since: that is the user's.
            user = setting
            with contextlib.suppress(OSError):
                memory.keep(user.kept, memory.ours)
        elif over and not back:
            raise Gone(f"it does not keep what it is given, and has {told(setting)}")
        elif over:
            raise Unsure(
                f"it has {told(setting)}, and was not seen with {in_words(doubtful[-1])}, which "
                "autolimit gave it and which may still come"
            )
        wait(PERIOD_S)


def told(setting: Setting) -> str:
    """The user's limit in words."""
    return in_words(setting.limit)


def in_words(limit: int | None) -> str:
    """A limit in words."""
    if limit is None:
        return "no upload limit"
    return (
        "an upload limit of nothing" if limit == 0 else f"an upload limit of {limit / 1e3:g} kB/s"
    )
