//! Peers on message pipes: every connection delays what is written by a fixed time, loses nothing and
//! carries any rate; its socket buffer has a fixed size, and bytes leave it after the delay. There is no
//! topology below them: messages travel whole, not in packets, so that only what peers do is tested.

#![allow(dead_code, unreachable_pub, reason = "every test file uses a part")]

use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_swarm::{
    Action, AnnounceEvent, Answer, ConnId, Message, Peer, PeerId, Profile, Role, Torrent, Tracker,
    TrackerRules, UnchokeEnd,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// One end of a connection.
type End = (usize, ConnId);

#[derive(Debug)]
enum Happening {
    Start(usize),
    Leave(usize),
    Answer(usize, Answer),
    Syn { from: End, to: usize, serial: u64 },
    SynAck { from: End, serial: u64, to: End },
    Refused { from: End, serial: u64 },
    Deliver { to: End, serial: u64, message: Message },
    Drained { from: End, serial: u64, bytes: u64 },
    DataDrained { from: End, serial: u64, bytes: u64 },
    Closed { to: End, serial: u64 },
    Timer(usize),
    Read { of: End, piece: u32, begin: u32, length: u32 },
    Unread { to: End, serial: u64 },
}

#[derive(Debug)]
struct Half {
    serial: u64,
    /// The other end, once accepted.
    other: Option<End>,
    in_flight: u64,
    /// The same on the connection apart for blocks, once it stands.
    data_in_flight: u64,
    /// How much may be read, if that is limited.
    may_read: Option<u64>,
    /// Messages that have arrived, and how many bytes of each have not been read.
    unread: VecDeque<(Message, u64)>,
}

impl Half {
    fn new(serial: u64, other: Option<End>) -> Half {
        Half {
            serial,
            other,
            in_flight: 0,
            data_in_flight: 0,
            may_read: None,
            unread: VecDeque::new(),
        }
    }
}

/// What one peer experienced.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub completed: Option<Time>,
    pub pieces: Vec<(Time, u32)>,
    pub written: u64,
    pub max_connections: usize,
    pub unchokes: Vec<(Span, u64, u32, UnchokeEnd)>,
    /// Only if the swarm is `verbose`.
    pub writes: Vec<(ConnId, Option<Message>)>,
    pub data_writes: Vec<(ConnId, Option<Message>)>,
    pub announces: Vec<(Time, AnnounceEvent)>,
    pub received: BTreeMap<&'static str, u64>,
}

/// A swarm in one process.
pub struct Swarm {
    pub now: Time,
    pub peers: Vec<Peer>,
    pub logs: Vec<Log>,
    pub tracker: Tracker,
    pub delay: Span,
    pub buffer: u64,
    pub verbose: bool,
    /// A peer that is unchoked or gets a block also gets suggestions of any piece, even of none
    /// that exist.
    pub nonsense: bool,
    /// How long a disk takes for a block.
    pub read_time: Span,
    /// Leechers leave as soon as they are complete.
    pub leave_complete: bool,
    tcp_every: Option<usize>,
    stream: RandomStream,
    queue: BTreeMap<(Time, u64), Happening>,
    halves: BTreeMap<End, Half>,
    timers: Vec<Option<Time>>,
    sequence: u64,
}

pub fn name(message: &Message) -> &'static str {
    match message {
        Message::Handshake(_) => "handshake",
        Message::KeepAlive => "keep-alive",
        Message::Choke => "choke",
        Message::Unchoke => "unchoke",
        Message::Interested => "interested",
        Message::NotInterested => "not interested",
        Message::Have { .. } => "have",
        Message::Bitfield(_) => "bitfield",
        Message::Request { .. } | Message::StampedRequest { .. } => "request",
        Message::Piece { .. } => "piece",
        Message::Cancel { .. } => "cancel",
        Message::HaveAll => "have all",
        Message::HaveNone => "have none",
        Message::Suggest { .. } => "suggest",
        Message::Reject { .. } => "reject",
        Message::AllowedFast { .. } => "allowed fast",
        Message::ExtensionHandshake => "extension handshake",
        Message::PeerExchange(_) => "peer exchange",
    }
}

