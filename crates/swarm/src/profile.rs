//! The behaviour of one client, as data: every rule that differs between clients, and every
//! coupling whose effect a study may want to remove, is a field here.
//!
//! A profile crosses from Python as resolved JSON: there are no serde defaults, unknown keys are
//! errors, enums are kebab-case strings, spans are whole nanoseconds in fields named `*_ns`.
//! [`named`] has the complete ones.

use flashcrowd_base::{Refusal, Settings, Span, check_bound};
use serde::{Deserialize, Serialize};

mod check;
mod named;

pub use named::{NAMES, all, named};

/// Less is no time for a client: its timers would run more often than its sockets are looked at.
const TICK: Span = Span::from_millis(1);

flashcrowd_base::settings! {
    /// A BitTorrent client: every rule that differs between clients, each coupling with its switch.
    ///
    /// No default is left open; [`named`] has complete ones. Remarks in brackets refer to sections of `docs/clients.md`.
    pub struct Profile {
        /// The name under which the profile ships, or any name for a variation.
        pub name: String,
        /// The transport of the connections that it opens: a uTP configuration by name, or "inherit" for its host's
        /// TCP. A client of the latter kind has no uTP, and does not answer it. A population may name another.
        ///
        /// The lowering of a study reads it; a plan says it of each population.
        pub transport: String,
        /// Whether the client leaves Nagle's algorithm on.
        ///
        /// So do mainline, which sets no socket option (A.1), and libtorrent (E).
        pub nagle: bool,
        /// Whether control messages wait for the end of a half-written PIECE to the same peer.
        ///
        /// A.5. Off is an idealisation for ablations: they overtake inside the byte stream, which no real connection
        /// allows. Not for sockets.
        pub control_behind_piece: bool,
        /// Whether a peer that brings the file hides it at first: it offers each neighbour one piece at a time, until
        /// every piece has been seen at a neighbour.
        pub super_seeding: bool,
        /// How many connections there are, and to which peers.
        #[table]
        pub connections: Connections,
        /// When to ask the tracker.
        #[table]
        pub announce: Announce,
        /// Asking for blocks.
        #[table]
        pub requests: Requests,
        /// The Fast extension (BEP 6).
        #[table]
        pub fast: FastExtension,
        /// Exchanging peers with neighbours (BEP 11).
        #[table]
        pub peer_exchange: PeerExchangeRules,
        /// Fetching from web seeds (BEP 19).
        #[table]
        pub web_seeds: WebSeedRules,
        /// Choosing pieces.
        #[table]
        pub picker: Picker,
        /// Measuring rates.
        #[table]
        pub meter: MeterRules,
        /// The choice of peers to upload to.
        #[table]
        pub choker: Choker,
        /// Spreading the upload limit over time and connections.
        #[table]
        pub limiter: LimiterRules,
    }

    /// Limits and timeouts of connections.
    pub struct Connections {
        /// Open no more connections while this many exist or are half-open.
        ///
        /// Mainline `max_initiate` 40 (A.1).
        #[min(1)]
        pub max_initiate: u32,
        /// Refuse incoming connections while this many exist.
        ///
        /// Mainline `max_allow_in` 80 (A.1).
        #[min(1)]
        pub max_connections: u32,
        /// A peer that is complete closes its connections to complete peers.
        ///
        /// A.8.
        pub drop_seed_to_seed: bool,
        /// Whether an uninteresting neighbour is left when a HAVE makes it complete, although it now has what the peer
        /// lacks.
        ///
        /// libtorrent (1.2 to 2.1.1): `incoming_have` calls `disconnect_if_redundant` before it looks whether the piece
        /// is wanted.
        pub drop_new_seeds: bool,
        /// A keep-alive goes out on every connection this often.
        ///
        /// Mainline 120 s (A.1).
        #[min(TICK)]
        pub keepalive_ns: Span,
        /// A connection that brought nothing for this long is closed.
        ///
        /// Mainline 300 s (A.1).
        #[min(TICK)]
        pub timeout_ns: Span,
        /// How often connections are checked for `timeout`.
        ///
        /// Mainline 60 s (A.1).
        #[min(TICK)]
        pub timeout_sweep_ns: Span,
        /// A lost neighbour is tried again after this time, and as much longer for each failed attempt in a row.
        /// "none": only when the tracker names it again.
        ///
        /// libtorrent `min_reconnect_time` 60 s (`peer_list::find_connect_candidates`).
        #[min(TICK)]
        pub reconnect_ns: Option<Span>,
        /// Failures in a row after which it is not tried again.
        ///
        /// libtorrent `max_failcount` 3.
        pub max_failures: u32,
        /// Connections that are opened per second, at the client's ticks; "none": all at once.
        ///
        /// libtorrent `connection_speed` 30 (`session_impl::try_connect_more_peers`).
        #[min(1)]
        pub opened_per_second: Option<u32>,
        /// With `opened_per_second`: connections that are opened at once with what the tracker names first. The ticks
        /// that follow open as many fewer.
        ///
        /// libtorrent `torrent_connect_boost` 30 (`torrent::do_connect_boost`).
        pub opened_at_once: u32,
        /// Peers to connect to that are remembered while there is no room for them; "none": as many as `max_initiate`,
        /// as in mainline.
        ///
        /// libtorrent `max_peerlist_size` 3000.
        pub max_candidates: Option<u32>,
        /// How often a few neighbours make room for others, if there are almost as many as allowed; "none": never.
        ///
        /// For the first time 90 s after arrival. libtorrent `peer_turnover_interval` 300 s (`session_impl::on_tick`).
        #[min(TICK)]
        pub turnover_ns: Option<Span>,
        /// The share of neighbours that makes room, at least one neighbour.
        ///
        /// No more than there are others to connect to. libtorrent `peer_turnover` 4 %.
        #[min(0.0)]
        #[max(1.0)]
        pub turnover_share: f64,
        /// How many neighbours there have to be for that, as a share of `max_connections`.
        ///
        /// libtorrent `peer_turnover_cutoff` 90 %.
        #[min(0.0)]
        #[max(1.0)]
        pub turnover_cutoff: f64,
        /// Which peer is connected first: the peer named last, or those that the tracker named and then by the
        /// canonical priority of BEP 40.
        pub candidates: CandidateOrder,
        /// Two neighbours that want nothing of each other for this long part, if there are almost as many connections
        /// as allowed; "none": never.
        ///
        /// libtorrent `inactivity_timeout` 600 s (`peer_connection::second_tick`).
        #[min(TICK)]
        pub inactivity_ns: Option<Span>,
        /// Whether a failed attempt over uTP is followed at once by one over TCP. Later attempts to that peer are over
        /// TCP, too, until one over uTP comes from it.
        ///
        /// libtorrent `peer_connection::connect_failed`.
        pub tcp_fallback: bool,
    }

    /// When a peer announces itself, and what it asks for.
    ///
    /// A.9.
    pub struct Announce {
        /// How often the peer looks whether an announce is due.
        ///
        /// Mainline 60 s.
        #[min(TICK)]
        pub check_ns: Span,
        /// With fewer connections than this, ask before the tracker's interval is over.
        ///
        /// Mainline 20.
        pub min_peers: u32,
        /// Replaces `min_peers` once any incoming connection has been seen: with this many or fewer.
        ///
        /// Mainline `min_peers / 3`, 6.
        pub min_peers_reachable: u32,
        /// Least time between two such early announces.
        ///
        /// Mainline `rerequest_interval` 300 s.
        #[min(TICK)]
        pub min_interval_ns: Span,
        /// How many peers to ask for; "none" leaves the number to the tracker.
        ///
        /// Mainline none, libtorrent 200.
        #[min(1)]
        pub numwant: Option<u16>,
        /// With this many connections ask for no peers (numwant 0).
        ///
        /// Mainline 40 (`max_initiate`).
        pub enough_peers: u32,
        /// Time until the first retry after a failed announce.
        ///
        /// Mainline 50 s.
        #[min(TICK)]
        pub retry_ns: Span,
        /// Every further retry waits longer by a random factor between this ...
        #[min(1.0)]
        #[max(100.0)]
        pub retry_growth_min: f64,
        /// ... and this.
        ///
        /// Mainline 1.4 to 1.6.
        #[min(1.0)]
        #[max(100.0)]
        #[at_least(retry_growth_min)]
        pub retry_growth_max: f64,
        /// Longest wait between retries.
        ///
        /// Mainline `max_announce_retry` 1800 s.
        #[min(TICK)]
        pub max_retry_ns: Span,
    }

    /// Asking for blocks.
    ///
    /// A.7, E.
    pub struct Requests {
        /// Bytes asked for in one request.
        ///
        /// Mainline `download_slice_size` 16384 (A.1).
        #[min(1)]
        pub block_bytes: u32,
        /// A request for more than this closes the connection.
        ///
        /// Mainline 16384 (A.1).
        #[at_least(block_bytes)]
        pub max_block_bytes: u32,
        /// A peer with more requests than this waiting is disconnected, and no more are made.
        ///
        /// E: `max_allowed_in_request_queue` 2000; mainline has no limit.
        #[min(1)]
        pub max_queue: u32,
        /// How many requests are kept outstanding at each peer (the pipeline): a number, or a rule.
        #[table]
        pub backlog: RequestPipeline,
        /// Whether a peer that sends nothing for `snub_after` loses its standing with the choker. With the rule
        /// "queue-time" it also gets one request at a time.
        ///
        /// A.3, E.
        pub snubbing: bool,
        /// The time without a block after which a peer counts as snubbing us.
        ///
        /// Mainline 30 s, libtorrent 60 s.
        #[min(TICK)]
        pub snub_after_ns: Span,
        /// A neighbour that owes blocks and sends none for this long has one request at a time. Its last request may
        /// be given up for others to make; "none": never.
        ///
        /// It is given up if its piece has no other block to ask for, and taken if it is answered nevertheless. Looked
        /// at with `connections.timeout_sweep`. libtorrent `piece_timeout` 20 s (`peer_connection::snub_peer`).
        #[min(TICK)]
        pub block_timeout_ns: Option<Span>,
        /// The same for a neighbour whose next block takes longer than the last ones let expect, this at most; "none":
        /// never.
        ///
        /// [`RequestTime`](crate::request_time::RequestTime). libtorrent `request_timeout` 60 s
        /// (`peer_connection::request_timeout`).
        #[min(TICK)]
        pub request_timeout_ns: Option<Span>,
        /// Whether the last blocks are requested from every peer that has them, with CANCEL on
        /// arrival.
        ///
        /// A.8.
        pub end_game: bool,
        /// In a strict end game, a duplicate request goes only to a peer that has no other block to offer, for one
        /// block.
        ///
        /// Nothing may be outstanding at that peer, and every missing piece must have been begun. A peer whose queue
        /// cannot be filled has one request at a time. libtorrent `strict_end_game_mode` (`request_a_block`).
        pub strict_end_game: bool,
        /// Whether, in a strict end game, a block that arrives is cancelled at the other peer that was asked for it.
        ///
        /// libtorrent means to (`torrent::cancel_block`) and does not: `cancel_request` looks whether the block is
        /// requested still, which `mark_as_writing` has ended just before (1.2 to 2.1.1). So it comes twice.
        pub cancel_doubles: bool,
        /// Which peers are interesting: those with blocks that are not requested yet, or with any missing piece.
        pub interest: Interest,
        /// Whether requests that a choke or a lost connection leaves unanswered are made at once to other peers.
        ///
        /// A.7. If not, they wait until one of those brings a block, says HAVE or unchokes us again.
        pub reoffer: bool,
        /// Whether an interesting peer is asked for more when it says HAVE.
        ///
        /// If not, it is asked when its HAVE makes it interesting, and when a piece that it has, too, is complete here.
        /// libtorrent `peer_connection::incoming_have`, `do_update_interest`.
        pub ask_on_have: bool,
        /// Whether a request that was made before the last UNCHOKE arrived is ignored.
        ///
        /// Requests are [stamped](crate::Message::StampedRequest) with the UNCHOKE that they follow. The module for
        /// ns-2 puts the time of the UNCHOKE into each request; no wire format has such a field. A request without a
        /// stamp, as every client on a socket and of another profile makes it, is taken as it is.
        pub stamped: bool,
    }

    /// The Fast extension (BEP 6).
    ///
    /// HAVE ALL and HAVE NONE, REJECT instead of silence, and pieces that may be requested while choked. Two clients use
    /// it with each other if both offer it.
    pub struct FastExtension {
        /// Whether the handshake offers it.
        pub enabled: bool,
        /// How many pieces a neighbour may request while it is choked.
        ///
        /// It hears of them with its first INTERESTED. libtorrent `allowed_fast_set_size` 5
        /// (`peer_connection::send_allowed_set`).
        pub allowed_set: u32,
        /// A neighbour that requests other pieces this long after it was choked is disconnected; "none": never.
        ///
        /// libtorrent 2 s (`peer_connection::incoming_request`).
        pub choked_request_ns: Option<Span>,
        /// Which pieces are suggested to neighbours: none, or those of which blocks were read lately (libtorrent's
        /// `suggest_mode`).
        ///
        /// SUGGEST PIECE: two before each UNCHOKE, and two more when the neighbour has one of those. libtorrent ships
        /// none.
        pub suggest: SuggestMode,
        /// How many pieces are ready to be suggested, and how many suggestions of a neighbour are remembered
        /// (libtorrent's `max_suggest_pieces`).
        ///
        /// As many are remembered of those made to it. libtorrent 16.
        pub max_suggested: u32,
        /// Whether a neighbour is asked for what it suggests before anything rarer.
        ///
        /// libtorrent yes (`piece_picker::pick_pieces`).
        pub follow_suggestions: bool,
    }

    /// Peer exchange (BEP 11): neighbours name their connections to each other.
    ///
    /// `ut_pex`. Two clients use it with each other if both understand it.
    pub struct PeerExchangeRules {
        /// Whether the handshake offers it.
        ///
        /// No client does in a private torrent (BEP 27).
        pub enabled: bool,
        /// Time between two messages to a neighbour.
        ///
        /// libtorrent 60 s (`ut_pex_peer_plugin::tick`).
        #[min(TICK)]
        pub interval_ns: Span,
        /// Most neighbours that a message may add.
        ///
        /// libtorrent `max_peer_entries` 100.
        #[min(1)]
        pub max_entries: u32,
        /// Most peers that are taken from one neighbour, less those that it dropped.
        ///
        /// libtorrent `max_pex_peers` 50.
        #[min(1)]
        pub max_named: u32,
    }

    /// Fetching from web seeds (BEP 19).
    ///
    /// Content servers that have the file, each of which is asked for ranges of it over one connection, and is a seed
    /// that never chokes. The named settings are libtorrent's.
    pub struct WebSeedRules {
        /// Web seeds that it is connected to at a time; 0 for a client that knows none.
        ///
        /// libtorrent `max_web_seed_connections` 3.
        pub connections: u32,
        /// Which pieces a web seed is asked for: the rarest and their neighbours by number, or the longest gap from
        /// its begin.
        pub order: WebSeedOrder,
        /// Adjacent pieces up to this size are asked for in one request, at least one piece.
        ///
        /// No other peer is asked for them meanwhile. libtorrent `urlseed_max_request_bytes` 16 MiB
        /// (`web_peer_connection`, `prefer_contiguous_blocks`).
        #[min(1)]
        pub request_bytes: u32,
        /// While a web seed is connected, peers are asked for pretty rare pieces that leave long gaps.
        ///
        /// Pieces that are far from the pieces below them that are here (BEP 19, "pretty rare with biggest gap").
        /// libtorrent no.
        pub leave_gaps: bool,
        /// A web seed that owes blocks and sends nothing for this long is left.
        ///
        /// libtorrent `urlseed_timeout` 20 s.
        #[min(TICK)]
        pub timeout_ns: Span,
        /// A web seed that could not be connected to is tried again after this time.
        ///
        /// libtorrent `urlseed_wait_retry` 30 s.
        #[min(TICK)]
        pub retry_ns: Span,
    }

    /// Choosing pieces.
    ///
    /// A.8.
    pub struct Picker {
        /// Pieces already begun come before all others.
        pub strict_priority: bool,
        /// Which of them comes first.
        pub begun: BegunOrder,
        /// Until this many pieces are complete, new pieces are taken in a fixed random order, unless `order` is
        /// "sequential".
        ///
        /// Mainline `rarest_first_cutoff` 4, libtorrent `initial_picker_threshold` 4.
        pub random_first_pieces: u32,
        /// In which order new pieces are taken after that: the rarest first, a fixed random order, or by number from
        /// the first piece on ("sequential"), as for streaming.
        ///
        /// libtorrent's flag `sequential_download`: with it `random_first_pieces` and `finish_first` are not read,
        /// and slow neighbours are not asked for common pieces (`peer_connection::picker_options`).
        pub order: PieceOrder,
        /// Of equally rare pieces the begun ones come first.
        ///
        /// libtorrent `piece_pos::priority`.
        pub begun_wins_ties: bool,
        /// Begun pieces come first while `random_first_pieces` are not complete.
        ///
        /// libtorrent `peer_connection::picker_options`, `prioritize_partials`.
        pub finish_first: bool,
        /// Begun pieces come first while there are more than this for each neighbour; 0: never.
        ///
        /// libtorrent 1.5 (`piece_picker::pick_pieces`).
        #[min(0.0)]
        #[max(1e6)]
        pub partials_per_neighbour: f64,
        /// Neighbours that bring a piece in this time are asked for whole pieces, and begun ones are left to others;
        /// "0 s": never.
        ///
        /// libtorrent `whole_pieces_threshold` 20 s.
        pub whole_pieces_ns: Span,
        /// Begun pieces of which no other peer owes a block are finished then, too, if as rare.
        ///
        /// libtorrent `piece_picker::requested_from` (`exclusive_active`).
        pub exclusive_pieces: bool,
        /// Neighbours that bring several pieces in this time are asked for adjacent pieces, however rare these are.
        ///
        /// libtorrent `piece_picker::expand_piece`.
        pub adjacent_pieces: bool,
    }

    /// Measuring rates.
    ///
    /// A.6.
    pub struct MeterRules {
        /// The memory.
        ///
        /// Mainline `max_rate_period` 20 s.
        #[min(TICK)]
        pub window_ns: Span,
        /// How long before its creation a meter pretends to have begun.
        ///
        /// Mainline 5 s.
        pub head_start_ns: Span,
        /// When meters begin to count: with the connection, or afresh with every unchoke.
        pub start: MeterStart,
    }

    /// The choice of peers to upload to.
    ///
    /// A.2, A.3, A.4, E.
    pub struct Choker {
        /// How many uploads there are at a time: a number, or "mainline-by-rate".
        #[table]
        pub slots: Slots,
        /// Floor on the number of optimistic places less the preferred peers.
        ///
        /// Mainline 2 (A.3).
        pub min_uploads: u32,
        /// Time between rounds.
        ///
        /// Mainline 10 s, libtorrent `unchoke_interval` 15 s.
        #[min(TICK)]
        pub round_ns: Span,
        /// Every how many rounds the optimistic unchoke moves on.
        ///
        /// Mainline 3, libtorrent 2 (30 s).
        #[min(1)]
        pub optimistic_rounds: u32,
        /// The rule while pieces are missing.
        pub leech: LeechChoker,
        /// The rule once all are there.
        pub seed: SeedChoker,
        /// Mainline seeds: whether peers without a queued request are ranked behind all others.
        ///
        /// Those whose socket is not flushed when a round falls, too (A.4).
        pub idle_class: bool,
        /// Mainline seeds: an unchoke younger than this many rounds is never idle.
        ///
        /// Mainline 3 (A.4).
        pub protected_rounds: u32,
        /// When a slot is filled again whose peer is lost, or loses interest: in the next round, at once, or at the
        /// client's next tick, to which the round is brought forward.
        pub free_slot: FreeSlot,
        /// Rule "tick": the period of the client's own timer, counted from its arrival.
        ///
        /// libtorrent looks at its choker once a second.
        #[min(TICK)]
        pub tick_ns: Span,
        /// Whether an unchoked peer that loses interest is choked at once.
        ///
        /// `free_slot` says when its slot is given to another.
        pub choke_uninterested: bool,
        /// Whether a new neighbour is unchoked before it could say that it is interested, if a piece is here and a slot
        /// is free.
        ///
        /// It keeps the slot until the next round, and is unchoked again when it says INTERESTED. libtorrent
        /// `bt_peer_connection::on_receive`, `peer_connection::incoming_interested`.
        pub unchoke_on_handshake: bool,
        /// Rules of libtorrent: whether a choked peer that becomes interested while a slot is free is unchoked at once,
        /// and not by the next round.
        ///
        /// libtorrent `peer_connection::incoming_interested`, `maybe_unchoke_this_peer`.
        pub preemptive_unchoke: bool,
        /// When rounds begin: one period after the arrival, or as soon as any peer is interested.
        pub first_round: FirstRound,
        /// Rule "ns2": the bytes of how many rounds count.
        ///
        /// [`ns2`](crate::choker::ns2).
        #[min(1)]
        #[max(2)]
        pub rank_rounds: u32,
        /// Rule "ns2": how much more likely than others a newcomer wins the optimistic place.
        ///
        /// A newcomer is a peer for which that place is drawn for the first time. The bound is there because the
        /// product with the number of neighbours has to fit.
        #[min(1)]
        #[max(1_000_000)]
        pub newcomer_weight: u32,
        /// Round robin: an upload is over after this many pieces and ...
        ///
        /// E.
        pub quota_pieces: u32,
        /// ... at least this long.
        ///
        /// libtorrent `seeding_piece_quota` 20 and 60 s.
        pub quota_time_ns: Span,
    }

    /// Spreading the upload limit over time and connections.
    ///
    /// A.5, E.
    pub struct LimiterRules {
        /// Size of what is written to one connection before the next has its turn.
        ///
        /// Mainline `upload_unit_size` 1380.
        #[min(1)]
        #[file("unit" = "bytes")]
        pub write_unit: u32,
        /// The same for a peer without a limit.
        ///
        /// Mainline 17000.
        #[min(1)]
        #[file("unit" = "bytes")]
        pub unlimited_write_unit: u32,
        /// Wake only at multiples of this, for several units at a time; "none": wake exactly when the debt is paid.
        ///
        /// Mainline none, libtorrent 500 ms.
        #[min(TICK)]
        pub tick_ns: Option<Span>,
        /// Idle time that may be saved up as credit.
        ///
        /// Mainline none, libtorrent 3 s.
        pub credit_ns: Span,
        /// The limit is one on the mean rate over this time; "none" for a debt of bytes. With sharing "turns".
        ///
        /// `tick` and `credit` are about the debt. Turns are given while the rate is not above the limit. aria2 10 s
        /// (`SpeedCalc`, `sendMessagesInternal`).
        #[min(TICK)]
        pub window_ns: Option<Span>,
        /// The transport gets the next block when it has room, or everything was sent, or everything was acknowledged.
        pub hand_over: HandOver,
        /// Blocks are written in turns of a unit, or everything that is sent needs a quota from a timer.
        pub sharing: Sharing,
        /// Sharing "quota": its rules.
        #[table]
        pub quota: Quota,
        /// The share that TCP leaves to uTP where a client has both: what congestion control does, or, with sharing
        /// "quota", all but four times its share of the busy connections.
        pub mixed_mode_algorithm: MixedModeAlgorithm,
    }

    /// The rules of a limit that is shared by quotas.
    pub struct Quota {
        /// Whether ticks without a waiting connection earn quota.
        ///
        /// libtorrent no (`bandwidth_manager::update_quotas`).
        pub idle_earns: bool,
        /// Whether a share is given only when a request is covered completely, or after `request_ticks`.
        ///
        /// libtorrent yes.
        pub whole_requests: bool,
        /// Ticks after which a request is answered with what there is.
        ///
        /// libtorrent 20 (`bw_request::ttl`).
        pub request_ticks: u32,
        /// Charged for every packet sent or received.
        ///
        /// libtorrent 40 for IPv4, with `rate_limit_ip_overhead` (`stat::trancieve_ip_packet`).
        #[max(500)]
        pub header_bytes: u32,
        /// Whether messages take quota as blocks do, and wait for it.
        pub messages: bool,
        /// Whether quota is requested when the first bytes enter the send buffer, such as the header of a block, and
        /// only for those bytes.
        ///
        /// The next message waits for the next request, as a connection has one at a time. libtorrent yes
        /// (`peer_connection::send_buffer`, `setup_send`; a message that fits behind another one in its buffer of 128
        /// bytes requests nothing). Otherwise quota is requested for all that one event brings.
        pub asks_at_once: bool,
        /// Blocks are put into the send buffer while less than this waits there, or ...
        ///
        /// libtorrent `send_buffer_low_watermark` 10 KiB.
        #[min(1)]
        #[file("unit" = "bytes")]
        pub low_watermark: u32,
        /// ... this share of what was sent in the last second, ...
        ///
        /// libtorrent `send_buffer_watermark_factor` 0.5.
        #[min(0.0)]
        #[max(1e6)]
        pub watermark_factor: f64,
        /// ... but at most this.
        ///
        /// libtorrent `send_buffer_watermark` 500 KiB.
        #[at_least(low_watermark)]
        #[file("unit" = "bytes")]
        pub watermark: u32,
    }
}

