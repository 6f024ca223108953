"""The engines, compiled. Private: use `flashcrowd.run` or `flashcrowd.engines`."""

from typing import final

__all__ = [
    "Cancelled",
    "EngineFault",
    "PlanError",
    "RunHandle",
    "Table",
    "UtpReceiver",
    "UtpSender",
    "available_memory",
    "build_info",
    "check_plan",
    "client_profiles",
    "controllers",
    "ledbat_tables",
    "plan_need",
    "plan_schema",
    "simulate",
    "tcp_profiles",
    "utp_profiles",
]

class PlanError(ValueError):
    """A plan that no engine can run; names the place."""

class Cancelled(Exception):
    """The run was cancelled; it has no tables."""

class EngineFault(RuntimeError):
    """A bug in the engine; names the source line."""

@final
class RunHandle:
    """Watches and cancels a run from another thread."""

    def __new__(cls, force: bool = False) -> RunHandle:
        """With `force` a run is begun even if it may need more memory than there is."""
    def cancel(self) -> None:
        """End the run soon; it raises `Cancelled`."""
    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
    @property
    def progress(self) -> float:
        """How far the run is, 0 to 1, as far as anybody can tell."""
    @property
    def simulated_s(self) -> float:
        """Simulated time so far, in seconds."""

@final
class Table:
    """Rows under named columns; hand it to `pyarrow.table` or `polars.DataFrame`."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule protocol."""

@final
class UtpSender:
    """Sends to a `UtpReceiver`, in the background."""

    def __new__(
        cls, remote: str, config: str, *, bytes: int | None = None, seconds: float | None = None
    ) -> UtpSender:
        """Begins at once; `remote` is an address with a port, `config` a uTP configuration (JSON).

        One of `bytes` and `seconds` is to be given. Raises `PlanError` or `ValueError`.
        """
    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended. Other Python threads go on."""
    def snapshot(self) -> str | None:
        """The connection now (JSON), or None if there is none."""
    def stop(self) -> None:
        """End soon, and tell the other end; the second time, at once."""
    def result(self) -> str:
        """What came out (JSON), when it has ended. Raises `OSError` if nothing could come out."""

@final
class UtpReceiver:
    """Receives from several `UtpSender`s at once, in the background."""

    def __new__(
        cls, local: str, config: str, *, once: bool = False, most_senders: int = 16
    ) -> UtpReceiver:
        """Begins at once; `once` ends it after one sender.

        More than `most_senders` at once are refused.

        Raises `PlanError`, `ValueError`, or `OSError` if it cannot listen there.
        """
    @property
    def address(self) -> str:
        """Where it listens."""
    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended. Other Python threads go on."""
    def active(self) -> str:
        """Senders that are connected (a JSON list)."""
    def take_finished(self) -> str:
        """Senders that have finished since this was last called (a JSON list)."""
    def stop(self) -> None:
        """End soon, and tell the senders; the second time, at once."""
    def result(self) -> None:
        """Raises `OSError` if the socket has failed. Only when it has ended."""

def simulate(plan_json: str, seed: int, control: RunHandle | None = None) -> dict[str, Table]:
    """Run a plan (JSON) with a seed, 0 to 2**64 - 1; gives the run's tables by name.

    Other Python threads go on meanwhile. Raises `PlanError`, `Cancelled` or `EngineFault`.
    """

def check_plan(plan_json: str) -> None:
    """Raise `PlanError` if a plan (JSON) is not one."""

def plan_need(plan_json: str) -> str:
    """What a run of a plan (JSON) is expected to need, as a JSON object.

    Its keys are `events`, `packets`, `seconds` (of one core) and `bytes` (of memory). Raises
    `PlanError` if it is not a plan.
    """

def plan_schema() -> str:
    """The JSON Schema of plans, derived from the types that read them."""

def available_memory() -> int | None:
    """Bytes of memory that a run may still have; None where the system does not say."""

def tcp_profiles() -> str:
    """TCP stacks: a JSON object from name to the resolved stack, as a plan takes it."""

def utp_profiles() -> str:
    """UTP configurations: a JSON object from name to the resolved one, as a plan takes it."""

def controllers() -> list[str]:
    """The names of the congestion controllers."""

def ledbat_tables() -> str:
    """Controllers of the LEDBAT family: a JSON object from name to the table that it ships with."""

def client_profiles() -> str:
    """BitTorrent clients: a JSON object from name to the resolved profile."""

def build_info() -> dict[str, str | None]:
    """What this build is.

    `version`, `profile` (`release` or `debug`), `commit` (None if built outside of a repository,
    with a `+` if sources differed from it), `engine` (digest of the sources that decide results)
    and `rustc`.
    """
