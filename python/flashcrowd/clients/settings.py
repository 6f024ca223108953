"""What a plan asks of a client, in the words that programs have settings for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Row
from flashcrowd.plan.types import Population
from flashcrowd.plan.types import Settings as Rules

Upload = int | None
"""An upload limit in bytes per second; None for unlimited, 0 for no upload at all."""

Transport = Literal["tcp", "utp"]

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

    def row(self, swarm: str, population: str, program: str | None) -> Row:
        """A row of the table `programs`."""
        return {"swarm": swarm, "population": population, "program": program, **vars(self)}


@dataclass(frozen=True)
class Settings:
    """What one client is to do, as its profile and its population say it.

    Attributes:
        profile: name of the profile.
        upload: upload limit.
        transport: what carries the connections that the client opens.
        rules: the profile as the plan has it.
        answers_utp: whether the client answers attempts over uTP.
        data_apart: whether the plan asks for connections of their own for the blocks.
        utp_target_s: the delay that uTP aims at in queues; None for the program's own.
        refresh_s: how often the program renews what it says to an upload controller; None for as
            suits other callers.
    """

    profile: str
    upload: Upload
    transport: Transport
    rules: Rules = field(repr=False)
    answers_utp: bool = True
    data_apart: bool = False
    utp_target_s: float | None = None
    refresh_s: float | None = None

    @property
    def slots(self) -> int:
        """Uploads at a time, the optimistic ones included."""
        limit = None if self.upload is None else self.upload * 8
        return _core.upload_slots(json.dumps(self.rules["choker"]["slots"]), limit)

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
        return _core.request_queue_time_s(json.dumps(self.rules["requests"]["backlog"]))

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
    def falls_back(self) -> bool:
        """Whether an attempt over uTP that failed is made again over TCP."""
        return self.transport == "utp" and bool(self.rules["connections"]["tcp_fallback"])

    @property
    def exchanges_peers(self) -> bool:
        """Whether the profile has peer exchange (BEP 11)."""
        return bool(self.rules["peer_exchange"]["enabled"])

    @property
    def fast(self) -> bool:
        """Whether the profile has the Fast extension (BEP 6)."""
        return bool(self.rules["fast"]["enabled"])

    @property
    def allowed_fast(self) -> int:
        """Pieces of the allowed-fast set; 0 where the profile has no Fast extension."""
        return int(self.rules["fast"]["allowed_set"]) if self.fast else 0

    @property
    def suggests(self) -> bool:
        """Whether the profile suggests pieces (BEP 6)."""
        return self.fast and self.rules["fast"]["suggest"] == "read-cache"

    @property
    def max_suggested(self) -> int:
        """How many suggestions of a neighbour the profile keeps in mind."""
        return int(self.rules["fast"]["max_suggested"])

    @property
    def sequential(self) -> bool:
        """Whether pieces are taken by number, from the first one on."""
        return self.rules["picker"]["order"] == "sequential"

    @property
    def quota(self) -> Rules | None:
        """The rules of a limiter that hands out quota; None for one that writes in turns."""
        limiter = self.rules["limiter"]
        return limiter["quota"] if limiter["sharing"] == "quota" else None

    @property
    def tcp_yields(self) -> bool:
        """Whether TCP is limited for the sake of uTP."""
        proportional = self.rules["limiter"]["mixed_mode_algorithm"] == "peer-proportional"
        return proportional and self.quota is not None

    @property
    def counts_headers(self) -> bool:
        """Whether the upload limit counts the headers of packets."""
        return self.quota is not None and self.quota["header_bytes"] > 0


OWN = "its own"
"""What a program does of which only that is known: that no setting changes it."""

ANY_PROGRAM = {
    "control_behind_piece": "true",  # a connection is a stream of bytes: nothing overtakes in it
    "requests.block": f"{BLOCK} B",
    "requests.stamped": "false",  # no message of a real client has room for a stamp
    "super_seeding": "false",
}
"""What every program does alike, by its name in a profile."""

CANNOT_MATTER = {
    "requests.max_block": "no program here asks for more than a block in one request",
    **dict.fromkeys(
        (
            *("web_seeds.connections", "web_seeds.order", "web_seeds.request"),
            *("web_seeds.leave_gaps", "web_seeds.timeout", "web_seeds.retry"),
        ),
        "a swarm with web seeds has content servers, which the emulation refuses",
    ),
}
"""Keys of a profile that cannot matter where real programs play it, with the reason."""

_UNREAD: tuple[tuple[tuple[str, ...], Callable[[Rules], bool]], ...] = (
    (
        ("choker.rank_rounds", "choker.newcomer_weight"),
        lambda it: "ns2" not in (it["choker"]["leech"], it["choker"]["seed"]),
    ),
    (
        ("choker.idle_class", "choker.protected_rounds"),
        lambda it: it["choker"]["seed"] != "mainline",
    ),
    (("choker.min_uploads",), lambda it: it["choker"]["leech"] != "mainline"),
    (
        ("choker.quota_pieces", "choker.quota_time"),
        lambda it: it["choker"]["seed"] != "round-robin",
    ),
    (("choker.tick",), lambda it: it["choker"]["free_slot"] != "tick"),
    (("connections.max_failures",), lambda it: it["connections"]["reconnect_ns"] is None),
    (
        ("connections.opened_at_once",),
        lambda it: it["connections"]["opened_per_second"] is None,
    ),
    (
        ("connections.turnover_share", "connections.turnover_cutoff"),
        lambda it: it["connections"]["turnover_ns"] is None,
    ),
    (
        (
            *("fast.allowed_set", "fast.choked_request", "fast.suggest"),
            *("fast.max_suggested", "fast.follow_suggestions"),
        ),
        lambda it: not it["fast"]["enabled"],
    ),
    (
        ("limiter.quota.", "limiter.mixed_mode_algorithm"),
        lambda it: it["limiter"]["sharing"] != "quota",
    ),
    (
        ("limiter.write_unit", "limiter.unlimited_write_unit", "limiter.window"),
        lambda it: it["limiter"]["sharing"] != "turns",
    ),
    (
        ("peer_exchange.interval", "peer_exchange.max_entries", "peer_exchange.max_named"),
        lambda it: not it["peer_exchange"]["enabled"],
    ),
    (
        ("picker.adjacent_pieces", "picker.exclusive_pieces"),
        lambda it: not it["picker"]["whole_pieces_ns"],
    ),
    (
        ("picker.begun_wins_ties", "picker.finish_first", "picker.random_first_pieces"),
        lambda it: it["picker"]["order"] == "sequential",
    ),
    (("requests.snub_after",), lambda it: not it["requests"]["snubbing"]),
    (("requests.strict_end_game",), lambda it: not it["requests"]["end_game"]),
    (
        ("requests.cancel_doubles",),
        lambda it: not (it["requests"]["end_game"] and it["requests"]["strict_end_game"]),
    ),
)
"""Keys (or their begin, up to a dot) that say nothing beside what other keys of a profile say."""


def values(rules: Rules) -> dict[str, tuple[Any, str]]:
    """What a profile says, key by key: the key in a study, the plan's value, the study's words."""
    return {name: (value, _said(key, value)) for name, key, value in _flat(rules, "")}


def in_words(rules: Rules) -> dict[str, str]:
    """What a profile says, key by key, as a study would say it."""
    return {name: said for name, (_, said) in values(rules).items()}


def asked(rules: Rules) -> dict[str, str]:
    """The same, without what says nothing beside the rest, and what cannot matter here."""
    unread = [names for names, is_unread in _UNREAD if is_unread(rules)]
    silent = tuple({*CANNOT_MATTER, *(name for names in unread for name in names)})
    groups = tuple(name for name in silent if name.endswith("."))
    return {
        name: said
        for name, said in in_words(rules).items()
        if name not in silent and not name.startswith(groups)
    }


def _flat(rules: Rules, before: str) -> Iterator[tuple[str, str, Any]]:
    """The name of each key in a study, its name in the plan, and its value there."""
    for key, value in rules.items():
        name = before + key.removesuffix("_ns").removesuffix("_bytes")
        if name == "requests.backlog":
            # Some programs have numbers of a slow start; of other rules they have none.
            ((kind, given),) = value.items()
            if kind == "slow-start":
                yield name, key, kind
                yield from _flat(given, f"{name}.")
            else:
                yield name, key, value
        elif name == "choker.slots":
            yield name, key, value["fixed"] if isinstance(value, dict) else value
        elif isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif name not in ("name", "transport"):  # a plan says the latter of each population
            yield name, key, value


_SIZES = ("_bytes", "watermark", "write_unit")
"""Endings of keys of a plan that are sizes."""


def _said(key: str, value: Any) -> str:
    """A value of a plan in the words of a study."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name.removesuffix('_ns')} {_said(name, it)}" for name, it in value.items()
        )
    if key.endswith("_ns"):
        return f"{value / 1e9:g} s"
    if key.endswith(_SIZES):
        return f"{value} B"
    return f"{value:g}" if isinstance(value, float) else str(value)


