//! One connection: its two halves of state, and the way out.

use super::extras::{Exchanged, Extras};
use super::outbox::Outbox;
use super::send_buffer::{BlockRequest, SendBuffer, watermark};
use super::write_buffer::{Channel, WriteBuffer};
use crate::block_map::Block;
use crate::choker;
use crate::meter::Meter;
use crate::pipeline::{self, RequestSlowStart};
use crate::profile::{MeterRules, Profile, Quota, Requests};
use crate::{Bitfield, ConnId, Message, PeerId, UnchokeEnd};
use flashcrowd_base::{CacheLines, Span, Time, prefetch};
use std::collections::VecDeque;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The transport is being set up.
    Opening,
    /// The other's handshake has not arrived.
    Greeting,
    /// Messages flow.
    Open,
}

/// Everything known about one neighbour: what an idle connection needs, and [`Work`] once there is some.
///
/// Most connections of a swarm are idle most of the time. The fields are in the order of how often they
/// are needed, by lines of the cache, of which a swarm of hundreds keeps a megabyte for each dozen of
/// peers: a HAVE needs the first two, mainline's choke rounds the first and the third.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Conn {
    /// The connection between the two.
    out: WriteBuffer,
    /// The connection apart for blocks, if there is one; boxed, for most have none.
    data: Option<Box<WriteBuffer>>,
    pub(super) last_heard: Time,
    /// Bytes of the PIECE being sent that are not written.
    left: u32,
    /// Pieces that it has and of which blocks are free.
    pub(super) requestable_pieces: u32,
    /// Pieces that it has and we lack, counted if interest follows them.
    pub(super) missing_pieces: u32,
    pub(super) remote: PeerId,
    pub(super) stage: Stage,
    pub(super) got_anything: bool,
    pub(super) choking_us: bool,
    pub(super) interested: bool,
    pub(super) in_round_robin: bool,
    /// A block was handed over and the next has to wait until the transport says it is done.
    pub(super) awaiting_transport: bool,
    pub(super) choked: bool,
    /// The state that the remote knows; differs from `choked` only while a PIECE is half-written.
    pub(super) choke_sent: bool,
    pub(super) interested_in_us: bool,
    pub(super) preferred: bool,
    pub(super) optimistic: bool,
    /// No optimistic place has been drawn since it came.
    pub(super) newcomer: bool,
    pub(super) initiated: bool,
    /// Whether it counts among the connections with a block to send.
    pub(super) counted_asked: bool,
    /// Whether there are [`extras`](Conn::extras), so that those without need not read the third line.
    has_extras: bool,

    pub(super) have: Bitfield,
    /// Since the first UNCHOKE in either direction.
    pub(super) work: Option<Box<Work>>,

    /// When its last block came; [`Time::NEVER`] before.
    last_block: Time,
    pub(super) down_meter: Meter,
    pub(super) down_since_round: u64,
    /// When both handshakes were there: the state of a mainline connection begins here.
    opened: Time,
    /// Fields of today's clients only.
    pub(super) extras: Option<Box<Extras>>,
}

/// The state of one neighbour's connection once blocks may go over it.
#[derive(Debug)]
pub(super) struct Work {
    /// Its requests to us.
    pub(super) queue: VecDeque<BlockRequest>,
    /// Our requests to it.
    pub(super) active: Vec<Block>,
    sending: BlockRequest,
    /// UNCHOKEs that went out on this connection, and that came in.
    pub(super) unchokes_sent: u32,
    pub(super) unchokes_received: u32,
    /// Control messages behind the half-written PIECE.
    waiting: Vec<Message>,
    pub(super) record: Record,
    pub(super) up_meter: Meter,
    /// If a rule of the client looks at it.
    pub(super) history: Option<Box<History>>,
    pub(super) unchoked_round: u32,
    pub(super) end: UnchokeEnd,
}

/// The bytes of rounds and unchokes, and how the queue of requests grew: clients since mainline go by
/// it.
#[derive(Debug)]
pub(super) struct History {
    pub(super) up_since_unchoke: u64,
    pub(super) up_since_round: u64,
    /// The same of the rounds before.
    pub(super) up_round_before: u64,
    pub(super) down_round_before: u64,
    pub(super) unchoked_at: Option<Time>,
    pub(super) optimistic_at: Option<Time>,
    pub(super) slow_start: RequestSlowStart,
}

