"""Transmission: one daemon per peer, controlled by its settings file and its RPC."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Client as Interface
from flashcrowd.client_api.clients import reach
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.http import Answer
from flashcrowd.clients import elsewhere
from flashcrowd.clients.client import Found, Job, Progress
from flashcrowd.clients.daemon import Daemon, first_line
from flashcrowd.clients.host_sandbox import free_port
from flashcrowd.clients.rpc import Http, RpcError
from flashcrowd.clients.settings import Settings, Transport, Unmet, Upload, one_protocol, own_rules

NAME = "transmission"
TRANSPORTS: tuple[Transport, ...] = ("tcp", "utp")
ZERO_UPLOAD = True
FIELDS = (
    "downloadedEver",
    "uploadedEver",
    "corruptEver",
    "pieces",
    "rateDownload",
    "rateUpload",
    "peersConnected",
    "error",
    "errorString",
)
OFFERED = ("connections.max_connections", "peer_exchange.enabled", "choker.slots")
"""The keys of a profile for which it has settings."""
_OWN = {"connections.tcp_fallback": "true", "nagle": "true"}
"""Behaviour that no setting changes."""
_TOKEN = "X-Transmission-Session-Id"
_LOCAL_ERROR = 3


@cache
def found() -> Found | None:
    """The program, if it is installed."""
    path = shutil.which("transmission-daemon")
    return None if path is None else first_line(NAME, ["--version"], path)


def unmet(settings: Settings) -> Iterator[Unmet]:
    """Parts of the profile that Transmission has no setting for."""
    if settings.upload and settings.upload % 1000:
        yield Unmet("upload", f"{settings.upload} B/s", f"{_kilobytes(settings.upload)} kB/s")
    yield from one_protocol(settings)
    yield from own_rules(settings, *OFFERED, own=_OWN)


def told(job: Job) -> dict[str, object]:
    """The parts of the profile and the population that its settings file has."""
    settings = job.settings
    return {
        "pex-enabled": settings.exchanges_peers,
        "utp-enabled": settings.transport == "utp",
        "peer-limit-global": settings.max_connections,
        "peer-limit-per-torrent": settings.max_connections,
        "upload-slots-per-torrent": settings.slots,
        **_limits(settings.upload),
    }


class Transmission(Daemon):
    """One daemon."""

    program = NAME
    listens_first = True
    # Announces are sent in the daemon's own time, once a second, and not at its end.
    linger_s = 2.5

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._port = free_port(job.place)
        self._http = self.http = Http(job.place, self._port)
        self._token = ""
        self._id = 0
        job.unmet.extend(unmet(job.settings))
        script = job.folder / "complete.sh"
        script.write_text(f"#!/bin/sh\nexec {self.hook_command}\n")
        script.chmod(0o755)
        given = {
            "bind-address-ipv4": job.place.address,
            "bind-address-ipv6": "::1",
            "peer-port": job.port,
            "peer-port-random-on-start": False,
            "port-forwarding-enabled": False,
            "dht-enabled": False,
            "lpd-enabled": False,
            "encryption": 0,
            "download-dir": str(job.content.parent),
            "incomplete-dir-enabled": False,
            "preallocation": 0,
            "rename-partial-files": False,
            "ratio-limit-enabled": False,
            "idle-seeding-limit-enabled": False,
            "download-queue-enabled": False,
            "seed-queue-enabled": False,
            "rpc-enabled": True,
            "rpc-bind-address": "127.0.0.1",
            "rpc-port": self._port,
            "rpc-authentication-required": False,
            "rpc-whitelist-enabled": False,
            "rpc-host-whitelist-enabled": False,
            "script-torrent-done-enabled": True,
            "script-torrent-done-filename": str(script),
            "message-level": 1,
            **told(job),
        }
        (job.folder / "settings.json").write_text(json.dumps(given))
        program = shutil.which("transmission-daemon") or "transmission-daemon"
        # It would look for the web interface in the home of the user that runs this.
        self.start([program, "--foreground", "--config-dir", job.folder])

    def is_up(self) -> bool:
        """Whether it answers; the first answer has its token."""
        if not self._http.is_up():
            return False
        if not self._token:
            self._call("session-get", fields=["version"])
        return True

    def add(self) -> None:
        """Give it the torrent. A seed hashes its file first."""
        metainfo = base64.b64encode(self.job.torrent.metainfo.read_bytes()).decode()
        answer = self._call("torrent-add", metainfo=metainfo, paused=False)
        self._id = answer["torrent-added"]["id"]

    def ask(self) -> Progress:
        """Its counters."""
        said = self._call("torrent-get", ids=[self._id], fields=list(FIELDS))["torrents"][0]
        if said["error"] == _LOCAL_ERROR:
            raise self.failure(said["errorString"])
        self._bits = int.from_bytes(base64.b64decode(said["pieces"]), "big")
        return Progress(
            at=time.monotonic(),
            down=said["downloadedEver"] + said["corruptEver"],
            up=said["uploadedEver"],
            pieces=self._bits.bit_count(),
            down_rate=said["rateDownload"],
            up_rate=said["rateUpload"],
            neighbours=said["peersConnected"],
        )

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        self._try(lambda: self._call("session-set", **_limits(upload)))

    def interface(self) -> Interface:
        """Its RPC, which lets every user of its host in."""
        return reach(Address(NAME, "127.0.0.1", self._port), Credentials(""))

    def drop(self) -> None:
        """Stop the torrent: it announces `stopped`."""
        self._call("torrent-stop", ids=[self._id])

    def _call(self, method: str, **arguments: Any) -> Any:
        message = json.dumps({"method": method, "arguments": arguments})
        said = self._post(message)
        if said.status == 409:
            # The daemon's guard against forged requests: the token comes with the refusal.
            self._token = said.headers.get(_TOKEN.lower(), "")
            # It locks a file of this name, by which others know that it runs on their machine.
            elsewhere.note(self.job.folder, Path(f"/tmp/tr_session_id_{self._token}"))
            said = self._post(message)
        try:
            answer = json.loads(said.body)
        except ValueError:
            raise RpcError(f"{method}: status {said.status}") from None
        if answer["result"] != "success":
            raise RpcError(f"{method}: {answer['result']}")
        return answer["arguments"]

    def _post(self, message: str) -> Answer:
        headers = {"Content-Type": "application/json", _TOKEN: self._token}
        return self._http.ask("POST", "/transmission/rpc", message, headers)


def _limits(upload: Upload) -> dict[str, object]:
    """The settings of an upload limit; a limit of zero is one."""
    return {"speed-limit-up": _kilobytes(upload), "speed-limit-up-enabled": upload is not None}


def _kilobytes(upload: Upload) -> int:
    """Units of 1000 B/s; 0 for none."""
    return max(upload // 1000, 1) if upload else 0
