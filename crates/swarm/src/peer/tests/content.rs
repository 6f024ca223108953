//! What a driver with bytes needs: pieces that are here, pieces that fail, the message that bytes belong to.

use super::*;

#[test]
fn pieces_that_are_here_are_not_asked_for_and_are_told() {
    let mut here = Bitfield::new(PIECES);
    [0, 2, 3].iter().for_each(|piece| _ = here.set(*piece));
    let mut rig = Rig::new(peer(profile(), Role::Leecher).with_pieces(&here));
    assert_eq!(rig.peer.pieces_have(), 3);
    rig.peer.start(rig.now);
    rig.drain();
    let conn = rig.join(1, Bitfield::full(PIECES));
    let sent = rig.say(conn, Message::Unchoke);
    let asked = sent.iter().filter_map(|(_, message)| match message {
        Message::Request { piece, .. } => Some(*piece),
        _ => None,
    });
    assert!(asked.clone().count() > 0 && asked.clone().all(|piece| [1, 4].contains(&piece)));
    let whole = peer(profile(), Role::Leecher).with_pieces(&Bitfield::full(PIECES));
    assert!(whole.is_complete());
}

/// Two pieces alternately, of which the first to be whole fails once: of one neighbour, in the end game and before
/// it.
#[test]
fn a_piece_that_failed_is_asked_for_again() {
    for missing in [1, 2] {
        let mut here = Bitfield::full(PIECES - missing);
        here = here.iter().fold(Bitfield::new(PIECES), |mut all, piece| {
            all.set(piece);
            all
        });
        let mut rig = Rig::new(peer(profile(), Role::Leecher).with_pieces(&here));
        rig.peer.start(rig.now);
        rig.drain();
        let conn = rig.join(1, Bitfield::full(PIECES));
        rig.say(conn, Message::Unchoke);
        let mut failed = 0;
        while let Some((conn, Message::Request { piece, begin, length })) = rig.asked.pop() {
            if failed == 0 && rig.peer.is_last_block(conn, piece, begin, length) {
                failed = rig.peer.block_map.torrent().piece_bytes(piece);
                rig.peer.on_bad_piece(rig.now, conn, piece, begin, length);
                assert!(!rig.peer.bitfield().has(piece));
                assert_eq!(rig.peer.bytes_wasted(), u64::from(failed));
                rig.drain();
            } else {
                rig.say(conn, Message::Piece { piece, begin, length });
            }
        }
        assert!(failed > 0 && rig.peer.is_complete());
        assert_eq!(rig.peer.bytes_wasted(), u64::from(failed));
    }
}

/// Whatever room there is, each byte that is written belongs to a message that is known when it is written.
#[test]
fn bytes_of_a_message_are_known_before_its_end() {
    for client in ["mainline-4.0.2", "libtorrent"] {
        for room in [1, 7, 500, 3000] {
            let mut rig =
                unlimited(client, Role::Seed, |profile| profile.requests.block_bytes = 1000);
            rig.peer.set_upload_limit(rig.now, Rate::from_bps(80_000));
            let conn = rig.peer.accept(rig.now, PeerId(1)).unwrap();
            rig.peer.on_connected(rig.now, conn, room);
            let hello = Message::Handshake(Extensions::NONE);
            rig.peer.on_message(rig.now, conn, hello);
            rig.peer.on_message(rig.now, conn, Message::Interested);
            let (mut begun, mut blocks) = (None, 0);
            let mut written = 0;
            for second in 0..200 {
                rig.now = Time::START + Span::from_secs(second);
                rig.peer.on_timer(rig.now);
                rig.peer.on_space(rig.now, conn, room);
                if second == 40 {
                    (0..4).for_each(|n| rig.peer.on_message(rig.now, conn, request(n, 0)));
                }
                while let Some(action) = rig.peer.poll() {
                    let Action::Write { bytes, completes, .. } = action else { continue };
                    written += bytes;
                    match completes {
                        None => {
                            let of = rig.peer.begun(conn).expect("a message");
                            assert!(begun.is_none() || begun.as_ref() == Some(&of));
                            assert!(written < of.size());
                            begun = Some(of);
                        }
                        Some(of) => {
                            assert!(begun.is_none() || begun.as_ref() == Some(&of));
                            assert_eq!(written, of.size());
                            blocks += u32::from(matches!(of, Message::Piece { .. }));
                            (begun, written) = (None, 0);
                        }
                    }
                    rig.peer.on_space(rig.now, conn, room);
                }
            }
            assert!(room < 500 || blocks == 4, "{client}, {room}: {blocks}");
        }
    }
}
