//! Whole swarms, on pipes that delay and lose nothing.

use crate::util::{Make, Swarm, secs, torrent};
use flashcrowd_base::{Span, Time};
use flashcrowd_swarm::profile::{
    FreeSlot, Interest, PieceOrder, Profile, RequestPipeline, SeedChoker, Sharing, SuggestMode,
    all, named,
};
use flashcrowd_swarm::{AnnounceEvent, Message, Torrent, TrackerRules};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;

fn mainline() -> Profile {
    named("mainline-4.0.2").expect("it ships")
}

#[test]
fn a_swarm_completes_under_every_profile() {
    let mut table =
        String::from("profile           mean s  last s  up MB  blocks  haves  cancels\n");
    for profile in all() {
        let name = profile.name.clone();
        let mut swarm = Make::new(profile, 12, torrent(12)).build();
        assert!(swarm.run(secs(4000)), "{name} does not end");
        let last = swarm.logs.iter().filter_map(|log| log.completed).max();
        let up: u64 = swarm.peers.iter().map(|peer| peer.bytes_up()).sum();
        writeln!(
            table,
            "{name:16} {:7.1} {:7.1} {:6.1} {:7} {:6} {:8}",
            swarm.mean_completion(),
            last.map_or(0.0, Time::seconds),
            up as f64 / 1e6,
            swarm.received("piece"),
            swarm.received("have"),
            swarm.received("cancel"),
        )
        .expect("a string takes everything");
    }
    insta::assert_snapshot!(table);
}

/// How many of a peer's pieces came after one with a higher number.
fn late(pieces: &[(Time, u32)]) -> usize {
    let earlier = |at: usize| pieces[..at].iter().any(|(_, piece)| *piece > pieces[at].1);
    (0..pieces.len()).filter(|at| earlier(*at)).count()
}

#[test]
fn in_sequence_pieces_come_by_number() {
    for mut profile in all() {
        let name = profile.name.clone();
        let late_of = |profile: &Profile, leechers| {
            let mut swarm = Make::new(profile.clone(), leechers, torrent(16)).build();
            assert!(swarm.run(secs(4000)), "{name} does not end");
            let logs = &swarm.logs[1..];
            assert!(logs.iter().all(|log| log.pieces.len() == 16));
            logs.iter().map(|log| late(&log.pieces)).sum::<usize>()
        };
        let rarest = late_of(&profile, 12);
        profile.picker.order = PieceOrder::Sequential;
        assert_eq!(late_of(&profile, 1), 0, "{name} alone");
        // Neighbours without the first pieces are asked for later ones.
        let sequential = late_of(&profile, 12);
        assert!(sequential < rarest, "{name}: {sequential} against {rarest}");
    }
}

#[test]
fn a_fast_seed_keeps_all_uplinks_busy_and_a_slow_one_governs_the_crowd() {
    let utilisation = |seed_kilobytes| {
        let make = Make::new(mainline(), 30, torrent(64));
        let mut swarm = Make { seed_kilobytes: Some(seed_kilobytes), ..make }.build();
        let up =
            |swarm: &Swarm| -> u64 { swarm.peers[1..].iter().map(|peer| peer.bytes_up()).sum() };
        swarm.run_until(secs(120));
        let before = up(&swarm);
        swarm.run_until(secs(180));
        assert!(swarm.peers[1..].iter().all(|peer| !peer.is_complete()));
        (up(&swarm) - before) as f64 / (60.0 * 30.0 * 50.0 * 1024.0)
    };
    let (fast, slow) = (utilisation(500), utilisation(50));
    assert!(fast > 0.95 && slow < 0.9 && slow > 0.5, "{fast:.2} {slow:.2}");
}

