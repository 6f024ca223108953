"""libtorrent, embedded: one session a peer, many in this process, each in its own namespace."""

from __future__ import annotations

import datetime
import importlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from flashcrowd import _core
from flashcrowd.client_api.client import Client as Interface
from flashcrowd.client_api.libtorrent import Libtorrent as Controlled
from flashcrowd.clients.client import HUNG_S, STOP_S, Client, Found, Job, Progress, bitfield
from flashcrowd.clients.host_sandbox import entered
from flashcrowd.clients.settings import (
    Settings,
    Transport,
    Unmet,
    Upload,
    asked,
    own_rules,
    values,
)
from flashcrowd.plan.types import Settings as Rules

NAME = "libtorrent"
TRANSPORTS: tuple[Transport, ...] = ("tcp", "utp")
ZERO_UPLOAD = True
ASK_S = 1.0
"""How often a session is asked for its counters."""

SEED_RULES = {"round-robin": 0, "fastest-upload": 1, "anti-leech": 2}
_PIECE_TIMEOUT_NS = 20 * 10**9
"""`piece_timeout` as it ships."""
_MOST_AT_ONCE = 255
"""`torrent_connect_boost` is kept in eight bits."""
_HEADER = 40
"""Bytes that `rate_limit_ip_overhead` counts for a packet's headers."""
_OWN_RECONNECT_NS = 60 * 10**9
"""`min_reconnect_time` as it ships."""
_MANY = 1000
"""A `connection_speed` that limits nothing here."""
_QUARTER = datetime.timedelta(minutes=15)

_WHOLE_SECONDS = (
    *("connections.timeout", "connections.inactivity", "connections.turnover"),
    *("connections.reconnect", "announce.min_interval", "requests.backlog.queue_time"),
    *("requests.block_timeout", "requests.request_timeout", "picker.whole_pieces", "choker.round"),
)
"""Rules whose settings are in seconds."""
_WHOLE_PERCENT = (
    *(
        "connections.turnover_share",
        "connections.turnover_cutoff",
        "limiter.quota.watermark_factor",
    ),
)
"""Rules whose settings are in percent."""
OFFERED = (
    *("connections.max_connections", "connections.drop_seed_to_seed", "connections.max_failures"),
    *("connections.opened_per_second", "connections.opened_at_once", "connections.max_candidates"),
    "connections.tcp_fallback",
    *("announce.numwant", "requests.max_queue", "requests.backlog.max", "fast.allowed_set"),
    *("fast.suggest", "fast.max_suggested", "peer_exchange.enabled", "peer_exchange.max_named"),
    *("picker.strict_priority", "picker.random_first_pieces", "choker.slots", "choker.seed"),
    *("choker.optimistic_rounds", "choker.quota_pieces", "limiter.tick", "limiter.quota.header"),
    *("limiter.quota.low_watermark", "limiter.quota.watermark", "limiter.mixed_mode_algorithm"),
    *("super_seeding", *_WHOLE_SECONDS, *_WHOLE_PERCENT),
)
"""The keys of a profile for which there are settings; see `_unmet` for what these cannot say."""


def found() -> Found | None:
    """The wheel, if it is installed."""
    try:
        module = importlib.import_module("libtorrent")
    except ImportError:
        return None
    return Found(NAME, module.version.removesuffix(".0"), module.__file__ or "")


