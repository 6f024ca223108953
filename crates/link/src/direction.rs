use crate::discipline::pool::Held;
use crate::discipline::{Line, Managed};
use crate::trace::{Cursor, Service};
use crate::{Cause, Conditions, JitterShape, LossModel, Packet, Plain, Queue, QueueLimit, Side};
use flashcrowd_base::{RandomStream, Rate, Ring, Span, Time};

use relaid::{Relaid, bits_left};

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the other end at this instant.
    Arrives(Time),
    /// It is lost at random.
    Lost,
    /// It is dropped: the queue is full, or its discipline wants the sender to slow down.
    Dropped,
    /// It waits in a queue whose discipline will decide: see [`Direction::dequeue`].
    Queued,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The tag it was offered with.
    pub tag: u32,
    /// When its transmission ends.
    pub departs: Time,
    /// When it reaches the other end; `None` if it is lost on the way.
    pub arrives: Option<Time>,
    /// Whether it has got a CE mark here, and carries that codepoint from now on.
    pub marked: bool,
}

/// A packet whose arrival moved because the link changed while it was waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The tag it was offered with.
    pub tag: u32,
    /// When it was to arrive.
    pub arrived: Time,
    /// When it arrives now.
    pub arrives: Time,
}

impl Moved {
    /// When something comes now that was to come at or after its arrival.
    pub fn shifted(&self, due: Time) -> Time {
        self.arrives + due.since(self.arrived)
    }
}

/// The counters of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets transmitted, those lost at the receiving side included. A first-in-first-out queue
    /// counts what it takes, as it knows by then when that will leave; see [`Direction::sent`].
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Packets that were dropped since the queue was full.
    pub dropped: u64,
    /// Packets that a discipline dropped to tell their senders to slow down.
    pub dropped_early: u64,
    /// Acknowledgements that the ACK filter dropped, as later ones covered them.
    pub superseded: u64,
    /// Packets that got a CE mark.
    pub marked: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Sum of the waiting times of transmitted packets, without their own transmission.
    pub waited: Span,
    /// Most packets ever at the link at once, the one in transmission included.
    pub max_packets: u32,
}

/// The packets and bytes that have left a direction by an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets that have, those lost at the receiving side included.
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Their bits, and those of the packet in transmission that have left.
    pub bits: u64,
}

/// The counters of all directions; the rest of [`Counters`] is with the disciplines.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    packets: u64,
    bytes: u64,
    dropped: u64,
    lost: u64,
    waited: Span,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    departs: Time,
    bytes: u32,
    /// [`NAMELESS`] for one that is lost: its arrival will never be asked for.
    tag: u32,
}

const NAMELESS: u32 = 0;

/// State of a direction that is kept only where a packet's arrival does not follow from its
/// departure (with jitter, or after a change of the delay), or where a discipline decides.
#[derive(Clone, Debug, Default)]
struct Detail {
    /// For each of the waiting packets, when it would arrive if there were no other: its departure,
    /// the delay, and what its jitter adds. There may be more at the front, of packets that have
    /// departed.
    own_arrivals: Ring<Time>,
    /// The last arrival of those that have departed.
    departed: Time,
    managed: Option<Managed>,
    /// How far a trace is used, where the link has one.
    cursor: Option<Cursor>,
}

impl Detail {
    /// Forgets all packets but the last `waiting`.
    fn keep(&mut self, waiting: usize) {
        while self.own_arrivals.len() > waiting {
            self.departed = self.departed.max(self.own_arrivals.pop_front().unwrap_or_default());
        }
    }
}

