"""Losses and their repairs in the logs of senders (``connection_events``), for papers on TCP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report import source

#: States of congestion control in which losses are repaired: after duplicates, after a timeout.
DUPLICATES, TIMEOUT = "recovery", "loss"
_STATE = "congestion_state_updated"


@dataclass(frozen=True)
class Log:
    """What a sender logged, event by event; numbers that an event lacks are NaN.

    Attributes:
        at: when, in seconds.
        state: the new state of congestion control, or empty where it stays the same.
        window: congestion window in bytes.
        round_trip: smoothed round-trip time in seconds.
    """

    at: np.ndarray
    state: np.ndarray
    window: np.ndarray
    round_trip: np.ndarray


@dataclass(frozen=True)
class Repair:
    """What followed a loss.

    Attributes:
        state: how its repair began.
        before: the window before it, in bytes.
        least: the least window that was logged meanwhile; NaN if none was.
        took: seconds until the window was what it was before, or the next repair began.
        regained: whether the window was what it was before.
    """

    state: str
    before: float
    least: float
    took: float
    regained: bool


def logs(study: StudyEvidence) -> list[tuple[int, Log]]:
    """The log of each sender, with the number of its run."""
    return study.once("logs", lambda: list(_logs(study)))


def _logs(study: StudyEvidence) -> Iterator[tuple[int, Log]]:
    rows = study.rows("connection_events")
    runs, connections = (source.integers(rows, name) for name in ("run", "connection"))
    event, new = (source.strings(rows, name) for name in ("event", "new"))
    state = np.where(event == _STATE, new, "")
    numbers = [source.numbers(rows, it) for it in ("t_s", "congestion_window", "smoothed_rtt_s")]
    for run, members in source.by_run(runs):
        for _, places in source.by_run(connections[members]):
            of = members[places]
            yield run, Log(numbers[0][of], state[of], numbers[1][of], numbers[2][of])


def repairs(log: Log) -> list[Repair]:
    """The repairs of a sender, in order, without one that the log ends in."""
    found: list[Repair] = []
    state, window, begun, least = "", np.nan, ("", 0.0, np.nan), np.nan
    for at, new, seen in zip(log.at, log.state, log.window, strict=True):
        if new in (DUPLICATES, TIMEOUT):
            if begun[0]:
                found.append(Repair(begun[0], begun[2], least, at - begun[1], regained=False))
            begun, least = (new, at, window), np.nan
        state = new or state
        if np.isnan(seen):
            continue
        window = seen
        if not begun[0]:
            continue
        least = np.fmin(least, window)
        if state not in (DUPLICATES, TIMEOUT) and window >= begun[2]:
            found.append(Repair(begun[0], begun[2], least, at - begun[1], regained=True))
            begun = ("", 0.0, np.nan)
    return found


def growth(log: Log, segment: int) -> tuple[float, float]:
    """By how many segments the window grew in congestion avoidance, and in how many round trips."""
    segments = rounds = 0.0
    state, last = "", None
    for at, new, window, round_trip in zip(
        log.at, log.state, log.window, log.round_trip, strict=True
    ):
        if new:
            state, last = new, None
        if np.isnan(window) or np.isnan(round_trip):
            continue
        if state == "congestion_avoidance" and last is not None:
            segments += (window - last[1]) / segment
            rounds += (at - last[0]) / round_trip
        last = (at, window)
    return segments, rounds
