"""opentracker, where it is installed: a tracker that answers by rules of its own."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from flashcrowd.clients.client import ClientFailed, Found
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.clients.process import Process
from flashcrowd.clients.rpc import Http, RpcError
from flashcrowd.clients.settings import Unmet
from flashcrowd.plan.types import Tracker

NAME = "opentracker"
LISTEN_S = 10.0
NOBODY = 65534
"""The user without rights, on Linux."""


@cache
def found() -> Found | None:
    """The program, if it is installed. It tells no version."""
    path = shutil.which(NAME)
    return None if path is None else Found(NAME, "of unknown version", path)


def why_not() -> str | None:
    """Why it cannot run here; None if it can."""
    if found() is None:
        return "opentracker is not installed; apt install opentracker"
    if os.geteuid() == 0 and not _is_mapped(NOBODY):
        return (
            "opentracker refuses to be root, and this user namespace has no other user; run it as "
            "root outside of it, or leave the tracker's program out"
        )
    return None


def _is_mapped(user: int) -> bool:
    """Whether a user is one of this user namespace (`user_namespaces(7)`)."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    ranges = [tuple(map(int, line.split())) for line in lines]
    return any(first <= user < first + count for first, _, count in ranges)


def unmet(spec: Tracker) -> Iterator[Unmet]:
    """Rules of a plan's tracker that opentracker has no setting for."""
    rules = spec["rules"]

    def seconds(span_ns: int) -> str:
        return f"{span_ns / 1e9:g} s"

    asked = {
        "interval": (seconds(rules["interval_ns"]), "about 1800 s, drawn again for each answer"),
        "default_peers": (str(rules["default_peers"]), "50"),
        "max_peers": (str(rules["max_peers"]), "200"),
        "reshuffle": (seconds(rules["reshuffle_ns"]), "a random part of its list for each answer"),
        "seeds_to_seeds": (str(rules["seeds_to_seeds"]), "True"),
        "answer_delay": (seconds(spec["answer_delay_ns"]), "0 s"),
    }
    for name, (wanted, given) in asked.items():
        if wanted != given:
            yield Unmet(f"tracker.{name}", wanted, given)


class OpenTracker:
    """A tracker that answers when its construction is over; it dies with the calling thread."""

    program = NAME

    def __init__(self, place: HostSandbox, port: int, info_hash: bytes, folder: Path) -> None:
        """Start it.

        Raises:
            ClientFailed: it cannot run here, or does not answer within 10 s.
        """
        reason = why_not()
        if reason is not None:
            raise ClientFailed(reason)
        folder.mkdir(parents=True, exist_ok=True)
        known = folder / "known"
        known.write_text(info_hash.hex() + "\n")
        program = shutil.which(NAME) or NAME
        # It refuses to be root. It is in its folder already, which other users cannot enter.
        user = NOBODY if os.geteuid() == 0 else None
        folder.chmod(0o755)
        known.chmod(0o644)
        address = ["-i", place.address, "-p", str(port), "-P", str(port)]
        command = [program, *address, "-d", ".", "-w", "known"]
        try:
            self._process = Process(place, command, folder / "log", user=user)
        except OSError as error:
            raise ClientFailed(f"{NAME} on {place.name}: {error}") from None
        self.pid = self._process.pid
        self.url = f"http://{place.address}:{port}/announce"
        deadline = time.monotonic() + LISTEN_S
        while not _knows(place, port, info_hash):
            if time.monotonic() >= deadline or self.failure():
                lines = "".join(f"\n  {line}" for line in self._process.last_lines())
                ended = self._process.how_it_ended()
                self.close()
                raise ClientFailed(f"{NAME} on {place.name} does not answer: {ended}{lines}")
            time.sleep(0.02)

    def failure(self) -> str:
        """How its process ended; empty while it runs."""
        return "" if self._process.status() is None else self._process.how_it_ended()

    def close(self) -> None:
        """End it."""
        self._process.kill()


def _knows(place: HostSandbox, port: int, info_hash: bytes) -> bool:
    """Whether it answers for the torrent: it listens before it has read its list.

    An announce of `stopped` is not checked against the list: a probe peer comes and goes.
    """
    peer: dict[str, bytes | int | str] = {
        "info_hash": info_hash, "peer_id": bytes(20), "port": 1, "left": 1
    }  # fmt: skip
    http = Http(place, port, place.address)
    try:
        said = http.ask("GET", f"/announce?{urlencode(peer)}")
        if b"failure reason" in said.body:
            return False
        http.ask("GET", f"/announce?{urlencode(peer | {'event': 'stopped'})}")
    except RpcError:
        return False
    finally:
        http.close()
    return True