/// The state of one direction of a link. A plain link needs only the fields up to `max_packets`: two lines of the
/// cache, where the structure begins on one, as in `SharedLink`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Direction {
    /// Packets that have not departed yet, the one in transmission first. Departed packets are removed
    /// lazily, when the queue looks full or its length is asked for: a look for each offered packet
    /// mispredicts, and takes longer than the rest of the offer.
    waiting: Ring<Waiting>,
    waiting_bytes: u64,
    /// When the line can begin with a packet; with a trace of opportunities, the next of them.
    free_at: Time,
    /// When the last packet was known to depart that [`Direction::forget_departed`] has forgotten.
    departed: Time,
    /// The last arrival of all packets so far: on a link that keeps the order, no newcomer arrives
    /// before that.
    last_arrival: Time,
    counters: Carried,
    max_packets: u32,
    /// State of the Gilbert-Elliott chain.
    bad: bool,
    detail: Option<Box<Detail>>,
    stream: RandomStream,
}

impl Direction {
    /// An idle direction that draws its jitter and losses from `stream`.
    pub fn new(stream: RandomStream) -> Direction {
        Direction {
            waiting: Ring::new(),
            waiting_bytes: 0,
            free_at: Time::START,
            departed: Time::START,
            last_arrival: Time::START,
            stream,
            detail: None,
            bad: false,
            max_packets: 0,
            counters: Carried::default(),
        }
    }

    /// Offers a packet at `now`. A discipline that makes room for it, or finds something else in its
    /// queues that it makes superfluous, tells `dropped` the tags of what it drops; the packet itself is
    /// never among them.
    pub fn offer<P: Packet>(
        &mut self,
        conditions: &Conditions,
        now: Time,
        packet: &P,
        dropped: &mut impl FnMut(u32, Cause),
    ) -> Outcome {
        let Some(rate) = conditions.rate_bps else {
            return self.offer_without_rate(conditions, now, packet, dropped);
        };
        let (Queue::DropTail(limit), None, None) =
            (&conditions.queue, &self.detail, &conditions.jitter)
        else {
            return self.offer_with_care(conditions, Service::Rate(rate), now, packet, dropped);
        };
        let lost = self.loses(conditions);
        if lost && loses_at(conditions, Side::Sender) {
            self.counters.lost += 1;
            return Outcome::Lost;
        }
        let bytes = conditions.framing.wire_bytes(packet.bytes());
        if !self.admits(limit, now, bytes) {
            return Outcome::Dropped;
        }
        let transmission = rate.transmission(u64::from(bytes));
        let tag = packet.tag();
        let arrives = self.send(now, bytes, tag, lost, transmission, conditions.delay_ns);
        if lost { Outcome::Lost } else { Outcome::Arrives(arrives) }
    }

    /// [`offer`](Direction::offer) to a plain link, as `plain` says instead of its conditions. Only for a direction that
    /// [is plain](Direction::is_plain).
    #[inline(always)]
    pub fn offer_plain<P: Packet>(&mut self, plain: &Plain, now: Time, packet: &P) -> Outcome {
        debug_assert!(self.is_plain());
        let bytes = plain.wire_bytes(packet.bytes());
        if !self.admits(&plain.limit, now, bytes) {
            return Outcome::Dropped;
        }
        let transmission = plain.transmission(bytes);
        Outcome::Arrives(self.send(now, bytes, packet.tag(), false, transmission, plain.delay))
    }

    /// Whether a packet finds room in a drop-tail queue; counts it as dropped if not.
    #[inline(always)]
    fn admits(&mut self, limit: &QueueLimit, now: Time, bytes: u32) -> bool {
        if self.is_full(limit, bytes) {
            self.forget_departed(now);
            if self.is_full(limit, bytes) {
                self.counters.dropped += 1;
                return false;
            }
        }
        true
    }

    /// Puts a packet behind those that wait; gives its arrival. Without detail, all packets have had this delay, so the
    /// order needs no care.
    #[inline(always)]
    fn send(
        &mut self,
        now: Time,
        bytes: u32,
        tag: u32,
        lost: bool,
        transmission: Span,
        delay: Span,
    ) -> Time {
        let begins = self.free_at.max(now);
        let departs = begins + transmission;
        self.free_at = departs;
        self.queue(now, begins, departs, bytes, tag, lost);
        self.last_arrival = departs + delay;
        self.last_arrival
    }

