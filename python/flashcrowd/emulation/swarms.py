"""All swarms of a run: programs, rules, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import or_

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.rows import Row, Rows, of_columns
from flashcrowd.clients import ClientFailed, Swarm, biglybt, tables
from flashcrowd.clients.controller import CONTROLLED
from flashcrowd.clients.programs import DEFAULT, own_control
from flashcrowd.emulation.app import App, Context, merge
from flashcrowd.emulation.messages import Standing
from flashcrowd.emulation.rtt_estimates import RttEstimates
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.parts import workload
from flashcrowd.plan.place import study_place
from flashcrowd.plan.types import Change, SwarmWorkload

_TOLD_BY = {
    "have": ("libtorrent", "mainline-4.0.2"),
    "send_gaps": ("mainline-4.0.2",),
    "unchokes": ("mainline-4.0.2",),
}
"""Measures that few clients tell, and which."""


class Swarms(App):
    """All swarms of a run."""

    kind = "swarm"

    @classmethod
    def refusals(cls, plan: Plan, index: int) -> Iterator[str]:
        """The parts of a swarm that no client can play."""
        swarm = workload(plan, index, SwarmWorkload)
        where = study_place("workloads", swarm)
        if swarm.get("web_seeds"):
            yield (
                f"{where}: real clients are not told of web seeds; leave web_seeds out, or run it "
                "with --engine simulation"
            )
        for population in swarm["populations"]:
            place = f"{where} population {population['name']}"
            carrier = population["transport"] or population["data"] or {}
            own = carrier.get("tcp")
            stacks = {plan.network["hosts"][host]["stack"] for host in population["hosts"]}
            if own is not None and stacks != {own}:
                yield (
                    f"{place}: a client has the TCP of its host; give the group the stack "
                    f"{plan.stacks[own]['name']} in place of the population's transport"
                )
            program = population.get("program") or DEFAULT
            if "storage" in population:
                yield (
                    f"{place}: storage is simulated only, a program reads from this machine's "
                    "disk; leave it out, or run it with --engine simulation"
                )
            if (own := own_control(population)) is not None:
                nodes = len(own["reflectors"])
                if nodes < biglybt.LEAST_NODES:
                    yield (
                        f"{place}: {program} chooses among {biglybt.LEAST_NODES} nodes of its DHT "
                        f"before it pings one, and there are {nodes}; give "
                        "upload_control.reflector more hosts"
                    )
            elif "upload_control" in population and program == biglybt.NAME:
                yield (
                    f"{place}: {program} has upload controllers of its own alone; choose "
                    f"{' or '.join(biglybt.OWN_CONTROLS)}, or another program"
                )
            elif "upload_control" in population and program not in CONTROLLED:
                yield (
                    f"{place}: upload_control has no interface to {program}, only to "
                    f"{', '.join(CONTROLLED)}; choose one of these as its program, or give the "
                    "population a limit in `upload` instead"
                )
            if plan.measures.get("rtts") and "utp" in carrier:
                yield (
                    f"measures: rtts are those of kernels' TCP; {place} opens connections of uTP; "
                    "leave rtts out, or give it TCP"
                )
            for measure, told_by in _TOLD_BY.items():
                if plan.measures.get(measure) and program not in told_by:
                    yield (
                        f"measures: {measure} is told by {' and '.join(told_by)} alone; {place} is "
                        f'{program}; leave {measure} out, or give it program = "{told_by[-1]}"'
                    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rules = _core.SwarmRules(context.plan, context.seed, context.own)
        self._swarms = {
            index: Swarm(
                context.plan,
                index,
                context.seed,
                context.hosts.places,
                context.folder / str(index),
                own=context.own,
                rules=self._rules,
            )
            for index, _ in context.workloads(SwarmWorkload)
        }
        self._rtts: list[RttEstimates] = []

    def prepare(self) -> None:
        """Start trackers, and the clients that come soon."""
        for swarm in self._swarms.values():
            swarm.prepare()

    def open(self, table: Timetable) -> None:
        """Have clients come and go in time."""
        measures = self._context.plan.measures
        for index, swarm in self._swarms.items():
            swarm.begin(table.begin_ns / 1e9)
            table.at(0.0, self._stepper(swarm, table))
            if measures["rtts"]:
                estimates = RttEstimates(swarm, index, self._context.hosts)
                self._rtts.append(estimates)
                table.every(estimates.turn_s, estimates.turn)
        table.whenever_due(self._rules.samples_due_s, self._sample)

    def change(self, change: Change, table: Timetable) -> None:
        """Stop a swarm, or change the upload limit of a population."""
        del table
        swarm = self._swarms.get(change["workload"]) if "workload" in change else None
        if swarm is not None and change["kind"] == "stop":
            swarm.stop()
            self._context.ended()
        elif swarm is not None and change["kind"] == "upload":
            swarm.set_upload(change["population"], change["upload_bps"])

    def _stepper(self, swarm: Swarm, table: Timetable) -> Callable[[], None]:
        """Lets a swarm do what is due, again and again."""

        def step() -> None:
            try:
                due = swarm.step()
            except ClientFailed as error:
                self.failure = str(error)
                return
            if swarm.is_done or swarm.outcome:
                self._context.ended()
            table.at(due - table.begin_ns / 1e9, step)

        return step

    def _sample(self, now_s: float) -> None:
        for swarm in self._swarms.values():
            swarm.tell_limits()
        self._rules.sample(now_s)

    @property
    def is_finite(self) -> bool:
        """Whether there is a swarm."""
        return bool(self._swarms)

    @property
    def is_done(self) -> bool:
        """Whether no swarm has anything to wait for."""
        return all(swarm.is_done for swarm in self._swarms.values())

    def stalled(self, now_s: float) -> str | None:
        """Why a swarm gets no further, if one does not."""
        del now_s
        return next((swarm.outcome for swarm in self._swarms.values() if swarm.outcome), None)

    @property
    def stopped(self) -> str | None:
        """Swarms that the timeline stopped before they were complete."""
        return self._rules.stopped()

    def progress(self, now_s: float) -> float:
        """How far the swarm is that is furthest behind."""
        del now_s
        return min((swarm.part for swarm in self._swarms.values()), default=1.0)

    def unfinished(self) -> list[str]:
        """A line for each swarm that is not done."""
        return self._rules.unfinished()

    def undelivered(self, now_s: float, outcome: str) -> Iterable[str]:
        """A line for each swarm of which no block reached any leecher."""
        # One node of several does not know the whole swarm.
        return self._rules.undelivered(now_s, outcome) if self._context.own is None else ()

    @property
    def payload_bytes(self) -> int:
        """Bytes of blocks that arrived."""
        return sum(peer.progress.down for swarm in self._swarms.values() for peer in swarm.peers)

    @property
    def kernels(self) -> set[int]:
        """The hosts of peers that are played here."""
        players = {peer.host for swarm in self._swarms.values() for peer in swarm.peers}
        return players & self._context.hosts.own

    def standing(self, before: Standing) -> Standing:
        """How far each swarm is, as far as it is played here."""
        parts = {swarm.spec["name"]: swarm.part_of() for swarm in self._swarms.values()}
        return replace(before, swarms=parts)

    @property
    def arrivals(self) -> list[Row]:
        """Which peers came, and when, with their numbers here."""
        return [
            {"swarm": swarm.spec["name"], "peer": peer.member, "arrived_s": peer.arrived}
            for swarm in self._swarms.values()
            for peer in swarm.peers
            if peer.arrived is not None
        ]

    def wanted_elsewhere(self, missing: Mapping[str, bool]) -> None:
        """In which swarms an online peer of another node lacks pieces."""
        for swarm in self._swarms.values():
            swarm.wanted_elsewhere(missing.get(swarm.spec["name"], False))

    def tables(self, now_s: float) -> Rows:
        """The tables about swarms and their peers, and of `control` and `programs`."""
        timeouts = reduce(or_, (swarm.timeouts for swarm in self._swarms.values()), {})
        found = of_columns(self._rules.tables(now_s, timeouts))
        for swarm in self._swarms.values():
            merge(found, tables.rows(swarm))
        return found

    def cut_off(self, now_s: float) -> None:
        """The kernels' counts are final."""
        del now_s
        for swarm in self._swarms.values():
            swarm.cut_off()

    def finish(self) -> None:
        """All peers leave, and downloads are verified."""
        for swarm in self._swarms.values():
            swarm.finish()

    def close(self) -> None:
        """End every program that is left."""
        for estimates in self._rtts:
            estimates.close()
        for swarm in self._swarms.values():
            swarm.close()
