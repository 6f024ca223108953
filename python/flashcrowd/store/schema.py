"""The tables of a results folder: every column with its type, unit and meaning.

This is the contract between engines, results folders and all readers. Engines yield the tables of
one run without the column `run`; the store adds it and casts to the types given here.
`docs/tables.md` is made from this file by `make tables`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

VERSION = 4
"""Version of the tables. It grows when a column changes its name, unit or meaning."""

Kind = Literal["text", "text?", "count", "count?", "seed", "real", "real?", "bytes"]

_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "text?": pa.string(),
    "count": pa.int64(),
    "count?": pa.int64(),
    "seed": pa.uint64(),
    "real": pa.float64(),
    "real?": pa.float64(),
    "bytes": pa.large_binary(),
}

_WORDS: dict[Kind, str] = {
    "text": "text",
    "text?": "text or null",
    "count": "integer",
    "count?": "integer or null",
    "seed": "unsigned integer",
    "real": "number",
    "real?": "number or null",
    "bytes": "bytes",
}


@dataclass(frozen=True)
class Column:
    """One column: what it is called, how it is stored, its unit, and what it means."""

    name: str
    kind: Kind
    unit: str
    meaning: str

    @property
    def field(self) -> pa.Field:
        """As Arrow has it, with unit and meaning as metadata."""
        metadata = {"unit": self.unit, "meaning": self.meaning}
        return pa.field(
            self.name, _TYPES[self.kind], nullable=self.kind.endswith("?")
        ).with_metadata({key: value for key, value in metadata.items() if value})


@dataclass(frozen=True)
class Layout:
    """One table: what a row is, and its columns after `run`."""

    name: str
    row: str
    columns: tuple[Column, ...]
    optional: str = ""

    @property
    def schema(self) -> pa.Schema:
        """The schema of one run's rows, without the column `run`."""
        return pa.schema([column.field for column in self.columns])

    @property
    def final_schema(self) -> pa.Schema:
        """The schema in the results folder, `run` first."""
        return pa.schema([RUN.field, *self.schema], metadata=metadata(self.name))

    def cast(self, table: pa.Table) -> pa.Table:
        """An engine's table with exactly these columns and types.

        Raises:
            ValueError: columns are missing or unknown, or a value does not fit its type.
        """
        expected = [column.name for column in self.columns]
        if table.column_names != expected:
            missing = [name for name in expected if name not in table.column_names]
            unknown = [name for name in table.column_names if name not in expected]
            raise ValueError(
                f"table {self.name!r}: columns missing {missing}, unknown {unknown}, "
                f"in the order {table.column_names}"
            )
        try:
            return table.cast(self.schema).combine_chunks()
        except (pa.ArrowInvalid, ValueError) as error:
            raise ValueError(f"table {self.name!r}: {error}") from error

    def of_rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """An engine's rows, of which each has exactly these columns.

        Raises:
            ValueError: columns are missing or unknown.
        """
        names = {column.name for column in self.columns}
        wrong = next((row.keys() ^ names for row in rows if row.keys() != names), None)
        if wrong:
            raise ValueError(f"table {self.name!r}: columns missing or unknown: {sorted(wrong)}")
        return pa.Table.from_pylist(rows, schema=self.schema)

    def empty(self) -> pa.Table:
        """No rows of one run."""
        return no_rows(self.schema)


def no_rows(layout: pa.Schema) -> pa.Table:
    """As `Schema.empty_table`, which however imports pandas where that is installed."""
    return pa.Table.from_batches([], schema=layout)


def metadata(table: str) -> dict[str, str]:
    """The metadata of a table's file. It must not depend on when or where it is made."""
    return {"flashcrowd.table": table, "flashcrowd.tables_version": str(VERSION)}


def _columns(text: str) -> tuple[Column, ...]:
    """Columns as ``name | kind | unit | meaning``; a line that is indented more goes on."""
    columns = []
    for line in re.sub(r"\n {8,}", " ", text.strip()).splitlines():
        name, kind, unit, meaning = (cell.strip() for cell in line.split("|", 3))
        columns.append(Column(name, kind, unit, meaning))  # pyright: ignore[reportArgumentType]
    return tuple(columns)


