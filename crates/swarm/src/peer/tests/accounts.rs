//! What a peer counts, and when it resets a count.

use super::*;
use crate::UnchokeEnd;

/// The unchokes that have ended since the last call, and nothing of the rest.
fn ended(rig: &mut Rig) -> Vec<(u64, u32, UnchokeEnd)> {
    let mut ends = Vec::new();
    while let Some(action) = rig.peer.poll() {
        if let Action::UnchokeEnded { bytes, blocks, cause, .. } = action {
            ends.push((bytes, blocks, cause));
        }
    }
    ends
}

#[test]
fn an_unchoke_that_a_lost_connection_ends_is_recorded_with_what_it_brought() {
    let mut rig = ns2(Role::Seed, |_| {});
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    rig.say(conn, request(0, 0));
    rig.conns.remove(&conn);
    rig.peer.on_closed(rig.now, conn);
    assert_eq!(ended(&mut rig), [(1000, 1, UnchokeEnd::Disconnected)]);
    // A choked one has nothing to record.
    let conn = rig.join(2, Bitfield::new(PIECES));
    rig.conns.remove(&conn);
    rig.peer.on_closed(rig.now, conn);
    assert_eq!(ended(&mut rig), []);
}

#[test]
fn an_unchoke_is_idle_from_its_begin_and_from_the_last_block_on_until_something_is_asked_for() {
    let mut rig = ns2(Role::Seed, |_| {});
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    let begun = rig.now;
    rig.now += Span::from_secs(3);
    rig.say(conn, request(0, 0));
    let sent = rig.now;
    rig.now += Span::from_secs(2);
    rig.conns.remove(&conn);
    rig.peer.on_closed(rig.now, conn);
    let idle = std::iter::from_fn(|| rig.peer.poll()).find_map(|action| match action {
        Action::UnchokeEnded { started, idle, .. } => Some((started, idle)),
        _ => None,
    });
    assert_eq!(idle, Some((begun, sent.since(begun) + rig.now.since(sent))));
}

#[test]
fn bytes_count_for_their_round_and_as_those_of_the_round_before_for_one_more() {
    let mut rig = ns2(Role::Leecher, |_| {});
    let conn = rig.join(1, Bitfield::full(PIECES));
    rig.say(conn, Message::Interested);
    let asked = rig.say(conn, Message::Unchoke);
    let Message::StampedRequest { piece, begin, length, .. } = asked[0].1 else {
        panic!("{asked:?}")
    };
    rig.say(conn, Message::Piece { piece, begin, length });
    let counted = |rig: &Rig| {
        let c = rig.peer.conns.get(conn).unwrap();
        let history = c.work.as_ref().unwrap().history.as_ref().unwrap();
        (c.down_since_round, history.down_round_before)
    };
    let bytes = u64::from(length);
    assert_eq!(counted(&rig), (bytes, 0));
    rig.wait(Span::from_secs(10));
    assert_eq!(counted(&rig), (0, bytes));
    rig.wait(Span::from_secs(10));
    assert_eq!(counted(&rig), (0, 0));
}

#[test]
fn bytes_that_went_out_count_likewise() {
    let mut rig = ns2(Role::Seed, |_| {});
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    rig.say(conn, request(0, 0));
    let counted = |rig: &Rig| {
        let work = rig.peer.conns.get(conn).unwrap().work.as_ref().unwrap();
        let history = work.history.as_ref().unwrap();
        (history.up_since_round, history.up_round_before, history.up_since_unchoke)
    };
    assert_eq!(counted(&rig), (1000, 0, 1000));
    rig.wait(Span::from_secs(10));
    assert_eq!(counted(&rig), (0, 1000, 1000));
    rig.wait(Span::from_secs(10));
    assert_eq!(counted(&rig), (0, 0, 1000));
    // What was sent in an unchoke is counted from its beginning.
    rig.say(conn, Message::NotInterested);
    rig.say(conn, Message::Interested);
    rig.wait(Span::from_secs(10));
    assert_eq!(counted(&rig), (0, 0, 0));
}

#[test]
fn a_connection_is_idle_until_the_first_unchoke_in_either_direction() {
    let mut rig = ns2(Role::Leecher, |_| {});
    let conns: Vec<_> = (1..=2).map(|remote| rig.join(remote, Bitfield::full(PIECES))).collect();
    let works = |rig: &Rig, conn| rig.peer.conns.get(conn).unwrap().work.is_some();
    assert!(!works(&rig, conns[0]) && !works(&rig, conns[1]));
    rig.say(conns[0], Message::Unchoke);
    rig.say(conns[1], Message::Interested);
    assert!(works(&rig, conns[0]) && works(&rig, conns[1]));
}