    /// Whether a packet's arrival follows from its departure, as ever on a plain link whose delay has not changed with
    /// packets under way.
    pub fn is_plain(&self) -> bool {
        self.detail.is_none()
    }

    /// A link without a rate: nothing waits, unless a trace says what the line carries.
    fn offer_without_rate<P: Packet>(
        &mut self,
        conditions: &Conditions,
        now: Time,
        packet: &P,
        dropped: &mut dyn FnMut(u32, Cause),
    ) -> Outcome {
        match &conditions.trace {
            None => self.offer_to_wire(conditions, now, packet.bytes()),
            Some(trace) => {
                self.offer_with_care(conditions, Service::Trace(trace), now, packet, dropped)
            }
        }
    }

    /// A link on which nothing waits.
    fn offer_to_wire(&mut self, conditions: &Conditions, now: Time, bytes: u32) -> Outcome {
        let lost = self.loses(conditions);
        if lost && loses_at(conditions, Side::Sender) {
            self.counters.lost += 1;
            return Outcome::Lost;
        }
        let own = now + self.delay(conditions);
        let arrives = self.in_order(conditions, own);
        self.count(conditions.framing.wire_bytes(bytes), lost);
        if lost { Outcome::Lost } else { Outcome::Arrives(arrives) }
    }

    /// Offers a packet to a link with a discipline, with a trace, with jitter, or with a delay that has
    /// changed.
    #[inline(never)]
    fn offer_with_care<P: Packet>(
        &mut self,
        conditions: &Conditions,
        service: Service<'_>,
        now: Time,
        packet: &P,
        dropped: &mut dyn FnMut(u32, Cause),
    ) -> Outcome {
        let bytes = conditions.framing.wire_bytes(packet.bytes());
        if let (Queue::DropTail(limit), false) = (&conditions.queue, self.is_held()) {
            return self.offer_in_detail(conditions, limit, service, now, bytes, packet.tag());
        }
        let mut held = Held::new(now, bytes, packet);
        if let Queue::Cake(cake) = &conditions.queue {
            let framing = cake.framing.unwrap_or(conditions.framing);
            held.shaped_bytes = framing.wire_bytes(packet.bytes());
        }
        self.enqueue(conditions, service, held, dropped)
    }

    /// A drop-tail queue where a packet's arrival has to be kept beside its departure.
    fn offer_in_detail(
        &mut self,
        conditions: &Conditions,
        limit: &QueueLimit,
        service: Service<'_>,
        now: Time,
        bytes: u32,
        tag: u32,
    ) -> Outcome {
        let lost = self.loses(conditions);
        if lost && loses_at(conditions, Side::Sender) {
            self.counters.lost += 1;
            return Outcome::Lost;
        }
        self.forget_departed(now);
        if self.is_full(limit, bytes) {
            self.counters.dropped += 1;
            return Outcome::Dropped;
        }
        let waiting = self.waiting.len();
        self.detail(conditions.delay_ns).keep(waiting);
        self.ready(service, conditions.delay_ns, now);
        let (begins, departs) = self.serve(service, conditions.delay_ns, now, bytes);
        self.queue(now, begins, departs, bytes, tag, lost);
        let arrives = self.send_off(conditions, departs);
        if lost { Outcome::Lost } else { Outcome::Arrives(arrives) }
    }

    /// Gives a packet to the discipline.
    fn enqueue(
        &mut self,
        conditions: &Conditions,
        service: Service<'_>,
        packet: Held,
        dropped: &mut dyn FnMut(u32, Cause),
    ) -> Outcome {
        if loses_at(conditions, Side::Sender) && self.loses(conditions) {
            self.counters.lost += 1;
            return Outcome::Lost;
        }
        debug_assert!(packet.tag != NAMELESS, "a packet that waits for a discipline needs a name");
        let now = packet.offered;
        self.forget_departed(now);
        let line = self.line(service, &conditions.queue, now);
        let stream = self.stream.clone();
        let managed = self.detail(conditions.delay_ns).managed.get_or_insert_with(|| {
            // A stream of its own, so that losses are those of the link without a discipline.
            let seed = { stream }.bits();
            Managed::new(&conditions.queue, now, RandomStream::new(seed, "queue", 0))
        });
        let idle = managed.is_empty();
        let taken = managed.offer(&conditions.queue, line, packet, dropped);
        let packets = managed.pool.packets() + u32::from(line.busy);
        if idle {
            self.ready(service, conditions.delay_ns, now);
        }
        if !taken {
            return Outcome::Dropped;
        }
        self.max_packets = self.max_packets.max(packets);
        Outcome::Queued
    }

