"""BiglyBT, the heir of Azureus: one Java machine per peer, set by its configuration and console."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from flashcrowd.autolimit.session import Status
from flashcrowd.base.errors import shown_line
from flashcrowd.clients import bencode, dht_node
from flashcrowd.clients.client import Found, Job, Progress, bitfield
from flashcrowd.clients.controller import Asked
from flashcrowd.clients.daemon import Daemon
from flashcrowd.clients.host_sandbox import HostSandbox, free_port
from flashcrowd.clients.rpc import RpcError, Telnet
from flashcrowd.clients.settings import Settings, Transport, Unmet, Upload, own_rules

NAME = "biglybt"
TRANSPORTS: tuple[Transport, ...] = ("tcp",)
"""Its uTP is a plugin, which the package lacks."""
ZERO_UPLOAD = False
OWN_CONTROLS = {"auto-speed-v1": 1, "auto-speed-v2": 2}
"""The upload controllers of a plan that it has by itself, with its number for each."""
LEAST_NODES = 3
"""It looks for the best of this number of nodes of its DHT before it pings one."""
OFFERED = (
    *("connections.max_connections", "connections.drop_seed_to_seed"),
    *("peer_exchange.enabled", "choker.slots", "super_seeding"),
)
"""The keys of a profile for which it has settings."""
_OWN = {
    "choker.optimistic_rounds": "3",
    "choker.round": "10 s",
    "nagle": "true",
}
"""Behaviour that no setting changes, from its source (3.2.0: `PEPeerControlImpl.doUnchokes`,
`TCPTransportHelper`).
"""
_LEAST_SLOTS = 2
_LEAST_KIBIBYTES = 5
"""Below this upload limit (`CONFIG_DEFAULT_MIN_MAX_UPLOAD_SPEED`) it limits downloads, too."""
_PLUGINS = (
    *("azbpdhdtracker", "azbpmagnet", "azbpremovalrules", "azbpsharehoster"),
    *("azbpupnp", "azbuddy", "azextseed", "azintrss", "azintsimpleapi", "azlocaltracker"),
    "aznetstat",
)
"""Defaults that a peer here must not have: other sources of peers, other ports."""
_FLAGS = (
    # A peer has little to do: one thread collects garbage, and code is compiled once.
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"),
    "-Djava.net.preferIPv4Stack=true",
    "-DMULTI_INSTANCE=true",  # else a second one on this machine hands its work to the first
    "-Daz.instance.manager.enable=0",  # which finds neighbours by multicast
    "-Dazureus.loadplugins=0",
)
_INCOMPLETE = ".part"
"""The suffix of a file until it is complete."""
_ALERTS = 4
_LIMIT = re.compile(r"\u2502 (\d+)\s*$", re.MULTILINE)
"""A whole number as its console shows settings."""
_PINGS = re.compile(rb" average=(\d+), running_average=\d+,idle_average=(\d+)")
"""Pings in its controller's log, in milliseconds."""
_VERSION = re.compile(rb"\d+(?:\.\d+){3}")


@cache
def found() -> Found | None:
    """The program, if it is installed, and Java."""
    path = shutil.which("biglybt")
    if path is None or shutil.which("java") is None:
        return None
    try:
        core = next(it for it in _class_path(path) if it.name == "biglybt-core.jar")
        with zipfile.ZipFile(core) as jar:
            # Asked for its version, the program would begin to run.
            version = _VERSION.search(jar.read("com/biglybt/core/util/Constants.class"))
    except (OSError, KeyError, StopIteration, zipfile.BadZipFile):
        return None
    return Found(NAME, version[0].decode() if version else "of unknown version", path)


def _class_path(path: str) -> list[Path]:
    """The archives that its start script names.

    The script itself cannot be the process: it would not end with what it starts.
    """
    said = re.search(r"-cp (\S+)", Path(path).read_text())
    return [Path(it) for it in said[1].split(":")] if said else []


def unmet(settings: Settings) -> Iterator[Unmet]:
    """Parts of the profile that BiglyBT has no setting for."""
    if settings.upload and settings.upload != _kibibytes(settings.upload) << 10:
        given = f"{_kibibytes(settings.upload)} KiB/s"
        yield Unmet("upload", f"{settings.upload} B/s", given)
    yield from own_rules(settings, *OFFERED, own=_OWN)
    if settings.slots < _LEAST_SLOTS:
        yield Unmet("choker.slots", f"{settings.slots}", f"{_LEAST_SLOTS}")


def told(job: Job) -> dict[str, int | str]:
    """The parts of the profile and the population that its configuration has."""
    settings = job.settings
    return {
        "Max.Peer.Connections.Per.Torrent": settings.max_connections,
        "Max.Peer.Connections.Total": settings.max_connections,
        "Disconnect Seed": int(settings.rules["connections"]["drop_seed_to_seed"]),
        "Peer Source Selection Default.PeerExchange": int(settings.exchanges_peers),
        "Max Uploads": max(settings.slots, _LEAST_SLOTS),
        "Use Super Seeding": int(bool(settings.rules["super_seeding"]) and job.seed),
        "Max Upload Speed KBs": _kibibytes(settings.upload),
    }