def own_rules(
    settings: Settings, *offered: str, own: Mapping[str, str] | None = None
) -> Iterator[Unmet]:
    """Every rule of a profile that a program follows in another way than the profile.

    Args:
        settings: what the plan asks.
        offered: the keys that the program is set to.
        own: what it does by itself, by key and in words; what is not known is listed as its own.
    """
    yield from one_connection(settings)
    known = {**(own or {}), **ANY_PROGRAM}
    rules = asked(settings.rules)
    if settings.transport == "tcp":
        rules.pop("connections.tcp_fallback", None)
    for name, said in rules.items():
        given = known.get(name, OWN)
        if name not in offered and said != given:
            yield Unmet(name, said, given)


def one_protocol(settings: Settings) -> Iterator[Unmet]:
    """What a program with one switch for both directions cannot do: open TCP, but answer uTP."""
    if settings.transport == "tcp" and settings.answers_utp:
        yield Unmet("transport", "tcp, and uTP is answered", "TCP both ways")


def one_connection(settings: Settings) -> Iterator[Unmet]:
    """What no program offers: blocks over another transport than requests."""
    if settings.data_apart:
        given = f"connections that it opens are {settings.transport}, and carry everything"
        yield Unmet("data_transport", f"{settings.transport} for blocks it uploads", given)


def of(plan: Plan, population: Population) -> Settings:
    """The settings of the clients of one population of a plan.

    Raises:
        ValueError: the population asks for what no program offers.
    """
    transport, data = population["transport"], population["data"]
    if transport is not None and data is not None:
        raise ValueError(
            "no program opens connections of their own for the blocks: leave out transport or "
            "data_transport"
        )
    profile = plan.profiles[population["profile"]]
    chosen = transport or data or {}
    utps = plan.utps
    utp = utps[chosen["utp"]] if "utp" in chosen else utps[0] if len(utps) == 1 else None
    target_ns = ((utp or {}).get("ledbat") or {}).get("target_ns")
    upload = population["upload_bps"]
    control = population.get("upload_control")
    return Settings(
        profile=profile["name"],
        upload=None if upload is None else upload // 8,
        transport="utp" if "utp" in chosen else "tcp",
        rules=profile,
        answers_utp=population.get("answers_utp", True),
        data_apart=data is not None,
        utp_target_s=None if target_ns is None else target_ns / 1e9,
        refresh_s=control["interface"]["refresh_ns"] / 1e9 or None if control else None,
    )