/// The tracker that came with a client.
fn tracker_of(profile: &Profile) -> TrackerRules {
    if profile.name == "ns2-2011" { TrackerRules::NS2 } else { TrackerRules::MAINLINE }
}

/// Of what a swarm is made.
pub struct Make {
    pub profile: Profile,
    pub tracker: TrackerRules,
    pub seeds: usize,
    pub leechers: usize,
    pub torrent: Torrent,
    pub kilobytes: Option<u64>,
    pub seed_kilobytes: Option<u64>,
    pub delay: Span,
    pub buffer: u64,
    pub seed: u64,
    /// Leechers start evenly over so long.
    pub arrivals: Span,
    /// Whether blocks go over connections of their own.
    pub split: bool,
    /// Whether seeds read from a disk.
    pub disk: bool,
    /// Only every `tcp_every`-th peer connects over TCP, the others over uTP; nothing for all over TCP. To the
    /// pipes the two are the same.
    pub tcp_every: Option<usize>,
}

impl Make {
    pub fn new(profile: Profile, leechers: usize, torrent: Torrent) -> Make {
        Make {
            tracker: tracker_of(&profile),
            profile,
            seeds: 1,
            leechers,
            torrent,
            kilobytes: Some(50),
            seed_kilobytes: Some(50),
            delay: Span::from_millis(50),
            buffer: 16_384,
            seed: 1,
            arrivals: Span::from_secs(5),
            split: false,
            disk: false,
            tcp_every: None,
        }
    }
    pub fn build(self) -> Swarm {
        let profile = Arc::new(self.profile);
        let torrent = Arc::new(self.torrent);
        let mut swarm = Swarm {
            now: Time::START,
            peers: Vec::new(),
            logs: Vec::new(),
            tracker: Tracker::new(self.tracker),
            delay: self.delay,
            buffer: self.buffer,
            verbose: false,
            nonsense: false,
            read_time: Span::from_millis(20),
            leave_complete: false,
            tcp_every: self.tcp_every,
            stream: RandomStream::new(self.seed, "tracker", 0),
            queue: BTreeMap::new(),
            halves: BTreeMap::new(),
            timers: Vec::new(),
            sequence: 0,
        };
        for number in 0..self.seeds + self.leechers {
            let seed = number < self.seeds;
            let role = if seed { Role::Seed } else { Role::Leecher };
            let limit = if seed { self.seed_kilobytes } else { self.kilobytes };
            let limit = limit.and_then(|kilobytes| Rate::from_bps(kilobytes * 8192));
            let stream = RandomStream::new(self.seed, "peer", number as u64);
            let peer = Peer::new(
                profile.clone(),
                torrent.clone(),
                role,
                PeerId(number as u32),
                limit,
                stream,
                Time::START,
            );
            let peer = if self.disk && seed { peer.with_disk() } else { peer };
            swarm.peers.push(if self.split { peer.with_data_connections() } else { peer });
            swarm.logs.push(Log::default());
            swarm.timers.push(None);
            let nth = number.saturating_sub(self.seeds) as u64;
            let start = self.arrivals * nth / self.leechers.max(1) as u64;
            swarm.at(Time::START + start, Happening::Start(number));
        }
        swarm
    }
}