    /// What has left by `now`: all that was counted as transmitted but what is still at the line, as a
    /// first-in-first-out queue counts what it takes.
    pub fn sent(&self, conditions: &Conditions, now: Time) -> Sent {
        let mut at_the_line = self.waiting.iter().filter(|packet| packet.departs > now);
        let first = at_the_line.next();
        let behind = at_the_line.fold((0, 0), |(packets, bytes), packet| {
            (packets + 1, bytes + u64::from(packet.bytes))
        });
        let Carried { packets, bytes, .. } = self.counters;
        let (packets, bytes) = (packets - behind.0, bytes - behind.1);
        let Some(first) = first else { return Sent { packets, bytes, bits: bytes * 8 } };
        let left = conditions
            .service()
            .map_or(0, |service| bits_left(service, self.cursor(), now, first.departs, behind.1));
        let size = u64::from(first.bytes);
        let bits = bytes * 8 - left.min(size * 8);
        Sent { packets: packets - 1, bytes: bytes - size, bits }
    }

    /// From now on [`Counters::max_packets`] is the most since this instant.
    pub fn restart_max_packets(&mut self, now: Time) {
        self.max_packets = self.queued_packets(now);
    }

    fn line(&self, service: Service<'_>, queue: &Queue, now: Time) -> Line {
        let idle_since = match service {
            // Where the line waits for an opportunity, it may be free later than it is idle.
            Service::Trace(trace) if trace.is_in_bursts() => {
                self.waiting.is_empty().then_some(self.departed)
            }
            _ => (self.free_at <= now).then_some(self.free_at),
        };
        let rate = match service {
            Service::Rate(rate) => rate,
            // The others do not look at it, and it has to be worked out.
            Service::Trace(trace)
                if matches!(queue, Queue::Pie(_) | Queue::Red(_) | Queue::Choke(_)) =>
            {
                trace.recent(now.since(self.cursor().map_or(Time::START, Cursor::origin)))
            }
            Service::Trace(_) => Rate::at_least_one(0),
        };
        Line {
            now,
            rate,
            idle_since,
            busy: !self.waiting.is_empty(),
            sending_bytes: self.waiting_bytes,
        }
    }

    fn managed(&self) -> Option<&Managed> {
        self.detail.as_ref().and_then(|detail| detail.managed.as_ref())
    }

    fn cursor(&self) -> Option<&Cursor> {
        self.detail.as_ref().and_then(|detail| detail.cursor.as_ref())
    }

    /// A packet finds nothing before it: the line can begin with it now, or at the next opportunity.
    fn ready(&mut self, service: Service<'_>, delay: Span, now: Time) {
        let free_at = self.free_at;
        self.free_at = match service {
            Service::Rate(_) => free_at.max(now),
            Service::Trace(trace) => self.traced(delay).ready(trace, free_at, now),
        };
    }

    /// When the line begins with the next packet, not before `now`, and when it is done with it.
    fn serve(&mut self, service: Service<'_>, delay: Span, now: Time, bytes: u32) -> (Time, Time) {
        let (free_at, bytes) = (self.free_at, u64::from(bytes));
        match service {
            Service::Rate(rate) => {
                let begins = free_at.max(now);
                self.free_at = begins + rate.transmission(bytes);
                (begins, self.free_at)
            }
            Service::Trace(trace) => {
                let served = self.traced(delay).serve(trace, free_at, now, bytes);
                self.free_at = served.free_at;
                (served.begins, served.departs)
            }
        }
    }