def mapped(settings: Settings, *, have: bool = False) -> tuple[dict[str, Any], list[Unmet]]:
    """The session's settings for a profile, and what they cannot say.

    Features that a profile does not have (an allowed-fast set, turnover of peers, a limit that
    counts headers, TCP that makes room for uTP) are switched off.

    Args:
        settings: what the plan asks.
        have: whether to report the completion of every piece.
    """
    lt = importlib.import_module("libtorrent")
    rules = settings.rules
    connections, announce = rules["connections"], rules["announce"]
    requests, picker, choker = rules["requests"], rules["picker"], rules["choker"]
    kinds, algorithms = lt.alert.category_t, lt.bandwidth_mixed_algo_t
    mask = kinds.error_notification | kinds.status_notification | kinds.storage_notification
    mask |= kinds.tracker_notification
    if have:
        mask |= kinds.piece_progress_notification
    queue_s, whole_ns = settings.queue_time_s, picker["whole_pieces_ns"]
    turns_over = connections["turnover_ns"] is not None
    made: dict[str, object] = {
        # Features that a testbed must not have: neighbours from elsewhere, encryption, other
        # protocols.
        "enable_dht": False,
        "enable_lsd": False,
        "enable_upnp": False,
        "enable_natpmp": False,
        "in_enc_policy": int(lt.enc_policy.pe_disabled),
        "out_enc_policy": int(lt.enc_policy.pe_disabled),
        # A port that is taken is a failure, and no reason to take another.
        "max_retry_port_bind": 0,
        "listen_system_port_fallback": False,
        # A session has one torrent and one disk; four hundred of them share a machine.
        "aio_threads": 2,
        "alert_mask": mask,
        "alert_queue_size": 20_000,
        # Connections are accepted over each transport that the client has.
        "enable_incoming_tcp": True,
        "enable_incoming_utp": settings.answers_utp,
        # With both, uTP is tried first.
        "enable_outgoing_tcp": settings.transport == "tcp" or settings.falls_back,
        "enable_outgoing_utp": settings.transport == "utp",
        "mixed_mode_algorithm": int(
            algorithms.peer_proportional if settings.tcp_yields else algorithms.prefer_tcp
        ),
        "connections_limit": settings.max_connections,
        "close_redundant_connections": bool(connections["drop_seed_to_seed"]),
        "peer_timeout": whole_s(connections["timeout_ns"]),
        "inactivity_timeout": whole_s(connections["inactivity_ns"]),
        "max_peerlist_size": int(connections["max_candidates"] or connections["max_initiate"]),
        "connection_speed": connection_speed(connections),
        "torrent_connect_boost": _opened_at_once(connections),
        # Connections that need not wait are not spread over time.
        "smooth_connects": connections["opened_per_second"] is not None,
        "min_reconnect_time": whole_s(_reconnect_ns(connections)),
        "max_failcount": max(int(connections["max_failures"]), 1),
        "peer_turnover": round(100 * connections["turnover_share"]) if turns_over else 0,
        "peer_turnover_cutoff": round(100 * connections["turnover_cutoff"]),
        "peer_turnover_interval": whole_s(connections["turnover_ns"]),
        "min_announce_interval": whole_s(announce["min_interval_ns"]),
        "max_allowed_in_request_queue": int(requests["max_queue"]),
        "max_out_request_queue": settings.max_requests or 500,
        "request_queue_time": max(round(queue_s), 1) if queue_s else 3,
        "request_timeout": _timeouts_s(requests)["request"],
        "initial_picker_threshold": int(picker["random_first_pieces"]),
        "prioritize_partial_pieces": bool(picker["strict_priority"]),
        "whole_pieces_threshold": whole_s(whole_ns) if whole_ns else 0,
        # Without it, libtorrent requests blocks that others owe as soon as a neighbour has nothing
        # else, long before each block was requested once. No profile does that.
        "strict_end_game_mode": True,
        "piece_timeout": _timeouts_s(requests)["block"],
        "suggest_mode": int(settings.suggests),
        "max_suggest_pieces": settings.max_suggested,
        "max_pex_peers": int(rules["peer_exchange"]["max_named"]),
        "unchoke_interval": whole_s(choker["round_ns"]),
        "optimistic_unchoke_interval": max(round(settings.optimistic_s), 1),
        "seeding_piece_quota": int(choker["quota_pieces"]),
        "rate_limit_ip_overhead": settings.counts_headers,
        **_limits(settings, settings.upload),
    }
    if rules["limiter"]["tick_ns"] is not None:
        made["tick_interval"] = _tick_ms(rules)
    if settings.utp_target_s is not None:
        made["utp_target_delay"] = max(round(1e3 * settings.utp_target_s), 1)
    if settings.quota is not None:
        made["send_buffer_low_watermark"] = int(settings.quota["low_watermark"])
        made["send_buffer_watermark"] = int(settings.quota["watermark"])
        made["send_buffer_watermark_factor"] = round(100 * settings.quota["watermark_factor"])
    if announce["numwant"] is not None:
        made["num_want"] = int(announce["numwant"])
    if choker["seed"] in SEED_RULES:
        made["seed_choking_algorithm"] = SEED_RULES[choker["seed"]]
    return made, list(_unmet(settings))


