//! The profiles that ship.

use super::*;

/// The names that [`named`] knows, in the order in which they are shown.
pub const NAMES: [&str; 4] = ["mainline-4.0.2", "modern", "libtorrent", "ns2-2011"];

/// The [`Profile::transport`] of a client without uTP.
const HOSTS_TCP: &str = "inherit";

/// The profile of this name.
pub fn named(name: &str) -> Option<Profile> {
    match name {
        "mainline-4.0.2" => Some(mainline()),
        "modern" => Some(modern()),
        "libtorrent" => Some(libtorrent()),
        "ns2-2011" => Some(ns2()),
        _ => None,
    }
}

/// Every profile that ships, in the order of [`NAMES`].
pub fn all() -> Vec<Profile> {
    NAMES.iter().filter_map(|name| named(name)).collect()
}

/// BitTorrent mainline 4.0.2 of March 2005, the client of rao2010 (`clients.md` A).
fn mainline() -> Profile {
    Profile {
        name: "mainline-4.0.2".to_owned(),
        transport: HOSTS_TCP.to_owned(),
        nagle: true,
        control_behind_piece: true,
        super_seeding: false,
        connections: Connections {
            max_initiate: 40,
            max_connections: 80,
            drop_seed_to_seed: true,
            drop_new_seeds: false,
            keepalive_ns: Span::from_secs(120),
            timeout_ns: Span::from_secs(300),
            timeout_sweep_ns: Span::from_secs(60),
            reconnect_ns: None,
            max_failures: 3,
            opened_per_second: None,
            opened_at_once: 0,
            max_candidates: None,
            turnover_ns: None,
            turnover_share: 0.04,
            turnover_cutoff: 0.9,
            candidates: CandidateOrder::LastNamed,
            inactivity_ns: None,
            tcp_fallback: false,
        },
        announce: Announce {
            check_ns: Span::from_secs(60),
            min_peers: 20,
            min_peers_reachable: 6,
            min_interval_ns: Span::from_secs(300),
            numwant: None,
            enough_peers: 40,
            retry_ns: Span::from_secs(50),
            retry_growth_min: 1.4,
            retry_growth_max: 1.6,
            max_retry_ns: Span::from_secs(1800),
        },
        requests: Requests {
            block_bytes: 16384,
            max_block_bytes: 16384,
            max_queue: 2000,
            backlog: RequestPipeline::Mainline { initial: 2 },
            snubbing: true,
            snub_after_ns: Span::from_secs(30),
            block_timeout_ns: None,
            request_timeout_ns: None,
            end_game: true,
            strict_end_game: false,
            cancel_doubles: true,
            interest: Interest::FreeBlocks,
            reoffer: true,
            ask_on_have: true,
            stamped: false,
        },
        fast: FastExtension {
            enabled: false,
            allowed_set: 0,
            choked_request_ns: None,
            suggest: SuggestMode::None,
            max_suggested: 16,
            follow_suggestions: false,
        },
        // It knows neither; the other values are libtorrent's.
        peer_exchange: PeerExchangeRules {
            enabled: false,
            interval_ns: Span::from_secs(60),
            max_entries: 100,
            max_named: 50,
        },
        web_seeds: WebSeedRules {
            connections: 0,
            order: WebSeedOrder::Rarest,
            request_bytes: 16 << 20,
            leave_gaps: false,
            timeout_ns: Span::from_secs(20),
            retry_ns: Span::from_secs(30),
        },
        picker: Picker {
            strict_priority: true,
            begun: BegunOrder::Rarest,
            random_first_pieces: 4,
            order: PieceOrder::RarestFirst,
            begun_wins_ties: false,
            finish_first: false,
            partials_per_neighbour: 0.0,
            whole_pieces_ns: Span::ZERO,
            exclusive_pieces: false,
            adjacent_pieces: false,
        },
        meter: MeterRules {
            window_ns: Span::from_secs(20),
            head_start_ns: Span::from_secs(5),
            start: MeterStart::Connection,
        },
        choker: Choker {
            slots: Slots::MainlineByRate,
            min_uploads: 2,
            round_ns: Span::from_secs(10),
            optimistic_rounds: 3,
            leech: LeechChoker::Mainline,
            seed: SeedChoker::Mainline,
            idle_class: true,
            protected_rounds: 3,
            free_slot: FreeSlot::Rechoke,
            tick_ns: Span::from_secs(1),
            choke_uninterested: false,
            unchoke_on_handshake: false,
            preemptive_unchoke: true,
            first_round: FirstRound::Arrival,
            rank_rounds: 1,
            newcomer_weight: 1,
            quota_pieces: 20,
            quota_time_ns: Span::from_secs(60),
        },
        limiter: LimiterRules {
            write_unit: 1380,
            unlimited_write_unit: 17000,
            tick_ns: None,
            credit_ns: Span::ZERO,
            window_ns: None,
            hand_over: HandOver::Room,
            sharing: Sharing::Turns,
            quota: Quota {
                idle_earns: false,
                whole_requests: true,
                request_ticks: 20,
                header_bytes: 40,
                messages: true,
                asks_at_once: true,
                low_watermark: 10 << 10,
                watermark_factor: 0.5,
                watermark: 500 << 10,
            },
            mixed_mode_algorithm: MixedModeAlgorithm::PreferTcp,
        },
    }
}

