"""Bounds of a download from the lines alone: no run of any engine is faster.

The bound of a swarm is that of Kumar and Ross (2006), the longest of three times: of the seeds for
one copy, of the slowest line for the file, and of all lines together for all copies. Queues,
losses, headers, protocols and shared links are not counted: each of them only takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from flashcrowd.base.paths import parse
from flashcrowd.base.units import Rate, UnitError
from flashcrowd.scenario.arrivals import Times
from flashcrowd.scenario.line import Line
from flashcrowd.scenario.members import AnyPopulation, taken
from flashcrowd.scenario.network import Group
from flashcrowd.scenario.origin import Origin
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.scenario.swarm import Population, Swarm
from flashcrowd.scenario.timeline import Change
from flashcrowd.scenario.trace import Trace


@dataclass(frozen=True)
class Lines:
    """Hosts with the same line.

    Attributes:
        hosts: how many.
        up_bps: what each of them sends at most; infinity without a limit.
        down_bps: what each of them receives at most.
    """

    hosts: int
    up_bps: float = inf
    down_bps: float = inf


@dataclass(frozen=True)
class Bound:
    """A download by many, as its lines alone see it.

    Attributes:
        size_bytes: of the file.
        downloads: how many times it is downloaded.
        source_bps: what its seeds or its server send at most.
        peers_bps: what those who download send at most, together; zero where they send nothing.
        down_bps: the slowest line down of those who must have the file at the end.
        all_bps: what those who download would send at most if all of them uploaded as those do who
            upload; zero if nothing says how.
    """

    size_bytes: int
    downloads: int
    source_bps: float
    peers_bps: float
    down_bps: float
    all_bps: float = 0.0

    @property
    def total_bytes(self) -> int:
        """Bytes that all downloads receive."""
        return self.size_bytes * self.downloads

    @property
    def copy_s(self) -> float:
        """Seconds until the source has sent the file once."""
        return _seconds(self.size_bytes, self.source_bps)

    @property
    def alone_s(self) -> float:
        """Seconds that the source needs if no peer uploads."""
        return _seconds(self.total_bytes, self.source_bps)

    @property
    def slowest_s(self) -> float:
        """Seconds that the slowest line needs for the file."""
        return _seconds(self.size_bytes, self.down_bps)

    @property
    def together_s(self) -> float:
        """Seconds that all lines up need for all downloads."""
        return _seconds(self.total_bytes, self.source_bps + self.peers_bps)

    @property
    def fastest_s(self) -> float:
        """Seconds from the first arrival before which not all can have the file."""
        return max(self.copy_s, self.slowest_s, self.together_s)

    @property
    def reason(self) -> str:
        """The cause of the bound."""
        reasons = {
            "the slowest line down": self.slowest_s,
            "the source's line": self.copy_s if self.peers_bps else self.together_s,
            "all lines up together": self.together_s,
        }
        return max(reasons, key=lambda it: reasons[it])

    def from_peers(self, seconds: float) -> float:
        """The least part of all bytes that peers must send for it to be done in `seconds`."""
        if not self.total_bytes or not math.isfinite(self.source_bps):
            return 0.0
        return max(0.0, 1 - self.source_bps * seconds / 8 / self.total_bytes)

    def needed_bps(self, seconds: float) -> float:
        """The rate at which all senders together must send for it to be done in `seconds`."""
        return self.total_bytes * 8 / seconds

    def least_share(self, seconds: float) -> float | None:
        """The least share of the hosts that must upload for it to be done in `seconds`.

        `None` if no share is enough, or if nothing says how they would upload.
        """
        if not self.all_bps or max(self.copy_s, self.slowest_s) > seconds:
            return None
        share = max(0.0, (self.needed_bps(seconds) - self.source_bps) / self.all_bps)
        return share if share <= 1 else None


def _seconds(count: float, bps: float) -> float:
    if not count:
        return 0.0
    return count * 8 / bps if bps else inf


def bound(
    size_bytes: int,
    sources: Sequence[Lines],
    downloaders: Sequence[Lines],
    downloads: int | None = None,
    replaced: bool = False,
) -> Bound:
    """The bound of one file.

    Args:
        size_bytes: its size.
        sources: seeds and servers, which have it.
        downloaders: those who want it, and pass it on as far as their lines allow.
        downloads: after how many it is over; by default each host downloads it once.
        replaced: whether those who leave are followed by others on the same line.
    """
    hosts = sum(it.hosts for it in downloaders)
    wanted = hosts if downloads is None else downloads if replaced else min(downloads, hosts)
    # The first ones to be done are at best those with the fastest lines.
    by_speed = sorted((it for it in downloaders if it.hosts), key=lambda it: -it.down_bps)
    left, down = 1 if replaced and downloads is not None else wanted, inf
    for lines in by_speed:
        if left <= 0:
            break
        down, left = lines.down_bps, left - lines.hosts
    return Bound(size_bytes, wanted, _up(sources), _up(downloaders), down)


def _up(lines: Sequence[Lines]) -> float:
    return sum((it.hosts * it.up_bps for it in lines if it.hosts), 0.0)


def bounds(scenario: Scenario) -> dict[str, Bound]:
    """The bound of each swarm, and of each origin that has clients, by name."""
    changes = _Changes(scenario)
    found: dict[str, Bound] = {}
    for name, workload in scenario.workloads.items():
        if isinstance(workload, Swarm):
            found[name] = _swarm(scenario, name, workload, changes)
        elif isinstance(workload, Origin) and workload.populations:
            found[name] = _origin(scenario, workload, changes)
    return found


def _swarm(scenario: Scenario, swarm_name: str, swarm: Swarm, changes: _Changes) -> Bound:
    sizes = _sizes(scenario)
    taking = taken(swarm.populations, sizes)
    sources: list[Lines] = []
    downloaders: list[Lines] = []
    for each, population in swarm.populations.items():
        limit = changes.upload(swarm_name, each, population)
        side = sources if population.role == "seed" else downloaders
        for group, hosts in taking[each].counts.items():
            up, down = changes.line(group)
            side.append(Lines(hosts, min(up, limit), down))
    for web_seed in swarm.web_seeds:
        origin = scenario.workloads.get(web_seed.origin)
        if isinstance(origin, Origin):
            sources += _server(scenario, origin, changes)
    replaced = any(it.replace for it in swarm.populations.values())
    found = bound(swarm.size.bytes, sources, downloaders, swarm.stop_after, replaced)
    leechers = [name for name, it in swarm.populations.items() if it.role != "seed"]
    limits = {name: changes.upload(swarm_name, name, swarm.populations[name]) for name in leechers}
    uploading = [limit for limit in limits.values() if limit]
    if len(uploading) != 1:
        return found
    everybody = [
        Lines(hosts, min(changes.line(group)[0], uploading[0]))
        for name in leechers
        for group, hosts in taking[name].counts.items()
    ]
    return replace(found, all_bps=_up(everybody))


def _origin(scenario: Scenario, origin: Origin, changes: _Changes) -> Bound:
    taking = taken(origin.populations, _sizes(scenario))
    downloaders = [
        Lines(hosts, 0.0, changes.line(group)[1])
        for one in taking.values()
        for group, hosts in one.counts.items()
    ]
    return bound(origin.files.size.bytes, _server(scenario, origin, changes), downloaders)


def _server(scenario: Scenario, origin: Origin, changes: _Changes) -> list[Lines]:
    group = origin.host
    if group not in scenario.network.groups:
        group = group.rpartition("-")[0]
    known = group in scenario.network.groups
    return [Lines(1, *changes.line(group))] if known else [Lines(1)]


def _sizes(scenario: Scenario) -> dict[str, int]:
    return {name: group.hosts for name, group in scenario.network.groups.items()}


class _Changes:
    """The most that lines and limits ever are, whatever a timeline changes."""

    def __init__(self, scenario: Scenario) -> None:
        self._groups = scenario.network.groups
        events = (it for it in scenario.timeline.values() if isinstance(it, Change))
        self._changed = [(tuple(parse(it.change) or ()), it.to) for it in events]

    def line(self, group: str) -> tuple[float, float]:
        """The rates at which a host of a group sends and receives at most, in bit/s."""
        up, down = _rates(self._groups[group])
        at = ("network", "groups", group, "access")
        return max([up, *self._to(at, "up")]), max([down, *self._to(at, "down")])

    def upload(self, swarm: str, name: str, population: Population) -> float:
        """The rate at which a client sends at most; a controller may set any limit."""
        if population.upload is None or population.upload_control is not None:
            return inf
        at = ("workloads", swarm, "populations", name)
        return max([float(population.upload.bps), *self._to(at, "upload")])

    def _to(self, table: tuple[str, ...], key: str) -> Iterator[float]:
        """The rates to which a key of a table is changed; no limit where the table is replaced."""
        for path, to in self._changed:
            if path == (*table, key):
                yield _rate(to)
            elif path == table[: len(path)]:
                yield inf


def _rates(group: Group) -> tuple[float, float]:
    line = group.access
    if not isinstance(line, Line):
        return inf, inf
    return _most(line.up), _most(line.down)


def _most(rate: Rate | Trace | None) -> float:
    """The most that a link carries at any time, in bit/s."""
    if rate is None or (isinstance(rate, Trace) and rate.capacity.kind == "opportunities"):
        return inf
    return float(max(rate.capacity.bps) if isinstance(rate, Trace) else rate.bps)


def _rate(written: object) -> float:
    try:
        return float(Rate(written).bps) if isinstance(written, str) else inf
    except UnitError:
        return inf


def all_stay(populations: Mapping[str, AnyPopulation]) -> bool:
    """Whether all peers stay until the file is there."""
    for it in populations.values():
        leaves = isinstance(it.arrivals, Times) and any(it.arrivals.leave)
        if leaves or (isinstance(it, Population) and it.departure.kind == "session"):
            return False
    return True
