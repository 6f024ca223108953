//! The Fast extension: which messages go to which peer, what a choked peer may request, and what is
//! rejected.

use super::*;
use crate::fast_set::allowed_fast_set;

/// libtorrent; two of the five pieces are allowed.
fn libtorrent(role: Role, change: impl FnOnce(&mut Profile)) -> Rig {
    unlimited("libtorrent", role, |profile| {
        profile.fast.allowed_set = 2;
        profile.peer_exchange.enabled = false;
        profile.choker.unchoke_on_handshake = false;
        change(profile);
    })
}
/// An open connection from a peer that has offered what its handshake says; the messages that it
/// gets.
fn meet(rig: &mut Rig, remote: u32, handshake: Message) -> (ConnId, Vec<Message>) {
    let conn = rig.peer.accept(rig.now, PeerId(remote)).expect("there is room");
    rig.conns.insert(conn, (1 << 40, true));
    rig.peer.on_connected(rig.now, conn, 1 << 40);
    let said = said(rig, conn, handshake);
    (conn, said)
}
fn said(rig: &mut Rig, conn: ConnId, message: Message) -> Vec<Message> {
    rig.say(conn, message).into_iter().map(|(_, message)| message).collect()
}
fn allowed(remote: u32) -> Vec<u32> {
    allowed_fast_set(PeerId(remote), &torrent(), 2)
}
fn reject(piece: u32) -> Message {
    Message::Reject { piece, begin: 0, length: 1000 }
}

#[test]
fn a_newcomer_is_unchoked_with_the_handshake_if_something_is_here_and_a_slot_is_free() {
    let early = |role| {
        libtorrent(role, |p| {
            p.choker.slots = crate::profile::Slots::Fixed(1);
            p.choker.unchoke_on_handshake = true;
        })
    };
    let mut seed = early(Role::Seed);
    seed.peer.start(seed.now);
    seed.drain();
    let (first, told) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    assert_eq!(told, [Message::Handshake(Extensions::FAST), Message::HaveAll, Message::Unchoke]);
    // The slot is taken, though no peer has said that it is interested.
    let (second, told) = meet(&mut seed, 2, Message::Handshake(Extensions::FAST));
    assert_eq!(told, [Message::Handshake(Extensions::FAST), Message::HaveAll]);
    let told = said(&mut seed, second, Message::Interested);
    assert!(!told.contains(&Message::Unchoke), "{told:?}");
    // Until the next round.
    let sent = seed.wait(Span::from_secs(15));
    let mut changed: Vec<_> =
        sent.into_iter().filter(|(_, m)| matches!(m, Message::Choke | Message::Unchoke)).collect();
    changed.sort_by_key(|(conn, _)| *conn);
    assert_eq!(changed, [(first, Message::Choke), (second, Message::Unchoke)]);
    // A peer that did not listen yet gets it again.
    let mut seed = early(Role::Seed);
    let (first, _) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    let told = said(&mut seed, first, Message::Interested);
    assert_eq!(told.last(), Some(&Message::Unchoke));
    let mut leecher = early(Role::Leecher);
    let (_, told) = meet(&mut leecher, 1, Message::Handshake(Extensions::FAST));
    assert_eq!(told, [Message::Handshake(Extensions::FAST), Message::HaveNone]);
}

#[test]
fn all_or_nothing_is_told_in_a_word_to_those_who_offer_the_extension() {
    let mut seed = libtorrent(Role::Seed, |_| {});
    let (_, fast) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    assert_eq!(fast, [Message::Handshake(Extensions::FAST), Message::HaveAll]);
    let (_, slow) = meet(&mut seed, 2, Message::Handshake(Extensions::NONE));
    assert!(
        matches!(slow[..], [Message::Handshake(Extensions::FAST), Message::Bitfield(_)]),
        "{slow:?}"
    );
    let mut leecher = libtorrent(Role::Leecher, |_| {});
    let (_, fast) = meet(&mut leecher, 1, Message::Handshake(Extensions::FAST));
    assert_eq!(fast, [Message::Handshake(Extensions::FAST), Message::HaveNone]);
    let mut without = libtorrent(Role::Seed, |p| p.fast.enabled = false);
    let (conn, fast) = meet(&mut without, 1, Message::Handshake(Extensions::FAST));
    assert!(
        matches!(fast[..], [Message::Handshake(Extensions::NONE), Message::Bitfield(_)]),
        "{fast:?}"
    );
    said(&mut without, conn, Message::HaveAll);
    assert!(!without.conns.contains_key(&conn), "what was not agreed on ends the connection");
}

