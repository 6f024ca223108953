"""Files of captured packets: one for each captured host of a run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flashcrowd.base import folder_files
from flashcrowd.base.errors import did_you_mean
from flashcrowd.base.rows import Row
from flashcrowd.pcap import blocks
from flashcrowd.store import Results, atomic
from flashcrowd.store.errors import ResultsError

ROWS = 1 << 14
"""Packets in memory at a time."""


class NoCapture(ResultsError):
    """The results have no packets of these hosts and runs."""


@dataclass
class Captured:
    """A file that was written.

    Attributes:
        path: where.
        packets: how many packets it holds.
    """

    path: Path
    packets: int = 0


def write(
    results: Results,
    folder: Path,
    *,
    hosts: Collection[str] = (),
    points: Collection[int] = (),
    runs: Collection[int] = (),
) -> list[Captured]:
    """Write what hosts captured, a pcapng file for each of them in each run.

    Args:
        results: results of a study with `measures.capture`.
        folder: where to; it is made if it is not there.
        hosts: hosts, or groups of hosts; without, all that were captured.
        points: numbers of points; without, all.
        runs: numbers of runs; without, all.

    Raises:
        NoCapture: nothing was captured of these.
        ResultsError: the results are damaged, or a file cannot be written.
    """
    table = results.tables["runs"]
    rows = table.to_pylist()
    chosen = {
        row["run"]: row
        for row in rows
        if (not points or row["point"] in points) and (not runs or row["run"] in runs)
    }
    folder.mkdir(parents=True, exist_ok=True)
    several = len(rows) > 1
    written: list[Captured] = []
    found: set[str] = set()
    for number, parts in _by_run(results.tables.path("captures"), set(chosen)):
        with ExitStack() as files:
            open_now: dict[str, _File] = {}
            for part in parts:
                for host in part.column("host").unique().to_pylist():
                    found.add(host)
                    if hosts and not _chosen(host, hosts):
                        continue
                    if host not in open_now:
                        own = folder_files.name_of(host)
                        stem = f"run-{number:04d}-{own}" if several else own
                        path = folder / f"{stem}.pcapng"
                        scratch = files.enter_context(atomic.new_file(path))
                        about = _about(results, chosen[number])
                        open_now[host] = _File(Captured(path), scratch, host, about)
                    open_now[host].add(part.filter(pc.field("host") == host))
            written.extend(file.captured for file in open_now.values())
    if not written:
        raise _nothing(results, hosts, found, bool(chosen))
    return written


def _nothing(results: Results, hosts: Collection[str], found: set[str], some: bool) -> NoCapture:
    if not some:
        return NoCapture(results.path, "has no such point or run", "See its table `runs`.")
    if not found:
        return NoCapture(
            results.path,
            "nothing was captured",
            "Say in the study whose packets to keep: [measures.capture] with `hosts`.",
        )
    known = sorted(found)
    hints = [did_you_mean(host, known) for host in hosts]
    listed = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
    remedy = "; ".join(hint for hint in hints if hint) or "Name one of these."
    what = f"nothing was captured at {', '.join(hosts)}, but at {listed}"
    return NoCapture(results.path, what, remedy)


def _chosen(host: str, hosts: Collection[str]) -> bool:
    """Whether a host was named, by itself or by its group."""
    return host in hosts or host.rpartition("-")[0] in hosts


def _by_run(file: Path, runs: set[int]) -> Iterator[tuple[int, Iterator[pa.Table]]]:
    """The packets of each run, in portions; the rows of the file are in the order of runs."""
    with pq.ParquetFile(file) as opened:
        batches = opened.iter_batches(batch_size=ROWS)
        waiting: list[pa.Table] = []

        def next_part() -> pa.Table | None:
            while not waiting:
                batch = next(batches, None)
                if batch is None:
                    return None
                rows = pa.Table.from_batches([batch])
                for run in rows.column("run").unique().to_pylist():
                    if run in runs:
                        waiting.append(rows.filter(pc.field("run") == run))
            return waiting[0]

        def parts(run: int) -> Iterator[pa.Table]:
            while (part := next_part()) is not None and part.column("run")[0].as_py() == run:
                yield waiting.pop(0)

        while (part := next_part()) is not None:
            run = part.column("run")[0].as_py()
            yield run, parts(run)


def _about(results: Results, run: Row) -> str:
    """The note about a run for its readers."""
    values = results.manifest.points[run["point"]].values
    settings = [
        f"{path} = {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for path, value in values.items()
    ]
    lines = [
        str(results.study.get("title") or "a study without a title"),
        f"run {run['run']}: point {run['point']}, repeat {run['repeat']}, seed {run['seed']}",
        *settings,
        "simulated: times count from the start of the run",
    ]
    return "\n".join(lines)


class _File:
    """A pcapng file in the making."""

    def __init__(self, captured: Captured, scratch: Path, host: str, about: str) -> None:
        self.captured = captured
        self._scratch = scratch
        self._host = host
        self._about = about
        self._named: set[bytes] = set()

    def add(self, rows: pa.Table) -> None:
        """Add packets of the host."""
        from importlib.metadata import version

        columns = ("t_ns", "direction", "ip_bytes", "packet", "peer")
        times, directions, lengths, packets, peers = (
            rows.column(name).to_pylist() for name in columns
        )
        sent = [direction == "sent" for direction in directions]
        out = []
        if not self.captured.packets:
            own = packets[0][12:16] if sent[0] else packets[0][16:20]
            out.append(blocks.section(f"flashcrowd {version('flashcrowd')}", self._about))
            out.append(blocks.interface(self._host, own))
            out.append(blocks.names({own: self._host}))
        strangers = {}
        for leaves, packet, peer in zip(sent, packets, peers, strict=True):
            address = packet[16:20] if leaves else packet[12:16]
            if address not in self._named:
                self._named.add(address)
                strangers[address] = peer
        if strangers:
            out.append(blocks.names(strangers))
        out.extend(map(blocks.packet, times, sent, lengths, packets))
        with self._scratch.open("ab") as file:
            file.write(b"".join(out))
        self.captured.packets += rows.num_rows
