"""Where runs are carried out, as `--on` says it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.base.extras import named
from flashcrowd.engines import registry
from flashcrowd.study.progress import say

if TYPE_CHECKING:
    from flashcrowd.cluster.pool import Dask

FORMS = "dask://HOST:PORT, local:WORKERS, slurm:FILE.toml, oar:FILE.toml or enoslib:FILE.toml"
"""The forms of `--on`."""

CONNECT_S = 10.0
"""How long a scheduler has to answer, in seconds, whatever it says meanwhile, or does not say."""


@dataclass(frozen=True)
class Executor:
    """Where runs are carried out.

    Attributes:
        text: as it was written.
        kind: `dask`, `local`, `slurm`, `oar` or `enoslib`.
        address: of the scheduler, for `dask`.
        workers: how many, for `local`.
        file: options of the queue or the testbed, for `slurm`, `oar` and `enoslib`.
    """

    text: str
    kind: str
    address: str = ""
    workers: int = 0
    file: Path = Path()

    @classmethod
    def parse(cls, text: str) -> Executor:
        """Reads what `--on` says.

        Raises:
            ClusterError: it is none of `FORMS`.
        """
        if match := re.fullmatch(r"dask://([^\s/:]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})/?", text):
            return cls(text, "dask", address=f"tcp://{match[1]}:{match[2]}")
        if match := re.fullmatch(r"local:([1-9][0-9]{0,3})", text):
            return cls(text, "local", workers=int(match[1]))
        if match := re.fullmatch(r"(slurm|oar|enoslib):(.+)", text):
            return cls(text, match[1], file=Path(match[2]))
        raise ClusterError(f"--on {text}: {FORMS} is needed")

    @property
    def nodes(self) -> bool:
        """Whether whole shards go to nodes of a testbed, and not runs to workers."""
        return self.kind == "enoslib"

    @property
    def here(self) -> bool:
        """Whether all workers share this machine's memory."""
        return self.kind == "local"


@contextmanager
def opened(
    place: Executor,
    engine: str,
    force: bool = False,
    tell: Callable[[str], None] = say,
) -> Iterator[Dask]:
    """The pool of a place; its connections and its own workers end with the block.

    Args:
        place: where runs are carried out.
        engine: name of what runs them.
        force: compare no need of memory with the limits of workers.
        tell: receives what delays the runs.

    Raises:
        ClusterError: nothing can be carried out there.
        ModuleNotFoundError: an extra is missing; the message names it.
    """
    if place.nodes:
        raise ClusterError(f"--on {place.text}: shards go there, not runs: use `flashcrowd run`")
    if engine in registry.REAL_TIME:
        raise ClusterError(
            f"{engine} runs in real time and wants a machine for itself: "
            "use --shard on each machine, or --on enoslib:FILE.toml"
        )
    with named():
        import distributed  # noqa: F401

        from flashcrowd.cluster.pool import Dask
    with _silent(), ExitStack() as ends:
        look = ""
        if place.kind == "dask":
            client = ends.enter_context(_connected(place.address))
        elif place.kind == "local":
            from flashcrowd.cluster.local import local_workers

            client = ends.enter_context(local_workers(place.workers))
        else:
            from flashcrowd.cluster.queues import LOOK, queued_workers

            with named():
                client = ends.enter_context(queued_workers(place.kind, place.file, tell))
            look = LOOK[place.kind]
        yield Dask(client, place.text, force=force, tell=tell, look=look)


@contextmanager
def _connected(address: str):
    from distributed import Client

    from flashcrowd.cluster.crew import apart

    try:
        # The listener there may be something else, which never answers: Dask would wait for ever.
        client = apart(lambda: Client(address, timeout=CONNECT_S, set_as_default=False), CONNECT_S)
    except Exception as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}: start one there with `dask scheduler`, "
            f"or see whether this machine may reach it"
        ) from error
    with client:
        yield client


@contextmanager
def _silent() -> Iterator[None]:
    """Dask says on standard error what we say in one line; its loggers have levels of their own."""
    names = ["distributed", *logging.root.manager.loggerDict]
    loggers = [logging.getLogger(it) for it in names if it.partition(".")[0] == "distributed"]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
