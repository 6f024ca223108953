"""A flow of a transfer over libutp: a small driver of it (`crates/oracle`) on each host."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from flashcrowd.clients import ClientFailed
from flashcrowd.clients.client import Found
from flashcrowd.clients.process import Process
from flashcrowd.emulation.flow import Flow, FlowJob, Sender
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.utp_differences import differences, untold
from flashcrowd.plan.parts import utp_of

DRIVER = "flashcrowd-libutp"
REMEDY = "run make libutp in a checkout, which needs a C++ compiler"
READY_S = 10.0
_SAMPLE_S = 0.02


@cache
def found() -> Found | None:
    """The driver, if it is on the path or beside `flashcrowd`; its digest says of which libutp."""
    path = shutil.which(DRIVER) or shutil.which(DRIVER, path=Path(sys.executable).parent)
    if path is None:
        return None
    try:
        done = subprocess.run([path, "version"], capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    digest = sha256(Path(path).read_bytes()).hexdigest()[:8]
    return Found("libutp", f"{done.stdout.decode().strip()} {digest}", path)


class Told(TypedDict):
    """The report of an end; the driver has no RTT and no window where it only receives."""

    bytes: int
    ended_ns: int | None
    packets: int
    again: int
    timeouts: int
    rtt_ms: int | None
    window_bytes: int | None
    own_delay_ms: int | None


class LibutpFlow(Flow):
    """One process on each host; they report twenty times a second."""

    def __init__(self, job: FlowJob) -> None:
        super().__init__(job)
        self.unmet = [
            *differences(job.plan, job.spec, "libutp", ("ledbat.target_ns",)),
            *untold(job.plan, "libutp", ()),
        ]
        self._sender: _End | None = None
        self._receiver: _End | None = None
        self._looked_s = float("-inf")

    def prepare(self, hosts: Hosts, folder: Path) -> None:
        """Have the receiver listen.

        Raises:
            ClientFailed: it does not.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._remote = f"{hosts.places[self.spec['to']].address}:{self.job.port}"
        self._receiver = self._started(hosts, "to", "receive", self._remote)
        deadline = time.monotonic() + READY_S
        while not self._receiver.take():
            if time.monotonic() > deadline:
                raise ClientFailed(f"transfer {self.name}: libutp does not listen")
            time.sleep(0.005)

    def _started(self, hosts: Hosts, end: str, *words: str) -> _End:
        driver = found()
        if driver is None:
            raise ClientFailed(f"transfer {self.name}: {DRIVER} is gone")
        size = self.spec["size_bytes"]
        command = [driver.path, *words, *([] if size is None else [str(size)])]
        place = hosts.places[self.spec[end]]
        try:
            return _End(Process(place, command, self._folder / f"{words[0]}.log"))
        except OSError as error:
            raise ClientFailed(f"transfer {self.name}: {error}") from None

    def listen(self, hosts: Hosts, table: Timetable) -> None:
        """Start the sender, which waits for the instant at which it calls."""
        local = f"{hosts.places[self.spec['from']].address}:{self.job.port}"
        begin_ns = table.begin_ns + round(self.job.start_s * 1e9)
        target_ns = utp_of(self.job.plan, self.spec)["ledbat"]["target_ns"]
        words = (local, self._remote, str(begin_ns), str(target_ns // 1000))
        self._sender = self._started(hosts, "from", "send", *words)

    def start(self, table: Timetable) -> None:
        """It has called."""
        if self.ended_s is None:
            self._note_start(self.job.start_s)

    def limit(self, rate_bps: int | None, table: Timetable) -> None:
        """Plans that change it were refused."""

    def sample(self, table: Timetable, *, fresh: bool = False) -> None:
        """Read what both have written."""
        sender, receiver = self._sender, self._receiver
        if sender is None or receiver is None or self.started_s is None:
            return
        now = table.now()
        if self.ended_s is not None or (not fresh and now - self._looked_s < _SAMPLE_S):
            return
        self._looked_s = now
        told, heard = sender.take(), receiver.take()
        for end in (sender, receiver):
            if end.process.status() is not None:
                last = "; ".join(end.process.last_lines()[-1:])
                how = end.process.how_it_ended()
                self.failure = f"transfer {self.name}: libutp: {how}: {last}"
        self._note_received(heard["bytes"] if heard else 0)
        if told:
            rtt_ms = told["rtt_ms"]
            delay_ms = told["own_delay_ms"]
            info = Sender(
                srtt_s=rtt_ms / 1e3 if rtt_ms else None,
                cwnd_bytes=told["window_bytes"],
                segments=told["packets"],
                retransmits=told["again"],
                timeouts=told["timeouts"],
                own_delay_s=None if delay_ms is None else delay_ms / 1e3,
            )
            self._note_sender(now, info)
        # The last byte is read, or the sender has given up.
        ended = [it["ended_ns"] for it in (heard, told) if it and it["ended_ns"]]
        if ended:
            self._end(table, (ended[0] - table.begin_ns) / 1e9)

    def _close_connection(self) -> None:
        for end in (self._sender, self._receiver):
            if end is not None:
                end.process.kill()


class _End:
    """One process, and what it wrote last."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._read = 0
        self._rest = b""
        self._told: Told | None = None

    def take(self) -> Told | None:
        """Its last report; None before the first."""
        with self.process.log.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        self._read += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        # A line that is no JSON is the reason of its end.
        if told := [line for line in lines if line.startswith(b"{")]:
            self._told = json.loads(told[-1])
        return self._told
