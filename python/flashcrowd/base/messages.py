"""Messages between the processes of a run: dataclasses, a line of JSON for each.

A line is an object with one key, the name of the message, as in `{"Progress": {"part": 0.5}}`.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Generic, TypeVar

from flashcrowd.base.errors import EngineError
from flashcrowd.base.rows import Rows

_TELL_S = 0.2


class BadMessage(EngineError):
    """A line is no message that may come here, or has other keys; it may be of another version."""


@dataclass(frozen=True)
class Message:
    """A message, in plain values."""


M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Order(Message):
    """The run that a process is to play; with `probe` the self-test of its network instead."""

    plan: str
    seed: int
    probe: bool = False


@dataclass(frozen=True)
class Progress(Message):
    """How far a run is, 0 to 1."""

    part: float


@dataclass(frozen=True)
class Tables(Message):
    """A run's last message: its tables, and its pace where a server was alone."""

    tables: Rows
    pace: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed(Message):
    """The last message of a run without tables: why there are none."""

    why: str


def encoded(message: Message) -> bytes:
    """A message as a line."""
    return json.dumps({type(message).__name__: vars(message)}).encode() + b"\n"


def decoded(line: bytes, *kinds: type[M]) -> M:
    """The message of a line, which may be of these kinds.

    Raises:
        BadMessage: it is of none of them, or a key is unknown or not there.
        ValueError: it is no JSON.
    """
    said = json.loads(line)
    name, values = next(iter(said.items())) if isinstance(said, dict) and said else ("", {})
    known = {kind.__name__: kind for kind in kinds}
    if name not in known or not isinstance(values, dict):
        raise BadMessage(f"{line[:80]!r} is no message of {', '.join(known)}")
    keys = {it.name for it in fields(known[name])}
    if wrong := keys ^ values.keys():
        raise BadMessage(f"{name}: {', '.join(sorted(wrong))}: unknown, or not there")
    return known[name](**values)


class Channel(Generic[M]):
    """Messages from and to another process.

    Args:
        back: the file descriptor that its messages come from.
        to: the one that messages to it go to.
        kinds: what it may say. Lines that are no JSON are passed over: libraries print them, and a
            process that dies leaves half a line.
    """

    def __init__(self, back: int, to: int, *kinds: type[M]) -> None:
        self._back, self._to, self._kinds = back, to, kinds
        self._rest = b""

    def fileno(self) -> int:
        """The file descriptor that messages come from."""
        return self._back

    def say(self, message: Message) -> None:
        """Say something.

        Raises:
            OSError: the other process is gone.
        """
        data = encoded(message)
        while data:
            data = data[os.write(self._to, data) :]

    def hear(self, longest_s: float) -> list[M]:
        """What arrives within `longest_s` seconds.

        Raises:
            BadMessage: it is none of the expected kinds.
            EOFError: nothing will come any more.
            OSError: the connection is gone.
        """
        if not select.select([self._back], [], [], longest_s)[0]:
            return []
        data = os.read(self._back, 1 << 20)
        if not data:
            raise EOFError
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            if line.startswith(b"{"):
                with suppress(ValueError):
                    found.append(decoded(line, *self._kinds))
        return found


class Asker(Channel[M]):
    """The process that started this one, at standard input and output; this one ends with it."""

    def __init__(self, *kinds: type[M]) -> None:
        super().__init__(0, 1, *kinds)
        self._told = float("-inf")

    def hear(self, longest_s: float) -> list[M]:
        """What arrives within `longest_s` seconds."""
        try:
            return super().hear(longest_s)
        except EOFError:
            os._exit(1)

    def asked(self) -> M:
        """The first message."""
        while True:
            for message in self.hear(1.0):
                return message

    def progress(self, part: float) -> None:
        """Tell how far the run is, now and then."""
        now = time.monotonic()
        if now - self._told >= _TELL_S:
            self._told = now
            self.say(Progress(part))
            self.hear(0.0)
