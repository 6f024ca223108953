"""What a plan asks of a client, in the words that programs have settings for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Upload = int | None
"""An upload limit in bytes per second; None for unlimited, 0 for no upload at all."""

Transport = Literal["tcp", "utp"]

MAINLINE_QUEUE_S = 4.0
"""Mainline's requests are worth so much of the metered rate, and two more."""

BLOCK = 16 * 1024
"""What every program here asks for in one request."""


@dataclass(frozen=True)
class Unmet:
    """Something that a plan asks for and a program does not offer, or offers in another way.

    Attributes:
        setting: dotted name in the profile or the population.
        asked: what the plan says.
        given: what the program does instead.
    """

    setting: str
    asked: str
    given: str


@dataclass(frozen=True)
class Settings:
    """What one client is to do, as its profile and its population say it.

    Attributes:
        profile: name of the profile.
        upload: upload limit.
        transport: what carries the connections that the client opens.
        rules: the profile as the plan has it.
        data_apart: whether the plan asks for connections of their own for the blocks.
        utp_target_s: the delay that uTP aims at in queues; None for the program's own.
        refresh_s: how often the program renews what it says to an upload controller; None for as
            suits whoever else asks.
    """

    profile: str
    upload: Upload
    transport: Transport
    rules: Mapping[str, Any] = field(repr=False)
    data_apart: bool = False
    utp_target_s: float | None = None
    refresh_s: float | None = None

    @property
    def slots(self) -> int:
        """Uploads at a time, the optimistic ones included."""
        rule = self.rules["choker"]["slots"]
        if isinstance(rule, Mapping):
            return max(int(rule["fixed"]), 1)
        if self.upload is None:
            return 7
        # Mainline's rule, by the limit in units of 1024 B/s.
        rate = self.upload / 1024
        steps = ((9, 2), (15, 3), (42, 4))
        return next((slots for below, slots in steps if rate < below), int(math.sqrt(0.6 * rate)))

    def seconds(self, *path: str) -> float:
        """A span of the profile, in seconds."""
        value: Any = self.rules
        for key in path:
            value = value[key]
        return value / 1e9

    @property
    def optimistic_s(self) -> float:
        """How often the optimistic unchoke moves on, in seconds."""
        choker = self.rules["choker"]
        return choker["round_ns"] * choker["optimistic_rounds"] / 1e9

    @property
    def backlog(self) -> tuple[str, Any]:
        """The rule of how many requests are outstanding, and its parameters."""
        ((kind, given),) = self.rules["requests"]["backlog"].items()
        return kind, given

    @property
    def queue_time_s(self) -> float | None:
        """How much time the outstanding requests are worth; None if their number is fixed."""
        kind, given = self.backlog
        if kind == "fixed":
            return None
        return MAINLINE_QUEUE_S if kind == "mainline" else given["queue_time_ns"] / 1e9

    @property
    def max_requests(self) -> int | None:
        """Most outstanding requests at one peer; None if the profile names no number."""
        kind, given = self.backlog
        if kind == "fixed":
            return int(given)
        return None if kind == "mainline" else int(given["max"])

    @property
    def max_connections(self) -> int:
        """Most connections, those opened and those accepted."""
        return int(self.rules["connections"]["max_connections"])

    @property
    def exchanges_peers(self) -> bool:
        """Whether the profile has peer exchange (BEP 11)."""
        return bool(self.rules["peer_exchange"]["enabled"])

    @property
    def fast(self) -> bool:
        """Whether the profile has the Fast extension (BEP 6)."""
        return bool(self.rules.get("fast", {}).get("enabled", False))

    @property
    def allowed_fast(self) -> int:
        """Pieces of the allowed-fast set; 0 where the profile has no Fast extension."""
        return int(self.rules["fast"]["allowed_set"]) if self.fast else 0

    @property
    def suggests(self) -> bool:
        """Whether the profile suggests pieces (BEP 6)."""
        return self.fast and self.rules["fast"].get("suggest") == "read-cache"

    @property
    def max_suggested(self) -> int:
        """How many suggestions of a neighbour the profile keeps in mind."""
        return int(self.rules.get("fast", {}).get("max_suggested", 16))

    @property
    def quota(self) -> Mapping[str, Any] | None:
        """The rules of a limiter that hands out quota; None for one that writes in turns."""
        limiter = self.rules["limiter"]
        return limiter["quota"] if limiter.get("sharing") == "quota" else None

    @property
    def tcp_yields(self) -> bool:
        """Whether TCP is limited for the sake of uTP."""
        rules = self.rules["limiter"]
        proportional = rules.get("mixed_mode_algorithm") == "peer-proportional"
        return proportional and self.quota is not None

    @property
    def counts_headers(self) -> bool:
        """Whether the upload limit counts the headers of packets."""
        return self.quota is not None and self.quota["header_bytes"] > 0


RULES = (
    "super_seeding",
    "announce.numwant",
    "announce.min_interval",
    "connections.max_initiate",
    "connections.timeout",
    "requests.backlog",
    "requests.snub_after",
    "fast.allowed_set",
    "connections.turnover",
    "connections.inactivity",
    "peer_exchange.enabled",
    "picker.order",
    "picker.random_first_pieces",
    "choker.slots",
    "choker.round",
    "choker.optimistic_rounds",
    "choker.leech",
    "choker.seed",
    "limiter.tick",
    "limiter.window",
    "limiter.sharing",
    "limiter.mixed_mode_algorithm",
)
"""What every program decides somehow, by its name in a profile."""


def own_rules(settings: Settings, *offered: str) -> Iterator[Unmet]:
    """What of `RULES` a program decides by itself: all but what it offers."""
    yield from one_connection(settings)
    if settings.suggests:
        yield Unmet("fast.suggest", "read-cache", "its own")
    for name in RULES:
        if name in offered or (name == "super_seeding" and not settings.rules[name]):
            continue
        asked: Any = settings.rules
        for key in name.split("."):
            found = [key, f"{key}_ns"]
            asked = next((asked[it] for it in found if it in asked), None) if asked else None
        yield Unmet(name, "none" if asked is None else str(asked), "its own")


def one_connection(settings: Settings) -> Iterator[Unmet]:
    """What no program offers: blocks over another transport than requests."""
    if settings.data_apart:
        given = f"connections that it opens are {settings.transport}, and carry everything"
        yield Unmet("data_transport", f"{settings.transport} for blocks it uploads", given)


def of(plan: Mapping[str, Any], population: Mapping[str, Any]) -> Settings:
    """The settings of the clients of one population of a plan.

    Raises:
        ValueError: the population asks for what no program offers.
    """
    transport, data = population.get("transport"), population.get("data")
    if transport is not None and data is not None:
        raise ValueError(
            "no program opens connections of their own for the blocks: leave out transport or "
            "data_transport"
        )
    profile = plan["profiles"][population["profile"]]
    chosen = transport or data or {}
    utps = plan.get("utps", ())
    utp = utps[chosen["utp"]] if "utp" in chosen else utps[0] if len(utps) == 1 else None
    target_ns = ((utp or {}).get("ledbat") or {}).get("target_ns")
    upload = population.get("upload_bps")
    interface = (population.get("upload_control") or {}).get("interface") or {}
    return Settings(
        profile=profile["name"],
        upload=None if upload is None else upload // 8,
        transport="utp" if "utp" in chosen else "tcp",
        rules=profile,
        data_apart=data is not None,
        utp_target_s=None if target_ns is None else target_ns / 1e9,
        refresh_s=(interface.get("refresh_ns") or 0) / 1e9 or None,
    )
