"""Where the runs of a study are carried out, as far as a campaign knows.

A pool takes jobs and an engine, and hands finished runs back in batches: many short runs come
together, so that they share the cost of a batch (a file, a flush to the disk).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from flashcrowd._core import Plan
from flashcrowd.engines import Engine
from flashcrowd.store.manifest import Run
from flashcrowd.store.provenance import Machine


@dataclass(frozen=True)
class Job:
    """One run to do: which one (point, repeat and seed), and its plan."""

    run: Run
    plan: Plan


@dataclass(frozen=True)
class Done:
    """One run that ended well.

    Attributes:
        run: which one.
        tables: what the engine gave.
        cost: the columns of the table `timings` but the run; `peak_bytes` may be None.
    """

    run: Run
    tables: Mapping[str, pa.Table]
    cost: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Bytes of memory of its tables.

        Not by `nbytes`, which looks into every column and takes 60 us a table.
        """
        filled = (table for table in self.tables.values() if table.num_rows)
        return sum(table.get_total_buffer_size() for table in filled)


Keep = Callable[[Sequence[Done]], None]
"""Called with each batch of finished runs, always in the thread that called `execute`."""


class Watch(Protocol):
    """Receives how far the runs are."""

    def __call__(self, finished: int, work: float, workers: int | None = None) -> None:
        """Called at regular times.

        Args:
            finished: number of finished runs.
            work: the work done, as a number of runs.
            workers: how many other processes work now; None where there are none.
        """
        ...


@runtime_checkable
class Elsewhere(Protocol):
    """A pool whose runs are carried out on other machines."""

    @property
    def machines(self) -> Sequence[Machine]:
        """The machines that have given results, as plain values."""
        ...


class Pool(Protocol):
    """Carries out runs, several at a time."""

    def execute(
        self, engine: Engine, jobs: Sequence[Job], keep: Keep, watch: Watch | None = None
    ) -> None:
        """Do all jobs, begun in order, and hand what they gave to `keep`.

        The first failure ends everything; runs that were finished by then are handed over first.
        A pool of other processes makes the engine there by its name (`engines.registry`), and
        refuses a process whose `build()["engine"]` is another.

        Raises:
            Interrupted: Ctrl-C was pressed.
            EngineError: an engine failed; the message names the run.
            Exception: whatever `keep` raised.
        """
        ...


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed; finished runs were kept, the others cancelled."""
