"""The simulator: packet by packet, in virtual time. Compiled; runs without Python's lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.cores import cores
from flashcrowd.base.need import Need
from flashcrowd.engines import Build, Cancelled, EngineFault, Finish, refusal
from flashcrowd.plan.digest import digest
from flashcrowd.plan.place import rejected

if TYPE_CHECKING:
    import pyarrow as pa


class Simulator:
    """The engine `simulation`."""

    name = "simulation"

    def __init__(self) -> None:
        self.force = False
        self.repeat_invalid = 0
        self._empty: dict[tuple[str, ...], pa.Table] = {}

    def handle(self) -> _core.RunHandle:
        """A handle on one run."""
        return _core.RunHandle(force=self.force)

    def check(self, plan: Plan) -> None:
        """Raise `PlanRejected` if the simulator cannot read a plan."""
        refusal.check(plan)

    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        """The predicted need of a run of each plan, see `Engine.needs`."""
        return [_need(plan) for plan in plans]

    def at_once(self, needs: Sequence[Need]) -> int:
        """One a core."""
        return cores()

    def run(self, plan: Plan, seed: int, handle: Any) -> Mapping[str, pa.Table]:
        """One run's tables, see `Engine.run`."""
        try:
            tables = _core.simulate(plan, seed, handle)
        except _core.Cancelled:
            raise Cancelled from None
        except _core.PlanError as error:
            raise rejected(error, plan.to_json()) from None
        except _core.EngineFault as error:
            build = _core.build_info()
            raise EngineFault(
                f"engine fault, please report it: {error}\n"
                f"  flashcrowd {build['version']}, engine {build['engine']}, "
                f"plan {digest(plan.to_json())}, seed {seed}"
            ) from None
        return {name: self._arrow(name, table) for name, table in tables.items()}

    def seconds(self, plan: Plan, seed: int, most_s: float) -> float | None:
        """Seconds of one core that a run takes here; nothing if it is to take more than `most_s`.

        It may wait for a core as long as it runs.
        """
        handle, found = self.handle(), list[float]()

        def timed() -> None:
            begin = time.thread_time()
            try:
                _core.simulate(plan, seed, handle)
            except (_core.Cancelled, _core.PlanError, _core.EngineFault):
                return
            found.append(time.thread_time() - begin)

        run = threading.Thread(target=timed)
        run.start()
        run.join(2 * most_s)
        handle.cancel()
        run.join()
        return found[0] if found else None

    def _arrow(self, name: str, table: _core.Table) -> pa.Table:
        """A table for others. Of thirty most are empty, and one of each will do for all runs."""
        import pyarrow as pa  # late: `check` needs no tables

        if len(table):
            return pa.table(table)
        key = (name, *table.column_names)
        if key not in self._empty:
            self._empty[key] = pa.table(table)
        return self._empty[key]

    def finish(self) -> Finish:
        """Nothing is to be kept."""
        return {}

    def build(self) -> Build:
        """Version, commit, compiler, and the digest of the engine's sources."""
        return _core.build_info()


def _need(plan: Plan) -> Need:
    """The predicted need of a run of a plan."""
    try:
        return Need(*plan.need())
    except _core.PlanError as error:
        raise rejected(error, plan.to_json()) from None