    /// How far the trace is used: one that the link has from the start begins with the run.
    fn traced(&mut self, delay: Span) -> &mut Cursor {
        self.detail(delay).cursor.get_or_insert_with(|| Cursor::new(Time::START))
    }

    /// Whether packets wait in a discipline.
    fn is_held(&self) -> bool {
        self.managed().is_some_and(|managed| !managed.is_empty())
    }

    /// When the next packet leaves a queue whose discipline decides about it, as things stand: when the
    /// line is free, and a shaper lets it go. `None` if nothing waits. Whatever is offered, taken or
    /// changed may change it.
    pub fn next_dequeue(&self) -> Option<Time> {
        let managed = self.managed().filter(|managed| !managed.is_empty())?;
        Some(self.free_at.max(managed.not_before()))
    }

    /// Lets the discipline choose the packet that is sent next, if it is time for one: not before
    /// [`Direction::next_dequeue`]. An engine that comes late changes nothing: the packet leaves when it
    /// was due. Those that the discipline drops on the way are passed to `dropped`; `None` if there is no
    /// other, or not yet.
    pub fn dequeue(
        &mut self,
        conditions: &Conditions,
        now: Time,
        dropped: &mut impl FnMut(u32, Cause),
    ) -> Option<Departure> {
        let begins = self.next_dequeue().filter(|&due| due <= now)?;
        self.forget_departed(begins);
        let service = conditions.service()?;
        let line = self.line(service, &conditions.queue, begins);
        let waiting = self.waiting.len();
        let detail = self.detail(conditions.delay_ns);
        detail.keep(waiting);
        let packet = detail.managed.as_mut()?.take(&conditions.queue, line, dropped)?;
        let lost = loses_at(conditions, Side::Receiver) && self.loses(conditions);
        let (begins, departs) = self.serve(service, conditions.delay_ns, begins, packet.bytes);
        self.counters.waited += begins.since(packet.offered);
        self.transmit(departs, packet.bytes, packet.tag, lost);
        let arrives = self.send_off(conditions, departs);
        let arrives = (!lost).then_some(arrives);
        Some(Departure { tag: packet.tag, departs, arrives, marked: packet.marked })
    }

    /// Puts a packet behind those that wait.
    #[inline(always)]
    fn queue(&mut self, now: Time, begins: Time, departs: Time, bytes: u32, tag: u32, lost: bool) {
        self.counters.waited += begins - now;
        self.transmit(departs, bytes, tag, lost);
        if self.waiting.len() as u64 > u64::from(self.max_packets) {
            self.forget_departed(now);
            let packets = self.waiting.len() as u32;
            self.max_packets = self.max_packets.max(packets);
        }
    }

    /// Has the line send a packet, up to `departs`.
    fn transmit(&mut self, departs: Time, bytes: u32, tag: u32, lost: bool) {
        self.count(bytes, lost);
        let tag = if lost { NAMELESS } else { tag };
        self.waiting.push_back(Waiting { departs, bytes, tag });
        self.waiting_bytes += u64::from(bytes);
    }

    /// The arrival of a packet that departs then, kept for changes.
    fn send_off(&mut self, conditions: &Conditions, departs: Time) -> Time {
        let own = departs + self.delay(conditions);
        self.detail(conditions.delay_ns).own_arrivals.push_back(own);
        self.in_order(conditions, own)
    }

    fn count(&mut self, bytes: u32, lost: bool) {
        self.counters.packets += 1;
        self.counters.bytes += u64::from(bytes);
        self.counters.lost += u64::from(lost);
    }

    /// The arrivals of what waits, worked out if they were not kept so far: all of it has had this
    /// delay then, and no jitter.
    fn detail(&mut self, delay: Span) -> &mut Detail {
        self.detail.get_or_insert_with(|| {
            let departed = match self.waiting.front() {
                None => self.last_arrival,
                Some(_) if self.departed == Time::START => Time::START,
                Some(_) => self.departed + delay,
            };
            let mut detail = Box::new(Detail {
                own_arrivals: Ring::new(),
                departed,
                managed: None,
                cursor: None,
            });
            for packet in self.waiting.iter() {
                detail.own_arrivals.push_back(packet.departs + delay);
            }
            detail
        })
    }

