"""The content server of a plan's origin: its files, its settings, and whether its disk kept up."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from flashcrowd import _core
from flashcrowd.content_server.snapshot import PaceReport
from flashcrowd.plan.types import OriginWorkload


def contents_of(origin: OriginWorkload, seed: int) -> list[bytes]:
    """What is in each file of an origin, in a run with this seed."""
    stream = random.Random(seed)
    files = origin["files"]
    return [stream.randbytes(files["size_bytes"]) for _ in range(files["count"])]


def write(contents: Sequence[bytes], folder: Path) -> None:
    """Write the files; each has its number for a name.

    Raises:
        OSError: what the system refused.
    """
    for number, content in enumerate(contents):
        (folder / str(number)).write_bytes(content)


def settings(
    origin: OriginWorkload, folder: Path, sockets: Mapping[str, object]
) -> dict[str, object]:
    """The server's settings, see `Settings` of the crate flashcrowd-server.

    Args:
        origin: the workload, as the plan has it.
        folder: where its files are.
        sockets: what its limits say of sockets' buffers.
    """
    ours = dict(origin["settings"])
    # A server's memory has in it what reading and sending need; a plan's is for the cache.
    cache, extent = ours["memory_bytes"], ours["extent_bytes"]
    ours["memory_bytes"] = _core.content_memory(cache, extent, ours["reads"])
    return {
        "root": str(folder),
        # From memory, so that the trial disk is the slower one.
        "direct": False,
        "origin": ours,
        "trial_disk": origin["disk"],
        "digests": False,
        "limits": {
            "connections": 100_000,
            "connections_per_address": 100_000,
            "stall_s": ours["patience_ns"] / 1e9,
            "drain_s": 1.0,
            **sockets,
        },
    }


def lost_pace(pace: PaceReport) -> str:
    """What a trial disk did that it must not, in words; empty if it kept its pace.

    Args:
        pace: its report, see `PaceReport`.
    """
    if not pace["void"]:
        return ""
    late, lost = pace["lateness_max_s"], pace["lost_s"]
    return f"the trial disk was up to {late:.3f} s late and lost {lost:.3f} s"