#[test]
fn the_first_interest_is_answered_with_the_allowed_pieces_and_they_are_served_while_choked() {
    let mut seed = libtorrent(Role::Seed, |p| p.choker.slots = crate::profile::Slots::Fixed(1));
    // A peer takes the only slot.
    let (first, _) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    let told = said(&mut seed, first, Message::Interested);
    let set = |remote| allowed(remote).into_iter().map(|piece| Message::AllowedFast { piece });
    assert_eq!(told, set(1).chain([Message::Unchoke]).collect::<Vec<_>>());
    let (second, _) = meet(&mut seed, 2, Message::Handshake(Extensions::FAST));
    assert_eq!(said(&mut seed, second, Message::Interested), set(2).collect::<Vec<_>>());
    said(&mut seed, second, Message::NotInterested);
    assert_eq!(said(&mut seed, second, Message::Interested), [], "told once");
    let [piece, _] = allowed(2)[..] else { panic!("two pieces") };
    let block = Message::Piece { piece, begin: 0, length: 1000 };
    assert_eq!(said(&mut seed, second, request(piece, 0)), [block]);
    let other = (0..PIECES).find(|piece| !allowed(2).contains(piece)).unwrap();
    // It was never unchoked: no request can have crossed a choke.
    assert_eq!(said(&mut seed, second, request(other, 0)), []);
    assert!(!seed.conns.contains_key(&second));
    let mut seed = libtorrent(Role::Seed, |p| {
        p.choker.slots = crate::profile::Slots::Fixed(1);
        p.fast.choked_request_ns = None;
    });
    let (first, _) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    said(&mut seed, first, Message::Interested);
    let (second, _) = meet(&mut seed, 2, Message::Handshake(Extensions::FAST));
    said(&mut seed, second, Message::Interested);
    assert_eq!(said(&mut seed, second, request(other, 0)), [reject(other)]);
}

/// `peer_connection::incoming_request`: a peer that keeps requesting is disconnected.
#[test]
fn an_allowed_piece_is_served_three_times_while_choked_and_no_more() {
    let mut seed = libtorrent(Role::Seed, |p| p.choker.slots = crate::profile::Slots::Fixed(1));
    let (first, _) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    said(&mut seed, first, Message::Interested);
    let (second, _) = meet(&mut seed, 2, Message::Handshake(Extensions::FAST));
    said(&mut seed, second, Message::Interested);
    let [piece, _] = allowed(2)[..] else { panic!("two pieces") };
    let block = [Message::Piece { piece, begin: 0, length: 1000 }];
    for _ in 0..3 * seed.peer.block_map.torrent().blocks(0) {
        assert_eq!(said(&mut seed, second, request(piece, 0)), block);
    }
    assert_eq!(said(&mut seed, second, request(piece, 0)), []);
    assert!(!seed.conns.contains_key(&second));
}

#[test]
fn a_choke_rejects_what_is_queued_and_requests_that_crossed_it_are_forgiven_for_two_seconds() {
    let mut seed = libtorrent(Role::Seed, |p| p.limiter.quota.low_watermark = 1);
    let (conn, _) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    said(&mut seed, conn, Message::Interested);
    seed.peer.on_space(seed.now, conn, 0);
    seed.conns.insert(conn, (0, true));
    let other: Vec<u32> = (0..PIECES).filter(|piece| !allowed(1).contains(piece)).collect();
    for piece in [other[0], other[1], allowed(1)[0]] {
        assert_eq!(said(&mut seed, conn, request(piece, 0)), []);
    }
    // The first block fills the send buffer; the choke follows it, and the second is rejected.
    said(&mut seed, conn, Message::NotInterested);
    seed.conns.insert(conn, (1 << 40, true));
    seed.peer.on_space(seed.now, conn, 1 << 40);
    let sent: Vec<_> = seed.drain().into_iter().map(|(_, message)| message).collect();
    let piece = |piece| Message::Piece { piece, begin: 0, length: 1000 };
    let expected = [piece(other[0]), Message::Choke, reject(other[1]), piece(allowed(1)[0])];
    assert_eq!(sent, expected);
    seed.wait(Span::from_secs(2));
    // A peer that requests is interested, and is unchoked for it: there is no other peer.
    assert_eq!(said(&mut seed, conn, request(other[1], 0)).last(), Some(&piece(other[1])));
}

#[test]
fn a_choked_leecher_asks_for_allowed_pieces_alone_and_a_reject_ends_that() {
    let mut leecher = libtorrent(Role::Leecher, |_| {});
    let (conn, _) = meet(&mut leecher, 1, Message::Handshake(Extensions::FAST));
    assert_eq!(said(&mut leecher, conn, Message::HaveAll), [Message::Interested]);
    let asked = said(&mut leecher, conn, Message::AllowedFast { piece: 3 });
    let requests: Vec<Message> = (0..4).map(|n| request(3, n * 1000)).collect();
    assert_eq!(asked, requests, "the queue begins with four");
    let rejected = said(&mut leecher, conn, reject(3));
    assert_eq!(rejected, [], "the piece is not allowed any more");
    // What went out is still answered.
    let block = Message::Piece { piece: 3, begin: 1000, length: 1000 };
    assert_eq!(said(&mut leecher, conn, block), []);
    assert_eq!(leecher.peer.bytes_wasted(), 0);
    let asked = said(&mut leecher, conn, Message::Unchoke);
    assert_eq!(asked.len(), 3, "five at most, and two are under way: {asked:?}");
    // A choke takes nothing back by itself.
    assert_eq!(said(&mut leecher, conn, Message::Choke), []);
    assert_eq!(
        said(&mut leecher, conn, Message::Piece { piece: 3, begin: 2000, length: 1000 }),
        []
    );
    assert_eq!(leecher.peer.bytes_wasted(), 0);
}