    /// Changes the link in place: packets in the queue stay there, the one in transmission goes on
    /// with the bits that it still has, and packets that have departed are not touched. Returns
    /// the packets whose arrival moved.
    ///
    /// Order is kept (unless the jitter may break it) when the delay falls, whether or not a queue
    /// stands: what departs later arrives when the last packet that is in flight does, or after it.
    /// So does a route that becomes shorter behind a router that keeps flows in order, and so do
    /// two packets in one fibre.
    ///
    /// A trace that the link has not had begins at `now`; one that it keeps goes on.
    pub fn change(&mut self, now: Time, old: &Conditions, new: &Conditions) -> Vec<Moved> {
        self.forget_departed(now);
        let jittered = old.jitter.is_some() || new.jitter.is_some();
        if jittered || (old.delay_ns != new.delay_ns && self.last_arrival > now) {
            self.detail(old.delay_ns);
        }
        let relaid = old.rate_bps != new.rate_bps || old.trace != new.trace;
        let mut line = Relaid::new(old, new, now);
        if matches!(line, Relaid::Trace { .. }) {
            self.detail(old.delay_ns);
        }
        let mut detail = self.detail.take();
        let cursor = detail.as_ref().and_then(|detail| detail.cursor);
        let bytes = self.waiting_bytes;
        let departed = detail.as_mut().map_or(Time::START, |detail| {
            detail.keep(self.waiting.len());
            detail.departed
        });
        let (kept_order, keeps_order) = (keeps_order(old), keeps_order(new));
        let (mut free_at, mut last_before, mut last) = (now, departed, departed);
        let mut moved = Vec::new();
        // The end of the transmission before, as it was to be.
        let mut departed_before = Time::START;
        for (place, packet) in self.waiting.iter_mut().enumerate() {
            // What had not begun begins earlier or later: its wait was counted when it was offered.
            if place > 0 && relaid {
                let later = self.counters.waited + free_at.since(departed_before);
                let earlier = departed_before.since(free_at);
                self.counters.waited = Span::from_nanos(later.nanos() - earlier.nanos());
            }
            departed_before = packet.departs;
            // Of the packet in transmission, only the rest is sent at the new rate.
            let bits = u64::from(packet.bytes) * 8;
            let bits_left = match old.service() {
                Some(service) if place == 0 => {
                    let behind = bytes - u64::from(packet.bytes);
                    bits_left(service, cursor.as_ref(), now, packet.departs, behind).min(bits)
                }
                _ => bits,
            };
            free_at = line.departure(free_at, bits_left, packet.departs);
            let (expected, expects) = (packet.departs + old.delay_ns, free_at + new.delay_ns);
            packet.departs = free_at;
            let mut slot = detail.as_mut().and_then(|detail| detail.own_arrivals.get_mut(place));
            let own_before = slot.as_deref().copied().unwrap_or(expected);
            // What its jitter adds or takes away stays.
            let early = expected.since(own_before);
            let own = (expects + own_before.since(expected)).nanos().saturating_sub(early.nanos());
            let own = Time::from_nanos(own).max(free_at);
            if let Some(slot) = &mut slot {
                **slot = own;
            }
            last_before = last_before.max(own_before);
            last = last.max(own);
            if packet.tag != NAMELESS {
                let arrived = if kept_order { last_before } else { own_before };
                let arrives = if keeps_order { last } else { own };
                moved.push(Moved { tag: packet.tag, arrived, arrives });
            }
        }
        if !self.waiting.is_empty() {
            self.last_arrival = last;
        }
        let cursor = match line {
            Relaid::Kept => cursor,
            Relaid::Trace { cursor, free_at, .. } => {
                self.free_at = free_at;
                Some(cursor)
            }
            Relaid::Wire | Relaid::Rate(_) => {
                self.free_at = free_at;
                None
            }
        };
        if let Some(detail) = &mut detail {
            detail.cursor = cursor;
        }
        self.detail = detail;
        moved
    }

