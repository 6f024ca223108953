"""Giving back what the user had: at the end of a run, and for a run that was killed."""

from __future__ import annotations

from flashcrowd.autolimit.client import Client, Gone, Reading
from flashcrowd.autolimit.memory import Memory

ATTEMPTS = 2
"""A client that does not answer so often is gone; the next run restores what it had."""


def restore(client: Client, memory: Memory) -> str:
    """Set what the user had, unless nothing of ours stands there any more; one line for a person.

    Raises:
        Gone: the client does not answer, or does not keep it; the state file stays.
        Refused: the client refuses; the state file stays.
    """
    if memory.had is None:
        return "The client's limit was not touched."
    why = Gone("it does not keep what it is given")
    touched = False
    for _ in range(ATTEMPTS):
        try:
            reading = client.read()
            if not touched and reading.setting.limit not in memory.ours:
                memory.forget()
                return f"The client has {told(reading)}, which is not of autolimit: it stays."
            if reading.setting.kept == memory.had:
                memory.forget()
                return f"Restored: {told(reading)}."
            touched = True
            client.restore(memory.had)
            reading = client.read()
            if reading.setting.kept == memory.had:
                memory.forget()
                return f"Restored: {told(reading)}."
        except Gone as gone:
            why = gone
    raise why


def told(reading: Reading) -> str:
    """The user's limit in words."""
    limit = reading.setting.limit
    if limit is None:
        return "no upload limit"
    return (
        "an upload limit of nothing" if limit == 0 else f"an upload limit of {limit / 1e3:g} kB/s"
    )