impl History {
    /// Nothing has happened since the connection was `opened`; none if the client looks at nothing of it.
    fn new(opened: Time, profile: &Profile) -> Option<Box<History>> {
        (pipeline::has_slow_start(&profile.requests) || choker::looks_back(&profile.choker)).then(
            || {
                Box::new(History {
                    up_since_unchoke: 0,
                    up_since_round: 0,
                    up_round_before: 0,
                    down_round_before: 0,
                    unchoked_at: None,
                    optimistic_at: None,
                    slow_start: RequestSlowStart::new(opened),
                })
            },
        )
    }
}

impl Work {
    /// As if it had been there since the connection was `opened`: nothing has happened to its meter.
    fn new(opened: Time, profile: &Profile) -> Work {
        Work {
            queue: VecDeque::new(),
            active: Vec::new(),
            sending: BlockRequest { piece: 0, begin: 0, length: 0 },
            unchokes_sent: 0,
            unchokes_received: 0,
            waiting: Vec::new(),
            record: Record::new(opened),
            up_meter: Meter::new(opened, &profile.meter),
            history: History::new(opened, profile),
            unchoked_round: 0,
            end: UnchokeEnd::Disconnected,
        }
    }
}

/// The bytes of an unchoke.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) started: Time,
    pub(super) bytes: u64,
    pub(super) blocks: u32,
    /// Nothing that was asked for waits.
    is_idle: bool,
    /// For how long nothing has waited, in nanoseconds; while nothing does, less the instant since when.
    idle_ns: i64,
}

impl Record {
    /// Nothing has been asked for yet.
    pub(super) fn new(started: Time) -> Record {
        let idle_ns = -(started.nanos() as i64);
        Record { started, bytes: 0, blocks: 0, is_idle: true, idle_ns }
    }
    fn note(&mut self, now: Time, is_idle: bool) {
        if is_idle != self.is_idle {
            let now = now.nanos() as i64;
            self.idle_ns += if is_idle { -now } else { now };
            self.is_idle = is_idle;
        }
    }
    /// For how long nothing that was asked for has waited.
    pub(super) fn idle(&self, now: Time) -> Span {
        let since = if self.is_idle { now.nanos() as i64 } else { 0 };
        Span::from_nanos((self.idle_ns + since) as u64)
    }
}

/// The result of one turn of the limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Bytes, control messages that came along included.
    pub(super) bytes: u32,
    /// The block that was completed: its piece and its length.
    pub(super) block: Option<(u32, u32)>,
    /// Whether CHOKE or UNCHOKE went out behind it.
    pub(super) choke_changed: bool,
}

