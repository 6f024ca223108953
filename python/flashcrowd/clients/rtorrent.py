"""rTorrent: one process per peer, controlled by its resource file and XML-RPC."""

from __future__ import annotations

import shutil
import time
import xmlrpc.client
from collections.abc import Iterator
from functools import cache
from typing import Any

from flashcrowd.clients.client import Found, Job, Progress
from flashcrowd.clients.daemon import Daemon, first_line
from flashcrowd.clients.rpc import RpcError, Scgi
from flashcrowd.clients.settings import OWN, Settings, Transport, Unmet, Upload, own_rules

NAME = "rtorrent"
TRANSPORTS: tuple[Transport, ...] = ("tcp",)
ZERO_UPLOAD = False
COUNTERS = (
    "d.down.total",
    "d.up.total",
    "d.skip.total",
    "d.completed_chunks",
    "d.down.rate",
    "d.up.rate",
    "d.peers_connected",
    "d.bitfield",
)
OFFERED = (
    *("connections.max_connections", "connections.max_initiate", "announce.numwant"),
    *("peer_exchange.enabled", "choker.slots", "super_seeding"),
)
"""The keys of a profile for which it has commands."""
_OWN = {
    "announce.min_peers": "connections.max_initiate, with half of those it knows of",
    "connections.keepalive": "120 s",
    "connections.timeout": "240 s",
}
"""Behaviour that no command changes, from its library's source (0.13.8: `receive_tracker_request`,
`receive_keepalive`).
"""
_MOST_PEERS = 1 << 16
PATH_MOST = 100
"""A Unix socket's path has at most 107 bytes (`unix(7)`)."""


@cache
def found() -> Found | None:
    """The program, if it is installed."""
    path = shutil.which("rtorrent")
    return None if path is None else first_line(NAME, ["-h"], path)


def unmet(settings: Settings) -> Iterator[Unmet]:
    """Parts of the profile that rTorrent has no setting for."""
    if settings.upload is not None and settings.upload % 1024:
        yield Unmet("upload", f"{settings.upload} B/s", f"{_kibibytes(settings.upload)} KiB/s")
    yield from own_rules(settings, *OFFERED, own=_OWN)
    if settings.rules["announce"]["numwant"] is None:
        yield Unmet("announce.numwant", "none", OWN)


def told(job: Job) -> list[str]:
    """Commands for the parts of the profile and the population that it offers."""
    settings = job.settings
    rules = settings.rules
    # It opens no connections, and requests no peers, once it has this number.
    initiate = min(int(rules["connections"]["max_initiate"]), _MOST_PEERS)
    lines = [
        f"protocol.pex.set = {'yes' if settings.exchanges_peers else 'no'}",
        f"throttle.max_uploads.set = {settings.slots}",
        f"throttle.max_uploads.global.set = {settings.slots}",
        f"throttle.max_peers.normal.set = {settings.max_connections}",
        f"throttle.max_peers.seed.set = {settings.max_connections}",
        f"throttle.min_peers.normal.set = {initiate}",
        f"throttle.min_peers.seed.set = {initiate}",
        f"throttle.global_up.max_rate.set_kb = {_kibibytes(settings.upload)}",
    ]
    if rules["announce"]["numwant"] is not None:
        lines.append(f"trackers.numwant.set = {rules['announce']['numwant']}")
    if rules["super_seeding"] and job.seed:
        lines.append("protocol.connection.seed.set = initial_seed")
    return lines


class RTorrent(Daemon):
    """One process."""

    program = NAME
    linger_s = 0.5

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        socket = job.folder / "scgi"
        if len(str(socket)) > PATH_MOST:
            raise self.failure(f"the path of its socket is too long: {socket}")
        self._rpc = Scgi(socket)
        self._hash = job.torrent.info_hash.hex().upper()
        job.unmet.extend(unmet(job.settings))
        session = job.folder / "session"
        session.mkdir()
        lines = [
            f'directory.default.set = "{job.content.parent}"',
            f'session.path.set = "{session}"',
            f"network.bind_address.set = {job.place.address}",
            f"network.local_address.set = {job.place.address}",
            f"network.port_range.set = {job.port}-{job.port}",
            "network.port_random.set = no",
            "dht.mode.set = disable",
            "protocol.encryption.set = none",
            "trackers.use_udp.set = no",
            *told(job),
            "pieces.hash.on_completion.set = no",
            "system.file.allocate.set = 0",
            "system.daemon.set = true",
            f'network.scgi.open_local = "{socket}"',
            "method.set_key = event.download.finished,complete,"
            f'"execute.nothrow=/bin/touch,{self.hook}"',
        ]
        rc = job.folder / "rtorrent.rc"
        rc.write_text("\n".join(lines) + "\n")
        program = shutil.which("rtorrent") or "rtorrent"
        self.start([program, "-n", "-o", f"import={rc}"], {"TERM": "dumb"})

    def is_up(self) -> bool:
        """Whether it answers."""
        return self._rpc.is_up()

    def add(self) -> None:
        """Give it the torrent. A seed hashes its file first."""
        metainfo = xmlrpc.client.Binary(self.job.torrent.metainfo.read_bytes())
        self._rpc("load.raw_start", "", metainfo)

    def ask(self) -> Progress:
        """Its counters."""
        calls = [{"methodName": name, "params": [self._hash]} for name in COUNTERS]
        answers: Any = self._rpc("system.multicall", calls)
        faults = [answer["faultString"] for answer in answers if isinstance(answer, dict)]
        if faults:
            raise RpcError(faults[0])
        down, up, skipped, pieces, down_rate, up_rate, neighbours, bitfield = (
            it[0] for it in answers
        )
        self._bits = int(bitfield or "0", 16)
        return Progress(
            at=time.monotonic(),
            down=down,
            up=up,
            wasted=skipped,
            pieces=pieces,
            down_rate=down_rate,
            up_rate=up_rate,
            neighbours=neighbours,
        )

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        if upload == 0:
            raise self.failure("it cannot be told to upload nothing")
        kibibytes = str(_kibibytes(upload))
        self._try(lambda: self._rpc("throttle.global_up.max_rate.set_kb", "", kibibytes))

    def drop(self) -> None:
        """Stop the torrent: it announces `stopped`."""
        self._rpc("d.stop", self._hash)


def _kibibytes(upload: Upload) -> int:
    """Units of 1024 B/s; 0 for unlimited."""
    return 0 if upload is None else max(upload // 1024, 1)
