"""Where results come from: the code, the machine, and each session that added runs."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from flashcrowd.store import atomic, digests
from flashcrowd.store.errors import DamagedResults

FILE = "provenance.json"


def now() -> str:
    """The time of day as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def record(
    folder: Path,
    build: Mapping[str, Any],
    seeds: Sequence[int],
    started: str,
    added: int,
    more: Mapping[str, Any],
) -> None:
    """Write `provenance.json` anew, with one more session.

    Args:
        folder: the results folder.
        build: what the engine says of itself.
        seeds: distinct seeds of all runs, in order of use.
        started: when this session began.
        added: how many runs it finished.
        more: what else there is to say of it, such as the machines of its workers.
    """
    sessions = sessions_of(folder)
    session = {
        "started": started,
        "finished": now(),
        "runs": added,
        "argv": list(sys.argv),
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "machine": machine(),
        **more,
    }
    sessions.append(session)
    head = {key: build.get(key) for key in ("version", "commit", "engine", "profile", "rustc")}
    if "programs" in build:
        head["programs"] = build["programs"]
    text = digests.sealed({**head, "seeds": list(seeds), "sessions": sessions})
    atomic.write_bytes(folder / FILE, text.encode())


def damage(folder: Path) -> DamagedResults | None:
    """What is wrong with `provenance.json`, if it is there and not what was written."""
    if (folder / FILE).exists():
        try:
            digests.read_sealed(folder / FILE, folder)
        except DamagedResults as error:
            return error
    return None


def whole(folder: Path) -> bool:
    """Whether `provenance.json` is there, and what was written."""
    return (folder / FILE).exists() and damage(folder) is None


def join(folder: Path, parts: Sequence[Path], joined: str) -> None:
    """Write `provenance.json` of a folder whose runs are those of others, with their sessions.

    Args:
        folder: the results folder.
        parts: the folders, which have the same engine.
        joined: when they were put together.
    """
    heads = [digests.read_sealed(part / FILE, part) for part in parts if whole(part)]
    head = {key: value for key, value in (heads[0] if heads else {}).items() if key != "sessions"}
    sessions = [session for part in parts for session in sessions_of(part)]
    for session in sessions_of(folder):
        if session not in sessions:
            sessions.append(session)
    text = digests.sealed({**head, "joined": joined, "sessions": sessions})
    atomic.write_bytes(folder / FILE, text.encode())


def sessions_of(folder: Path) -> list[Any]:
    """What earlier sessions said; a note in their place if that is lost."""
    if not (folder / FILE).exists():
        return []
    try:
        return digests.read_sealed(folder / FILE, folder)["sessions"]
    except DamagedResults as error:
        return [{"started": now(), "finished": now(), "runs": 0, "lost": error.what}]


def machine() -> dict[str, Any]:
    """What this machine is."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
