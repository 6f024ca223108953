"""The tables for stacks and clients against those of the engine, and plans against its reader."""

import json
from pathlib import Path
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.scenario import shipped
from flashcrowd.scenario.mirror import from_plan, to_plan
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.utp import Utp
from flashcrowd.study import Study

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
STACKS: dict[str, Any] = json.loads(_core.tcp_profiles())
UTPS: dict[str, Any] = json.loads(_core.utp_profiles())
PROFILES: dict[str, Any] = json.loads(_core.client_profiles())


@pytest.mark.parametrize("name", list(STACKS))
def test_a_stack_has_here_the_fields_and_values_that_it_has_in_the_engine(name: str):
    table = Stack.model_validate({"base": name, **from_plan(Stack, STACKS[name])})
    assert {"name": name, **to_plan(table)} == STACKS[name]


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_client_has_here_the_fields_and_values_that_it_has_in_the_engine(name: str):
    table = Profile.model_validate({"base": name, **from_plan(Profile, PROFILES[name])})
    assert {"name": name, **to_plan(table)} == PROFILES[name]


@pytest.mark.parametrize("name", list(UTPS))
def test_a_utp_configuration_has_here_the_fields_and_values_that_it_has_in_the_engine(name: str):
    table = Utp.model_validate({"base": name, **from_plan(Utp, UTPS[name])})
    assert {"name": name, **to_plan(table)} == UTPS[name]


def test_whatever_ships_can_be_named():
    assert list(shipped.utps()) == list(UTPS)
    assert list(shipped.stacks()) == list(STACKS)
    assert list(shipped.profiles()) == list(PROFILES)


@pytest.mark.parametrize(
    "requests",
    [
        {"backlog": 5},
        {"backlog": {"initial": 3}},
        {"backlog": {"queue_time": "3 s", "min": 2, "max": 5}},
    ],
)
@pytest.mark.parametrize("slots", ["mainline-by-rate", 4])
def test_the_engine_reads_every_variant_of_a_client(requests: Any, slots: Any):
    profile = {"base": "mainline-4.0.2", "requests": requests, "choker": {"slots": slots}}
    study = Study.load(STUDIES[0].with_name("client-ablation.toml"))
    document = {**study.resolved(), "profiles": {"mainline-4.0.2": profile}, "sweep": []}
    (point,) = Study.from_dict(document).points()
    point.plan().parsed.check()


@pytest.mark.parametrize("size", ["300 B", {"steps": ["150 B", "300 B"]}, {"kind": "path-mtu"}])
@pytest.mark.parametrize("sack", ["off", "as-needed", "8 B"])
def test_the_engine_reads_every_variant_of_a_utp_configuration(size: Any, sack: str):
    utp = {"base": "libutp-2010", "packet_size": size, "sack": sack}
    study = Study.load(STUDIES[0].with_name("capacity-steps.toml"))
    workload = {"kind": "transfer", "from": "server", "to": "home", "transport": "mine"}
    document = {**study.resolved(), "utp": {"mine": utp}, "sweep": []}
    document["workloads"]["mine"] = {**workload, "stop": "1 min"}
    (point,) = Study.from_dict(document).points()
    point.plan().parsed.check()


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_engine_reads_every_plan_of_the_studies_that_ship(path: Path):
    for point in Study.load(path).points():
        point.plan().parsed.check()
