"""The properties that all nodes of a run must share, as its measurements depend on them."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from flashcrowd import _core
from flashcrowd.clients import PROGRAMS, opentracker
from flashcrowd.emulation.players import PLAYERS

ABSENT = "none"
"""The version of a program that is not there."""
ROOMS = ("emulation", "clients", "autolimit", "client_api", "content_server", "http", "download")


def card(programs: Iterable[str]) -> dict[str, str]:
    """The properties of this machine, with its version of each of these programs."""
    return {
        "version": version("flashcrowd"),
        "emulation": sources(),
        "kernel": kernel(),
        **{name: found or ABSENT for name, found in versions(programs).items()},
    }


def differing(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """How another machine's card differs from this one's, in words; nothing where it does not."""
    for name, own in here.items():
        other = there.get(name, ABSENT)
        if other != own:
            return f"{name} {other} there, {own} here"
    return ""


def kernel() -> str:
    """This machine's kernel, whose TCP is what is measured."""
    return f"{platform.release()} {platform.machine()}"


def versions(programs: Iterable[str]) -> dict[str, str | None]:
    """Which version of these programs is here; None if it is missing or unknown."""
    known = {name: it.found for name, it in {**PROGRAMS, **PLAYERS}.items()}
    known[opentracker.NAME] = opentracker.found
    found = {name: known[name]() if name in known else None for name in sorted(programs)}
    return {name: None if it is None else it.version for name, it in found.items()}


@cache
def sources() -> str:
    """A digest of the emulator and of the Python programs in its namespaces."""
    digest = sha256(str(_core.build_info()["emulation"]).encode())
    for room in ROOMS:
        for path in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