#[test]
fn connections_grow_to_the_initiated_ones_and_the_accepted_ones() {
    let mut profile = mainline();
    profile.connections.max_initiate = 10;
    profile.connections.max_connections = 15;
    let mut swarm = Make::new(profile, 60, torrent(4)).build();
    swarm.run_until(secs(60));
    let max = swarm.logs.iter().map(|log| log.max_connections).max();
    let min = swarm.peers.iter().map(|peer| peer.connections()).min();
    assert_eq!(max, Some(15));
    assert!(min >= Some(5), "{min:?}");
}

#[test]
fn without_limits_the_socket_buffer_governs() {
    let make = Make::new(mainline(), 4, torrent(8));
    let mut swarm = Make { kilobytes: None, seed_kilobytes: None, buffer: 5000, ..make }.build();
    assert!(swarm.run(secs(2000)));
}

#[test]
fn without_end_game_no_block_comes_twice() {
    for end_game in [false, true] {
        let mut profile = mainline();
        profile.requests.end_game = end_game;
        let mut swarm = Make::new(profile, 10, torrent(8)).build();
        assert!(swarm.run(secs(4000)));
        swarm.run_until(swarm.now + Span::from_secs(60));
        let blocks = swarm.received("piece");
        assert_eq!(blocks > 10 * 8 * 16, end_game, "{blocks} blocks");
        assert_eq!(swarm.received("cancel") > 0, end_game);
    }
}

#[test]
fn a_seed_ends_idle_unchokes_when_a_request_takes_long_unless_the_class_is_switched_off() {
    use flashcrowd_swarm::UnchokeEnd::Idle;
    let idle = |millis, idle_class| {
        let mut profile = mainline();
        profile.choker.idle_class = idle_class;
        let make = Make::new(profile, 40, torrent(40));
        let (kilobytes, delay) = (Some(20), Span::from_millis(millis));
        let mut swarm = Make { kilobytes, seed_kilobytes: Some(20), delay, ..make }.build();
        assert!(swarm.run(secs(8000)));
        swarm.logs[0].unchokes.iter().filter(|unchoke| unchoke.3 == Idle).count()
    };
    assert_eq!((idle(0, true), idle(200, false)), (0, 0));
    assert!(idle(200, true) > 3);
}

#[test]
fn control_messages_overtake_blocks_only_if_told_to() {
    for behind in [true, false] {
        let mut profile = mainline();
        profile.control_behind_piece = behind;
        let mut swarm = Make::new(profile, 6, torrent(4)).build();
        swarm.verbose = true;
        assert!(swarm.run(secs(4000)));
        let mut overtaken = 0;
        for log in &swarm.logs {
            // Connections whose last write left a PIECE unfinished.
            let mut half = BTreeMap::new();
            for (conn, completes) in &log.writes {
                match completes {
                    None => drop(half.insert(conn, ())),
                    Some(Message::Piece { .. } | Message::Handshake(_)) => drop(half.remove(conn)),
                    Some(_) => overtaken += usize::from(half.contains_key(conn)),
                }
            }
        }
        assert_eq!(overtaken > 0, !behind, "{overtaken}");
    }
}

#[test]
fn peers_tell_the_tracker_when_they_start_complete_and_leave() {
    let mut swarm = Make::new(mainline(), 3, torrent(2)).build();
    assert!(swarm.run(secs(1000)));
    swarm.leave_at(swarm.now + Span::from_secs(1), 1);
    swarm.run_until(swarm.now + Span::from_secs(10));
    let events: Vec<AnnounceEvent> =
        swarm.logs[1].announces.iter().map(|(_, event)| *event).collect();
    assert_eq!(events, [AnnounceEvent::Started, AnnounceEvent::Completed, AnnounceEvent::Stopped]);
    assert_eq!((swarm.tracker.leechers(), swarm.tracker.seeds()), (0, 3));
    assert_eq!(swarm.peers[1].connections(), 0);
}

