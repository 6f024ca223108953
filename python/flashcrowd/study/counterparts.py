"""The settings of real clients by their own names, and the counterpart of each here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Counterpart:
    """A setting of a real client.

    Attributes:
        program: the client.
        name: what it calls the setting.
        key: the key of a study, as `flashcrowd explain` takes it; empty if none is.
        said: the words that replace a key.
    """

    program: str
    name: str
    key: str
    said: str = ""


@cache
def counterparts() -> tuple[Counterpart, ...]:
    """Those of every client that can play a peer."""
    return tuple(_all())


def _all() -> Iterator[Counterpart]:
    # Read as texts: the package of the clients is not for every system.
    made = _read("libtorrent.toml")
    for name, entry in made["modelled"].items():
        yield Counterpart("libtorrent", name, _key(entry), entry.get("rule", ""))
    for name, text in (made["given"] | made["differs"]).items():
        yield Counterpart("libtorrent", name, "", text)
    for group in made["left_out"]:
        for name in group["settings"]:
            yield Counterpart("libtorrent", name, "", f"not modelled ({group['why']})")
    for program, entries in _read("called.toml").items():
        for name, key in entries.items():
            yield Counterpart(program, name, f"profiles.NAME.{key}")


def _key(entry: dict[str, object]) -> str:
    if "profile" in entry:
        return f"profiles.NAME.{entry['profile']}"
    return f"utp.NAME.{entry['utp']}" if "utp" in entry else ""


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("flashcrowd").joinpath("clients", name).read_text("utf-8"))
