"""A scenario: the network, what happens on it, and what to measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from flashcrowd.scenario import shipped
from flashcrowd.scenario.fields import Name, Table, one_line
from flashcrowd.scenario.measures import Measures, Stop
from flashcrowd.scenario.network import Network
from flashcrowd.scenario.profile import Profile
from flashcrowd.scenario.stack import Stack
from flashcrowd.scenario.swarm import Swarm
from flashcrowd.scenario.timeline import Event
from flashcrowd.scenario.utp import Utp
from flashcrowd.scenario.workloads import Workload


def _completed_stacks(given: Any) -> Any:
    return _completed(given, shipped.stacks) if isinstance(given, dict) else given


def _completed_utps(given: Any) -> Any:
    return _completed(given, shipped.utps) if isinstance(given, dict) else given


def _completed_profiles(given: Any) -> Any:
    return _completed(given, shipped.profiles) if isinstance(given, dict) else given


def _completed(given: dict[str, object], all_of: Any) -> dict[str, object]:
    return {name: shipped.completed(table, name, all_of()) for name, table in given.items()}


VariantName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=60)]
"""A name of a stack or profile; those that ship have dots in theirs."""


@cache
def _shipped_stack(name: str) -> Stack:
    return Stack.model_validate({"base": name, **shipped.stacks()[name]})


@cache
def _shipped_utp(name: str) -> Utp:
    return Utp.model_validate({"base": name, **shipped.utps()[name]})


@cache
def _shipped_profile(name: str) -> Profile:
    return Profile.model_validate({"base": name, **shipped.profiles()[name]})


def stack_of(own: Mapping[str, Stack], name: str) -> Stack | None:
    """The TCP stack of this name: one of a scenario's own, or one that ships."""
    return own.get(name) or (_shipped_stack(name) if name in shipped.stacks() else None)


def utp_of(own: Mapping[str, Utp], name: str) -> Utp | None:
    """The uTP configuration of this name: one of a scenario's own, or one that ships."""
    return own.get(name) or (_shipped_utp(name) if name in shipped.utps() else None)


def profile_of(own: Mapping[str, Profile], name: str) -> Profile | None:
    """The client profile of this name: one of a scenario's own, or one that ships."""
    return own.get(name) or (_shipped_profile(name) if name in shipped.profiles() else None)


def default_transport(own: Mapping[str, Profile], name: str) -> str:
    """The default transport of a client of this profile."""
    profile = profile_of(own, name)
    return "inherit" if profile is None else profile.transport


def transports_of(
    workloads: Mapping[str, Workload], profiles: Mapping[str, Profile]
) -> Iterator[str]:
    """The transports that workloads use, in their order; `profiles` are a scenario's own."""
    for workload in workloads.values():
        if isinstance(workload, Swarm):
            named = [
                name
                for population in workload.populations.values()
                for name in (
                    population.opens(default_transport(profiles, population.profile)),
                    population.data_transport,
                )
            ]
        else:
            named = [workload.carried_by]
        yield from (name for name in named if name not in (None, "inherit"))


class Scenario(Table):
    """One situation. Lower it with `flashcrowd.plan.lower`."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200), one_line]
    """What a person calls it."""
    network: Network
    """Hosts and what lies between them."""
    workloads: dict[Name, Workload] = Field(min_length=1)
    """What happens on the network."""
    stacks: Annotated[dict[VariantName, Stack], BeforeValidator(_completed_stacks)] = Field(
        default_factory=dict
    )
    """Variations of TCP stacks."""
    utp: Annotated[dict[VariantName, Utp], BeforeValidator(_completed_utps)] = Field(
        default_factory=dict
    )
    """Variations of uTP configurations."""
    profiles: Annotated[dict[VariantName, Profile], BeforeValidator(_completed_profiles)] = Field(
        default_factory=dict
    )
    """Variations of BitTorrent clients."""
    timeline: dict[Name, Event] = Field(default_factory=dict)
    """Changes at given instants."""
    measures: Measures = Measures()
    """What is recorded besides the summary tables."""
    stop: Stop = Stop()
    """When a run ends that does not end by itself."""

    def stack(self, name: str) -> Stack | None:
        """The TCP stack of this name: one of the scenario's, or one that ships."""
        return stack_of(self.stacks, name)

    def utp_of(self, name: str) -> Utp | None:
        """The uTP configuration of this name: one of the scenario's, or one that ships."""
        return utp_of(self.utp, name)

    def profile(self, name: str) -> Profile | None:
        """The client profile of this name: one of the scenario's, or one that ships."""
        return profile_of(self.profiles, name)

    def variants(self) -> Iterator[tuple[str, str, Stack | Utp | Profile]]:
        """The variants in use: "stacks", "utp" or "profiles", the name and the table."""
        groups = self.network.groups.values()
        hosts = [self.network.stack, *(group.stack for group in groups)]
        for name in dict.fromkeys([*hosts, *transports_of(self.workloads, self.profiles)]):
            stack = self.stack(name)
            if stack is not None:
                yield "stacks", name, stack
            utp = self.utp_of(name)
            if stack is None and utp is not None:
                yield "utp", name, utp
        for workload in self.workloads.values():
            if isinstance(workload, Swarm):
                for population in workload.populations.values():
                    profile = self.profile(population.profile)
                    if profile is not None:
                        yield "profiles", population.profile, profile
