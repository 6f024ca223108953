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

/// libtorrent's `torrent_connect_boost` and `connection_speed`, here 3 and 2.
#[test]
fn some_connections_are_opened_at_once_and_then_so_many_a_second() {
    let mut profile = named("libtorrent").unwrap();
    profile.requests.block_bytes = 1000;
    profile.connections.opened_per_second = Some(2);
    profile.connections.opened_at_once = 3;
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
    // The seconds that follow make up for the three.
    assert_eq!(opened, [3, 3, 4, 6, 8, 10, 10]);
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
            // Nobody answers.
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

/// The last neighbour, slow for a while: its request is given up, and nobody else has the block.
#[test]
fn a_request_that_was_given_up_is_made_again() {
    let mut rig = unlimited("libtorrent", Role::Leecher, |_| ());
    let conn = rig.join(1, Bitfield::full(PIECES));
    let mut asked: Vec<_> = rig.say(conn, Message::Unchoke);
    let requests = |sent: &[(ConnId, Message)]| {
        sent.iter().filter(|(_, message)| matches!(message, Message::Request { .. })).count()
    };
    // It brings everything but one block.
    let mut left = rig.peer.block_map.torrent().bytes();
    while left > 1000 {
        let next = asked.iter().position(|(_, m)| matches!(m, Message::Request { .. }));
        let Some((_, Message::Request { piece, begin, length })) = next.map(|at| asked.remove(at))
        else {
            panic!("nothing is asked for, and {left} bytes are left");
        };
        left -= u64::from(length);
        asked.extend(rig.say(conn, Message::Piece { piece, begin, length }));
    }
    let mut again = Vec::new();
    for _ in 0..6 {
        again.extend(rig.wait(Span::from_secs(10)));
        again.extend(rig.say(conn, Message::KeepAlive));
    }
    assert!(again.iter().any(|(_, message)| matches!(message, Message::Cancel { .. })));
    assert!(requests(&again) > 0, "{again:?}");
}

/// All that is left was asked of one neighbour, and what the other was asked for as well came from the first:
/// when the first leaves, the other is asked for the rest.
#[test]
fn what_a_lost_neighbour_owed_is_asked_of_one_that_was_left_without_a_request() {
    let mut rig = unlimited("libtorrent", Role::Leecher, |_| ());
    let (busy, other) = (rig.join(1, Bitfield::full(PIECES)), rig.join(2, Bitfield::full(PIECES)));
    let asked = |sent: Vec<(ConnId, Message)>, of: ConnId| {
        let requests = sent.into_iter().filter_map(move |(conn, message)| match message {
            Message::Request { piece, begin, length } if conn == of => Some((piece, begin, length)),
            _ => None,
        });
        requests.collect::<Vec<_>>()
    };
    let owed = asked(rig.say(busy, Message::Unchoke), busy);
    assert!(owed.len() > 1, "{owed:?}");
    // The other brings all the rest, and is asked for a block that the first owes.
    let mut next = asked(rig.say(other, Message::Unchoke), other);
    let doubled = loop {
        let Some((piece, begin, length)) = next.pop() else { panic!("nothing is doubled") };
        if owed.contains(&(piece, begin, length)) {
            break (piece, begin, length);
        }
        next.extend(asked(rig.say(other, Message::Piece { piece, begin, length }), other));
    };
    assert!(next.is_empty(), "{next:?}");
    let (piece, begin, length) = doubled;
    let sent = rig.say(busy, Message::Piece { piece, begin, length });
    assert!(sent.contains(&(other, Message::Cancel { piece, begin, length })), "{sent:?}");
    rig.conns.remove(&busy);
    rig.peer.on_closed(rig.now, busy);
    let again = asked(rig.wait(Span::from_secs(6)), other);
    assert!(again.iter().all(|block| owed.contains(block) && *block != doubled), "{again:?}");
    assert!(!again.is_empty());
}