def _limits(settings: Settings, upload: Upload) -> dict[str, int]:
    """The settings for an upload limit.

    A rate of 0 means no limit. So for no upload no neighbour is unchoked, nor may any request
    pieces while it is choked.
    """
    nothing = upload == 0
    return {
        "upload_rate_limit": upload or 0,
        "unchoke_slots_limit": 0 if nothing else settings.slots,
        "allowed_fast_set_size": 0 if nothing else settings.allowed_fast,
    }


def torrent_flags(job: Job) -> list[str]:
    """The flags of its torrent: parts of the profile, and of the peer's role."""
    flags = {
        "seed_mode": job.seed,
        "super_seeding": job.seed and job.settings.rules["super_seeding"],
        "sequential_download": job.settings.sequential,
        # Another population may exchange peers, and so the torrent need not be private.
        "disable_pex": not job.settings.exchanges_peers,
    }
    return [name for name, is_set in flags.items() if is_set]


def whole_s(span_ns: int | None) -> int:
    """A span in whole seconds; for none one that no run reaches."""
    return 10**6 if span_ns is None else max(round(span_ns / 1e9), 1)


def _timeouts_s(requests: Rules) -> dict[str, int]:
    """After how many seconds who owes a block is late; neither rule can be switched off."""
    request = requests.get("request_timeout_ns") or requests["snub_after_ns"]
    return {
        "request": whole_s(request),
        "block": whole_s(requests.get("block_timeout_ns") or _PIECE_TIMEOUT_NS),
    }


def _tick_ms(rules: Rules) -> int:
    """`tick_interval`: when quotas are handed out."""
    return max(round(rules["limiter"]["tick_ns"] / 1e6), 1)


def connection_speed(connections: Rules) -> int:
    """The setting of this name."""
    return min(connections["opened_per_second"] or _MANY, _MANY)


def _reconnect_ns(connections: Rules) -> int | None:
    """After what time a neighbour that was lost is tried again; none for never.

    libtorrent leaves a neighbour that completes while it is not interested in it, as one whose last
    missing piece that neighbour has only just got, and comes back later. If it may not reconnect,
    it loses one after the other, and the piece with them: once in 18 runs of rao2010 a leecher with
    31 of 32 pieces and 20 candidates had no connection any more. So it may reconnect where it
    leaves.
    """
    if connections["reconnect_ns"] is None and connections["drop_seed_to_seed"]:
        return _OWN_RECONNECT_NS
    return connections["reconnect_ns"]


def _opened_at_once(connections: Rules) -> int:
    """`torrent_connect_boost`."""
    if connections["opened_per_second"] is None:
        return _MOST_AT_ONCE
    return min(int(connections["opened_at_once"]), _MOST_AT_ONCE)


_RETRIES = "5 s and 12.5 s for the square of the failures in a row, an hour at most"
_IN_OTHER_WORDS = {
    "announce.check": "at once",
    "announce.enough_peers": "never enough",
    "announce.min_peers": "early with none at all",
    "announce.min_peers_reachable": "early with none at all",
    "requests.backlog": "what arrives in request_queue_time, with a slow start",
    "requests.strict_end_game": "of whoever has nothing else to be asked for",
    "limiter.sharing": "quota, for blocks and messages",
}
"""Its behaviour where a profile asks for something else than the profile of its name."""


@cache
def _shipped() -> dict[str, str]:
    return asked(json.loads(_core.client_profiles())[NAME])


