//! The rules of ns-2's client, each with its switch.

use super::*;

#[test]
fn the_next_block_waits_until_the_transport_is_done_with_the_last() {
    for hand_over in [HandOver::Room, HandOver::Sent] {
        let mut rig = ns2(Role::Seed, |profile| profile.limiter.hand_over = hand_over);
        let conn = rig.join(1, Bitfield::new(PIECES));
        assert_eq!(rig.say(conn, Message::Interested), [(conn, Message::Unchoke)]);
        assert_eq!(rig.say(conn, request(0, 0)), [(conn, block(0))]);
        let second = rig.say(conn, request(0, 1000));
        if hand_over == HandOver::Room {
            assert_eq!(second, [(conn, block(1000))]);
            continue;
        }
        assert!(second.is_empty() && rig.peer.awaits_transport(conn));
        rig.peer.on_done(rig.now, conn);
        assert_eq!(rig.drain(), [(conn, block(1000))]);
        rig.peer.on_done(rig.now, conn);
        assert!(rig.drain().is_empty() && !rig.peer.awaits_transport(conn), "there is no more");
    }
}

#[test]
fn the_first_interest_begins_the_rounds_and_the_end_of_interest_ends_an_unchoke() {
    let mut rig = ns2(Role::Seed, |_| {});
    rig.wait(Span::from_secs(33));
    let conns: Vec<_> = (1..=5).map(|remote| rig.join(remote, Bitfield::new(PIECES))).collect();
    assert_eq!(rig.say(conns[0], Message::Interested), [(conns[0], Message::Unchoke)]);
    assert_eq!(rig.say(conns[1], Message::Interested), [], "it waits for the round");
    assert_eq!(rig.wait(Span::from_millis(9_999)), []);
    assert_eq!(rig.wait(Span::from_millis(1)), [(conns[1], Message::Unchoke)]);
    assert_eq!(rig.say(conns[1], Message::NotInterested), [(conns[1], Message::Choke)]);
}

#[test]
fn a_request_from_before_the_last_unchoke_is_ignored() {
    for stamped in [true, false] {
        let mut rig = ns2(Role::Seed, |profile| profile.requests.stamped = stamped);
        let conn = rig.join(1, Bitfield::new(PIECES));
        rig.say(conn, Message::Interested);
        rig.say(conn, Message::NotInterested);
        rig.say(conn, Message::Interested);
        rig.wait(Span::from_secs(10));
        let stamped_with = |unchoke| {
            let (piece, begin, length) = (0, 0, 1000);
            Message::StampedRequest { piece, begin, length, unchoke }
        };
        let late = rig.say(conn, stamped_with(1));
        assert_eq!(late.is_empty(), stamped, "{late:?}");
        for fresh in [stamped_with(2), request(0, 0)] {
            rig.peer.on_done(rig.now, conn);
            assert_eq!(rig.say(conn, fresh), [(conn, block(0))]);
        }
    }
}

#[test]
fn interest_in_what_is_lacking_outlasts_the_requests() {
    let one = || {
        let mut pieces = Bitfield::new(PIECES);
        pieces.set(4);
        pieces
    };
    for interest in [Interest::MissingPieces, Interest::FreeBlocks] {
        let mut rig = ns2(Role::Leecher, |profile| profile.requests.interest = interest);
        let (first, second) = (rig.join(1, one()), rig.join(2, one()));
        // The last piece has two blocks: both are requested from the first.
        let sent = rig.say(first, Message::Unchoke);
        let lost = sent.contains(&(second, Message::NotInterested));
        assert_eq!(lost, interest == Interest::FreeBlocks);
        rig.say(first, Message::Piece { piece: 4, begin: 0, length: 1000 });
        let sent = rig.say(first, Message::Piece { piece: 4, begin: 1000, length: 500 });
        let ends = [(first, Message::NotInterested), (second, Message::NotInterested)];
        let ends = ends.map(|end| sent.contains(&end));
        assert_eq!(ends, [true, interest == Interest::MissingPieces]);
    }
}

#[test]
fn what_a_choke_leaves_unanswered_may_wait_for_the_next_sign_of_life() {
    for reoffer in [true, false] {
        let mut rig = ns2(Role::Leecher, |profile| {
            profile.requests.reoffer = reoffer;
            profile.requests.backlog = RequestPipeline::Fixed(20);
        });
        let (first, second) =
            (rig.join(1, Bitfield::full(PIECES)), rig.join(2, Bitfield::full(PIECES)));
        rig.say(first, Message::Unchoke);
        assert_eq!(rig.say(second, Message::Unchoke), [], "all 18 blocks are asked for");
        let asked = rig.say(first, Message::Choke).len();
        assert_eq!(asked, if reoffer { 18 } else { 0 });
        assert_eq!(rig.peer.block_map.all_requested(), reoffer);
    }
}

#[test]
fn a_seed_that_hides_offers_piece_after_piece_and_then_shows_everything() {
    let mut rig = ns2(Role::Seed, |profile| profile.super_seeding = true);
    let offers = |sent: &[(ConnId, Message)]| -> Vec<(u32, u32)> {
        let offer = |(conn, message): &(ConnId, Message)| match message {
            Message::Have { piece } => Some((conn.0, *piece)),
            _ => None,
        };
        sent.iter().filter_map(offer).collect()
    };
    let conns: Vec<_> = (1..=2)
        .map(|remote| {
            let conn = rig.peer.accept(rig.now, PeerId(remote)).unwrap();
            rig.conns.insert(conn, (1 << 40, true));
            rig.peer.on_connected(rig.now, conn, 1 << 40);
            let greeting = rig.say(conn, Message::Handshake(Extensions::NONE));
            assert_eq!(offers(&greeting), [(conn.0, remote - 1)]);
            assert!(!greeting.iter().any(|(_, m)| matches!(m, Message::Bitfield(_))));
            conn
        })
        .collect();
    let mut all = rig.say(conns[0], Message::Interested);
    assert!(all.contains(&(conns[0], Message::Unchoke)));
    // After a whole piece of four blocks it is choked; no other peer waits, so it is served again.
    for begin in [0, 1000, 2000, 3000] {
        let sent = rig.say(conns[0], request(0, begin));
        let turns = sent.iter().filter(|(_, m)| matches!(m, Message::Choke | Message::Unchoke));
        assert_eq!(turns.count(), if begin == 3000 { 2 } else { 0 }, "{sent:?}");
        all.extend(sent);
        rig.peer.on_done(rig.now, conns[0]);
    }
    // The piece shows up at the second: the first has passed it on, and is worth another.
    all.extend(rig.say(conns[0], Message::Have { piece: 0 }));
    let passed = rig.say(conns[1], Message::Have { piece: 0 });
    assert!(offers(&passed).iter().any(|(conn, _)| *conn == 0), "{passed:?}");
    all.extend(passed);
    assert!(rig.peer.super_seed.is_some());
    for piece in 1..5 {
        all.extend(rig.say(conns[1], Message::Have { piece }));
    }
    assert!(rig.peer.super_seed.is_none(), "every piece has been seen");
    let mut known: Vec<u32> = offers(&all).into_iter().filter(|o| o.0 == 0).map(|o| o.1).collect();
    known.push(0);
    known.sort();
    known.dedup();
    assert_eq!(known, [0, 1, 2, 3, 4], "the first knows of everything now");
}
