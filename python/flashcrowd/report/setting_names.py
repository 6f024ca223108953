"""The name of a swept setting: a dotted path in words."""

from __future__ import annotations

from collections.abc import Sequence

#: Tables whose keys are names that a user chose.
_NAMING = frozenset({"groups", "links", "paths", "workloads", "populations"})

_ACRONYMS = frozenset({"rtt", "tso", "tcp", "mtu", "rto"})

#: Keys that say less than a person would.
_SPOKEN = {
    "up": "upload rate",
    "down": "download rate",
    "up_queue": "upload queue",
    "down_queue": "download queue",
    "upload": "upload limit",
    "download": "download limit",
}


def short_name(path: str, among: Sequence[str]) -> str:
    """The shortest tail of a dotted path that no other path shares, in words, and whose it is.

    A setting of something that has a name of its own says that name: ``home upload queue``.
    """
    parts = path.split(".")
    tail = parts
    for take in range(1, len(parts) + 1):
        tail = parts[-take:]
        if sum(other.split(".")[-take:] == tail for other in among) == 1:
            break
    owner = _owner(parts)
    named = owner is not None and owner < len(parts) - len(tail)
    words = [*tail[:-1], _SPOKEN.get(tail[-1], tail[-1])]
    words = [_whose(parts[owner]), *words] if named and owner is not None else words
    said = " ".join(words).replace("_", " ").split()
    return " ".join(word.upper() if word in _ACRONYMS else word for word in said)


def _whose(name: str) -> str:
    """A name before what it has: ``home``, ``leechers'``, ``people's``."""
    if name == "people":
        return "people's"
    return f"{name}'" if is_plural(name) else name


def is_plural(name: str) -> bool:
    """Whether a name is of several."""
    return name == "people" or (name.endswith("s") and not name.endswith(("ss", "us", "is")))


def _owner(parts: Sequence[str]) -> int | None:
    """Which part of a path is the innermost name that a user chose."""
    found = [i + 1 for i, part in enumerate(parts[:-2]) if part in _NAMING]
    return found[-1] if found else None
