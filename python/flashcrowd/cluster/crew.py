"""The workers of a scheduler: who they are, and whether each may carry out runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster.identity import Identity, differing, own, question
from flashcrowd.cluster.memory import AtOnce, Room, Worker
from flashcrowd.engines import Engine
from flashcrowd.store.provenance import Machine

if TYPE_CHECKING:
    from distributed import Client

ANSWER_S = 60.0
"""How long a worker has for an answer, in seconds; it may import the package meanwhile."""

SCHEDULER_S = 60.0
"""How long a scheduler has for an answer of its own, in seconds, before it counts as lost."""

SILENT_S = 20.0
"""A worker that the scheduler lists and cannot reach for this long is refused, in seconds."""

T = TypeVar("T")

PROTOCOL = ("python", "distributed")
"""Packages whose versions must be equal for messages to be understood; Python's up to the minor."""


class Crew:
    """The workers that were looked at.

    Attributes:
        machines: what machines they are on, one entry each host.
    """

    def __init__(self, client: Client, engine: Engine, needed: AtOnce) -> None:
        """A crew without workers.

        Args:
            client: of the scheduler.
            engine: what runs the study.
            needed: memory that runs are expected to need at a time, see `memory.at_once`.
        """
        self.machines: dict[str, Machine] = {}
        self._client = client
        self._engine = engine
        self._wanted = own(engine)
        self._room = Room(needed)
        self._known: set[str] = set()
        self._silent: dict[str, float] = {}
        self._numbers: dict[str, int] = {}
        self.workers = 0
        self.slots = 0

    def look(self) -> None:
        """Count the workers, and ask those that are new who they are.

        Raises:
            ClusterError: one of them cannot take part.
            TimeoutError: the scheduler does not answer.
        """
        found = apart(self._client.scheduler_info, SCHEDULER_S)["workers"]
        new = sorted(found.keys() - self._known)
        if new:
            self._check_versions(new)
            self._known |= self._check_answers(new, found)
        self.workers = len(found)
        self.slots = sum(one["nthreads"] for one in found.values())

    def number(self, address: str) -> int:
        """The number of a worker, by the order of first results."""
        return self._numbers.setdefault(address, len(self._numbers))

    def _check_versions(self, new: Sequence[str]) -> None:
        """By what each process says of itself, which takes no code of ours."""
        said = cast("dict[str, Any]", apart(self._client.get_versions, ANSWER_S))
        client = said["client"]["packages"]
        scheduler = (said.get("scheduler") or {}).get("packages")
        others = {"the scheduler": scheduler}
        others |= {
            f"worker {address}": (said["workers"].get(address) or {}).get("packages")
            for address in new
        }
        for who, packages in others.items():
            if packages is None:  # it has gone meanwhile
                continue
            for name in PROTOCOL:
                here, there = (_version(name, str(it.get(name))) for it in (client, packages))
                if here != there:
                    raise ClusterError(
                        f"{who} has {name} {there}, this process has {here}: "
                        "use the same environment on all machines"
                    )

    def _check_answers(self, new: Sequence[str], found: Mapping[str, Any]) -> set[str]:
        """Those that have answered; one that has not, and stays, is asked again, but not for long.

        Raises:
            ClusterError: it still does not, or one cannot take part.
        """
        asked = time.monotonic()
        answers = ask(self._client, question(), self._engine.name, workers=list(new))
        workers: dict[str, Worker] = {}
        for address in new:
            said = answers.get(address)
            if said is None:
                # It has gone meanwhile, or it reaches the scheduler and not the other way round.
                if time.monotonic() - self._silent.setdefault(address, asked) > SILENT_S:
                    raise ClusterError(
                        f"worker {address} does not answer there: the scheduler cannot reach it; "
                        "see that no firewall or translation of addresses is between"
                    )
                continue
            name, host, worker = f"worker {address} on {said['host']}", said["host"], found[address]
            self._check(name, said)
            self.machines.setdefault(host, Machine(host=host, **said["machine"]))
            limit = worker["memory_limit"] or 0
            workers[address] = Worker(name, host, worker["nthreads"], limit, said["memory"])
        self._room.look(found, workers)
        self._silent = {it: since for it, since in self._silent.items() if it in found}
        return workers.keys() & found.keys()

    def _check(self, who: str, said: Mapping[str, Any]) -> None:
        version = self._wanted.flashcrowd
        if "error" in said:
            raise ClusterError(
                f"{who} cannot run this engine ({said['error']}): "
                f"install flashcrowd {version} in its environment"
            )
        wrong = differing(self._wanted, Identity(**said["identity"]))
        if wrong:
            raise ClusterError(
                f"{who} has other code ({wrong}): install the same build on all machines"
            )


def ask(
    client: Client, function: Callable[..., Any], *given: Any, **options: Any
) -> dict[str, Any]:
    """The answers of workers to a function, by their address; in time, or not at all.

    Raises:
        ClusterError: no answer came in time.
    """
    options["on_error"] = "ignore"
    try:
        return apart(
            lambda: cast("dict[str, Any]", client.run(function, *given, **options)), ANSWER_S
        )
    except TimeoutError:
        raise ClusterError(
            f"no answer of all workers within {ANSWER_S:.0f} s: look at their logs"
        ) from None
    except Exception as error:
        raise ClusterError(f"workers could not be asked: {error}") from error


def apart(call: Callable[[], T], wait_s: float) -> T:
    """The result of a call of Dask's client, made in a thread of its own.

    A call that hangs, or is stopped, never answers. And where Ctrl-C meets a call that Dask has not
    begun yet, its own handler (`distributed.utils.sync`) fails, with a traceback on the terminal.

    Raises:
        TimeoutError: it has not returned after `wait_s` seconds.
    """
    result: list[T] = []
    failed: list[BaseException] = []

    def make() -> None:
        try:
            result.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=make, name="ask-dask", daemon=True)
    thread.start()
    thread.join(wait_s)
    if thread.is_alive():
        raise TimeoutError
    if failed:
        raise failed[0]
    return result[0]


def _version(name: str, text: str) -> str:
    return ".".join(text.split(".")[:2]) if name == "python" else text
