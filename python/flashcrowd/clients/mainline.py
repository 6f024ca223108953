"""The simulation's own peer as a client: the same rules over this kernel's TCP, a thread a peer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import flashcrowd
from flashcrowd import _core
from flashcrowd.clients.client import Client, Found, Job, Progress, Unchoke
from flashcrowd.clients.host_sandbox import entered
from flashcrowd.clients.settings import Settings, Transport, Unmet, Upload, own_rules, values
from flashcrowd.plan.types import Settings as Rules

NAME = "mainline-4.0.2"
TRANSPORTS: tuple[Transport, ...] = ("tcp",)
ZERO_UPLOAD = True
ASK_S = 1.0
"""How often it is asked for its counters."""
GRACE_S = 2.0
"""How long one that is killed may take to close its sockets."""
_OWN = {
    "connections.candidates": "an order of its own",
    "limiter.hand_over": "room",
    "peer_exchange.enabled": "false",
}
"""Profile keys that it decides by itself: it knows others by numbers, which no one else has."""
_LISTED = ("connections.tcp_fallback", "control_behind_piece", "requests.stamped", *_OWN)
_LAST = 12


@cache
def found() -> Found | None:
    """It comes with this package, for Linux."""
    if not hasattr(_core, "TorrentClient"):
        return None
    return Found(NAME, flashcrowd.__version__, _core.__file__)


def unmet(settings: Settings) -> Iterator[Unmet]:
    """The few keys of a profile that it does not follow."""
    offered = values(settings.rules).keys() - set(_LISTED)
    # "last-named" is the order in which the tracker named them.
    own = dict(_OWN)
    if settings.rules["connections"].get("candidates") == "last-named":
        del own["connections.candidates"]
        offered |= {"connections.candidates"}
    yield from own_rules(settings, *offered, own=own)


def told(job: Job) -> Rules:
    """The profile as passed to the client."""
    rules: Any = deepcopy(job.settings.rules)
    rules["control_behind_piece"] = True
    rules["requests"]["stamped"] = False
    rules["limiter"]["hand_over"] = "room"
    rules["peer_exchange"]["enabled"] = False
    return rules


def _bps(upload: Upload) -> int | None:
    return None if upload is None else 8 * upload


class Mainline(Client):
    """One thread of this process."""

    program = NAME

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        job.unmet.extend(unmet(job.settings))
        self._lines: list[str] = []
        self._asked_at = 0.0
        self._joined = self._left = False
        asked = {
            "torrent": str(job.torrent.metainfo),
            "folder": str(job.content.parent),
            "profile": told(job),
            "bind": f"{job.place.address}:{job.port}",
            "upload_bps": _bps(job.settings.upload),
            "seed": job.draws,
            "trusted": job.seed,
            "records": True,
        }
        try:
            # Its thread begins where the thread is that makes it, and opens its sockets there.
            with entered(job.place.netns):
                self._client = _core.TorrentClient(json.dumps(asked))
        except OSError as error:
            self._lines.append(str(error))
            raise self.failure(f"it does not listen at {asked['bind']}") from None

    def is_ready(self) -> bool:
        """Whether it has looked at its folder."""
        self._alive()
        return self._asked()["phase"] != "checking"

    def join(self) -> None:
        """Enter the swarm."""
        self._joined = True
        self._client.join()

    def look(self) -> None:
        """Take what it tells, and its counters once a second."""
        self._alive()
        self._take_events()
        now = time.monotonic()
        if self._joined and now - self._asked_at >= ASK_S:
            self._asked_at = now
            self._count()

    def has(self) -> int | None:
        """The pieces that it has now."""
        return int.from_bytes(self._client.has(), "big")

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        self._client.limit(_bps(upload))

    def leave(self, *, told: bool = True) -> None:
        """It closes its connections, and ends when its tracker knows."""
        if not self._left:
            self._left = True
            self._client.leave(told=told)

    def is_closed(self) -> bool:
        """Whether its thread has ended."""
        if not self._client.wait(0.0):
            return False
        self._take_events()
        self._count()
        return True

    def kill(self) -> None:
        """Its thread ends at once."""
        self._left = True
        self._client.leave(told=False)
        self._client.wait(GRACE_S)

    def last_lines(self) -> list[str]:
        """The latest of its troubles."""
        return self._lines[-_LAST:]

    def _asked(self) -> dict[str, Any]:
        return json.loads(self._client.progress())

    def _alive(self) -> None:
        if self._left or not self._client.wait(0.0):
            return
        try:
            self._client.result()
        except OSError as error:
            raise self.failure(str(error)) from None
        raise self.failure("it has ended")

    def _count(self) -> None:
        said, before = self._asked(), self.progress
        now = time.monotonic()
        span = max(now - before.at, 1e-3)
        self.progress = Progress(
            at=now,
            down=said["down"],
            up=said["up"],
            wasted=said["wasted"],
            pieces=said["pieces"],
            down_rate=round((said["down"] - before.down) / span),
            up_rate=round((said["up"] - before.up) / span),
            neighbours=said["neighbours"],
            interested=said["interested"],
            unchoking=said["unchoking"],
        )

    def _take_events(self) -> None:
        for event in json.loads(self._client.take_events()):
            match event["event"]:
                case "have" if not self.job.seed:
                    self.have.append((event["piece"], event["at"]))
                case "complete":
                    self.completed_at = event["at"]
                case "unchoke":
                    self.unchokes.append(Unchoke(**{name: event[name] for name in Unchoke.FIELDS}))
                case "send-gaps":
                    self.send_gaps = {int(gap): count for gap, count in event["count"].items()}
                case "bad-piece" | "violation" | "no-tracker":
                    self._lines.append(json.dumps(event))
                    del self._lines[:-_LAST]
                case _:
                    pass