@dataclass(frozen=True)
class _Machine:
    """The input of one Java machine.

    Attributes:
        place: where it runs.
        folder: its folder.
        port: at which it listens for peers, and for its DHT.
        console: port of its console.
        nodes: the nodes that its DHT knows; without any it has none.
    """

    place: HostSandbox
    folder: Path
    port: int
    console: int
    nodes: Sequence[HostSandbox] = ()

    def command(self, **given: int | str) -> list[str | Path]:
        """Write its configuration; gives what starts it."""
        config = self.folder / "config"
        (config / "dht").mkdir(parents=True)
        off = _PLUGINS if self.nodes else (*_PLUGINS, "azbpdht")
        settings: dict[str, int | str] = {
            "Telnet_iPort": self.console,
            "Telnet_sAllowedHosts": "127.0.0.1",
            "Bind IP": self.place.address,
            "Enforce Bind IP": 1,
            "TCP.Listen.Port": self.port,
            "UDP.Listen.Port": self.port,
            "UDP.NonData.Listen.Port": self.port,
            # A transport of its own over UDP.
            "UDP.Listen.Port.Enable": 0,
            "peercontrol.udp.public.enable": 0,
            "Server Enable UDP": 0,
            "update.start": 0,
            "update.periodic": 0,
            "Send Version Info": 0,
            "Auto Adjust Transfer Defaults": 0,
            "LAN Speed Enabled": 0,
            # Its other DHTs.
            "dht.net.cvs_v4.enable": 0,
            "dht.net.main_v6.enable": 0,
            "dht.net.biglybt_main_v4.enable": 0,
            **{f"PluginInfo.{name}.enabled": 0 for name in off},
            **given,
        }
        (config / "biglybt.config").write_bytes(bencode.encode(settings))
        # The state of a machine that has been in a DHT before: its own address, and others.
        (config / "dht" / "addresses.dat").write_bytes(
            bencode.encode({"most_recent": self.place.address})
        )
        (config / "dht" / "contacts.dat").write_bytes(dht_node.contacts(self.nodes, self.port))
        # Names are found in this file alone: it asks for hosts of its makers.
        hosts = self.folder / "hosts"
        first = self.nodes[0] if self.nodes else None
        seed = "" if first is None else f"{first.address} dht.biglybt.com\n"
        hosts.write_text(f"127.0.0.1 localhost\n{seed}")
        return [
            shutil.which("java") or "java",
            "-cp",
            ":".join(map(str, _class_path(shutil.which("biglybt") or "biglybt"))),
            *_FLAGS,
            f"-Djdk.net.hosts.file={hosts}",
            f"-Dazureus.config.path={config}",
            f"-Dazureus.install.path={config}",
            "com.biglybt.ui.Main",
            "--ui=telnet",
        ]


def _dht_runs(console: Telnet) -> bool:
    """Whether its DHT has begun: a quarter of a minute after it."""
    return "Router:" in console("show dht")