/// To which of the peers that are remembered a connection is opened first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CandidateOrder {
    /// The one that was named last.
    LastNamed,
    /// Those that a tracker named before those that only neighbours did, and of these the one with the highest
    /// [canonical priority](crate::candidates::canonical_priority) (BEP 40). libtorrent
    /// `peer_list::find_connect_candidates`, `compare_peer`.
    Canonical,
}

/// Which pieces are suggested to neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SuggestMode {
    /// None. libtorrent `no_piece_suggestions`.
    None,
    /// Of which blocks were read lately, of those that no more neighbours have than of the mean of what is read.
    /// libtorrent `suggest_read_cache`.
    ReadCache,
}

/// Which pieces a web seed is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WebSeedOrder {
    /// The rarest of which no block has been asked for, and its neighbours by number, below it and then
    /// above, as libtorrent asks fast peers (`piece_picker::expand_piece`).
    Rarest,
    /// From the begin of the longest gap on, and then the pieces behind, to the end of the gap; while
    /// nothing is here from a random piece on (BEP 19, "HTTP and FTP optimizations").
    Gaps,
}

/// Which peers are interesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Interest {
    /// Peers that have a piece with a block that is not requested yet, or that owe a block.
    FreeBlocks,
    /// Peers that have a piece that is not complete, though all of its blocks may be under way from
    /// others: BEP 3 to the letter.
    MissingPieces,
}

