"""What profiles become in programs."""

import json
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.clients import libtorrent
from flashcrowd.clients.settings import Settings

lt = pytest.importorskip("libtorrent", reason="pip install 'flashcrowd[emulation]'")


def settings(profile: str, upload: int | None = None, **more: Any) -> Settings:
    rules = json.loads(_core.client_profiles())[profile]
    for section, changes in more.items():
        rules[section] = {**rules.get(section, {}), **changes}
    return Settings(profile, upload, "tcp", rules)


def as_shipped() -> Settings:
    """The rules of libtorrent 2, as far as its own settings say them."""
    return settings(
        "modern",
        connections={
            "timeout_ns": 120 * 10**9,
            "max_candidates": 3000,
            "drop_new_seeds": True,
            "turnover_ns": 300 * 10**9,
            "inactivity_ns": 600 * 10**9,
            "candidates": "canonical",
        },
        announce={"min_interval_ns": 300 * 10**9},
        requests={
            "backlog": {
                "slow-start": {"queue_time_ns": 3 * 10**9, "first": 4, "min": 2, "max": 500}
            },
            "strict_end_game": True,
            "cancel_doubles": False,
            "block_timeout_ns": 20 * 10**9,
            "request_timeout_ns": 60 * 10**9,
        },
        fast={"enabled": True, "allowed_set": 5},
        picker={"strict_priority": False, "whole_pieces_ns": 20 * 10**9},
        limiter={
            "sharing": "quota",
            "mixed_mode_algorithm": "peer-proportional",
            "quota": {
                "header_bytes": 40,
                "low_watermark": 10 << 10,
                "watermark_factor": 0.5,
                "watermark": 500 << 10,
            },
        },
    )


def test_the_rules_of_libtorrent_are_its_own_defaults():
    made, unmet = libtorrent.mapped(as_shipped())
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
        # One transport, as the population says.
        "enable_outgoing_utp",
        # Neighbours are not exchanged for others: the profile has no such rule.
    }
    assert unmet == []


def test_what_a_profile_does_not_have_is_switched_off():
    made, unmet = libtorrent.mapped(settings("modern"))
    assert made["allowed_fast_set_size"] == 0
    assert not made["rate_limit_ip_overhead"]
    assert made["mixed_mode_algorithm"] == int(lt.bandwidth_mixed_algo_t.prefer_tcp)
    assert {it.setting for it in unmet} == {
        "connections.candidates",
        "connections.drop_new_seeds",
        "requests.backlog",
        "requests.block_timeout",
        "requests.cancel_doubles",
        "requests.request_timeout",
        "requests.strict_end_game",
        "limiter.sharing",
        "fast.enabled",
    }
    # Otherwise blocks that others owe are asked for all through the download.
    assert made["strict_end_game_mode"]


def test_rules_of_another_client_are_set_where_they_can_be_and_listed_where_not():
    made, unmet = libtorrent.mapped(settings("mainline-4.0.2", upload=50 * 1024))
    assert made["unchoke_slots_limit"] == 5
    assert made["unchoke_interval"] == 10
    assert made["optimistic_unchoke_interval"] == 30
    assert made["request_queue_time"] == 4
    assert made["connections_limit"] == 80
    assert made["upload_rate_limit"] == 50 * 1024
    listed = {it.setting: it for it in unmet}
    assert {"choker.leech", "choker.seed", "choker.free_slot", "nagle"} <= set(listed)
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


def test_slots_without_a_limit_are_mainlines():
    assert settings("mainline-4.0.2").slots == 7


def test_who_uploads_nothing_unchokes_nobody():
    assert libtorrent.mapped(settings("modern", upload=0))[0]["unchoke_slots_limit"] == 0
