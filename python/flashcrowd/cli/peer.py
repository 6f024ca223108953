"""`flashcrowd peer`: the simulation's peer in a real swarm."""

from __future__ import annotations

import json
import secrets
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TextIO

from cyclopts import Parameter

from flashcrowd import _core
from flashcrowd.base.amounts import duration, scaled
from flashcrowd.base.errors import FAILED, Unusable, did_you_mean
from flashcrowd.base.signals import stopped
from flashcrowd.base.stopping import attend
from flashcrowd.base.units import Rate, UnitError
from flashcrowd.cli.ending import kept
from flashcrowd.cli.values import from_on

EVERY_S = 10.0
"""Time between two lines about how far it is."""


def peer(
    torrent: Annotated[Path, Parameter(name="FILE.torrent", help="The torrent file.")],
    /,
    *,
    directory: Annotated[
        Path,
        Parameter(name=["--directory", "-d"], help="Where the files are, or will be."),
    ] = Path(),
    seed: Annotated[
        bool, Parameter(negative=(), help="Go on uploading when everything is there.")
    ] = False,
    upload_limit: Annotated[
        str | None, Parameter(help="The upload limit, as in 100kB/s; none if not given.")
    ] = None,
    profile: Annotated[
        str, Parameter(help="How it behaves: a client profile that ships.")
    ] = "mainline-4.0.2",
    bind: Annotated[
        str, Parameter(help="The IPv4 address that it listens at and connects from.")
    ] = "0.0.0.0",
    port: Annotated[int, from_on(0, "The TCP port; 0 takes a free one.", 65535)] = 6881,
    log: Annotated[
        Path | None,
        Parameter(help="A file for unchokes, pieces and gaps between sends, a JSON object a line."),
    ] = None,
    quiet: Annotated[
        bool, Parameter(name=["--quiet", "-q"], negative=(), help="Say only what went wrong.")
    ] = False,
) -> int:
    """Download a torrent with the rules of a simulated client, and log what it does.

    It speaks with other BitTorrent clients over TCP, and asks the torrent's tracker over HTTP. Each
    piece is checked before it counts. What is in the folder already is checked, and not fetched
    again. Ctrl-C leaves the swarm in good order, the second one at once; what came is kept.

    Exit status: 0 everything is there; 1 a file cannot be read or written; 2 wrong use; 130 after
    Ctrl-C and 143 after SIGTERM, if something is missing.
    """
    with ExitStack() as stack:
        lines = stack.enter_context(_written(log)) if log is not None else None
        client = _started(torrent, directory, profile, upload_limit, f"{bind}:{port}")
        watch = _Watch(client, seed, quiet, lines)
        watch.say(f"Listening at {client.address}, with the rules of {profile}.")
        if not client.has_tracker:
            watch.say("The torrent names no tracker: only peers that connect by themselves come.")
        client.join()
        attend(watch, watch.tick)
        watch.last()
        ended = _ended(client)
    if ended["complete"]:
        return 0
    print(kept(), file=sys.stderr)
    return stopped()


def _written(path: Path) -> TextIO:
    try:
        return path.open("w")
    except OSError as error:
        raise Unusable(f"--log {path}: {error.strerror or error}") from None


def _started(
    torrent: Path, folder: Path, profile: str, limit: str | None, bind: str
) -> _core.TorrentClient:
    """The client, which listens.

    Raises:
        Unusable: something that was named cannot be used.
    """
    profiles = json.loads(_core.client_profiles())
    if profile not in profiles:
        near = did_you_mean(profile, profiles) or f"one of {', '.join(profiles)}"
        raise Unusable(f"--profile {profile}: no such profile; {near}")
    try:
        upload = None if limit is None else Rate(limit).bps
    except UnitError as error:
        raise Unusable(f"--upload-limit {limit}: {error}") from None
    asked = {
        "torrent": str(torrent),
        "folder": str(folder),
        "profile": profiles[profile],
        "bind": bind,
        "upload_bps": upload,
        "seed": secrets.randbits(63),
        "trusted": False,
        "records": True,
    }
    if not torrent.is_file():
        raise Unusable(f"{torrent}: no such file; name a .torrent")
    try:
        return _core.TorrentClient(json.dumps(asked))
    except _core.PlanError as error:
        raise Unusable(f"--bind: {error}") from None
    except ValueError as error:
        raise Unusable(f"{error}; name a .torrent of files") from None
    except OSError as error:
        raise Unusable(f"--bind, --port {bind}: {error}; port 0 takes any that is free") from None


def _ended(client: _core.TorrentClient) -> dict[str, Any]:
    try:
        return json.loads(client.result())
    except OSError as error:
        print(f"{error}\n{kept()}", file=sys.stderr)
        raise SystemExit(FAILED) from None


@dataclass
class _Watch:
    """Tells what a client does, and ends it where nothing is missing."""

    client: _core.TorrentClient
    seed: bool
    quiet: bool
    log: TextIO | None
    began: float = field(default_factory=time.monotonic)
    said_at: float = field(default_factory=time.monotonic)
    pressed: int = 0
    trouble: str = ""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended."""
        return self.client.wait(seconds)

    def stop(self) -> None:
        """It leaves; the second time at once."""
        self.pressed += 1
        self.client.leave(told=self.pressed == 1)

    def say(self, text: str) -> None:
        """A line for people."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def tick(self) -> None:
        """Take what it tells."""
        for event in json.loads(self.client.take_events()):
            self._tell(event)
        now = time.monotonic()
        if now - self.said_at >= EVERY_S:
            self.said_at = now
            self.say(self._how_far())

    def last(self) -> None:
        """It has ended."""
        self.tick()
        self.say(self._how_far())

    def _tell(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if self.log is not None:
            started = {"started": event["started"] - self.began} if "started" in event else {}
            said = {"t_s": event.pop("at") - self.began, **event, **started}
            print(json.dumps(said), file=self.log, flush=True)
        if kind == "checked" and event["pieces"]:
            self.say(f"{event['pieces']} of {self.client.pieces} pieces are here.")
        elif kind == "no-tracker" and event["why"] != self.trouble:
            self.trouble = event["why"]
            print(f"The tracker does not answer: {self.trouble}", file=sys.stderr, flush=True)
        elif kind == "bad-piece":
            brought = " and ".join(event["from"])
            self.say(f"Piece {event['piece']} was wrong, of {brought}: it is fetched again.")
        whole = kind == "complete" or (kind == "checked" and event["pieces"] == self.client.pieces)
        if whole and not self.seed:
            self.client.leave()

    def _how_far(self) -> str:
        far = json.loads(self.client.progress())
        took = duration(time.monotonic() - self.began)
        return (
            f"{far['pieces']} of {self.client.pieces} pieces, {scaled(far['down'], 'B')} received, "
            f"{scaled(far['up'], 'B')} sent, {far['neighbours']} peers, in {took}"
        )