def own(rules: Rules, decided: Mapping[str, str]) -> dict[str, str]:
    """Decisions of libtorrent's own, by key of a profile: it ships as the profile of its name.

    Of announces that fail that profile has mainline's rules; libtorrent's are others.

    Args:
        rules: the profile that is asked for.
        decided: what other keys decide.
    """
    retries = ("retry", "retry_growth_min", "retry_growth_max", "max_retry")
    given = {
        **_shipped(),
        **{f"announce.{name}": _RETRIES for name in retries},
        **decided,
    }
    said = asked(rules)
    if said.get("picker.order") == "sequential":  # a flag of the torrent
        given["picker.order"] = "sequential"
    return given | {
        name: it for name, it in _IN_OTHER_WORDS.items() if said.get(name) != given[name]
    }


def _unmet(settings: Settings) -> Iterator[Unmet]:
    """Parts of the profile that libtorrent has no setting for."""
    rules = settings.rules
    connections, requests, choker = rules["connections"], rules["requests"], rules["choker"]
    said, late = asked(rules), _timeouts_s(requests)
    decided = {
        "connections.max_initiate": said["connections.max_connections"],
        "connections.keepalive": f"{whole_s(connections['timeout_ns']) / 2:g} s of silence",
        "connections.drop_new_seeds": said["connections.drop_seed_to_seed"],
        # A peer that does not answer a request snubs.
        "requests.snub_after": f"{late['request']} s",
    }
    given = own(rules, decided)
    yield from own_rules(settings, *OFFERED, own=given)
    # Parts for which there is a setting of too few values.
    yield from rounded(rules, _WHOLE_SECONDS, _WHOLE_PERCENT)
    for name, seconds in late.items():
        if requests[f"{name}_timeout_ns"] is None:
            yield Unmet(f"requests.{name}_timeout", "none", f"{seconds} s")
    if choker["seed"] not in SEED_RULES:
        yield Unmet("choker.seed", choker["seed"], next(iter(SEED_RULES)))
    if rules["announce"]["numwant"] is None:
        yield Unmet("announce.numwant", "none", given["announce.numwant"])
    tick_ns = rules["limiter"]["tick_ns"]
    if tick_ns is None or tick_ns % 10**6:
        made = given["limiter.tick"] if tick_ns is None else f"{_tick_ms(rules) / 1e3:g} s"
        yield Unmet("limiter.tick", said["limiter.tick"], made)
    yield from header(settings)
    yield from _of_connections(connections)


def header(settings: Settings) -> Iterator[Unmet]:
    """Headers count as those of IPv4 and TCP, or not at all."""
    counted = settings.quota["header_bytes"] if settings.quota is not None else 0
    if counted not in (0, _HEADER):
        yield Unmet("limiter.quota.header", f"{counted} B", f"{_HEADER} B")


def rounded(rules: Rules, seconds: Iterable[str], percent: Iterable[str]) -> Iterator[Unmet]:
    """Values that settings in whole seconds, and in whole percent, cannot have."""
    read = asked(rules)
    found = {name: it for name, it in values(rules).items() if name in read}
    for name in seconds:
        value, said = found.get(name, (None, ""))
        if value and value % 10**9:
            yield Unmet(name, said, f"{whole_s(value)} s")
    for name in percent:
        value, said = found.get(name, (0.0, ""))
        if abs(100 * value - round(100 * value)) > 1e-6:
            yield Unmet(name, said, f"{round(100 * value) / 100:g}")


def _of_connections(connections: Rules) -> Iterator[Unmet]:
    """Values that the settings of connections cannot have."""
    again_ns = _reconnect_ns(connections)
    if again_ns is None:
        yield Unmet("connections.reconnect", "none", "none, nor when the tracker names it again")
    elif connections["reconnect_ns"] is None:
        again = f"{whole_s(again_ns)} s, as it leaves whoever completes"
        yield Unmet("connections.reconnect", "none", again)
    if again_ns is not None and connections["max_failures"] == 0:
        yield Unmet("connections.max_failures", "0", "1")
    speed = connections["opened_per_second"]
    if speed is not None and speed > _MANY:
        yield Unmet("connections.opened_per_second", str(speed), str(_MANY))
    if speed is not None and connections["opened_at_once"] > _MOST_AT_ONCE:
        at_once = str(connections["opened_at_once"])
        yield Unmet("connections.opened_at_once", at_once, str(_MOST_AT_ONCE))


