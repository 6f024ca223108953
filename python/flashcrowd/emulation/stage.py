"""What happens in a run: programs of a plan's workloads, started, changed and stopped in time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flashcrowd import _core, undelivered
from flashcrowd.clients import ClientFailed, Swarm, kernel, tables
from flashcrowd.content_server import Unable
from flashcrowd.emulation import deliveries
from flashcrowd.emulation.call import Call
from flashcrowd.emulation.echo import Echo
from flashcrowd.emulation.flow import FIRST_PORT, Counts, Flow, FlowJob
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.origin import PACES, Origin
from flashcrowd.emulation.players import player
from flashcrowd.emulation.promptness import Promptness
from flashcrowd.emulation.rtt_estimates import RttEstimates
from flashcrowd.emulation.share import Conductor
from flashcrowd.emulation.standing import Standing
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.emulation.web import Web

_SAMPLE_S = 0.01
_SAMPLE_FLOW_S = 0.0002
"""The kernel is asked for each flow so often, and seldomer if there are many."""
_TURN_S = 0.05
_TOLD = {"window": "cwnd_bytes", "rtt": "srtt_s", "own-delay": "own_delay_s"}
"""Series of flows, by what a `Sender` calls them."""


class Stage:
    """The programs of one run, and what is told of them.

    Attributes:
        flows: the flows of all transfers, by number of the workload.
        echoes: the pings, by number of the workload.
        calls: the calls, by number of the workload.
        webs: the users of pages, by number of the workload.
        swarms: the swarms, by number of the workload.
        origins: the content servers with their clients, by number of the workload.
        rtts: TCP's estimates in each swarm, if they are asked for.
        failure: why a program ended the run, in its words; empty while none has.
        retransmits: segments that were sent again, known when the run is over.
        series: samples of flows: what, whose, when, and the value.
    """

    def __init__(
        self,
        plan: Mapping[str, Any],
        seed: int,
        starts: Mapping[int, list[int]],
        hosts: Hosts,
        folder: Path,
    ) -> None:
        self._plan = plan
        self._hosts = hosts
        self._folder = folder
        self._over = False
        self._stops_s = _stops(plan)
        self._window = _window(plan, "transfers")
        self._begin: dict[tuple[int, int], Counts] = {}
        self._end: dict[tuple[int, int], Counts] = {}
        self.series: list[tuple[str, str, float, float]] = []
        self.flows: dict[int, list[Flow]] = {}
        self.echoes: dict[int, Echo] = {}
        self.calls: dict[int, Call] = {}
        self.webs: dict[int, Web] = {}
        self.swarms: dict[int, Swarm] = {}
        self.origins: dict[int, Origin] = {}
        self._promptness = Promptness()
        self.rtts: list[RttEstimates] = []
        self.failure = ""
        self.retransmits = 0
        self._own = None if len(hosts.own) == len(hosts.places) else hosts.own
        self._rules = _core.SwarmRules(json.dumps(plan), seed, self._own)
        port = FIRST_PORT
        for index, workload in enumerate(plan["workloads"]):
            # Both ends of all but pings and swarms are on one node; a ping is its asking host's.
            here = "from" not in workload or workload["from"] in hosts.own
            if workload["kind"] == "swarm":
                place = folder / str(index)
                self.swarms[index] = Swarm(
                    plan, index, seed, hosts.places, place, own=self._own, rules=self._rules
                )
            elif not here:
                continue
            elif workload["kind"] == "ping":
                self.echoes[index] = Echo(workload, index + 1)
            elif workload["kind"] == "call":
                self.calls[index] = Call(workload, port)
                port += 1
            elif workload["kind"] == "web":
                self.webs[index] = Web(plan, index, port, seed)
                port += 1
            elif workload["kind"] == "origin":
                self.origins[index] = Origin(plan, index, port, seed, self._something_ended)
                port += 1
            else:
                self.flows[index] = []
                for number, start_ns in enumerate(starts[index]):
                    job = FlowJob(
                        spec=workload,
                        plan=plan,
                        number=number,
                        port=port,
                        start_s=start_ns / 1e9,
                        seed=seed,
                        window=self._window,
                        ended=self._something_ended,
                    )
                    self.flows[index].append(player(workload).flow(job))
                    port += 1

    def prepare(self) -> None:
        """Start the clients that come soon; they take a while until they can be told to."""
        try:
            for flow in self._all():
                flow.prepare(self._hosts, self._folder / f"flow-{flow.job.port}")
            for swarm in self.swarms.values():
                swarm.prepare()
            for index, origin in self.origins.items():
                origin.prepare(self._hosts, self._folder / str(index))
        except (ClientFailed, Unable) as error:
            self.failure = str(error)

    def open(self, table: Timetable) -> None:
        """Make every socket, and write down what will happen.

        Raises:
            OSError: what the kernel refused.
        """
        if self._window != (0.0, float("inf")):
            table.at(self._window[0], lambda: self._mark(self._begin, table))
            table.at(self._window[1], lambda: self._mark(self._end, table))
        for change in self._plan["timeline"]:
            table.at(change["at_ns"] / 1e9, self._change(change, table))
        # Where a program could not be prepared, the run has failed, and nothing starts.
        for flow in self._all() if not self.failure else ():
            flow.listen(self._hosts, table)
            table.at(flow.job.start_s, lambda flow=flow: flow.start(table))
            if flow.spec["stop_ns"] is not None:
                table.at(flow.spec["stop_ns"] / 1e9, lambda flow=flow: flow.stop(table))
        for echo in self.echoes.values():
            echo.open(self._hosts, table)
            echo.start(table)
        for call in self.calls.values():
            call.open(self._hosts, table)
            call.start(table)
        for web in self.webs.values():
            web.open(self._hosts, table)
            web.start(table)
        for origin in self.origins.values() if not self.failure else ():
            origin.start(table)
        if self.origins:
            self._promptness.start(table)
        for swarm in self.swarms.values():
            swarm.begin(table.begin_ns / 1e9)
            table.at(0.0, self._stepper(swarm, table))
            if self._plan["measures"]["rtts"]:
                estimates = RttEstimates(swarm, self._hosts)
                self.rtts.append(estimates)
                self._repeat(estimates.turn_s, table, lambda _, of=estimates: of.turn())
        self._repeat(max(_SAMPLE_S, _SAMPLE_FLOW_S * len(self._all())), table, self._look(table))
        for series in self._plan["measures"]["series"]:
            if series["what"] == "goodput" or series["what"] in _TOLD:
                self._repeat(series["every_ns"] / 1e9, table, self._sampler(series, table))

    def play(
        self, table: Timetable, tell: Callable[[float], None], failed: Callable[[], bool]
    ) -> tuple[str, str]:
        """Let the run happen; how it ended, and why."""
        horizon_s = self._plan["stop"]["horizon_ns"] / 1e9
        while True:
            table.turn(_TURN_S)
            now = table.now()
            if failed():
                return "failed", "the emulator ended by itself"
            if self.failure:
                return "failed", self.failure
            if self._over:
                waiting = (*self.swarms.values(), *self.origins.values())
                stalled = next((it.outcome for it in waiting if it.outcome), "")
                if stalled:
                    return "stalled", stalled
                if self._is_done():
                    return _core.finished_outcome(self._rules.stopped())
            if now >= horizon_s:
                return _core.horizon_outcome(list(self._unfinished()))
            tell(self._progress(now, horizon_s))

    def play_share(
        self, table: Timetable, conductor: Conductor, failed: Callable[[], bool]
    ) -> tuple[str, str]:
        """The same for a share of a run: who sees all shares says when it ends, how and why.

        Raises:
            OSError: nothing was heard from there.
        """
        while True:
            table.turn(_TURN_S)
            if failed() and not self.failure:
                self.failure = "the emulator ended by itself"
            for index, missing in conductor.missing.items():
                if index in self.swarms:
                    self.swarms[index].wanted_elsewhere(missing)
            end = conductor.end
            if end is not None and table.now() >= end.at_s:
                return end.outcome, end.reason
            conductor.tell(self.standing(table.now()))

    def standing(self, now_s: float) -> Standing:
        """How far it is, as a share of a run."""
        finite = [flow for flow in self._all() if flow.is_finite]
        return Standing(
            t_s=now_s,
            failure=self.failure,
            finite=len(finite),
            ended=sum(flow.ended_s is not None for flow in finite),
            unfinished=[*self._unfinished_flows()],
            part=self._progress(now_s, self._plan["stop"]["horizon_ns"] / 1e9),
            swarms={index: swarm.part_of() for index, swarm in self.swarms.items()},
        )

    def ports(self) -> dict[int, tuple[str, int]]:
        """The transfer and the number of the flow at each port of transfers."""
        return {flow.job.port: (flow.spec["name"], flow.number) for flow in self._all()}

    def _all(self) -> list[Flow]:
        return [flow for flows in self.flows.values() for flow in flows]

    def _something_ended(self) -> None:
        self._over = True
        wrong = (it.failure for it in self.origins.values() if it.failure)
        self.failure = self.failure or next(wrong, "")

    def _stepper(self, swarm: Swarm, table: Timetable) -> Callable[[], None]:
        """Lets a swarm do what is due, again and again."""

        def step() -> None:
            try:
                due = swarm.step()
            except ClientFailed as error:
                self.failure = str(error)
                return
            self._over = self._over or swarm.is_done or bool(swarm.outcome)
            table.at(due - table.begin_ns / 1e9, step)

        return step

    def _is_done(self) -> bool:
        """Whether nothing is left that can finish and has not."""
        self._over = False
        finite = [flow for flow in self._all() if flow.is_finite]
        crowds = (*self.swarms.values(), *self.origins.values())
        if not finite and not crowds:
            return False
        return all(it.ended_s is not None for it in finite) and all(it.is_done for it in crowds)

    def _unfinished(self) -> Iterator[str]:
        yield from self._unfinished_flows()
        yield from self._rules.unfinished()
        for origin in self.origins.values():
            yield from origin.unfinished()

    def _unfinished_flows(self) -> Iterator[str]:
        for flow in self._all():
            size = flow.spec["size_bytes"]
            if flow.ended_s is None and size is not None:
                name = f"transfer {flow.spec['name']} flow {flow.number}"
                yield f"{name}: {flow.received} of {size} bytes"

    def _progress(self, now_s: float, horizon_s: float) -> float:
        def share(flow: Flow) -> float:
            if flow.ended_s is not None:
                return 1.0
            if flow.spec["stop_ns"] is not None:
                return now_s * 1e9 / flow.spec["stop_ns"]
            return flow.received / flow.spec["size_bytes"]

        finite = [share(flow) for flow in self._all() if flow.is_finite]
        finite += [
            max(crowd.part, now_s / self._stops_s.get(index, float("inf")))
            for index, crowd in (*self.swarms.items(), *self.origins.items())
        ]
        time = now_s / horizon_s
        return max(0.0, min(1.0, max(time, min(finite)) if finite else time))

    def _repeat(self, every_s: float, table: Timetable, call: Callable[[float], None]) -> None:
        """Call something at fixed intervals, from the begin of the run on."""

        def again(number: int) -> None:
            call(table.now())
            # What was missed is not made up for.
            following = max(number + 1, int(table.now() / every_s))
            table.at(following * every_s, lambda: again(following))

        table.at(0.0, lambda: again(0))

    def _look(self, table: Timetable) -> Callable[[float], None]:
        def look(_: float) -> None:
            for flow in self._all():
                flow.sample(table)
                self.failure = self.failure or flow.failure

        return look

    def _sampler(self, series: Mapping[str, Any], table: Timetable) -> Callable[[float], None]:
        """Takes the samples of one kind of series of flows."""
        what, every_s = series["what"], series["every_ns"] / 1e9
        before: dict[Flow, int] = {}

        def take(now_s: float) -> None:
            for flow in self._all():
                value = None
                if what == "goodput":
                    flow.sample(table, fresh=True)
                    value = (flow.received - before.get(flow, 0)) * 8 / every_s
                    before[flow] = flow.received
                elif flow.ended_s is None and flow.info is not None:
                    value = getattr(flow.info, _TOLD[what])
                if value is not None:
                    self.series.append((what, flow.name, now_s, float(value)))

        return take

    def tables(self, now_s: float) -> dict[str, list[dict[str, Any]]]:
        """Rows of the tables about workloads, at the end of a run."""
        transfers = [
            row
            for index, flows in self.flows.items()
            for flow in flows
            if (row := self._row(index, flow, now_s)) is not None
        ]
        begin, end = _window(self._plan, "pings")
        pings = [
            {"ping": echo.spec["name"], "seq": number, "sent_s": sent, "rtt_s": rtt}
            for echo in self.echoes.values()
            for number, (sent, rtt) in enumerate(echo.echoes)
            if begin <= sent < end
        ]
        series: list[dict[str, Any]] = [
            dict(zip(("what", "source", "t_s", "value"), row, strict=True)) for row in self.series
        ]
        rows: dict[str, list[dict[str, Any]]] = {
            "transfers": transfers,
            "pings": pings,
            "series": series,
            "programs": list(self._programs()),
            "calls": [
                row
                for call in self.calls.values()
                for row in call.rows(self._plan, _window(self._plan, "calls"))
            ],
            "pages": [
                row for web in self.webs.values() for row in web.rows(_window(self._plan, "pages"))
            ],
        }
        rows["rtts"] = [row for of in self.rtts for row in of.rows()]
        for swarm in self.swarms.values():
            for name, found in tables.rows(swarm).items():
                rows.setdefault(name, []).extend(found)
        for origin in self.origins.values():
            for name, found in origin.rows().items():
                rows.setdefault(name, []).extend(found)
        if self.origins:
            worst = self._promptness.worst()
            rows[PACES] = [{**origin.pace(), **worst} for origin in self.origins.values()]
        return rows

    def undelivered(self, now_s: float, outcome: str) -> Iterator[str]:
        """A line for each workload that lost a connection too early, or of which nothing came.

        Args:
            now_s: when the run ended.
            outcome: how, as far as is known.
        """
        for flows in self.flows.values():
            yield from deliveries.of_flows(flows, now_s)
        for echo in self.echoes.values():
            yield from deliveries.of_echo(echo, now_s)
        for web in self.webs.values():
            yield from deliveries.of_web(web, now_s)
        hosts = self._plan["network"]["hosts"]
        for call in self.calls.values():
            names = [hosts[call.spec[end]]["name"] for end in ("from", "to")]
            yield from deliveries.of_call(call, names, now_s)
        for origin in self.origins.values():
            yield from undelivered.of_clients(origin.spec["name"], origin.guests, now_s, outcome)
        # What one node of several knows of a swarm is not the swarm.
        if self._own is None:
            yield from self._rules.undelivered(now_s, outcome)

    def violations(self) -> list[str]:
        """Why what programs did is no measurement of the plan, in words; nothing if it is."""
        late = [it for origin in self.origins.values() for it in origin.violations()]
        return [*late, *self._promptness.violations()]

    def arrivals(self) -> list[dict[str, Any]]:
        """Which peers of swarms came, and when, with their numbers here."""
        return [
            {"swarm": swarm.spec["name"], "peer": peer.member, "arrived_s": peer.arrived}
            for swarm in self.swarms.values()
            for peer in swarm.peers
            if peer.arrived is not None
        ]

    def _programs(self) -> Iterator[dict[str, Any]]:
        """What the programs of transfers do in another way than the plan says."""
        for flows in self.flows.values():
            for flow in flows[:1]:
                for unmet in flow.unmet:
                    yield {
                        "swarm": flow.spec["name"],
                        "population": "",
                        "program": flow.spec["program"],
                        "setting": unmet.setting,
                        "asked": unmet.asked,
                        "given": unmet.given,
                    }

    @property
    def payload_bytes(self) -> int:
        """What reached applications: of transfers, pages, downloads, and blocks."""
        peers = (peer for swarm in self.swarms.values() for peer in swarm.peers)
        blocks = sum(peer.progress.down for peer in peers)
        pages = sum(web.received for web in self.webs.values())
        downloads = sum(origin.received for origin in self.origins.values())
        return blocks + pages + downloads + sum(flow.received for flow in self._all())

    def cut_off(self, now_s: float) -> None:
        """The run is over, and the network is about to end: the kernels' counts are final."""
        for origin in self.origins.values():
            origin.cut_off(now_s)
        players = {peer.host for swarm in self.swarms.values() for peer in swarm.peers}
        players &= self._hosts.own
        players |= {web.spec[end] for web in self.webs.values() for end in ("from", "to")}
        players |= {host for origin in self.origins.values() for host in origin.hosts}
        # A host's kernel counts what all of its programs send again, transfers as well.
        self.retransmits = sum(kernel.retransmits(self._hosts.places[host]) for host in players)
        others = (
            flow
            for flow in self._all()
            if flow.spec["from"] not in players or "utp" in (flow.spec["transport"] or {})
        )
        self.retransmits += sum(flow.counts().retransmits for flow in others)
        for swarm in self.swarms.values():
            swarm.cut_off()

    def finish(self) -> None:
        """The network has ended: everybody leaves, and what was downloaded is verified."""
        try:
            for swarm in self.swarms.values():
                if not self.failure:
                    swarm.finish()
        except ClientFailed as error:
            self.failure = str(error)

    def close(self) -> None:
        """End every program that is left."""
        for estimates in self.rtts:
            estimates.close()
        for crowd in (*self.swarms.values(), *self.origins.values()):
            crowd.close()
        for flow in self._all():
            flow.close()

    def _row(self, index: int, flow: Flow, now_s: float) -> dict[str, Any] | None:
        """What is told of a flow, if it has started."""
        if flow.started_s is None:
            return None
        now = flow.counts()
        begin, end = self._window
        counts, whole = now, (begin, end) == (0.0, float("inf"))
        if not whole:
            key = (index, flow.number)
            counts = self._end.get(key, now).less(self._begin.get(key, now))
        ended = min(now_s if flow.ended_s is None else flow.ended_s, end)
        span = ended - max(flow.started_s, begin)
        trips = flow.round_trips(now_s)
        least = flow.info.min_rtt_s if whole and flow.info else trips and trips[1]
        hosts = self._plan["network"]["hosts"]
        return {
            "transfer": flow.spec["name"],
            "flow": flow.number,
            "from": hosts[flow.spec["from"]]["name"],
            "to": hosts[flow.spec["to"]]["name"],
            "start_s": flow.started_s,
            "end_s": flow.ended_s,
            "duration_s": flow.duration_s,
            "bytes": counts.received,
            "goodput_bps": counts.received * 8 / span if span > 0 else None,
            "segments": counts.segments,
            "retransmits": counts.retransmits,
            "timeouts": counts.timeouts,
            "mean_rtt_s": trips and trips[0],
            "p95_rtt_s": trips and trips[2],
            "min_rtt_s": least,
        }

    def _mark(self, counts: dict[tuple[int, int], Counts], table: Timetable) -> None:
        for index, flows in self.flows.items():
            for flow in flows:
                flow.sample(table, fresh=True)
                counts[index, flow.number] = flow.counts()

    def _change(self, change: Mapping[str, Any], table: Timetable) -> Callable[[], None]:
        """What an entry of the timeline does to programs; the network knows the others."""

        def stop() -> None:
            for flow in self.flows.get(change["workload"], ()):
                flow.stop(table)
            if change["workload"] in self.echoes:
                self.echoes[change["workload"]].stop()
            if change["workload"] in self.webs:
                self.webs[change["workload"]].stop(table)
            if change["workload"] in self.calls:
                self.calls[change["workload"]].stop()
            if change["workload"] in self.origins:
                self.origins[change["workload"]].stop(table)
            if change["workload"] in self.swarms:
                self.swarms[change["workload"]].stop()
                self._something_ended()

        def upload() -> None:
            try:
                swarm = self.swarms[change["workload"]]
                swarm.set_upload(change["population"], change["upload_bps"])
            except ClientFailed as error:
                self.failure = str(error)

        def limit() -> None:
            for flow in self.flows.get(change["workload"], ()):
                flow.limit(change["rate_bps"], table)

        does = {"stop": stop, "transfer-rate": limit, "upload": upload}
        return does.get(change["kind"], lambda: None)


def _stops(plan: Mapping[str, Any]) -> dict[int, float]:
    """When the timeline stops workloads, in seconds of the run, by their numbers."""
    return {
        change["workload"]: change["at_ns"] / 1e9
        for change in plan["timeline"]
        if change["kind"] == "stop"
    }


def _window(plan: Mapping[str, Any], table: str) -> tuple[float, float]:
    """The part of a run that a table is about, in seconds."""
    for window in plan["measures"].get("windows", ()):
        if window["table"] == table:
            to_ns = window["to_ns"]
            return window["from_ns"] / 1e9, float("inf") if to_ns is None else to_ns / 1e9
    return 0.0, float("inf")
