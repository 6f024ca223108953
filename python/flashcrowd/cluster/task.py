"""The work of a worker: a task of several runs, and stopping it.

Plans travel compressed, tables as streams of Arrow's IPC format. A task has no effect but its
outcome, so that one may be carried out again, elsewhere, or by two workers at a time.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any

import pyarrow as pa

from flashcrowd._core import Plan
from flashcrowd.cluster.identity import Identity, differing, own
from flashcrowd.engines import Cancelled, Engine, EngineError, RunHandle, registry
from flashcrowd.store.manifest import Run
from flashcrowd.store.schema import ENGINE_TABLES, TIMINGS
from flashcrowd.study.execution import carry_out
from flashcrowd.study.pool import Done, Job

_COST = [column.name for column in TIMINGS.columns if column.name not in ("run", "worker")]


@dataclass(frozen=True)
class Task:
    """Runs that one worker carries out, one after the other.

    Attributes:
        number: the task's, in this campaign.
        campaign: a name that no other campaign has.
        engine: name of the engine.
        identity: what a worker's code must be.
        plans: the plans of these runs, each once, as compressed JSON.
        runs: each run, and the place of its plan in `plans`.
    """

    number: int
    campaign: str
    engine: str
    identity: Identity
    plans: tuple[bytes, ...] = field(repr=False)
    runs: tuple[tuple[Run, int], ...]


@dataclass(frozen=True)
class Finished:
    """A run that ended well: each of its tables that has rows as an Arrow IPC stream.

    Attributes:
        run: which one.
        tables: its tables, by name.
        cost: columns of the table `timings`.
        digest: of the run and its tables, made where it was carried out.
    """

    run: Run
    tables: Mapping[str, bytes] = field(repr=False)
    cost: Mapping[str, Any]
    digest: str

    @classmethod
    def of(cls, done: Done) -> Finished:
        """A run, for the way to the client."""
        tables = {name: _stream(table) for name, table in done.tables.items() if table.num_rows}
        return cls(done.run, tables, done.cost, _digest(done.run, tables))

    def done(self, worker: int) -> Done:
        """As a pool hands it over, by the worker of this number.

        Raises:
            Unreadable: it is not what the worker made, or no run's tables.
        """
        try:
            if _digest(self.run, self.tables) != self.digest:
                raise Unreadable("its digest is another one than on its way out")
            tables = {
                name: ENGINE_TABLES[name].cast(pa.ipc.open_stream(data).read_all())
                for name, data in self.tables.items()
            }
            if tables["run"].num_rows != 1:
                raise Unreadable(f"it has {tables['run'].num_rows} rows of `run`")
            cost = {name: self.cost[name] for name in _COST}
        except (KeyError, TypeError, AttributeError, ValueError, OSError) as error:
            raise Unreadable(f"{type(error).__name__}: {error}") from error
        return Done(self.run, tables, {**cost, "worker": worker})


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    Attributes:
        number: the task's.
        worker: address of the worker.
        finished: its runs up to the first that failed.
        failure: why that one failed.
    """

    number: int
    worker: str
    finished: Sequence[Finished]
    failure: EngineError | None = None


class Unreadable(Exception):
    """A run's result cannot be read; the message says why."""


class OtherCode(Exception):
    """A worker's code is another; the message says how it differs."""


def perform(task: Task) -> Outcome:
    """Carry out a task, in a thread of a worker.

    Raises:
        Cancelled: the campaign was stopped.
        OtherCode: this worker's results would be another engine's.
    """
    from distributed import get_worker

    engine = _engine(task.engine)
    wrong = differing(task.identity, own(engine))
    if wrong:
        raise OtherCode(wrong)
    plans = [Plan(zlib.decompress(plan).decode()) for plan in task.plans]
    address = get_worker().address
    finished: list[Finished] = []
    for run, place in task.runs:
        with _LIVE.handle(task.campaign, engine) as handle:
            try:
                done = carry_out(engine, Job(run, plans[place]), handle, 0)
            except EngineError as error:
                return Outcome(task.number, address, finished, error)
        finished.append(Finished.of(done))
    return Outcome(task.number, address, finished)


def stop(campaign: str) -> None:
    """End all runs of a campaign on this worker soon; called in its event loop."""
    _LIVE.stop(campaign)


def compressed(plan: Plan) -> bytes:
    """A plan as tasks carry it."""
    return zlib.compress(plan.to_json().encode(), 1)


class _Live:
    """The runs under way in this process, so that they can be cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handles: dict[str, list[RunHandle]] = {}
        self._stopped: set[str] = set()

    @contextmanager
    def handle(self, campaign: str, engine: Engine) -> Iterator[RunHandle]:
        """A handle that `stop` reaches until the block ends."""
        handle = engine.handle()
        with self._lock:
            if campaign in self._stopped:
                raise Cancelled
            self._handles.setdefault(campaign, []).append(handle)
        try:
            yield handle
        finally:
            with self._lock:
                left = [one for one in self._handles[campaign] if one is not handle]
                self._handles[campaign] = left
                if not left:
                    del self._handles[campaign]

    def stop(self, campaign: str) -> None:
        with self._lock:
            self._stopped.add(campaign)
            for handle in self._handles.get(campaign, ()):
                handle.cancel()


_LIVE = _Live()


@cache
def _engine(name: str) -> Engine:
    engine = registry.engine(name)
    engine.force = True  # the client has compared what runs need with this worker's memory
    return engine


def _digest(run: Run, tables: Mapping[str, bytes]) -> str:
    digest = sha256(repr(run).encode())
    for name in sorted(tables):
        digest.update(name.encode() + len(tables[name]).to_bytes(8, "big") + tables[name])
    return digest.hexdigest()


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()
