"""The clients of a content server on the loopback, all on one thread, and what came of them."""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flashcrowd import _core
from flashcrowd.content_server.visitor import Visit, Visitor, Wrong
from flashcrowd.download.multipart import Malformed

TICK_S = 0.004
"""Lines are read so often: T3 carries 15 packets in it."""
READ = 1 << 18
"""Bytes that are read of a socket at once, at most."""

SERIES = ("origin-rate", "disk-rate", "disk-queue", "disk-waiting", "origin-clients")
"""Time series that a crowd records; see the table `series`."""
_BYTES = {"origin-rate": "served_bytes", "disk-rate": "read_bytes"}

Row = dict[str, Any]


class Crowd:
    """All clients of a run.

    Args:
        server: where they come to.
        visits: who comes.
        contents: of each file; it is at the path of its number.
        window_s: from when on and until when downloads and the server's counts count.
        series: seconds between two samples, by what is sampled.

    Attributes:
        visitors: those who came.
        failures: what servers and clients did wrong, in words.
        end_s: when the last one went.
    """

    def __init__(
        self,
        server: _core.ContentServer,
        visits: Sequence[Visit],
        contents: Sequence[bytes],
        window_s: tuple[float, float],
        series: Mapping[str, float],
    ) -> None:
        self.visitors: list[Visitor] = []
        self.failures: list[str] = []
        self.end_s = 0.0
        self._server = server
        host, _, port = server.address.rpartition(":")
        self._address = (host, int(port))
        self._visits = sorted(visits, key=lambda it: it.at_s)
        self._contents = contents
        self._window_s = window_s
        self._edges: list[tuple[float, dict[str, Any]]] = []
        self._series: list[Row] = []
        self._online = 0
        self._looks: list[tuple[float, str, float]] = [
            (every, what, every) for what, every in series.items()
        ]
        heapq.heapify(self._looks)
        self._before = {"served_bytes": 0, "read_bytes": 0}
        self._buffer = memoryview(bytearray(READ))

    def play(self, horizon_s: float, tell: Callable[[float], None]) -> bool:
        """Let all of them come and go; whether they did before the horizon.

        Args:
            horizon_s: when it ends at the latest.
            tell: called now and then with how far it is, 0 to 1.
        """
        begin = time.monotonic()
        coming = self._visits[::-1]
        here: list[Visitor] = []
        wanted = sum(len(self._contents[it.file]) for it in self._visits)
        had = 0
        while coming or here:
            now = time.monotonic() - begin
            self.end_s = now
            if now >= horizon_s:
                for visitor in here:
                    visitor.close(now)
                self._look(now)
                return False
            self._look(now)
            while coming and coming[-1].at_s <= now:
                here.append(self._admit(coming.pop(), now))
            for visitor in here:
                before = visitor.received
                if not self._turn(visitor, time.monotonic() - begin):
                    visitor.close(time.monotonic() - begin)
                had += visitor.received - before
            here = [visitor for visitor in here if visitor.left_s is None]
            self._online = len(here)
            tell(had / max(wanted, 1))
            next_s = now + TICK_S
            if not here and coming:
                next_s = coming[-1].at_s
                if self._looks:
                    next_s = min(next_s, self._looks[0][0])
            time.sleep(max(0.0, next_s - (time.monotonic() - begin)))
        self.end_s = time.monotonic() - begin
        self._look(self.end_s)
        return True

    def _admit(self, visit: Visit, now: float) -> Visitor:
        contents = self._contents[visit.file]
        visitor = Visitor(visit, self._address, f"/{visit.file}", contents, now)
        self.visitors.append(visitor)
        return visitor

    def _turn(self, visitor: Visitor, now: float) -> bool:
        leave = visitor.visit.leave_s
        if leave is not None and now >= leave:
            return False
        try:
            goes_on = visitor.turn(now, self._buffer)
        except (Wrong, Malformed) as error:
            self.failures.append(f"{visitor.visit.host}: {error}")
            return False
        if not goes_on and not visitor.complete:
            self.failures.append(f"{visitor.visit.host}: its connection broke off")
        return goes_on

    def _look(self, now: float) -> None:
        """Take what is to be known of the server at instants that have passed."""
        while len(self._edges) < 2 and now >= self._window_s[len(self._edges)]:
            self._edges.append((now, json.loads(self._server.snapshot())))
        while self._looks and self._looks[0][0] <= now:
            at, what, every = heapq.heappop(self._looks)
            heapq.heappush(self._looks, (at + every, what, every))
            found = json.loads(self._server.snapshot())
            if (key := _BYTES.get(what)) is not None:
                value = (found[key] - self._before[key]) * 8 / every
                self._before[key] = found[key]
            else:
                levels = {"disk-queue": "queued_reads", "disk-waiting": "waiting"}
                value = found[levels[what]] if what in levels else self._online
            self._series.append({"what": what, "source": "", "t_s": at, "value": float(value)})

    def pace(self) -> dict[str, Any]:
        """How well the disk and the lines were played."""
        carried = sum(it.received for it in self.visitors)
        lost = sum(it.lost for it in self.visitors)
        found = json.loads(self._server.snapshot())["trial_disk"]
        return {**found, "lines_lost": lost / max(carried, 1)}

    def tables(self, origin: Mapping[str, Any], host: str) -> dict[str, list[Row]]:
        """Rows of the tables `downloads`, `origins` and `series`."""
        counted = [it for it in self.visitors if self._counts(it)]
        edges = [*self._edges]
        while len(edges) < 2:
            edges.append((self.end_s, json.loads(self._server.snapshot())))
        name, block = origin["name"], origin["settings"]["block_bytes"]
        downloads = [_download(it, name, block) for it in counted]
        downloads.sort(key=lambda row: row["peer"])
        complete = sum(row["completed_s"] is not None for row in downloads)
        (from_s, before), (to_s, after) = edges
        counts = {
            key: after[key] - before[key]
            for key in ("blocks", "hits", "reads", "reads_ahead", "evictions")
        }
        sent = after["served_bytes"] - before["served_bytes"]
        read = after["read_bytes"] - before["read_bytes"]
        residence = after["residence_s"] - before["residence_s"]
        disk = {
            key: after["trial_disk"][key] - before["trial_disk"][key]
            for key in ("busy_s", "positioned_reads", "cost")
        }
        span = to_s - from_s
        row = {
            "origin": name,
            "host": host,
            "policy": origin["settings"]["scheduling"]["kind"],
            "from_s": from_s,
            "to_s": to_s,
            "downloads": len(downloads),
            "completed": complete,
            "sent_bytes": sent,
            "read_bytes": read,
            **counts,
            "seeks": disk["positioned_reads"],
            "residence_s": residence / counts["evictions"] if counts["evictions"] else None,
            "disk_busy_s": disk["busy_s"],
            "disk_cost": disk["cost"],
            "network_bps": sent * 8 / span if span > 0 else None,
            "disk_bps": read * 8 / span if span > 0 else None,
            "miss_ratio": read / sent if sent else None,
        }
        series = [{**it, "source": name} for it in self._series]
        return {"downloads": downloads, "origins": [row], "series": series}

    def _counts(self, visitor: Visitor) -> bool:
        from_s, to_s = self._window_s
        return from_s <= visitor.visit.at_s < to_s


def _download(visitor: Visitor, origin: str, block: int) -> Row:
    """A row of the table `downloads`."""
    completed = visitor.left_s if visitor.complete else None
    return {
        "swarm": origin,
        "population": visitor.visit.population,
        "host": visitor.visit.host,
        "peer": visitor.visit.number,
        "arrived_s": visitor.arrived_s,
        "completed_s": completed,
        "left_s": visitor.left_s,
        "duration_s": None if completed is None else completed - visitor.arrived_s,
        "downloaded_bytes": visitor.received,
        "uploaded_bytes": 0,
        "pieces": -(-visitor.received // block) if visitor.complete else visitor.received // block,
    }
