"""The memory that workers share: of their machine, and of the control group that they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flashcrowd import _core
from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.study.need import size

FREE = 0.95
"""The part of a worker's memory limit beyond which Dask ends the worker."""

AtOnce = Callable[[int], int]
"""Bytes that this number of runs of a study need at a time, the largest of them."""


def at_once(sizes: Iterable[int]) -> AtOnce:
    """The need of the largest runs side by side.

    Args:
        sizes: bytes that each run is expected to need.
    """
    found = sorted(sizes, reverse=True)

    def needed(runs: int) -> int:
        return sum(found[:runs])

    return needed


def nothing(runs: int) -> int:
    """For who compares nothing."""
    return 0


def shared() -> dict[str, int]:
    """Bytes that are available to this process, by the name of what it shares them with.

    That is its machine, and its control group, which may leave less. Two workers that name the
    same have it together.
    """
    found = {}
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        words = next(line.split() for line in lines if line.startswith("MemAvailable:"))
        found["machine"] = int(words[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    available = _core.available_memory()
    if available is not None:
        found[f"control group {_group()}"] = available
    return found


def _group() -> str:
    try:
        text = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return ""
    return next((line[3:] for line in text.splitlines() if line.startswith("0::")), "")


@dataclass(frozen=True)
class Worker:
    """One worker, as far as memory goes.

    Attributes:
        name: what messages call it.
        host: its machine.
        threads: runs that it carries out at a time.
        limit: bytes at which Dask ends it; 0 for none.
        shares: see `shared`, as it was before the worker's first run.
    """

    name: str
    host: str
    threads: int
    limit: int
    shares: Mapping[str, int]


class Room:
    """Whether the runs of all workers fit into what these share."""

    def __init__(self, needed: AtOnce) -> None:
        """A room without workers.

        Args:
            needed: what runs need at a time, see `at_once`.
        """
        self._needed = needed
        self._workers: dict[str, Worker] = {}
        self._free: dict[tuple[str, str], int] = {}

    def look(self, there: Iterable[str], new: Mapping[str, Worker]) -> None:
        """Take in new workers, and forget those that have gone.

        Args:
            there: the addresses of all workers.
            new: those that were not looked at before, by address.

        Raises:
            ClusterError: runs of the workers on one machine are expected to need more than it has.
        """
        known = self._workers | dict(new)
        self._workers = {address: known[address] for address in there if address in known}
        for worker in new.values():
            self._alone(worker)
        together: dict[tuple[str, str], list[Worker]] = {}
        for worker in self._workers.values():
            for share, count in worker.shares.items():
                key = (worker.host, share)
                # The free memory before the first runs: later, these have taken some of it.
                self._free.setdefault(key, count)
                together.setdefault(key, []).append(worker)
        for key, workers in together.items():
            self._beside(workers, self._free[key])

    def _alone(self, worker: Worker) -> None:
        needed = self._needed(worker.threads)
        if 0 < worker.limit * FREE < needed:
            raise ClusterError(
                f"{worker.name} has too little memory: its memory limit is {size(worker.limit)}, "
                f"its {worker.threads} runs at a time are expected to need {size(needed)}; "
                "give it more or fewer threads, or begin all the same with --force"
            )

    def _beside(self, workers: list[Worker], free: int) -> None:
        threads = sum(worker.threads for worker in workers)
        needed = self._needed(threads)
        if needed <= free:
            return
        one, *others = workers
        who = f"{len(workers)} workers on {one.host} have" if others else f"{one.name} has"
        fewer = "start fewer of them" if others else "give it fewer threads"
        raise ClusterError(
            f"{who} too little memory: {size(free)} are available there, {threads} runs at a time "
            f"are expected to need {size(needed)}; {fewer}, or begin all the same with --force"
        )
