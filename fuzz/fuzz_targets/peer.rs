//! Any operations on one peer, by a driver that keeps to the rules: it never panics, writes no more
//! than a socket buffer takes and only to connections that exist, and counts its pieces right.

#![no_main]

use arbitrary::Arbitrary;
use flashcrowd_base::{Rate, Span, RandomStream, Time};
use flashcrowd_swarm::profile::{
    RequestPipeline, FreeSlot, LeechChoker, MeterStart, NAMES, PieceOrder, SeedChoker, named,
};
use flashcrowd_swarm::{Action, Bitfield, ConnId, Extensions, Message, Peer, PeerId, Profile, Role, Torrent};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::sync::Arc;

const PIECES: u32 = 5;

#[derive(Arbitrary, Debug)]
struct Input {
    seed: bool,
    split: bool,
    client: u8,
    switches: [bool; 13],
    backlog: u8,
    choker: u8,
    slots: u8,
    limit: Option<u32>,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    Start,
    Peers(Vec<u8>),
    Failed,
    Accept(u8),
    Connected(u8, u16),
    Closed(u8),
    Say(u8, Say),
    /// Answers a request that the peer made.
    Answer(u8),
    /// The same, with a piece that fails its check if it is whole now.
    Spoil(u8),
    Space(u8, u16),
    DataSpace(u8, u16),
    Done(u8),
    Wait(u16),
    Limit(Option<u32>),
    Leave,
}

#[derive(Arbitrary, Debug)]
enum Say {
    Handshake,
    KeepAlive,
    Choke,
    Unchoke,
    Interested,
    NotInterested,
    Have(u8),
    Bitfield(u8),
    Request(u8, u8),
    Piece(u8, u8),
    Cancel(u8, u8),
    OddRequest(u32, u32, u32),
    OddPiece(u32, u32, u32),
}

impl Say {
    fn message(self) -> Message {
        let at = |piece: u8, block: u8| (u32::from(piece) % PIECES, u32::from(block) % 4 * 1000);
        let length = 1000;
        match self {
            Say::Handshake => Message::Handshake(Extensions::NONE),
            Say::KeepAlive => Message::KeepAlive,
            Say::Choke => Message::Choke,
            Say::Unchoke => Message::Unchoke,
            Say::Interested => Message::Interested,
            Say::NotInterested => Message::NotInterested,
            Say::Have(piece) => Message::Have { piece: u32::from(piece) % (PIECES + 1) },
            Say::Bitfield(bits) => {
                let mut pieces = Bitfield::new(PIECES);
                (0..PIECES).filter(|piece| bits >> piece & 1 == 1).for_each(|piece| {
                    pieces.set(piece);
                });
                Message::Bitfield(Arc::new(pieces))
            }
            Say::Request(piece, block) => {
                let (piece, begin) = at(piece, block);
                Message::StampedRequest { piece, begin, length, unchoke: 1 }
            }
            Say::Piece(piece, block) => {
                let (piece, begin) = at(piece, block);
                Message::Piece { piece, begin, length }
            }
            Say::Cancel(piece, block) => {
                let (piece, begin) = at(piece, block);
                Message::Cancel { piece, begin, length }
            }
            Say::OddRequest(piece, begin, length) => {
                Message::StampedRequest { piece, begin, length, unchoke: 1 }
            }
            Say::OddPiece(piece, begin, length) => Message::Piece { piece, begin, length },
        }
    }
}

fn profile(input: &Input) -> Profile {
    let name = NAMES[usize::from(input.client) % NAMES.len()];
    let mut profile = named(name).expect("it ships");
    let [a, b, c, d, e, f, g, h, i, j, k, l, m] = input.switches;
    profile.super_seeding = l;
    profile.requests.block_bytes = 1000;
    profile.control_behind_piece = a;
    profile.connections.drop_seed_to_seed = b;
    profile.requests.end_game = c;
    profile.requests.snubbing = d;
    profile.picker.strict_priority = e;
    if f {
        profile.choker.free_slot = FreeSlot::Rechoke;
    }
    profile.choker.idle_class = g;
    profile.meter.start = if h { MeterStart::Unchoke } else { MeterStart::Connection };
    profile.picker.order = match (i, m) {
        (false, _) => PieceOrder::RarestFirst,
        (true, false) => PieceOrder::Random,
        (true, true) => PieceOrder::Sequential,
    };
    if j {
        profile.choker.leech = LeechChoker::Modern;
    }
    if k {
        profile.connections.max_initiate = 2;
        profile.connections.max_connections = 3;
    }
    match input.backlog {
        0..100 => {}
        initial @ 100..120 => {
            profile.requests.backlog = RequestPipeline::Mainline { initial: u32::from(initial) - 100 };
        }
        number => profile.requests.backlog = RequestPipeline::Fixed(u32::from(number) - 120),
    }
    use SeedChoker::{AntiLeech, FastestUpload, Mainline, Ns2, RoundRobin};
    profile.choker.seed =
        [Mainline, RoundRobin, FastestUpload, AntiLeech, Ns2][usize::from(input.choker) % 5];
    if input.slots < 10 {
        profile.choker.slots = flashcrowd_swarm::profile::Slots::Fixed(u32::from(input.slots));
    }
    profile
}

struct Driver {
    peer: Peer,
    now: Time,
    /// Space in the socket buffer, and whether it is connected.
    conns: BTreeMap<ConnId, (u64, bool)>,
    /// Space in the socket buffers of connections for blocks.
    data: BTreeMap<ConnId, u64>,
    asked: Vec<(ConnId, Message)>,
    pieces: u32,
}