RUN = Column("run", "count", "", "number of the run, from 0, in the order of the study")

RUN_KEYS = _columns("""
    point | count | | number of the point of the sweep, from 0
    repeat | count | | number of the repeat, from 0
    seed | seed | | seed of the run; equal for the same repeat of all points, so that they pair
""")
"""Columns that the store puts between `run` and the sweep values in the table `runs`."""

ENGINE_TABLES: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout(
            "run",
            "the run itself; becomes a row of `runs`",
            _columns("""
    outcome | text | | how the run ended. `completed`: all leechers and sized transfers ended, as
        planned. `stopped`: a stop rule held. `undelivered`: a flow, page or client lost its
        connection before it had all bytes, or nothing of a workload arrived. `horizon`: cut off in
        time. `stalled`: a swarm could not go on. `invalid`: an emulation exceeded a limit of its
        accuracy. `failed`: a program of an emulation crashed, hung or refused
    reason | text | | why, in words, a program's last lines behind them; empty when completed
    end_s | real | s | simulated time at the end
    events | count | | events handled by the event loop
    packets_sent | count | packets | packets that senders put on the network
    packets_delivered | count | packets | packets that reached their destination
    packets_lost | count | packets | packets lost by a link's loss model
    packets_dropped | count | packets | packets dropped by full queues
    payload_bytes_delivered | count | B | blocks, transfers, pages: bytes that reached applications
    retransmitted_packets | count | packets | packets sent again: data, SYN and FIN
"""),
        ),
        Layout(
            "downloads",
            "one leecher that came; a host whose leecher was replaced has several. Or one client "
            "of an origin, that came inside of the window if there is one (`measures.window`)",
            _columns("""
    swarm | text | | name of the swarm, or of the origin
    population | text | | name of the population there
    host | text | | name of the peer's host
    peer | count | | number of the peer in its swarm; seeds have numbers, too
    arrived_s | real | s | when it came
    completed_s | real? | s | when it had the whole file; null if never
    left_s | real? | s | when it left; null if it stayed to the end. A client of an origin leaves
        when it has its file, or when its connection fails
    duration_s | real? | s | from arrival to completion; null without completion
    downloaded_bytes | count | B | payload of blocks received, useful or not
    uploaded_bytes | count | B | payload of blocks sent
    pieces | count | pieces | whole pieces that it had at its end; of a client of an origin whole
        blocks
"""),
        ),
        Layout(
            "populations",
            "the seeds or the leechers of one population, summed over those that came",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | name of the population in the swarm
    role | text | | `seed` or `leecher`, as they came; a leecher stays one when it has the file
    peers | count | | how many came
    completed | count | | leechers that had the whole file before the run ended
    uploaded_bytes | count | B | payload of blocks sent
    downloaded_bytes | count | B | payload of blocks received, useful or not
    wasted_bytes | count | B | those of them that were there already, or had been given up
    timeouts | count | | retransmission timeouts of the population's ends of connections, those of
        their SYNs included
    online_s | real | s | time that they were online, summed over peers
    downloading_s | real | s | time that they were online without the whole file
    alone_share | real? | 0 to 1 | share of `downloading_s` without a neighbour.
        The tracker had not answered, or no handshake was complete. Null for seeds. This and the
        next three add up to one
    uninterested_share | real? | 0 to 1 | share of it with neighbours, none of which had a block
        that had not been asked for
    choked_share | real? | 0 to 1 | share of it in which it was interested in neighbours, and all of
        them choked it: it waited for a slot
    unchoked_share | real? | 0 to 1 | share of it in which one of them did not choke it
    needed_s | real | s | time that they were online, complete or not, while a leecher of the swarm
        was online without the whole file
    idle_share | real? | 0 to 1 | share of `needed_s` in which a seed had nothing to upload. No
        request waited, no block was half-written, and all sent bytes were acknowledged. Null for
        leechers
    limited_share | real? | 0 to 1 | share of `needed_s` in which a peer's own upload limit held it
        back; null if no peer needed it
"""),
        ),
        Layout(
            "origins",
            "one content server, or one seed with a disk; within a window (`measures.window`) what "
            "it did inside of it",
            _columns("""
    origin | text | | name of the origin, or of the seed's swarm
    host | text | | its host
    policy | text | | which blocks it sends next: `in-order`, `attach`, `circus`, `relevance`, or
        `requested` of a seed, whose peers ask for each
    from_s | real | s | the first instant that counts
    to_s | real | s | the first one that counts no more, or the end of the run
    downloads | count | | clients of its own that came then; a seed has none
    completed | count | | those of them that had their file before the run ended
    sent_bytes | count | B | blocks handed to the sockets of clients, or to a seed's send buffers
    blocks | count | | how many
    hits | count | | those of them that were in memory when their client could take one
    read_bytes | count | B | what was asked of the disk
    reads | count | | in how many requests
    reads_ahead | count | | those of them for which no client waited when they were requested
    seeks | count | | reads that did not begin where the arm of a hard disk stood
    evictions | count | | extents that gave their memory to others
    residence_s | real? | s | mean time that those had been in memory; null without one
    disk_busy_s | real | s | time that the disk took for the reads, some of which may end later; of
        an SSD the mean of its channels
    disk_cost | real | | what the requests cost, in the unit of the price of a network volume
    network_bps | real? | bit/s | bytes of blocks handed to sockets per second; null if what counts
        is one instant
    disk_bps | real? | bit/s | bytes asked of the disk per second
    miss_ratio | real? | | bytes read for each byte sent; null if none was sent
"""),
        ),
        Layout(
            "origin_files",
            "one file of a content server; within a window (`measures.window`) what happened "
            "inside of it",
            _columns("""
    origin | text | | name of the origin
    file | count | | number of the file, from 0, the most popular first
    downloads | count | | requests for it
    sent_bytes | count | B | its blocks handed to the sockets of clients
    read_bytes | count | B | bytes of it requested from the disk
"""),
        ),
        Layout(
            "web_seeds",
            "one leecher that came and one web seed of its swarm, which its client knows",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | name of the leecher's population in the swarm
    host | text | | name of its host
    peer | count | | its number in the swarm, as in `downloads`
    origin | text | | name of the origin that is the web seed
    connections | count | | connections to it that stood
    failures | count | | attempts that failed, and connections that were lost or left for silence
    requests | count | | ranges that it was asked for
    web_bytes | count | B | payload of whole blocks that it brought; part of `downloaded_bytes`
    wasted_bytes | count | B | those of them that were there already
"""),
            optional="web_seeds",
        ),
        Layout(
            "transfers",
            "one flow of one transfer; within a window (`measures.window`) counts, rates and "
            "round-trip times are those inside of it",
            _columns("""
    transfer | text | | name of the transfer
    flow | count | | number of the flow in the transfer, from 0
    from | text | | sending host
    to | text | | receiving host
    start_s | real | s | when the connection was opened
    end_s | real? | s | when the last byte arrived, the flow stopped or its connection was lost;
        null if it ran to the end
    duration_s | real? | s | from start to the last byte; null without a size, or if not all arrived
    bytes | count | B | payload delivered
    goodput_bps | real? | bit/s | payload delivered per second, from start to end (of the flow, and
        of the window if there is one); null if these are one instant
    segments | count | packets | segments that the sender handed to its network card: those sent
        again and those without data included, a super-segment counted once
    retransmits | count | packets | packets of the sender sent again: data, SYN and FIN
    timeouts | count | | retransmission timeouts, those of the SYN included
    mean_rtt_s | real? | s | mean round-trip time of the sender over time. Each sample of its
        transport holds until the next. Null without a sample
    p95_rtt_s | real? | s | the least round-trip time that it did not exceed for 95 % of that time,
        or at most a 64th more; null without a sample
    min_rtt_s | real? | s | least of its samples; null without one
"""),
        ),
        Layout(
            "pings",
            "one echo request, sent inside of the window if there is one (`measures.window`)",
            _columns("""
    ping | text | | name of the ping
    seq | count | | number of the request, from 0
    sent_s | real | s | when it was sent
    rtt_s | real? | s | until the answer came; null if none came before the run ended
"""),
        ),
        Layout(
            "pages",
            "one page that a user of a web workload asked for, inside of the window if there is "
            "one (`measures.window`)",
            _columns("""
    web | text | | name of the web workload
    user | count | | number of the user in the workload, from 0
    page | count | | number of the page, from 0; of one length in all points with one seed
    bytes | count | B | length of the page, drawn when the user asks for it
    start_s | real | s | when its connections were opened
    first_byte_s | real? | s | when the first of its bytes arrived; null if none did
    end_s | real? | s | when the last byte arrived; null if the page lost its connection, was
        stopped, or was under way when the run ended
    duration_s | real? | s | from start to end; null without an end
"""),
        ),
        Layout(
            "fetches",
            "one download of a download workload that has begun",
            _columns("""
    download | text | | name of the download; with a number where a group downloads
    to | text | | host that downloads
    size_bytes | count | B | length of the file
    bytes | count | B | bytes of the file that arrived
    start_s | real | s | when it began
    first_byte_s | real? | s | when the first of its bytes arrived; null if none did
    end_s | real? | s | when the last byte arrived; null if it lost its last connection, was
        stopped, or was under way when the run ended
    duration_s | real? | s | from start to end; null without an end. The time of real programs ends
        before they verify the file
"""),
        ),
        Layout(
            "fetch_servers",
            "what one server brought to one download of a download workload",
            _columns("""
    download | text | | name of the download; with a number where a group downloads
    to | text | | host that downloads
    server | text | | host of the server
    connections | count | | connections that were opened to it
    lost | count | | those that were lost; of real programs exchanges that broke off
    ranges | count | | requests for bytes
    bytes | count | B | bytes of the file that it brought; without those that came twice
    asked_s | real? | s | when it was first asked for bytes; null if it was not
    first_byte_s | real? | s | when the first of its bytes arrived; null if none did
    last_byte_s | real? | s | when the last of them arrived
    rate_bps | real? | bit/s | its bytes over the time from `asked_s` to `last_byte_s`
"""),
        ),
        Layout(
            "calls",
            "the packets that one direction of a call sent within one interval (its `every`), "
            "inside of the window if there is one (`measures.window`)",
            _columns("""
    call | text | | name of the call
    from | text | | sending host
    to | text | | receiving host
    start_s | real | s | when the first of them was sent
    sent | count | packets | packets sent
    lost | count | packets | those that never arrived, and those under way when the run ended
    mean_delay_s | real? | s | mean one-way delay of those that arrived; null if none did
    p95_delay_s | real? | s | the least delay that 95 % of those that arrived did not exceed
    max_delay_s | real? | s | greatest delay of those that arrived
    jitter_s | real? | s | interarrival jitter (RFC 3550, section 6.4.1) after the last
        arrival. It is a running mean of the differences of transit times
"""),
        ),
        Layout(
            "series",
            "one sample of one time series",
            _columns("""
    what | text | | the sampled value. It is one of `queue-packets`, `queue-delay` (s),
        `link-rate` (bit/s), `goodput` (bit/s), `window` (B), `rtt` (s), `own-delay` (s),
        `swarm-rate` (bit/s), `online`, `completed`, `upload-limit` (bit/s), `origin-rate` (bit/s),
        `disk-rate` (bit/s), `disk-queue` (reads), `disk-waiting` (clients), `origin-clients`
    source | text | | the link, flow, swarm, host or origin that it belongs to
    t_s | real | s | when
    value | real | see `what` | the sample. A flow has no row for `window` before it starts, none
        for `rtt` before its first round trip, and none for either after its end. Only uTP has
        `own-delay`, the latest one-way delay above the minimum that it measured. A client without
        a limit has no row for `upload-limit`
"""),
            optional="measures.series",
        ),
        Layout(
            "pieces",
            "one count of the pieces that leechers have",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | name of the population
    t_s | real | s | when
    leechers | count | | leechers online that are not complete
    mean | real | pieces | mean number of whole pieces that they have
    min | count | pieces | least
    max | count | pieces | most
"""),
            optional="measures.pieces",
        ),
        Layout(
            "queues",
            "one length at which the queues of some links were found",
            _columns("""
    owner | text | | the group of hosts whose access lines they are, or the name of a shared link
    way | text | | `up`, `down`, or nothing for a shared link
    packets | count | packets | packets waiting, the one in transmission included
    count | count | | how often a link had this number
    online | count | | how often while a peer of a swarm ran on the host
"""),
            optional="measures.queues",
        ),
        Layout(
            "send_gaps",
            "one bin of a histogram of the time between sends on one connection",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | population of the sending peer
    gap_ms | count | ms | lower edge of the bin, which is 1 ms wide
    count | count | | sends that followed the one before by this long
"""),
            optional="measures.send_gaps",
        ),
        Layout(
            "payloads",
            "one length of TCP payload",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | population of the sending peer
    bytes | count | B | payload of the packet as it leaves the host (before the card cuts it,
        with TSO)
    count | count | packets | packets of this length
"""),
            optional="measures.payloads",
        ),
        Layout(
            "rtts",
            "TCP's round-trip time estimates in one population",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | population of the sending peer
    samples | count | | samples, one at each send
    mean_s | real | s | mean of the smoothed round-trip times
    min_s | real | s | least of them
    max_s | real | s | greatest of them
"""),
            optional="measures.rtts",
        ),
        Layout(
            "unchokes",
            "one unchoke that ended",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | population of the unchoking peer
    peer | count | | number of the unchoking peer
    remote | count | | number of the unchoked peer
    seeding | count | | 1 if the unchoking peer had the whole file at the end of the unchoke, else 0
    start_s | real | s | begin
    end_s | real | s | end
    idle_s | real | s | time of it in which nothing that the unchoked peer had asked for waited
    bytes | count | B | payload of blocks sent meanwhile
    blocks | count | blocks | whole blocks sent meanwhile
    cause | text | | `idle`, `rotation`, `outranked`, `not-interested` or `disconnected`
"""),
            optional="measures.unchokes",
        ),
        Layout(
            "packets",
            "one packet that the sending end of a transfer sent",
            _columns("""
    transfer | text | | name of the transfer
    flow | count | | number of the flow in the transfer, from 0
    t_s | real | s | when it was sent
    ip_bytes | count | B | size of the IP packet
    payload_bytes | count | B | how many of them are the application's
    retransmission | count | | 1 if what it carries (data, a SYN, a FIN) has been sent before,
        else 0
"""),
            optional="measures.packets",
        ),
        Layout(
            "captures",
            "one packet that passed the interface of a captured host, in the order of time",
            _columns("""
    host | text | | the captured host
    peer | text | | the host at the other end
    t_ns | count | ns | when, at the host before its line. A sent packet is seen before it queues
        there. A lost packet is seen only by its sender
    direction | text | | `sent` or `received`
    ip_bytes | count | B | size of the IP packet
    packet | bytes | | its first bytes (`measures.capture.snap`), the IP header first
"""),
            optional="measures.capture",
        ),
        Layout(
            "have",
            "one piece that a leecher completed",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | population of the leecher
    peer | count | | number of the leecher in its swarm
    piece | count | | number of the piece in the file, from 0
    t_s | real | s | when the leecher had it whole
"""),
            optional="measures.have",
        ),
        Layout(
            "control",
            "one question of an upload controller to its client, and what the controller does",
            _columns("""
    swarm | text | | name of the swarm
    population | text | | population of the client
    host | text | | its host
    peer | count | | number of the peer in its swarm
    t_s | real | s | when
    limit_bps | real? | bit/s | the upload limit that the client has then; null for none
    upload_bps | real | bit/s | what it uploads as its own interface says, mean since the row before
    download_bps | real | bit/s | the same of what it downloads
    phase | text | | what the controller is doing: `learning`, `raising`, `lowering`, `holding`,
        `draining` or `waiting`; with a real client also `suspended`, while the client
        follows its own rules
    reason | text | | why, in words
    rtt_s | real? | s | round trip of the probe that was answered last since the row before; null if
        none was
    base_rtt_s | real? | s | the least round trip of all its probes so far
    lost | count | | probes since the row before that had no answer in time
    delay_s | real? | s | the delay by which it decided: over its own baseline where it has one
    threshold_s | real? | s | the delay above which it takes the uplink for congested
"""),
            optional="upload_control",
        ),
        Layout(
            "links",
            "one direction of one shared link or access line; within a window (`measures.window`), "
            "of what came to it or left it inside",
            _columns("""
    link | text | | name of the link
    packets | count | packets | packets carried: those whose last bit left the link
    bytes | count | B | their bytes, framing included
    dropped | count | packets | packets dropped by its full queue
    lost | count | packets | packets lost by its loss model
    mean_queue_delay_s | real? | s | mean wait in its queue, over packets that the queue accepted.
        With an active discipline, over packets that left the queue. Null if there were none
    max_queue_packets | count | packets | most packets that ever waited
    utilisation | real? | 0 to 1 | bits that left the link, over the bits that its rates and
        traces allowed in the run or the window. The sent bits of a packet in transmission count.
        Null for a link without a rate, or if nothing was allowed
"""),
        ),
        Layout(
            "connections",
            "one end of one connection whose events are in `connection_events`, as a log of qlog "
            "is of one end",
            _columns("""
    connection | count | | number of the log in the run, from 0
    workload | text | | name of the workload
    member | count | | number of the flow, user or peer in the workload whose end it is, from 0
    host | text | | host of this end
    remote | text | | host of the other end
    role | text | | `client` opened the connection, `server` answered
    transport | text | | `tcp` or `utp`
    stack | text | | name of the TCP stack or uTP configuration
    controller | text | | name of the congestion controller
    target_delay_s | real? | s | queueing delay that a controller of the LEDBAT family aims at
    opened_s | real | s | when the client sent its first packet
    closed_s | real? | s | when everything was delivered both ways, or the connection failed; null
        if it stood when the log ended
"""),
            optional="measures.connections",
        ),
        Layout(
            "connection_events",
            "one event of one end of a connection, in the order in which they happened; a column "
            "that an event does not have is null",
            _columns("""
    connection | count | | number of the log in `connections`
    t_s | real | s | when
    event | text | | `connection_started`, `connection_state_updated`, `connection_closed`,
        `packet_sent`, `packet_received`, `packet_lost`, `metrics_updated`,
        `congestion_state_updated`, `loss_timer_updated` as in qlog; `recovery_undone`: a reduction
        of the window was for no loss, and is taken back
    packet_number | count? | | number of the packet among those that this end sent, from 0; of a
        packet that is sent, or of the last one that carried what is lost
    packet_type | text? | | of a packet: `syn`, `syn_ack`, `data`, `ack`, `fin`, `rst` of TCP,
        `syn`, `data`, `state`, `fin`, `reset` of uTP
    ip_bytes | count? | B | size of the IP packet
    payload_bytes | count? | B | how many of them are the application's; of what is lost, too
    offset | count? | B | where they begin in the stream of who sent them: of TCP the sequence
        number after the SYN's, without wrapping
    seq_nr | count? | | uTP: number of the packet on the wire
    ack | count? | | what the packet acknowledges: TCP, everything before this offset; uTP, packets
        up to this number on the wire
    sack | text? | | ranges that it acknowledges besides, in the same numbers, as `begin-end` with
        the first number that a range has not, separated by spaces
    window | count? | B | what the sender of the packet has room for
    retransmission | count? | | 1 if what this end sends (data, a SYN, a FIN) has been sent before,
        else 0
    ecn | text? | | codepoint of the IP header: `ect0`, `ect1`, `ce`
    old | text? | | state before, of the connection or of congestion control
    new | text? | | the new state. Of a connection: `syn_sent`, `syn_received`, `established`,
        `fin_wait`, `close_wait`, `last_ack`, `time_wait`, `closed`. Of congestion control:
        `slow_start`, `congestion_avoidance`, `application_limited` (room in the window, and nothing
        to send), TCP's `cwr`, `recovery` and `loss` (Linux: TCP_CA_CWR, TCP_CA_Recovery,
        TCP_CA_Loss), BBR's own
    trigger | text? | | the reason. Of a lost packet: `time_threshold` (RACK),
        `reordering_threshold` (duplicates, SACK), `rto_expired`. Of a closed connection: `clean`,
        `aborted`, `reset`, `timed_out`. `ecn` if marks are answered. Of the loss timer: `set`,
        `expired`, `cancelled`
    timer | text? | | what the loss timer is for: `handshake`, `rto`, `tail_loss_probe`,
        `reordering`, `persist`
    timer_delay_s | real? | s | time until it expires, when it is set
    congestion_window | count? | B | as it is in force
    bytes_in_flight | count? | B | payload believed to be in the network
    ssthresh | count? | B | slow-start threshold; null before the first reduction
    smoothed_rtt_s | real? | s | smoothed round-trip time; null before the first sample
    rtt_variance_s | real? | s | its mean deviation (RFC 6298: RTTVAR)
    min_rtt_s | real? | s | least round-trip time
    latest_rtt_s | real? | s | latest sample
    rto_s | real? | s | retransmission timeout, back-off included
    backoff | count? | | timeouts in a row (qlog: `pto_count`)
    pacing_rate_bps | real? | bit/s | rate at which packets leave; null where the window alone
        decides
    bytes_acked | count? | B | payload acknowledged, without what is only selected
    packets_lost | count? | packets | how often a packet was declared lost so far
    peer_window | count? | B | what the other end has room for beyond that
    ce_packets | count? | packets | TCP: packets that arrived marked, where the other end counts
        them (accurate ECN); 0 elsewhere
    queueing_delay_s | real? | s | uTP: latest one-way delay above the least
"""),
            optional="measures.connections",
        ),
        Layout(
            "emulation",
            "one second of an emulated run: how punctual the emulation was; empty for a simulation",
            _columns("""
    t_s | real | s | when the second began
    packets | count | packets | packets handed to their hosts
    late_p50_s | real | s | what half of them were late at most: from when they were due to when
        they were handed over, or at most a 16th more
    late_p99_s | real | s | what 99 of 100 were late at most, or at most a 16th more; of fewer than
        100, those of the seconds before included
    late_max_s | real | s | the latest
    busy | real | 0 to 1 | share of a processor that the emulator's thread had, with what the
        receiving kernels did in it
    oversleep_p99_s | real | s | what 99 of 100 sleeps of a thread at the programs' priority were
        too long at most
    unmodelled_drops | count | packets | packets lost other than by the model: not taken in from
        their hosts, or refused by them; those of the whole run stand in its last row
"""),
        ),
        Layout(
            "probes",
            "one thing that the self-test of an emulation measured before its first run over a "
            "network; empty for a simulation",
            _columns("""
    probe | text | | the measured value, from echoes. On the idle path: the number of answers, the
        minimum round trip (s), and the random loss both ways. On the full path: the 90th
        percentile of round trips (s), its part of waiting (s), and the rate of answers (bit/s). If
        there are more kinds of paths than the self-test probes, `kinds of paths` has their number
        in `planned`, and the number of probed ones in `measured`. `queue of the full path, filled
        to` (packets) and `rate of the full path, probed at` (bit/s) do the same for echoes that do
        not fill a queue or are slower than a link
    from | text | | asking host; nothing for `kinds of paths`, as in `to`
    to | text | | answering host
    planned | real | s, bit/s, or 1 | what the model says for the instants at which they were sent
    measured | real | s, bit/s, or 1 | what was found
    low | real? | 1 | of a loss, the lower end of its 99.9 % interval
    high | real? | 1 | its upper end
    within | count | | 1 if the difference is within the limits of the self-test, else 0
"""),
        ),
        Layout(
            "programs",
            "one thing that a study asks of a real program, or of the tracker, and that it does in "
            "another way or does not tell; empty for a simulation",
            _columns("""
    swarm | text | | name of the swarm or the transfer
    population | text | | name of the population; nothing for the tracker, and for a transfer
    program | text | | name of the program
    setting | text | | dotted name in the profile, the population or the tracker; `utp.` and a name
        of the configuration for a transfer
    asked | text | | what the study says
    given | text | | what the program does
"""),
        ),
    )
}
"""The tables of an engine, by name."""

