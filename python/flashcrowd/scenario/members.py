"""Which hosts a population takes of its groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from flashcrowd.base.errors import Problem, one_of
from flashcrowd.base.units import Share
from flashcrowd.scenario.hosts import HostNames
from flashcrowd.scenario.origin import Clients
from flashcrowd.scenario.problems import shown, unknown_group
from flashcrowd.scenario.swarm import Population

AnyPopulation = Population | Clients
Counts = Mapping[str, int]
"""How many hosts are taken of each group, in the order in which the population names them."""


def groups_of(population: AnyPopulation) -> list[str]:
    """The groups that a population names, each once."""
    named = [population.group] if isinstance(population.group, str) else population.group
    return list(dict.fromkeys(named))


def dealt(populations: Mapping[str, AnyPopulation], sizes: Counts) -> dict[str, dict[str, int]]:
    """The hosts of each group that belong to each population with a `share`.

    Every group is divided by largest remainders, so that shares of 100 % in all take every host
    once. What a population got too much or too little of one group counts for the next one: of many
    small groups it has its share in all.
    """
    shares = {name: it.share.amount for name, it in populations.items() if it.share is not None}
    owed = dict.fromkeys(shares, Fraction(0))
    found: dict[str, dict[str, int]] = {name: {} for name in shares}
    for group, size in sizes.items():
        takers = [it for it in shares if group in groups_of(populations[it])]
        due = {name: shares[name] * size + owed[name] for name in takers}
        for name, count in _rounded(due, {it: shares[it] for it in takers}, size).items():
            found[name][group] = count
            owed[name] = due[name] - count
    return found


def _rounded(due: Mapping[str, Fraction], shares: Mapping[str, Fraction], size: int) -> Counts:
    """Whole numbers near what is due; their sum is the part of the group that is shared out."""
    counts = {name: max(0, int(amount // 1)) for name, amount in due.items()}
    exact = size * sum(shares.values(), Fraction(0))
    total = int((sum(due.values(), Fraction(0)) + Fraction(1, 2)) // 1)
    total = min(max(total, int(exact // 1)), int(-(-exact // 1)))
    left = total - sum(counts.values())
    by_rest = sorted(due, key=lambda name: counts[name] - due[name])  # stable: the first one wins
    for name in [it for it in by_rest if shares[it]][: max(0, left)]:
        counts[name] += 1
    for name in [it for it in reversed(by_rest) if counts[it]][: max(0, -left)]:
        counts[name] -= 1
    return counts


@dataclass(frozen=True)
class Taking:
    """What one population takes.

    Attributes:
        counts: hosts of each of its groups.
        starts: hosts of each group that earlier populations took: the first ones.
        wrong: what is wrong with it; its path begins behind the name of the population.
    """

    counts: Counts
    starts: Counts
    wrong: Problem | None = None


def taken(
    populations: Mapping[str, AnyPopulation], sizes: Counts, member: str = "member"
) -> dict[str, Taking]:
    """What each population takes of groups with these sizes, in the order of the file.

    One without `share` takes the next hosts that no earlier one took, group by group. Groups that
    do not exist count as empty.

    Args:
        populations: of one workload.
        sizes: hosts of each group.
        member: what a host runs, for messages.
    """
    shares = dealt(populations, sizes)
    used = dict.fromkeys(sizes, 0)
    promised = dict.fromkeys(sizes, Fraction(0))
    found: dict[str, Taking] = {}
    for name, population in populations.items():
        groups = [group for group in groups_of(population) if group in sizes]
        starts = {group: used[group] for group in groups}
        free = {group: sizes[group] - used[group] for group in groups}
        if population.share is None:
            counts = _next(population, free)
            wrong = _short(population, free, member, any(promised[it] for it in groups))
        else:
            counts = shares[name]
            wrong = _too_much(population.share, counts, free, promised)
        if wrong is None:  # a wrong one takes no hosts, so that one mistake is reported once
            for group, count in counts.items():
                used[group] += count
                promised[group] += population.share.amount if population.share else 0
        found[name] = Taking({} if wrong else counts, starts, wrong)
    return found


def _next(population: AnyPopulation, free: Counts) -> Counts:
    left = sum(free.values()) if population.hosts == "all" else population.hosts
    counts: dict[str, int] = {}
    for group, count in free.items():
        counts[group] = min(left, count)
        left -= counts[group]
    return counts


def _short(population: AnyPopulation, free: Counts, member: str, shared: bool) -> Problem | None:
    """Fewer hosts than are asked for; the rest that shares leave may be none."""
    total = sum(free.values())
    wanted = max(1, total) if population.hosts == "all" else population.hosts
    if wanted <= total or (population.hosts == "all" and shared):
        return None
    rest = population.hosts == "all"
    key, value = ("group", shown(population.group)) if rest else ("hosts", str(wanted))
    return Problem(
        key,
        value,
        f"a group with free hosts; {total} are left of {one_of(free)}",
        f"each host runs one {member}; earlier populations took theirs",
    )


def _too_much(
    share: Share, counts: Counts, free: Counts, promised: Mapping[str, Fraction]
) -> Problem | None:
    """A share of a group of which more is taken than there is."""
    written = shown(str(share))
    for group in free:
        if promised[group] + share.amount > 1:
            left = Share.of(1 - promised[group])
            allowed = f"at most {left}: earlier populations have the other shares of {group}"
            return Problem("share", written, allowed)
    for group, count in counts.items():
        if count > free[group]:
            allowed = f"a share of {group} that is free: {free[group]} of {count} hosts are"
            hint = "earlier populations took the others; put those with a `share` first"
            return Problem("share", written, allowed, hint)
    return None


@dataclass(frozen=True)
class Membership:
    """The hosts of a population.

    Attributes:
        hosts: the hosts; none of a population that cannot be.
        wrong: why it cannot be; paths begin behind the name of the population.
    """

    hosts: list[str]
    wrong: list[Problem]


def members(
    populations: Mapping[str, AnyPopulation], hosts: HostNames, member: str = "member"
) -> dict[str, Membership]:
    """The hosts of each population of a workload; `member` is what a host runs, for messages."""
    sizes = {group: len(hosts.of_group(group)) for group in hosts.groups}
    found: dict[str, Membership] = {}
    for name, one in taken(populations, sizes, member).items():
        wrong = list(_wrong(populations[name], one.wrong, hosts))
        parts = (
            hosts.of_group(group)[one.starts[group] : one.starts[group] + count]
            for group, count in one.counts.items()
        )
        found[name] = Membership([] if wrong else [host for part in parts for host in part], wrong)
    return found


def _wrong(population: AnyPopulation, wrong: Problem | None, hosts: HostNames) -> Iterator[Problem]:
    strangers = [group for group in groups_of(population) if group not in hosts.groups]
    for group in strangers:
        yield unknown_group("group", group, "a group", hosts.groups)
    if population.share is not None and population.hosts != "all":
        hint = "`hosts` is a number, `share` a part of each group"
        yield Problem("share", shown(str(population.share)), "none beside `hosts`", hint)
    elif wrong is not None and not strangers:
        yield wrong
