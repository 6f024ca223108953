//! Which peer suggests what and when, which follows, and blocks that have to be read first.

use super::*;

fn libtorrent(role: Role, change: impl FnOnce(&mut Profile)) -> Rig {
    unlimited("libtorrent", role, |profile| {
        profile.fast.allowed_set = 0;
        profile.fast.suggest = SuggestMode::ReadCache;
        profile.choker.unchoke_on_handshake = false;
        change(profile);
    })
}
/// An open connection from a client that offers the extension.
fn meet(rig: &mut Rig, remote: u32) -> ConnId {
    let conn = rig.peer.accept(rig.now, PeerId(remote)).expect("there is room");
    rig.conns.insert(conn, (1 << 40, true));
    rig.peer.on_connected(rig.now, conn, 1 << 40);
    rig.say(conn, Message::Handshake(Extensions::FAST));
    conn
}
fn said(rig: &mut Rig, conn: ConnId, message: Message) -> Vec<Message> {
    rig.say(conn, message).into_iter().map(|(_, message)| message).collect()
}
fn suggest(piece: u32) -> Message {
    Message::Suggest { piece }
}
fn sends(piece: u32) -> Message {
    Message::Piece { piece, begin: 0, length: 1000 }
}

/// libtorrent 2.1.1 says the same to clients that say this: `tests/clients/test_suggestions.py`.
#[test]
fn what_was_sent_is_suggested_before_the_unchoke_and_when_a_suggested_piece_is_there() {
    let mut seed = libtorrent(Role::Seed, |_| {});
    let first = meet(&mut seed, 1);
    assert_eq!(said(&mut seed, first, Message::Interested), [Message::Unchoke], "nothing was read");
    for piece in [0, 3, 1] {
        assert_eq!(said(&mut seed, first, request(piece, 0)), [sends(piece)]);
    }
    let second = meet(&mut seed, 2);
    said(&mut seed, second, Message::HaveNone);
    let told = said(&mut seed, second, Message::Interested);
    assert_eq!(told, [suggest(3), suggest(1), Message::Unchoke], "the latest last");
    assert_eq!(said(&mut seed, second, Message::Have { piece: 4 }), [], "that was not suggested");
    assert_eq!(said(&mut seed, second, Message::Have { piece: 1 }), [suggest(0)]);
    assert_eq!(said(&mut seed, second, Message::Have { piece: 3 }), [], "nothing is left");
    // A peer that was unchoked before anything was read gets no suggestions.
    assert_eq!(said(&mut seed, first, Message::Have { piece: 3 }), []);
    // What others have is no candidate any more; what stood by before goes on to.
    said(&mut seed, first, request(4, 0));
    said(&mut seed, first, request(2, 0));
    let third = meet(&mut seed, 3);
    said(&mut seed, third, Message::HaveNone);
    let told = said(&mut seed, third, Message::Interested);
    assert_eq!(told, [suggest(1), suggest(2), Message::Unchoke]);
}

#[test]
fn what_would_be_said_in_the_handshake_is_lost_and_counts() {
    let mut seed = libtorrent(Role::Seed, |p| p.choker.unchoke_on_handshake = true);
    let first = meet(&mut seed, 1);
    said(&mut seed, first, Message::Interested);
    for piece in [0, 3, 1] {
        said(&mut seed, first, request(piece, 0));
    }
    let second = meet(&mut seed, 2);
    assert_eq!(said(&mut seed, second, Message::HaveNone), []);
    assert_eq!(said(&mut seed, second, Message::Interested), [Message::Unchoke], "once more");
    assert_eq!(said(&mut seed, second, Message::Have { piece: 1 }), [suggest(0)]);
}

#[test]
fn who_does_not_offer_the_extension_and_who_is_choked_is_told_of_nothing() {
    let mut seed = libtorrent(Role::Seed, |p| p.choker.slots = crate::profile::Slots::Fixed(2));
    let first = meet(&mut seed, 1);
    said(&mut seed, first, Message::Interested);
    said(&mut seed, first, request(2, 0));
    let plain = seed.join(2, Bitfield::new(PIECES));
    assert_eq!(said(&mut seed, plain, Message::Interested), [Message::Unchoke]);
    let third = meet(&mut seed, 3);
    assert_eq!(said(&mut seed, third, Message::Interested), []);
    let mut silent = libtorrent(Role::Seed, |p| p.fast.suggest = SuggestMode::None);
    let first = meet(&mut silent, 1);
    said(&mut silent, first, Message::Interested);
    said(&mut silent, first, request(2, 0));
    let second = meet(&mut silent, 2);
    assert_eq!(said(&mut silent, second, Message::Interested), [Message::Unchoke]);
}