impl Conn {
    pub(super) fn new(
        now: Time,
        remote: PeerId,
        initiated: bool,
        meter: &MeterRules,
        extras: Option<Box<Extras>>,
    ) -> Conn {
        Conn {
            has_extras: extras.is_some(),
            extras,
            remote,
            initiated,
            stage: Stage::Opening,
            got_anything: false,
            last_heard: now,
            out: WriteBuffer::new(),
            data: None,
            awaiting_transport: false,
            interested_in_us: false,
            choked: true,
            choke_sent: true,
            preferred: false,
            optimistic: false,
            newcomer: true,
            in_round_robin: false,
            counted_asked: false,
            left: 0,
            have: Bitfield::new(0),
            requestable_pieces: 0,
            missing_pieces: 0,
            interested: false,
            choking_us: true,
            work: None,
            down_meter: Meter::new(now, meter),
            last_block: Time::NEVER,
            down_since_round: 0,
            opened: now,
        }
    }
    /// Both handshakes are there.
    pub(super) fn open(&mut self, now: Time, pieces: u32, meter: &MeterRules) {
        self.stage = Stage::Open;
        self.opened = now;
        self.down_meter = Meter::new(now, meter);
        self.have = Bitfield::new(pieces);
    }
    /// The state that blocks need, which is there from now on.
    pub(super) fn work(&mut self, profile: &Profile) -> &mut Work {
        let opened = self.opened;
        self.work.get_or_insert_with(|| Box::new(Work::new(opened, profile)))
    }
    /// Our requests to it.
    pub(super) fn active(&self) -> &[Block] {
        self.work.as_ref().map_or(&[], |work| &work.active)
    }
    /// Fields of today's clients, if it has any.
    #[inline]
    pub(super) fn extras(&self) -> Option<&Extras> {
        if self.has_extras { self.kept_extras() } else { None }
    }
    /// The same, to be changed.
    #[inline]
    pub(super) fn extras_mut(&mut self) -> Option<&mut Extras> {
        if self.has_extras { self.kept_extras_mut() } else { None }
    }
    /// Out of line: else the compiler reads `extras`, in the third line, before it looks at `has_extras`.
    #[cold]
    fn kept_extras(&self) -> Option<&Extras> {
        self.extras.as_deref()
    }
    #[cold]
    fn kept_extras_mut(&mut self) -> Option<&mut Extras> {
        self.extras.as_deref_mut()
    }
    /// How many blocks it has requested from us that have not been begun.
    pub(super) fn queued(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.queue.len())
    }
    /// Its requests have come, gone out or been taken back: notes whether any of them waits.
    pub(super) fn note_idle(&mut self, now: Time) {
        let idle = !self.has_block();
        if let Some(work) = &mut self.work {
            work.record.note(now, idle);
        }
    }
    /// Nothing that it requested from us is sent.
    pub(super) fn clear_queue(&mut self) {
        if let Some(work) = &mut self.work {
            work.queue.clear();
        }
    }
    /// How the number of requests has grown, if it grows by the connection.
    pub(super) fn slow_start(&self, rules: &Requests) -> RequestSlowStart {
        let work = self.work.as_ref().filter(|_| pipeline::has_slow_start(rules));
        let history = work.and_then(|work| work.history.as_ref());
        history.map_or(RequestSlowStart::new(self.opened), |history| history.slow_start)
    }
    /// When its last block came.
    pub(super) fn last_block(&self) -> Option<Time> {
        (self.last_block != Time::NEVER).then_some(self.last_block)
    }
    /// A block came.
    pub(super) fn block_came(&mut self, now: Time) {
        self.last_block = now;
    }
    /// Whether it has sent us no block for too long.
    pub(super) fn has_snubbed(&self, now: Time, rules: &Requests) -> bool {
        self.last_block().is_none_or(|last| now.since(last) > rules.snub_after_ns)
    }
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }
    /// Blocks go over a connection of their own from now on, which stands when it has room.
    pub(super) fn open_data(&mut self) {
        self.data = Some(Box::new(WriteBuffer::new()));
    }
    fn blocks(&mut self) -> &mut WriteBuffer {
        self.data.as_deref_mut().unwrap_or(&mut self.out)
    }
    fn block_channel(&self) -> Channel {
        if self.has_data_connection() { Channel::Data } else { Channel::Control }
    }
    /// Blocks go over a connection of their own.
    pub(super) fn has_data_connection(&self) -> bool {
        self.data.is_some()
    }
    /// Nothing waits for room in the socket buffer that blocks go to.
    pub(super) fn is_flushed(&self) -> bool {
        self.data.as_deref().unwrap_or(&self.out).is_empty()
    }
    /// Nothing waits for room in the socket buffer of the connection between the two.
    pub(super) fn is_control_flushed(&self) -> bool {
        self.out.is_empty()
    }
    /// A block may be handed to the transport, if there is one.
    pub(super) fn takes_blocks(&self) -> bool {
        !self.awaiting_transport && self.is_flushed()
    }
    /// A PIECE is half-written.
    pub(super) fn is_sending(&self) -> bool {
        self.left > 0
    }
    /// The socket buffer that what waits would go to takes nothing.
    #[cfg(test)]
    pub(super) fn is_full(&self) -> bool {
        let data = self.data.as_ref().map_or(self.out.space, |data| data.space);
        self.out.space == 0 || data == 0
    }
    /// There is a block to send.
    pub(super) fn has_block(&self) -> bool {
        self.left > 0 || self.queued() > 0 || self.send_buffer().is_some_and(|it| it.has_block())
    }
    /// The buffer that waits for quota, if the limit is shared by quotas.
    pub(super) fn send_buffer(&self) -> Option<&SendBuffer> {
        self.extras()?.send.as_ref()
    }
    pub(super) fn send_buffer_mut(&mut self) -> Option<&mut SendBuffer> {
        self.extras_mut()?.send.as_mut()
    }
    /// The exchange with it, if it understands peer exchange.
    pub(super) fn exchanged(&self) -> Option<&Exchanged> {
        self.extras()?.exchanged.as_deref()
    }
    pub(super) fn exchanged_mut(&mut self) -> Option<&mut Exchanged> {
        self.extras_mut()?.exchanged.as_deref_mut()
    }
    /// When both handshakes were there, or else when it was begun.
    pub(super) fn opened(&self) -> Time {
        self.opened
    }
    /// Both ends offer the Fast extension.
    pub(super) fn is_fast(&self) -> bool {
        self.extras().is_some_and(|extras| extras.fast)
    }
    /// Of this piece something may be asked now.
    pub(super) fn may_request(&self, piece: u32) -> bool {
        !self.choking_us || self.extras().is_some_and(|it| it.allowed.contains(&piece))
    }

    /// Sends a control message, if need be behind the half-written PIECE.
    pub(super) fn send(
        &mut self,
        id: ConnId,
        message: Message,
        behind_piece: bool,
        out: &mut Outbox,
    ) {
        if let Some(buffer) = self.send_buffer_mut() {
            buffer.push(message);
            out.cork(id);
        } else if self.is_behind(behind_piece)
            && let Some(work) = &mut self.work
        {
            work.waiting.push(message);
        } else {
            self.out.write(Channel::Control, id, message.size(), Some(message), out);
        }
    }
    /// Whether a control message would have to wait for the end of a PIECE.
    pub(super) fn is_behind(&self, behind_piece: bool) -> bool {
        behind_piece && self.is_sending() && self.data.is_none()
    }
    /// The driver took a write of `bytes` bytes.
    pub(super) fn polled(&mut self, channel: Channel, bytes: u32) {
        let write_buffer = if channel == Channel::Data { self.blocks() } else { &mut self.out };
        write_buffer.unpolled = write_buffer.unpolled.saturating_sub(bytes);
    }
    /// A socket buffer takes `space`. True if something waited for it and nothing does any more.
    pub(super) fn set_space(
        &mut self,
        id: ConnId,
        channel: Channel,
        space: u64,
        out: &mut Outbox,
    ) -> bool {
        let write_buffer = if channel == Channel::Data { self.blocks() } else { &mut self.out };
        write_buffer.set_space(channel, id, space, out)
    }

    /// Messages that wait for room.
    pub(super) fn backlog(&self) -> usize {
        let waiting = self.work.as_ref().map_or(0, |work| work.waiting.len());
        let buffered = self.send_buffer().map_or(0, |buffer| buffer.len());
        self.out.len() + waiting + buffered
    }
    /// The message of which something has been written that was not the end.
    pub(super) fn begun(&self) -> Option<Message> {
        self.out.begun().cloned().or_else(|| self.half_written())
    }
    /// The PIECE under way.
    pub(super) fn half_written(&self) -> Option<Message> {
        if let Some(buffer) = self.send_buffer() {
            return buffer.half_written().cloned();
        }
        let work = self.work.as_ref().filter(|_| self.left > 0)?;
        let BlockRequest { piece, begin, length } = work.sending;
        Some(Message::Piece { piece, begin, length })
    }

    /// One grant of the limiter: writes up to `quantum` bytes of the PIECE under way, or of the next
    /// one; the last part takes along what waited behind it.
    pub(super) fn write_quantum(
        &mut self,
        now: Time,
        id: ConnId,
        quantum: u32,
        meter: &MeterRules,
        out: &mut Outbox,
    ) -> Written {
        let channel = self.block_channel();
        let Some(work) = &mut self.work else { return Written::default() };
        if self.left == 0 {
            let Some(next) = work.queue.pop_front() else { return Written::default() };
            work.up_meter.update(now, next.length, meter);
            self.left = crate::PIECE_HEADER_BYTES + next.length;
            work.sending = next;
        }
        let BlockRequest { piece, begin, length } = work.sending;
        if quantum < self.left {
            self.left -= quantum;
            self.blocks().write(channel, id, quantum, None, out);
            return Written { bytes: quantum, ..Written::default() };
        }
        let mut bytes = self.left;
        self.left = 0;
        let block = Message::Piece { piece, begin, length };
        self.blocks().write(channel, id, bytes, Some(block), out);
        let choke_changed = self.choke_sent != self.choked;
        let mut waiting = self.work.as_mut().map(|work| std::mem::take(&mut work.waiting));
        if choke_changed {
            self.choke_sent = self.choked;
            let message = if self.choked { Message::Choke } else { Message::Unchoke };
            waiting.get_or_insert_default().push(message);
        }
        for message in waiting.iter_mut().flat_map(|waiting| waiting.drain(..)) {
            bytes = bytes.saturating_add(message.size());
            self.out.write(Channel::Control, id, message.size(), Some(message), out);
        }
        if let (Some(work), Some(waiting)) = (&mut self.work, waiting) {
            // For its capacity.
            work.waiting = waiting;
        }
        Written { bytes, block: Some((piece, length)), choke_changed }
    }
}

