"""The engines, compiled. Private: use `flashcrowd.run` or `flashcrowd.engines`."""

from typing import final

__all__ = [
    "Cancelled",
    "Control",
    "EngineFault",
    "PlanError",
    "Table",
    "build_info",
    "check_plan",
    "client_profiles",
    "ledbat_tables",
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
class Control:
    """Watches and cancels a run from another thread."""

    def __new__(cls) -> Control: ...
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

def simulate(plan_json: str, seed: int, control: Control | None = None) -> dict[str, Table]:
    """Run a plan (JSON) with a seed, 0 to 2**64 - 1; gives the run's tables by name.

    Other Python threads go on meanwhile. Raises `PlanError`, `Cancelled` or `EngineFault`.
    """

def check_plan(plan_json: str) -> None:
    """Raise `PlanError` if a plan (JSON) is not one."""

def tcp_profiles() -> str:
    """TCP stacks: a JSON object from name to the resolved stack, as a plan takes it."""

def utp_profiles() -> str:
    """UTP configurations: a JSON object from name to the resolved one, as a plan takes it."""

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