impl Swarm {
    fn at(&mut self, time: Time, what: Happening) {
        self.sequence += 1;
        self.queue.insert((time, self.sequence), what);
    }
    pub fn leave_at(&mut self, time: Time, peer: usize) {
        self.at(time, Happening::Leave(peer));
    }
    /// Until all are complete that have not left, or `limit`. True if all are.
    pub fn run(&mut self, limit: Time) -> bool {
        while !self.peers.iter().all(|peer| peer.is_complete() || peer.is_gone()) {
            if !self.step(limit) {
                return false;
            }
        }
        true
    }
    pub fn run_until(&mut self, limit: Time) {
        while self.step(limit) {}
    }
    fn step(&mut self, limit: Time) -> bool {
        let Some(entry) = self.queue.first_entry() else { return false };
        if entry.key().0 > limit {
            return false;
        }
        let ((now, _), what) = entry.remove_entry();
        self.now = now;
        self.happen(what);
        true
    }
    fn happen(&mut self, what: Happening) {
        let now = self.now;
        match what {
            Happening::Start(peer) => {
                self.peers[peer].start(now);
                self.settle(peer);
            }
            Happening::Leave(peer) => {
                self.peers[peer].leave(now);
                self.settle(peer);
            }
            Happening::Answer(peer, Answer { interval, peers }) => {
                self.peers[peer].on_peers(now, interval, &peers);
                self.settle(peer);
            }
            Happening::Syn { from, to, serial } => {
                let accepted = if self.is(from, serial) {
                    self.peers[to].accept(now, PeerId(from.0 as u32))
                } else {
                    None
                };
                // Accepting may have closed a connection of its own.
                self.settle(to);
                match accepted {
                    Some(conn) => {
                        let end = (to, conn);
                        self.halves.insert(end, Half::new(serial, Some(from)));
                        self.choose_transport(from.0, to, conn);
                        self.peers[to].on_connected(now, conn, self.buffer);
                        self.settle(to);
                        self.at(now + self.delay, Happening::SynAck { from, serial, to: end });
                    }
                    None => self.at(now + self.delay, Happening::Refused { from, serial }),
                }
            }
            Happening::SynAck { from, serial, to } => {
                if self.is(from, serial) {
                    if let Some(half) = self.halves.get_mut(&from) {
                        half.other = Some(to);
                    }
                    self.choose_transport(from.0, from.0, from.1);
                    self.peers[from.0].on_connected(now, from.1, self.buffer);
                    self.settle(from.0);
                } else {
                    self.at(now + self.delay, Happening::Closed { to, serial });
                }
            }
            Happening::Refused { from: end, serial } | Happening::Closed { to: end, serial } => {
                if self.is(end, serial) {
                    self.halves.remove(&end);
                    self.peers[end.0].on_closed(now, end.1);
                    self.settle(end.0);
                }
            }
            Happening::Deliver { to, serial, message } => {
                if self.is(to, serial) {
                    let half = self.halves.get_mut(&to).expect("it is there");
                    half.unread.push_back((message.clone(), u64::from(message.size())));
                    self.read(to);
                }
            }
            Happening::Unread { to, serial } => {
                if self.is(to, serial) {
                    self.read(to);
                }
            }
            Happening::Read { of, piece, begin, length } => {
                self.peers[of.0].on_block_read(now, of.1, piece, begin, length);
                self.settle(of.0);
            }
            Happening::Drained { from, serial, bytes } => {
                if self.is(from, serial) {
                    let mut free = 0;
                    if let Some(half) = self.halves.get_mut(&from) {
                        half.in_flight -= bytes;
                        free = self.buffer - half.in_flight;
                    }
                    let peer = &mut self.peers[from.0];
                    if peer.wants_space(from.1) {
                        peer.on_space(now, from.1, free);
                    }
                    if free == self.buffer && peer.awaits_transport(from.1) {
                        peer.on_done(now, from.1);
                    }
                    self.settle(from.0);
                }
            }
            Happening::DataDrained { from, serial, bytes } => {
                if self.is(from, serial) {
                    let half = self.halves.get_mut(&from).expect("it is there");
                    half.data_in_flight -= bytes;
                    let free = self.buffer - half.data_in_flight;
                    let peer = &mut self.peers[from.0];
                    peer.on_data_space(now, from.1, free);
                    if free == self.buffer && peer.awaits_transport(from.1) {
                        peer.on_done(now, from.1);
                    }
                    self.settle(from.0);
                }
            }
            // A timer that was set again for earlier is stale.
            Happening::Timer(peer) if self.timers[peer] == Some(now) => {
                self.timers[peer] = None;
                self.peers[peer].on_timer(now);
                self.settle(peer);
            }
            Happening::Timer(_) => {}
        }
    }
    /// The end that opened a connection decides its transport.
    fn choose_transport(&mut self, opener: usize, peer: usize, conn: ConnId) {
        if self.tcp_every.is_some_and(|every| !opener.is_multiple_of(every)) {
            self.peers[peer].is_over_utp(conn);
        }
    }
    /// Reads what has arrived, as far as the peer wants it.
    fn read(&mut self, to: End) {
        let now = self.now;
        while let Some(half) = self.halves.get_mut(&to)
            && let Some((message, left)) = half.unread.front_mut()
        {
            let bytes = half.may_read.map_or(*left, |may| may.min(*left));
            if bytes == 0 {
                return;
            }
            *left -= bytes;
            half.may_read = half.may_read.map(|may| may - bytes);
            let whole = (*left == 0).then(|| message.clone());
            self.peers[to.0].on_received(now, to.1, bytes);
            if let Some(message) = whole {
                half.unread.pop_front();
                *self.logs[to.0].received.entry(name(&message)).or_default() += 1;
                let later = matches!(message, Message::Unchoke | Message::Piece { .. });
                self.peers[to.0].on_message(now, to.1, message);
                if later && self.nonsense && self.peers[to.0].profile().fast.enabled {
                    let piece = self.stream.below(40) as u32;
                    let piece = if piece == 39 { u32::MAX } else { piece };
                    self.peers[to.0].on_message(now, to.1, Message::Suggest { piece });
                }
            }
            self.settle(to.0);
        }
    }
    fn is(&self, end: End, serial: u64) -> bool {
        self.halves.get(&end).is_some_and(|half| half.serial == serial)
    }
    /// Carries out what a peer wants, and sets its timer.
    fn settle(&mut self, peer: usize) {
        while let Some(action) = self.peers[peer].poll() {
            self.carry_out(peer, action);
        }
        let log = &mut self.logs[peer];
        log.max_connections = log.max_connections.max(self.peers[peer].connections());
        if let Some(next) = self.peers[peer].next_timer()
            && self.timers[peer].is_none_or(|set| next < set)
        {
            let next = next.max(self.now);
            self.timers[peer] = Some(next);
            self.at(next, Happening::Timer(peer));
        }
    }
    fn carry_out(&mut self, peer: usize, action: Action) {
        let now = self.now;
        match action {
            Action::Connect { conn, remote, tcp: _ } => {
                self.sequence += 1;
                let serial = self.sequence;
                let from = (peer, conn);
                let old = self.halves.insert(from, Half::new(serial, None));
                assert!(old.is_none(), "the number of a living connection was used again");
                let to = remote.0 as usize;
                self.at(now + self.delay, Happening::Syn { from, to, serial });
            }
            Action::Close { conn } => {
                let half = self.halves.remove(&(peer, conn)).expect("closed what is not there");
                if let Some(to) = half.other {
                    let serial = half.serial;
                    self.at(now + self.delay, Happening::Closed { to, serial });
                }
            }
            Action::Write { conn, bytes, completes } => {
                let end = (peer, conn);
                let half = self.halves.get_mut(&end).expect("wrote to what is not there");
                half.in_flight += u64::from(bytes);
                assert!(half.in_flight <= self.buffer, "more than the socket buffer takes");
                let (serial, free) = (half.serial, self.buffer - half.in_flight);
                let to = half.other.expect("wrote before it was connected");
                self.logs[peer].written += u64::from(bytes);
                if self.verbose {
                    self.logs[peer].writes.push((conn, completes.clone()));
                }
                if let Some(message) = completes {
                    self.at(now + self.delay, Happening::Deliver { to, serial, message });
                }
                let bytes = u64::from(bytes);
                self.at(now + self.delay, Happening::Drained { from: end, serial, bytes });
                self.peers[peer].on_space(now, conn, free);
            }
            // It stands after a round trip.
            Action::OpenData { conn } => {
                let (from, serial) = ((peer, conn), self.halves[&(peer, conn)].serial);
                let stands = Happening::DataDrained { from, serial, bytes: 0 };
                self.at(now + self.delay * 2, stands);
            }
            Action::WriteData { conn, bytes, completes } => {
                let from = (peer, conn);
                let half = self.halves.get_mut(&from).expect("wrote to what is not there");
                half.data_in_flight += u64::from(bytes);
                assert!(half.data_in_flight <= self.buffer, "more than the socket buffer takes");
                let (serial, free) = (half.serial, self.buffer - half.data_in_flight);
                let to = half.other.expect("wrote before it was connected");
                self.logs[peer].written += u64::from(bytes);
                if self.verbose {
                    self.logs[peer].data_writes.push((conn, completes.clone()));
                }
                if let Some(message) = completes {
                    self.at(now + self.delay, Happening::Deliver { to, serial, message });
                }
                let bytes = u64::from(bytes);
                self.at(now + self.delay, Happening::DataDrained { from, serial, bytes });
                self.peers[peer].on_data_space(now, conn, free);
            }
            Action::Announce { event, numwant } => {
                self.logs[peer].announces.push((now, event));
                let seed = self.peers[peer].is_complete();
                let id = PeerId(peer as u32);
                let answer = self.tracker.announce(now, id, event, numwant, seed, &mut self.stream);
                if event != AnnounceEvent::Stopped {
                    self.at(now + self.delay * 2, Happening::Answer(peer, answer));
                }
            }
            Action::ReadBlock { conn, piece, begin, length } => {
                self.at(
                    now + self.read_time,
                    Happening::Read { of: (peer, conn), piece, begin, length },
                );
            }
            Action::LimitReads { conn, bytes } => {
                let to = (peer, conn);
                let half = self.halves.get_mut(&to).expect("limited what is not there");
                half.may_read = bytes;
                let serial = half.serial;
                if !half.unread.is_empty() {
                    self.at(now, Happening::Unread { to, serial });
                }
            }
            Action::JoinWebSeed { .. }
            | Action::LeaveWebSeed { .. }
            | Action::AskWebSeed { .. } => unreachable!("this swarm has none"),
            Action::PieceCompleted { piece } => self.logs[peer].pieces.push((now, piece)),
            Action::Completed => {
                self.logs[peer].completed = Some(now);
                if self.leave_complete {
                    self.leave_at(now, peer);
                }
            }
            Action::UnchokeEnded { started, bytes, blocks, cause, .. } => {
                self.logs[peer].unchokes.push((now - started, bytes, blocks, cause));
            }
        }
    }
    /// Mean time to completion of those that did, in seconds.
    pub fn mean_completion(&self) -> f64 {
        let times: Vec<f64> =
            self.logs.iter().filter_map(|log| Some(log.completed?.seconds())).collect();
        times.iter().sum::<f64>() / times.len() as f64
    }
    /// How often a message of this kind was received.
    pub fn received(&self, name: &str) -> u64 {
        self.logs.iter().filter_map(|log| log.received.get(name)).sum()
    }
}

/// `pieces` pieces of 256 KiB.
pub fn torrent(pieces: u64) -> Torrent {
    Torrent::new(pieces << 18, 1 << 18, 1 << 14).expect("a sane geometry")
}
pub fn secs(seconds: u64) -> Time {
    Time::START + Span::from_secs(seconds)
}