/// How many requests to keep outstanding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestPipeline {
    /// The blocks of 4 s at the metered rate, and 2 more.
    ///
    /// 2 + floor(4 s × rate / 16384), above 50 max(50, floor(0.075 × that)), never less than
    /// `initial` (A.7; 2 in 4.0.2, 10 in 5.x).
    Mainline {
        /// The least number of requests.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))]
        initial: u32,
    },
    /// Always the same number, whatever the rate.
    ///
    /// Cuts the coupling to the rate meter.
    Fixed(#[cfg_attr(feature = "schema", schemars(extend("minimum" = 1, "key" = "requests")))] u32),
    /// The blocks of `queue_time` at the metered rate.
    ///
    /// libtorrent: at least `min`, at most `max`; one while snubbed; one more for every block while
    /// the rate still rises (E).
    QueueTime {
        /// How much time the requests are worth.
        ///
        /// libtorrent `request_queue_time`, 3 s.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = TICK)))]
        queue_time_ns: Span,
        /// Least number.
        ///
        /// libtorrent 2.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))]
        min: u32,
        /// Greatest number.
        ///
        /// libtorrent `max_out_request_queue`, 500.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))]
        max: u32,
    },
    /// One more for every block while the rate grows, then what arrives in `queue_time`.
    ///
    /// libtorrent 2.0 (`peer_connection::update_desired_queue_size`, `second_tick`): one more request for
    /// every block, from `first` on, until a second in which it is unchoked brings no more than the
    /// one before, which brought something, and 5000 bytes; then what arrives in `queue_time_ns` at the
    /// rate of blocks, to which each second contributes a fifth.
    SlowStart {
        /// How much time the requests are worth.
        ///
        /// libtorrent `request_queue_time`, 3 s.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = TICK)))]
        queue_time_ns: Span,
        /// The number with which a connection begins.
        ///
        /// libtorrent `m_desired_queue_size` of a new connection, 4.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))]
        first: u32,
        /// Least number.
        ///
        /// libtorrent `min_request_queue` 2.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))]
        min: u32,
        /// Greatest number.
        ///
        /// libtorrent `max_out_request_queue`, 500.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))]
        max: u32,
    },
}

