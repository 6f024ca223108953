"""Names of hosts: `<group>-1`, `<group>-2` and so on, in the order of the file."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from flashcrowd.base.errors import Problem
from flashcrowd.base.kept import Kept
from flashcrowd.scenario.network import Network
from flashcrowd.scenario.problems import unknown_group

Sizes = tuple[tuple[str, int], ...]
"""The groups of a network, each with how many hosts it has: what all hosts' names follow from."""


def sizes_of(network: Network, kept: Kept) -> Sizes:
    """The groups and their sizes; one object for all networks that have the same."""
    return kept.same(tuple((name, group.hosts) for name, group in network.groups.items()))


@lru_cache(maxsize=2)
def _numbered(sizes: Sizes) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The hosts of each group, and all hosts with their position; the last ones stay at hand."""
    groups = {name: [f"{name}-{number + 1}" for number in range(hosts)] for name, hosts in sizes}
    names = (host for hosts in groups.values() for host in hosts)
    return groups, {host: index for index, host in enumerate(names)}


class HostNames:
    """All hosts of a network by name and by group.

    Attributes:
        index: position of each host in the plan.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._groups, self.index = _numbered(sizes)

    @property
    def groups(self) -> Collection[str]:
        """The names of the groups."""
        return self._groups.keys()

    def of_group(self, group: str) -> list[str]:
        """The hosts of a group."""
        return self._groups[group]

    def find(self, name: str) -> list[str] | None:
        """The hosts that `name` means, be it a group or a host; `None` if it is neither."""
        if name in self._groups:
            return self._groups[name]
        return [name] if name in self.index else None

    def stranger(self, path: str, name: str, what: str) -> Problem:
        """A name that neither a host nor a group has; `what` is allowed at this path."""
        known = [name if len(hosts) == 1 else hosts[0] for name, hosts in self._groups.items()]
        return unknown_group(path, name, what, known)

    @staticmethod
    def pairs(source: list[str], to: list[str]) -> list[tuple[str, str]]:
        """The two hosts of each conversation: pair by pair, or one with all."""
        if len(source) == 1:
            return [(source[0], host) for host in to]
        if len(to) == 1:
            return [(host, to[0]) for host in source]
        return list(zip(source, to, strict=True))
