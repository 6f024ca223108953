"""A BitTorrent client: every rule that differs between clients, each coupling with its switch.

The fields are those of the engine's profile; their values come from the profile that ships under
the name `base`. The tests compare these tables with the engine's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, model_validator

from flashcrowd.scenario.fields import (
    Count,
    MaybePositiveSpan,
    MaybeSpan,
    Natural,
    Peers,
    PositiveSize,
    PositiveSpan,
    Table,
    Word,
    kind_from,
    shorthand,
    within,
)
from flashcrowd.scenario.mirror import Mirror, from_plan, to_plan
from flashcrowd.units import Size, Span, UnitError


class Connections(Table):
    """Limits and timeouts of connections."""

    max_initiate: Count
    """Open no more connections while this many exist or are being opened."""
    max_connections: Count
    """Refuse incoming connections while this many exist."""
    drop_seed_to_seed: bool
    """A peer that is complete closes its connections to complete peers."""
    drop_new_seeds: bool
    """Whether a neighbour that was not interesting is left when a HAVE makes it complete."""
    keepalive: PositiveSpan
    """A keep-alive goes out on every connection this often."""
    timeout: PositiveSpan
    """A connection that brought nothing for this long is closed."""
    timeout_sweep: PositiveSpan
    """How often connections are checked for `timeout`."""
    reconnect: MaybePositiveSpan
    """A lost neighbour is tried again after this time and as much longer for each failure; "none":
    only when the tracker names it again."""
    max_failures: Natural
    """After so many failures in a row it is not tried again."""
    opened_per_second: Annotated[Count | None, Word("none")]
    """So many connections are opened a second, at the client's ticks; "none": all at once."""
    opened_at_once: Natural
    """With `opened_per_second`: so many are opened at once with what the tracker names first, and
    as many fewer at the ticks that follow."""
    max_candidates: Annotated[Natural | None, Word("none")]
    """So many peers to connect to are remembered while there is no room for them; "none": as many
    as `max_initiate`."""
    turnover: MaybePositiveSpan
    """So often a few neighbours make room for others, if nearly full; "none": never."""
    turnover_share: Annotated[float, Field(ge=0, le=1)]
    """This share of them, one at least."""
    turnover_cutoff: Annotated[float, Field(ge=0, le=1)]
    """If there are so many, as a share of `max_connections`."""
    candidates: Literal["last-named", "canonical"]
    """To whom a connection is opened first: to the peer named last, or to those that the tracker
    named and then by the canonical priority of BEP 40."""
    inactivity: MaybePositiveSpan
    """Two who want nothing of each other for so long part, if the house is nearly full; "none":
    never."""
    tcp_fallback: bool
    """Whether an attempt over uTP that was not answered is made again at once over the host's TCP,
    and later ones to that peer are over TCP, until one over uTP comes from there."""


