//! Single rules of a peer that need a look inside, and a driver for them: what a peer writes, what it
//! does as each client, which connections it keeps; and one peer against any sequence of operations.

mod accounts;
mod connections;
mod content;
mod exchange;
mod fallback;
mod fast;
mod mixed_mode;
mod ns2;
mod operations;
mod suggestions;
mod web_seeds;
mod writes;

use super::*;
use crate::Extensions;
use crate::profile::{
    BegunOrder, FirstRound, FreeSlot, HandOver, Interest, LeechChoker, MeterStart,
    MixedModeAlgorithm, PieceOrder, RequestPipeline, SeedChoker, SuggestMode, WebSeedOrder, named,
};
use flashcrowd_base::Rate;
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
    /// Web seeds that it is at, whether they are connected, and the ranges that they owe.
    web: BTreeMap<u32, (bool, Vec<(u64, u64)>)>,
    asked: Vec<(ConnId, Message)>,
    /// Blocks that a disk was asked for, connections that are gone included.
    reads: Vec<(ConnId, BlockRequest)>,
    /// How much may be read of a connection, where it was ever limited.
    may_read: BTreeMap<ConnId, Option<u64>>,
    limited: u64,
    control: u64,
    pieces: u32,
}

impl Rig {
    fn new(peer: Peer) -> Rig {
        let pieces = peer.pieces_have();
        let (conns, asked) = (BTreeMap::new(), Vec::new());
        let (data, web, reads) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (now, limited, control) = (Time::START, 0, 0);
        let may_read = BTreeMap::new();
        Rig { peer, now, conns, data, web, asked, reads, may_read, limited, control, pieces }
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
                    self.may_read.remove(&conn);
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
                Action::JoinWebSeed { seed } => {
                    assert!(self.web.insert(seed, (false, Vec::new())).is_none(), "joined twice");
                }
                Action::LeaveWebSeed { seed } => {
                    assert!(self.web.remove(&seed).is_some(), "left twice");
                }
                Action::AskWebSeed { seed, begin, length } => {
                    let (connected, owed) = self.web.get_mut(&seed).expect("no such web seed");
                    assert!(*connected && length > 0);
                    assert!(begin + u64::from(length) <= self.peer.block_map.torrent().bytes());
                    owed.push((begin, u64::from(length)));
                }
                Action::ReadBlock { conn, piece, begin, length } => {
                    assert!(self.conns.contains_key(&conn), "no such connection");
                    self.reads.push((conn, BlockRequest { piece, begin, length }));
                }
                Action::LimitReads { conn, bytes } => {
                    assert!(self.conns.contains_key(&conn), "no such connection");
                    self.may_read.insert(conn, bytes);
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
        assert_eq!(peer.wants, Wants::of(peer.conns.iter().map(|(_, c)| c)));
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
            let answers = !c.choking_us || c.is_fast();
            // What is here by now may be owed still by clients that send no CANCEL.
            let owes = c.active().iter().any(|block| !peer.block_map.has_block(*block));
            assert!(c.active().is_empty() || answers);
            assert!(!owes || c.interested);
            assert!(
                c.interested || c.requestable_pieces == 0,
                "something is wanted, and nobody says so"
            );
            let stands = match c.send_buffer() {
                Some(buffer) => buffer.waits || c.is_full() || !buffer.reading.is_empty(),
                None => c.in_round_robin || !c.takes_blocks(),
            };
            assert!(stands || !c.has_block(), "a block that nobody sends");
            let reserved = c.extras.iter().flat_map(|extras| &extras.reserved);
            let cancels = peer.profile.requests.cancel_doubles;
            let given_up = |b: &Block| c.extras.as_ref().is_some_and(|it| it.given_up.contains(b));
            let lacks = |b: &&Block| (cancels || !peer.block_map.has_block(**b)) && !given_up(b);
            let asked = c.active().iter().chain(reserved).filter(lacks);
            active.extend(asked.map(|b| (b.piece, b.index)));
        }
        let under_way: Vec<_> = peer.block_map.under_way().map(|b| (b.piece, b.index)).collect();
        // What a web seed owes comes, even if a peer brought it before.
        let web_seeds = peer.web_seeds.iter().flat_map(|all| all.asked());
        let web_seeds = web_seeds.map(|b| (b.piece, b.index));
        active.extend(web_seeds.filter(|block| under_way.contains(block)));
        active.sort();
        let asked = active.len();
        active.dedup();
        if peer.gone {
            return;
        }
        match &peer.endgame {
            None => {
                let once = peer.doubles.is_empty();
                assert!(!once || asked == active.len(), "a block asked for twice");
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
        self.say(conn, Message::Handshake(Extensions::NONE));
        self.say(conn, Message::Bitfield(Arc::new(pieces)));
        conn
    }
    fn say(&mut self, conn: ConnId, message: Message) -> Vec<(ConnId, Message)> {
        self.peer.on_message(self.now, conn, message);
        self.drain()
    }
    /// A web seed that it joined is connected.
    fn web_connected(&mut self, seed: u32) {
        if let Some((connected, _)) = self.web.get_mut(&seed).filter(|(connected, _)| !*connected) {
            *connected = true;
            self.peer.on_web_seed_connected(self.now, seed);
            self.drain();
        }
    }
    /// A web seed brings `bytes` bytes of what it owes.
    fn web_brings(&mut self, seed: u32, bytes: u64) {
        let Some((_, owed)) = self.web.get_mut(&seed) else { return };
        let mut left = bytes;
        while left > 0 && !owed.is_empty() {
            let (begin, length) = owed[0];
            let come = left.min(length);
            owed[0] = (begin + come, length - come);
            owed.retain(|(_, length)| *length > 0);
            left -= come;
        }
        self.peer.on_web_seed_bytes(self.now, seed, bytes - left);
        self.drain();
    }
    /// The disk brings one of the blocks that it was asked for.
    fn read(&mut self, which: usize) -> Vec<(ConnId, Message)> {
        if self.reads.is_empty() {
            return Vec::new();
        }
        let (conn, block) = self.reads.remove(which % self.reads.len());
        let BlockRequest { piece, begin, length } = block;
        self.peer.on_block_read(self.now, conn, piece, begin, length);
        self.drain()
    }
    fn web_closed(&mut self, seed: u32) {
        if self.web.remove(&seed).is_some() {
            self.peer.on_web_seed_closed(self.now, seed);
            self.drain();
        }
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

/// A client with blocks of 1000 bytes and no limit of its own.
fn unlimited(name: &str, role: Role, change: impl FnOnce(&mut Profile)) -> Rig {
    let mut profile = named(name).unwrap();
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
fn ns2(role: Role, change: impl FnOnce(&mut Profile)) -> Rig {
    unlimited("ns2-2011", role, change)
}
fn block(begin: u32) -> Message {
    Message::Piece { piece: 0, begin, length: 1000 }
}
