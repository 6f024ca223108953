"""What profiles become in programs."""

import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.clients import testbed

from flashcrowd import _core
from flashcrowd.base.units import Size, Span
from flashcrowd.clients import (
    PROGRAMS,
    HostSandbox,
    aria2,
    biglybt,
    libtorrent,
    mainline,
    qbittorrent,
    rtorrent,
    torrent,
    transmission,
)
from flashcrowd.clients.client import Job
from flashcrowd.clients.settings import CANNOT_MATTER, Settings, Transport, Unmet, values
from flashcrowd.scenario.mirror import kind_of
from flashcrowd.scenario.profile import Profile
from flashcrowd.study import Study
from flashcrowd.study.counterparts import counterparts

MADE = torrent.Torrent(Path("file"), Path("file.torrent"), 1, 1, b"", (), "")

lt = pytest.importorskip("libtorrent", reason="pip install libtorrent")


def settings(profile: str, upload: int | None = None, **more: Any) -> Settings:
    rules = json.loads(_core.client_profiles())[profile]
    for section, changes in more.items():
        rules[section] = {**rules.get(section, {}), **changes}
    return Settings(profile, upload, "tcp", rules)


def test_the_rules_of_libtorrent_are_its_own_defaults():
    made, unmet = libtorrent.mapped(settings("libtorrent"))
    defaults = lt.default_settings()
    other = {key for key, value in made.items() if value != defaults[key]}
    assert other == {
        # What a testbed must not have.
        "enable_dht",
        "enable_lsd",
        "enable_upnp",
        "enable_natpmp",
        "in_enc_policy",
        "out_enc_policy",
        # How it is embedded.
        "aio_threads",
        "alert_mask",
        "alert_queue_size",
        "max_retry_port_bind",
        "listen_system_port_fallback",
        # One transport, as the population says.
        "enable_outgoing_utp",
    }
    # In these the profile is still mainline's.
    retries = {"retry", "retry_growth_min", "retry_growth_max", "max_retry"}
    marginal = {"connections.keepalive", *(f"announce.{name}" for name in retries)}
    assert {it.setting for it in unmet} == marginal


def test_slots_and_the_queue_time_are_those_of_the_simulated_client():
    limits = {None: 7, 0: 2, 9 << 10: 3, 15 << 10: 4, 42 << 10: 5, 100 << 10: 7}
    found = {limit: settings("mainline-4.0.2", limit).slots for limit in limits}
    assert found == limits
    for fixed, slots in ((0, 1), (8, 8)):
        assert settings("mainline-4.0.2", choker={"slots": {"fixed": fixed}}).slots == slots
    times = {None: {"fixed": 5}, 4.0: {"mainline": {"initial": 2}}}
    for seconds, rule in times.items():
        made = settings("mainline-4.0.2", requests={"backlog": rule})
        assert made.queue_time_s == seconds
    assert settings("libtorrent").queue_time_s == 3.0


def test_what_a_profile_does_not_have_is_switched_off():
    made, unmet = libtorrent.mapped(settings("modern"))
    assert made["allowed_fast_set_size"] == 0
    assert not made["rate_limit_ip_overhead"]
    assert made["mixed_mode_algorithm"] == int(lt.bandwidth_mixed_algo_t.prefer_tcp)
    assert made["torrent_connect_boost"] == 255
    # It leaves whoever completes, also with what it lacks, and must be able to come back.
    assert made["min_reconnect_time"] == lt.default_settings()["min_reconnect_time"] == 60
    assert {
        "connections.candidates",
        "connections.drop_new_seeds",
        "connections.reconnect",
        "requests.backlog",
        "requests.block_timeout",
        "requests.request_timeout",
        "requests.strict_end_game",
        "limiter.sharing",
        "fast.enabled",
    } <= {it.setting for it in unmet}
    # Otherwise blocks that others owe are asked for all through the download.
    assert made["strict_end_game_mode"]


def test_who_leaves_nobody_need_not_come_back():
    made, unmet = libtorrent.mapped(settings("modern", connections={"drop_seed_to_seed": False}))
    assert not made["close_redundant_connections"]
    assert made["min_reconnect_time"] > 86_400
    (listed,) = (it for it in unmet if it.setting == "connections.reconnect")
    assert "nor when the tracker names it again" in str(listed)


def test_who_comes_back_all_the_same_fails_once_at_least():
    made, unmet = libtorrent.mapped(settings("modern", connections={"max_failures": 0}))
    assert made["max_failcount"] == 1
    assert {"connections.reconnect", "connections.max_failures"} <= {it.setting for it in unmet}