class Announce(Table):
    """When a peer announces itself, and what it asks for."""

    check: PositiveSpan
    """How often the peer looks whether an announce is due."""
    min_peers: Natural
    """With fewer connections than this, ask before the tracker's interval is over."""
    min_peers_reachable: Natural
    """Replaces `min_peers` once any incoming connection has been seen."""
    min_interval: PositiveSpan
    """Least time between two such early announces."""
    numwant: Annotated[Peers | None, Word("none")]
    """How many peers to ask for; "none" leaves the number to the tracker."""
    enough_peers: Natural
    """With this many connections ask for no peers."""
    retry: PositiveSpan
    """Time until the first retry after a failed announce."""
    retry_growth_min: Annotated[float, Field(ge=1, le=100)]
    """Every further retry waits longer by a factor between this ..."""
    retry_growth_max: Annotated[float, Field(ge=1, le=100)]
    """... and this."""
    max_retry: PositiveSpan
    """Longest wait between retries."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.retry_growth_max < self.retry_growth_min:
            allowed = f"a number of at least retry_growth_min, {self.retry_growth_min}"
            raise UnitError(allowed, key="retry_growth_max")
        return self


class MainlineBacklog(Table):
    """What arrives in 4 s at the metered rate, and 2 more."""

    kind: Literal["mainline"] = "mainline"
    initial: Count
    """The least number of requests."""


class FixedBacklog(Table):
    """Always the same number, whatever the rate."""

    kind: Literal["fixed"] = "fixed"
    requests: Count
    """The number."""


class QueueTimeBacklog(Table):
    """What arrives in `queue_time` at the metered rate."""

    kind: Literal["queue-time"] = "queue-time"
    queue_time: PositiveSpan
    """How much time the requests are worth."""
    min: Count
    """Least number."""
    max: Count
    """Greatest number."""


class SlowStartBacklog(Table):
    """One more for every block while the rate grows, then what arrives in `queue_time`."""

    kind: Literal["slow-start"] = "slow-start"
    queue_time: PositiveSpan
    """How much time the requests are worth once the rate does not grow."""
    first: Count
    """The number with which a connection begins."""
    min: Count
    """Least number."""
    max: Count
    """Greatest number."""


def _backlog_to_plan(value: Any) -> Any:
    if isinstance(value, FixedBacklog):
        return {"fixed": value.requests}
    made = to_plan(value)
    return {made.pop("kind"): made}


def _backlog_from_plan(given: Any) -> Any:
    ((kind, value),) = given.items()
    if kind == "fixed":
        return {"kind": kind, "requests": value}
    model = {
        "mainline": MainlineBacklog,
        "queue-time": QueueTimeBacklog,
        "slow-start": SlowStartBacklog,
    }[kind]
    return {"kind": kind, **from_plan(model, value)}


BacklogTable = Annotated[
    MainlineBacklog | FixedBacklog | QueueTimeBacklog | SlowStartBacklog,
    Discriminator("kind"),
]


class Requests(Table):
    """Asking for blocks."""

    block: PositiveSize
    """Bytes asked for in one request."""
    max_block: PositiveSize
    """A request for more than this closes the connection."""
    max_queue: Count
    """Requests beyond this many waiting on one connection are dropped."""
    backlog: Annotated[
        BacklogTable,
        kind_from(
            None,
            first="slow-start",
            initial="mainline",
            requests="fixed",
            queue_time="queue-time",
        ),
        shorthand("requests", BacklogTable | Count, kind="fixed"),
        Mirror(_backlog_to_plan, _backlog_from_plan),
    ]
    """How many requests are kept outstanding at each peer: a number, or a rule."""
    snubbing: bool
    """Whether a peer that sends nothing for `snub_after` loses its standing."""
    snub_after: PositiveSpan
    """The time without a block after which a peer counts as snubbing us."""
    block_timeout: MaybePositiveSpan
    """Who owes blocks and sends none for so long has one request at a time, and its last one may be
    given up for others to make; "none": never."""
    request_timeout: MaybePositiveSpan
    """The same for whose next block takes longer than the last ones let expect, this at most;
    "none": never."""
    end_game: bool
    """Whether the last blocks are asked of every peer that has them, with CANCEL on arrival."""
    strict_end_game: bool
    """Only somebody of whom nothing else can be asked is asked for one block that another owes."""
    cancel_doubles: bool
    """Whether a block that two were asked for in a strict end game is cancelled at the other."""
    interest: Literal["free-blocks", "missing-pieces"]
    """In whom: those with blocks that nobody was asked for, or with any piece that is lacking."""
    reoffer: bool
    """Whether requests that a choke leaves unanswered are made at once to others."""
    ask_on_have: bool
    """Whether somebody interesting is asked for more when it says HAVE."""
    stamped: bool
    """Whether a request that was made before the last UNCHOKE arrived is ignored."""


class Fast(Table):
    """The Fast extension (BEP 6)."""

    enabled: bool
    """Whether the client offers it."""
    allowed_set: Natural
    """How many pieces a neighbour may request while it is choked."""
    choked_request: MaybeSpan
    """Who asks for other pieces so long after it was choked is disconnected; "none": never."""
    suggest: Literal["none", "read-cache"]
    """Pieces that neighbours are told to ask for: none, or those of which blocks were read lately
    (libtorrent's `suggest_mode`)."""
    max_suggested: Natural
    """So many pieces stand by to be suggested, and so many suggestions of a neighbour are kept in
    mind (libtorrent's `max_suggest_pieces`)."""
    follow_suggestions: bool
    """Whether a neighbour is asked for what it suggests before anything rarer."""

    @model_validator(mode="after")
    def _offered(self) -> Self:
        if self.suggest != "none" and not self.enabled:
            raise UnitError('"none" where the client does not offer the extension', key="suggest")
        return self


class WebSeeds(Table):
    """Fetching from web seeds (BEP 19)."""

    connections: Natural
    """Web seeds that it is connected to at a time; 0 for a client that knows none."""
    order: Literal["rarest", "gaps"]
    """Which pieces one is asked for: the rarest and those beside it, or the longest gap from its
    begin."""
    request: PositiveSize
    """Pieces side by side that make so many bytes are asked for in one request, at least one."""
    leave_gaps: bool
    """While one is connected, peers are asked for pretty rare pieces that leave long gaps."""
    timeout: PositiveSpan
    """One that owes blocks and sends nothing for so long is left."""
    retry: PositiveSpan
    """One that could not be connected to is tried again after this time."""


class Picker(Table):
    """Choosing pieces."""

    strict_priority: bool
    """Pieces already begun come before all others."""
    begun: Literal["rarest", "most-requested", "highest-number"]
    """Which of them comes first."""
    random_first_pieces: Natural
    """Until this many pieces are complete, new pieces are taken in a fixed random order."""
    order: Literal["rarest-first", "random"]
    """In which order new pieces are taken after that."""
    begun_wins_ties: bool
    """Of equally rare pieces the begun ones come first."""
    finish_first: bool
    """Begun pieces come first while `random_first_pieces` are not complete."""
    partials_per_neighbour: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Begun pieces come first while there are more than this for each neighbour; 0: never."""
    whole_pieces: Span
    """Neighbours that bring a piece in this time are asked for whole pieces; 0: never."""
    exclusive_pieces: bool
    """Begun pieces of which nobody else owes a block are finished then, too, if as rare."""
    adjacent_pieces: bool
    """Who brings several in this time is asked for pieces side by side, whatever their owners."""


class Meter(Table):
    """Measuring rates."""

    window: PositiveSpan
    """The memory."""
    head_start: Span
    """How long before its creation a meter pretends to have begun."""
    start: Literal["connection", "unchoke"]
    """When meters begin to count: with the connection, or afresh with every unchoke."""


def _is_slots(given: Any) -> Any:
    counts = isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= 2**31
    if given != "mainline-by-rate" and not counts:
        raise UnitError('"mainline-by-rate" or a number of at least 1')
    return given


Slots = Annotated[
    Literal["mainline-by-rate"] | Count,
    BeforeValidator(_is_slots, json_schema_input_type=Literal["mainline-by-rate"] | Count),
    Mirror(
        lambda value: {"fixed": value} if isinstance(value, int) else value,
        lambda given: given["fixed"] if isinstance(given, dict) else given,
    ),
]


class Choker(Table):
    """Choosing whom to upload to."""

    slots: Slots
    """How many uploads there are at a time: a number, or "mainline-by-rate"."""
    min_uploads: Natural
    """Floor on the number of optimistic places less the preferred peers."""
    round: PositiveSpan
    """Time between rounds."""
    optimistic_rounds: Count
    """Every how many rounds the optimistic unchoke moves on."""
    leech: Literal["mainline", "modern", "ns2"]
    """The rule while pieces are missing."""
    seed: Literal["mainline", "round-robin", "fastest-upload", "anti-leech", "ns2"]
    """The rule once all are there."""
    idle_class: bool
    """Mainline seeds: whether peers without a queued request are ranked behind all others."""
    protected_rounds: Natural
    """Mainline seeds: an unchoke younger than this many rounds is never idle."""
    free_slot: Literal["round", "rechoke", "tick"]
    """When the slot of an unchoked peer that is lost, or loses interest, is given out anew: in the
    next round, at once, or at the client's next tick, to which the round is brought forward."""
    tick: PositiveSpan
    """Rule "tick": the period of the client's own timer."""
    choke_uninterested: bool
    """Whether an unchoked peer that loses interest is choked at once."""
    unchoke_on_handshake: bool
    """Whether somebody new is unchoked before it could say that it is interested, if a piece is
    here and a slot is free."""
    preemptive_unchoke: bool
    """Rules of libtorrent: whether a choked peer that becomes interested while a slot is free is
    unchoked at once, and not by the next round."""
    first_round: Literal["arrival", "first-interest"]
    """When rounds begin: one period after the arrival, or as soon as anybody is interested."""
    rank_rounds: Annotated[int, Field(ge=1, le=2)]
    """Rule "ns2": the bytes of how many rounds count."""
    newcomer_weight: Annotated[int, Field(ge=1, le=1_000_000)]
    """Rule "ns2": how much more likely than others a newcomer wins the optimistic place."""
    quota_pieces: Natural
    """Round robin: an upload is over after this many pieces and ..."""
    quota_time: Span
    """... at least this long."""


class Quota(Table):
    """The rules of a limit that is shared by quotas."""

    idle_earns: bool
    """Whether ticks with nobody waiting earn anything."""
    whole_requests: bool
    """Whether a share is given only when a request is covered whole, or after `request_ticks`."""
    request_ticks: Natural
    """After so many ticks a request is answered with what there is."""
    header: Annotated[Size, within(Size("0 B"), Size("500 B"))]
    """Charged for every packet sent or received."""
    messages: bool
    """Whether messages take quota as blocks do."""
    asks_at_once: bool
    """Whether quota is asked for with the first thing that is put into the send buffer, such as the
    header of a block, and not for all that comes with it."""
    low_watermark: Annotated[PositiveSize, Field(serialization_alias="low_watermark")]
    """Blocks are put into the send buffer while less than this waits there, or ..."""
    watermark_factor: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """... this share of what was sent in the last second, ..."""
    watermark: Annotated[PositiveSize, Field(serialization_alias="watermark")]
    """... but at most this."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.watermark.amount < self.low_watermark.amount:
            allowed = f"a size of at least low_watermark, {self.low_watermark}"
            raise UnitError(allowed, key="watermark")
        return self


class Limiter(Table):
    """Spreading the upload limit over time and connections."""

    write_unit: Annotated[PositiveSize, Field(serialization_alias="write_unit")]
    """Bytes written to one connection before the next has its turn."""
    unlimited_write_unit: Annotated[PositiveSize, Field(serialization_alias="unlimited_write_unit")]
    """The same for a peer without a limit."""
    tick: MaybePositiveSpan
    """Wake only at multiples of this; "none" to wake exactly when the debt is paid."""
    credit: Span
    """Idle time that may be saved up."""
    window: MaybePositiveSpan
    """The limit is one on the mean rate of so long; "none" for a debt. With sharing "turns"."""
    hand_over: Literal["room", "sent", "acknowledged"]
    """The transport gets the next block when it has room, or all is sent, or acknowledged."""
    sharing: Literal["turns", "quota"]
    """Blocks are written in turns of a unit, or all that is sent needs a quota from a timer."""
    quota: Quota
    """Sharing "quota": its rules."""
    mixed_mode_algorithm: Literal["prefer-tcp", "peer-proportional"]
    """What TCP leaves to uTP where a client has both: what congestion control does, or, with
    sharing "quota", all but four times its share of the busy connections."""


class PeerExchange(Table):
    """Exchanging peers with neighbours (BEP 11)."""

    enabled: bool
    """Whether the handshake offers it."""
    interval: PositiveSpan
    """Time between two messages to a neighbour."""
    max_entries: Count
    """Most neighbours that a message may add."""
    max_named: Count
    """Most peers that are taken from one neighbour, less those that it dropped."""


class Profile(Table):
    """A BitTorrent client."""

    base: str
    """The profile that ships whose values hold where none are given."""
    transport: str
    """What the connections that it opens are over, by name; "inherit" for its host's TCP. It has no
    uTP then, and does not answer it. A population may say otherwise."""
    nagle: bool
    """Whether the client leaves Nagle's algorithm on."""
    control_behind_piece: bool
    """Whether control messages wait for the end of a half-written PIECE to the same peer."""
    super_seeding: bool
    """Whether a peer that brings the file offers each neighbour one piece at a time at first."""
    connections: Connections
    """Whom to connect to, and how many."""
    announce: Announce
    """When to ask the tracker."""
    requests: Requests
    """Asking for blocks."""
    fast: Fast
    """The Fast extension."""
    peer_exchange: PeerExchange
    """Exchanging peers with neighbours."""
    web_seeds: WebSeeds
    """Fetching from web seeds."""
    picker: Picker
    """Choosing pieces."""
    meter: Meter
    """Measuring rates."""
    choker: Choker
    """Choosing whom to upload to."""
    limiter: Limiter
    """Spreading the upload limit over time and connections."""
