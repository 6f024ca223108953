#[cfg(test)]
mod ends;

use super::event::{Event, EventKind};
use super::event_queue::EventQueue;
use super::messages::Messages;
use super::monitor::{Monitor, NO_CLASS};
use super::network::Network;
use super::owner::{Owner, other};
use super::packet::{Packet, Sacks};
use super::tap::Tap;
use super::transport::{Stack, Transport};
use flashcrowd_base::{CacheLines, List, RandomStream, Slab, Span, Time};
use flashcrowd_transport::tcp::{Connection, Flags, Segment};
use flashcrowd_transport::utp::{self, PacketKind};
use std::collections::BTreeMap;

/// The condition for which an owner waits before it writes again, besides room in the send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// Nothing but room in the send buffer.
    Room,
    /// Everything written has been sent.
    Sent,
    /// Everything written has been acknowledged.
    Acknowledged,
}

/// One end of a connection: its transport, its route to the other end, and the application stream.
///
/// No bytes move: a stream is its length, and a message is known by the offset at which it ends.
///
/// The first 64 bytes are for every packet; then comes the transport, inline and from a line of the cache
/// on; then the fields of counting, captures and limited reads. With tens of thousands of sockets every
/// line that is touched takes longer than the work done on it.
#[repr(C, align(64))]
pub(crate) struct Socket {
    /// Of no size: a caller prefetches lines by their number, without reading the structure.
    pub(super) lines: CacheLines,
    /// Delay to the other end where the route is a constant delay; [`ROUTED`] otherwise.
    delay: Span,
    /// Number of the FIFO if the delay is constant; else number of the route.
    way: u32,
    pub(crate) owner: Owner,
    /// Offset at which the next message ends, so that most packets need not look for it.
    pub(super) next_end: u64,
    /// Bytes read from this end.
    read: u64,
    /// Send-buffer space last reported to the owner, and the low watermark (SO_SNDLOWAT) above which
    /// it needs no further report. Both saturate at `u32::MAX`.
    pub(crate) reported_space: u32,
    pub(crate) low_watermark: u32,
    /// Messages on their way to this end, in [`Sockets::messages`].
    pub(super) message_queue: List,
    /// Packets that this end sent, less those for it that arrived or were lost, modulo 2^32: the sum of
    /// both ends' is the packets in flight between them.
    in_flight: u32,
    /// Whether it was reported to the owner that the connection is established.
    pub(crate) connected_reported: bool,
    /// Whether this pair may be used again.
    free: bool,
    /// Whether the owner reads no more than `may_read` bytes.
    pub(super) reads_limited: bool,
    /// The condition for which the owner waits.
    pub(crate) wait_for: WaitFor,
    /// Absent while listening, and in a free pair.
    pub(crate) transport: Option<Transport>,
    /// Where its payload lengths are counted.
    pub(crate) class: u32,
    /// Its number in the capture, if it has one.
    captured: u32,
    may_read: u64,
    /// When its owner last wrote what [`Monitor::send`] counts; [`Time::NEVER`] before.
    pub(crate) last_send: Time,
}

/// How packets get to the other end: [`Socket::delay`] and [`Socket::way`].
#[derive(Clone, Copy)]
struct Route {
    delay: Span,
    number: u32,
}

/// In place of a delay: packets take a route of several steps.
const ROUTED: Span = Span::MAX;

impl Route {
    /// Sends a segment of `frames` frames to a socket. Returns how many packets are in flight because of it.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "in the hottest loop, in registers")]
    fn send_segment(
        self,
        network: &mut Network,
        queue: &mut EventQueue<Event>,
        now: Time,
        frames: u32,
        segment: &Segment,
        to: u32,
        bytes: impl FnOnce() -> u32,
    ) -> u32 {
        if self.delay != ROUTED {
            let packet = Packet::segment(to, segment, u32::MAX, 0).arriving(now + self.delay);
            network.send_direct(queue, self.number, frames, packet, &segment.sack);
            return 1;
        }
        let packet = Packet::segment(to, segment, self.number, bytes());
        network.send_segment(queue, now, frames, to, segment, packet)
    }