impl Settings for RequestPipeline {
    fn check_bounds(&self) -> Result<(), Refusal> {
        let count =
            |path: &str, number: &u32| check_bound(path, number, "at least", 1, |a, b| a >= b);
        let time =
            |path: &str, span: &Span| check_bound(path, span, "at least", TICK, |a, b| a >= b);
        match self {
            RequestPipeline::Mainline { initial } => count("mainline.initial", initial),
            RequestPipeline::Fixed(number) => count("fixed", number),
            RequestPipeline::QueueTime { queue_time_ns, min, max } => {
                time("queue-time.queue_time_ns", queue_time_ns)?;
                count("queue-time.min", min)?;
                count("queue-time.max", max)
            }
            RequestPipeline::SlowStart { queue_time_ns, first, min, max } => {
                time("slow-start.queue_time_ns", queue_time_ns)?;
                count("slow-start.first", first)?;
                count("slow-start.min", min)?;
                count("slow-start.max", max)
            }
        }
    }
}

/// Which of the pieces already begun comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BegunOrder {
    /// The one with the fewest owners, ties at random; of a seed, only those begun at a seed (A.8).
    Rarest,
    /// The one of which most blocks have been asked for, the last of equals.
    MostRequested,
    /// The one with the highest number. The module for ns-2 does so: it means to take the most
    /// requested one, but forgets the best one at every step of its search.
    HighestNumber,
}