impl Driver {
    fn drain(&mut self) {
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
                    if let Some(
                        request @ (Message::Request { .. } | Message::StampedRequest { .. }),
                    ) = completes
                    {
                        self.asked.push((conn, request));
                    }
                }
                Action::OpenData { conn } => {
                    assert!(self.conns.contains_key(&conn), "no such connection");
                    assert!(self.data.insert(conn, 0).is_none(), "opened twice");
                }
                Action::WriteData { conn, bytes, .. } => {
                    let space = self.data.get_mut(&conn).expect("no such connection");
                    assert!(bytes > 0 && u64::from(bytes) <= *space);
                    *space -= u64::from(bytes);
                }
                Action::JoinWebSeed { .. }
                | Action::LeaveWebSeed { .. }
                | Action::AskWebSeed { .. } => unreachable!("this swarm has none"),
                Action::ReadBlock { .. } => unreachable!("it has no disk"),
                Action::LimitReads { conn, .. } => assert!(self.conns.contains_key(&conn)),
                Action::PieceCompleted { .. } => self.pieces += 1,
                Action::Completed => assert!(self.peer.is_complete()),
                Action::Announce { .. } | Action::UnchokeEnded { .. } => {}
            }
        }
        assert_eq!(self.pieces, self.peer.pieces_have());
    }
    /// One of the blocks that the peer has asked for.
    fn owed(&mut self, which: u8) -> Option<(ConnId, u32, u32, u32)> {
        let place = usize::from(which).checked_rem(self.asked.len())?;
        let (conn, asked) = self.asked.remove(place);
        match asked {
            Message::Request { piece, begin, length }
            | Message::StampedRequest { piece, begin, length, .. } => {
                Some((conn, piece, begin, length))
            }
            _ => None,
        }
    }
    fn carry_out(&mut self, op: Op) {
        let now = self.now;
        match op {
            Op::Start => self.peer.start(now),
            Op::Peers(peers) => {
                let peers: Vec<_> = peers.iter().map(|peer| PeerId(u32::from(*peer % 8))).collect();
                self.peer.on_peers(now, Span::from_secs(1800), &peers);
            }
            Op::Failed => self.peer.on_announce_failed(now),
            Op::Accept(remote) => {
                let accepted = self.peer.accept(now, PeerId(u32::from(remote % 8)));
                self.conns.extend(accepted.map(|conn| (conn, (0, false))));
            }
            Op::Connected(conn, space) => {
                let conn = ConnId(u32::from(conn % 8));
                if let Some(entry) = self.conns.get_mut(&conn).filter(|entry| !entry.1) {
                    *entry = (u64::from(space), true);
                    self.peer.on_connected(now, conn, u64::from(space));
                }
            }
            Op::Closed(conn) => {
                let conn = ConnId(u32::from(conn % 8));
                self.conns.remove(&conn);
                self.data.remove(&conn);
                self.asked.retain(|(other, _)| *other != conn);
                self.peer.on_closed(now, conn);
            }
            Op::Say(conn, say) => {
                self.peer.on_message(now, ConnId(u32::from(conn % 8)), say.message());
            }
            Op::Answer(which) => {
                if let Some((conn, piece, begin, length)) = self.owed(which) {
                    self.peer.on_message(now, conn, Message::Piece { piece, begin, length });
                }
            }
            Op::Spoil(which) => {
                if let Some((conn, piece, begin, length)) = self.owed(which) {
                    self.peer.on_bad_piece(now, conn, piece, begin, length);
                }
            }
            Op::Space(conn, space) => {
                let conn = ConnId(u32::from(conn % 8));
                if let Some(entry) = self.conns.get_mut(&conn).filter(|entry| entry.1) {
                    entry.0 = u64::from(space);
                    self.peer.on_space(now, conn, u64::from(space));
                }
            }
            Op::DataSpace(conn, space) => {
                let conn = ConnId(u32::from(conn % 8));
                if let Some(entry) = self.data.get_mut(&conn) {
                    *entry = u64::from(space);
                    self.peer.on_data_space(now, conn, u64::from(space));
                }
            }
            Op::Done(conn) => self.peer.on_done(now, ConnId(u32::from(conn % 8))),
            Op::Wait(millis) => {
                let until = now + Span::from_millis(u64::from(millis));
                while let Some(next) = self.peer.next_timer().filter(|next| *next <= until) {
                    assert!(next >= self.now, "a timer in the past");
                    self.now = next;
                    self.peer.on_timer(next);
                    self.drain();
                }
                self.now = until;
            }
            Op::Limit(limit) => self.peer.set_upload_limit(now, rate(limit)),
            Op::Leave => self.peer.leave(now),
        }
        self.drain();
    }
}

fn rate(limit: Option<u32>) -> Option<Rate> {
    // No slower than 100 bytes a second and no faster than 100 kilobytes, to bound the run.
    limit.and_then(|bps| Rate::from_bps(u64::from(bps % 800_000) + 800))
}

fuzz_target!(|input: Input| {
    let torrent = Torrent::new(4 * 4000 + 1500, 4000, 1000).expect("a sane geometry");
    let role = if input.seed { Role::Seed } else { Role::Leecher };
    let peer = Peer::new(
        Arc::new(profile(&input)),
        Arc::new(torrent),
        role,
        PeerId(0),
        rate(input.limit),
        RandomStream::new(1, "fuzz", 0),
        Time::START,
    );
    let peer = if input.split { peer.with_data_connections() } else { peer };
    let pieces = peer.pieces_have();
    let (conns, data) = (BTreeMap::new(), BTreeMap::new());
    let mut driver = Driver { peer, now: Time::START, conns, data, asked: Vec::new(), pieces };
    driver.drain();
    for op in input.ops {
        driver.carry_out(op);
    }
});