/// The transport, choker and request queue of libtorrent with its default settings, on mainline's other
/// rules (`clients.md` E).
fn modern() -> Profile {
    let mainline = mainline();
    Profile {
        name: "modern".to_owned(),
        // `enable_outgoing_utp`, and `torrent::connect_to_peer`, which takes it first.
        transport: "libtorrent".to_owned(),
        // No TCP_NODELAY in its sources, 2.0.11 to 2.1.1; a socket of 2.1.1 has the option off.
        nagle: true,
        // Its send buffer is one stream: control messages are appended behind the blocks in it.
        control_behind_piece: true,
        super_seeding: false,
        connections: Connections {
            max_initiate: 200,
            max_connections: 200,
            timeout_ns: Span::from_secs(120),
            tcp_fallback: true,
            ..mainline.connections
        },
        announce: Announce { numwant: Some(200), enough_peers: 200, ..mainline.announce },
        requests: Requests {
            backlog: RequestPipeline::QueueTime {
                queue_time_ns: Span::from_secs(3),
                min: 2,
                max: 500,
            },
            snub_after_ns: Span::from_secs(60),
            // `peer_connection::do_update_interest`: peers with a piece that is not here. Interest
            // that follows requests would free slots, and fill them, with every requested block.
            interest: Interest::MissingPieces,
            ..mainline.requests
        },
        fast: mainline.fast,
        peer_exchange: mainline.peer_exchange,
        web_seeds: WebSeedRules { connections: 3, ..mainline.web_seeds },
        picker: mainline.picker,
        meter: MeterRules { window_ns: Span::from_secs(5), ..mainline.meter },
        choker: Choker {
            slots: Slots::Fixed(8),
            round_ns: Span::from_secs(15),
            optimistic_rounds: 2,
            leech: LeechChoker::Modern,
            seed: SeedChoker::RoundRobin,
            idle_class: false,
            free_slot: FreeSlot::Tick,
            tick_ns: Span::from_secs(1),
            choke_uninterested: true,
            ..mainline.choker
        },
        limiter: LimiterRules {
            write_unit: 1460,
            tick_ns: Some(Span::from_millis(500)),
            credit_ns: Span::from_secs(3),
            window_ns: None,
            ..mainline.limiter
        },
    }
}