#[test]
fn a_swarm_without_its_seed_does_not_end_and_one_with_every_piece_does() {
    let mut swarm = Make::new(mainline(), 5, torrent(8)).build();
    swarm.leave_at(secs(15), 0);
    assert!(!swarm.run(secs(2000)), "the only seed left after 15 s");
    let mut swarm = Make::new(mainline(), 5, torrent(8)).build();
    swarm.run_until(secs(10_000));
    assert!(swarm.peers.iter().all(|peer| peer.is_complete()));
}

/// libtorrent with some of its mechanisms switched off.
fn libtorrent(switch: [bool; 10]) -> Profile {
    let mut profile = named("libtorrent").expect("it ships");
    profile.fast.enabled = switch[0];
    profile.limiter.quota.messages = switch[1];
    profile.limiter.quota.whole_requests = switch[2];
    profile.limiter.quota.idle_earns = switch[3];
    profile.requests.strict_end_game = switch[4];
    profile.picker.begun_wins_ties = switch[5];
    profile.requests.cancel_doubles = switch[9];
    if switch[6] {
        profile.picker.whole_pieces_ns = Span::ZERO;
    }
    if switch[7] {
        profile.limiter.sharing = Sharing::Turns;
    }
    if switch[8] && profile.fast.enabled {
        profile.fast.suggest = SuggestMode::ReadCache;
    }
    profile
}

