//! In which order and in what portions a peer writes, and asks.

use super::*;

#[test]
fn a_control_message_waits_for_the_end_of_the_half_written_block() {
    for behind in [true, false] {
        let mut profile = profile();
        profile.control_behind_piece = behind;
        profile.limiter.write_unit = 100;
        // 100 bytes every 10 ms: a block of 1013 takes 110 ms.
        let mut rig = Rig::new(peer(profile, Role::Seed));
        rig.peer.start(rig.now);
        let conn = rig.join(1, Bitfield::new(PIECES));
        rig.say(conn, Message::Interested);
        rig.wait(Span::from_secs(10));
        assert!(rig.say(conn, request(0, 0)).is_empty(), "the first unit has gone out");
        rig.wait(Span::from_millis(30));
        rig.peer.send(conn, Message::KeepAlive);
        let at_once = rig.drain();
        let later = rig.wait(Span::from_millis(100));
        let piece = (conn, Message::Piece { piece: 0, begin: 0, length: 1000 });
        let control = (conn, Message::KeepAlive);
        if behind {
            assert_eq!((at_once, later), (vec![], vec![piece, control]));
        } else {
            assert_eq!((at_once, later), (vec![control], vec![piece]));
        }
    }
}

#[test]
fn a_choke_in_mid_block_goes_out_behind_it_and_empties_the_queue() {
    let mut profile = profile();
    profile.limiter.write_unit = 600;
    let mut rig = Rig::new(peer(profile, Role::Seed));
    rig.peer.start(rig.now);
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    rig.wait(Span::from_secs(10));
    rig.say(conn, request(0, 0));
    rig.say(conn, request(0, 1000));
    // Uninterested: choked at once; the message comes later.
    assert_eq!(rig.say(conn, Message::NotInterested), []);
    rig.say(conn, Message::Interested);
    let sent = rig.wait(Span::from_secs(2));
    let piece = Message::Piece { piece: 0, begin: 0, length: 1000 };
    assert_eq!(sent, [(conn, piece), (conn, Message::Choke)]);
}

#[test]
fn a_block_of_sixteen_kibibytes_is_eleven_units_and_a_rest() {
    let torrent = Arc::new(Torrent::new(1 << 18, 1 << 18, 1 << 14).unwrap());
    let profile = Arc::new(named("mainline-4.0.2").unwrap());
    let limit = Rate::from_bps(20 * 8192);
    let stream = RandomStream::new(1, "peer", 0);
    let peer = Peer::new(profile, torrent, Role::Seed, PeerId(0), limit, stream, Time::START);
    let mut rig = Rig::new(peer);
    rig.peer.start(rig.now);
    let conn = rig.join(1, Bitfield::new(1));
    rig.say(conn, Message::Interested);
    rig.wait(Span::from_secs(10));
    let mut writes = Vec::new();
    rig.peer.on_message(rig.now, conn, Message::Request { piece: 0, begin: 0, length: 1 << 14 });
    for _ in 0..12 {
        while let Some(action) = rig.peer.poll() {
            if let Action::Write { bytes, .. } = action {
                writes.push((rig.now.since(Time::START + Span::from_secs(10)), bytes));
            }
        }
        rig.now = rig.peer.next_timer().unwrap();
        rig.peer.on_timer(rig.now);
    }
    let sizes: Vec<u32> = writes.iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!(sizes, [&[1380; 11][..], &[1217]].concat());
    assert_eq!(writes[1].0.nanos(), 67_382_813);
}

#[test]
fn blocks_apart_never_hold_up_a_message() {
    let mut profile = profile();
    profile.limiter.write_unit = 600;
    let mut rig = Rig::new(peer(profile, Role::Seed).with_data_connections());
    rig.peer.start(rig.now);
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    assert!(rig.data.is_empty(), "nothing is unchoked yet");
    rig.wait(Span::from_secs(10));
    assert_eq!(rig.data.get(&conn), Some(&0), "it was asked for and does not stand");
    assert_eq!(rig.say(conn, request(0, 0)), []);
    assert!(!rig.peer.wants_space(conn));
    assert_eq!(rig.say(conn, Message::NotInterested), [(conn, Message::Choke)]);
    // What was begun is finished when there is room, in 600 bytes and the rest.
    rig.data.insert(conn, 2000);
    rig.peer.on_data_space(rig.now, conn, 2000);
    let mut sent = rig.drain();
    sent.extend(rig.wait(Span::from_secs(1)));
    assert_eq!(sent, [(conn, block(0))]);
    // The second unchoke needs no second connection.
    rig.say(conn, Message::Interested);
    rig.wait(Span::from_secs(10));
    assert_eq!(rig.data.len(), 1);
}

