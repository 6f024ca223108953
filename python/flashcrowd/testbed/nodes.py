"""The nodes of a testbed: what they must be able to do, and EnOSlib, which does it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.base.signals import how_it_ended
from flashcrowd.study.progress import say
from flashcrowd.testbed.options import Options

NAME = "{{ inventory_hostname }}"
"""In a path or a command: the name of each node."""

RELEASE_S = 120.0
"""How long a testbed has to take its nodes back, in seconds."""
_DYING_S = 5.0


@dataclass(frozen=True)
class Said:
    """The result of a command on a node: its exit status, and what it wrote."""

    status: int
    out: str = ""
    err: str = ""

    @property
    def line(self) -> str:
        """Why it failed: the last line that it wrote, of errors if there are any."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.status}"


Answers = Mapping[str, Said | None]
"""The answers of nodes, by their names; None of one that could not be reached."""


class Nodes(Protocol):
    """Machines that are reached by commands and files. In each text `NAME` is the node's name."""

    @property
    def names(self) -> Sequence[str]:
        """All nodes."""
        ...

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where each is reached by others."""
        ...

    def run(self, command: str, nodes: Sequence[str]) -> Answers:
        """Carry out a command of the shell."""
        ...

    def send(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        """Copy a file of this machine to nodes."""
        ...

    def fetch(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        """Copy a file of nodes to this machine."""
        ...


class EnOSlib:
    """Nodes that EnOSlib reserves and reaches, as a program of its own."""

    def __init__(self, driver: subprocess.Popen[str], log: Path, options: Options) -> None:
        self._driver = driver
        self._log = log
        self._asked = 0
        reserved = self._ask(
            provider=options.provider,
            configuration=options.configuration,
            role=options.role,
            keep=options.keep,
        )
        self.names: Sequence[str] = reserved["nodes"]
        self.addresses: Mapping[str, str] = reserved["addresses"]

    def run(self, command: str, nodes: Sequence[str]) -> Answers:
        """Carry out a command, see `Nodes.run`."""
        return self._all(do="run", command=command, nodes=nodes)

    def send(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        """Copy a file to nodes, see `Nodes.send`."""
        return self._all(do="send", source=source, target=target, nodes=nodes)

    def fetch(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        """Copy a file from nodes, see `Nodes.fetch`."""
        return self._all(do="fetch", source=source, target=target, nodes=nodes)

    def _all(self, nodes: Sequence[str], **order: Any) -> Answers:
        answers = self._ask(**order, nodes=list(nodes)) if nodes else {}
        given = {name: answers.get(name) for name in nodes}
        return {name: None if said is None else Said(**said) for name, said in given.items()}

    def _ask(self, **order: Any) -> dict[str, Any]:
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._asked += 1
        answer: dict[str, object] | None = None
        with suppress(BrokenPipeError):
            self._driver.stdin.write(json.dumps({"number": self._asked, **order}) + "\n")
            self._driver.stdin.flush()
            for line in self._driver.stdout:
                said = json.loads(line)
                if said["number"] == self._asked:  # others: abandoned after Ctrl-C
                    answer = said["answer"]
                    break
        if answer is None:
            lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            last = next((it.strip() for it in reversed(lines) if it.strip()), "it said nothing")
            with suppress(subprocess.TimeoutExpired):
                self._driver.wait(_DYING_S)
            status = self._driver.poll()
            ended = "closed its output" if status is None else how_it_ended(status)
            raise ClusterError(f"EnOSlib {ended}: {last}")
        if "error" in answer:
            raise ClusterError(f"EnOSlib: {answer['error']}")
        return answer


@contextmanager
def reserved(options: Options) -> Iterator[EnOSlib]:
    """The nodes that a file asks for, until the block ends.

    The driver has a session of its own, so that Ctrl-C reaches this process alone.

    Raises:
        ClusterError: there are none.
    """
    with tempfile.TemporaryDirectory(prefix="flashcrowd-") as scratch:
        log = Path(scratch) / "log"
        with log.open("wb") as said:
            driver = subprocess.Popen(
                [options.enoslib, str(Path(__file__).with_name("driver.py").absolute())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                cwd=scratch,
                start_new_session=True,
            )
        assert driver.stdin is not None
        assert driver.stdout is not None
        try:
            yield EnOSlib(driver, log, options)
        finally:
            with suppress(BrokenPipeError):
                driver.stdin.close()  # the driver gives the nodes back
            try:
                status = driver.wait(RELEASE_S)
                ended = how_it_ended(status) if status else ""
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()
                ended = f"did not end within {RELEASE_S:g} s"
            if ended and not options.keep:
                say(f"EnOSlib {ended}: see whether nodes are still reserved")
            driver.stdout.close()
