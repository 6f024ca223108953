"""Downloads: `flashcrowd fetch` on a host, and the server of `flashcrowd serve` on the others.

The program divides the file by the rules of the simulation, and tells what each server has brought.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.messages import decoded, encoded
from flashcrowd.clients import ClientFailed
from flashcrowd.clients.process import Process
from flashcrowd.content_server import begin
from flashcrowd.emulation.app import Context, Ruled
from flashcrowd.emulation.fetcher import Brought, Ended, Fetch, Waiting
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.parts import workload
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import Change, DownloadWorkload

READY_S = 60.0
"""A program that is not ready after this time never will be, in seconds."""
_LOOK_S = 0.02
_FILE = "image"
_PIECE = 1 << 20


class Downloads(Ruled[_core.DownloadRules]):
    """The downloads of a run."""

    kind = "download"

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterator[str]:
        """Why fetch cannot play a download."""
        spec = workload(plan, index, DownloadWorkload)
        where = study_place("workloads", spec)
        if "utp" in (spec["transport"] or {}):
            yield f"{where}: fetch goes over the kernel's TCP; give it a TCP stack"
        if not spec["use_head"]:
            yield f"{where}: fetch asks each server by HEAD first; write use_head = true"

    def __init__(self, context: Context) -> None:
        rules = _core.DownloadRules(context.plan, context.seed)
        self._downloads = {
            index: Download(rules, index, spec, context, self._one_ended)
            for index, spec in context.workloads(DownloadWorkload)
        }
        super().__init__(rules, self._downloads)
        self._context = context

    def prepare(self) -> None:
        """Make the files, and have servers and programs wait."""
        for index, download in self._downloads.items():
            download.prepare(self._context.folder / f"download-{index}")

    def change(self, change: Change, table: Timetable) -> None:
        """A download that is stopped brings no more."""
        if change["kind"] == "stop" and change["workload"] in self._downloads:
            self._downloads[change["workload"]].stop(table)

    def _one_ended(self) -> None:
        wrong = (it.failure for it in self._downloads.values() if it.failure)
        self.failure = self.failure or next(wrong, "")
        self._context.ended()

    @property
    def is_finite(self) -> bool:
        """Whether there is a download."""
        return bool(self._downloads)

    @property
    def is_done(self) -> bool:
        """Whether all have ended."""
        return self._rules.is_done()

    def progress(self, now_s: float) -> float:
        """How far the one is that is furthest behind."""
        del now_s
        return self._rules.progress()

    def unfinished(self) -> list[str]:
        """A line for each that has not ended."""
        return self._rules.unfinished()

    @property
    def payload_bytes(self) -> int:
        """Bytes of files that have arrived."""
        return self._rules.payload_bytes()

    @property
    def kernels(self) -> set[int]:
        """The hosts of servers and of those who download."""
        return {host for it in self._downloads.values() for host in it.hosts}

    def cut_off(self, now_s: float) -> None:
        """Count the bytes that have come by now."""
        del now_s
        for download in self._downloads.values():
            download.look()

    def finish(self) -> None:
        """Compare what was downloaded with what the servers have."""
        for download in self._downloads.values():
            download.verify()

    def close(self) -> None:
        """End programs and servers."""
        for download in self._downloads.values():
            download.close()


class Download:
    """One download: its program, and a server on each host that has the file.

    Attributes:
        failure: why the run cannot go on; empty while it can.
    """

    def __init__(
        self,
        rules: _core.DownloadRules,
        index: int,
        spec: DownloadWorkload,
        context: Context,
        ended: Callable[[], None],
    ) -> None:
        found = rules.download(index)
        assert found is not None
        self.failure = ""
        self._place, self._start_s = found
        self._rules, self._spec, self._context, self._ended = rules, spec, context, ended
        self._ports = [next(context.ports) for _ in self._servers]
        self._running: list[_core.ContentServer] = []
        self._program: Process | None = None
        self._read = 0
        self._over = False
        self._begin_ns = 0
        self._last_s = self._start_s
        """When the last byte came so far."""
        self._whole = False

    @property
    def _servers(self) -> list[int]:
        return [self._spec["from"], *self._spec["mirrors"]]

    @property
    def hosts(self) -> list[int]:
        """The hosts of the servers, and the one that downloads."""
        return [*self._servers, self._spec["to"]]

    def prepare(self, folder: Path) -> None:
        """Make the file, have the servers listen, and the program wait.

        Raises:
            ClientFailed: the program cannot be started.
            Unable: a server cannot begin.
            OSError: what the system refused.
        """
        served, self._folder = folder / "served", folder
        served.mkdir(parents=True)
        stream = random.Random(f"{self._context.seed} {self._spec['name']}")
        left = self._spec["size_bytes"]
        with (served / _FILE).open("wb") as file:
            while left:
                file.write(stream.randbytes(min(left, _PIECE)))
                left -= min(left, _PIECE)
        settings = {
            "root": str(served),
            "direct": False,
            # The file's own time and length make its tag, which all servers share.
            "digests": False,
            "limits": {"drain_s": 1.0, "send_buffer_bytes": None},
        }
        hosts = self._context.hosts
        for server, port in zip(self._servers, self._ports, strict=True):
            with hosts.inside(server) as place:
                self._running.append(begin(settings, [f"{place.address}:{port}"]))
        os.mkfifo(folder / "order")
        # Open at both ends, so that neither end waits for the other.
        self._order = os.open(folder / "order", os.O_RDWR | os.O_CLOEXEC)
        command = [sys.executable, "-m", "flashcrowd.emulation.fetcher", str(folder / "order")]
        try:
            place = hosts.places[self._spec["to"]]
            env = {"no_proxy": "*", "NO_PROXY": "*"}
            self._program = Process(place, command, folder / "fetch.log", env)
        except OSError as error:
            raise ClientFailed(f"download {self._spec['name']}: {error}") from None
        deadline = time.monotonic() + READY_S
        while not any(isinstance(it, Waiting) for it in self._told()):
            if self._program.status() is not None or time.monotonic() > deadline:
                raise ClientFailed(self._dead(self._program))
            time.sleep(0.005)

    def open(self, table: Timetable) -> None:
        """Say when to begin."""
        places = self._context.hosts.places
        ends = zip(self._servers, self._ports, strict=True)
        order = Fetch(
            table.begin_ns + round(self._start_s * 1e9),
            [f"http://{places[host].address}:{port}/{_FILE}" for host, port in ends],
            str(self._folder / _FILE),
            self._spec["connections"],
            self._spec["range_bytes"],
            self._spec["least_split_bytes"],
        )
        os.write(self._order, encoded(order))
        self._begin_ns = table.begin_ns

    def start(self, table: Timetable) -> None:
        """Look after it from its begin on."""
        table.at(self._start_s, lambda: self._begin(table))
        if self._spec["stop_ns"] is not None:
            table.at(self._spec["stop_ns"] / 1e9, lambda: self.stop(table))

    def _begin(self, table: Timetable) -> None:
        self._rules.begin(self._start_s, self._place)
        self._watch(table)

    def _watch(self, table: Timetable) -> None:
        self.look()
        if not self._over:
            table.at(table.now() + _LOOK_S, lambda: self._watch(table))

    def stop(self, table: Timetable) -> None:
        """It brings no more."""
        self.look()
        if not self._over:
            self._end(table.now(), "stopped")

    def look(self) -> None:
        """Read what the program has reported."""
        program = self._program
        if self._over or program is None or not self._begin_ns:
            return
        # Its end is seen before its last words are read.
        ended = program.status() is not None
        for said in self._told():
            if isinstance(said, Brought):
                self._observe(said)
            elif isinstance(said, Ended):
                self._whole = not said.error
                if self._whole:
                    self._end(self._last_s, "whole")
                else:
                    self._end((said.at_ns - self._begin_ns) / 1e9, "lost")
        if ended and not self._over:
            self.failure = self._dead(program)
            self._over = True
            self._ended()

    def _observe(self, brought: Brought) -> None:
        since_s = (brought.begin_ns - self._begin_ns) / 1e9
        asked, first, last = (
            None if it is None else since_s + it
            for it in (brought.asked_s, brought.first_byte_s, brought.last_byte_s)
        )
        self._rules.observe(
            self._place,
            brought.server,
            brought.connections,
            brought.lost,
            brought.ranges,
            brought.bytes,
            (asked, first, last),
        )
        self._last_s = max(self._last_s, last or 0.0)

    def _end(self, now_s: float, how: str) -> None:
        self._over = True
        self._rules.end(now_s, self._place, how)
        if self._program is not None:
            self._program.kill()
        self._ended()

    def _told(self) -> Iterator[Waiting | Brought | Ended]:
        """Messages of the program since the last call, without those to people."""
        assert self._program is not None
        with self._program.log.open("rb") as log:
            log.seek(self._read)
            whole, newline, _ = log.read().rpartition(b"\n")
        self._read += len(whole) + len(newline)
        for line in whole.split(b"\n"):
            if line.startswith(b"{"):
                yield decoded(line, Waiting, Brought, Ended)

    def _dead(self, program: Process) -> str:
        last = "; ".join(program.last_lines()[-1:])
        return f"download {self._spec['name']}: fetch: {program.how_it_ended()}: {last}"

    def verify(self) -> None:
        """Whether what was downloaded is what the servers have.

        Raises:
            ClientFailed: it is not.
        """
        served = self._folder / "served" / _FILE
        if self._whole and _digest(self._folder / _FILE) != _digest(served):
            raise ClientFailed(f"download {self._spec['name']}: it brought other bytes")

    def close(self) -> None:
        """End the program and the servers."""
        if self._program is not None:
            self._program.kill()
            os.close(self._order)
            self._program = None
        for server in self._running:
            server.stop()
            server.stop()  # at once


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
