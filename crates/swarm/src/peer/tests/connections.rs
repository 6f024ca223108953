//! Which connections a peer keeps, replaces and closes.

use super::*;

#[test]
fn a_request_out_of_order_closes_the_connection() {
    let bad = [
        Message::Request { piece: 0, begin: 0, length: 20_000 },
        Message::Request { piece: 9, begin: 0, length: 1000 },
        Message::Request { piece: 0, begin: 3500, length: 1000 },
        Message::Have { piece: PIECES },
        Message::Handshake(Extensions::NONE),
        Message::Bitfield(Arc::new(Bitfield::new(PIECES))),
    ];
    for message in bad {
        let mut rig = Rig::new(peer(profile(), Role::Seed));
        let conn = rig.join(1, Bitfield::new(PIECES));
        rig.say(conn, Message::Interested);
        rig.say(conn, message.clone());
        assert!(rig.conns.is_empty(), "{message:?}");
    }
    let mut rig = Rig::new(peer(profile(), Role::Seed));
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, request(0, 0));
    assert!(rig.conns.is_empty(), "a request without interest");
}

#[test]
fn simultaneous_connections_leave_one() {
    let mut low = Rig::new(peer(profile(), Role::Leecher));
    low.peer.on_peers(Time::START, INTERVAL, &[PeerId(7)]);
    low.drain();
    assert_eq!(low.peer.accept(Time::START, PeerId(7)), None, "the lower number's stays");
    let stream = RandomStream::new(1, "peer", 0);
    let high = Peer::new(
        Arc::new(profile()),
        torrent(),
        Role::Leecher,
        PeerId(7),
        None,
        stream,
        Time::START,
    );
    let mut high = Rig::new(high);
    high.peer.on_peers(Time::START, INTERVAL, &[PeerId(0)]);
    high.drain();
    let conn = high.peer.accept(Time::START, PeerId(0)).unwrap();
    assert_eq!(high.peer.poll(), Some(Action::Close { conn: ConnId(0) }));
    assert_ne!(conn, ConnId(0), "numbers are not used again before the close is known");
}

#[test]
fn spares_replace_lost_connections() {
    let mut profile = profile();
    profile.connections.max_initiate = 2;
    let mut rig = Rig::new(peer(profile, Role::Leecher));
    rig.peer.on_peers(rig.now, INTERVAL, &[1, 2, 3, 4, 5, 6].map(PeerId));
    rig.drain();
    assert_eq!((rig.conns.len(), rig.peer.candidates.len()), (2, 2));
    rig.conns.remove(&ConnId(0));
    rig.peer.on_closed(rig.now, ConnId(0));
    assert!(matches!(rig.peer.poll(), Some(Action::Connect { remote: PeerId(4), .. })));
}

#[test]
fn a_silent_connection_is_closed_in_the_sweep_and_keepalives_go_out() {
    let mut rig = Rig::new(peer(profile(), Role::Seed));
    rig.peer.start(rig.now);
    rig.drain();
    rig.join(1, Bitfield::new(PIECES));
    let sent = rig.wait(Span::from_secs(301));
    assert_eq!(sent.iter().filter(|(_, m)| *m == Message::KeepAlive).count(), 2);
    assert_eq!(rig.conns.len(), 1);
    rig.wait(Span::from_secs(60));
    assert_eq!(rig.conns.len(), 0);
}

#[test]
fn seeds_drop_seeds_unless_told_otherwise() {
    for drop in [true, false] {
        let mut profile = profile();
        profile.connections.drop_seed_to_seed = drop;
        let mut rig = Rig::new(peer(profile, Role::Seed));
        rig.join(1, Bitfield::full(PIECES));
        assert_eq!(rig.conns.is_empty(), drop);
    }
}

/// The last piece that a neighbour lacked is the only one that we lack.
#[test]
fn libtorrent_leaves_a_neighbour_that_becomes_a_seed_unless_it_was_interesting() {
    let all_from = |first: u32| {
        let mut pieces = Bitfield::new(PIECES);
        for piece in first..PIECES {
            pieces.set(piece);
        }
        pieces
    };
    for (drop, lacking, stays) in [(true, 1, false), (false, 1, true), (true, 2, true)] {
        let keeps = |p: &mut Profile| p.connections.drop_new_seeds = drop;
        let mut rig = unlimited("libtorrent", Role::Leecher, keeps);
        let source = rig.join(1, all_from(lacking));
        let mut next = asked(&rig.say(source, Message::Unchoke), source);
        while let Some((piece, begin, length)) = next.pop() {
            let sent = rig.say(source, Message::Piece { piece, begin, length });
            next.extend(asked(&sent, source));
        }
        let neighbour = rig.join(2, all_from(1));
        rig.say(neighbour, Message::Have { piece: 0 });
        assert_eq!(rig.conns.contains_key(&neighbour), stays, "{drop} {lacking}");
    }
}