/// In which order new pieces are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PieceOrder {
    /// Least owners among the neighbours first, ties at random.
    RarestFirst,
    /// A fixed random order for each peer.
    Random,
    /// By number, from the first piece on.
    Sequential,
}

/// When a download meter begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MeterStart {
    /// With the connection: an unchoke on an old connection starts from about zero (A.6).
    Connection,
    /// Afresh with every unchoke and without the head start: the true rate is known from the
    /// first block on. Removes the ramp of the meter.
    Unchoke,
}

/// When a slot that became free between two rounds is given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FreeSlot {
    /// In the next round. The module for ns-2 knows no other time: it has no reaction to interest or
    /// to a lost connection (`clients.md` B.2).
    Round,
    /// At once: the rule decides again between rounds, with the rotation and the counters as they
    /// are. Mainline's choker does so for an interested peer that is lost, and for every change of
    /// interest of an unchoked one (A.3, A.4).
    Rechoke,
    /// At the next tick, to which the next round is brought forward; the period of the rounds, and of
    /// the optimistic places if one was filled, restarts there. libtorrent does so for an unchoked
    /// peer that disconnects (`torrent::remove_peer`) or loses interest
    /// (`peer_connection::choke_this_peer`): both set the counter of seconds until
    /// `session_impl::recalculate_unchoke_slots` to zero.
    Tick,
}

