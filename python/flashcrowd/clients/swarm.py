"""Plays a swarm of a plan with real programs, in wall-clock time."""

from __future__ import annotations

import heapq
import itertools
import shutil
import time
from collections.abc import Container, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Literal

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.clients import (
    biglybt,
    controller,
    descriptors,
    dht_node,
    kernel,
    opentracker,
    settings,
    torrent,
)
from flashcrowd.clients.client import ClientFailed, Job
from flashcrowd.clients.controller import Controller
from flashcrowd.clients.host_sandbox import HostSandbox
from flashcrowd.clients.opentracker import OpenTracker
from flashcrowd.clients.peer import Peer
from flashcrowd.clients.programs import DEFAULT, PROGRAMS, own_control
from flashcrowd.clients.tracker import Tracker
from flashcrowd.plan import parts
from flashcrowd.plan.types import SwarmWorkload

PORT, TRACKER_PORT = 6881, 6969
"""Where peers and tracker of a plan's first workload listen; those of the next one port higher."""
LEAD_S = 10.0
"""A client is started this long before its arrival, so that it is ready in time."""
READY_S = 60.0
"""A client that is not ready after this will never be."""
CLOSE_S = 60.0
"""A client that is not closed this long after the end is killed: what it downloaded counts."""
LOOK_S = 0.1
"""How often clients are looked at."""
PIECES_S = 1.0
"""How often clients are asked which pieces they have, once no peer has them all."""

Event = Literal["prepare", "arrive", "control"]