#[test]
fn blocks_apart_go_there_from_a_send_buffer_too() {
    let mut rig = unlimited("libtorrent", Role::Seed, |_| {});
    rig.peer.separate_data = true;
    let conn = rig.join(1, Bitfield::new(PIECES));
    rig.say(conn, Message::Interested);
    assert_eq!(rig.data.get(&conn), Some(&0), "it was asked for and does not stand");
    assert_eq!(rig.say(conn, request(0, 0)), []);
    // 1500 bytes are a block and a part of the next one.
    let (control, limited) = (rig.control, rig.limited);
    rig.say(conn, request(0, 1000));
    rig.data.insert(conn, 1500);
    rig.peer.on_data_space(rig.now, conn, 1500);
    assert_eq!(rig.drain(), [(conn, block(0))]);
    assert_eq!((rig.data[&conn], rig.control, rig.limited), (0, control, limited + 1500));
    assert_eq!(rig.peer.half_written(conn), Some(block(1000)));
    rig.data.insert(conn, 1500);
    rig.peer.on_data_space(rig.now, conn, 1500);
    assert_eq!(rig.drain(), [(conn, block(1000))]);
    assert_eq!(rig.peer.half_written(conn), None);
}

#[test]
fn requests_begin_with_two_and_a_choke_offers_them_to_the_next() {
    let mut rig = Rig::new(peer(profile(), Role::Leecher));
    let first = rig.join(1, Bitfield::full(PIECES));
    let second = rig.join(2, Bitfield::full(PIECES));
    let asked = rig.say(first, Message::Unchoke);
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|(conn, m)| *conn == first && matches!(m, Message::Request { .. })));
    rig.say(second, Message::Unchoke);
    let spare = rig.peer.conns.get(second).unwrap().active().len();
    assert_eq!(spare, 2, "the second has as much to do as it may");
    // The second delivers both; then the first chokes: its blocks go to the second.
    for (conn, message) in rig.asked.clone() {
        if let (true, Message::Request { piece, begin, length, .. }) = (conn == second, message) {
            rig.now += Span::from_secs(1);
            rig.say(second, Message::Piece { piece, begin, length });
        }
    }
    rig.say(first, Message::Choke);
    assert!(rig.peer.conns.get(first).unwrap().active().is_empty());
}

#[test]
fn without_upload_everybody_is_choked_and_stays_so() {
    for name in ["mainline-4.0.2", "modern", "ns2-2011"] {
        let mut profile = named(name).unwrap();
        profile.requests.block_bytes = 1000;
        let profile = Arc::new(profile);
        let peer = |limit: UploadLimit| {
            let stream = RandomStream::new(1, "peer", 0);
            let role = Role::Seed;
            Peer::new(profile.clone(), torrent(), role, PeerId(0), limit, stream, Time::START)
        };
        // Waits are short enough that the silent neighbour does not time out (two minutes).
        let mut rig = Rig::new(peer(UploadLimit::Nothing));
        rig.peer.start(rig.now);
        let conn = rig.join(1, Bitfield::new(PIECES));
        let mut sent = rig.say(conn, Message::Interested);
        sent.extend(rig.wait(Span::from_secs(45)));
        sent.extend(rig.say(conn, request(0, 0)));
        sent.extend(rig.wait(Span::from_secs(45)));
        let idle = |(_, message): &(ConnId, Message)| *message == Message::KeepAlive;
        assert!(sent.iter().all(idle), "{name}: {sent:?}");
        assert_eq!((rig.peer.bytes_up(), rig.peer.unchoked()), (0, 0), "{name}");
        // With a limit it serves, until it uploads nothing again.
        rig.peer.set_upload_limit(rig.now, Rate::from_bps(80_000));
        rig.wait(Span::from_secs(45));
        assert_eq!(rig.peer.unchoked(), 1, "{name}");
        rig.peer.set_upload_limit(rig.now, UploadLimit::Nothing);
        assert_eq!(rig.drain(), [(conn, Message::Choke)], "{name}");
        let served = rig.peer.bytes_up();
        rig.say(conn, request(0, 0));
        rig.wait(Span::from_secs(45));
        assert_eq!((rig.peer.bytes_up(), rig.peer.unchoked()), (served, 0), "{name}");
    }
}
