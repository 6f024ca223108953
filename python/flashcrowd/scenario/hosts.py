"""Names of hosts: `<group>-1`, `<group>-2` and so on, in the order of the file."""

from __future__ import annotations

from flashcrowd.scenario.network import Network


class HostNames:
    """All hosts of a network by name and by group."""

    def __init__(self, network: Network) -> None:
        self._groups = {
            name: [f"{name}-{number}" for number in range(1, group.hosts + 1)]
            for name, group in network.groups.items()
        }
        names = (host for hosts in self._groups.values() for host in hosts)
        self.index = {host: index for index, host in enumerate(names)}
        """Position of each host in the plan."""

    def of_group(self, group: str) -> list[str]:
        """The hosts of a group."""
        return self._groups[group]

    def find(self, name: str) -> list[str] | None:
        """The hosts that `name` means, be it a group or a host; `None` if it is neither."""
        if name in self._groups:
            return self._groups[name]
        return [name] if name in self.index else None

    def suggestions(self) -> list[str]:
        """Names that may stand where a host is asked for."""
        return [name if len(hosts) == 1 else hosts[0] for name, hosts in self._groups.items()]

    @staticmethod
    def pairs(source: list[str], to: list[str]) -> list[tuple[str, str]]:
        """Who talks to whom: pair by pair, or one with all."""
        if len(source) == 1:
            return [(source[0], host) for host in to]
        if len(to) == 1:
            return [(host, to[0]) for host in source]
        return list(zip(source, to, strict=True))