#[test]
fn who_chooses_by_turns_and_rates_keeps_no_history() {
    for (leech, seed) in [
        (LeechChoker::Mainline, SeedChoker::Mainline),
        (LeechChoker::Modern, SeedChoker::Mainline),
        (LeechChoker::Mainline, SeedChoker::Ns2),
    ] {
        let mut rig = ns2(Role::Seed, |profile| {
            (profile.choker.leech, profile.choker.seed) = (leech, seed);
        });
        let conn = rig.join(1, Bitfield::new(PIECES));
        rig.say(conn, Message::Interested);
        let work = rig.peer.conns.get(conn).unwrap().work.as_ref().unwrap();
        let mainline = (leech, seed) == (LeechChoker::Mainline, SeedChoker::Mainline);
        assert_eq!(work.history.is_none(), mainline, "{leech:?} {seed:?}");
    }
}

#[test]
fn in_the_end_game_who_still_owes_all_that_it_has_stays_interesting() {
    let mut profile = profile();
    profile.requests.backlog = RequestPipeline::Fixed(20);
    let mut rig = Rig::new(peer(profile, Role::Leecher));
    let conn = rig.join(1, Bitfield::full(PIECES));
    let sent = rig.say(conn, Message::Unchoke);
    assert_eq!(sent.len(), 18, "{sent:?}");
    assert!(rig.peer.endgame.is_some());
    assert!(rig.peer.conns.get(conn).unwrap().interested);
}

#[test]
fn a_peer_that_completes_drops_those_that_are_complete_and_keeps_the_others() {
    let mut profile = profile();
    profile.requests.backlog = RequestPipeline::Fixed(20);
    let mut rig = Rig::new(peer(profile, Role::Leecher));
    let seed = rig.join(1, Bitfield::full(PIECES));
    let leecher = rig.join(2, Bitfield::new(PIECES));
    rig.say(seed, Message::Unchoke);
    for (conn, asked) in rig.asked.clone() {
        let Message::Request { piece, begin, length } = asked else { continue };
        rig.say(conn, Message::Piece { piece, begin, length });
    }
    assert!(rig.peer.is_complete());
    assert_eq!(rig.conns.keys().collect::<Vec<_>>(), [&leecher]);
}

#[test]
fn a_seed_that_hides_makes_no_more_offers_than_slots_and_one_while_none_has_been_seen() {
    let mut rig = ns2(Role::Seed, |profile| profile.super_seeding = true);
    let mut offers = |remote| {
        let conn = rig.peer.accept(rig.now, PeerId(remote)).unwrap();
        rig.conns.insert(conn, (1 << 40, true));
        rig.peer.on_connected(rig.now, conn, 1 << 40);
        let sent = rig.say(conn, Message::Handshake(Extensions::NONE));
        let offer = |(_, message): &(ConnId, Message)| match message {
            Message::Have { piece } => Some(*piece),
            _ => None,
        };
        sent.iter().filter_map(offer).collect::<Vec<_>>()
    };
    // Four slots: all five pieces are offered, and none a second time.
    assert_eq!(
        (1..=6).map(&mut offers).collect::<Vec<_>>(),
        [vec![0], vec![1], vec![2], vec![3], vec![4], vec![]]
    );
}

/// A `modern` seed with blocks of 1000 bytes and two slots, one of them optimistic.
fn modern() -> Rig {
    let mut profile = named("modern").unwrap();
    profile.requests.block_bytes = 1000;
    profile.choker.slots = crate::profile::Slots::Fixed(2);
    let stream = RandomStream::new(1, "peer", 0);
    let peer =
        Peer::new(Arc::new(profile), torrent(), Role::Seed, PeerId(0), None, stream, Time::START);
    let mut rig = Rig::new(peer);
    rig.peer.start(rig.now);
    rig.drain();
    rig
}

