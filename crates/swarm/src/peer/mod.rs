//! One peer: what its parts know and do, joined.
//!
//! `connection` holds what is known about one neighbour, `neighbours` gains and loses them, `upload`
//! answers requests and chokes, `reads` has blocks read first, `download` makes requests and keeps interest,
//! `suggestions` deals with those of others and its own, `mixed_mode` shares between TCP and uTP, `announce` deals
//! with the tracker, `web_seeds` with content servers, `content` with a driver that has bytes. This file is the face: what the driver calls.

mod announce;
mod connection;
mod content;
mod download;
mod exchange;
mod extras;
mod fallback;
mod fast;
mod mixed_mode;
mod neighbours;
mod openings;
mod outbox;
mod quota;
mod reads;
mod reconnect;
mod requests;
mod scratch;
mod send_buffer;
mod standing;
mod suggestions;
mod super_seed;
#[cfg(test)]
mod tests;
mod turnover;
mod upload;
mod web_seeds;
mod write_buffer;

use crate::bandwidth::Bandwidth;
use crate::block_map::{Block, BlockMap};
use crate::candidates::{Candidates, Sources};
use crate::choker::Choker;
use crate::limiter::Limiter;
use crate::picker::Picker;
use crate::profile::{FirstRound, Sharing};
use crate::{
    Action, AnnounceEvent, Bitfield, ConnId, Message, PeerId, Profile, Torrent, UnchokeEnd,
    UploadLimit,
};
use announce::Announcer;
use connection::{Conn, Conns, Stage};
use exchange::Exchange;
use flashcrowd_base::{RandomStream, Span, Time};
use mixed_mode::MixedMode;
use openings::Openings;
use outbox::Outbox;
use reconnect::Lost;
use send_buffer::BlockRequest;
use serde::{Deserialize, Serialize};
use standing::Wants;
pub use standing::{Download, Standing};
use std::sync::Arc;
use suggestions::RecentReads;
use super_seed::SuperSeed;
pub use web_seeds::FromWebSeed;
use web_seeds::WebSeeds;
use write_buffer::Channel;

/// The pieces that a peer has when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything.
    Seed,
    /// Nothing.
    Leecher,
}

/// One client in one swarm.
///
/// The driver owns clock, transport and tracker. It reports what happened, and after every call
/// drains [`poll`](Peer::poll); it calls [`on_timer`](Peer::on_timer) at
/// [`next_timer`](Peer::next_timer). Calls about a connection that does not exist any more are
/// ignored.
#[derive(Debug)]
pub struct Peer {
    profile: Arc<Profile>,
    id: PeerId,
    limit: UploadLimit,
    stream: RandomStream,
    actions: Outbox,
    conns: Conns,
    /// Connections whose handshake is complete.
    open: u32,
    /// Peers that were named while there were enough connections, or that wait for their turn.
    candidates: Candidates,
    openings: Openings,
    /// Peers that uTP did not reach.
    utp_failed: Vec<PeerId>,
    reachable: bool,
    gone: bool,
    /// Whether blocks go over connections of their own.
    separate_data: bool,
    /// Whether blocks have to be read from a disk.
    reads_disk: bool,
    /// While what is here is hidden.
    super_seed: Option<Box<SuperSeed>>,
    /// If the swarm has web seeds and the client knows them.
    web_seeds: Option<Box<WebSeeds>>,
    /// Pieces that it may suggest.
    recent_reads: RecentReads,

    block_map: BlockMap,
    picker: Picker,
    /// In the end game: every block that is under way.
    endgame: Option<Vec<Block>>,
    choker: Choker,
    limiter: Limiter,
    /// Instead of the limiter, if the limit is shared by quotas.
    bandwidth: Option<Box<Bandwidth>>,
    /// If TCP makes room for uTP.
    mixed_mode: Option<Box<MixedMode>>,
    announcer: Announcer,
    /// The time of the last call, at which send buffers are written.
    now: Time,
    /// Blocks that more than one neighbour has been asked for.
    doubles: Vec<Block>,
    /// When to look again at neighbours that had nothing to request.
    retry_at: Time,
    /// Neighbours that were lost, and when one of them is tried again.
    lost: Vec<Lost>,
    reconnect_at: Time,
    /// When neighbours may have to make room for others.
    turnover_at: Time,
    /// If the client exchanges peers with its neighbours.
    exchange: Option<Box<Exchange>>,