def test_rules_of_another_client_are_set_where_they_can_be_and_listed_where_not():
    made, unmet = libtorrent.mapped(settings("mainline-4.0.2", upload=50 * 1024))
    assert made["unchoke_slots_limit"] == 5
    assert made["unchoke_interval"] == 10
    assert made["optimistic_unchoke_interval"] == 30
    assert made["request_queue_time"] == 4
    assert made["connections_limit"] == 80
    assert made["upload_rate_limit"] == 50 * 1024
    listed = {it.setting: it for it in unmet}
    assert {"choker.leech", "choker.seed", "choker.free_slot"} <= set(listed)
    assert "nagle" not in listed  # it is on in both
    assert (listed["choker.leech"].asked, listed["choker.leech"].given) == ("mainline", "modern")


@pytest.mark.parametrize(
    ("profile", "limiter", "algorithm"),
    [
        ("libtorrent", {}, "peer_proportional"),
        ("libtorrent", {"mixed_mode_algorithm": "prefer-tcp"}, "prefer_tcp"),
        # Who writes in turns shares nothing between transports.
        ("libtorrent", {"sharing": "turns"}, "prefer_tcp"),
        ("modern", {}, "prefer_tcp"),
    ],
)
def test_tcp_makes_room_for_utp_where_the_profile_says_so(
    profile: str, limiter: dict[str, Any], algorithm: str
):
    made, _ = libtorrent.mapped(settings(profile, limiter=limiter))
    assert made["mixed_mode_algorithm"] == int(getattr(lt.bandwidth_mixed_algo_t, algorithm))


@pytest.mark.parametrize(
    ("kilobytes", "slots"), [(1, 2), (9, 3), (14, 3), (15, 4), (41, 4), (42, 5), (100, 7)]
)
def test_slots_by_the_limit_are_mainlines(kilobytes: int, slots: int):
    assert settings("mainline-4.0.2", upload=kilobytes * 1024).slots == slots


@pytest.mark.parametrize(
    ("transport", "falls_back", "outgoing", "protocol"),
    [
        ("tcp", True, (True, False), 1),
        ("tcp", False, (True, False), 1),
        ("utp", True, (True, True), 0),
        ("utp", False, (False, True), 2),
    ],
)
def test_tcp_is_there_beside_utp_where_an_attempt_may_fall_back(
    transport: Transport, falls_back: bool, outgoing: tuple[bool, bool], protocol: int
):
    rules = settings("libtorrent", connections={"tcp_fallback": falls_back}).rules
    asked = Settings("libtorrent", None, transport, rules)
    made, _ = libtorrent.mapped(asked)
    assert (made["enable_outgoing_tcp"], made["enable_outgoing_utp"]) == outgoing
    job = Job(HostSandbox("h", "198.18.0.1"), MADE, asked, seed=True, folder=Path())
    assert qbittorrent.preferences(job)["bittorrent_protocol"] == protocol
    # What cannot be had is listed: Transmission falls back whatever is asked.
    listed = {it.setting for it in transmission.unmet(asked)}
    assert ("connections.tcp_fallback" in listed) == (transport == "utp" and not falls_back)


def test_slots_without_a_limit_are_mainlines():
    assert settings("mainline-4.0.2").slots == 7


def test_who_uploads_nothing_unchokes_nobody():
    assert libtorrent.mapped(settings("modern", upload=0))[0]["unchoke_slots_limit"] == 0


# Every key of a profile, and every program.


@dataclass(frozen=True)
class Change:
    """A key of a profile, what a study says there, and what else must be said for it to matter."""

    key: str
    said: Any
    beside: dict[str, Any]


ALIVE = {
    "choker.rank_rounds": {"choker.leech": "ns2"},
    "choker.newcomer_weight": {"choker.leech": "ns2"},
    "choker.idle_class": {"choker.seed": "mainline"},
    "choker.protected_rounds": {"choker.seed": "mainline"},
    "choker.min_uploads": {"choker.leech": "mainline"},
    "limiter.write_unit": {"limiter.sharing": "turns"},
    "limiter.unlimited_write_unit": {"limiter.sharing": "turns"},
    "limiter.window": {"limiter.sharing": "turns"},
}
"""Keys that say nothing in `libtorrent`, with what makes them matter."""