#[test]
fn a_slot_of_modern_that_becomes_free_is_given_out_at_the_next_tick_and_the_period_begins_anew() {
    for disconnects in [true, false] {
        let mut rig = modern();
        let conns: Vec<_> = (1..=4).map(|remote| rig.join(remote, Bitfield::new(PIECES))).collect();
        rig.wait(Span::from_millis(3300));
        let unchoke = |conn| (conn, Message::Unchoke);
        assert_eq!(rig.say(conns[0], Message::Interested), [unchoke(conns[0])]);
        assert_eq!(rig.say(conns[1], Message::Interested), [unchoke(conns[1])]);
        assert_eq!(rig.say(conns[2], Message::Interested), [], "no slot is free");
        if disconnects {
            rig.conns.remove(&conns[0]);
            rig.peer.on_closed(rig.now, conns[0]);
            assert_eq!(rig.drain(), []);
        } else {
            let choke = (conns[0], Message::Choke);
            assert_eq!(rig.say(conns[0], Message::NotInterested), [choke]);
        }
        assert_eq!(rig.wait(Span::from_millis(699)), []);
        assert_eq!(rig.wait(Span::from_millis(1)), [unchoke(conns[2])], "4 s after its arrival");
        assert_eq!(rig.peer.round_at, Time::START + Span::from_secs(19));
    }
}

#[test]
fn the_optimistic_place_of_modern_has_a_time_of_its_own() {
    let mut rig = modern();
    let conns: Vec<_> = (1..=5).map(|remote| rig.join(remote, Bitfield::new(PIECES))).collect();
    conns.iter().for_each(|conn| drop(rig.say(*conn, Message::Interested)));
    let optimistic = |rig: &Rig| {
        let at = |conn: &&ConnId| rig.peer.conns.get(**conn).is_some_and(|c| c.optimistic);
        conns.iter().find(at).copied()
    };
    rig.wait(Span::from_secs(15));
    let first = optimistic(&rig).expect("the first round fills it");
    // The peer that gives most loses interest again and again: rounds come often, the place stays.
    let giver = *conns.iter().find(|conn| **conn != first).expect("there are five");
    let mut rounds = 0;
    while rig.now < Time::START + Span::from_millis(43_500) {
        let before = rig.peer.choker.round;
        rig.say(giver, Message::NotInterested);
        rig.say(giver, Message::Interested);
        rig.peer.conns.get_mut(giver).expect("it is there").down_since_round = 1;
        rig.wait(Span::from_secs(1));
        rounds += rig.peer.choker.round - before;
        assert_eq!(optimistic(&rig), Some(first), "at {} s", rig.now.seconds());
    }
    assert!(rounds > 10, "{rounds}");
    rig.wait(Span::from_secs(16));
    assert_ne!(optimistic(&rig), Some(first), "30 s after it was filled");
}

/// A seed that hides, and interested neighbours that know one offer each.
fn hiding(slots: u32, neighbours: u32) -> (Rig, Vec<ConnId>) {
    let mut rig = ns2(Role::Seed, |profile| {
        profile.super_seeding = true;
        profile.choker.slots = crate::profile::Slots::Fixed(slots);
    });
    let conns = (1..=neighbours).map(|remote| rig.join(remote, Bitfield::new(PIECES))).collect();
    (rig, conns)
}

#[test]
fn a_seed_that_hides_serves_no_more_than_its_slots() {
    let (mut rig, conns) = hiding(2, 4);
    for conn in &conns {
        let sent = rig.say(*conn, Message::Interested);
        let offers = sent.iter().filter(|(to, m)| to == conn && matches!(m, Message::Have { .. }));
        assert_eq!(offers.count(), 0, "who is interested has an offer already: {sent:?}");
    }
    assert_eq!(rig.peer.unchoked(), 2);
}

#[test]
fn who_has_not_passed_on_its_piece_comes_after_the_others() {
    let (mut rig, conns) = hiding(1, 3);
    let first = rig.peer.choker.order()[0];
    let other = *conns.iter().find(|conn| **conn != first).expect("there are three");
    rig.say(first, Message::Interested);
    rig.say(other, Message::Interested);
    let offered = rig.peer.super_seed.as_ref().expect("it hides").pieces_offered(first)[0];
    for begin in [0, 1000, 2000, 3000] {
        rig.say(first, request(offered, begin));
        rig.peer.on_done(rig.now, first);
        rig.drain();
    }
    let unchoked = |conn| !rig.peer.conns.get(conn).expect("it is there").choked;
    assert_eq!((unchoked(first), unchoked(other)), (false, true));
}