impl Conn {
    /// Puts blocks that were asked for into the send buffer, while little waits there.
    pub(super) fn fill_send_buffer(&mut self, now: Time, rules: &Quota, meter: &MeterRules) {
        let Some(extras) = &mut self.extras else { return };
        let below = watermark(rules, extras.statistics.up.last_second());
        let (Some(buffer), Some(work)) = (&mut extras.send, &mut self.work) else { return };
        if buffer.bytes() > 0
            && buffer.bytes() < below
            && let Some(next) = work.queue.front()
        {
            // While it is read (`m_reading_bytes`).
            buffer.note(buffer.bytes().max(next.length));
        }
        while buffer.bytes() < below
            && let Some(BlockRequest { piece, begin, length }) = work.queue.pop_front()
        {
            work.up_meter.update(now, length, meter);
            buffer.push(Message::Piece { piece, begin, length });
        }
    }
    /// Writes as much of the send buffer as quota and socket allow in one go; the bytes.
    pub(super) fn write_send_buffer(
        &mut self,
        id: ConnId,
        free_messages: bool,
        out: &mut Outbox,
        mut block: impl FnMut(u32, u32),
    ) -> u32 {
        let data = self.data.as_deref_mut();
        let Some(extras) = &mut self.extras else { return 0 };
        let Some(buffer) = &mut extras.send else { return 0 };
        let (mut written, mut data) = (0, data);
        while let Some(of_block) = buffer.begins_with_block() {
            let (channel, way) = match &mut data {
                Some(data) if of_block => (Channel::Data, &mut **data),
                _ => (Channel::Control, &mut self.out),
            };
            let Some(part) = buffer.take(way.space, free_messages) else { break };
            written += part.bytes;
            let statistics = &mut extras.statistics;
            if part.of_block { &mut statistics.up } else { &mut statistics.up_protocol }
                .add(part.bytes);
            if let Some(message @ &Message::Piece { piece, length, .. }) = part.completes.as_ref() {
                let header = message.size() - length;
                statistics.up.take_back(header);
                statistics.up_protocol.add(header);
                block(piece, length);
            }
            way.write(channel, id, part.bytes, part.completes, out);
            if part.ends {
                break;
            }
        }
        written
    }
}

