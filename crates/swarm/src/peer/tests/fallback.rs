//! TCP where uTP failed, and connections without a handshake.

use super::*;

/// The next attempt: its number, its remote peer, and whether it has to be over TCP.
fn attempt(rig: &mut Rig) -> Option<(ConnId, u32, bool)> {
    match rig.peer.poll()? {
        Action::Connect { conn, remote, tcp } => {
            rig.conns.insert(conn, (0, false));
            Some((conn, remote.0, tcp))
        }
        other => panic!("{other:?}"),
    }
}

/// A leecher that opens a connection to peer 4, over what the driver prefers.
fn opening(change: impl FnOnce(&mut Profile)) -> (Rig, ConnId) {
    let mut rig = unlimited("libtorrent", Role::Leecher, change);
    rig.peer.on_peers(rig.now, INTERVAL, &[PeerId(4)]);
    let (conn, remote, tcp) = attempt(&mut rig).expect("it connects");
    assert_eq!((remote, tcp), (4, false));
    (rig, conn)
}

#[test]
fn who_was_not_reached_over_utp_is_tried_over_tcp_at_once_and_from_then_on() {
    let (mut rig, conn) = opening(|_| {});
    rig.now += Span::from_secs(3);
    rig.peer.on_utp_failed(rig.now, conn);
    assert_eq!(attempt(&mut rig), Some((conn, 4, true)), "at once, under the same number");
    // It fails, too: one failure, and a pause as after any.
    rig.conns.remove(&conn);
    rig.peer.on_closed(rig.now, conn);
    rig.drain();
    rig.now = rig.peer.next_timer().expect("it is tried again");
    while rig.conns.is_empty() {
        rig.peer.on_timer(rig.now);
        if let Some((_, remote, tcp)) = attempt(&mut rig) {
            assert_eq!((remote, tcp), (4, true));
        } else {
            rig.now = rig.peer.next_timer().expect("it is tried again");
        }
    }
    assert_eq!(rig.now.since(Time::START), Span::from_secs(3 + 2 * 60));
}

#[test]
fn who_is_reached_over_utp_after_all_is_not_tried_over_tcp_any_more() {
    let (mut rig, conn) = opening(|_| {});
    rig.peer.on_utp_failed(rig.now, conn);
    assert_eq!(attempt(&mut rig), Some((conn, 4, true)));
    rig.conns.remove(&conn);
    rig.peer.on_closed(rig.now, conn);
    let conn = rig.peer.accept(rig.now, PeerId(4)).expect("there is room");
    rig.peer.is_over_utp(conn);
    assert!(rig.peer.utp_failed.is_empty());
}

#[test]
fn without_the_rule_an_attempt_that_failed_is_lost() {
    let (mut rig, conn) = opening(|profile| profile.connections.tcp_fallback = false);
    rig.conns.remove(&conn);
    rig.peer.on_utp_failed(rig.now, conn);
    assert!(rig.peer.poll().is_none() && rig.peer.conns.live() == 0);
}

#[test]
fn a_connection_that_was_there_is_lost_as_ever() {
    let (mut rig, conn) = opening(|_| {});
    rig.conns.insert(conn, (1 << 40, true));
    rig.peer.is_over_utp(conn);
    rig.peer.on_connected(rig.now, conn, 1 << 40);
    rig.drain();
    rig.conns.remove(&conn);
    rig.peer.on_utp_failed(rig.now, conn);
    assert!(rig.peer.poll().is_none() && rig.peer.conns.live() == 0);
}

#[test]
fn who_connects_anew_replaces_a_connection_that_said_nothing() {
    // Its handshake never came, as the answer to its SYN was lost: the peer that opened it has given
    // it up.
    let mut rig = unlimited("libtorrent", Role::Leecher, |_| {});
    let first = rig.peer.accept(rig.now, PeerId(4)).expect("there is room");
    rig.peer.on_connected(rig.now, first, 1 << 40);
    let second = rig.peer.accept(rig.now, PeerId(4)).expect("the first is given up");
    assert_eq!(rig.peer.poll(), Some(Action::Close { conn: first }));
    assert_eq!(rig.peer.conns.live(), 1);
    assert_eq!(rig.peer.lost_candidates(), 0, "nobody knew whose it was");
    // One that has shaken hands stays.
    rig.conns.insert(second, (1 << 40, true));
    rig.peer.on_connected(rig.now, second, 1 << 40);
    rig.say(second, Message::Handshake(Extensions::NONE));
    assert_eq!(rig.peer.accept(rig.now, PeerId(4)), None);
}