#[test]
fn what_waits_to_be_polled_is_known_ahead() {
    let mut rig = Rig::new(peer(profile(), Role::Seed));
    let conns: Vec<_> = (1..=3).map(|remote| rig.join(remote, Bitfield::new(PIECES))).collect();
    assert_eq!((rig.peer.actions_ahead(), rig.peer.connections()), (0, 3));
    rig.peer.tell_everybody(&Message::KeepAlive);
    assert_eq!(rig.peer.actions_ahead(), 3);
    assert_eq!(rig.peer.writes_ahead(2).collect::<Vec<_>>(), conns[..2]);
}

#[test]
fn a_seed_has_blocks_from_a_request_to_the_last_byte_and_knows_what_they_wait_for() {
    for name in ["mainline-4.0.2", "libtorrent"] {
        for disk in [false, true] {
            let mut profile = named(name).unwrap();
            profile.requests.block_bytes = 1000;
            let quota = profile.limiter.sharing == Sharing::Quota;
            let mut rig = Rig::new(peer(profile, Role::Seed));
            rig.peer.reads_disk = disk && quota;
            rig.peer.start(rig.now);
            let conn = rig.join(1, Bitfield::new(PIECES));
            rig.say(conn, Message::Interested);
            rig.wait(Span::from_secs(20));
            let stands = |rig: &Rig| {
                let Standing { download, has_blocks, limited } = rig.peer.standing();
                assert_eq!(download, Download::Complete);
                (has_blocks, limited)
            };
            assert_eq!(stands(&rig), (false, false), "{name}");
            // At 10 kB/s some of the blocks have to wait.
            for begin in [0, 1000, 2000, 3000] {
                rig.say(conn, request(0, begin));
                rig.say(conn, request(1, begin));
            }
            if rig.peer.reads_disk {
                assert_eq!(stands(&rig), (true, false), "{name}: they are being read");
                (0..8).for_each(|_| drop(rig.read(0)));
            }
            assert_eq!(stands(&rig), (true, true), "{name}");
            rig.wait(Span::from_secs(2));
            assert_eq!(stands(&rig), (false, false), "{name}: all are written");
            assert_eq!(rig.peer.bytes_up(), 8000, "{name}");
        }
    }
}

#[test]
fn a_leecher_stands_better_and_better_until_it_is_complete() {
    for name in ["mainline-4.0.2", "modern", "libtorrent"] {
        let mut rig = unlimited(name, Role::Leecher, |p| {
            p.requests.backlog = RequestPipeline::Fixed(20);
        });
        let download = |rig: &Rig| rig.peer.standing().download;
        assert_eq!(download(&rig), Download::Alone, "{name}");
        let conn = rig.join(1, Bitfield::new(PIECES));
        assert_eq!(download(&rig), Download::Uninterested, "{name}");
        rig.say(conn, Message::Unchoke);
        assert_eq!(download(&rig), Download::Uninterested, "{name}: it has nothing");
        rig.say(conn, Message::Choke);
        (0..PIECES).for_each(|piece| drop(rig.say(conn, Message::Have { piece })));
        assert_eq!(download(&rig), Download::Choked, "{name}");
        rig.say(conn, Message::Unchoke);
        assert_eq!(download(&rig), Download::Unchoked, "{name}");
        while let Some((_, Message::Request { piece, begin, length })) = rig.asked.pop() {
            rig.say(conn, Message::Piece { piece, begin, length });
        }
        assert_eq!(download(&rig), Download::Complete, "{name}");
    }
}

#[test]
fn headers_of_what_is_read_take_quota_and_without_a_limit_nothing_waits_for_it() {
    let mut sent = Vec::new();
    for read in [0, 1_460_000] {
        let mut profile = named("libtorrent").unwrap();
        profile.requests.block_bytes = 1000;
        let mut rig = Rig::new(peer(profile, Role::Seed));
        rig.peer.start(rig.now);
        let conn = rig.join(1, Bitfield::new(PIECES));
        rig.say(conn, Message::Interested);
        rig.wait(Span::from_secs(2));
        if read > 0 {
            // A thousand packets with 40 bytes of headers each: what four seconds are worth.
            rig.peer.on_received(rig.now, conn, read);
        }
        rig.wait(Span::from_secs(1));
        for piece in 0..4 {
            (0..4).for_each(|block| drop(rig.say(conn, request(piece, 1000 * block))));
        }
        rig.wait(Span::from_secs(2));
        sent.push(rig.peer.bytes_up());
        rig.peer.set_upload_limit(rig.now, None);
        rig.drain();
        assert_eq!(rig.peer.bytes_up(), 16_000);
    }
    assert!(sent[0] == 16_000 && sent[1] < 8000, "{sent:?}");
}
