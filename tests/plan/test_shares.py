"""A population takes a share of its groups' hosts."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.base.errors import StudyError
from flashcrowd.scenario.hosts import HostNames
from flashcrowd.scenario.members import dealt, members
from flashcrowd.scenario.swarm import Population
from flashcrowd.study import Study

GROUPS = ["cable", "fibre", "lte"]
SIZES = {"cable": 150, "fibre": 100, "lte": 50}


def study(populations: dict[str, Any], sizes: dict[str, int] = SIZES) -> Study:
    seed = {"role": "seed", "group": "server"}
    swarm = {"kind": "swarm", "size": "1 MB", "populations": {"seed": seed, **populations}}
    groups = {"server": {}, **{name: {"hosts": hosts} for name, hosts in sizes.items()}}
    return Study.from_dict(
        {"format": 1, "title": "T", "network": {"groups": groups}, "workloads": {"swarm": swarm}}
    )


def groups_of(made: Study, name: str) -> Counter[str]:
    """How many hosts of each group a population has in the plan."""
    plan = made.points()[0].plan().data
    (workload,) = plan["workloads"]
    assert "populations" in workload
    [found] = [it for it in workload["populations"] if it["name"] == name]
    return Counter(plan["network"]["hosts"][host]["name"].split("-")[0] for host in found["hosts"])


def refused(populations: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(StudyError) as error:
        study(populations)
    return [(it.path.rpartition(".")[2], it.allowed) for it in error.value.problems]


def test_a_share_is_a_part_of_each_group():
    made = study({"some": {"group": GROUPS, "share": "30 %"}, "rest": {"group": GROUPS}})
    assert groups_of(made, "some") == {"cable": 45, "fibre": 30, "lte": 15}
    assert groups_of(made, "rest") == {"cable": 105, "fibre": 70, "lte": 35}


def test_a_number_of_hosts_is_of_the_first_group_first():
    made = study({"some": {"group": GROUPS, "hosts": 160}, "rest": {"group": GROUPS}})
    assert groups_of(made, "some") == {"cable": 150, "fibre": 10}


@pytest.mark.parametrize("share", ["0 %", "100 %"])
def test_a_share_may_be_nobody_and_everybody(share: str):
    made = study({"some": {"group": GROUPS, "share": share}, "rest": {"group": GROUPS}})
    everybody = groups_of(made, "some" if share == "100 %" else "rest")
    assert everybody == SIZES
    made.points()[0].plan().parsed.check()


def test_clients_of_an_origin_have_shares_too():
    clients = {"some": {"group": "cable", "share": "1 %"}, "rest": {"group": "cable"}}
    origin = {"kind": "origin", "host": "server", "files": "1 MB", "populations": clients}
    groups = {"server": {}, "cable": {"hosts": 150}}
    made = Study.from_dict(
        {"format": 1, "title": "T", "network": {"groups": groups}, "workloads": {"origin": origin}}
    )
    assert groups_of(made, "some") == {"cable": 2}
    assert groups_of(made, "rest") == {"cable": 148}


def test_more_than_a_whole_group_is_refused_once():
    shares = {name: {"group": GROUPS, "share": "60 %"} for name in ("some", "others")}
    allowed = "at most 40 %: earlier populations have the other shares of cable"
    assert refused(shares) == [("share", allowed)]


def test_a_share_of_hosts_that_are_taken_is_refused():
    populations = {
        "first": {"group": "lte", "hosts": 40},
        "some": {"group": "lte", "share": "50 %"},
    }
    allowed = "a share of lte that is free: 10 of 25 hosts are"
    assert refused(populations) == [("share", allowed)]


def test_a_population_has_hosts_or_a_share():
    assert refused({"some": {"group": "lte", "hosts": 4, "share": "50 %"}}) == [
        ("share", "none beside `hosts`")
    ]


def test_a_swarm_in_which_nobody_is_left_is_refused():
    assert refused({"some": {"group": "lte", "share": "0 %"}}) == [
        ("some", "at least one host for a leecher")
    ]


def test_a_mistake_at_several_points_of_a_sweep_is_told_once():
    document = study({"some": {"group": GROUPS}, "rest": {"group": "server", "share": "0 %"}})
    content = document.resolved()
    content["workloads"]["swarm"]["populations"]["rest"] = {"group": GROUPS, "hosts": 400}
    content["sweep"] = {"workloads.swarm.populations.some.share": ["0 %", "25 %", "100 %"]}
    with pytest.raises(StudyError) as error:
        Study.from_dict(content)
    assert len(error.value.problems) == 1


percents = st.lists(st.integers(0, 100), min_size=1, max_size=5).filter(lambda it: sum(it) <= 100)
sizes = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1)


@given(percents, sizes, st.booleans())
def test_shares_add_up_and_no_host_is_in_two_populations(
    parts: list[int], hosts: dict[str, int], whole: bool
):
    if whole:
        parts = [*parts, 100 - sum(parts)]
    groups = list(hosts)
    populations = {
        f"p{number}": Population.model_validate({"group": groups, "share": f"{part} %"})
        for number, part in enumerate(parts)
    }
    made = dealt(populations, hosts)
    for group, size in hosts.items():
        exact = Fraction(size * sum(parts), 100)
        counts = [made[name][group] for name in populations]
        assert abs(sum(counts) - exact) < 1
        assert all(0 <= count <= size for count in counts)
    for name, part in zip(populations, parts, strict=True):
        exact = Fraction(sum(hosts.values()) * part, 100)
        assert abs(sum(made[name].values()) - exact) <= len(parts)
        assert part or not any(made[name].values())
    taken = members(populations, HostNames(tuple(hosts.items())))
    chosen = [host for one in taken.values() for host in one.hosts]
    assert not [problem for one in taken.values() for problem in one.wrong]
    assert len(chosen) == len(set(chosen))
    if whole:
        assert len(chosen) == sum(hosts.values())


@given(st.integers(1, 200), st.integers(0, 99))
def test_a_larger_share_keeps_the_hosts_of_a_smaller_one(size: int, part: int):
    names = HostNames((("a", size),))
    chosen = [
        members({"p": Population.model_validate({"group": "a", "share": f"{it} %"})}, names)
        for it in (part, part + 1)
    ]
    for fewer, more in pairwise(chosen):
        assert set(fewer["p"].hosts) <= set(more["p"].hosts)
