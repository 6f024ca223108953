"""Engines: each turns a plan and a seed into tables. Nothing but the runner asks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable

from flashcrowd._core import Plan
from flashcrowd.base.build import Build
from flashcrowd.base.errors import Cancelled, EngineError, EngineFault, PlanRejected
from flashcrowd.base.need import Need
from flashcrowd.base.rows import Row

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Build",
    "Cancelled",
    "Engine",
    "EngineError",
    "EngineFault",
    "Finish",
    "Need",
    "PlanRejected",
    "RunHandle",
    "Timed",
]


class SelfTestAfter(TypedDict):
    """How many networks the self-test after the last run probed, and what was not as planned."""

    networks: int
    probes: int
    within: int
    failures: list[str]


class Finish(TypedDict, total=False):
    """What an engine keeps of a session, for its provenance.

    Attributes:
        invalid_repeated: invalid runs that were done again.
        pace: how well disks and lines were played, a row per run.
        labs: how hosts were attached, with the runs that were played so.
        nodes: machines that played each run together.
        self_test_after: the self-test after the last run.
    """

    invalid_repeated: int
    pace: list[Row]
    labs: list[Row]
    nodes: int
    self_test_after: SelfTestAfter


class RunHandle(Protocol):
    """Watches and cancels one run from another thread."""

    def cancel(self) -> None:
        """End the run soon; it raises `Cancelled`."""

    @property
    def progress(self) -> float:
        """How far the run is, 0 to 1, as far as known."""
        ...


class Engine(Protocol):
    """The interface of an engine for the runner. All methods may be called from any thread."""

    name: str
    force: bool
    """Begin runs even if they may need more memory than there is."""
    repeat_invalid: int
    """How often an invalid run is repeated: one that fell behind real time."""

    def handle(self) -> RunHandle:
        """A handle on one run."""
        ...

    def check(self, plan: Plan) -> None:
        """Raise `PlanRejected` if the engine cannot run a plan."""

    def needs(self, plans: Sequence[Plan]) -> list[Need | None]:
        """The predicted need of a run of each plan; `None` where the engine cannot tell.

        Raises:
            PlanRejected: the engine refuses one of them, as `check` does.
        """
        ...

    def at_once(self, needs: Sequence[Need]) -> int:
        """Runs at a time, by default, of runs that need this."""
        ...

    def run(self, plan: Plan, seed: int, handle: Any) -> Mapping[str, pa.Table]:
        """One run's tables.

        Args:
            plan: what is to happen.
            seed: seed of all random streams, 0 to 2**64 - 1.
            handle: from `handle`.

        Raises:
            Cancelled: the handle was used.
            EngineError: there will be no tables.
        """
        ...

    def finish(self) -> Finish:
        """Called when the last run of a session has ended well.

        Returns:
            Facts of this session alone, as plain values; none for most engines.
        """
        ...

    def build(self) -> Build:
        """What the engine's code is: `version`, `engine` (digest of sources), `commit`, …"""
        ...


@runtime_checkable
class Timed(Engine, Protocol):
    """An engine whose runs take as long as the machine needs, so that one predicts others."""

    def seconds(self, plan: Plan, seed: int, most_s: float) -> float | None:
        """Seconds of one core that a run takes here; `None` if they are more than `most_s`."""
        ...
