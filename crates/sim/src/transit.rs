use crate::event::Event;
use crate::packet::{Addressee, Look, Packet};
use crate::queue::EventQueue;
use flashcrowd_base::{Ring, Time};
use flashcrowd_transport::tcp::{Flags, MAX_SACK_RANGES, Segment};

/// Where packets are between two instants.
///
/// What left one link, or crosses paths of one delay, arrives in the order in which it left. Such
/// packets stand in a *lane*, side by side in memory, and only the first of a lane has an event in
/// the queue: thousands of packets on their way keep the queue small. A packet that would overtake
/// its lane (jitter, paths that differ) is kept apart with an event of its own.
pub(crate) struct Transit {
    lanes: Vec<Lane>,
    apart: Vec<(Stored, Sacks)>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Lane {
    packets: Ring<Stored>,
    /// The SACK ranges of those that have any, in their order.
    sacks: Ring<Sacks>,
    /// How many of the first packets' sockets have been touched.
    touched: u32,
}

/// No lane: the packet is kept apart.
pub(crate) const APART: u32 = u32::MAX;
/// So many packets of a lane are looked at together.
const TOGETHER: usize = 8;

type Sacks = [(u32, u32); MAX_SACK_RANGES];

/// A packet in one line of the cache, which is what a packet in a long queue costs twice for each
/// link. Few have SACK ranges, so these stand beside it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Stored {
    due: Time,
    seq: u64,
    ack: u64,
    len: u32,
    window: u32,
    timestamp: u32,
    echo: u32,
    /// A socket or a ping.
    to: u32,
    route: u32,
    tag: u32,
    bytes: u32,
    mss: u16,
    flags: Flags,
    step: u16,
    kind: Kind,
    /// The lowest bit says that it is arriving, the others how many SACK ranges there are.
    marks: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Socket,
    Parcel,
    Request,
    Reply,
}

impl Default for Stored {
    fn default() -> Stored {
        Stored::new(&Packet::DIRECT, Time::NEVER)
    }
}

impl Stored {
    #[inline(always)]
    fn new(packet: &Packet, due: Time) -> Stored {
        let segment = &packet.segment;
        let (kind, to) = match packet.to {
            Addressee::Socket(socket) => (Kind::Socket, socket),
            Addressee::Parcel(socket) => (Kind::Parcel, socket),
            Addressee::Ping { ping, reply: false } => (Kind::Request, ping),
            Addressee::Ping { ping, reply: true } => (Kind::Reply, ping),
        };
        Stored {
            due,
            seq: segment.seq,
            ack: segment.ack,
            len: segment.len,
            window: segment.window,
            timestamp: segment.timestamp,
            echo: segment.echo,
            to,
            route: packet.route,
            tag: packet.tag,
            bytes: packet.bytes,
            mss: segment.mss,
            flags: segment.flags,
            step: packet.step,
            kind,
            marks: segment.sack_len << 1 | u8::from(packet.arriving),
        }
    }

    #[inline]
    fn has_sacks(&self) -> bool {
        self.marks > 1
    }

    #[inline(always)]
    fn packet(&self, sacks: impl FnOnce() -> Sacks) -> Packet {
        let segment = Segment {
            seq: self.seq,
            ack: self.ack,
            len: self.len,
            window: self.window,
            timestamp: self.timestamp,
            echo: self.echo,
            sack: if self.has_sacks() { sacks() } else { Sacks::default() },
            mss: self.mss,
            flags: self.flags,
            sack_len: self.marks >> 1,
        };
        let to = match self.kind {
            Kind::Socket => Addressee::Socket(self.to),
            Kind::Parcel => Addressee::Parcel(self.to),
            Kind::Request => Addressee::Ping { ping: self.to, reply: false },
            Kind::Reply => Addressee::Ping { ping: self.to, reply: true },
        };
        Packet {
            segment,
            to,
            route: self.route,
            tag: self.tag,
            bytes: self.bytes,
            step: self.step,
            arriving: self.marks & 1 == 1,
        }
    }

    /// The socket that its event will reach, and what it will need of it.
    #[inline]
    fn look(&self) -> Option<Look> {
        if self.kind != Kind::Socket || self.marks & 1 == 0 {
            return None;
        }
        let offset = self.seq.wrapping_add(u64::from(self.len));
        let fin = u64::from(self.flags.contains(Flags::FIN));
        Some(Look { socket: self.to, sends: self.len == 0, offset: offset.wrapping_add(fin) })
    }
}