fn any_rules() -> impl Strategy<Value = (Profile, TrackerRules)> {
    let today = prop::option::of(any::<[bool; 10]>());
    (any::<[bool; 11]>(), 0usize..4, 0usize..5, today).prop_map(|(switch, seed, backlog, today)| {
        let mut profile = match (switch[0], today) {
            (true, Some(today)) => libtorrent(today),
            (true, None) => all().remove(1),
            (false, _) => mainline(),
        };
        profile.control_behind_piece = switch[1];
        profile.connections.drop_seed_to_seed = switch[2];
        profile.requests.end_game = switch[3];
        profile.requests.snubbing = switch[4];
        profile.picker.strict_priority = switch[5];
        profile.choker.free_slot = if switch[6] { FreeSlot::Rechoke } else { FreeSlot::Round };
        if switch[0] && switch[10] {
            profile.choker.free_slot = FreeSlot::Tick;
        }
        let mut tracker = TrackerRules::MAINLINE;
        if switch[9] {
            tracker.default_peers = 2;
        }
        profile.choker.idle_class = switch[7];
        if switch[8] {
            profile.connections.max_initiate = 3;
        }
        use SeedChoker::{AntiLeech, FastestUpload, Mainline, RoundRobin};
        profile.choker.seed = [Mainline, RoundRobin, FastestUpload, AntiLeech][seed];
        let holds = !switch[0] && profile.choker.seed == Mainline;
        if profile.choker.free_slot == FreeSlot::Rechoke && !holds {
            // Interest that follows requests and a choker without a hold on its choices, which
            // follows interest, may go round in circles: a choke offers a block again, all want it,
            // and the first to ask ends the interest of the others.
            profile.requests.interest = Interest::MissingPieces;
        }
        match backlog {
            0 => profile.requests.backlog = RequestPipeline::Fixed(1),
            1 => profile.requests.backlog = RequestPipeline::Fixed(40),
            2 => profile.requests.backlog = RequestPipeline::Mainline { initial: 10 },
            _ => {}
        }
        (profile, tracker)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_swarm_always_completes_if_a_seed_stays(
        (profile, tracker) in any_rules(),
        seed in 0u64..1000,
        seeds in 1usize..3,
        leechers in 1usize..8,
        bytes in 1u64..1_500_000,
        kilobytes in prop_oneof![Just(None), (5u64..200).prop_map(Some)],
        millis in 0u64..600,
        buffer in 500u64..40_000,
        (nonsense, disk) in any::<(bool, bool)>(),
        leavers in prop::collection::vec((1usize..8, 1u64..200), 0..4),
    ) {
        let rate = kilobytes.unwrap_or(1000) as f64 * 1024.0;
        let file = Torrent::new(bytes, 1 << 17, 1 << 14).expect("a sane geometry");
        let make = Make::new(profile, leechers, file);
        let delay = Span::from_millis(millis);
        let seed_kilobytes = kilobytes;
        let make = Make { seed, seeds, kilobytes, seed_kilobytes, delay, buffer, tracker, disk, ..make };
        let arrivals = make.arrivals;
        let mut swarm = make.build();
        swarm.nonsense = nonsense;
        let all_arrive = leavers.is_empty();
        // Leechers only.
        for (leaver, when) in leavers {
            if leaver >= seeds && leaver < seeds + leechers {
                swarm.leave_at(secs(when), leaver);
            }
        }
        prop_assert!(swarm.run(secs(20_000)), "it does not end");
        for (peer, log) in swarm.peers.iter().zip(&swarm.logs) {
            let (have, told) = (peer.pieces_have(), log.pieces.len() as u32);
            let seeded = log.completed.is_none() && peer.is_complete();
            prop_assert!(seeded || have == told, "{have} pieces, {told} told of");
        }
        let down: u64 = swarm.peers.iter().map(|peer| peer.bytes_down()).sum();
        let up: u64 = swarm.peers.iter().map(|peer| peer.bytes_up()).sum();
        prop_assert!(down <= up, "{down} bytes came in and {up} went out");
        if kilobytes.is_some() {
            for peer in &swarm.peers {
                let max = rate * (swarm.now.seconds() + 3.0) + 17_000.0;
                prop_assert!(peer.bytes_up() as f64 <= max);
            }
        }
        let last = Time::START + arrivals * (leechers as u64 - 1) / leechers as u64;
        prop_assert!(swarm.now >= last || !all_arrive);
    }
}

#[test]
fn a_seed_that_hides_spreads_the_file_with_less_of_its_own_upload() {
    // Copies that the seed sends until every piece is somewhere else.
    let copies = |super_seeding| {
        let mut profile = flashcrowd_swarm::profile::named("ns2-2011").expect("it ships");
        profile.super_seeding = super_seeding;
        let mut swarm = Make { split: true, ..Make::new(profile, 20, torrent(40)) }.build();
        let spread = |swarm: &Swarm| {
            (0..40).all(|piece| swarm.peers[1..].iter().any(|peer| peer.bitfield().has(piece)))
        };
        let mut at = secs(0);
        while !spread(&swarm) {
            at += flashcrowd_base::Span::from_secs(1);
            swarm.run_until(at);
            assert!(at < secs(4000), "it does not spread");
        }
        let copies = swarm.peers[0].bytes_up() as f64 / (40.0 * 262_144.0);
        assert!(swarm.run(secs(8000)), "it does not end");
        copies
    };
    let (open, hidden) = (copies(false), copies(true));
    assert!(hidden < 1.25 && hidden < open, "{hidden:.2} {open:.2}");
}

#[test]
fn the_slots_of_leavers_are_filled_as_each_client_fills_them() {
    // A seed without a limit brings two pieces to 40 leechers, who leave with them. If slots wait
    // for the round, eight go every 15 s; else the crowd is gone within some ticks.
    let last = |free_slot| {
        let mut profile = named("modern").expect("it ships");
        profile.choker.free_slot = free_slot;
        let make = Make::new(profile, 40, torrent(2));
        let (seed_kilobytes, arrivals) = (None, Span::ZERO);
        let mut swarm = Make { seed_kilobytes, arrivals, buffer: 1 << 17, ..make }.build();
        swarm.leave_complete = true;
        assert!(swarm.run(secs(4000)));
        swarm.logs.iter().filter_map(|log| log.completed).max().expect("all are").seconds()
    };
    let [round, rechoke, tick] = [FreeSlot::Round, FreeSlot::Rechoke, FreeSlot::Tick].map(last);
    assert!(round > 45.0 && tick < 20.0 && rechoke <= tick, "{round} {rechoke} {tick}");
}