#[test]
fn leaving_closes_everything_and_nothing_happens_after() {
    let mut rig = Rig::new(peer(profile(), Role::Seed));
    rig.peer.start(rig.now);
    rig.drain();
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    rig.peer.leave(rig.now);
    rig.drain();
    assert!(rig.conns.is_empty() && rig.peer.is_gone());
    assert_eq!(rig.peer.next_timer(), None);
    assert_eq!(rig.peer.accept(rig.now, PeerId(2)), None);
    rig.peer.on_peers(rig.now, INTERVAL, &[PeerId(3)]);
    rig.peer.start(rig.now);
    assert_eq!(rig.peer.poll(), None);
}

/// How many connections a peer of this profile has to ten others, at once and after each of six seconds.
fn opened_by_second(profile: Profile) -> Vec<usize> {
    let mut rig = Rig::new(peer(profile, Role::Leecher));
    rig.peer.start(rig.now);
    rig.drain();
    rig.peer.on_peers(rig.now, INTERVAL, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(PeerId));
    rig.drain();
    let mut opened = vec![rig.conns.len()];
    for _ in 0..6 {
        rig.wait(Span::from_secs(1));
        opened.push(rig.conns.len());
    }
    opened
}

/// libtorrent's `torrent_connect_boost` and `connection_speed`, here 3 and 2.
#[test]
fn some_connections_are_opened_at_once_and_then_so_many_a_second() {
    let mut profile = named("libtorrent").unwrap();
    profile.requests.block_bytes = 1000;
    profile.connections.opened_per_second = Some(2);
    profile.connections.opened_at_once = 3;
    // The seconds that follow make up for the three.
    assert_eq!(opened_by_second(profile), [3, 3, 4, 6, 8, 10, 10]);
}

/// libtorrent's `smooth_connects`.
#[test]
fn no_more_are_opened_at_a_tick_than_half_of_what_there_is_room_for() {
    let mut profile = named("libtorrent").unwrap();
    profile.requests.block_bytes = 1000;
    profile.connections.opened_per_second = Some(30);
    profile.connections.opened_at_once = 0;
    profile.connections.max_initiate = 9;
    assert_eq!(opened_by_second(profile), [0, 5, 7, 8, 9, 9, 9]);
}

/// libtorrent's `min_reconnect_time` of 60 s, and as much longer for each failure, of which there may be two.
#[test]
fn a_lost_neighbour_is_tried_again_later_and_later() {
    let mut profile = named("libtorrent").unwrap();
    profile.requests.block_bytes = 1000;
    let attempts = |profile: Profile| {
        let mut rig = Rig::new(peer(profile, Role::Leecher));
        rig.peer.start(rig.now);
        rig.drain();
        let conn = rig.join(1, Bitfield::new(PIECES));
        rig.conns.remove(&conn);
        rig.peer.on_closed(rig.now, conn);
        rig.drain();
        let mut attempts = Vec::new();
        for second in 1..=600 {
            rig.wait(Span::from_secs(1));
            // No answer comes.
            for (conn, _) in std::mem::take(&mut rig.conns) {
                attempts.push(second);
                rig.peer.on_closed(rig.now, conn);
            }
            rig.drain();
        }
        attempts
    };
    // 60 s after the loss, 120 s after the first failure, 180 s after the second; three are too many.
    assert_eq!(attempts(profile.clone()), [60, 180, 360]);
    profile.connections.reconnect_ns = None;
    assert!(attempts(profile).is_empty());
}

/// The blocks that one neighbour is asked for: piece, first byte, bytes.
fn asked(sent: &[(ConnId, Message)], of: ConnId) -> Vec<(u32, u32, u32)> {
    let requests = sent.iter().filter_map(|(conn, message)| match message {
        Message::Request { piece, begin, length } if *conn == of => Some((*piece, *begin, *length)),
        _ => None,
    });
    requests.collect()
}

