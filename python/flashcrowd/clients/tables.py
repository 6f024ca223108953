"""The rows of a swarm's tables, with the columns of `flashcrowd.store.schema`."""

from __future__ import annotations

from collections import Counter

from flashcrowd.base.rows import Row, Rows
from flashcrowd.clients import controller
from flashcrowd.clients.client import Unchoke
from flashcrowd.clients.peer import Peer
from flashcrowd.clients.swarm import Swarm


def rows(swarm: Swarm) -> Rows:
    """The rows of tables that no rules know: what clients and controllers alone can tell."""
    came = sorted((peer for peer in swarm.peers if peer.has_come), key=lambda it: it.number)
    return {
        "control": _control(swarm, came),
        "programs": _programs(swarm),
        "unchokes": _unchokes(swarm, came) if swarm.plan.measures.get("unchokes") else [],
        "send_gaps": _send_gaps(swarm, came) if swarm.plan.measures.get("send_gaps") else [],
    }


def _control(swarm: Swarm, came: list[Peer]) -> list[Row]:
    """The inputs and actions of controllers, in the order of time."""
    found = [
        {
            "swarm": swarm.spec["name"],
            "population": peer.spec["name"],
            "host": peer.place.name,
            "peer": peer.member,
            **row,
        }
        for peer in came
        if peer.controller is not None
        for row in controller.rows(peer.controller.rows, swarm.seconds)
    ]
    return sorted(found, key=lambda row: (row["t_s"], row["peer"]))


def _unchokes(swarm: Swarm, came: list[Peer]) -> list[Row]:
    """The unchokes that clients report, in the order in which they ended."""
    found = [
        {
            "swarm": swarm.spec["name"],
            "population": peer.spec["name"],
            "peer": peer.member,
            "remote": remote,
            "seeding": int(told.seeding),
            "start_s": swarm.seconds(told.started),
            "end_s": swarm.seconds(told.at),
            "idle_s": told.idle,
            "bytes": told.bytes,
            "blocks": told.blocks,
            "cause": told.cause,
        }
        for peer in came
        if peer.client is not None
        for told in peer.client.unchokes
        if swarm.seconds(told.at) <= swarm.end_s  # others end with the run, not in it
        and (remote := _member(swarm, came, told)) is not None
    ]
    return sorted(found, key=lambda row: (row["end_s"], row["peer"]))


def _member(swarm: Swarm, came: list[Peer], told: Unchoke) -> int | None:
    """The number of the neighbour of an unchoke: of those who were at its address, the latest."""
    at = swarm.seconds(told.started)
    there = [
        (it.arrived, it.member)
        for it in came
        if it.place.address == told.remote.partition(":")[0]
        and it.arrived is not None
        and it.member is not None
        and it.arrived <= at
    ]
    return max(there)[1] if there else None


def _send_gaps(swarm: Swarm, came: list[Peer]) -> list[Row]:
    """The time between sends of blocks on one connection, of all clients of a population."""
    counts: dict[int, Counter[int]] = {}
    for peer in came:
        if peer.client is not None:
            counts.setdefault(peer.population, Counter()).update(peer.client.send_gaps)
    return [
        {
            "swarm": swarm.spec["name"],
            "population": swarm.spec["populations"][population]["name"],
            "gap_ms": gap,
            "count": count,
        }
        for population, gaps in sorted(counts.items())
        for gap, count in sorted(gaps.items())
    ]


def _programs(swarm: Swarm) -> list[Row]:
    """The parts of its profile that the program of a population lacks; the tracker has no name."""
    return [
        unmet.row(swarm.spec["name"], population, program)
        for (population, program), listed in swarm.unmet.items()
        for unmet in listed
    ]