    /// Packets at the link at `now`, the one in transmission included.
    pub fn queued_packets(&mut self, now: Time) -> u32 {
        self.forget_departed(now);
        self.waiting.len() as u32 + self.waiting_packets()
    }

    /// Packets that wait for a discipline to send them.
    pub fn waiting_packets(&self) -> u32 {
        self.managed().map_or(0, |managed| managed.pool.packets())
    }

    /// How long it takes to send what is at the link at `now`: what a packet that comes then would wait
    /// in a queue that is first in, first out, before its transmission begins.
    pub fn queueing_delay(&self, conditions: &Conditions, now: Time) -> Span {
        let waiting = self.managed().map_or(0, |managed| managed.pool.bytes());
        match conditions.service() {
            Some(Service::Trace(trace)) => {
                let mut cursor = self.cursor().copied().unwrap_or(Cursor::new(Time::START));
                let mut free_at = self.free_at;
                if waiting > 0 {
                    free_at = cursor.serve(trace, free_at, free_at.max(now), waiting).departs;
                }
                cursor.ready(trace, free_at, now).since(now)
            }
            Some(Service::Rate(rate)) if waiting > 0 => {
                self.free_at.since(now) + rate.transmission(waiting)
            }
            _ => self.free_at.since(now),
        }
    }

    /// What has been carried so far.
    pub fn counters(&self) -> Counters {
        let Carried { packets, bytes, dropped, lost, waited } = self.counters;
        let done = self.managed().map(|managed| managed.counters).unwrap_or_default();
        Counters {
            packets,
            bytes,
            dropped: dropped + done.full,
            dropped_early: done.early,
            superseded: done.superseded,
            marked: done.marked,
            lost,
            waited,
            max_packets: self.max_packets,
        }
    }

    fn forget_departed(&mut self, now: Time) {
        while let Some(first) = self.waiting.front() {
            if first.departs > now {
                break;
            }
            self.waiting_bytes -= u64::from(first.bytes);
            self.departed = first.departs;
            self.waiting.pop_front();
        }
    }

    fn is_full(&self, limit: &QueueLimit, bytes: u32) -> bool {
        limit.packets.is_some_and(|max| self.waiting.len() as u64 >= u64::from(max))
            || limit.bytes.is_some_and(|max| self.waiting_bytes + u64::from(bytes) > max)
    }

    fn loses(&mut self, conditions: &Conditions) -> bool {
        let Some(loss) = conditions.loss else { return false };
        match loss.model {
            LossModel::Bernoulli { probability } => self.stream.chance(probability),
            LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let step = if self.bad { to_good } else { to_bad };
                self.bad ^= self.stream.chance(step);
                self.stream.chance(if self.bad { loss_bad } else { loss_good })
            }
        }
    }

    fn delay(&mut self, conditions: &Conditions) -> Span {
        let Some(jitter) = conditions.jitter else { return conditions.delay_ns };
        let spread = jitter.spread_ns.seconds();
        match jitter.shape {
            JitterShape::Uniform => {
                conditions.delay_ns + Span::from_seconds(self.stream.unit() * spread)
            }
            JitterShape::Normal => {
                let seconds = conditions.delay_ns.seconds() + self.stream.normal() * spread;
                Span::from_seconds(seconds)
            }
        }
    }

    /// A link is first in, first out, unless its jitter says otherwise.
    fn in_order(&mut self, conditions: &Conditions, own: Time) -> Time {
        self.last_arrival = self.last_arrival.max(own);
        if keeps_order(conditions) { self.last_arrival } else { own }
    }
}

fn keeps_order(conditions: &Conditions) -> bool {
    conditions.jitter.is_none_or(|jitter| !jitter.reorder)
}

fn loses_at(conditions: &Conditions, side: Side) -> bool {
    conditions.loss.is_some_and(|loss| loss.side == side)
}

mod relaid;
#[cfg(test)]
mod tests;