/// When a peer's choking rounds begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FirstRound {
    /// One period after the peer's arrival.
    Arrival,
    /// As soon as a peer is interested.
    FirstInterest,
}

/// The number of uploads at a time, the optimistic one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Slots {
    /// By the upload limit in units of 1024 B/s: none 7, below 9 2, below 15 3, below 42 4, else
    /// floor(sqrt(0.6 R)) (A.2).
    MainlineByRate,
    /// A fixed number of slots. libtorrent `unchoke_slots_limit` 8.
    Fixed(#[cfg_attr(feature = "schema", schemars(extend("minimum" = 1)))] u32),
}

impl Settings for Slots {
    fn check_bounds(&self) -> Result<(), Refusal> {
        match self {
            Slots::MainlineByRate => Ok(()),
            Slots::Fixed(number) => check_bound("fixed", number, "at least", 1, |a, b| a >= b),
        }
    }
}

/// The rule by which a leecher ranks its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LeechChoker {
    /// Mainline 4: by metered download rate, snubbed peers out, the rest by a rotating list (A.3).
    Mainline,
    /// libtorrent: by bytes received since the last round; one place in five is optimistic (E).
    Modern,
    /// The module for ns-2: by bytes received in the last rounds, and one place that is drawn.
    Ns2,
}

