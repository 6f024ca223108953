"""The states of autolimit: each once, with its meaning.

Those of the two controllers in use are in the core (`crates/upload/src/autolimit/states.rs`).
"""

from __future__ import annotations

from typing import NamedTuple

from flashcrowd import _core


class State(NamedTuple):
    """The action, its reason, and the meaning for a reader of the log."""

    phase: str
    reason: str
    meaning: str


STARTING = State("starting", "the first probes are on their way", "No probe was answered so far.")
EARLY = State(
    "learning", "the first answers are coming in", "Too few probes were answered for a decision."
)
BLIND = State(
    "waiting",
    "for the first answer to a probe; your limit stays",
    "All probes so far were lost. Nothing is changed without an answer.",
)
IDLE = State(
    "waiting",
    "for something to upload; your limit stays",
    "The client uploads less than 2 kB/s, so there is nothing to limit.",
)
GONE = State("waiting", "the client is gone", "It has not answered for ten seconds.")
ALTERNATIVE = State(
    "suspended", "alternative speeds are on", "Those limits are yours. autolimit leaves them alone."
)
NOTHING = State(
    "suspended", "your client is set to upload nothing", "Your limit is 0. There is nothing to do."
)
DISPUTED = State(
    "suspended",
    "something else sets the limit",
    "It changed five times in a minute. autolimit only watches.",
)
UNOBEYED = State(
    "suspended",
    "the client does not keep the limits that it is given",
    "It did not follow three limits in a row. autolimit only watches.",
)
MUTE = State(
    "suspended",
    "no probe is answered, and nothing is known of the line",
    "No probe was answered for a minute. Your own limit is set until one is.",
)

ALL = (
    *(STARTING, EARLY, BLIND, IDLE),
    *(State(*it) for it in _core.upload_states()),
    *(GONE, ALTERNATIVE, NOTHING, DISPUTED, UNOBEYED, MUTE),
)
"""All of them, in the order of a run."""


def called(text: str) -> list[State]:
    """Those of a phase, or those whose reason begins with these words."""
    words = text.casefold().strip()
    reasons = [it for it in ALL if " " in words and it.reason.casefold().startswith(words)]
    return [it for it in ALL if it.phase == words] or reasons