    /// When it entered the swarm: its ticks are counted from here.
    started: Time,
    round_at: Time,
    keepalive_at: Time,
    sweep_at: Time,
    /// The earliest of the three and of the announcer's.
    slow_at: Time,

    bytes_down: u64,
    bytes_wasted: u64,
    bytes_up: u64,
    wants: Wants,
}

/// A period of nothing would never end.
const MIN_PERIOD: Span = Span::from_millis(1);

impl Peer {
    /// A peer that knows no others yet. `upload_limit` is for block data with its headers and
    /// whatever is written along with it; a `Rate`, or `None` for no limit, will do.
    pub fn new(
        profile: Arc<Profile>,
        torrent: Arc<Torrent>,
        role: Role,
        id: PeerId,
        upload_limit: impl Into<UploadLimit>,
        mut stream: RandomStream,
        now: Time,
    ) -> Peer {
        let full = role == Role::Seed;
        let limit = upload_limit.into();
        let picker = Picker::new(profile.picker.clone(), torrent.pieces(), full, &mut stream);
        let phase = stream.unit();
        Peer {
            id,
            limit,
            actions: Outbox::default(),
            conns: Conns::default(),
            open: 0,
            candidates: Candidates::new(id, profile.connections.candidates),
            openings: Openings::new(profile.connections.opened_at_once),
            utp_failed: Vec::new(),
            reachable: false,
            gone: false,
            separate_data: false,
            reads_disk: false,
            super_seed: (full && profile.super_seeding)
                .then(|| Box::new(SuperSeed::new(torrent.pieces()))),
            web_seeds: None,
            recent_reads: RecentReads::default(),
            block_map: BlockMap::new(torrent, full),
            picker,
            endgame: None,
            choker: Choker::default(),
            limiter: Limiter::new(limit.rate(), profile.limiter.clone(), now).with_phase(phase),
            bandwidth: (profile.limiter.sharing == Sharing::Quota).then(|| {
                let rules = profile.limiter.clone();
                Box::new(Bandwidth::new(limit.rate(), rules, now).with_phase(phase))
            }),
            mixed_mode: MixedMode::new(&profile, now, phase),
            now,
            doubles: Vec::new(),
            retry_at: Time::NEVER,
            lost: Vec::new(),
            reconnect_at: Time::NEVER,
            turnover_at: Time::NEVER,
            exchange: profile.peer_exchange.enabled.then(|| Box::new(Exchange::new())),
            announcer: Announcer::new(),
            started: now,
            round_at: Time::NEVER,
            keepalive_at: Time::NEVER,
            sweep_at: Time::NEVER,
            slow_at: Time::NEVER,
            bytes_down: 0,
            bytes_wasted: 0,
            bytes_up: 0,
            wants: Wants::default(),
            stream,
            profile,
        }
    }

    /// Lets the blocks that this peer uploads go over a connection of their own to each neighbour
    /// ([`Action::OpenData`], [`Action::WriteData`]). No message is behind a block then, but of a client
    /// with quotas, which has one send buffer for both and fills it in order. To the receiver a block
    /// is a message like others: the driver brings it with [`on_message`](Peer::on_message). To be
    /// called before anything else.
    pub fn with_data_connections(mut self) -> Peer {
        self.separate_data = true;
        self
    }

    /// The swarm has `count` web seeds (BEP 19): a leecher whose client knows them fetches from them, too
    /// ([`Action::JoinWebSeed`]). To be called before anything else.
    pub fn with_web_seeds(mut self, count: u32) -> Peer {
        if !self.is_complete() {
            self.web_seeds = WebSeeds::new(count, &self.profile);
        }
        self
    }

    /// The connection whose turn it is to be written to next. A driver may use it to have in its
    /// hands what the next [`on_timer`](Peer::on_timer) will need.
    pub fn next_grant(&self) -> Option<ConnId> {
        self.limiter.next_grant()
    }

    /// Asks for what a message needs of a connection; a driver of thousands does for those that will
    /// be used next. See [`CacheLines`](flashcrowd_base::CacheLines).
    pub fn prefetch(&self, conn: ConnId) {
        self.conns.prefetch(conn);
    }