/// The connections of a peer by number.
#[derive(Debug, Default)]
pub(super) struct Conns {
    slots: Vec<Slot>,
    free: Vec<ConnId>,
    /// Closed, but the driver has not yet polled everything about them.
    closing: Vec<ConnId>,
    live: u32,
}

#[derive(Debug)]
#[repr(C)]
struct Slot {
    /// Of no size: lines are prefetched by their number, without reading the connection.
    lines: CacheLines,
    conn: Option<Conn>,
}

impl Slot {
    /// Where all are looked at: asks for one that comes later.
    fn prefetch_later(&self) {
        let line = TOGETHER * size_of::<Slot>() / 64;
        self.lines.prefetch(line..line + 1);
    }
}

/// How far ahead of the neighbour that is looked at one is asked for, where all are.
pub(super) const TOGETHER: usize = 16;

/// The cache lines of a connection that a HAVE, a request and a turn of the limiter need.
const LINES_TO_SPEAK: usize = 2;

impl Conns {
    /// Asks for what most messages need of a connection.
    pub(super) fn prefetch(&self, id: ConnId) {
        if let Some(slot) = self.slots.get(id.0 as usize) {
            slot.lines.prefetch(0..LINES_TO_SPEAK);
        }
    }
    /// Asks for what writing a block to `id` needs besides; it must have been prefetched before.
    pub(super) fn prefetch_block(&self, id: ConnId) {
        let Some(conn) = self.get(id) else { return };
        if let Some(work) = &conn.work {
            prefetch(&work.queue);
            prefetch(&work.sending);
            prefetch(&work.up_meter);
        }
        if let Some(pending) = &conn.out.pending {
            prefetch(&**pending);
        }
    }
    /// Asks for what mainline's choke rounds look at.
    pub(super) fn prefetch_standing(&self, id: ConnId) {
        if let Some(slot) = self.slots.get(id.0 as usize) {
            slot.lines.prefetch(0..1);
            slot.lines.prefetch(2..3);
        }
    }
    /// Asks for what a request needs besides, if `id` would answer one; it must have been prefetched before.
    pub(super) fn prefetch_request(&self, id: ConnId) {
        let Some(slot) = self.slots.get(id.0 as usize) else { return };
        if let Some(conn) = slot.conn.as_ref().filter(|conn| !conn.choking_us) {
            slot.lines.prefetch(2..3);
            if let Some(work) = &conn.work {
                prefetch(&work.active);
            }
        }
    }
    pub(super) fn get(&self, id: ConnId) -> Option<&Conn> {
        self.slots.get(id.0 as usize)?.conn.as_ref()
    }
    pub(super) fn get_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.slots.get_mut(id.0 as usize)?.conn.as_mut()
    }
    pub(super) fn insert(&mut self, conn: Conn) -> ConnId {
        self.live += 1;
        if let Some(id) = self.free.pop() {
            self.slots[id.0 as usize].conn = Some(conn);
            return id;
        }
        if self.slots.len() == self.slots.capacity() {
            // Three lines of the cache each: doubling leaves a third of a thousand peers' memory unused.
            self.slots.reserve_exact(self.slots.len().max(64) / 4);
        }
        self.slots.push(Slot { lines: CacheLines::HERE, conn: Some(conn) });
        ConnId(self.slots.len() as u32 - 1)
    }
    pub(super) fn remove(&mut self, id: ConnId) -> Option<Conn> {
        let conn = self.slots.get_mut(id.0 as usize)?.conn.take()?;
        self.live -= 1;
        self.closing.push(id);
        Some(conn)
    }
    /// The driver knows of every close: the numbers may be used again.
    pub(super) fn drained(&mut self) {
        if !self.closing.is_empty() {
            self.free.append(&mut self.closing);
        }
    }
    /// All of them, those being opened included.
    pub(super) fn live(&self) -> u32 {
        self.live
    }
    /// One more than the highest number ever used.
    pub(super) fn end(&self) -> u32 {
        self.slots.len() as u32
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnId, &Conn)> {
        let numbered = self.slots.iter().enumerate().inspect(|(_, slot)| slot.prefetch_later());
        numbered.filter_map(|(n, slot)| Some((ConnId(n as u32), slot.conn.as_ref()?)))
    }
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (ConnId, &mut Conn)> {
        let numbered = self.slots.iter_mut().enumerate().inspect(|(_, slot)| slot.prefetch_later());
        numbered.filter_map(|(n, slot)| Some((ConnId(n as u32), slot.conn.as_mut()?)))
    }
    pub(super) fn to(&self, remote: PeerId) -> Option<(ConnId, &Conn)> {
        self.iter().find(|(_, conn)| conn.remote == remote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_stay_small_in_memory() {
        assert_eq!(size_of::<Conn>(), 192);
        assert_eq!(size_of::<Slot>(), 192);
        assert_eq!(std::mem::offset_of!(Conn, have), 64);
        assert_eq!(std::mem::offset_of!(Conn, last_block), 128);
        assert!(size_of::<Work>() <= 176, "{}", size_of::<Work>());
    }
}
