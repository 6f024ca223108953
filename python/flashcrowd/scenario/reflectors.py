"""Hosts that answer the probes of upload controllers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flashcrowd.base.errors import Problem
from flashcrowd.scenario.hosts import HostNames
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.swarm import Population, Swarm
from flashcrowd.scenario.workloads import Workload


def reflectors(
    population: Population, swarm: Swarm, workloads: Mapping[str, Workload], hosts: HostNames
) -> list[str]:
    """The hosts that answer a population's controllers; none if there are none such."""
    control = population.upload_control
    if control is None:
        return []
    if control.reflector != "auto":
        named = [control.reflector] if isinstance(control.reflector, str) else control.reflector
        return list(dict.fromkeys(host for name in named for host in hosts.find(name) or ()))
    own = set(_groups(population))
    tracker = hosts.find(swarm.tracker.host) if swarm.tracker.host else None
    if tracker and not any(host in hosts.of_group(group) for group in own for host in tracker):
        return tracker
    crowded = {
        group
        for workload in workloads.values()
        if isinstance(workload, Swarm)
        for other in workload.populations.values()
        for group in _groups(other)
    }
    for taken in (crowded, own):
        for group in hosts.groups:
            if group not in taken:
                return hosts.of_group(group)[:1]
    return []


def _groups(population: Population) -> list[str]:
    return [population.group] if isinstance(population.group, str) else population.group


def check_reflectors(
    population: Population,
    chosen: list[str],
    place: str,
    swarm: Swarm,
    workloads: Mapping[str, Workload],
    hosts: HostNames,
) -> Iterator[Problem]:
    """Reflectors that could not tell how the line is.

    Args:
        population: whose they are.
        chosen: its hosts.
        place: the population's place in the study.
        swarm: in which it is.
        workloads: of the study.
        hosts: of the study.
    """
    control = population.upload_control
    if control is None:
        return
    path, given = f"{place}.upload_control.reflector", control.reflector
    names = [given] if isinstance(given, str) else given
    if given != "auto":
        strangers = [name for name in names if hosts.find(name) is None]
        for name in strangers:
            yield hosts.stranger(path, name, 'a host or a group, or "auto"')
        if strangers:
            return
    found = reflectors(population, swarm, workloads, hosts)
    if not found:
        allowed = "at least one host behind the line of the population"
        yield Problem(path, shown(given), allowed, "add a group without peers, for a server")
    at_home = [host for host in found if host in chosen]
    if at_home:
        allowed = "hosts behind the line; what answers from home sees no queue"
        yield Problem(path, shown(given), allowed, f"{at_home[0]} is one of the population")
    if population.upload is not None and not population.upload:
        yield Problem(
            f"{place}.upload_control",
            shown(control.name),
            "no controller beside an upload of 0 B/s: such clients upload nothing",
            "`upload` is what a client has until its controller says something else",
        )
