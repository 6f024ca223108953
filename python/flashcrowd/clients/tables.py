"""The rows of a swarm's tables, with the columns of `flashcrowd.store.schema`."""

from __future__ import annotations

from flashcrowd.base.rows import Row, Rows
from flashcrowd.clients import controller
from flashcrowd.clients.peer import Peer
from flashcrowd.clients.swarm import Swarm


def rows(swarm: Swarm) -> Rows:
    """The rows of `control` and `programs`, which no rules know."""
    came = sorted((peer for peer in swarm.peers if peer.has_come), key=lambda it: it.number)
    return {"control": _control(swarm, came), "programs": _programs(swarm)}


def _control(swarm: Swarm, came: list[Peer]) -> list[Row]:
    """What controllers heard of their clients and did, in the order of time."""
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


def _programs(swarm: Swarm) -> list[Row]:
    """What of its profile the program of a population does not offer; the tracker has no name."""
    return [
        {
            "swarm": swarm.spec["name"],
            "population": population,
            "program": program,
            "setting": unmet.setting,
            "asked": unmet.asked,
            "given": unmet.given,
        }
        for (population, program), listed in swarm.unmet.items()
        for unmet in listed
    ]