impl Transit {
    pub(crate) fn new(lanes: usize) -> Transit {
        Transit {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            apart: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps a packet until `due`, and schedules its event if it is the next of its lane.
    #[inline(always)]
    pub(crate) fn keep(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: u32,
        due: Time,
        packet: &Packet,
    ) {
        let Some(ordered) = self.lanes.get_mut(lane as usize) else {
            return self.keep_apart(queue, due, packet);
        };
        match ordered.packets.back() {
            None => queue.schedule(due, Event::lane(lane)),
            Some(last) if last.due <= due => {}
            _ => return self.keep_apart(queue, due, packet),
        }
        ordered.packets.push_back(Stored::new(packet, due));
        if packet.segment.has_sack() {
            ordered.sacks.push_back(packet.segment.sack);
        }
    }

    #[inline(never)]
    fn keep_apart(&mut self, queue: &mut EventQueue<Event>, due: Time, packet: &Packet) {
        let stored = (Stored::new(packet, due), packet.segment.sack);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.apart[slot as usize] = stored;
                slot
            }
            None => {
                self.apart.push(stored);
                (self.apart.len() - 1) as u32
            }
        };
        queue.schedule(due, Event::packet(slot));
    }

    /// The packet of a lane whose event is due, unless the event is out of date.
    #[inline]
    pub(crate) fn next_of(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        lane: u32,
    ) -> Option<Packet> {
        let ordered = &mut self.lanes[lane as usize];
        let stored = *ordered.packets.front().filter(|packet| packet.due == now)?;
        ordered.packets.pop_front();
        let packet = stored.packet(|| ordered.sacks.pop_front().unwrap_or_default());
        ordered.touched = ordered.touched.saturating_sub(1);
        if let Some(next) = ordered.packets.front() {
            queue.schedule_next(next.due, Event::lane(lane));
        }
        Some(packet)
    }

    /// The packet kept apart whose event is due, unless the event is out of date.
    #[inline]
    pub(crate) fn apart(&mut self, now: Time, slot: u32) -> Option<Packet> {
        let (stored, sacks) = &mut self.apart[slot as usize];
        if stored.due != now {
            return None;
        }
        stored.due = Time::NEVER;
        let taken = stored.packet(|| *sacks);
        self.free.push(slot);
        Some(taken)
    }

    /// What the packet that an event is about will need.
    #[inline]
    pub(crate) fn peek(&self, lane: Option<u32>, slot: u32) -> Option<Look> {
        match lane {
            Some(lane) => self.lanes[lane as usize].packets.front(),
            None => self.apart.get(slot as usize).map(|(stored, _)| stored),
        }
        .and_then(Stored::look)
    }

    /// Adds what the next packets of a lane will need to `ahead`, if it is time to look at that.
    #[inline]
    pub(crate) fn look_ahead(&mut self, lane: u32, ahead: &mut Vec<Look>) -> bool {
        let ordered = &mut self.lanes[lane as usize];
        if ordered.touched > 0 || ordered.packets.is_empty() {
            return false;
        }
        let count = ordered.packets.len().min(TOGETHER);
        ordered.touched = count as u32;
        ahead.extend(ordered.packets.iter().take(count).filter_map(Stored::look));
        true
    }

    /// Moves the packets that `moved` names, by tag, from one instant of leaving the link that they
    /// wait in to another.
    pub(crate) fn reschedule(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: u32,
        moved: impl Fn(u32) -> Option<(Time, Time)>,
    ) {
        let shift = |stored: &mut Stored| match moved(stored.tag) {
            Some((before, after)) if stored.due != Time::NEVER => {
                stored.due = after + (stored.due - before);
                true
            }
            _ => false,
        };
        let ordered = &mut self.lanes[lane as usize];
        let mut packets = Vec::with_capacity(ordered.packets.len());
        while let Some(mut stored) = ordered.packets.pop_front() {
            shift(&mut stored);
            let sacks = if stored.has_sacks() { ordered.sacks.pop_front() } else { None };
            packets.push((stored, sacks));
        }
        packets.sort_by_key(|(stored, _)| stored.due);
        for (stored, sacks) in packets {
            ordered.packets.push_back(stored);
            if let Some(sacks) = sacks {
                ordered.sacks.push_back(sacks);
            }
        }
        if let Some(first) = ordered.packets.front() {
            queue.schedule(first.due, Event::lane(lane));
        }
        for (slot, (stored, _)) in self.apart.iter_mut().enumerate() {
            if shift(stored) {
                queue.schedule(stored.due, Event::packet(slot as u32));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_on_its_way_fills_one_line_of_the_cache() {
        assert_eq!(size_of::<Stored>(), 64);
    }
}