/// The only neighbour falls silent: what it owes last is requested from another, and taken if the first sends it
/// after all.
#[test]
fn a_request_that_was_given_up_is_made_to_another_and_taken_of_either() {
    let mut rig = unlimited("libtorrent", Role::Leecher, |_| ());
    let conn = rig.join(1, Bitfield::full(PIECES));
    let mut sent: Vec<_> = rig.say(conn, Message::Unchoke);
    // It brings everything but one block.
    let mut left = rig.peer.block_map.torrent().bytes();
    let (piece, begin, length) = loop {
        let Some(&(piece, begin, length)) = asked(&sent, conn).first() else {
            panic!("nothing is asked for, and {left} bytes are left");
        };
        if left <= u64::from(length) {
            break (piece, begin, length);
        }
        left -= u64::from(length);
        sent.retain(|(_, m)| *m != Message::Request { piece, begin, length });
        sent.extend(rig.say(conn, Message::Piece { piece, begin, length }));
    };
    let mut silence = Vec::new();
    for _ in 0..6 {
        silence.extend(rig.wait(Span::from_secs(10)));
        silence.extend(rig.say(conn, Message::KeepAlive));
    }
    assert!(!silence.iter().any(|(_, message)| matches!(message, Message::Cancel { .. })));
    assert_eq!(asked(&silence, conn), [], "it owes it still");
    let other = rig.join(2, Bitfield::full(PIECES));
    let sent = rig.say(other, Message::Unchoke);
    assert_eq!(asked(&sent, other), [(piece, begin, length)]);
    rig.say(conn, Message::Piece { piece, begin, length });
    assert!(rig.peer.is_complete());
}

/// What two were asked for comes twice, and then something else is asked for.
#[test]
fn libtorrent_cancels_nothing_that_it_asked_for_twice() {
    let mut rig = unlimited("libtorrent", Role::Leecher, |_| ());
    let (busy, other) = (rig.join(1, Bitfield::full(PIECES)), rig.join(2, Bitfield::full(PIECES)));
    let owed = asked(&rig.say(busy, Message::Unchoke), busy);
    let mut next = asked(&rig.say(other, Message::Unchoke), other);
    let (piece, begin, length) = loop {
        let Some(block) = next.pop() else { panic!("nothing is doubled") };
        if owed.contains(&block) {
            break block;
        }
        let (piece, begin, length) = block;
        next.extend(asked(&rig.say(other, Message::Piece { piece, begin, length }), other));
    };
    let sent = rig.say(busy, Message::Piece { piece, begin, length });
    assert!(!sent.iter().any(|(_, message)| matches!(message, Message::Cancel { .. })), "{sent:?}");
    let sent = rig.say(other, Message::Piece { piece, begin, length });
    let again = asked(&sent, other);
    assert!(again.len() == 1 && owed.contains(&again[0]) && again[0] != (piece, begin, length));
}

/// All that is left was requested from one neighbour, and what the other was asked for as well came from the
/// first: when the first leaves, the rest is requested from the other.
#[test]
fn what_a_lost_neighbour_owed_is_asked_of_one_that_was_left_without_a_request() {
    let cancels = |p: &mut Profile| p.requests.cancel_doubles = true;
    let mut rig = unlimited("libtorrent", Role::Leecher, cancels);
    let (busy, other) = (rig.join(1, Bitfield::full(PIECES)), rig.join(2, Bitfield::full(PIECES)));
    let owed = asked(&rig.say(busy, Message::Unchoke), busy);
    assert!(owed.len() > 1, "{owed:?}");
    // The other brings all the rest, and is asked for a block that the first owes.
    let mut next = asked(&rig.say(other, Message::Unchoke), other);
    let doubled = loop {
        let Some((piece, begin, length)) = next.pop() else { panic!("nothing is doubled") };
        if owed.contains(&(piece, begin, length)) {
            break (piece, begin, length);
        }
        next.extend(asked(&rig.say(other, Message::Piece { piece, begin, length }), other));
    };
    assert!(next.is_empty(), "{next:?}");
    let (piece, begin, length) = doubled;
    let sent = rig.say(busy, Message::Piece { piece, begin, length });
    assert!(sent.contains(&(other, Message::Cancel { piece, begin, length })), "{sent:?}");
    rig.conns.remove(&busy);
    rig.peer.on_closed(rig.now, busy);
    let again = asked(&rig.wait(Span::from_secs(6)), other);
    assert!(again.iter().all(|block| owed.contains(block) && *block != doubled), "{again:?}");
    assert!(!again.is_empty());
}