    /// Asks for what a message that is followed by a request needs besides, after [`prefetch`](Peer::prefetch).
    pub fn prefetch_request(&self, conn: ConnId) {
        self.conns.prefetch_request(conn);
    }

    /// Asks for what [`next_grant`](Peer::next_grant) needs: first this,
    pub fn prefetch_limiter(&self) {
        flashcrowd_base::prefetch(&self.limiter);
    }
    /// then this,
    pub fn prefetch_next_grant(&self) {
        self.limiter.prefetch_next_grant();
    }
    /// and, after [`prefetch`](Peer::prefetch), for what writing a block to a connection needs.
    pub fn prefetch_work(&self, conn: ConnId) {
        self.conns.prefetch_block(conn);
    }

    /// The PIECE of which a part has been written to a neighbour, and the rest has not.
    pub fn half_written(&self, conn: ConnId) -> Option<Message> {
        self.conns.get(conn)?.half_written()
    }

    /// How many actions wait to be polled.
    pub fn actions_ahead(&self) -> usize {
        self.actions.iter().len()
    }

    /// The connections to which the next `max` actions will write, for the same purpose as
    /// [`prefetch`](Peer::prefetch).
    pub fn writes_ahead(&self, max: usize) -> impl Iterator<Item = ConnId> + '_ {
        self.actions.iter().take(max).filter_map(|action| match action {
            Action::Write { conn, .. } => Some(*conn),
            _ => None,
        })
    }

    /// Enters the swarm: announces `started`.
    pub fn start(&mut self, now: Time) {
        if self.gone || self.keepalive_at != Time::NEVER {
            return;
        }
        self.started = now;
        self.now = now;
        self.choker.optimistic_since = now;
        if self.profile.choker.first_round == FirstRound::Arrival {
            self.round_at = now + self.profile.choker.round_ns.max(MIN_PERIOD);
        }
        self.keepalive_at = now + self.profile.connections.keepalive_ns.max(MIN_PERIOD);
        self.sweep_at = now + self.profile.connections.timeout_sweep_ns.max(MIN_PERIOD);
        if self.profile.connections.turnover_ns.is_some() {
            self.turnover_at = now + turnover::FIRST;
        }
        self.announcer.start(now, &self.profile.announce);
        self.set_slow_timer();
        self.announce(AnnounceEvent::Started);
        self.look_at_web_seeds(now);
    }
    /// Leaves the swarm: closes every connection and announces `stopped`. Nothing more happens.
    pub fn leave(&mut self, now: Time) {
        if self.gone {
            return;
        }
        self.gone = true;
        self.now = now;
        self.candidates.clear();
        for number in 0..self.conns.end() {
            self.close(now, ConnId(number));
        }
        self.leave_web_seeds();
        self.slow_at = Time::NEVER;
        self.announce(AnnounceEvent::Stopped);
    }

    /// The tracker's answer: some peers, and how long to wait until the next regular announce.
    pub fn on_peers(&mut self, now: Time, interval: Span, peers: &[PeerId]) {
        if self.gone {
            return;
        }
        self.now = now;
        self.announcer.on_answer(now, interval);
        self.connect_to_all(now, peers, Sources { tracker: true, exchange: false });
        self.check_announce(now);
    }
    /// No answer from the tracker.
    pub fn on_announce_failed(&mut self, now: Time) {
        if !self.gone {
            self.announcer.on_failure(now, &self.profile.announce, &mut self.stream);
        }
    }

    /// A peer connects: the number of the new connection, or `None` if it is refused. The driver
    /// calls [`on_connected`](Peer::on_connected) next, as for an own connection.
    ///
    /// When two peers connect to each other at once, the connection of the one with the lower
    /// number stays.
    pub fn accept(&mut self, now: Time, remote: PeerId) -> Option<ConnId> {
        self.now = now;
        self.admit(now, remote)
    }
    /// The transport is up and its socket buffer takes `space` bytes. The side that connected sends
    /// its handshake, the other answers it, and then come the bitfields.
    pub fn on_connected(&mut self, now: Time, conn: ConnId, space: u64) {
        self.now = now;
        let handshake = self.handshake();
        let Some(c) = self.conns.get_mut(conn) else { return };
        c.last_heard = now;
        if c.stage == Stage::Opening {
            c.stage = Stage::Greeting;
            if c.initiated {
                c.send(conn, handshake, true, &mut self.actions);
            }
            self.join_mixed_mode(now, conn);
        }
        self.on_space(now, conn, space);
    }
    /// The other side closed, or the transport failed.
    pub fn on_closed(&mut self, now: Time, conn: ConnId) {
        self.now = now;
        self.forget(now, conn);
    }
    /// One complete message arrived, in order.
    pub fn on_message(&mut self, now: Time, conn: ConnId, message: Message) {
        self.now = now;
        let Some(c) = self.conns.get_mut(conn) else { return };
        c.last_heard = now;
        if let Some(extras) = c.extras_mut() {
            // Rates are of payload: a block, not the header of its PIECE (`stat::received_bytes`).
            let payload = if let Message::Piece { length, .. } = message { length } else { 0 };
            extras.statistics.down.take_back(message.size() - payload);
        }
        if !c.is_open() {
            match message {
                Message::Handshake(offered) if c.stage == Stage::Greeting => {
                    self.open(now, conn, offered);
                }
                _ => self.close(now, conn),
            }
            return;
        }
        let first = !std::mem::replace(&mut c.got_anything, true);
        match message {
            Message::Have { piece } => self.on_have(now, conn, piece),
            Message::Piece { piece, begin, length } => {
                self.on_piece(now, conn, piece, begin, length);
            }
            Message::Request { piece, begin, length } => {
                self.on_request(now, conn, BlockRequest { piece, begin, length }, None);
            }
            Message::StampedRequest { piece, begin, length, unchoke } => {
                self.on_request(now, conn, BlockRequest { piece, begin, length }, Some(unchoke));
            }
            Message::HaveAll if first && c.is_fast() => {
                let everything = Bitfield::full(self.block_map.torrent().pieces());
                self.on_bitfield(now, conn, &everything);
            }
            Message::HaveNone if first && c.is_fast() => {}
            Message::AllowedFast { piece } if c.is_fast() => self.on_allowed_fast(now, conn, piece),
            Message::Reject { piece, begin, length } if c.is_fast() => {
                self.on_reject(now, conn, BlockRequest { piece, begin, length });
            }
            Message::Suggest { piece } if c.is_fast() => self.on_suggest(conn, piece),
            Message::Cancel { piece, begin, length } => {
                if let Some(work) = &mut c.work {
                    work.queue.retain(|w| (w.piece, w.begin, w.length) != (piece, begin, length));
                    c.note_idle(now);
                    c.count_asked(&mut self.wants);
                }
            }
            Message::Choke => self.on_choke(now, conn),
            Message::Unchoke => self.on_unchoke(now, conn),
            Message::Interested => self.on_interested(now, conn),
            Message::NotInterested => self.on_not_interested(now, conn),
            Message::Bitfield(pieces) if first => self.on_bitfield(now, conn, &pieces),
            Message::KeepAlive => c.got_anything = !first,
            Message::ExtensionHandshake => {
                c.got_anything = !first;
                self.on_extension_handshake(now, conn);
            }
            Message::PeerExchange(peers) => {
                c.got_anything = !first;
                self.on_peer_exchange(now, conn, &peers);
            }
            Message::Handshake(_)
            | Message::Bitfield(_)
            | Message::HaveAll
            | Message::HaveNone
            | Message::AllowedFast { .. }
            | Message::Reject { .. }
            | Message::Suggest { .. } => self.close(now, conn),
        }
    }
    /// The socket buffer takes `space` bytes now. Call after a write has been carried out, and when
    /// a connection with [`wants_space`](Peer::wants_space) has room again.
    pub fn on_space(&mut self, now: Time, conn: ConnId, space: u64) {
        self.now = now;
        let Some(c) = self.conns.get_mut(conn) else { return };
        let waited = c.set_space(conn, Channel::Control, space, &mut self.actions);
        if waited || c.send_buffer().is_some() {
            self.resume_upload(now, conn);
        }
    }
    /// The same for the connection apart that carries the blocks to this neighbour. Call first when
    /// it stands.
    pub fn on_data_space(&mut self, now: Time, conn: ConnId, space: u64) {
        let Some(c) = self.conns.get_mut(conn).filter(|c| c.has_data_connection()) else { return };
        let waited = c.set_space(conn, Channel::Data, space, &mut self.actions);
        if waited || c.send_buffer().is_some() {
            self.resume_upload(now, conn);
        }
    }
    /// The transport that blocks to this neighbour were handed to is done with everything that was
    /// written, as the profile's [`HandOver`](crate::profile::HandOver) asks. Call only while
    /// [`awaits_transport`](Peer::awaits_transport).
    pub fn on_done(&mut self, now: Time, conn: ConnId) {
        let Some(c) = self.conns.get_mut(conn) else { return };
        if c.is_flushed() && std::mem::replace(&mut c.awaiting_transport, false) {
            self.resume_upload(now, conn);
        }
    }
    /// Whether the next block to this neighbour waits until the transport is done with the last.
    pub fn awaits_transport(&self, conn: ConnId) -> bool {
        self.conns.get(conn).is_some_and(|c| c.awaiting_transport)
    }
    /// Whether something waits for room in this connection's socket buffer.
    pub fn wants_space(&self, conn: ConnId) -> bool {
        let waits = |c: &Conn| {
            let buffer = c.send_buffer();
            !c.is_control_flushed() || buffer.is_some_and(|it| it.bytes() > 0 && it.quota > 0)
        };
        self.conns.get(conn).is_some_and(waits)
    }
    /// The limit changes in place. The number of slots by rate follows. With [`UploadLimit::Nothing`]
    /// all neighbours are choked; a block that is half-written goes out at the earlier limit.
    pub fn set_upload_limit(&mut self, now: Time, limit: impl Into<UploadLimit>) {
        self.limit = limit.into();
        self.now = now;
        if self.limit == UploadLimit::Nothing {
            for number in 0..self.conns.end() {
                self.choke(now, ConnId(number), UnchokeEnd::Rotation);
            }
            return;
        }
        self.limiter.set_rate(now, self.limit.rate());
        self.write_granted(now);
        self.set_quota_rate();
    }
    /// When to call [`on_timer`](Peer::on_timer) next. Cheap.
    pub fn next_timer(&self) -> Option<Time> {
        let quota = self.bandwidth.as_ref().map_or(Time::NEVER, |bandwidth| bandwidth.wake());
        let reads = self.mixed_mode.as_ref().map_or(Time::NEVER, |mixed| mixed.wake());
        let next = self.limiter.wake().min(quota).min(reads).min(self.slow_at);
        (next != Time::NEVER).then_some(next)
    }
    /// Time has come. Early calls are harmless.
    pub fn on_timer(&mut self, now: Time) {
        self.now = now;
        self.give_quota(now);
        self.give_read_quota(now);
        if now >= self.limiter.wake() {
            self.limiter.settle(now);
            self.write_granted(now);
        }
        if now >= self.slow_at {
            self.on_slow_timer(now);
        }
    }
    /// The next thing to do, until there is none.
    pub fn poll(&mut self) -> Option<Action> {
        let action = loop {
            if let Some(action) = self.actions.pop_front() {
                break action;
            }
            let Some(conn) = self.actions.uncork() else {
                self.conns.drained();
                return None;
            };
            self.setup_send(conn);
        };
        let written = match action {
            Action::Write { conn, bytes, .. } => Some((conn, Channel::Control, bytes)),
            Action::WriteData { conn, bytes, .. } => Some((conn, Channel::Data, bytes)),
            _ => None,
        };
        if let Some((conn, channel, bytes)) = written
            && let Some(c) = self.conns.get_mut(conn)
        {
            c.polled(channel, bytes);
        }
        Some(action)
    }

    fn set_slow_timer(&mut self) {
        self.slow_at = self
            .round_at
            .min(self.keepalive_at)
            .min(self.sweep_at)
            .min(self.announcer.check_at)
            .min(self.retry_at)
            .min(self.openings.tick_at)
            .min(self.reconnect_at)
            .min(self.turnover_at)
            .min(self.mixed_mode.as_ref().map_or(Time::NEVER, |mixed| mixed.tick_at))
            .min(self.exchange.as_ref().map_or(Time::NEVER, |exchange| exchange.look_at))
            .min(self.web_seeds.as_ref().map_or(Time::NEVER, |all| all.look_at));
    }
    #[cold]
    fn on_slow_timer(&mut self, now: Time) {
        let profile = self.profile.clone();
        if now >= self.round_at {
            self.round_at = now + profile.choker.round_ns.max(MIN_PERIOD);
            self.choke_round(now);
        }
        if now >= self.keepalive_at {
            self.keepalive_at = now + profile.connections.keepalive_ns.max(MIN_PERIOD);
            self.tell_everybody(&Message::KeepAlive);
        }
        if now >= self.sweep_at {
            self.sweep_at = now + profile.connections.timeout_sweep_ns.max(MIN_PERIOD);
            for number in 0..self.conns.end() {
                let id = ConnId(number);
                let timeout = profile.connections.timeout_ns;
                let over = |c: &Conn| now.since(c.last_heard) > timeout || self.is_idle(now, c);
                if self.conns.get(id).is_some_and(over) {
                    self.close(now, id);
                } else {
                    self.time_out_request(now, id);
                }
            }
        }
        if self.mixed_mode.as_ref().is_some_and(|mixed| now >= mixed.tick_at) {
            self.limit_tcp(now);
        }
        if now >= self.openings.tick_at {
            self.open_waiting(now);
        }
        if now >= self.reconnect_at {
            self.reconnect(now);
        }
        if now >= self.turnover_at {
            self.turnover_at = Time::NEVER;
            self.turn_over(now);
        }
        if self.exchange.as_ref().is_some_and(|exchange| now >= exchange.look_at) {
            self.exchange_peers(now);
        }
        if now >= self.retry_at {
            self.retry_at = Time::NEVER;
            self.retry_requests(now);
        }
        if self.web_seeds.as_ref().is_some_and(|all| now >= all.look_at) {
            self.look_at_web_seeds(now);
        }
        if now >= self.announcer.check_at {
            self.announcer.check_at = now + profile.announce.check_ns.max(MIN_PERIOD);
            self.check_announce(now);
        }
        self.set_slow_timer();
    }
    fn check_announce(&mut self, now: Time) {
        let due = self.announcer.due(now, &self.profile.announce, self.open, self.reachable);
        if let Some(event) = due {
            self.announce(event);
        }
    }
    fn announce(&mut self, event: AnnounceEvent) {
        let rules = &self.profile.announce;
        let numwant = if self.open >= rules.enough_peers { Some(0) } else { rules.numwant };
        self.actions.push_back(Action::Announce { event, numwant });
    }

    fn send(&mut self, id: ConnId, message: Message) {
        if let Some(c) = self.conns.get_mut(id) {
            c.send(id, message, self.profile.control_behind_piece, &mut self.actions);
        }
    }
    /// To every neighbour with a complete handshake.
    fn tell_everybody(&mut self, message: &Message) {
        let behind = self.profile.control_behind_piece;
        for (id, c) in self.conns.iter_mut().filter(|(_, c)| c.is_open()) {
            c.send(id, message.clone(), behind, &mut self.actions);
        }
    }

    /// The profile of the client.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
    /// Its number in the swarm.
    pub fn id(&self) -> PeerId {
        self.id
    }
    /// The pieces that it has.
    pub fn bitfield(&self) -> &Bitfield {
        self.block_map.have()
    }
    /// How many pieces it has.
    pub fn pieces_have(&self) -> u32 {
        self.block_map.have().count()
    }
    /// Whether it has all.
    pub fn is_complete(&self) -> bool {
        self.block_map.have().is_full()
    }
    /// Whether it has left.
    pub fn is_gone(&self) -> bool {
        self.gone
    }
    /// Bytes of blocks received, duplicates of the end game included.
    pub fn bytes_down(&self) -> u64 {
        self.bytes_down
    }
    /// Those of them that were here already, or that it had given up waiting for.
    pub fn bytes_wasted(&self) -> u64 {
        self.bytes_wasted
    }
    /// Bytes of blocks fully written.
    pub fn bytes_up(&self) -> u64 {
        self.bytes_up
    }
    /// How many connections have completed their handshake.
    pub fn connections(&self) -> usize {
        self.open as usize
    }
    /// How many neighbours it uploads to that want something.
    pub fn unchoked(&self) -> usize {
        self.conns.iter().filter(|(_, c)| !c.choked && c.interested_in_us).count()
    }
    /// The peer at the other end of a connection.
    pub fn remote(&self, conn: ConnId) -> Option<PeerId> {
        self.conns.get(conn).map(|c| c.remote)
    }
}
