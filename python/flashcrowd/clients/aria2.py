"""aria2: one process per peer, controlled by options and JSON-RPC."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from flashcrowd.clients.client import Found, Job, Progress
from flashcrowd.clients.daemon import Daemon, first_line
from flashcrowd.clients.host_sandbox import free_port
from flashcrowd.clients.rpc import Http, RpcError, json_rpc
from flashcrowd.clients.settings import (
    Settings,
    Transport,
    Unmet,
    Upload,
    own_rules,
)

NAME = "aria2"
TRANSPORTS: tuple[Transport, ...] = ("tcp",)
ZERO_UPLOAD = False
FIELDS = (
    "completedLength",
    "uploadLength",
    "downloadSpeed",
    "uploadSpeed",
    "bitfield",
    "connections",
    "status",
    "errorCode",
    "errorMessage",
)
OFFERED = ("connections.max_connections", "peer_exchange.enabled")
"""The keys of a profile for which it has options."""
_OWN = {
    "announce.numwant": "50",
    "connections.keepalive": "120 s",
    "connections.timeout": "180 s",
    "nagle": "true",
    "requests.request_timeout": "60 s",
}
"""Behaviour that no option changes, from its source (1.36: `OptionHandlerFactory`, whose hidden
ones neither the command line nor a file may set, and `DefaultBtAnnounce`).
"""
_STOPPED = "31"
"""The code of a download that was removed, as `aria2.remove` does."""


@cache
def found() -> Found | None:
    """The program, if it is installed."""
    path = shutil.which("aria2c")
    return None if path is None else first_line(NAME, ["--version"], path)


def unmet(settings: Settings) -> Iterator[Unmet]:
    """Parts of the profile that aria2 has no setting for: most of it."""
    return own_rules(settings, *OFFERED, own=_OWN)


def told(job: Job) -> dict[str, object]:
    """Options for the parts of the profile and the population that it offers."""
    settings = job.settings
    return {
        "enable-peer-exchange": str(settings.exchanges_peers).lower(),
        "bt-max-peers": settings.max_connections,
        "max-overall-upload-limit": settings.upload or 0,
    }


class Aria2(Daemon):
    """One process."""

    program = NAME

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._port = free_port(job.place)
        self._http = self.http = Http(job.place, self._port)
        self._gid = ""
        job.unmet.extend(unmet(job.settings))
        script = job.folder / "complete.sh"
        script.write_text(f"#!/bin/sh\nexec {self.hook_command}\n")
        script.chmod(0o755)
        self.start(
            [
                shutil.which("aria2c") or "aria2c",
                "--no-conf=true",
                f"--dir={job.content.parent}",
                "--enable-rpc=true",
                f"--rpc-listen-port={self._port}",
                f"--interface={job.place.address}",
                f"--listen-port={job.port}",
                "--disable-ipv6=true",
                "--enable-dht=false",
                "--enable-dht6=false",
                "--bt-enable-lpd=false",
                "--bt-require-crypto=false",
                "--bt-min-crypto-level=plain",
                "--file-allocation=none",
                "--allow-overwrite=true",
                # The file that a seed brings is right: no hash of it at the start.
                f"--bt-seed-unverified={'true' if job.seed else 'false'}",
                "--seed-ratio=0.0",
                "--follow-torrent=false",
                "--no-netrc=true",
                "--console-log-level=notice",
                "--summary-interval=0",
                *(f"--{option}={value}" for option, value in told(job).items()),
                f"--on-bt-download-complete={script}",
            ]
        )

    def is_up(self) -> bool:
        """Whether it answers."""
        return self._http.is_up()

    def add(self) -> None:
        """Give it the torrent."""
        metainfo = base64.b64encode(self.job.torrent.metainfo.read_bytes()).decode()
        self._gid = self._call("aria2.addTorrent", metainfo, [], {})

    def ask(self) -> Progress:
        """Its counters.

        It counts what it has, not what it received: a block that came twice is not in it.
        """
        said = self._call("aria2.tellStatus", self._gid, list(FIELDS))
        if said["status"] == "error" and said.get("errorCode") != _STOPPED:
            raise self.failure(said.get("errorMessage", "error"))
        if said["status"] == "complete" and not self._left:
            # One that cannot bind its port and has the file takes its download for complete.
            raise self.failure("it has the file, and shares it no more")
        self._bits = int(said.get("bitfield") or "0", 16)
        return Progress(
            at=time.monotonic(),
            down=0 if self.job.seed else int(said["completedLength"]),
            up=int(said["uploadLength"]),
            pieces=self._bits.bit_count(),
            down_rate=int(said["downloadSpeed"]),
            up_rate=int(said["uploadSpeed"]),
            neighbours=int(said.get("connections", 0)),
        )

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        if upload == 0:
            raise self.failure("it cannot be told to upload nothing")
        options = {"max-overall-upload-limit": str(upload or 0)}
        self._try(lambda: self._call("aria2.changeGlobalOption", options))

    def drop(self) -> None:
        """Stop the download: it announces `stopped`, if the tracker can be reached."""
        self._call("aria2.remove" if self._told else "aria2.forceRemove", self._gid)

    def quit(self) -> None:
        """It ends within 3 s, after its announces; a signal ends it without them.

        It waits for an answer to an announce that is on its way, a minute and longer, unless the
        download was removed by force. Where the network has ended none comes.
        """
        if not self._told:
            super().quit()
            return
        try:
            self._call("aria2.shutdown")
        except RpcError:
            super().quit()

    def _call(self, method: str, *arguments: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": "1", "method": method, "params": list(arguments)}
        answer = json_rpc(self._http, "/jsonrpc", message)
        if "error" in answer:
            raise RpcError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]