#[test]
fn an_allowed_piece_is_asked_for_when_its_owner_has_it() {
    let mut leecher = libtorrent(Role::Leecher, |_| {});
    let (conn, _) = meet(&mut leecher, 1, Message::Handshake(Extensions::FAST));
    said(&mut leecher, conn, Message::HaveNone);
    assert_eq!(said(&mut leecher, conn, Message::AllowedFast { piece: 2 }), []);
    let told = said(&mut leecher, conn, Message::Have { piece: 2 });
    assert_eq!(told[..2], [Message::Interested, request(2, 0)]);
    let told = said(&mut leecher, conn, Message::Have { piece: 1 });
    assert_eq!(told, [], "not allowed");
}

#[test]
fn the_queue_grows_by_one_for_each_block_and_then_follows_the_rate() {
    let mut leecher = libtorrent(Role::Leecher, |p| p.requests.end_game = false);
    let (conn, _) = meet(&mut leecher, 1, Message::Handshake(Extensions::FAST));
    said(&mut leecher, conn, Message::HaveAll);
    assert_eq!(said(&mut leecher, conn, Message::Unchoke).len(), 4);
    leecher.peer.on_received(leecher.now, conn, 1013);
    let (_, Message::Request { piece, begin, length }) = leecher.asked.remove(0) else {
        panic!("a request")
    };
    let more = said(&mut leecher, conn, Message::Piece { piece, begin, length });
    assert_eq!(more.len(), 2, "the place of the one that came, and one more");
    // The first second brought a block, the second none: the queue is worth three seconds at a low
    // rate now, and never less than two.
    leecher.now += Span::from_secs(4);
    leecher.asked.drain(..3);
    let (_, Message::Request { piece, begin, length }) = leecher.asked.remove(0) else {
        panic!("a request")
    };
    assert_eq!(said(&mut leecher, conn, Message::Piece { piece, begin, length }), []);
}

#[test]
fn a_silent_second_ends_the_growth_unless_the_neighbour_choked_us_in_it() {
    // How much it is asked for after a first block, silence, a choke, and an unchoke.
    let asked_after = |silence, choke| {
        let mut leecher = libtorrent(Role::Leecher, |p| p.requests.end_game = false);
        let conn = leecher.join(1, Bitfield::full(PIECES));
        said(&mut leecher, conn, Message::Unchoke);
        leecher.peer.on_received(leecher.now, conn, 1013);
        let (_, Message::Request { piece, begin, length }) = leecher.asked.remove(0) else {
            panic!("a request")
        };
        said(&mut leecher, conn, Message::Piece { piece, begin, length });
        leecher.wait(Span::from_secs(silence));
        said(&mut leecher, conn, Message::Choke);
        leecher.wait(Span::from_secs(choke));
        said(&mut leecher, conn, Message::Unchoke).len()
    };
    assert_eq!(asked_after(0, 0), 5, "four, and one for the block");
    assert_eq!(asked_after(0, 4), 5);
    assert_eq!(asked_after(2, 0), 2, "the queue follows the rate");
    assert_eq!(asked_after(2, 4), 2);
}

/// libtorrent's rates are of payload. With the header of its PIECE, a block a second would look like a
/// little more than one, and three seconds of it like three requests and not two.
#[test]
fn a_block_counts_without_its_header() {
    let mut leecher = libtorrent(Role::Leecher, |_| {});
    let (conn, _) = meet(&mut leecher, 1, Message::Handshake(Extensions::FAST));
    said(&mut leecher, conn, Message::HaveAll);
    let asked = said(&mut leecher, conn, Message::Unchoke);
    let Some(Message::Request { piece, begin, length, .. }) =
        asked.into_iter().find(|message| matches!(message, Message::Request { .. }))
    else {
        panic!("nothing is asked for")
    };
    let block = Message::Piece { piece, begin, length };
    let have = Message::Have { piece: 0 };
    for message in [&block, &have] {
        leecher.peer.on_received(leecher.now, conn, u64::from(message.size()));
        said(&mut leecher, conn, message.clone());
    }
    let counted =
        leecher.peer.conns.get(conn).and_then(|c| c.extras.as_ref()).map(|it| it.statistics);
    assert_eq!(counted.map(|it| it.down.this_second()), Some(length));

    let mut seed = libtorrent(Role::Seed, |_| {});
    let (conn, _) = meet(&mut seed, 1, Message::Handshake(Extensions::FAST));
    said(&mut seed, conn, Message::Interested);
    assert!(
        said(&mut seed, conn, request(0, 0)).iter().any(|m| matches!(m, Message::Piece { .. }))
    );
    let counted = seed.peer.conns.get(conn).and_then(|c| c.extras.as_ref()).map(|it| it.statistics);
    assert_eq!(counted.map(|it| it.up.this_second()), Some(1000));
}