class Swarm:
    """One swarm, from its preparation to its tables: carries out what its rules say.

    ``prepare`` starts what must be there before the first peer comes, ``begin`` sets the clock,
    ``step`` does what is due and says when to be called again, ``finish`` ends and verifies. All
    from one thread, which must live as long as the swarm: programs die with it. ``close`` leaves
    nothing behind, whatever happened before.

    Attributes:
        port: at which its peers listen.
        outcome: why the swarm can go on no longer; empty while it can. As in the table `run`.
        left_behind: seeds and leechers that the tracker still knows when all have left; None
            before, and of a tracker that does not tell.
        unmet: what the plan asks of populations and their programs do not offer.
    """

    def __init__(
        self,
        plan: Plan,
        workload: int,
        seed: int,
        places: Sequence[HostSandbox],
        folder: Path,
        own: Container[int] | None = None,
        rules: _core.SwarmRules | None = None,
    ) -> None:
        """The workload that is played.

        Args:
            plan: the plan.
            workload: index of the swarm among the plan's workloads.
            seed: seed of the run.
            places: the plan's hosts, in its order.
            folder: an empty folder for everything that programs write.
            own: the hosts that are played here, where others are played elsewhere: their peers
                never come here, and whether the swarm stalls is seen from where all is known.
            rules: those of all swarms of the run; made here where there is no other.

        Raises:
            ValueError: the programs cannot play it, see `programs.refusals`, or the tracker has no
                host.
        """
        self.plan, self.seed = plan, seed
        self.spec = parts.workload(plan, workload, SwarmWorkload)
        self._places, self._folder = places, folder
        self.port, self._tracker_port = PORT + workload, TRACKER_PORT + workload
        host = self.spec["tracker"]["host"]
        if host is None:
            raise ValueError(f"swarm {self.spec['name']}: the tracker has no host")
        self._tracker_place = places[host]
        self._own = own
        self._has_tracker = own is None or host in own
        self._workload = workload
        self.rules = rules or _core.SwarmRules(plan, seed)
        self._settings = [settings.of(plan, it) for it in self.spec["populations"]]
        self.peers = [self._peer(it) for it in self.rules.peers(workload)]
        self._by_number = {peer.number: peer for peer in self.peers}
        self.tracker: Tracker | OpenTracker | None = None
        self.torrent: torrent.Torrent | None = None
        self._nodes: dht_node.Nodes | None = None
        self.outcome = ""
        self.stopped = self._cut_off = False
        self.left_behind: tuple[int, int] | None = None
        self.unmet: dict[tuple[str, str], list[settings.Unmet]] = {}
        self.end_s = 0.0
        self._events: list[tuple[float, int, Event, int]] = []
        self._order = itertools.count()
        self._start = 0.0
        self._looked = 0.0
        self._has: bytes | None = None
        self._has_at = -PIECES_S
        self._folders = itertools.count()

    def _peer(self, seen: _core.SwarmPeer) -> Peer:
        """A peer that is planned, or follows another."""
        spec = self.spec["populations"][seen.population]
        return Peer(self.rules, seen, spec, self._places[seen.host])

    # Before the start.

    def prepare(self) -> None:
        """Make the torrent, start the tracker and every client that comes soon.

        Raises:
            ClientFailed: one of them cannot be started.
        """
        descriptors.raise_limit()
        place = self._tracker_place
        played = [peer.place for peer in self.peers if self._plays(peer)]
        for where in (place, *played) if self._has_tracker else played:
            if not kernel.has_loopback(where):
                raise ClientFailed(f"the loopback interface of {where.name} is down")
        # The tracker first: a client whose first announce is refused waits before the next.
        announce = f"http://{place.address}:{self._tracker_port}/announce"
        made = self.torrent = torrent.make(
            self._folder / "torrent",
            self.spec["size_bytes"],
            self.spec["piece_bytes"],
            self.rules.content(self._workload),
            announce,
            private=not self._exchanges_peers(),
        )
        if self._has_tracker:
            self.tracker = self._started_tracker(made.info_hash)
        if nodes := self._node_places():
            try:
                self._nodes = dht_node.Nodes(nodes, self.port)
            except OSError as error:
                raise ClientFailed(f"nodes for pings on {nodes[0].name}: {error}") from None
        for number, at in self.rules.arrivals(self._workload):
            if own_control(self._by_number[number].spec) is not None:
                at = max(at, LEAD_S)  # it looks for nodes to ping at its start
            self._schedule(at - LEAD_S, "prepare", number)
        while self._events and self._events[0][0] < 0.0 and self._events[0][2] == "prepare":
            self._prepare(self._by_number[heapq.heappop(self._events)[3]])
        deadline = time.monotonic() + READY_S
        waiting = [peer.client for peer in self.peers if peer.client is not None]
        while waiting := [client for client in waiting if not client.is_ready()]:
            if time.monotonic() >= deadline:
                raise waiting[0].failure(f"not ready within {READY_S:g} s")
            time.sleep(0.01)

    def _node_places(self) -> list[HostSandbox]:
        """Hosts that run DHT nodes, which clients' own controllers can ping."""
        played = [own_control(peer.spec) for peer in self.peers if self._plays(peer)]
        hosts = {host for it in played if it is not None for host in it["reflectors"]}
        return [self._places[host] for host in sorted(hosts)]

    def _started_tracker(self, info_hash: bytes) -> Tracker | OpenTracker:
        """The tracker, which listens already."""
        place, port = self._tracker_place, self._tracker_port
        spec = self.spec["tracker"]
        if spec.get("program") == opentracker.NAME:
            self.unmet["", opentracker.NAME] = list(opentracker.unmet(spec))
            return OpenTracker(place, port, info_hash, self._folder / "tracker")
        register = _core.TrackerRegister(self.plan, self._workload, self.seed)
        try:
            return Tracker(place, port, spec, info_hash, register)
        except OSError as error:
            raise ClientFailed(f"tracker on {place.name}: {error}") from None

    def begin(self, start: float) -> None:
        """The run starts at an instant of `time.monotonic`."""
        self._start = self._looked = start

    # While it runs.

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def seconds(self, at: float) -> float:
        """An instant of `time.monotonic` as seconds since the start."""
        return at - self._start

    def part_of(self) -> str:
        """How far it is, as far as it is played here, for `_core.SwarmWatch`."""
        return self.rules.part(self._workload, *self._held())

    def wanted_elsewhere(self, wanted: bool) -> None:
        """Whether an online peer that another node plays lacks pieces."""
        self.rules.wanted_elsewhere(self.now, self._workload, wanted)

    def _exchanges_peers(self) -> bool:
        """Whether a client exchanges peers, as none does in a private torrent (BEP 27)."""
        return any(it.exchanges_peers for it in self._settings)

    def _plays(self, peer: Peer) -> bool:
        """Whether a peer is played here."""
        return self._own is None or peer.host in self._own

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.rules.is_done(self._workload)

    @property
    def part(self) -> float:
        """How far it is, 0 to 1, as far as known."""
        return min(self.rules.progress(self._workload), 1.0)

    def step(self) -> float:
        """Do what is due; gives the instant of `time.monotonic` of the next call.

        Raises:
            ClientFailed: a program crashed, hangs or refused.
        """
        while self._events and self._events[0][0] <= self.now:
            at, _, event, subject = heapq.heappop(self._events)
            self._handle(at, event, subject)
        while due := self.rules.due(self.now, self._workload):
            for event, number in due:
                peer = self._by_number[number]
                self._arrive(self.now, peer) if event == "arrive" else self._depart(peer)
        now = time.monotonic()
        if now >= self._looked + LOOK_S:
            self._look()
            self._looked = now
        next_s = self._events[0][0] if self._events else float("inf")
        if (due_s := self.rules.next_due(self._workload)) is not None:
            next_s = min(next_s, due_s)
        return min(next_s + self._start, self._looked + LOOK_S)

    def set_upload(self, population: int, upload_bps: int | None) -> None:
        """The upload limit of a population changes.

        Raises:
            ClientFailed: a program refused.
        """
        limit = None if upload_bps is None else upload_bps // 8
        before = self._settings[population]
        self._settings[population] = replace(before, upload=limit)
        for number in self.rules.set_upload(self._workload, population, upload_bps):
            client = self._by_number[number].client
            assert client is not None  # it is online
            client.limit(limit)

    def stop(self) -> None:
        """All peers leave, and arrivals end."""
        self.stopped = True
        for number in self.rules.stop(self._workload):
            self._leave(self._by_number[number], departs=False)

    def _schedule(self, at: float, event: Event, subject: int) -> None:
        heapq.heappush(self._events, (at, next(self._order), event, subject))

    def _handle(self, at: float, event: Event, subject: int) -> None:
        if self.stopped:
            return
        elif event == "prepare":
            self._prepare(self._by_number[subject])
        elif event == "arrive":
            self._arrive(at, self._by_number[subject])
        else:
            self._control(self._by_number[subject])

    def _prepare(self, peer: Peer) -> None:
        """Start the client of a peer that is about to come."""
        assert self.torrent is not None  # `prepare` makes it first
        folder = self._folder / f"{peer.place.name}-{next(self._folders)}"
        job = Job(
            peer.place,
            self.torrent,
            self._settings[peer.population],
            not peer.is_leecher,
            folder,
            self.port,
            self.plan.measures["have"],
            draws=(self.seed << 20 | peer.number) % 2**64,
            is_known=lambda: self._is_known(peer),
        )
        if (asked := own_control(peer.spec)) is not None:
            job.control = asked["controller"]["kind"]
            job.reflectors = tuple(self._places[host] for host in asked["reflectors"])
        job.content.parent.mkdir(parents=True)
        if job.seed:
            torrent.give(self.torrent, job.content.parent)
        name = peer.spec.get("program") or DEFAULT
        peer.client = PROGRAMS[name].client(job)
        job.unmet += controller.differences(self.plan, peer.spec, name, job.settings)
        self.unmet[peer.spec["name"], name] = job.unmet

    def _arrive(self, at: float, peer: Peer) -> None:
        """A peer comes; shortly later if the one before it is not gone or its client not ready."""
        if peer.client is None:
            others = (it for it in self.peers if it.host == peer.host and it is not peer)
            if not all(it.closed for it in others):
                self._schedule(self.now + 0.02, "arrive", peer.number)
                return
            self._prepare(peer)
        assert peer.client is not None
        if not peer.client.is_ready():
            if self.now - at > READY_S:
                raise peer.client.failure(f"not ready within {READY_S:g} s")
            # The late instant counts as its arrival; the next look is soon.
            self._schedule(max(at, self.now + 0.01), "arrive", peer.number)
            return
        peer.timeouts_before = kernel.timeouts(peer.place)
        peer.client.join()
        self.rules.arrive(self.now, peer.number)
        if controller.of(peer.spec) is not None:
            late_s = self.rules.control_start(peer.number)
            self._schedule(self.now + late_s, "control", peer.number)

    def _control(self, peer: Peer) -> None:
        """The controller of a peer is started, if the peer is still there."""
        asked = controller.of(peer.spec)
        if not peer.is_online or peer.client is None or asked is None:
            return
        if isinstance(peer.client, biglybt.BiglyBT):
            peer.controller = controller.Own(peer.client.control)
            return
        reflectors = [self._places[host] for host in asked["reflectors"]]
        since = self._start + (peer.arrived or 0.0)
        peer.controller = Controller(asked, peer.client.interface(), peer.place, reflectors, since)

    def _depart(self, peer: Peer) -> None:
        """A peer goes, and is replaced if its rules say so."""
        following = self._leave(peer, departs=True)
        if following is not None:
            new = self._peer(self.rules.peer(following))
            self.peers.append(new)
            self._by_number[new.number] = new

    def _leave(self, peer: Peer, *, departs: bool) -> int | None:
        client = peer.client
        assert client is not None
        if peer.controller is not None:
            peer.controller.stop()
        client.leave()
        return self.rules.leave(self.now, peer.number, departs)

    def _observe(self, peer: Peer, now_s: float) -> None:
        """Say what a client said of itself."""
        client = peer.client
        if client is None or not peer.has_come:
            return
        said = client.progress
        self.rules.observe(
            now_s,
            peer.number,
            down=said.down,
            up=said.up,
            wasted=said.wasted,
            pieces=said.pieces,
            neighbours=said.neighbours,
            interested=said.interested,
            unchoking=said.unchoking,
        )
        for piece, at in client.have[peer.pieces_told :]:
            self.rules.has_piece(self.seconds(at), peer.number, piece)
        peer.pieces_told = len(client.have)

    def _is_known(self, peer: Peer) -> bool:
        tracker = self.tracker
        return isinstance(tracker, Tracker) and tracker.knows((peer.place.address, self.port))

    def _is_closed(self, peer: Peer, *, late: bool = False) -> bool:
        """Whether the client of a peer that leaves is gone; what it has done is final then.

        One that is late is killed.
        """
        client = peer.client
        if peer.closed or client is None:
            return True
        if late or client.is_closed():
            client.kill()
            peer.closed = True
            if not self._cut_off:
                self._count_timeouts(peer)
        return peer.closed

    def _count_timeouts(self, peer: Peer) -> None:
        if peer.has_come and peer.client is not None:
            timeouts = kernel.timeouts(peer.place) - peer.timeouts_before
            peer.timeouts = timeouts + peer.client.transport_timeouts

    def _look(self) -> None:
        """Look at every client, and say what it does."""
        if self.tracker is not None and (why := self.tracker.failure()):
            raise ClientFailed(f"the tracker on {self._tracker_place.name}: {why}")
        for peer in list(self.peers):
            client = peer.client
            if client is None:
                continue
            if peer.left is not None and not peer.closed:
                self._is_closed(peer)
                self._observe(peer, self.now)
            if not peer.is_online:
                continue
            client.look()
            if peer.controller is not None and peer.controller.failure:
                raise client.failure(peer.controller.failure)
            if client.completed_at is not None and peer.is_leecher and peer.completed is None:
                self.rules.complete(client.completed_at - self._start, peer.number)
            self._observe(peer, self.now)
        # Of peers on several nodes it is seen from where all is known.
        if self._own is None and not self.outcome:
            self.outcome = self.rules.stall(self.now, self._workload, *self._held()) or ""

    def _held(self) -> tuple[bytes | None, bool]:
        """Pieces of the online peers here, None without a report of each; whether one has all."""
        clients = [it for it in self.peers if it.client is not None and it.has_come]
        open_ = [peer for peer in clients if not peer.closed]
        if any(not peer.is_leecher or peer.completed is not None for peer in open_):
            return None, True
        if self.now - self._has_at >= PIECES_S:
            self._has_at = self.now
            told = [peer.client.has() for peer in open_ if peer.client is not None]
            known = [bits for bits in told if bits is not None]
            length = (self.torrent.pieces + 7) // 8 if self.torrent is not None else 0
            whole = len(known) == len(told)
            self._has = reduce(or_, known, 0).to_bytes(length, "big") if whole else None
        return self._has, False

    def tell_limits(self) -> None:
        """Tell the rules which limits controllers have set, before series are sampled."""
        for peer in self.peers:
            if peer.controller is not None and peer.controller.rows and peer.is_online:
                limit = peer.controller.rows[-1].limit
                self.rules.controlled(peer.number, None if limit is None else round(8 * limit))

    # After the end.

    @property
    def timeouts(self) -> dict[int, int]:
        """Retransmission timeouts of each peer that has come, by its number."""
        return {peer.number: peer.timeouts for peer in self.peers if peer.has_come}

    def cut_off(self) -> None:
        """The network ends now: what it makes programs do from here on is no part of the run."""
        self.end_s = self.now
        for peer in self.peers:
            if not peer.closed:
                self._count_timeouts(peer)
        self._cut_off = True

    def finish(self) -> None:
        """All peers leave; then the files that clients wrote are compared with the torrent.

        Raises:
            ClientFailed: a file is not what the torrent says.
        """
        self.end_s = self.end_s or self.now
        for peer in self.peers:
            if peer.controller is not None:
                peer.controller.stop()
            if peer.client is not None:
                peer.client.leave(told=not self._cut_off)
        deadline = time.monotonic() + CLOSE_S
        open_ = list(self.peers)
        while open_:
            late = time.monotonic() >= deadline
            open_ = [peer for peer in open_ if not self._is_closed(peer, late=late)]
            time.sleep(0.02 if open_ else 0.0)
        for peer in self.peers:
            self._observe(peer, self.end_s)
        if isinstance(self.tracker, Tracker) and not self._cut_off:
            self.left_behind = self.tracker.counts()
        self._verify()

    def _verify(self) -> None:
        assert self.torrent is not None
        wrong = self.torrent.wrong_pieces(self.torrent.content)
        if wrong:
            raise ClientFailed(f"pieces {wrong[:5]} of the seeds' file were changed by a client")
        for peer in self.peers:
            if peer.completed is None or peer.client is None:
                continue
            try:
                wrong = self.torrent.wrong_pieces(peer.client.job.content)
            except OSError as error:
                raise peer.client.failure(f"said that it was complete, but {error}") from None
            if wrong:
                pieces = f"{len(wrong)} of {self.torrent.pieces} pieces"
                raise peer.client.failure(f"said that it was complete, but {pieces} are wrong")
            peer.client.job.content.unlink()

    def close(self) -> None:
        """End every program that is left, and remove everything that was written."""
        controllers = [it.controller for it in self.peers if it.controller is not None]
        for one in controllers:
            one.stop()
        for one in controllers:
            one.close()
        for peer in self.peers:
            if peer.client is not None:
                peer.client.kill()
        if self._nodes is not None:
            self._nodes.close()
            self._nodes = None
        if self.tracker is not None:
            self.tracker.close()
            self.tracker = None
        shutil.rmtree(self._folder, ignore_errors=True)
