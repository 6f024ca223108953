"""The identity that a worker's code must have for its runs to be this study's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Required, TypedDict

from flashcrowd.engines import Engine
from flashcrowd.store import schema
from flashcrowd.store.provenance import Machine


@dataclass(frozen=True)
class Identity:
    """The parts that decide the bytes of a run's tables, and how tasks are understood.

    Attributes:
        flashcrowd: version of the package.
        engine: digest of the engine's sources.
        tables: version of the tables.
    """

    flashcrowd: str
    engine: str
    tables: int


def own(engine: Engine) -> Identity:
    """The identity of this process with an engine."""
    build = engine.build()
    return Identity(str(build["version"]), str(build["engine"]), schema.VERSION)


def differing(wanted: Identity, found: Identity) -> str:
    """How a worker's code differs, in words; nothing where it does not."""
    for one in fields(Identity):
        here, there = getattr(wanted, one.name), getattr(found, one.name)
        if here != there:
            return f"{one.name} {there} there, {here} here"
    return ""


class Answer(TypedDict, total=False):
    """What a worker says of itself: all but the error, or its host and the error.

    Attributes:
        host: its machine's name.
        identity: its `Identity`, by field.
        memory: bytes that are available to it, see `memory.shared`.
        machine: what its machine is.
        error: why it cannot run this engine.
    """

    host: Required[str]
    identity: dict[str, str | int]
    memory: dict[str, int]
    machine: Machine
    error: str


def question() -> Callable[[str], Answer]:
    """A function that a worker can be asked, also one that has no flashcrowd, or another.

    It travels by value, as it has no name in a module, and imports what it needs where it is.
    """

    def answer(engine: str) -> Answer:
        import socket

        said: Answer = {"host": socket.gethostname()}
        try:
            from dataclasses import asdict

            from flashcrowd.cluster.identity import own
            from flashcrowd.cluster.memory import shared
            from flashcrowd.engines import registry
            from flashcrowd.store.provenance import machine

            said["identity"] = asdict(own(registry.engine(engine)))
            said["memory"] = shared()
            said["machine"] = machine()
        except Exception as error:
            said["error"] = f"{type(error).__name__}: {error}"
        return said

    return answer
