//! Every switch and constant of a profile makes a difference that can be seen from outside: the same
//! small swarm with one field changed does not run as before. What the field does exactly, the
//! unit tests say; here the table shows in which direction it pulls.

use crate::util::{Make, Swarm, secs, torrent};
use flashcrowd_base::Span;
use flashcrowd_swarm::profile::{
    CandidateOrder, FreeSlot, Interest, LeechChoker, MeterStart, MixedModeAlgorithm, PieceOrder,
    Profile, RequestPipeline, SeedChoker, Sharing, Slots, SuggestMode, named,
};
use flashcrowd_swarm::{AnnounceEvent, TrackerRules, UnchokeEnd};
use std::fmt::Write;
use std::ops::{Deref, DerefMut};

/// What a swarm goes by: its clients' profile, and its tracker's rules.
struct Rules {
    profile: Profile,
    tracker: TrackerRules,
}

impl Deref for Rules {
    type Target = Profile;
    fn deref(&self) -> &Profile {
        &self.profile
    }
}
impl DerefMut for Rules {
    fn deref_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }
}

/// A name, and what to change.
type Ablation = (&'static str, fn(&mut Rules));

const MAINLINE: &[Ablation] = &[
    ("as it is", |_| {}),
    ("control overtakes blocks", |p| p.control_behind_piece = false),
    ("max_initiate 3", |p| p.connections.max_initiate = 3),
    ("max_connections 6", |p| {
        p.connections.max_connections = 6;
        p.connections.max_initiate = 4;
    }),
    ("seeds keep seeds", |p| p.connections.drop_seed_to_seed = false),
    ("keep-alive 20 s", |p| p.connections.keepalive_ns = Span::from_secs(20)),
    ("timeout 20 s", |p| p.connections.timeout_ns = Span::from_secs(20)),
    ("timeout 20 s, swept every 5 s", |p| {
        p.connections.timeout_ns = Span::from_secs(20);
        p.connections.timeout_sweep_ns = Span::from_secs(5);
    }),
    ("announce early after 100 s", |p| p.announce.min_interval_ns = Span::from_secs(100)),
    ("announce early, look every 7 s", |p| {
        p.announce.min_interval_ns = Span::from_secs(100);
        p.announce.check_ns = Span::from_secs(7);
    }),
    ("announce early, never enough", |p| {
        p.announce.min_interval_ns = Span::from_secs(100);
        p.announce.min_peers = 100;
        p.announce.min_peers_reachable = 100;
    }),
    ("numwant 2", |p| p.announce.numwant = Some(2)),
    ("tracker tells 3", |p| p.tracker.default_peers = 3),
    ("tracker tells 3 at most", |p| p.tracker.max_peers = 3),
    ("blocks of 8 KiB", |p| p.requests.block_bytes = 8192),
    ("queue of 2", |p| p.requests.max_queue = 2),
    ("backlog at least 10", |p| p.requests.backlog = RequestPipeline::Mainline { initial: 10 }),
    ("backlog 1", |p| p.requests.backlog = RequestPipeline::Fixed(1)),
    ("backlog 5", |p| p.requests.backlog = RequestPipeline::Fixed(5)),
    ("no snubbing", |p| p.requests.snubbing = false),
    ("snubbed after 5 s", |p| p.requests.snub_after_ns = Span::from_secs(5)),
    ("no end game", |p| p.requests.end_game = false),
    ("no strict priority", |p| p.picker.strict_priority = false),
    ("no random first pieces", |p| p.picker.random_first_pieces = 0),
    ("pieces at random", |p| p.picker.order = PieceOrder::Random),
    ("pieces in sequence", |p| p.picker.order = PieceOrder::Sequential),
    ("meter of 5 s", |p| p.meter.window_ns = Span::from_secs(5)),
    ("meter without head start", |p| p.meter.head_start_ns = Span::ZERO),
    ("meter starts at unchoke", |p| p.meter.start = MeterStart::Unchoke),
    ("8 slots", |p| p.choker.slots = Slots::Fixed(8)),
    ("min_uploads 5", |p| p.choker.min_uploads = 5),
    ("rounds of 5 s", |p| p.choker.round_ns = Span::from_secs(5)),
    ("optimistic every round", |p| p.choker.optimistic_rounds = 1),
    ("modern leech choker", |p| p.choker.leech = LeechChoker::Modern),
    ("round-robin seed", |p| p.choker.seed = SeedChoker::RoundRobin),
    ("no idle class", |p| p.choker.idle_class = false),
    ("protected for ten rounds", |p| p.choker.protected_rounds = 10),
    ("re-choke only in rounds", |p| p.choker.free_slot = FreeSlot::Round),
    ("units of 4096", |p| p.limiter.write_unit = 4096),
    ("ticks of 500 ms", |p| p.limiter.tick_ns = Some(Span::from_millis(500))),
    ("credit of 3 s", |p| p.limiter.credit_ns = Span::from_secs(3)),
];

/// What the two profiles do not share, under `modern`.
const MODERN: &[Ablation] = &[
    ("as it is", |_| {}),
    ("queue of 1 s", |p| {
        let queue_time_ns = Span::from_secs(1);
        p.requests.backlog = RequestPipeline::QueueTime { queue_time_ns, min: 2, max: 500 };
    }),
    ("queue of 8 at most", |p| {
        let queue_time_ns = Span::from_secs(3);
        p.requests.backlog = RequestPipeline::QueueTime { queue_time_ns, min: 2, max: 8 };
    }),
    ("quota of 1 piece", |p| p.choker.quota_pieces = 1),
    ("quota of 1 piece and 20 s", |p| {
        p.choker.quota_pieces = 1;
        p.choker.quota_time_ns = Span::from_secs(20);
    }),
    ("fastest upload", |p| p.choker.seed = SeedChoker::FastestUpload),
    ("anti-leech", |p| p.choker.seed = SeedChoker::AntiLeech),
    ("free slots wait for the round", |p| p.choker.free_slot = FreeSlot::Round),
    ("re-choke at once", |p| p.choker.free_slot = FreeSlot::Rechoke),
    ("ticks of 5 s", |p| p.choker.tick_ns = Span::from_secs(5)),
    ("the uninterested keep their slot", |p| p.choker.choke_uninterested = false),
    ("interest in free blocks", |p| p.requests.interest = Interest::FreeBlocks),
    ("rounds of 10 s", |p| p.choker.round_ns = Span::from_secs(10)),
];

/// What `libtorrent` has besides.
const LIBTORRENT: &[Ablation] = &[
    ("as it is", |_| {}),
    ("no Fast extension", |p| p.fast.enabled = false),
    ("no allowed pieces", |p| p.fast.allowed_set = 0),
    ("late requests are forgiven", |p| p.fast.choked_request_ns = None),
    ("suggests what it reads", |p| p.fast.suggest = SuggestMode::ReadCache),
    ("suggests, keeps one in mind", |p| {
        p.fast.suggest = SuggestMode::ReadCache;
        p.fast.max_suggested = 1;
    }),
    ("suggests, and nobody follows", |p| {
        p.fast.suggest = SuggestMode::ReadCache;
        p.fast.follow_suggestions = false;
    }),
    ("turns, and messages are free", |p| p.limiter.sharing = Sharing::Turns),
    ("idle ticks earn", |p| p.limiter.quota.idle_earns = true),
    ("shares are given at once", |p| p.limiter.quota.whole_requests = false),
    ("requests wait for 2 ticks", |p| p.limiter.quota.request_ticks = 2),
    ("headers are free", |p| p.limiter.quota.header_bytes = 0),
    ("messages are free", |p| p.limiter.quota.messages = false),
    ("quota for all at once", |p| p.limiter.quota.asks_at_once = false),
    ("64 KiB in the send buffer", |p| p.limiter.quota.low_watermark = 64 << 10),
    ("10 KiB in the send buffer", |p| p.limiter.quota.watermark = 10 << 10),
    ("send buffer of 4 s", |p| p.limiter.quota.watermark_factor = 4.0),
    ("quota every 100 ms", |p| p.limiter.tick_ns = Some(Span::from_millis(100))),
    ("queue of 1 s", |p| slow_start(p, 1, 4, 2, 500)),
    ("queue begins with 20", |p| slow_start(p, 3, 20, 2, 500)),
    ("queue of 6 at least", |p| slow_start(p, 3, 4, 6, 500)),
    ("queue of 3 at most", |p| slow_start(p, 3, 4, 2, 3)),
    ("end game of everybody", |p| p.requests.strict_end_game = false),
    ("doubles are cancelled", |p| p.requests.cancel_doubles = true),
    ("no end game", |p| p.requests.end_game = false),
    ("begun pieces win no ties", |p| p.picker.begun_wins_ties = false),
    ("first pieces are not finished", |p| p.picker.finish_first = false),
    ("pieces in sequence", |p| p.picker.order = PieceOrder::Sequential),
    ("few pieces at a time", |p| p.picker.partials_per_neighbour = 0.1),
    ("no whole pieces", |p| p.picker.whole_pieces_ns = Span::ZERO),
    ("asked on HAVE", |p| p.requests.ask_on_have = true),
    ("lost requests are made anew", |p| p.requests.reoffer = true),
    ("begun ones are left", |p| p.picker.exclusive_pieces = false),
    ("no pieces side by side", |p| p.picker.adjacent_pieces = false),
    ("silent ones are waited for", |p| p.requests.block_timeout_ns = None),
    ("late ones are waited for", |p| p.requests.request_timeout_ns = None),
    ("silent for 5 s", |p| p.requests.block_timeout_ns = Some(Span::from_secs(5))),
    ("no second attempt", |p| p.connections.reconnect_ns = None),
    ("a second attempt after 5 s", |p| p.connections.reconnect_ns = Some(Span::from_secs(5))),
    ("one attempt", |p| {
        p.connections.reconnect_ns = Some(Span::from_secs(5));
        p.connections.max_failures = 1;
    }),
    ("begun pieces first", |p| p.picker.strict_priority = true),
    ("unchoked when interested", |p| p.choker.unchoke_on_handshake = false),
    ("unchoked in rounds", |p| {
        p.choker.unchoke_on_handshake = false;
        p.choker.preemptive_unchoke = false;
    }),
    ("new seeds are kept", |p| p.connections.drop_new_seeds = false),
    ("2 connections a second", |p| {
        p.connections.opened_per_second = Some(2);
        p.connections.opened_at_once = 0;
    }),
    ("10 connections at once", |p| {
        p.connections.opened_per_second = Some(2);
        p.connections.opened_at_once = 10;
    }),
    ("no peer exchange", |p| p.peer_exchange.enabled = false),
    ("peer exchange every 5 s", |p| p.peer_exchange.interval_ns = Span::from_secs(5)),
    ("peer exchange of one neighbour", |p| p.peer_exchange.max_entries = 1),
    ("last named first", |p| p.connections.candidates = CandidateOrder::LastNamed),
];

/// What needs connections over TCP and over uTP: every eighth peer connects over TCP.
const MIXED: &[Ablation] = &[
    ("as it is", |_| {}),
    ("TCP takes what it can", |p| {
        p.limiter.mixed_mode_algorithm = MixedModeAlgorithm::PreferTcp;
    }),
];

fn slow_start(p: &mut Profile, seconds: u64, first: u32, min: u32, max: u32) {
    let queue_time_ns = Span::from_secs(seconds);
    p.requests.backlog = RequestPipeline::SlowStart { queue_time_ns, first, min, max };
}

/// A crowd that comes slowly, so that early announces matter. `modern` gets a larger and faster
/// one, so that there are more peers than slots and long queues.
fn run(profile: &str, mixed: bool, ablation: &Ablation) -> (Swarm, String) {
    let modern = profile != "mainline-4.0.2";
    let (kilobytes, leechers, pieces) = if modern { (100, 24, 24) } else { (20, 10, 8) };
    let profile = named(profile).expect("it ships");
    let mut rules = Rules { profile, tracker: TrackerRules::MAINLINE };
    ablation.1(&mut rules);
    let Rules { profile, tracker } = rules;
    profile.check().expect("an ablation is a sound profile");
    let file = torrent(pieces);
    let block = profile.requests.block_bytes;
    let file = flashcrowd_swarm::Torrent::new(file.bytes(), file.piece_bytes(0), block);
    let make = Make::new(profile, leechers, file.expect("a sane geometry"));
    let mut swarm = Make {
        // Socket buffers alone hold back what a mixed swarm sends.
        kilobytes: (!mixed).then_some(kilobytes),
        seed_kilobytes: (!mixed).then_some(kilobytes),
        tcp_every: mixed.then_some(8),
        delay: Span::from_millis(200),
        arrivals: Span::from_secs(100),
        tracker,
        ..make
    }
    .build();
    assert!(swarm.run(secs(20_000)), "{}: the swarm does not end", ablation.0);
    let ends =
        |cause| swarm.logs.iter().flat_map(|log| &log.unchokes).filter(|u| u.3 == cause).count();
    let announces = swarm.logs.iter().flat_map(|log| &log.announces);
    let row = format!(
        "{:6.1} {:6} {:6} {:5} {:5} {:5} {:5} {:5} {:5} {:5}",
        swarm.mean_completion(),
        swarm.received("request"),
        swarm.received("cancel"),
        swarm.received("unchoke"),
        ends(UnchokeEnd::Idle),
        ends(UnchokeEnd::Rotation),
        ends(UnchokeEnd::Outranked),
        ends(UnchokeEnd::Disconnected),
        announces.filter(|(_, event)| *event == AnnounceEvent::None).count(),
        swarm.received("keep-alive"),
    );
    (swarm, row)
}

fn table(profile: &str, mixed: bool, ablations: &[Ablation]) -> String {
    let mut table =
        format!("{profile:30}   mean requ.  cancel unch.  idle rotat. outr.  disc. ann. alive\n");
    let mut as_it_is = None;
    for ablation in ablations {
        let (swarm, row) = run(profile, mixed, ablation);
        writeln!(table, "{:30} {row}", ablation.0).expect("a string takes everything");
        let course: Vec<_> = swarm
            .logs
            .iter()
            .map(|log| {
                (log.pieces.clone(), log.written, log.announces.clone(), log.received.clone())
            })
            .collect();
        match &as_it_is {
            None => as_it_is = Some(course),
            Some(other) => assert!(*other != course, "{} changes nothing", ablation.0),
        }
    }
    table
}

#[test]
fn every_rule_of_mainline_makes_a_difference() {
    insta::assert_snapshot!(table("mainline-4.0.2", false, MAINLINE));
}

#[test]
fn every_rule_of_modern_makes_a_difference() {
    insta::assert_snapshot!(table("modern", false, MODERN));
}

#[test]
fn every_rule_of_libtorrent_makes_a_difference() {
    insta::assert_snapshot!(table("libtorrent", false, LIBTORRENT));
}

#[test]
fn tcp_that_leaves_utp_nothing_makes_a_difference() {
    insta::assert_snapshot!(table("libtorrent", true, MIXED));
}

#[test]
fn the_same_seed_runs_the_same_and_another_one_does_not() {
    let course = |seed| {
        let profile = named("mainline-4.0.2").expect("it ships");
        let mut swarm = Make { seed, ..Make::new(profile, 6, torrent(4)) }.build();
        assert!(swarm.run(secs(20_000)));
        swarm.logs.iter().map(|log| (log.pieces.clone(), log.received.clone())).collect::<Vec<_>>()
    };
    assert_eq!(course(1), course(1));
    assert_ne!(course(1), course(2));
}
