use crate::event::Event;
use crate::packet::Packet;
use crate::queue::EventQueue;
use flashcrowd_base::{Span, Time};
use std::collections::VecDeque;

/// Where packets are between two instants.
///
/// What left one link, or crosses paths of one delay, arrives in the order in which it left. Such
/// packets stand in a *lane*, side by side in memory, and only the first of a lane has an event in
/// the queue: thousands of packets on their way keep the queue small. A packet that would overtake
/// its lane (jitter, paths that differ) is kept apart with an event of its own.
pub(crate) struct Transit {
    lanes: Vec<Lane>,
    apart: Vec<Packet>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Lane {
    packets: VecDeque<Packet>,
    /// How many of the first packets' sockets have been touched.
    touched: u32,
}

/// No lane: the packet is kept apart.
pub(crate) const APART: u32 = u32::MAX;
/// So many packets of a lane are looked at together.
const TOGETHER: usize = 8;

impl Transit {
    pub(crate) fn new(lanes: usize) -> Transit {
        Transit {
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            apart: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps a packet until `due`, and schedules its event if it is the next of its lane. What
    /// else is to be known of the packet from now on can be written to the place where it is kept:
    /// packets are copied once a link, and not read as a whole just after a part was written.
    #[inline]
    pub(crate) fn keep(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: u32,
        due: Time,
        packet: &Packet,
    ) -> &mut Packet {
        let last = self.lanes.get(lane as usize).map(|ordered| ordered.packets.back());
        match last {
            Some(None) => queue.schedule(due, Event::lane(lane)),
            Some(Some(last)) if last.due <= due => {}
            _ => return self.keep_apart(queue, due, packet),
        }
        let packets = &mut self.lanes[lane as usize].packets;
        packets.push_back(*packet);
        let place = packets.len() - 1;
        let kept = &mut packets[place];
        kept.due = due;
        kept
    }

    fn keep_apart(
        &mut self,
        queue: &mut EventQueue<Event>,
        due: Time,
        packet: &Packet,
    ) -> &mut Packet {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.apart[slot as usize] = *packet;
                slot
            }
            None => {
                self.apart.push(*packet);
                (self.apart.len() - 1) as u32
            }
        };
        queue.schedule(due, Event::packet(slot));
        let kept = &mut self.apart[slot as usize];
        kept.due = due;
        kept
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
        let packet = *ordered.packets.front().filter(|packet| packet.due == now)?;
        ordered.packets.pop_front();
        ordered.touched = ordered.touched.saturating_sub(1);
        if let Some(next) = ordered.packets.front() {
            queue.schedule_next(next.due, Event::lane(lane));
        }
        Some(packet)
    }

    /// The packet kept apart whose event is due, unless the event is out of date.
    #[inline]
    pub(crate) fn apart(&mut self, now: Time, slot: u32) -> Option<Packet> {
        let packet = &mut self.apart[slot as usize];
        if packet.due != now {
            return None;
        }
        let taken = *packet;
        packet.due = Time::NEVER;
        self.free.push(slot);
        Some(taken)
    }

    /// The packet that an event is about, to look at what it needs.
    #[inline]
    pub(crate) fn peek(&self, lane: Option<u32>, slot: u32) -> Option<&Packet> {
        match lane {
            Some(lane) => self.lanes[lane as usize].packets.front(),
            None => self.apart.get(slot as usize),
        }
    }

    /// The next packets of a lane, if it is time to look at what they need.
    #[inline]
    pub(crate) fn ahead(&mut self, lane: u32) -> impl ExactSizeIterator<Item = &Packet> {
        let ordered = &mut self.lanes[lane as usize];
        let due = ordered.touched == 0;
        let count = if due { ordered.packets.len().min(TOGETHER) } else { 0 };
        ordered.touched += count as u32;
        ordered.packets.iter().take(count)
    }

    /// Gives the packets that `moved` names, by tag, new times of leaving the link that they wait in.
    pub(crate) fn reschedule(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: u32,
        moved: impl Fn(u32) -> Option<Time>,
    ) {
        let shift = |packet: &mut Packet| match moved(packet.tag) {
            Some(leaves) if packet.due != Time::NEVER && packet.beyond != Span::MAX => {
                packet.due = leaves + packet.beyond;
                true
            }
            _ => false,
        };
        let packets = &mut self.lanes[lane as usize].packets;
        packets.iter_mut().for_each(|packet| {
            shift(packet);
        });
        packets.make_contiguous().sort_by_key(|packet| packet.due);
        if let Some(first) = packets.front() {
            queue.schedule(first.due, Event::lane(lane));
        }
        for (slot, packet) in self.apart.iter_mut().enumerate() {
            if shift(packet) {
                queue.schedule(packet.due, Event::packet(slot as u32));
            }
        }
    }
}