POINTS = Layout(
    "points",
    "one swept setting of one point",
    _columns("""
    point | count | | number of the point, from 0
    path | text | | dotted path of the setting
    value | text | | its value as written
    number | real? | SI unit | the value as a number in the SI unit of its dimension (s, bit/s,
        B, share); null if it is none
"""),
)
"""The sweep in long form, without the column `run`."""

TIMINGS = Layout(
    "timings",
    "what one run cost; the only table that differs between two executions of one study",
    _columns("""
    wall_s | real | s | wall-clock time of the engine
    worker | count | | number of the worker thread that ran it, from 0
    peak_bytes | real? | B | most memory that the whole process had had when it ended; null if
        unknown
"""),
)
"""Costs, with the column `run`."""

TABLES: tuple[str, ...] = (
    "runs",
    "points",
    *(name for name in ENGINE_TABLES if name != "run"),
    "timings",
)
"""Names of the final tables, in the order of the documentation."""


def markdown() -> str:
    """The page `docs/tables.md`."""
    out = [
        "# The tables",
        "",
        f"Version {VERSION}. Made from `python/flashcrowd/store/schema.py`; a test compares them.",
        "",
        _wrapped(
            "A results folder has these tables as `tables/NAME.parquet`. Every column carries its "
            "unit and meaning as Arrow field metadata. Times are simulated seconds from the start "
            "of the run, unless they say otherwise. All tables but `timings` are byte-identical "
            "for one study, seed and version on one architecture."
        ),
        "",
    ]
    sweep = Column("*dotted path*", "text", "", "one column for each swept setting, as written")
    runs = (RUN, *RUN_KEYS, sweep, *ENGINE_TABLES["run"].columns)
    out += _section("runs", "one run", runs)
    out += _section("points", POINTS.row, POINTS.columns)
    for name, layout in ENGINE_TABLES.items():
        if name != "run":
            out += _section(name, layout.row, (RUN, *layout.columns), layout.optional)
    out += _section("timings", TIMINGS.row, (RUN, *TIMINGS.columns))
    return "\n".join(out)


def _section(name: str, row: str, columns: tuple[Column, ...], optional: str = "") -> list[str]:
    about = f"A row is {row}."
    if optional:
        about += f" Empty unless the study asks for it (`{optional}`)."
    out = [f"## `{name}`", "", _wrapped(about)]
    out += ["", "| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
    notes: list[str] = []
    for column in columns:
        title = column.name if column.name.startswith("*") else f"`{column.name}`"
        kind = _WORDS[column.kind] if title[0] == "`" else "text or number"
        cell, _, more = column.meaning.partition(". ")
        if more:
            notes.append(f"- {title}: {more[:1].upper()}{more[1:]}.")
        out.append(f"| {title} | {kind} | {column.unit} | {cell} |")
    wrapped = [_wrapped(note, "  ") for note in notes]
    return [*out, "", *wrapped, ""] if notes else [*out, ""]


def _wrapped(text: str, indent: str = "") -> str:
    """As all pages wrap; neither hyphens nor paths are broken."""
    return textwrap.fill(
        text, 120, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    )
