"""How long small packets are on their way: requests, and acknowledgements of blocks.

Logs of both ends of every connection have when a packet was sent and when it arrived. What is above
the delay of the lines it has waited in queues, above all in that of its own uplink.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flashcrowd.base.units import Span
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report import source
from flashcrowd.report.measures import Measure
from flashcrowd.report.source import by_run

#: A REQUEST alone in a segment: length, kind, piece, offset, length of the block.
_REQUEST_BYTES = 17

#: Less than this is no part of a block.
_BLOCK_BYTES = 1000

#: What is sent in the last seconds of the log may arrive after it: a full uplink is 2.4 s.
_LAST_S = 3.0

#: Numbers of runs and of ends stand above this many bits, for numbers inside them.
_SHIFT = 40

REQUEST, ACKNOWLEDGEMENT = "request", "acknowledgement"


def transit(study: StudyEvidence, what: str, who: str) -> Measure:
    """Mean time from sending to arrival of what the peers of one half send, in milliseconds."""
    runs, hosts, seconds = study.once(f"transits of {what}", lambda: _transits(study, what))
    mine = np.array([host.startswith(who) for host in hosts], dtype=bool)
    found = {run: 1e3 * float(seconds[those].mean()) for run, those in by_run(runs, mine)}
    return Measure(f"time of a {what} on its way", "ms", found, "From sending to arrival.")


def transits_apart(study: StudyEvidence, what: str) -> Measure:
    """How much longer that of TCP peers is on its way than that of uTP peers, as a share."""
    tcp, utp = (transit(study, what, half).of_run for half in ("first", "second"))
    found = {run: tcp[run] / utp[run] - 1 for run in tcp if utp.get(run)}
    return Measure(f"{what}s of TCP peers against uTP's", "", found, "Time on its way.", least=-1.0)


def _transits(study: StudyEvidence, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run, sending host, and time on its way, of each packet of a kind."""
    ends = study.results.tables["connections"]
    events = study.results.tables["connection_events"]
    other = _other_ends(ends)
    sent, arrived = (_packets(events, event) for event in ("packet_sent", "packet_received"))
    sent_by, arrived_at = (_end_of(rows, ends) for rows in (sent, arrived))
    if what == REQUEST:
        name = "offset"
        of_sent = source.integers(sent, "payload_bytes") == _REQUEST_BYTES
        of_arrived = source.strings(arrived, "packet_type") == "data"
    else:
        name = "ack"
        blocks = np.zeros(len(other), dtype=bool)
        blocks[arrived_at[source.integers(arrived, "payload_bytes") >= _BLOCK_BYTES]] = True
        of_sent = (source.strings(sent, "packet_type") == "ack") & blocks[sent_by]
        of_arrived = source.strings(arrived, "packet_type") == "ack"
    until = Span(study.results.study["measures"]["connections"]["to"]).seconds - _LAST_S
    of_sent &= source.numbers(sent, "t_s") < until
    keys, left = _first(sent, name, sent_by, of_sent)
    # What arrives at one end was sent by the other.
    found, come = _first(arrived, name, other[arrived_at], of_arrived & (other[arrived_at] >= 0))
    common, here, there = np.intersect1d(keys, found, assume_unique=True, return_indices=True)
    seconds = come[there] - left[here]
    by = (common >> _SHIFT)[seconds >= 0]
    hosts = source.strings(ends, "host")[by]
    return source.integers(ends, "run")[by], hosts, seconds[seconds >= 0]


def _other_ends(ends: pa.Table) -> np.ndarray:
    """Of each end of a connection the row of the other one; -1 if that is not logged.

    Both ends know the same first packet and each other's host.
    """
    columns = [source.integers(ends, "run"), source.numbers(ends, "opened_s")]
    columns += [source.strings(ends, name) for name in ("host", "remote", "role")]
    rows = list(zip(*columns, strict=True))
    clients = {tuple(key): row for row, (*key, role) in enumerate(rows) if role == "client"}
    other = np.full(len(rows), -1)
    for row, (run, opened, host, remote, role) in enumerate(rows):
        client = clients.get((run, opened, remote, host))
        if role == "server" and client is not None:
            other[row], other[client] = client, row
    return other


def _packets(events: pa.Table, event: str) -> pa.Table:
    kinds = source.strings(events, "packet_type")
    wanted = (source.strings(events, "event") == event) & ((kinds == "data") | (kinds == "ack"))
    return events.filter(pa.array(wanted.astype(bool)))


def _end_of(rows: pa.Table, ends: pa.Table) -> np.ndarray:
    """The row in `ends` of the end whose event each row is."""
    mine, theirs = (
        (source.integers(one, "run") << _SHIFT) + source.integers(one, "connection")
        for one in (rows, ends)
    )
    order = np.argsort(theirs)
    return order[np.searchsorted(theirs, mine, sorter=order)]


def _first(
    rows: pa.Table, name: str, ends: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each number of each stream that was seen, and when first; rows are in the order of time."""
    numbers = source.numbers(rows, name)
    chosen = chosen & ~np.isnan(numbers)
    keys = (ends[chosen] << _SHIFT) + numbers[chosen].astype(np.int64)
    keys, at = np.unique(keys, return_index=True)
    return keys, source.numbers(rows, "t_s")[chosen][at]