SLOW_START = {"first": 4, "queue_time": "3 s", "min": 2, "max": 500}
BY_HAND = {
    "requests.block": ["8 KiB"],
    "requests.backlog": [
        5,
        {"initial": 3},
        {"kind": "queue-time", "queue_time": "3 s", "min": 2, "max": 500},
        *({**SLOW_START, key: value} for key, value in (("first", 9), ("min", 3), ("max", 9))),
        {**SLOW_START, "queue_time": "5 s"},
        {**SLOW_START, "queue_time": "2500 ms"},
    ],
    "choker.slots": [5, "mainline-by-rate"],
    "limiter.quota.header": ["0 B", "28 B"],
}
"""What has no obvious neighbour."""


def keys(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a profile, with its type."""
    for name, info in model.model_fields.items():
        kind = kind_of(info.annotation)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys(kind, f"{before}{name}.")
        elif name not in ("base", "transport"):  # a plan says the latter of each population
            yield before + name, info.annotation


def others(key: str, annotation: Any, now: Any) -> list[Any]:
    """What else a study may say there: a little more, nothing, and all other words."""
    if key in BY_HAND:
        return BY_HAND[key]
    kind, words = kind_of(annotation), typing.get_args(kind_of(annotation))
    if isinstance(now, bool):
        return [not now]
    if words and now in words:
        return [word for word in words if word != now]
    if isinstance(now, float):
        return [now + 0.05, now + 0.004]
    if now is None:
        return ["7 s" if kind is Span else 1]
    none = ["none"] if "None" in str(annotation) else []
    if kind is Span:
        return [f"{now // 10**9 + 7} s", f"{now // 10**6 + 7300} ms", *none]
    if kind is Size:
        return [f"{now + 1024} B", f"{now + 1030} B"]
    return [now + 1, *none]


def changes() -> list[Change]:
    now = values(json.loads(_core.client_profiles())["libtorrent"])
    return [
        Change(key, said, {key: now[key][0]} if key in OVER_UTP else ALIVE.get(key, {}))
        for key, annotation in keys(Profile)
        for said in others(key, annotation, now[key][0])
    ]


OVER_UTP = ("connections.tcp_fallback",)
"""Keys that matter only where connections are opened over uTP."""
TCP_ONLY = ("mainline-4.0.2", "aria2", "rtorrent", "biglybt")


def played(changed: dict[str, Any]) -> Settings:
    """The settings of a seed whose profile is libtorrent's but for this."""
    profile: dict[str, Any] = {"base": "libtorrent"}
    for key, said in changed.items():
        *tables, last = key.split(".")
        table = profile
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = said
    population = {"name": "seed", "role": "seed", "profile": "changed"}
    plan = testbed.plan(population, {"profile": "changed"}, profiles={"changed": profile})
    (rules,) = plan["profiles"]
    utp = not changed.keys().isdisjoint(OVER_UTP)
    return Settings("changed", None, "utp" if utp else "tcp", rules)


def told(program: str, settings: Settings, folder: Path) -> tuple[Any, list[Unmet]]:
    """What a program is told for a seed, and what it is said not to offer."""
    job = Job(HostSandbox("h", "198.18.0.1"), MADE, settings, seed=True, folder=folder)
    # Whether a torrent is private is the swarm's to say, by the same word of the profile.
    match program:
        case "libtorrent":
            said, unmet = libtorrent.mapped(settings)
            return (said, libtorrent.torrent_flags(job)), unmet
        case "mainline-4.0.2":
            # The profile itself: it calls nothing by a name of its own.
            return json.dumps(mainline.told(job)).encode(), [*mainline.unmet(settings)]
        case "transmission":
            return transmission.told(job), [*transmission.unmet(settings)]
        case "qbittorrent":
            of_torrent = qbittorrent.super_seeds(job), qbittorrent.torrent_options(job)
            said = qbittorrent.preferences(job), of_torrent
            return said, [*qbittorrent.unmet(settings)]
        case "aria2":
            return aria2.told(job), [*aria2.unmet(settings)]
        case "biglybt":
            return biglybt.told(job), [*biglybt.unmet(settings)]
        case _:
            return rtorrent.told(job), [*rtorrent.unmet(settings)]


@pytest.fixture(scope="module")
def cases() -> list[tuple[Change, Settings, Settings]]:
    """Every change, the settings before and after it."""
    before: dict[str, Settings] = {}
    found = []
    for change in changes():
        alive = before.setdefault(json.dumps(change.beside), played(change.beside))
        found.append((change, alive, played({**change.beside, change.key: change.said})))
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_key_of_a_profile_is_set_or_listed(
    program: str, cases: list[tuple[Change, Settings, Settings]], tmp_path: Path
):
    silent = []
    for change, before, after in cases:
        if change.key in CANNOT_MATTER or (change.key in OVER_UTP and program in TCP_ONLY):
            continue
        (one, unmet), (other, unmet_then) = (told(program, it, tmp_path) for it in (before, after))
        names = {it.setting for it in {*unmet} ^ {*unmet_then}}
        if one == other and not any(f"{it}.".startswith(f"{change.key}.") for it in names):
            silent.append((change.key, change.said))
    assert silent == []


def test_pieces_in_sequence_are_a_flag_of_the_torrent_where_there_is_one(tmp_path: Path):
    sequential = played({"picker.order": "sequential"})
    (_, flags), unmet = told("libtorrent", sequential, tmp_path)
    assert "sequential_download" in flags
    assert hasattr(lt.torrent_flags, "sequential_download")
    assert not [it for it in unmet if it.setting.startswith("picker.")]
    (_, (_, options)), unmet = told("qbittorrent", sequential, tmp_path)
    assert options == {"sequentialDownload": "true"}
    assert "picker.order" not in {it.setting for it in unmet}
    for program in ("transmission", "aria2", "rtorrent", "biglybt"):
        listed = {it.setting: it.asked for it in told(program, sequential, tmp_path)[1]}
        assert listed["picker.order"] == "sequential"


def named(said: Any) -> Iterator[tuple[str, str]]:
    """What a program is told, as names with values."""
    match said:
        case dict():
            yield from ((name, repr(value)) for name, value in said.items())
        case str():
            name, _, value = said.partition(" = ")
            yield name, value
        case list() | tuple():
            for it in said:
                yield from named(it)
        case _:
            pass


def test_what_a_client_calls_its_settings_leads_to_the_keys(
    cases: list[tuple[Change, Settings, Settings]], tmp_path: Path
):
    """`flashcrowd explain request_queue_size`: as they are found by changing each key."""
    keys_of: dict[tuple[str, str], set[str]] = {}
    for change, before, after in cases:
        for program in PROGRAMS:
            told_of = [set(named(told(program, it, tmp_path)[0])) for it in (before, after)]
            for name, _ in told_of[0] ^ told_of[1]:
                keys_of.setdefault((program, name), set()).add(change.key)
    known = {
        (it.program, it.name): it.key.removeprefix("profiles.NAME.")
        for it in counterparts()
        if not it.key.startswith("utp.")
    }
    assert keys_of.keys() <= known.keys()
    wrong = {
        name: known[name]
        for name, keys in keys_of.items()
        # Of a rule that a setting only follows from there is no key.
        if known[name] and not any(f"{known[name]}.".startswith(f"{key}.") for key in keys)
    }
    assert wrong == {}
    files = {name for name in known if name[0] != "libtorrent"}
    assert files <= keys_of.keys()


def test_what_cannot_matter_is_a_key_of_a_profile_and_has_a_reason():
    assert CANNOT_MATTER.keys() <= {key for key, _ in keys(Profile)}
    assert all(CANNOT_MATTER.values())


def test_what_a_setting_cannot_say_exactly_is_listed():
    after = played({"connections.timeout": "90500 ms", "connections.turnover_share": 0.045})
    made, unmet = libtorrent.mapped(after)
    listed = {it.setting: (it.asked, it.given) for it in unmet}
    assert listed["connections.timeout"] == ("90.5 s", "90 s")
    assert made["peer_timeout"] == 90
    assert listed["connections.turnover_share"] == ("0.045", "0.04")
    assert made["peer_turnover"] == 4


def test_no_point_of_the_ablation_is_played_like_another_without_a_word():
    """With real programs, of a study that takes one mechanism out at a time."""
    found = {}
    for point in Study.load(
        Path(__file__).parents[2] / "studies/libtorrent-ablation.toml"
    ).points():
        (rules,) = json.loads(point.plan().to_json())["profiles"]
        made, unmet = libtorrent.mapped(Settings(rules["name"], 12_500, "tcp", rules))
        pex = rules["peer_exchange"]["enabled"]
        found[rules["name"]] = json.dumps([made, [vars(it) for it in unmet], pex])
    assert len(found) == 36
    assert len(set(found.values())) == len(found)