    /// The same for a uTP packet.
    #[inline(always)]
    fn send_utp(
        self,
        network: &mut Network,
        queue: &mut EventQueue<Event>,
        now: Time,
        slot: u32,
        to: u32,
        bytes: u32,
    ) -> u32 {
        if self.delay != ROUTED {
            let packet = Packet::utp(to, slot, u32::MAX, 0).arriving(now + self.delay);
            network.send_direct(queue, self.number, 1, packet, &Sacks::default());
            return 1;
        }
        network.send(queue, now, Packet::utp(to, slot, self.number, bytes))
    }
}

/// The parameters of a new socket.
pub(crate) struct SocketSpec {
    pub(crate) owner: Owner,
    pub(crate) stack: Stack,
    pub(crate) route: u32,
    pub(crate) direct: Option<(Span, u32)>,
    pub(crate) class: u32,
    pub(crate) captured: u32,
    pub(crate) low_watermark: u64,
}

impl Socket {
    fn new(end: SocketSpec, transport: Option<Transport>) -> Socket {
        let (delay, way) = end.direct.unwrap_or((ROUTED, end.route));
        Socket {
            lines: CacheLines::HERE,
            delay,
            way,
            owner: end.owner,
            next_end: u64::MAX,
            read: 0,
            reported_space: 0,
            low_watermark: clamp(end.low_watermark),
            message_queue: List::EMPTY,
            in_flight: 0,
            connected_reported: false,
            free: false,
            reads_limited: false,
            wait_for: WaitFor::Room,
            transport,
            class: end.class,
            captured: end.captured,
            may_read: 0,
            last_send: Time::NEVER,
        }
    }

    /// A packet for this end has arrived, or was lost or dropped.
    #[inline(always)]
    pub(super) fn packet_gone(&mut self) {
        self.in_flight = self.in_flight.wrapping_sub(1);
    }

    /// Reads whatever has arrived and may be read; the bytes.
    #[inline(always)]
    pub(super) fn read(&mut self, now: Time) -> u64 {
        let Some(transport) = &mut self.transport else { return 0 };
        let mut bytes = transport.readable();
        if self.reads_limited {
            bytes = bytes.min(self.may_read);
            self.may_read -= bytes;
        }
        if bytes > 0 {
            transport.read(now, bytes);
            self.read += bytes;
        }
        bytes
    }

    /// The space in the send buffer, if it is more than was last reported to the owner; reported from
    /// now on.
    pub(crate) fn more_space(&mut self) -> Option<u64> {
        let space = self.transport.as_ref().map_or(0, |transport| transport.write_space());
        if clamp(space) <= self.reported_space {
            return None;
        }
        self.reported_space = clamp(space);
        Some(space)
    }
}

/// Room in a buffer, as a socket keeps it.
pub(crate) fn clamp(space: u64) -> u32 {
    space.min(u64::from(u32::MAX)) as u32
}

/// The timer of a socket, cancelled lazily: most timers are put off by an acknowledgement before they
/// expire. Stored apart from the sockets, so that all that a stale event touches fits into L2.
#[derive(Clone, Copy)]
pub(super) struct Timer {
    /// Instant of the earliest pending timer event; others are stale.
    pub(super) armed: Time,
    /// Deadline of the transport: an earlier event is rescheduled without a look at the socket.
    pub(super) due: Time,
}

impl Timer {
    const OFF: Timer = Timer { armed: Time::NEVER, due: Time::NEVER };

    /// Schedules an event for the deadline, unless an earlier one is pending. A transport that cannot
    /// sleep (`can_sleep`) is woken by every pending event, whatever its deadline.
    fn arm(
        &mut self,
        socket: u32,
        now: Time,
        deadline: Option<Time>,
        can_sleep: bool,
        queue: &mut EventQueue<Event>,
    ) {
        self.due = if can_sleep { deadline.unwrap_or(Time::NEVER) } else { Time::START };
        if let Some(deadline) = deadline.map(|deadline| deadline.max(now))
            && deadline < self.armed
        {
            self.armed = deadline;
            queue.schedule(deadline, Event::new(EventKind::Socket, socket));
        }
    }
}