#[test]
fn the_latest_suggestion_is_asked_for_first_and_nonsense_is_let_be() {
    let asks = |follow, suggestions: &[u32]| {
        let mut leecher = libtorrent(Role::Leecher, |p| {
            p.fast.follow_suggestions = follow;
            p.requests.backlog = RequestPipeline::Fixed(8);
        });
        let seed = meet(&mut leecher, 1);
        said(&mut leecher, seed, Message::HaveAll);
        for piece in suggestions {
            assert_eq!(said(&mut leecher, seed, suggest(*piece)), [], "nothing is asked for yet");
        }
        let asked = said(&mut leecher, seed, Message::Unchoke);
        let mut pieces: Vec<u32> = asked
            .iter()
            .filter_map(|message| match message {
                Message::Request { piece, .. } => Some(*piece),
                _ => None,
            })
            .collect();
        assert_eq!(pieces.len(), 8);
        pieces.dedup();
        pieces
    };
    for (a, b) in [(0, 1), (1, 0), (2, 3), (3, 2), (1, 3)] {
        assert_eq!(asks(true, &[a, b]), [b, a]);
        assert_eq!(asks(true, &[a, PIECES, b, u32::MAX]), [b, a]);
        // A flood pushes out what came first; sixteen and one more are remembered.
        let flood: Vec<u32> = [a].into_iter().chain([b; 17]).collect();
        assert_eq!(asks(true, &flood)[0], b);
        assert_eq!(asks(true, &flood), asks(true, &[b]));
        assert_eq!(asks(false, &[a, b]), asks(false, &[]));
    }
}

#[test]
fn a_seed_with_a_disk_sends_a_block_when_it_has_been_read() {
    let mut seed = libtorrent(Role::Seed, |_| {});
    seed.peer.reads_disk = true;
    let first = meet(&mut seed, 1);
    said(&mut seed, first, Message::Interested);
    assert_eq!(said(&mut seed, first, request(2, 0)), []);
    assert_eq!(said(&mut seed, first, request(4, 0)), []);
    assert_eq!(seed.reads.len(), 2);
    let second = meet(&mut seed, 2);
    assert_eq!(said(&mut seed, second, Message::Interested), [Message::Unchoke], "none was read");
    // In the order in which the disk brings them.
    assert_eq!(seed.read(1), [(first, sends(4))]);
    let third = meet(&mut seed, 3);
    assert_eq!(said(&mut seed, third, Message::Interested), [suggest(4), Message::Unchoke]);
    // What comes for a connection that is gone is nothing to the next one of its number.
    seed.conns.remove(&first);
    seed.peer.on_closed(seed.now, first);
    seed.drain();
    assert_eq!(meet(&mut seed, 4), first);
    assert_eq!(seed.read(0), []);
}

#[test]
fn no_more_is_read_than_fits_the_send_buffer_and_what_is_under_way_survives_a_choke() {
    let mut seed = libtorrent(Role::Seed, |p| {
        p.limiter.quota.low_watermark = 2000;
        p.limiter.quota.watermark = 2000;
    });
    seed.peer.reads_disk = true;
    let conn = meet(&mut seed, 1);
    said(&mut seed, conn, Message::Interested);
    for begin in [0, 1000, 2000] {
        said(&mut seed, conn, request(1, begin));
    }
    assert_eq!(seed.reads.len(), 2);
    assert_eq!(seed.read(0), [(conn, sends(1))]);
    assert_eq!(seed.reads.len(), 2, "the third one follows");
    seed.peer.set_upload_limit(seed.now, UploadLimit::Nothing);
    seed.drain();
    assert_eq!(seed.peer.conns.get(conn).map(|c| c.queued()), Some(0));
    assert_eq!(seed.read(0).len() + seed.read(0).len(), 2);
}
