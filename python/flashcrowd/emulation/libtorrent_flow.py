"""A flow of a transfer by two sessions of libtorrent: a seed calls a leecher, over uTP alone."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flashcrowd._core import Plan
from flashcrowd.clients import ClientFailed, torrent
from flashcrowd.clients.host_sandbox import HostSandbox, entered
from flashcrowd.clients.libtorrent import everybody, instant
from flashcrowd.clients.settings import Unmet
from flashcrowd.emulation.bottleneck import most_bytes
from flashcrowd.emulation.flow import Flow, FlowJob, Sender
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.utp_differences import differences, untold
from flashcrowd.plan.parts import utp_of
from flashcrowd.plan.types import TransferWorkload

READY_S = 30.0
"""Both sessions listen and have the torrent within this time."""
_SAMPLE_S = 0.05
_COUNTERS_S = 0.2
_LEAST_PIECE, _MOST_PIECE = 16 << 10, 1 << 20
_PIECES = 1000
"""A piece is as long as makes about this number of pieces."""


class LibtorrentFlow(Flow):
    """Libtorrent, as it ships, but for its target delay, and for what would find other peers."""

    def __init__(self, job: FlowJob) -> None:
        super().__init__(job)
        # A plan of which this is not known was refused.
        self._size = most_bytes(job.plan, job.spec) or 0
        self._seed: _End | None = None
        self._leecher: _End | None = None
        self._connected = False
        self._looked_s = self._asked_s = float("-inf")
        self.unmet = list(unmet(job.plan, job.spec))

    def prepare(self, hosts: Hosts, folder: Path) -> None:
        """Write the file, and make both sessions.

        Raises:
            ClientFailed: one does not listen.
        """
        piece = _LEAST_PIECE
        while piece < _MOST_PIECE and self._size > _PIECES * piece:
            piece *= 2
        made = torrent.make(folder, self._size, piece, self.job.seed, "", private=True)
        torrent.give(made, folder / "seed")
        target = utp_of(self.job.plan, self.spec)["ledbat"]["target_ns"]
        sender, receiver = (hosts.places[self.spec[end]] for end in ("from", "to"))
        self._seed = _End(sender, self.job.port, target)
        self._leecher = _End(receiver, self.job.port, target)
        self._seed.add(made, folder / "seed", seed=True)
        self._leecher.add(made, folder / "leecher", seed=False)
        deadline = time.monotonic() + READY_S
        while not (self._seed.is_ready() and self._leecher.is_ready()):
            if time.monotonic() > deadline:
                raise ClientFailed(
                    f"transfer {self.name}: libtorrent is not ready in {READY_S:g} s"
                )
            time.sleep(0.005)

    def listen(self, hosts: Hosts, table: Timetable) -> None:
        """Both sessions listen already."""

    def start(self, table: Timetable) -> None:
        """Tell the seed where the leecher is."""
        if self.ended_s is None and self._seed is not None and self._leecher is not None:
            self._note_start(table.now())
            self._seed.call(self._leecher.place.address, self.job.port)

    def limit(self, rate_bps: int | None, table: Timetable) -> None:
        """Plans that change it were refused."""

    def sample(self, table: Timetable, *, fresh: bool = False) -> None:
        """Read what the leecher has, and now and then the counters of the seed."""
        seed, leecher = self._seed, self._leecher
        if seed is None or leecher is None or self.started_s is None or self.ended_s is not None:
            return
        now = table.now()
        if not fresh and now - self._looked_s < _SAMPLE_S:
            return
        self._looked_s = now
        if fresh or now - self._asked_s >= _COUNTERS_S:
            self._asked_s = now
            seed.ask()
        leecher.ask()
        if fresh:
            # An answer takes the session's thread a millisecond or so.
            deadline = time.monotonic() + _SAMPLE_S
            while not (seed.has_answered and leecher.has_answered):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.0002)
                seed.take()
                leecher.take()
        seed.take()
        leecher.take()
        if not self._connected and seed.connected_at is not None:
            # The session opens connections at its own ticks: what it waited before is no transfer.
            self._connected = True
            self._note_start(table.now() - (time.monotonic() - seed.connected_at))
        self._note_received(min(leecher.counters.get("net.recv_payload_bytes", 0), self._size))
        info = Sender(
            segments=seed.counters.get("utp.utp_packets_out", 0),
            retransmits=seed.counters.get("utp.utp_packet_resend", 0),
            timeouts=seed.counters.get("utp.utp_timeout", 0),
        )
        self._note_sender(now, info)
        self.failure = seed.failure or leecher.failure
        if leecher.finished_at is not None:
            self._note_received(self._size)
            self._end(table, now - (time.monotonic() - leecher.finished_at))
        elif seed.lost_at is not None:
            # A packet was sent as often as `utp_num_resends` allows. A transfer is one connection;
            # the session would make the next one after a minute.
            self._end(table, now - (time.monotonic() - seed.lost_at))

    def _close_connection(self) -> None:
        for end in (self._seed, self._leecher):
            if end is not None:
                end.leave()


class _End:
    """One session with one torrent."""

    def __init__(self, place: HostSandbox, port: int, target_ns: int) -> None:
        self._lt = lt = importlib.import_module("libtorrent")
        kinds = lt.alert.category_t
        self.place = place
        self.counters: Mapping[str, int] = {}
        self.has_answered = True
        self.connected_at: float | None = None
        self.finished_at: float | None = None
        self.lost_at: float | None = None
        self.failure = ""
        self._handle: Any = None
        self._listens = self._checked = False
        settings = {
            "listen_interfaces": f"{place.address}:{port}",
            "outgoing_interfaces": place.address,
            "alert_mask": kinds.error_notification
            | kinds.status_notification
            | kinds.connect_notification,
            "enable_incoming_tcp": False,
            "enable_outgoing_tcp": False,
            "utp_target_delay": max(round(target_ns / 1e6), 1),
            **dict.fromkeys(("enable_dht", "enable_lsd", "enable_upnp", "enable_natpmp"), False),
            "in_enc_policy": int(lt.enc_policy.pe_disabled),
            "out_enc_policy": int(lt.enc_policy.pe_disabled),
        }
        with entered(place.netns):
            # Threads of the session begin where the thread is that makes it.
            self._session = lt.session(settings)
        self._session.set_peer_class_filter(everybody(1 << lt.session.global_peer_class_id))

    def add(self, made: torrent.Torrent, folder: Path, *, seed: bool) -> None:
        lt = self._lt
        params = lt.add_torrent_params()
        params.ti = lt.torrent_info(str(made.metainfo))
        params.save_path = str(folder)
        flags = lt.torrent_flags
        params.flags &= ~(flags.auto_managed | flags.paused)
        if seed:
            params.flags |= flags.seed_mode
        self._handle = self._session.add_torrent(params)

    def is_ready(self) -> bool:
        """Whether it listens, and knows what it has."""
        self.take()
        states = self._lt.torrent_status
        state = self._handle.status().state
        waiting = (states.checking_files, states.checking_resume_data)
        return self._listens and state not in waiting

    def call(self, address: str, port: int) -> None:
        self._handle.connect_peer((address, port))

    def ask(self) -> None:
        if self.has_answered:
            self.has_answered = False
            self._session.post_session_stats()

    def take(self) -> None:
        for alert in self._session.pop_alerts():
            kind = type(alert).__name__
            if kind == "session_stats_alert":
                self.counters, self.has_answered = alert.values, True
            elif kind == "listen_succeeded_alert":
                self._listens = True
            elif kind == "peer_connect_alert":
                self.connected_at = self.connected_at or instant(alert)
            elif kind == "peer_disconnected_alert" and self.connected_at is not None:
                self.lost_at = self.lost_at or instant(alert)
            elif kind == "torrent_finished_alert":
                self.finished_at = self.finished_at or instant(alert)
            elif kind in ("listen_failed_alert", "torrent_error_alert", "file_error_alert"):
                self.failure = f"libtorrent on {self.place.name}: {alert.message()}"

    def leave(self) -> None:
        self._session.pause()


def unmet(plan: Plan, spec: TransferWorkload) -> Iterator[Unmet]:
    """Options of a transfer's uTP that libtorrent replaces by its own, or does not report."""
    yield from differences(plan, spec, "libtorrent", ("ledbat.target_ns",))
    yield from untold(plan, "libtorrent", ("rtt", "window", "own-delay"))
