//! Peer exchange (BEP 11), the turnover of neighbours, and unwanted connections.

use super::*;
use crate::peer_exchange::{Neighbour, PeerExchange};

const BOTH: Extensions = Extensions { fast: true, protocol: true };

fn rig(change: impl FnOnce(&mut Profile)) -> Rig {
    unlimited("libtorrent", Role::Leecher, change)
}
/// A peer that does not mind silence.
fn patient(change: impl FnOnce(&mut Profile)) -> Rig {
    rig(|profile| {
        profile.connections.timeout_ns = Span::from_secs(3600);
        change(profile);
    })
}
/// A peer that understands peer exchange and has nothing connects.
fn meet(rig: &mut Rig, remote: u32) -> ConnId {
    let conn = rig.peer.accept(rig.now, PeerId(remote)).expect("there is room");
    rig.conns.insert(conn, (1 << 40, true));
    rig.peer.on_connected(rig.now, conn, 1 << 40);
    rig.say(conn, Message::Handshake(BOTH));
    rig.say(conn, Message::HaveNone);
    rig.say(conn, Message::ExtensionHandshake);
    conn
}
fn lists(sent: &[(ConnId, Message)], conn: ConnId) -> Vec<(Vec<u32>, Vec<u32>)> {
    let messages = sent.iter().filter(|(to, _)| *to == conn).map(|(_, message)| message);
    let exchanged = messages.filter_map(|message| match message {
        Message::PeerExchange(peers) => Some((
            peers.added().iter().map(|it| it.peer.0).collect(),
            peers.dropped().iter().map(|it| it.0).collect(),
        )),
        _ => None,
    });
    exchanged.collect()
}
fn told(added: &[u32], dropped: &[u32]) -> Message {
    let neighbour = |peer: &u32| Neighbour { peer: PeerId(*peer), is_seed: false };
    let dropped = dropped.iter().map(|peer| PeerId(*peer)).collect();
    Message::PeerExchange(Arc::new(PeerExchange::new(
        added.iter().map(neighbour).collect(),
        dropped,
    )))
}

#[test]
fn a_neighbour_gets_a_list_at_the_next_tick_and_then_what_changes_once_a_minute() {
    let mut rig = patient(|_| ());
    let first = meet(&mut rig, 1);
    assert_eq!(lists(&rig.wait(Span::from_secs(10)), first), [], "nobody to tell it of");
    let second = meet(&mut rig, 2);
    let sent = rig.wait(Span::from_secs(1));
    assert_eq!(lists(&sent, first), [(vec![1, 2], vec![])]);
    assert_eq!(lists(&sent, second), [(vec![1, 2], vec![])]);
    meet(&mut rig, 3);
    // The difference is to the one before, which knew the first alone, and not to the list.
    let sent = rig.wait(Span::from_secs(60));
    assert_eq!(lists(&sent, first), [(vec![2, 3], vec![])]);
    rig.conns.remove(&second);
    rig.peer.on_closed(rig.now, second);
    let sent = rig.wait(Span::from_secs(60));
    assert_eq!(lists(&sent, first), [(vec![], vec![2])]);
    assert_eq!(lists(&rig.wait(Span::from_secs(300)), first), [], "nothing changes any more");
}

#[test]
fn who_does_not_speak_the_protocol_is_told_nothing_and_not_named() {
    let mut rig = rig(|_| ());
    let old = rig.join(9, Bitfield::new(PIECES));
    let first = meet(&mut rig, 1);
    let sent = rig.wait(Span::from_secs(100));
    assert_eq!(lists(&sent, old), []);
    assert_eq!(lists(&sent, first), [(vec![1], vec![])], "nobody knows where peer 9 listens");
    let mut private = unlimited("libtorrent", Role::Leecher, |it| it.peer_exchange.enabled = false);
    let (first, _) = (meet(&mut private, 1), meet(&mut private, 2));
    assert_eq!(lists(&private.wait(Span::from_secs(100)), first), []);
}

#[test]
fn who_is_named_is_connected_to_and_only_so_many_of_one_neighbour() {
    let mut rig = rig(|profile| {
        profile.peer_exchange.max_named = 3;
        profile.connections.opened_per_second = None;
    });
    let conn = meet(&mut rig, 1);
    rig.say(conn, told(&[0, 1, 5], &[]));
    let connected = |rig: &Rig| -> Vec<u32> {
        let mut all: Vec<_> = rig.peer.conns.iter().map(|(_, c)| c.remote.0).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(connected(&rig), [1, 5], "neither itself nor a neighbour anew");
    rig.say(conn, told(&[6, 7], &[]));
    assert_eq!(connected(&rig), [1, 5], "it has named three");
    rig.say(conn, told(&[6, 7], &[0]));
    assert_eq!(connected(&rig), [1, 5, 6]);
}

#[test]
fn with_a_full_house_the_least_useful_make_room_when_there_are_others() {
    let crowd = |others: &[u32]| {
        let mut rig = rig(|profile| {
            profile.connections.max_connections = 10;
            profile.connections.max_initiate = 10;
        });
        let conns: Vec<_> = (1..=9).map(|remote| meet(&mut rig, remote)).collect();
        // All but the last two of them have something that is wanted.
        let (wanted, idle) = conns.split_at(7);
        for conn in wanted {
            rig.say(*conn, Message::Have { piece: 0 });
        }
        let full = meet(&mut rig, 10);
        rig.say(full, Message::Have { piece: 0 });
        let named: Vec<_> = others.iter().map(|peer| PeerId(*peer)).collect();
        rig.peer.on_peers(rig.now, INTERVAL, &named);
        rig.drain();
        rig.wait(Span::from_secs(89));
        let before = rig.conns.len();
        rig.wait(Span::from_secs(1));
        let gone = idle.iter().filter(|conn| !rig.conns.contains_key(conn)).count();
        (before, rig.conns.len(), gone)
    };
    assert_eq!(crowd(&[]), (10, 10, 0), "nobody to take a place");
    assert_eq!(crowd(&[50]), (10, 9, 1), "4 % of ten, and one at least");
}

#[test]
fn two_who_want_nothing_of_each_other_part_when_places_are_scarce() {
    let left = |max: u32| {
        let mut rig = patient(|profile| {
            profile.connections.max_connections = max;
            profile.connections.turnover_ns = None;
        });
        let (idle, wanted) = (meet(&mut rig, 1), meet(&mut rig, 2));
        rig.say(wanted, Message::Have { piece: 0 });
        rig.wait(Span::from_secs(601));
        (rig.conns.contains_key(&idle), rig.conns.contains_key(&wanted))
    };
    assert_eq!(left(7), (false, true));
    assert_eq!(left(8), (true, true));
}
