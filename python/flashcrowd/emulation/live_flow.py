"""A flow of a transfer over flashcrowd's own uTP, on UDP sockets of both hosts."""

from __future__ import annotations

import json

from flashcrowd import _core
from flashcrowd.emulation.flow import Flow, FlowJob, Sender
from flashcrowd.emulation.hosts import Hosts
from flashcrowd.emulation.timetable import Timetable
from flashcrowd.plan.parts import utp_of


class LiveFlow(Flow):
    """The state machine that the simulation runs, in real time, configured as the plan says."""

    def __init__(self, job: FlowJob) -> None:
        super().__init__(job)
        self._flow = _core.UtpFlow(json.dumps(utp_of(job.plan, job.spec)))

    def listen(self, hosts: Hosts, table: Timetable) -> None:
        """Make both sockets.

        Raises:
            OSError: what the kernel refused.
        """
        with hosts.inside(self.spec["to"]) as place:
            self._flow.listen(f"{place.address}:{self.job.port}")
        with hosts.inside(self.spec["from"]) as place:
            self._flow.prepare(f"{place.address}:{self.job.port}")

    def start(self, table: Timetable) -> None:
        """Open the connection, and send from then on."""
        if self.ended_s is None:
            self._note_start(table.now())
            size, seed = self.spec["size_bytes"], self.job.seed + self.job.port
            self._flow.start(bytes=size, rate=self.rate_bps, seed=seed % (1 << 64))

    def limit(self, rate_bps: int | None, table: Timetable) -> None:
        """Change the application's limit."""
        self.rate_bps = rate_bps
        self._flow.limit(rate_bps)

    def sample(self, table: Timetable, *, fresh: bool = False) -> None:
        """Read the counters of both ends."""
        if self.started_s is None or self.ended_s is not None:
            return
        report = json.loads(self._flow.report() or "{}")
        self._note_received(report["received"])
        said = report["connection"]
        if said is not None:
            info = Sender(
                srtt_s=_seconds(said["rtt_ms"]),
                min_rtt_s=_seconds(said["min_rtt_ms"]),
                cwnd_bytes=said["window_bytes"],
                segments=said["packets_sent"],
                retransmits=said["packets_retransmitted"],
                timeouts=said["timeouts"],
                # Nothing is known of the delay before the first acknowledgement.
                own_delay_s=said["queueing_delay_ms"] / 1e3 if said["rtt_ms"] else None,
            )
            self._note_sender(table.now(), info)
        if report["ended_s"] is not None:
            if report["corrupt"]:
                self.failure = f"transfer {self.name}: {report['error']}"
            self._end(table, self.started_s + report["ended_s"])

    def _close_connection(self) -> None:
        self._flow.stop()


def _seconds(millis: float) -> float | None:
    """0 means no sample yet."""
    return millis / 1e3 if millis else None
