"""Plays a swarm of a plan with real programs, in wall-clock time."""

from __future__ import annotations

import heapq
import itertools
import shutil
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Literal

from flashcrowd.clients import (
    arrivals,
    controller,
    descriptors,
    kernel,
    opentracker,
    settings,
    torrent,
)
from flashcrowd.clients.client import ClientFailed, Job
from flashcrowd.clients.completion import SwarmStanding, Watch
from flashcrowd.clients.controller import Controller
from flashcrowd.clients.opentracker import OpenTracker
from flashcrowd.clients.peer import Peer
from flashcrowd.clients.place import Place
from flashcrowd.clients.programs import DEFAULT, PROGRAMS
from flashcrowd.clients.random_stream import RandomStream
from flashcrowd.clients.tracker import Rules, Tracker

PORT, TRACKER_PORT = 6881, 6969
"""Where peers and tracker of a plan's first workload listen; those of the next one port higher."""
LEAD_S = 10.0
"""So long before its arrival a client is started, so that it is ready in time."""
READY_S = 60.0
"""A client that is not ready after this will never be."""
CLOSE_S = 60.0
"""A client that has not closed so long after the end is killed: what it downloaded counts."""
LOOK_S = 0.1
"""How often clients are looked at."""
PIECES_S = 1.0
"""How often clients are asked which pieces they have, once nobody has them all."""

Event = Literal["prepare", "arrive", "control", "leave", "pieces", "series"]
_SAMPLED = ("swarm-rate", "online", "completed", "upload-limit")