/// All sockets; those of a connection are neighbours, the one that connects first.
pub(crate) struct Sockets<M> {
    pub(super) all: Vec<Socket>,
    pub(super) timers: Vec<Timer>,
    /// Stacks of the ends that listen.
    listening: BTreeMap<u32, Stack>,
    pub(super) messages: Messages<M>,
    free: Vec<u32>,
    /// Frames retransmitted by connections whose pair was released.
    pub(crate) retransmitted: u64,
    /// Timeouts of such connections, by class.
    pub(super) timeouts: Vec<u64>,
    /// uTP packets in flight. The network carries segments, which all that it does is made for: a segment
    /// without content carries the slot of its uTP packet in place of a sequence number.
    pub(crate) utp_packets: Slab<utp::Packet>,
    /// Captures at the interfaces of hosts, if there are any.
    pub(crate) tap: Option<Box<Tap<M>>>,
    /// The ids and first numbers of uTP connections.
    numbers: RandomStream,
    /// Connections whose controllers draw have a stream each.
    seed: u64,
    drawing: u64,
}

/// The packet that opens a connection, as it arrives.
pub(crate) enum Syn<'a> {
    Tcp(&'a Segment),
    Utp(&'a utp::Packet),
}

/// Adds retransmission timeouts of a socket to those of its class.
pub(super) fn count_timeouts(timeouts: &mut Vec<u64>, class: u32, more: u32) {
    if class == NO_CLASS || more == 0 {
        return;
    }
    if timeouts.len() <= class as usize {
        timeouts.resize(class as usize + 1, 0);
    }
    timeouts[class as usize] += u64::from(more);
}

impl<M> Sockets<M> {
    pub(crate) fn new(seed: u64, tap: Option<Box<Tap<M>>>) -> Sockets<M> {
        Sockets {
            all: Vec::new(),
            timers: Vec::new(),
            listening: BTreeMap::new(),
            messages: Messages::default(),
            free: Vec::new(),
            retransmitted: 0,
            timeouts: Vec::new(),
            utp_packets: Slab::default(),
            tap,
            numbers: RandomStream::new(seed, "utp", 0),
            seed,
            drawing: 0,
        }
    }

    /// Asks for memory for as many sockets, or the first 200 MB of them, so that none is moved while they
    /// become more. What is not used is not touched; what cannot be had is asked for when it is needed.
    pub(crate) fn reserve(&mut self, sockets: usize) {
        let sockets = sockets.min(1 << 18);
        if self.all.try_reserve(sockets).is_ok() {
            _ = self.timers.try_reserve(sockets);
        }
    }

    pub(crate) fn get(&self, socket: u32) -> &Socket {
        &self.all[socket as usize]
    }
    pub(crate) fn get_mut(&mut self, socket: u32) -> &mut Socket {
        &mut self.all[socket as usize]
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.all.iter()
    }

    /// A controller that draws has a stream that no other connection has.
    fn give_stream(&mut self, stack: &Stack, transport: &mut Transport) {
        let kind = match stack {
            Stack::Tcp(stack) => stack.controller,
            Stack::Utp(stack) => stack.controller,
        };
        if kind.draws() {
            let stream = RandomStream::new(self.seed, "congestion", self.drawing);
            self.drawing += 1;
            match transport {
                Transport::Tcp(tcp) => tcp.draw_from(stream),
                Transport::Utp(utp) => utp.draw_from(stream),
            }
        }
    }

    /// A pair of ends, the first of which opens the connection; its SYN waits to be sent.
    pub(crate) fn open(
        &mut self,
        now: Time,
        hosts: [u32; 2],
        [active, passive]: [SocketSpec; 2],
    ) -> u32 {
        let mut transport = match &active.stack {
            Stack::Tcp(stack) => Transport::Tcp(Connection::connect(stack, now)),
            Stack::Utp(stack) => {
                let (id, seq_nr) =
                    (self.numbers.below(1 << 16) as u16, self.numbers.below(1 << 16) as u16);
                Transport::Utp(Box::new(utp::Connection::connect(stack, now, id, seq_nr)))
            }
        };
        self.give_stream(&active.stack, &mut transport);
        let listens = passive.stack.clone();
        let owners = [active.owner, passive.owner];
        let opens = self.tap.is_some().then(|| active.stack.clone());
        let ends = [Socket::new(active, Some(transport)), Socket::new(passive, None)];
        let first = match self.free.pop() {
            Some(first) => {
                for (place, end) in (first as usize..).zip(ends) {
                    self.all[place] = end;
                }
                first
            }
            None => {
                self.all.extend(ends);
                self.timers.extend([Timer::OFF; 2]);
                (self.all.len() - 2) as u32
            }
        };
        if let (Some(tap), Some(opens)) = (&mut self.tap, &opens) {
            tap.opens(first, hosts, owners, [opens, &listens]);
        }
        self.listening.insert(other(first), listens);
        first
    }

    /// Frees a pair when both ends are closed and no packet is in flight between them.
    pub(crate) fn release_pair(&mut self, socket: u32) {
        let first = socket & !1;
        let (a, b) = (&self.all[first as usize], &self.all[first as usize + 1]);
        let over = |end: &Socket| {
            end.owner == Owner::NOBODY && end.transport.as_ref().is_none_or(Transport::is_over)
        };
        let quiet = a.in_flight.wrapping_add(b.in_flight) == 0;
        if a.free || !quiet || !over(a) || !over(b) {
            return;
        }
        for end in [first, first + 1] {
            self.timers[end as usize] = Timer::OFF;
            let end = &mut self.all[end as usize];
            if let Some(transport) = end.transport.take() {
                let stats = transport.stats();
                self.retransmitted += stats.segments_retransmitted;
                count_timeouts(&mut self.timeouts, end.class, stats.timeouts);
            }
            end.free = true;
            self.messages.clear(&mut end.message_queue);
        }
        self.listening.remove(&other(first));
        self.free.push(first);
    }

    /// Whether a timer event at `now` has expired for this socket. A stale event is ignored, one that the
    /// transport has put off is rescheduled, neither with a look at the socket.
    pub(crate) fn take_timer(
        &mut self,
        socket: u32,
        now: Time,
        queue: &mut EventQueue<Event>,
    ) -> bool {
        let timer = &mut self.timers[socket as usize];
        if timer.armed != now {
            return false;
        }
        timer.armed = Time::NEVER;
        if timer.due <= now {
            return true;
        }
        if timer.due != Time::NEVER {
            timer.armed = timer.due;
            queue.schedule(timer.due, Event::new(EventKind::Socket, socket));
        }
        false
    }

    /// Sends what the transport has to send, and arms its timer.
    pub(crate) fn flush(
        &mut self,
        socket: u32,
        now: Time,
        network: &mut Network,
        queue: &mut EventQueue<Event>,
        monitor: &mut Monitor,
    ) {
        match &self.all[socket as usize].transport {
            Some(Transport::Tcp(tcp)) if tcp.is_idle() => {
                self.timers[socket as usize].arm(socket, now, tcp.next_timer(), true, queue);
            }
            _ => self.send(socket, now, network, queue, monitor),
        }
    }

    #[inline(never)]
    fn send(
        &mut self,
        socket: u32,
        now: Time,
        network: &mut Network,
        queue: &mut EventQueue<Event>,
        monitor: &mut Monitor,
    ) {
        let end = &mut self.all[socket as usize];
        let way = Route { delay: end.delay, number: end.way };
        let tcp = match &mut end.transport {
            Some(Transport::Tcp(tcp)) => tcp,
            Some(Transport::Utp(_)) => return self.flush_utp(socket, now, network, queue, monitor),
            None => return,
        };
        let to = other(socket);
        let mut sent = 0;
        if !tcp.is_established() {
            while let Some(segment) = tcp.poll_transmit(now) {
                monitor.payload(end.class, segment.len);
                if monitor.watches_packets {
                    trace(monitor, &mut self.tap, (socket, end.captured), now, &segment);
                }
                let bytes = || segment.wire_bytes() as u32;
                sent += way.send_segment(network, queue, now, 1, &segment, to, bytes);
            }
        } else {
            while let Some(outgoing) = tcp.poll_outgoing(now) {
                if monitor.watches_payloads() {
                    monitor.payload(end.class, outgoing.payload());
                }
                let mut segment = Segment::EMPTY;
                let frames = tcp.write_out(now, outgoing, &mut segment);
                if monitor.watches_packets {
                    trace(monitor, &mut self.tap, (socket, end.captured), now, &segment);
                }
                let bytes = || segment.len + frames * segment.header_bytes();
                sent += way.send_segment(network, queue, now, frames, &segment, to, bytes);
            }
        }
        end.in_flight = end.in_flight.wrapping_add(sent);
        let (deadline, can_sleep) = (tcp.next_timer(), tcp.can_sleep());
        self.timers[socket as usize].arm(socket, now, deadline, can_sleep, queue);
    }

    /// [`send`](Sockets::send) for uTP.
    fn flush_utp(
        &mut self,
        socket: u32,
        now: Time,
        network: &mut Network,
        queue: &mut EventQueue<Event>,
        monitor: &mut Monitor,
    ) {
        let end = &mut self.all[socket as usize];
        let way = Route { delay: end.delay, number: end.way };
        let Some(Transport::Utp(utp)) = &mut end.transport else { return };
        while let Some(packet) = utp.poll_transmit(now) {
            let (bytes, len) = (packet.wire_bytes() as u32, u32::from(packet.len));
            monitor.payload(end.class, len);
            if let Some(logs) = &mut monitor.logs {
                logs.sent_utp(socket, now, &packet);
            }
            if let Some(trace) = &mut monitor.trace {
                let last = 1 + packet.offset + u64::from(len);
                let reached = match packet.kind {
                    PacketKind::Syn => Some(1),
                    PacketKind::Data => Some(last),
                    PacketKind::Fin => Some(last + 1),
                    PacketKind::State | PacketKind::Reset => None,
                };
                trace.sent(end.captured, now, bytes, len, reached);
            }
            if let Some(tap) = &mut self.tap {
                tap.sends_utp(socket, now, &packet);
            }
            let slot = self.utp_packets.insert(packet);
            let sent = way.send_utp(network, queue, now, slot, other(socket), bytes);
            if sent == 0 {
                self.utp_packets.remove(slot);
            }
            end.in_flight = end.in_flight.wrapping_add(sent);
        }
        self.timers[socket as usize].arm(socket, now, utp.next_timer(), true, queue);
    }

    /// A SYN arrived at a listening end, for the transport that this end speaks, too.
    pub(crate) fn accept(&mut self, socket: u32, now: Time, syn: Syn<'_>, owner: Owner) {
        let seq_nr = match syn {
            Syn::Tcp(_) => 0,
            Syn::Utp(_) => self.numbers.below(1 << 16) as u16,
        };
        let end = &mut self.all[socket as usize];
        end.owner = owner;
        let Some(stack) = self.listening.get(&socket).cloned() else { return };
        let mut transport = match (&stack, syn) {
            (Stack::Tcp(stack), Syn::Tcp(syn)) => {
                Transport::Tcp(Connection::accept(stack, now, syn))
            }
            (Stack::Utp(stack), Syn::Utp(syn)) => {
                Transport::Utp(Box::new(utp::Connection::accept(stack, now, syn, seq_nr)))
            }
            _ => return,
        };
        self.listening.remove(&socket);
        self.give_stream(&stack, &mut transport);
        self.all[socket as usize].transport = Some(transport);
    }

    /// Writes to the stream; `message` ends with these bytes. Returns the room that is left.
    pub(crate) fn write(&mut self, socket: u32, now: Time, bytes: u64, message: Option<M>) -> u64
    where
        M: Clone,
    {
        let end = &mut self.all[socket as usize];
        let Some(transport) = &mut end.transport else { return 0 };
        let taken = transport.write(now, bytes);
        let space = transport.write_space();
        let offset = transport.written();
        // A connection that has just failed takes nothing, which is reported to its owner next. Any other
        // takes all of the space that was reported.
        debug_assert!(taken == bytes || transport.is_closed(), "{taken} of {bytes} bytes");
        if let Some(tap) = &mut self.tap {
            tap.wrote(socket, now, taken, message.as_ref().filter(|_| taken == bytes).cloned());
        }
        if let (Some(message), true) = (message, taken == bytes) {
            let reader = &mut self.all[other(socket) as usize];
            reader.next_end = reader.next_end.min(offset);
            self.messages.push(&mut reader.message_queue, offset, message);
        }
        space
    }

    /// The next write of the owner is the beginning of this message; for captures.
    pub(crate) fn begins(&mut self, socket: u32, message: impl FnOnce() -> Option<M>) {
        if let Some(tap) = &mut self.tap
            && let Some(message) = message()
        {
            tap.begins(socket, message);
        }
    }

    /// Whether the condition that the owner waits for ([`WaitFor`]) is met.
    pub(crate) fn is_done(&self, socket: u32) -> bool {
        let end = &self.all[socket as usize];
        match (end.wait_for, &end.transport) {
            (WaitFor::Sent, Some(transport)) => transport.unsent() == 0,
            (WaitFor::Acknowledged, Some(transport)) => transport.unacknowledged() == 0,
            _ => false,
        }
    }

    /// From now on the owner reads at most `bytes` bytes, or all that arrive. Whether something has
    /// arrived that it may read.
    pub(crate) fn limit_reads(&mut self, socket: u32, bytes: Option<u64>) -> bool {
        let end = &mut self.all[socket as usize];
        end.reads_limited = bytes.is_some();
        end.may_read = bytes.unwrap_or(0);
        bytes != Some(0) && end.transport.as_ref().is_some_and(|it| it.readable() > 0)
    }

    /// The next message that has been read to its end.
    pub(crate) fn next_message(&mut self, socket: u32) -> Option<M> {
        let end = &mut self.all[socket as usize];
        if end.next_end > end.read {
            return None;
        }
        let message = self.messages.pop(&mut end.message_queue);
        end.next_end = self.messages.next_end(&end.message_queue);
        message
    }
}

/// Notes a segment that a socket sends, whose number in the capture stands beside it: for its frames
/// in the trace, at the interface of its host, and in the log of its connection.
#[cold]
fn trace<M>(
    monitor: &mut Monitor,
    tap: &mut Option<Box<Tap<M>>>,
    (socket, captured): (u32, u32),
    now: Time,
    segment: &Segment,
) {
    if let Some(tap) = tap {
        tap.sends_tcp(socket, now, segment);
    }
    if let Some(logs) = &mut monitor.logs {
        logs.sent(socket, now, segment);
    }
    if let Some(trace) = &mut monitor.trace {
        for frame in (0..segment.frames()).map(|index| segment.frame(index)) {
            let (syn, fin) = (frame.flags.contains(Flags::SYN), frame.flags.contains(Flags::FIN));
            let last = 1 + frame.seq + u64::from(frame.len) + u64::from(fin);
            let end = if syn { Some(1) } else { (fin || frame.len > 0).then_some(last) };
            trace.sent(captured, now, frame.wire_bytes() as u32, frame.len, end);
        }
    }
}

/// How many sockets there are, and which parts of them are in use.
#[cfg(test)]
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Both ends of all pairs, free ones included.
    pub(crate) sockets: usize,
    /// Ends of pairs that are not free.
    pub(crate) in_use: usize,
    /// Messages that wait to be read.
    pub(crate) messages: usize,
    /// uTP packets in flight.
    pub(crate) utp_packets: usize,
}

#[cfg(test)]
impl<M> Sockets<M> {
    pub(crate) fn census(&self) -> Census {
        Census {
            sockets: self.all.len(),
            in_use: self.all.len() - 2 * self.free.len(),
            messages: self.messages.in_use(),
            utp_packets: self.utp_packets.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// One line of the cache, and the connection's lines after it.
    #[test]
    fn a_socket_begins_with_what_every_packet_needs() {
        assert_eq!(offset_of!(Socket, transport), 64);
        assert_eq!(size_of::<Option<Transport>>(), size_of::<Connection>());
        assert!(size_of::<Socket>() <= 768, "{}", size_of::<Socket>());
    }
}