/// libtorrent 2.0 (branch RC_2_0) with its default settings (`clients.md` F): the chokers of
/// [`modern`], and its own limiter, Fast extension, request queue and piece picker.
fn libtorrent() -> Profile {
    let modern = modern();
    Profile {
        name: "libtorrent".to_owned(),
        connections: Connections {
            drop_new_seeds: true,
            // `peer_connection::second_tick` looks every second.
            timeout_sweep_ns: Span::from_secs(1),
            reconnect_ns: Some(Span::from_secs(60)),
            opened_per_second: Some(30),
            opened_at_once: 30,
            max_candidates: Some(3000),
            turnover_ns: Some(Span::from_secs(300)),
            candidates: CandidateOrder::Canonical,
            inactivity_ns: Some(Span::from_secs(600)),
            ..modern.connections
        },
        announce: Announce {
            // `torrent::announce_with_tracker` announces for want of peers only when it has none,
            // and always asks for `num_want`: there are never that many connections.
            min_peers: 1,
            min_peers_reachable: 0,
            enough_peers: 201,
            ..modern.announce
        },
        requests: Requests {
            backlog: RequestPipeline::SlowStart {
                queue_time_ns: Span::from_secs(3),
                first: 4,
                min: 2,
                max: 500,
            },
            block_timeout_ns: Some(Span::from_secs(20)),
            request_timeout_ns: Some(Span::from_secs(60)),
            strict_end_game: true,
            cancel_doubles: false,
            // `incoming_choke`, `incoming_reject_request`: blocks are free again, and not requested at
            // once.
            reoffer: false,
            ask_on_have: false,
            ..modern.requests
        },
        fast: FastExtension {
            enabled: true,
            allowed_set: 5,
            choked_request_ns: Some(Span::from_secs(2)),
            follow_suggestions: true,
            ..modern.fast
        },
        peer_exchange: PeerExchangeRules { enabled: true, ..modern.peer_exchange },
        picker: Picker {
            strict_priority: false,
            begun: BegunOrder::Rarest,
            random_first_pieces: 4,
            order: PieceOrder::RarestFirst,
            begun_wins_ties: true,
            finish_first: true,
            partials_per_neighbour: 1.5,
            whole_pieces_ns: Span::from_secs(20),
            exclusive_pieces: true,
            adjacent_pieces: true,
        },
        choker: Choker { unchoke_on_handshake: true, ..modern.choker },
        limiter: LimiterRules {
            sharing: Sharing::Quota,
            mixed_mode_algorithm: MixedModeAlgorithm::PeerProportional,
            ..modern.limiter
        },
        ..modern
    }
}

/// The BitTorrent module for ns-2 by Eger, Hoßfeld, Binzenhöfer and Kunzmann ("Efficient simulation
/// of large-scale P2P networks", UPGRADE-CN 2007), with which Testa and Rossi (2011) simulated uTP in
/// swarms: its defaults, as its source and `bittorrent_default.tcl` have them.
fn ns2() -> Profile {
    let mainline = mainline();
    Profile {
        name: "ns2-2011".to_owned(),
        transport: HOSTS_TCP.to_owned(),
        // The agent decides what a segment waits for.
        nagle: true,
        control_behind_piece: true,
        // The module's default, too; its sample script switches it on at the one seed.
        super_seeding: false,
        connections: Connections {
            // The module's own comments give 40 for real clients, and 50 and 20 peers below.
            max_initiate: 20,
            max_connections: 1000,
            drop_seed_to_seed: false,
            keepalive_ns: Span::from_secs(120),
            timeout_ns: Span::from_secs(300),
            timeout_sweep_ns: Span::from_secs(10),
            ..mainline.connections
        },
        announce: Announce {
            // REREQUEST_INTERVAL; peers are asked for only with fewer than `min_peers`.
            check_ns: Span::from_secs(300),
            min_peers: 10,
            min_peers_reachable: 9,
            // Less than `check_ns` by what an answer may take.
            min_interval_ns: Span::from_secs(290),
            numwant: None,
            enough_peers: 10,
            ..mainline.announce
        },
        requests: Requests {
            backlog: RequestPipeline::Fixed(5),
            snubbing: false,
            end_game: false,
            interest: Interest::MissingPieces,
            reoffer: false,
            stamped: true,
            ..mainline.requests
        },
        fast: mainline.fast,
        peer_exchange: mainline.peer_exchange,
        web_seeds: mainline.web_seeds,
        picker: Picker {
            strict_priority: true,
            begun: BegunOrder::HighestNumber,
            random_first_pieces: 1,
            order: PieceOrder::RarestFirst,
            ..mainline.picker
        },
        meter: mainline.meter,
        choker: Choker {
            slots: Slots::Fixed(4),
            round_ns: Span::from_secs(10),
            optimistic_rounds: 3,
            leech: LeechChoker::Ns2,
            seed: SeedChoker::Ns2,
            idle_class: false,
            free_slot: FreeSlot::Round,
            choke_uninterested: true,
            first_round: FirstRound::FirstInterest,
            rank_rounds: 2,
            newcomer_weight: 3,
            ..mainline.choker
        },
        // No limit of its own; one block at a time, and the whole of it. The next one follows a call
        // of `upcall_send`, "TCP send all data", from a changed FullTcp that is not in the module's
        // source. FullTcp's own signal of an empty buffer means that all is acknowledged: with
        // `Acknowledged` the queues of uplinks are much shorter.
        limiter: LimiterRules { hand_over: HandOver::Sent, ..mainline.limiter },
    }
}
