//! One peer against any sequence of operations: it never panics, its books balance, and it keeps
//! to its limit. And single rules that need a look inside.

mod accounts;

use super::*;
use crate::profile::{
    BegunOrder, FirstRound, FreeSlot, HandOver, Interest, LeechChoker, MeterStart, PieceOrder,
    RequestPipeline, SeedChoker, named,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PIECES: u32 = 5;
const INTERVAL: Span = Span::from_secs(1800);

fn torrent() -> Arc<Torrent> {
    Arc::new(Torrent::new(4 * 4000 + 1500, 4000, 1000).unwrap())
}
fn profile() -> Profile {
    let mut profile = named("mainline-4.0.2").unwrap();
    profile.requests.block_bytes = 1000;
    profile
}
fn peer(profile: Profile, role: Role) -> Peer {
    let limit = Rate::from_bps(80_000);
    let stream = RandomStream::new(1, "peer", 0);
    Peer::new(Arc::new(profile), torrent(), role, PeerId(0), limit, stream, Time::START)
}

/// A driver of one peer: remembers what is connected and how much room there is.
struct Rig {
    peer: Peer,
    now: Time,
    /// Space and whether it is connected.
    conns: BTreeMap<ConnId, (u64, bool)>,
    /// Space of the connections for blocks.
    data: BTreeMap<ConnId, u64>,
    asked: Vec<(ConnId, Message)>,
    limited: u64,
    control: u64,
    pieces: u32,
}

impl Rig {
    fn new(peer: Peer) -> Rig {
        let pieces = peer.pieces_have();
        let (conns, asked) = (BTreeMap::new(), Vec::new());
        let data = BTreeMap::new();
        Rig { peer, now: Time::START, conns, data, asked, limited: 0, control: 0, pieces }
    }
    /// Carries out what the peer wants, and checks its books. Returns what was sent.
    fn drain(&mut self) -> Vec<(ConnId, Message)> {
        let mut sent = Vec::new();
        while let Some(action) = self.peer.poll() {
            match action {
                Action::Connect { conn, .. } => {
                    assert!(self.conns.insert(conn, (0, false)).is_none(), "number in use");
                }
                Action::Close { conn } => {
                    assert!(self.conns.remove(&conn).is_some(), "closed twice");
                    self.data.remove(&conn);
                    self.asked.retain(|(other, _)| *other != conn);
                }
                Action::Write { conn, bytes, completes } => {
                    let (space, connected) = self.conns.get_mut(&conn).expect("no such connection");
                    assert!(*connected && bytes > 0 && u64::from(bytes) <= *space);
                    *space -= u64::from(bytes);
                    match &completes {
                        None | Some(Message::Piece { .. }) => self.limited += u64::from(bytes),
                        Some(_) => self.control += u64::from(bytes),
                    }
                    if let Some(message) = completes {
                        if matches!(
                            message,
                            Message::Request { .. } | Message::StampedRequest { .. }
                        ) {
                            self.asked.push((conn, message.clone()));
                        }
                        sent.push((conn, message));
                    }
                }
                Action::OpenData { conn } => {
                    assert!(self.conns.contains_key(&conn), "no such connection");
                    assert!(self.data.insert(conn, 0).is_none(), "opened twice");
                }
                Action::WriteData { conn, bytes, completes } => {
                    let space = self.data.get_mut(&conn).expect("no such connection");
                    assert!(bytes > 0 && u64::from(bytes) <= *space);
                    *space -= u64::from(bytes);
                    self.limited += u64::from(bytes);
                    let message = completes.filter(|m| matches!(m, Message::Piece { .. }));
                    sent.extend(message.map(|message| (conn, message)));
                }
                Action::PieceCompleted { piece } => {
                    assert!(self.peer.bitfield().has(piece));
                    self.pieces += 1;
                }
                Action::Completed => assert!(self.peer.is_complete()),
                Action::Announce { .. } | Action::UnchokeEnded { .. } => {}
            }
        }
        assert_eq!(self.pieces, self.peer.pieces_have(), "pieces out of nothing");
        self.audit();
        sent
    }
    fn audit(&self) {
        let peer = &self.peer;
        let open: Vec<_> = peer.conns.iter().filter(|(_, c)| c.is_open()).collect();
        assert_eq!(peer.open as usize, open.len());
        assert_eq!(peer.conns.live() as usize, self.conns.len());
        let mut order = peer.choker.order().to_vec();
        order.sort();
        assert_eq!(order, open.iter().map(|(id, _)| *id).collect::<Vec<_>>());
        let mut ring: Vec<_> = peer.limiter.round_robin().collect();
        ring.sort();
        let flagged = peer.conns.iter().filter(|(_, c)| c.in_round_robin).map(|(id, _)| id);
        assert_eq!(ring, flagged.collect::<Vec<_>>());
        assert!(ring.is_empty() || peer.limiter.wake() != Time::NEVER, "nobody will wake up");
        for piece in 0..peer.bitfield().len() {
            let owners = open.iter().filter(|(_, c)| c.have.has(piece)).count();
            assert_eq!(peer.picker.owners(piece) as usize, owners);
        }
        let mut active = Vec::new();
        for (_, c) in &open {
            let wanted = c.have.iter().filter(|piece| peer.block_map.has_free(*piece)).count();
            assert_eq!(c.requestable_pieces as usize, wanted);
            assert!(c.choked == c.choke_sent || c.is_sending(), "a choke that was not told");
            assert!(c.active().is_empty() || c.interested && !c.choking_us);
            assert!(
                c.interested || c.requestable_pieces == 0,
                "something is wanted, and nobody says so"
            );
            assert!(
                c.in_round_robin || !c.takes_blocks() || !c.has_block(),
                "a block that nobody sends"
            );
            active.extend(c.active().iter().map(|b| (b.piece, b.index)));
        }
        active.sort();
        let asked = active.len();
        active.dedup();
        let under_way: Vec<_> = peer.block_map.under_way().map(|b| (b.piece, b.index)).collect();
        if peer.gone {
            return;
        }
        match &peer.endgame {
            None => {
                assert_eq!(asked, active.len(), "a block asked for twice");
                assert_eq!(active, under_way);
            }
            Some(blocks) => {
                let mut blocks: Vec<_> = blocks.iter().map(|b| (b.piece, b.index)).collect();
                blocks.sort();
                assert_eq!(blocks, under_way);
                assert!(active.iter().all(|block| under_way.contains(block)));
            }
        }
    }
    /// An open connection from `remote`, which has these pieces.
    fn join(&mut self, remote: u32, pieces: Bitfield) -> ConnId {
        let conn = self.peer.accept(self.now, PeerId(remote)).expect("there is room");
        self.conns.insert(conn, (1 << 40, true));
        self.peer.on_connected(self.now, conn, 1 << 40);
        self.say(conn, Message::Handshake);
        self.say(conn, Message::Bitfield(Arc::new(pieces)));
        conn
    }
    fn say(&mut self, conn: ConnId, message: Message) -> Vec<(ConnId, Message)> {
        self.peer.on_message(self.now, conn, message);
        self.drain()
    }
    fn wait(&mut self, span: Span) -> Vec<(ConnId, Message)> {
        let until = self.now + span;
        let mut sent = Vec::new();
        while let Some(next) = self.peer.next_timer().filter(|next| *next <= until) {
            self.now = next;
            self.peer.on_timer(next);
            sent.extend(self.drain());
        }
        self.now = until;
        sent
    }
}

fn request(piece: u32, begin: u32) -> Message {
    Message::Request { piece, begin, length: 1000 }
}

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
    // Uninterested: choked at once, told later.
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

/// ns-2's client with blocks of 1000 bytes and no limit of its own.
fn ns2(role: Role, change: impl FnOnce(&mut Profile)) -> Rig {
    let mut profile = named("ns2-2011").unwrap();
    profile.requests.block_bytes = 1000;
    change(&mut profile);
    let stream = RandomStream::new(1, "peer", 0);
    let (profile, id) = (Arc::new(profile), PeerId(0));
    let peer = Peer::new(profile, torrent(), role, id, None, stream, Time::START);
    let mut rig = Rig::new(peer);
    rig.peer.start(rig.now);
    rig.drain();
    rig
}
fn block(begin: u32) -> Message {
    Message::Piece { piece: 0, begin, length: 1000 }
}

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
        // The last piece has two blocks: both are asked of the first.
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
            let greeting = rig.say(conn, Message::Handshake);
            assert_eq!(offers(&greeting), [(conn.0, remote - 1)]);
            assert!(!greeting.iter().any(|(_, m)| matches!(m, Message::Bitfield(_))));
            conn
        })
        .collect();
    let mut all = rig.say(conns[0], Message::Interested);
    assert!(all.contains(&(conns[0], Message::Unchoke)));
    // After a whole piece of four blocks it is choked; nobody else waits, so it has another turn.
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
    assert!(!rig.peer.wants_data_space(conn));
    assert_eq!(rig.say(conn, request(0, 0)), []);
    assert!(rig.peer.wants_data_space(conn) && !rig.peer.wants_space(conn));
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
fn a_request_out_of_order_closes_the_connection() {
    let bad = [
        Message::Request { piece: 0, begin: 0, length: 20_000 },
        Message::Request { piece: 9, begin: 0, length: 1000 },
        Message::Request { piece: 0, begin: 3500, length: 1000 },
        Message::Have { piece: PIECES },
        Message::Handshake,
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
    assert_eq!((rig.conns.len(), rig.peer.spares.len()), (2, 2));
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

#[derive(Clone, Debug)]
enum Op {
    Start,
    Peers(Vec<u32>),
    Failed,
    Accept(u32),
    Connected(u32, u64),
    Closed(u32),
    Say(u32, Message),
    Answer(usize),
    Space(u32, u64),
    DataSpace(u32, u64),
    Done(u32),
    Wait(u64),
    Limit(u64),
    Leave,
}

fn op() -> impl Strategy<Value = Op> {
    let conn = || 0u32..6;
    let piece = || 0u32..PIECES + 1;
    let begin = || prop_oneof![4 => (0u32..4).prop_map(|n| n * 1000), 1 => any::<u32>()];
    let length = || prop_oneof![4 => Just(1000u32), 1 => Just(500), 1 => any::<u32>()];
    let range = move || (piece(), begin(), length());
    let bits = prop::collection::vec(any::<bool>(), PIECES as usize);
    let message = prop_oneof![
        4 => Just(Message::Handshake),
        1 => Just(Message::KeepAlive),
        2 => Just(Message::Choke),
        4 => Just(Message::Unchoke),
        4 => Just(Message::Interested),
        1 => Just(Message::NotInterested),
        4 => (0u32..PIECES).prop_map(|piece| Message::Have { piece }),
        3 => bits.prop_map(|bits| {
            let mut pieces = Bitfield::new(PIECES);
            for (piece, _) in (0..).zip(bits).filter(|(_, has)| *has) {
                pieces.set(piece);
            }
            Message::Bitfield(Arc::new(pieces))
        }),
        4 => range().prop_map(|(piece, begin, length)| {
            Message::Request { piece, begin, length }
        }),
        1 => range().prop_map(|(piece, begin, length)| Message::Piece { piece, begin, length }),
        1 => range().prop_map(|(piece, begin, length)| Message::Cancel { piece, begin, length }),
    ];
    prop_oneof![
        1 => Just(Op::Start),
        2 => prop::collection::vec(0u32..8, 0..5).prop_map(Op::Peers),
        1 => Just(Op::Failed),
        3 => (0u32..8).prop_map(Op::Accept),
        4 => (conn(), 0u64..5000).prop_map(|(conn, space)| Op::Connected(conn, space)),
        1 => conn().prop_map(Op::Closed),
        20 => (conn(), message).prop_map(|(conn, message)| Op::Say(conn, message)),
        12 => any::<usize>().prop_map(Op::Answer),
        6 => (conn(), 0u64..5000).prop_map(|(conn, space)| Op::Space(conn, space)),
        4 => (conn(), 0u64..5000).prop_map(|(conn, space)| Op::DataSpace(conn, space)),
        4 => conn().prop_map(Op::Done),
        8 => (0u64..20_000).prop_map(Op::Wait),
        1 => (0u64..200_000).prop_map(Op::Limit),
        1 => prop_oneof![20 => Just(Op::Start), 1 => Just(Op::Leave)],
    ]
}

fn any_profile() -> impl Strategy<Value = Profile> {
    (any::<[bool; 16]>(), 0usize..5, 0usize..4).prop_map(|(switch, seed, backlog)| {
        let name = match (switch[0], switch[10]) {
            (true, _) => "modern",
            (_, true) => "ns2-2011",
            _ => "mainline-4.0.2",
        };
        let mut profile = named(name).unwrap();
        profile.super_seeding = switch[15];
        if switch[11] {
            profile.requests.interest = Interest::MissingPieces;
        }
        if switch[12] {
            profile.limiter.hand_over = HandOver::Sent;
        }
        if switch[13] {
            profile.choker.leech = LeechChoker::Ns2;
            profile.choker.choke_uninterested = true;
        }
        if switch[14] {
            profile.choker.first_round = FirstRound::FirstInterest;
            profile.picker.begun = BegunOrder::MostRequested;
            profile.requests.reoffer = false;
        }
        profile.requests.block_bytes = 1000;
        profile.control_behind_piece = switch[1];
        profile.connections.drop_seed_to_seed = switch[2];
        profile.requests.end_game = switch[3];
        profile.requests.snubbing = switch[4];
        profile.picker.strict_priority = switch[5];
        if switch[6] {
            profile.choker.free_slot = FreeSlot::Rechoke;
        }
        if switch[7] {
            profile.meter.start = MeterStart::Unchoke;
        }
        if switch[8] {
            profile.picker.order = PieceOrder::Random;
        }
        if switch[9] {
            profile.connections.max_initiate = 2;
            profile.connections.max_connections = 3;
        }
        profile.choker.seed = [
            SeedChoker::Mainline,
            SeedChoker::RoundRobin,
            SeedChoker::FastestUpload,
            SeedChoker::AntiLeech,
            SeedChoker::Ns2,
        ][seed];
        match backlog {
            0 => profile.requests.backlog = RequestPipeline::Fixed(1),
            1 => profile.requests.backlog = RequestPipeline::Mainline { initial: 10 },
            _ => {}
        }
        profile
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_sequence_of_operations_upsets_the_books(
        profile in any_profile(),
        seed in any::<bool>(),
        split in any::<bool>(),
        ops in prop::collection::vec(op(), 0..150),
    ) {
        let unit = u64::from(profile.limiter.write_unit);
        let credit = profile.limiter.credit_ns.seconds();
        let peer = peer(profile, if seed { Role::Seed } else { Role::Leecher });
        let mut rig = Rig::new(if split { peer.with_data_connections() } else { peer });
        let mut highest = 10_000.0f64;
        let mut forgiven = 1;
        for op in ops {
            match op {
                Op::Start => rig.peer.start(rig.now),
                Op::Peers(peers) => {
                    let peers: Vec<_> = peers.into_iter().map(PeerId).collect();
                    rig.peer.on_peers(rig.now, INTERVAL, &peers);
                }
                Op::Failed => rig.peer.on_announce_failed(rig.now),
                Op::Accept(remote) => {
                    let accepted = rig.peer.accept(rig.now, PeerId(remote));
                    rig.conns.extend(accepted.map(|conn| (conn, (0, false))));
                }
                Op::Connected(conn, space) => {
                    if let Some(entry) = rig.conns.get_mut(&ConnId(conn)).filter(|c| !c.1) {
                        *entry = (space, true);
                        rig.peer.on_connected(rig.now, ConnId(conn), space);
                    }
                }
                Op::Closed(conn) => {
                    rig.conns.remove(&ConnId(conn));
                    rig.data.remove(&ConnId(conn));
                    rig.asked.retain(|(other, _)| other.0 != conn);
                    rig.peer.on_closed(rig.now, ConnId(conn));
                }
                Op::Say(conn, message) => rig.peer.on_message(rig.now, ConnId(conn), message),
                Op::Answer(which) => {
                    if !rig.asked.is_empty() {
                        let (conn, asked) = rig.asked.remove(which % rig.asked.len());
                        let (Message::Request { piece, begin, length }
                        | Message::StampedRequest { piece, begin, length, .. }) = asked
                        else {
                            continue;
                        };
                        rig.peer.on_message(rig.now, conn, Message::Piece { piece, begin, length });
                    }
                }
                Op::Space(conn, space) => {
                    if let Some(entry) = rig.conns.get_mut(&ConnId(conn)).filter(|c| c.1) {
                        entry.0 = space;
                        rig.peer.on_space(rig.now, ConnId(conn), space);
                    }
                }
                Op::DataSpace(conn, space) => {
                    if let Some(entry) = rig.data.get_mut(&ConnId(conn)) {
                        *entry = space;
                        rig.peer.on_data_space(rig.now, ConnId(conn), space);
                    }
                }
                Op::Done(conn) => rig.peer.on_done(rig.now, ConnId(conn)),
                Op::Wait(millis) => {
                    rig.wait(Span::from_millis(millis));
                }
                Op::Limit(bps) => {
                    let limit = Rate::from_bps(bps + 1);
                    highest = highest.max((bps + 1) as f64 / 8.0);
                    forgiven += 1;
                    rig.peer.set_upload_limit(rig.now, limit);
                }
                Op::Leave => rig.peer.leave(rig.now),
            }
            rig.drain();
            // The debt is forgiven at every change of the limit; the last unit may overshoot.
            let most = highest * (rig.now.seconds() + credit) + (forgiven * unit) as f64;
            prop_assert!(rig.limited as f64 <= most, "{} of {most}", rig.limited);
        }
    }
}
