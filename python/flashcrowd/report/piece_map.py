"""The pieces of each peer over time, packed small enough for a page.

Pieces share columns, as many to each as need be; a column fills up in steps. The steps of all
peers are one string of bytes in base64: for each peer the number of its steps, and for each step
the ticks since the step before and the column, each as an unsigned LEB128 varint.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

#: More columns than this cannot be distinguished on a phone.
MOST_COLUMNS = 100

#: Steps in which a column of several pieces fills up.
_LEVELS = 4

#: Ticks of the time axis, about: many more than a screen has pixels.
_TICKS = 16384


@dataclass(frozen=True)
class Grid:
    """How pieces and time are divided.

    Attributes:
        pieces: pieces of the file.
        columns: into how many columns they go; piece `p` is in ``p * columns // pieces``.
        levels: steps in which a column fills up.
        tick_s: length of a tick in seconds.
    """

    pieces: int
    columns: int
    levels: int
    tick_s: float

    @property
    def steps(self) -> int:
        """Steps of a peer that has everything."""
        return self.columns * self.levels

    def ticks(self, t_s: float) -> int:
        """An instant in ticks, to the nearest."""
        return round(t_s / self.tick_s)


def grid(pieces: int, end_s: float, peers: int, most_steps: int) -> Grid:
    """The finest grid in which all peers together have at most `most_steps` steps."""
    allowed = max(1, most_steps // max(1, peers))
    columns = min(pieces, MOST_COLUMNS, allowed)
    levels = max(1, min(_LEVELS, -(-pieces // columns), allowed // columns))
    return Grid(pieces, columns, levels, max(1e-3, end_s / _TICKS))


def pack(grid: Grid, have: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """The steps of all peers.

    Args:
        grid: how they are divided.
        have: of each peer when it completed pieces, in seconds, in order, and which.
    """
    members = np.bincount(_columns(grid, np.arange(grid.pieces)), minlength=grid.columns)
    packed = bytearray()
    for t_s, pieces in have:
        steps = list(_steps(grid, members, t_s, pieces))
        packed += _varint(len(steps))
        last = 0
        for tick, column in steps:
            packed += _varint(tick - last) + _varint(column)
            last = tick
    return base64.b64encode(bytes(packed)).decode("ascii")


def _columns(grid: Grid, pieces: np.ndarray) -> np.ndarray:
    return pieces * grid.columns // grid.pieces


def _steps(
    grid: Grid, members: np.ndarray, t_s: np.ndarray, pieces: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Tick and column of each step of one peer."""
    found = [0] * grid.columns
    for at, column in zip(t_s.tolist(), _columns(grid, pieces).tolist(), strict=True):
        before = found[column] * grid.levels // int(members[column])
        found[column] += 1
        after = found[column] * grid.levels // int(members[column])
        for _ in range(after - before):
            yield grid.ticks(at), column


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
