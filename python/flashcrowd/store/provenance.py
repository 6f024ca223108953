"""Where results come from: the code, the machine, and each session that added runs."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import pyarrow as pa

from flashcrowd.base import folder_files
from flashcrowd.store import atomic, digests
from flashcrowd.store.binding import RUNS, is_names, runs_in
from flashcrowd.store.errors import DamagedResults, ForeignResults
from flashcrowd.store.folder import Tell

FILE = "provenance.json"


def now() -> str:
    """The time of day as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def record(
    folder: Path,
    build: Mapping[str, object],
    seeds: Sequence[int],
    started: str,
    added: int,
    more: Mapping[str, object],
) -> None:
    """Rewrite `provenance.json`, with one more session. The earlier ones do not change.

    Args:
        folder: the results folder.
        build: what the engine says of itself.
        seeds: distinct seeds of all runs, in order of use.
        started: when this session began.
        added: how many runs it finished.
        more: what else there is to say of it, such as the machines of its workers.
    """
    sessions = _sessions(folder, foreign=True)
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
    _write(folder, {**head, "seeds": list(seeds), "sessions": sessions}, runs_in(folder))


def read(folder: Path, runs: Sequence[str]) -> dict[str, Any]:
    """The entries of `provenance.json` for the runs in the files with these digests.

    Raises:
        DamagedResults: it is not what was written.
        ForeignResults: it is of other runs.
    """
    plain = _read(folder)
    if plain.pop(RUNS, None) != list(runs):
        raise _foreign(folder)
    return plain


def current(folder: Path) -> bool:
    """Whether `provenance.json` is there, what was written, and of the runs that are there."""
    try:
        read(folder, runs_in(folder))
    except DamagedResults:
        return False
    return True


def settle(folder: Path, tell: Tell) -> None:
    """Put a note in the place of what cannot be believed of earlier sessions.

    A session that was killed leaves more or fewer files of runs than the one before knew of; the
    provenance of another results folder knows none of them.
    """
    if not any(folder_files.exists(folder / name, folder) for name in (FILE, "tables")):
        return
    try:
        _kept(folder)
    except DamagedResults as error:
        tell(f"{error.brief}: what it said of earlier sessions is lost")
        _write(folder, {"sessions": [_lost(error)]}, [])


def _kept(folder: Path) -> dict[str, Any]:
    """The content of `provenance.json`, if it is what was written, and of this results folder."""
    plain = _read(folder)
    known, there = plain.pop(RUNS, []), runs_in(folder)
    if known and there and not set(known) & set(there):
        raise _foreign(folder)
    return plain


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    plain = digests.read_sealed(path, folder)
    sessions, runs = plain.get("sessions"), plain.get(RUNS)
    with digests.reading(path, folder):
        if not isinstance(sessions, list) or not all(isinstance(it, dict) for it in sessions):
            raise ValueError("its sessions are no list of tables")
        if runs is not None and not is_names(runs):
            raise ValueError("it does not name files of runs")
    return plain


def _foreign(folder: Path) -> ForeignResults:
    why = "it knows other runs than those in runs/"
    return ForeignResults(folder / FILE, why, digests.mending(folder))


def _write(folder: Path, plain: Mapping[str, object], runs: Sequence[str]) -> None:
    text = digests.sealed({**plain, RUNS: list(runs)})
    atomic.write_bytes(folder / FILE, text.encode())


def join(folder: Path, parts: Sequence[Path], joined: str) -> None:
    """Write `provenance.json` of a folder whose runs are those of others, with their sessions.

    Args:
        folder: the results folder; what was there was settled.
        parts: the folders, which have the same engine.
        joined: when they were put together.
    """
    head: dict[str, object] = {}
    for part in parts:
        with suppress(DamagedResults):
            head = head or _kept(part)
    sessions = [session for part in parts for session in sessions_of(part)]
    for session in _sessions(folder, foreign=True):
        if session not in sessions:
            sessions.append(session)
    _write(folder, {**head, "joined": joined, "sessions": sessions}, runs_in(folder))


def sessions_of(folder: Path) -> list[Any]:
    """The notes of earlier sessions of a folder; a note in their place if they are lost."""
    return _sessions(folder, foreign=False)


def _sessions(folder: Path, *, foreign: bool) -> list[Any]:
    """The sessions, those of other runs too if `foreign`."""
    if not folder_files.exists(folder / FILE, folder):
        return []
    try:
        kept = _read(folder) if foreign else _kept(folder)
    except DamagedResults as error:
        return [_lost(error)]
    return kept["sessions"]


def _lost(error: DamagedResults) -> dict[str, Any]:
    return {"started": now(), "finished": now(), "runs": 0, "lost": error.what}


class Machine(TypedDict):
    """A machine that has given results; `host` names one of a cluster's."""

    host: NotRequired[str]
    system: str
    architecture: str
    processor: str
    cores: int | None


def machine() -> Machine:
    """The properties of this machine."""
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