/// The rule by which a seed ranks its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SeedChoker {
    /// Mainline 4: most recently unchoked first, with forced new unchokes (A.4).
    Mainline,
    /// libtorrent `round_robin`: until the quota is used up (E).
    RoundRobin,
    /// libtorrent `fastest_upload`: by bytes sent since the last round (E).
    FastestUpload,
    /// libtorrent `anti_leech`: peers that are new or nearly done (E).
    AntiLeech,
    /// The module for ns-2: by bytes sent in the last rounds, and one place that is drawn.
    Ns2,
}

/// The share that connections over TCP leave to those over uTP ([`mixed_mode`](crate::mixed_mode)).
/// libtorrent `mixed_mode_algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MixedModeAlgorithm {
    /// The share that congestion control leaves.
    PreferTcp,
    /// Once a second TCP is limited to four times its share of the busy connections, of the rate in each direction;
    /// only with [`Sharing::Quota`]. libtorrent's default (`session_impl::on_tick`).
    PeerProportional,
}

/// How an upload limit is shared among the connections that have something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// They write in turns of one unit, blocks alone; other messages are free (A.5).
    Turns,
    /// Each asks for quota for all that waits in its send buffer, messages and blocks, and gets it from a
    /// timer (libtorrent; [`bandwidth`](crate::bandwidth)).
    Quota,
}

/// When the transport is handed the next block for a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HandOver {
    /// As soon as its send buffer has room.
    Room,
    /// When everything that was written has been sent, so that one block at most waits there.
    Sent,
    /// When everything that was written has been acknowledged.
    Acknowledged,
}