class BiglyBT(Daemon):
    """One process."""

    program = NAME
    listens_first = True
    linger_s = 1.0

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        machine = _Machine(job.place, job.folder, job.port, free_port(job.place), job.reflectors)
        self._console = Telnet(job.place, machine.console)
        self._hash = job.torrent.info_hash.hex().upper()
        self._stats = job.folder / "stats.xml"
        self._hashed = -1
        """How many pieces it had when they were hashed."""
        self._heard = 0
        """How much of its controller's log was read."""
        self.control: list[Asked] = []
        """The actions of its own upload controller, if it has one."""
        # The file gets its name when it is complete.
        self.hook = job.content
        job.unmet.extend(unmet(job.settings))
        command = machine.command(
            **{
                "Default save path": str(job.content.parent),
                "Max.Peer.Connections.Per.Torrent.When.Seeding.Enable": 0,
                "Tracker Client Exclude LAN": 0,
                "Tracker Client Scrape Enable": 0,
                "Tracker Client Closedown Timeout": 5,
                "Stats Export File Details": 1,
                "Rename Incomplete Files": int(not job.seed),
                "Rename Incomplete Files Extension": _INCOMPLETE,
                "Auto Upload Speed Enabled": int(bool(job.control)),
                "Auto Upload Speed Version": OWN_CONTROLS.get(job.control, 1),
                # Its log of what the controller does.
                "Auto Upload Speed Debug Enabled": int(bool(job.control)),
                "Logger.DebugFiles.Enabled.Force": int(bool(job.control)),
                **told(job),
            }
        )
        self.start(command)

    def is_up(self) -> bool:
        """Whether its console answers, and its DHT runs if it is to ping."""
        return self._console.is_up() and (not self.job.control or _dht_runs(self._console))

    def add(self) -> None:
        """Give it the torrent. A seed hashes its file first."""
        self._do("add", "-o", self.job.content.parent, self.job.torrent.metainfo)
        self._do("show", "torrents")
        # Its rules of when a torrent starts and stops are for users with many.
        self._do("forcestart", "hash", self._hash)

    def ask(self) -> Progress:
        """Its counters."""
        self._do("xml", self._stats)
        try:
            said = ElementTree.parse(self._stats).find("DOWNLOADS/DOWNLOAD")
        except (OSError, ElementTree.ParseError) as error:
            raise RpcError(f"xml: {error}") from None
        if said is None:
            return self.progress
        status = said.findtext("DOWNLOAD_STATUS", "")
        if status.startswith("Error"):
            raise self.failure(status)

        def count(name: str) -> int:
            return int(said.findtext(f"{name}/RAW") or said.findtext(name) or 0)

        whole = count("FILES/FILE/DOWNLOADED")
        torrent = self.job.torrent
        progress = Progress(
            at=time.monotonic(),
            down=count("DOWNLOADED"),
            up=count("UPLOADED"),
            wasted=count("DISCARDED"),
            pieces=torrent.pieces if whole >= torrent.size else whole // torrent.piece,
            down_rate=count("DOWNLOAD_SPEED"),
            up_rate=count("UPLOAD_SPEED"),
            neighbours=count("TOTAL_SEEDS") + count("TOTAL_LEECHERS"),
        )
        if self.job.control:
            self._note(self.progress, progress)
        return progress

    def _note(self, before: Progress, now: Progress) -> None:
        """The actions of its own controller, by the limit that it has now and its log."""
        said = _LIMIT.search(self._do("set", "Max Upload Speed KBs"))
        limit = int(said[1]) << 10 if said and said[1] != "0" else None
        rtt = base = None
        with contextlib.suppress(OSError):
            lines = (self.job.folder / "config" / "logs" / "SpeedMan_1.log").read_bytes()
            for rtt_ms, base_ms in _PINGS.findall(lines, self._heard):
                rtt, base = int(rtt_ms) * 1_000_000, int(base_ms) * 1_000_000
            self._heard = len(lines)
        last = self.control[-1] if self.control else None
        self.control.append(
            Asked(
                at=now.at,
                limit=limit,
                up=(now.up - before.up) / max(now.at - before.at, 1e-9),
                down=(now.down - before.down) / max(now.at - before.at, 1e-9),
                rtt=rtt,
                base=base if base is not None or last is None else last.base,
                lost=0,
                status=_status(limit, last),
            )
        )

    def has(self) -> int | None:
        """The pieces that its file has by their hashes, as it tells how many they are alone."""
        if self._hashed != self.progress.pieces:
            content = self.job.content
            unfinished = content.with_name(content.name + _INCOMPLETE)
            for path in (unfinished, content):
                with contextlib.suppress(OSError):
                    wrong = set(self.job.torrent.wrong_pieces(path))
                    numbers = range(self.job.torrent.pieces)
                    self._bits = bitfield(number not in wrong for number in numbers)
                    self._hashed = self.progress.pieces
        return self._bits

    def last_lines(self) -> list[str]:
        """The last that it wrote, and its alerts before that: traces of Java are long."""
        with contextlib.suppress(OSError):
            lines = (self.job.folder / "log").read_text(errors="replace").splitlines()
            alerts = [shown_line(it) for it in lines if it.startswith("[alert]")]
            return [*alerts[-_ALERTS:], *super().last_lines()]
        return []

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        if upload == 0:
            raise self.failure("it cannot be told to upload nothing")
        self._try(lambda: self._do("set", "Max Upload Speed KBs", _kibibytes(upload), "int"))

    def drop(self) -> None:
        """Stop the torrent: it announces `stopped`."""
        self._do("stop", "hash", self._hash)

    def kill(self) -> None:
        """End its process at once."""
        self._console.close()
        super().kill()

    def _do(self, *words: Any) -> str:
        """One command of its console; gives the answer."""
        return self._console(" ".join(f'"{word}"' for word in words))


def _status(limit: int | None, last: Asked | None) -> Status:
    """A controller's phase, seen from outside: it tells none."""
    most = float("inf")
    now, before = limit or most, (last.limit or most) if last is not None else most
    phase = "raising" if now > before else "lowering" if now < before else "holding"
    return Status(None, None, limit, None, None, None, None, phase, "its own")


def _kibibytes(upload: Upload) -> int:
    """Units of 1024 B/s; 0 for unlimited."""
    return 0 if upload is None else max(upload // 1024, _LEAST_KIBIBYTES)
