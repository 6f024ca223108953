"""What connections are over where a population says nothing of it."""

from __future__ import annotations

from typing import Any

import pytest

from flashcrowd.clients import PROGRAMS
from flashcrowd.plan.lower import lower
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import SwarmWorkload
from flashcrowd.scenario import Scenario, shipped
from flashcrowd.scenario.check import check
from flashcrowd.scenario.swarm import WITHOUT_UTP
from flashcrowd.study import Study

DEFAULTS = {
    "mainline-4.0.2": "inherit",
    "modern": "libtorrent",
    "libtorrent": "libtorrent",
    "ns2-2011": "inherit",
}


def scenario(leecher: dict[str, Any], **parts: Any) -> Scenario:
    """A seed of the profile `mainline-4.0.2`, and a leecher."""
    populations = {"seed": {"role": "seed", "group": "a"}, "leecher": {"group": "b", **leecher}}
    swarm = {"kind": "swarm", "size": "1 MB", "populations": populations}
    groups = {"a": {"hosts": 1}, "b": {"hosts": 1}}
    return Scenario.model_validate(
        {"title": "T", "network": {"groups": groups}, "workloads": {"swarm": swarm}, **parts}
    )


def lowered(leecher: dict[str, Any], **parts: Any) -> tuple[Any, bool]:
    """What the leecher opens connections over, by name, and whether it answers uTP."""
    plan = lower(scenario(leecher, **parts)).parsed
    seed, made = workload(plan, 0, SwarmWorkload)["populations"]
    assert (seed["transport"], seed.get("answers_utp")) == (None, False)
    carrier, answers = made["transport"], made.get("answers_utp", True)
    if carrier is None:
        return "inherit", answers
    found = plan.utps[carrier["utp"]] if "utp" in carrier else plan.stacks[carrier["tcp"]]
    return found["name"], answers


def test_every_client_has_a_default():
    assert {name: table["transport"] for name, table in shipped.profiles().items()} == DEFAULTS


@pytest.mark.parametrize("profile", list(DEFAULTS))
def test_the_default_of_a_client_is_that_of_its_profile(profile: str):
    default = DEFAULTS[profile]
    assert lowered({"profile": profile}) == (default, default != "inherit")


@pytest.mark.parametrize(
    ("leecher", "opened", "answers"),
    [
        ({"transport": "inherit"}, "inherit", True),
        ({"transport": "profile"}, "libtorrent", True),
        ({"transport": "libutp"}, "libutp", True),
        ({"transport": "linux-2.6"}, "linux-2.6", True),
        ({"data_transport": "libutp"}, "inherit", True),
        ({"program": "qbittorrent"}, "libtorrent", True),
        ({"program": "aria2"}, "inherit", False),
        ({"program": "rtorrent"}, "inherit", False),
        ({"program": "biglybt"}, "inherit", False),
        ({"profile": "mainline-4.0.2", "transport": "libutp"}, "libutp", True),
        ({"profile": "mainline-4.0.2", "data_transport": "libutp"}, "inherit", True),
        ({"profile": "mainline-4.0.2", "program": "qbittorrent"}, "inherit", False),
    ],
)
def test_a_population_overrides_it(leecher: dict[str, Any], opened: str, answers: bool):
    assert lowered({"profile": "libtorrent", **leecher}) == (opened, answers)


def test_a_variation_has_a_default_of_its_own():
    own = {"mine": {"base": "libtorrent", "transport": "libutp"}}
    assert lowered({"profile": "mine"}, profiles=own) == ("libutp", True)
    own = {"mine": {"base": "libtorrent", "transport": "inherit"}}
    assert lowered({"profile": "mine"}, profiles=own) == ("inherit", False)
    fast = {"quick": {"base": "libtorrent", "ledbat": {"target": "25 ms"}}}
    own = {"mine": {"base": "libtorrent", "transport": "quick"}}
    assert lowered({"profile": "mine"}, profiles=own, utp=fast) == ("quick", True)


def test_an_unknown_default_is_refused():
    own = {"mine": {"base": "libtorrent", "transport": "libtorent"}}
    (problem,) = check(scenario({"profile": "mine"}, profiles=own))
    assert problem.path == "profiles.mine.transport"
    assert "libtorrent" in f"{problem.allowed} {problem.hint}"


def test_the_resolved_study_names_it():
    document = {"format": 1, **scenario({"profile": "libtorrent"}).model_dump(by_alias=True)}
    resolved = Study.model_validate(document).resolved()
    assert resolved["profiles"]["libtorrent"]["transport"] == "libtorrent"
    assert "libtorrent" in resolved["utp"]
    assert resolved["workloads"]["swarm"]["populations"]["leecher"]["transport"] == "profile"


def test_the_programs_without_utp_are_those_that_cannot_be_set_to_it():
    without = {name for name, it in PROGRAMS.items() if "utp" not in it.transports}
    assert without == set(WITHOUT_UTP)
