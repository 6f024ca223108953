"""The rows of a swarm's tables, with the columns of `flashcrowd.store.schema`."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Any

from flashcrowd.clients import controller
from flashcrowd.clients.peer import Peer
from flashcrowd.clients.swarm import Swarm

Row = dict[str, Any]


def rows(swarm: Swarm) -> dict[str, list[Row]]:
    """The rows by table: `downloads`, `populations`, `pieces`, …"""
    name = swarm.spec["name"]
    populations = swarm.spec["populations"]
    came = sorted(
        (peer for peer in swarm.peers if peer.arrived is not None), key=lambda it: it.number
    )
    leechers = [peer for peer in came if peer.is_leecher]
    return {
        "downloads": [_download(name, peer) for peer in leechers],
        "populations": list(_populations(swarm, came)),
        "pieces": [
            {
                "swarm": name,
                "population": populations[number]["name"],
                "t_s": at,
                "leechers": len(counts),
                "mean": fmean(counts),
                "min": min(counts),
                "max": max(counts),
            }
            for number, at, counts in swarm.pieces
        ],
        "have": _have(swarm, leechers),
        "series": [
            {"what": what, "source": source, "t_s": at, "value": value}
            for what, source, at, value in swarm.series
        ],
        "control": _control(swarm, came),
        "programs": _programs(swarm),
    }


def _download(swarm: str, peer: Peer) -> Row:
    progress, arrived, completed = peer.progress, peer.arrived, peer.completed
    return {
        "swarm": swarm,
        "population": peer.spec["name"],
        "host": peer.place.name,
        "peer": peer.member,
        "arrived_s": arrived,
        "completed_s": completed,
        "left_s": peer.left,
        "duration_s": None if completed is None else completed - (arrived or 0.0),
        "downloaded_bytes": progress.down,
        "uploaded_bytes": progress.up,
        "pieces": progress.pieces,
    }


def _populations(swarm: Swarm, came: list[Peer]) -> Iterable[Row]:
    for number, spec in enumerate(swarm.spec["populations"]):
        mine = [peer for peer in came if peer.population == number]
        roles = ("seed", "leecher") if spec["replace"] else (spec["role"],)
        for role in roles:
            peers = [peer for peer in mine if peer.role == role]
            if peers or role == spec["role"]:
                yield _population(swarm, spec["name"], role, peers)


def _population(swarm: Swarm, name: str, role: str, peers: list[Peer]) -> Row:
    spent = [peer.spent for peer in peers]
    downloading = sum(it.downloading for it in spent)
    # A share is only told where every program told what it waited for.
    told = role == "leecher" and downloading > 0 and not any(it.unknown for it in spent)

    def share(seconds: float) -> float | None:
        return seconds / downloading if told else None

    return {
        "swarm": swarm.spec["name"],
        "population": name,
        "role": role,
        "peers": len(peers),
        "completed": sum(peer.completed is not None for peer in peers),
        "uploaded_bytes": sum(peer.progress.up for peer in peers),
        "downloaded_bytes": sum(peer.progress.down for peer in peers),
        "wasted_bytes": sum(_wasted(swarm, peer) for peer in peers),
        "timeouts": sum(peer.timeouts for peer in peers),
        "online_s": sum(it.online for it in spent),
        "downloading_s": downloading,
        "alone_share": share(sum(it.alone for it in spent)),
        "uninterested_share": share(sum(it.uninterested for it in spent)),
        "choked_share": share(sum(it.choked for it in spent)),
        "unchoked_share": share(sum(it.unchoked for it in spent)),
        "needed_s": sum(it.needed for it in spent),
        # What waits inside of a program cannot be seen from outside.
        "idle_share": None,
        "limited_share": None,
    }


def _wasted(swarm: Swarm, peer: Peer) -> int:
    """What a program says, or what a complete download received beyond the file."""
    wasted = peer.progress.wasted
    if wasted is not None:
        return wasted
    beyond = peer.progress.down - swarm.spec["size_bytes"]
    return max(beyond, 0) if peer.completed is not None else 0


def _have(swarm: Swarm, leechers: list[Peer]) -> list[Row]:
    found = [
        {
            "swarm": swarm.spec["name"],
            "population": peer.spec["name"],
            "peer": peer.member,
            "piece": piece,
            "t_s": swarm.seconds(at),
        }
        for peer in leechers
        if peer.client is not None
        for piece, at in peer.client.have
    ]
    return sorted(found, key=lambda row: (row["t_s"], row["peer"], row["piece"]))


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