class Swarm:
    """One swarm, from its preparation to its tables.

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
        others_miss: whether somebody who is played elsewhere is online and lacks something.
    """

    def __init__(
        self,
        plan: Mapping[str, Any],
        workload: int,
        seed: int,
        places: Sequence[Place],
        folder: Path,
        tracker_place: Place | None = None,
        own: Container[int] | None = None,
    ) -> None:
        """What is to be played.

        Args:
            plan: the plan's data.
            workload: index of the swarm among the plan's workloads.
            seed: seed of the run.
            places: the plan's hosts, in its order.
            folder: an empty folder for everything that programs write.
            tracker_place: where the tracker runs that has no host in the plan.
            own: the hosts that are played here, where others are played elsewhere: their peers
                never come here, and whether the swarm stalls is seen from where all is known.

        Raises:
            ValueError: the programs cannot play it, see `programs.refusals`, or the tracker has no
                place.
        """
        self.plan, self.spec, self.seed = plan, plan["workloads"][workload], seed
        self._places, self._folder = places, folder
        self.port, self._tracker_port = PORT + workload, TRACKER_PORT + workload
        host = self.spec["tracker"]["host"]
        place = tracker_place if host is None else places[host]
        if place is None:
            raise ValueError(f"swarm {self.spec['name']}: the tracker has no host, and no place")
        self._tracker_place = place
        self._own = own
        self._has_tracker = own is None or host is None or host in own
        self.others_miss = False
        swarms = [n for n, it in enumerate(plan["workloads"]) if it["kind"] == "swarm"]
        self._number = swarms.index(workload)
        self._stream = RandomStream(seed, "tracker", workload)
        self._torrent_seed = RandomStream(seed, "content", workload).bits()
        sizes = [_hosts(plan["workloads"][number]) for number in swarms]
        self._next_number = sum(sizes)
        self._settings = [settings.of(plan, it) for it in self.spec["populations"]]
        self.peers = self._planned(sum(sizes[: self._number]))
        self.tracker: Tracker | OpenTracker | None = None
        self.torrent: torrent.Torrent | None = None
        self.outcome = ""
        self.stopped = self._cut_off = False
        self.left_behind: tuple[int, int] | None = None
        self.unmet: dict[tuple[str, str], list[settings.Unmet]] = {}
        self.pieces: list[tuple[int, float, list[int]]] = []
        self.series: list[tuple[str, str, float, float]] = []
        self._members = 0
        self._events: list[tuple[float, int, Event, int]] = []
        self._order = itertools.count()
        self._start = 0.0
        self._looked = 0.0
        self._watch = Watch(self.spec, plan["stop"]["stall_ns"] / 1e9)
        self._has: str | None = None
        self._has_at = -PIECES_S
        self._sampled_bytes = 0
        self._folders = itertools.count()

    def _planned(self, first: int) -> list[Peer]:
        """Every peer that is planned, in the order of the plan."""
        numbers = itertools.count(first)
        return [
            Peer(next(numbers), n, spec, host, self._places[host], spec["role"])
            for n, spec in enumerate(self.spec["populations"])
            for host in spec["hosts"]
        ]

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
            self._torrent_seed,
            announce,
            private=not self._exchanges_peers(),
        )
        if self._has_tracker:
            self.tracker = self._started_tracker(made.info_hash)
        place_of = 0
        for number, spec in enumerate(self.spec["populations"]):
            when = arrivals.arrivals_ns(spec, self.seed, self._number, number)
            for at, leave in zip(when, arrivals.leaves_ns(spec), strict=True):
                if not self._plays(self.peers[place_of]):
                    place_of += 1
                    continue
                self._schedule(at / 1e9 - LEAD_S, "prepare", place_of)
                self._schedule(at / 1e9, "arrive", place_of)
                if leave is not None:
                    self._schedule(leave / 1e9, "leave", place_of)
                place_of += 1
        while self._events and self._events[0][0] < 0.0 and self._events[0][2] == "prepare":
            self._prepare(self.peers[heapq.heappop(self._events)[3]])
        deadline = time.monotonic() + READY_S
        waiting = [peer.client for peer in self.peers if peer.client is not None]
        while waiting := [client for client in waiting if not client.is_ready()]:
            if time.monotonic() >= deadline:
                raise waiting[0].failure(f"not ready within {READY_S:g} s")
            time.sleep(0.01)
        measures = self.plan["measures"]
        if measures["pieces_ns"]:
            self._schedule(0.0, "pieces", 0)
        for number, series in enumerate(measures["series"]):
            if series["what"] in _SAMPLED:
                self._schedule(series["every_ns"] / 1e9, "series", number)

    def _started_tracker(self, info_hash: bytes) -> Tracker | OpenTracker:
        """The tracker, which listens already."""
        place, port = self._tracker_place, self._tracker_port
        rules = Rules.of(self.spec["tracker"])
        if self.spec["tracker"].get("program") == opentracker.NAME:
            self.unmet["", opentracker.NAME] = list(opentracker.unmet(rules))
            return OpenTracker(place, port, info_hash, self._folder / "tracker")
        try:
            return Tracker(place, port, rules, info_hash, self._stream)
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

    @property
    def pids(self) -> list[int]:
        """The processes that play: the tracker if it is one, and clients."""
        players = [self.tracker, *(peer.client for peer in self.peers if not peer.closed)]
        return [it.pid for it in players if it is not None and it.pid is not None]

    def seconds(self, at: float) -> float:
        """An instant of `time.monotonic` as seconds since the start."""
        return at - self._start

    @property
    def leechers(self) -> list[Peer]:
        """Every leecher that is played here, planned ones and replacements."""
        return [peer for peer in self.peers if peer.is_leecher and self._plays(peer)]

    @property
    def standing(self) -> SwarmStanding:
        """How far it is, as far as it is played here."""
        sources = sum(self._plays(peer) and peer.is_source for peer in self.peers)
        return replace(
            self._ended(),
            came=self._members,
            down=self._down(),
            missing=any(peer.is_missing for peer in self.leechers),
            sources=sources,
            pieces=None if sources else self._pieces(),
        )

    def _ended(self) -> SwarmStanding:
        """Who is through, and no more: whether it is done is asked at each look."""
        leechers = self.leechers
        return SwarmStanding(
            leechers=len(leechers),
            completed=self.completed,
            over=sum(it.completed is not None or it.left is not None for it in leechers),
            stopped=self.stopped,
        )

    def _exchanges_peers(self) -> bool:
        """Whether a client exchanges peers, as none does in a private torrent (BEP 27)."""
        return any(it.exchanges_peers for it in self._settings)

    def _plays(self, peer: Peer) -> bool:
        """Whether a peer is played here."""
        return self._own is None or peer.host in self._own

    @property
    def completed(self) -> int:
        """How many leechers have the whole file."""
        return sum(peer.completed is not None for peer in self.leechers)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to wait for, as in the simulation."""
        return self._ended().is_done(self.spec)

    @property
    def part(self) -> float:
        """How far it is, 0 to 1, as far as anybody can tell."""
        expected = len(self.leechers) * self.spec["size_bytes"]
        return min(self._down() / max(expected, 1), 1.0)

    def step(self) -> float:
        """Do what is due; gives the instant of `time.monotonic` of the next call.

        Raises:
            ClientFailed: a program crashed, hangs or refused.
        """
        while self._events and self._events[0][0] <= self.now:
            at, _, event, subject = heapq.heappop(self._events)
            self._handle(at, event, subject)
        now = time.monotonic()
        if now >= self._looked + LOOK_S:
            self._look(now - self._looked)
            self._looked = now
        due = self._events[0][0] + self._start if self._events else now + LOOK_S
        return min(due, self._looked + LOOK_S)

    def set_upload(self, population: int, upload_bps: int | None) -> None:
        """The upload limit of a population changes.

        Raises:
            ClientFailed: a program refused.
        """
        limit = None if upload_bps is None else upload_bps // 8
        before = self._settings[population]
        self._settings[population] = replace(before, upload=limit)
        for peer in self.peers:
            if peer.population == population and peer.client is not None and peer.left is None:
                peer.client.limit(limit)

    def stop(self) -> None:
        """Every peer leaves, and nobody comes any more."""
        self.stopped = True
        for peer in self.peers:
            if peer.is_online:
                self._leave(peer)

    def _schedule(self, at: float, event: Event, subject: int) -> None:
        heapq.heappush(self._events, (at, next(self._order), event, subject))

    def _handle(self, at: float, event: Event, subject: int) -> None:
        if event == "pieces":
            self._count_pieces()
            self._schedule(at + self.plan["measures"]["pieces_ns"] / 1e9, event, subject)
        elif event == "series":
            series = self.plan["measures"]["series"][subject]
            self._sample(series["what"], series["every_ns"] / 1e9)
            self._schedule(at + series["every_ns"] / 1e9, event, subject)
        elif self.stopped:
            return
        elif event == "prepare":
            self._prepare(self.peers[subject])
        elif event == "arrive":
            self._arrive(at, subject)
        elif event == "control":
            self._control(self.peers[subject])
        elif self.peers[subject].is_online:
            self._depart(self.peers[subject])
        elif self.peers[subject].arrived is None:
            self.peers[subject].overdue = True

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
            self.plan["measures"]["have"],
        )
        job.content.parent.mkdir(parents=True)
        if job.seed:
            torrent.give(self.torrent, job.content.parent)
        name = peer.spec.get("program") or DEFAULT
        peer.client = PROGRAMS[name].client(job)
        job.unmet += controller.differences(self.plan, peer.spec, name, job.settings)
        self.unmet[peer.spec["name"], name] = job.unmet

    def _arrive(self, at: float, subject: int) -> None:
        """A peer comes; shortly later if the one before it is not gone or its client not ready."""
        peer = self.peers[subject]
        if peer.client is None:
            others = (it for it in self.peers if it.host == peer.host and it is not peer)
            if not all(it.closed for it in others):
                self._schedule(self.now + 0.02, "arrive", subject)
                return
            self._prepare(peer)
        assert peer.client is not None
        if not peer.client.is_ready():
            if self.now - at > READY_S:
                raise peer.client.failure(f"not ready within {READY_S:g} s")
            # The late instant counts as its arrival; the next look is soon.
            self._schedule(max(at, self.now + 0.01), "arrive", subject)
            return
        peer.timeouts_before = kernel.timeouts(peer.place)
        peer.client.join()
        peer.arrived = self.now
        peer.member, self._members = self._members, self._members + 1
        departs = peer.spec["departure"]["kind"] == "session"
        if not peer.is_leecher or departs:
            self._plan_departure(peer, 0)
        if peer.overdue:
            self._schedule(self.now, "leave", subject)
        if (asked := controller.of(peer.spec)) is not None:
            # The stream of the simulation: for one seed both begin at the same instant.
            stream = RandomStream(self.seed, "upload control", peer.number)
            late_ns = stream.between(0, asked["start_spread_ns"])
            self._schedule(peer.arrived + late_ns / 1e9, "control", subject)

    def _control(self, peer: Peer) -> None:
        """The controller of a peer is started, if the peer is still there."""
        asked = controller.of(peer.spec)
        if not peer.is_online or peer.client is None or asked is None:
            return
        reflectors = [self._places[host] for host in asked["reflectors"]]
        since = self._start + (peer.arrived or 0.0)
        peer.controller = Controller(asked, peer.client.interface(), peer.place, reflectors, since)

    def _plan_departure(self, peer: Peer, download_ns: int) -> None:
        stay = arrivals.stay_ns(peer.spec["departure"], self.seed, peer.number, download_ns)
        if stay is not None:
            since = peer.completed if peer.completed is not None else peer.arrived
            self._schedule((since or 0.0) + stay / 1e9, "leave", self.peers.index(peer))

    def _depart(self, peer: Peer) -> None:
        """A peer goes, and is replaced if its population says so."""
        self._leave(peer)
        if peer.spec["replace"]:
            number, self._next_number = self._next_number, self._next_number + 1
            self.peers.append(
                Peer(number, peer.population, peer.spec, peer.host, peer.place, "leecher")
            )
            self._schedule(self.now, "arrive", len(self.peers) - 1)

    def _leave(self, peer: Peer) -> None:
        client = peer.client
        assert client is not None
        if peer.controller is not None:
            peer.controller.stop()
        client.leave()
        peer.left = self.now

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
        if peer.arrived is not None and peer.client is not None:
            timeouts = kernel.timeouts(peer.place) - peer.timeouts_before
            peer.timeouts = timeouts + peer.client.transport_timeouts

    def _look(self, seconds: float) -> None:
        """Look at every client, and account for the time since the last look."""
        if self.tracker is not None and (why := self.tracker.failure()):
            raise ClientFailed(f"the tracker on {self._tracker_place.name}: {why}")
        needed = self.others_miss or any(peer.is_missing for peer in self.peers)
        for peer in list(self.peers):
            client = peer.client
            if client is None:
                continue
            if peer.left is not None:
                self._is_closed(peer)
            if not peer.is_online:
                continue
            client.look()
            if peer.controller is not None and peer.controller.failure:
                raise client.failure(peer.controller.failure)
            peer.spend(seconds, needed)
            if client.completed_at is not None and peer.completed is None and peer.is_leecher:
                peer.completed = client.completed_at - self._start
                if peer.spec["departure"]["kind"] != "session":
                    download = peer.completed - (peer.arrived or 0.0)
                    self._plan_departure(peer, round(max(download, 0.0) * 1e9))
        # Of peers on several nodes it is seen from where all is known.
        if self._own is None and not self.outcome:
            self.outcome = self._watch.outcome(self.standing, self.now)

    def _pieces(self) -> str | None:
        """The pieces that somebody here has, as `SwarmStanding` tells them."""
        if self.now - self._has_at >= PIECES_S:
            self._has_at = self.now
            open_ = [it.client for it in self.leechers if it.arrived is not None and not it.closed]
            told = [client.has() for client in open_ if client is not None]
            known = [bits for bits in told if bits is not None]
            whole = len(known) == len(told)
            self._has = f"{reduce(or_, known, 0):x}" if whole else None
        return self._has

    def _down(self) -> int:
        return sum(peer.progress.down for peer in self.leechers)

    def _count_pieces(self) -> None:
        populations: dict[int, list[int]] = {}
        for peer in self.leechers:
            if peer.arrived is not None:
                populations.setdefault(peer.population, []).append(peer.progress.pieces)
        now = self.now
        self.pieces += [(number, now, counts) for number, counts in sorted(populations.items())]

    def _sample(self, what: str, every_s: float) -> None:
        if what == "upload-limit":
            self._sample_limits()
            return
        if what == "online":
            value = float(sum(peer.is_online for peer in self.peers))
        elif what == "completed":
            value = float(self.completed)
        else:
            down = self._down()
            value = (down - self._sampled_bytes) * 8 / every_s
            self._sampled_bytes = down
        self.series.append((what, self.spec["name"], self.now, value))

    def _sample_limits(self) -> None:
        """The limit of each client, as its controller heard last or as it was told."""
        others = sum(workload["kind"] == "swarm" for workload in self.plan["workloads"]) > 1
        for peer in self.peers:
            if not peer.is_online:
                continue
            heard = peer.controller.rows if peer.controller is not None else ()
            limit = heard[-1].limit if heard else self._settings[peer.population].upload
            if limit is not None:
                # A host may have a peer of each swarm.
                source = f"{peer.place.name} {self.spec['name']}" if others else peer.place.name
                self.series.append(("upload-limit", source, self.now, 8.0 * limit))

    # After the end.

    def cut_off(self) -> None:
        """The network ends now: what it makes programs do from here on is no part of the run."""
        for peer in self.peers:
            if not peer.closed:
                self._count_timeouts(peer)
        self._cut_off = True

    def finish(self) -> None:
        """Everybody leaves; then what the clients wrote is held against the torrent.

        Raises:
            ClientFailed: a file is not what the torrent says.
        """
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
        if self.tracker is not None:
            self.tracker.close()
            self.tracker = None
        shutil.rmtree(self._folder, ignore_errors=True)


def _hosts(workload: Mapping[str, Any]) -> int:
    return sum(len(population["hosts"]) for population in workload["populations"])
