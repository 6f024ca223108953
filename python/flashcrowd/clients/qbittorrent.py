"""qBittorrent: one headless process per peer, controlled by its configuration and its Web API."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from functools import cache
from urllib.parse import urlencode

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Client as Interface
from flashcrowd.client_api.clients import reach
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.clients import libtorrent
from flashcrowd.clients.client import Found, Job, Progress, bitfield
from flashcrowd.clients.daemon import Daemon, first_line
from flashcrowd.clients.host_sandbox import free_port
from flashcrowd.clients.process import last_lines
from flashcrowd.clients.rpc import Http, RpcError
from flashcrowd.clients.settings import (
    Settings,
    Transport,
    Unmet,
    Upload,
    asked,
    one_protocol,
    own_rules,
    values,
)

NAME = "qbittorrent"
TRANSPORTS: tuple[Transport, ...] = ("tcp", "utp")
ZERO_UPLOAD = False
REFRESH_MS = 500
"""How old its counters may be, unless the study says it (as it ships it is 1.5 s)."""
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_FAILED = ("error", "missingFiles")
_THERE = 2
"""The state of a piece that it has."""


@cache
def found() -> Found | None:
    """The program, if it is installed."""
    path = shutil.which("qbittorrent-nox")
    return None if path is None else first_line(NAME, ["--version"], path)


_WHOLE_SECONDS = ("connections.turnover",)
_WHOLE_PERCENT = (
    *(
        "connections.turnover_share",
        "connections.turnover_cutoff",
        "limiter.quota.watermark_factor",
    ),
)
_WHOLE_KIBIBYTES = ("limiter.quota.low_watermark", "limiter.quota.watermark")
OFFERED = (
    *("connections.max_connections", "connections.opened_per_second", "requests.backlog.max"),
    "connections.tcp_fallback",
    *("fast.suggest", "peer_exchange.enabled", "choker.slots", "choker.seed"),
    *("limiter.quota.header", "limiter.mixed_mode_algorithm", "super_seeding"),
    *(*_WHOLE_SECONDS, *_WHOLE_PERCENT, *_WHOLE_KIBIBYTES),
)
"""The keys of a profile for which its Web API has settings."""


def unmet(settings: Settings) -> Iterator[Unmet]:
    """Parts of the profile that qBittorrent has no setting for, though its libtorrent may have.

    All other settings are as libtorrent ships them.
    """
    rules = settings.rules
    if settings.transport == "utp" and not settings.falls_back:
        yield Unmet("transport", "utp", "uTP both ways: neighbours without uTP are not accepted")
    yield from one_protocol(settings)
    decided = {
        "connections.max_initiate": str(settings.max_connections),
        "connections.keepalive": "60 s of silence",
    }
    given = libtorrent.own(rules, decided)
    yield from own_rules(settings, *OFFERED, own=given)
    yield from libtorrent.rounded(rules, _WHOLE_SECONDS, _WHOLE_PERCENT)
    yield from libtorrent.header(settings)
    read, found = asked(rules), values(rules)
    for name in _WHOLE_KIBIBYTES:
        value, said = found[name]
        if name in read and value % 1024:
            yield Unmet(name, said, f"{_kibibytes(value) << 10} B")
    if rules["connections"]["opened_per_second"] is None:
        given = (
            f"30 at once, then up to {libtorrent.connection_speed(rules['connections'])} a second"
        )
        yield Unmet("connections.opened_per_second", "none", given)
    seeds = libtorrent.SEED_RULES
    if rules["choker"]["seed"] not in seeds:
        yield Unmet("choker.seed", rules["choker"]["seed"], next(iter(seeds)))


def _protocol(settings: Settings) -> int:
    """TCP and uTP (0), the first alone (1), the second alone (2), in both directions."""
    if settings.transport == "tcp":
        return 1
    return 0 if settings.falls_back else 2


def preferences(job: Job) -> dict[str, object]:
    """The preferences that it gets by its Web API."""
    settings = job.settings
    rules = settings.rules
    connections, quota = rules["connections"], rules["limiter"]["quota"]
    turns_over = connections["turnover_ns"] is not None
    return {
        "listen_port": job.port,
        "random_port": False,
        "current_interface_address": job.place.address,
        "upnp": False,
        "dht": False,
        "pex": settings.exchanges_peers,
        "lsd": False,
        "encryption": 2,  # none
        "bittorrent_protocol": _protocol(settings),
        "utp_tcp_mixed_mode": int(settings.tcp_yields),
        "limit_utp_rate": True,
        "limit_lan_peers": True,
        "limit_tcp_overhead": settings.counts_headers,
        "max_connec": settings.max_connections,
        "max_connec_per_torrent": settings.max_connections,
        "connection_speed": libtorrent.connection_speed(connections),
        "max_uploads": settings.slots,
        "max_uploads_per_torrent": settings.slots,
        "upload_slots_behavior": 0,
        "upload_choking_algorithm": libtorrent.SEED_RULES.get(rules["choker"]["seed"], 0),
        "peer_turnover": round(100 * connections["turnover_share"]) if turns_over else 0,
        "peer_turnover_cutoff": round(100 * connections["turnover_cutoff"]),
        "peer_turnover_interval": libtorrent.whole_s(connections["turnover_ns"]),
        "request_queue_size": settings.max_requests or 500,
        "enable_upload_suggestions": settings.suggests,
        "send_buffer_low_watermark": _kibibytes(quota["low_watermark"]),
        "send_buffer_watermark": _kibibytes(quota["watermark"]),
        "send_buffer_watermark_factor": round(100 * quota["watermark_factor"]),
        "enable_multi_connections_from_same_ip": False,
        "queueing_enabled": False,
        "max_ratio_enabled": False,
        "max_seeding_time_enabled": False,
        "preallocate_all": False,
        "refresh_interval": round(1e3 * settings.refresh_s) if settings.refresh_s else REFRESH_MS,
        "autorun_enabled": True,
    }


def super_seeds(job: Job) -> bool:
    """Whether its torrent is set to super-seeding."""
    return job.seed and bool(job.settings.rules["super_seeding"])


def torrent_options(job: Job) -> dict[str, str]:
    """The options of the profile that are set with its torrent."""
    return {"sequentialDownload": str(job.settings.sequential).lower()}


def _kibibytes(size: int) -> int:
    return max(round(size / 1024), 1)


class QBittorrent(Daemon):
    """One process."""

    program = NAME
    listens_first = True
    linger_s = 1.0

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._port = free_port(job.place)
        self._http = self.http = Http(job.place, self._port)
        self._told = False
        self._waits = super_seeds(job)
        self._hash = job.torrent.info_hash.hex()
        job.unmet.extend(unmet(job.settings))
        folder = job.folder / "qBittorrent" / "config"
        folder.mkdir(parents=True)
        given: dict[str, dict[str, str]] = {
            "LegalNotice": {"Accepted": "true"},
            "BitTorrent": {
                r"Session\Port": str(job.port),
                r"Session\InterfaceAddress": job.place.address,
                r"Session\DHTEnabled": "false",
                # It looks at this when it starts, and never again.
                r"Session\PeXEnabled": str(job.settings.exchanges_peers).lower(),
                r"Session\LSDEnabled": "false",
            },
            "Network": {"PortForwardingEnabled": "false"},
            "Preferences": {
                r"WebUI\Enabled": "true",
                r"WebUI\Address": "127.0.0.1",
                r"WebUI\Port": str(self._port),
                r"WebUI\UseUPnP": "false",
                r"WebUI\LocalHostAuth": "false",
                r"WebUI\HostHeaderValidation": "false",
                r"WebUI\CSRFProtection": "false",
            },
        }
        text = "".join(
            f"[{section}]\n" + "".join(f"{key}={value}\n" for key, value in keys.items()) + "\n"
            for section, keys in given.items()
        )
        (folder / "qBittorrent.conf").write_text(text)
        program = shutil.which("qbittorrent-nox") or "qbittorrent-nox"
        self.start([program, f"--profile={job.folder}"])

    def is_up(self) -> bool:
        """Whether it answers; if so, its preferences are set and read back."""
        if not self._told and self._http.is_up():
            asked = {**preferences(self.job), "autorun_program": self.hook_command}
            self._post("app/setPreferences", json=json.dumps(asked))
            limit = self.job.settings.upload
            self._post("transfer/setUploadLimit", limit=str(limit or 0))
            said = json.loads(self._get("app/preferences"))
            other = {key: said.get(key) for key, value in asked.items() if said.get(key) != value}
            if other:
                raise self.failure(f"it did not take preferences: {other}")
            self._told = True
        return self._told

    def add(self) -> None:
        """Give it the torrent."""
        fields = {
            "savepath": str(self.job.content.parent),
            "skip_checking": "true" if self.job.seed else "false",
            "seedMode": "true" if self.job.seed else "false",
            "contentLayout": "Original",
            "autoTMM": "false",
            **torrent_options(self.job),
            # A torrent can hide pieces only once it is added: until then it waits.
            "paused": str(self._waits).lower(),
            "stopped": str(self._waits).lower(),
        }
        boundary = "flashcrowd-boundary"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="torrents"; '
            'filename="content.torrent"\r\nContent-Type: application/x-bittorrent\r\n\r\n'
        )
        body = "".join(parts).encode() + head.encode() + self.job.torrent.metainfo.read_bytes()
        body += f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        said = self._ask("POST", "torrents/add", body, headers)
        # A status of success with this word in it is a failure of 4.x; later ones say 409, or
        # answer with nothing, or with how many there are.
        if said.strip() == b"Fails.":
            raise RpcError(f"torrents/add: {said[:100]!r}")

    def ask(self) -> Progress:
        """Its counters."""
        found = json.loads(self._get(f"torrents/info?hashes={self._hash}"))
        if not found:  # it is added in the background
            return self.progress
        if found[0]["state"] in _FAILED:
            raise self.failure(f"its torrent is in the state {found[0]['state']}")
        if self._waits:
            self._post("torrents/setSuperSeeding", hashes=self._hash, value="true")
            self._either("torrents/resume", "torrents/start")
            self._waits = False
        said = json.loads(self._get(f"torrents/properties?hash={self._hash}"))
        return Progress(
            at=time.monotonic(),
            # The totals over all sessions lack what came in the second before a pause.
            down=said["total_downloaded_session"],
            up=said["total_uploaded_session"],
            wasted=said["total_wasted"],
            pieces=said["pieces_have"],
            down_rate=said["dl_speed"],
            up_rate=said["up_speed"],
            neighbours=said["nb_connections"],
        )

    def has(self) -> int | None:
        """The pieces that it has, asked for now."""
        try:
            states = json.loads(self._get(f"torrents/pieceStates?hash={self._hash}"))
        except (RpcError, ValueError):
            return None
        return bitfield(it == _THERE for it in states)

    def last_lines(self) -> list[str]:
        """The last lines of its own log, which has more than what it writes to its outputs."""
        log = self.job.folder / "qBittorrent" / "data" / "logs" / "qbittorrent.log"
        return [*super().last_lines(), *last_lines(log)]

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        if upload == 0:
            raise self.failure("it cannot be told to upload nothing")
        self._try(lambda: self._post("transfer/setUploadLimit", limit=str(upload or 0)))

    def interface(self) -> Interface:
        """Its Web API, which lets every user of its host in."""
        return reach(Address(NAME, "127.0.0.1", self._port), Credentials(""))

    def drop(self) -> None:
        """Pause the torrent: it announces `stopped`."""
        self._either("torrents/pause", "torrents/stop")

    def _either(self, before: str, since: str) -> None:
        """One request, by its name before qBittorrent 5.0 and since."""
        major = int(self._get("app/version").lstrip(b"v").partition(b".")[0])
        self._post(since if major >= 5 else before, hashes=self._hash)

    def _get(self, path: str) -> bytes:
        return self._ask("GET", path, None, {})

    def _post(self, path: str, **form: str) -> bytes:
        return self._ask("POST", path, urlencode(form), _FORM)

    def _ask(
        self, method: str, path: str, body: bytes | str | None, headers: Mapping[str, str]
    ) -> bytes:
        said = self._http.ask(method, f"/api/v2/{path}", body, headers)
        if not said.succeeded:
            raise RpcError(f"{path}: status {said.status}, {said.body[:100]!r}")
        return said.body