@cache
def everybody(classes: int) -> Any:
    """A filter by which all addresses are in these peer classes, and none in that of local peers.

    Limits hold for the global class; by default peers of private networks are in the local class
    instead, and not limited.
    """
    lt = importlib.import_module("libtorrent")
    filter = lt.ip_filter()
    filter.add_rule("0.0.0.0", "255.255.255.255", classes)
    return filter


def instant(alert: Any) -> float:
    """The time of an alert, by `time.monotonic`.

    The binding gives it as a date of the system's clock, in the zone that it likes.
    """
    age = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - alert.timestamp()
    age -= round(age / _QUARTER) * _QUARTER
    return time.monotonic() - age.total_seconds()


class Libtorrent(Client):
    """One session."""

    program = NAME

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._lt = lt = importlib.import_module("libtorrent")
        settings, unmet = mapped(job.settings, have=job.have)
        job.unmet.extend(unmet)
        settings["listen_interfaces"] = f"{job.place.address}:{job.port}"
        # Where one interface has several addresses, neighbours would see the first of them.
        settings["outgoing_interfaces"] = job.place.address
        with entered(job.place.netns):
            # Threads of the session begin where the thread is that makes it.
            self._session = lt.session(settings)
        self._session.set_peer_class_filter(everybody(1 << lt.session.global_peer_class_id))
        self._handle: Any = None
        self._listens = self._joined = False
        self._left = self._paused = self._dropped = self._removed = False
        self._left_at = 0.0
        self._announces, self._stopped_told = 0, False
        # Before its first answer it has no neighbours.
        self.progress = Progress(time.monotonic(), interested=0, unchoking=0)
        self._status: Any = None
        self._lines: list[str] = []
        self._asked_at = 0.0
        self._answered_at = time.monotonic()

    def is_ready(self) -> bool:
        """Whether it listens."""
        self._take_alerts()
        if not self._listens and time.monotonic() - self._answered_at > HUNG_S:
            raise self.failure(f"it did not listen within {HUNG_S:g} s")
        return self._listens

    def join(self) -> None:
        """Add the torrent."""
        lt, job = self._lt, self.job
        params = lt.add_torrent_params()
        params.ti = lt.torrent_info(str(job.torrent.metainfo))
        params.save_path = str(job.content.parent)
        flags = lt.torrent_flags
        params.flags &= ~(flags.auto_managed | flags.paused)
        for name in torrent_flags(job):
            params.flags |= getattr(flags, name)
        # Its thread takes the torrent as soon as it runs; to wait for that would delay others.
        self._session.async_add_torrent(params)
        self._joined = True
        self._answered_at = time.monotonic()

    def look(self) -> None:
        """Take the session's alerts, and request its state once a second."""
        self._take_alerts()
        if not self._joined or self._left:
            return
        now = time.monotonic()
        if now - self._asked_at >= ASK_S:
            if self._answered_at < self._asked_at < now - HUNG_S:
                raise self.failure(f"no answer for {HUNG_S:g} s")
            if self._answered_at >= self._asked_at:
                self._asked_at = now
                self._session.post_torrent_updates()
                self._session.post_session_stats()

    def has(self) -> int | None:
        """The pieces of its last update; it sends none before it has one."""
        return 0 if self._status is None else bitfield(self._status.pieces)

    def limit(self, upload: Upload) -> None:
        """The upload limit changes."""
        self._session.apply_settings(_limits(self.job.settings, upload))

    def interface(self) -> Interface:
        """The session."""
        return Controlled(self._session)

    def leave(self, *, told: bool = True) -> None:
        """Pause the torrent: its connections are closed, and it announces `stopped`."""
        if not self._left:
            self._left, self._left_at = True, time.monotonic() if told else float("-inf")
            if self._handle is not None:
                self._go()

    def is_closed(self) -> bool:
        """Whether the tracker has answered, and the torrent is gone from the session."""
        self._take_alerts()
        if self._left and self._handle is not None:
            self._go()
        return not self._joined or self._removed

    def _go(self) -> None:
        """One step on the way out."""
        if not self._paused:
            self._paused = True
            self._handle.unset_flags(self._lt.torrent_flags.auto_managed)
            self._handle.pause()
        elif not self._dropped:
            late = time.monotonic() - self._left_at > STOP_S
            if late or (self._stopped_told and not self._announces):
                self._dropped = True
                self._count(self._handle.status())
                self._session.remove_torrent(self._handle)

    def kill(self) -> None:
        """No connection any more; the session itself ends with this object."""
        self._left = True
        self._session.pause()
        self._session.apply_settings({"listen_interfaces": ""})

    def last_lines(self) -> list[str]:
        """The latest alerts about errors."""
        return self._lines[-12:]

    def _take_alerts(self) -> None:
        for alert in self._session.pop_alerts():
            taken = _TAKE.get(type(alert).__name__)
            if taken is not None:
                taken(self, alert)

    def _on_added(self, alert: Any) -> None:
        if alert.error.value() != 0:
            raise self.failure(alert.error.message())
        self._handle = alert.handle

    def _on_announce(self, alert: Any) -> None:
        self._announces += 1
        self._stopped_told = self._paused

    def _on_answer(self, alert: Any) -> None:
        self._announces = max(self._announces - 1, 0)

    def _on_no_answer(self, alert: Any) -> None:
        self._on_answer(alert)
        self._on_error(alert)

    def _on_listening(self, alert: Any) -> None:
        self._listens = True

    def _on_error(self, alert: Any) -> None:
        self._lines.append(f"{type(alert).__name__}: {alert.message()}")

    def _on_fatal(self, alert: Any) -> None:
        self._on_error(alert)
        if not self._left:  # where the network has ended already, it need not listen any more
            raise self.failure(alert.message())

    def _on_finished(self, alert: Any) -> None:
        if not self.job.seed and self.completed_at is None:
            self.completed_at = instant(alert)

    def _on_piece(self, alert: Any) -> None:
        if not self.job.seed:
            self.have.append((alert.piece_index, instant(alert)))

    def _on_update(self, alert: Any) -> None:
        for status in alert.status:
            self._count(status)

    def _count(self, status: Any) -> None:
        self._status = status
        self.progress = Progress(
            at=time.monotonic(),
            down=status.total_payload_download,
            up=status.total_payload_upload,
            wasted=status.total_redundant_bytes + status.total_failed_bytes,
            pieces=status.num_pieces,
            down_rate=status.download_payload_rate,
            up_rate=status.upload_payload_rate,
            neighbours=self.progress.neighbours,
            interested=self.progress.interested,
            unchoking=self.progress.unchoking,
        )

    def _on_stats(self, alert: Any) -> None:
        self._answered_at = time.monotonic()
        values = alert.values
        self.transport_timeouts = values["utp.utp_timeout"]
        before = self.progress
        self.progress = Progress(
            **{
                **vars(before),
                "at": self._answered_at,
                "neighbours": values["peer.num_peers_connected"],
                "interested": values["peer.num_peers_down_interested"],
                "unchoking": values["peer.num_peers_down_unchoked"],
            }
        )

    def _on_removed(self, alert: Any) -> None:
        self._removed = True


_TAKE = {
    "add_torrent_alert": Libtorrent._on_added,
    "listen_succeeded_alert": Libtorrent._on_listening,
    "listen_failed_alert": Libtorrent._on_fatal,
    "torrent_error_alert": Libtorrent._on_fatal,
    "file_error_alert": Libtorrent._on_fatal,
    "hash_failed_alert": Libtorrent._on_error,
    "tracker_announce_alert": Libtorrent._on_announce,
    "tracker_reply_alert": Libtorrent._on_answer,
    "tracker_error_alert": Libtorrent._on_no_answer,
    "torrent_finished_alert": Libtorrent._on_finished,
    "piece_finished_alert": Libtorrent._on_piece,
    "state_update_alert": Libtorrent._on_update,
    "session_stats_alert": Libtorrent._on_stats,
    "torrent_removed_alert": Libtorrent._on_removed,
}
