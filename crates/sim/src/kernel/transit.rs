use super::event::{Event, Kind};
use super::event_queue::EventQueue;
use super::packet::{Packet, Sacks};
use flashcrowd_base::{Ring, Slab, Time};

/// Where packets are between two instants.
///
/// What left one link, or crosses paths of one delay, arrives in the order in which it left. Such
/// packets stand in a *lane*, side by side in memory, and only the first of a lane has an event in
/// the queue: thousands of packets on their way keep the queue small. A packet that would overtake
/// its lane (jitter, paths that differ) is kept apart with an event of its own.
pub(crate) struct Transit {
    pub(super) lanes: Vec<Lane>,
    pub(super) apart: Slab<(Packet, Sacks)>,
}

#[derive(Default)]
pub(super) struct Lane {
    pub(super) packets: Ring<Packet>,
    /// The SACK ranges of those that have any, in their order.
    sacks: Ring<Sacks>,
    /// Number of packets at the front whose sockets have been prefetched.
    pub(super) asked: u32,
}

impl Transit {
    pub(crate) fn new(lanes: usize) -> Transit {
        Transit { lanes: (0..lanes).map(|_| Lane::default()).collect(), apart: Slab::default() }
    }

    /// Keeps a packet until it is due, and schedules its event if it is the next of its lane.
    #[inline(always)]
    pub(crate) fn keep(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: Option<u32>,
        packet: &Packet,
        sacks: &Sacks,
    ) {
        let Some(lane) = lane else { return self.keep_apart(queue, packet, sacks) };
        let ordered = &mut self.lanes[lane as usize];
        match ordered.packets.back() {
            None => queue.schedule(packet.due, Event::new(Kind::Lane, lane)),
            Some(last) if last.due <= packet.due => {}
            _ => return self.keep_apart(queue, packet, sacks),
        }
        ordered.packets.push_back(*packet);
        if packet.has_sacks() {
            ordered.sacks.push_back(*sacks);
        }
    }

    #[inline(never)]
    fn keep_apart(&mut self, queue: &mut EventQueue<Event>, packet: &Packet, sacks: &Sacks) {
        let slot = self.apart.insert((*packet, *sacks));
        queue.schedule(packet.due, Event::new(Kind::Packet, slot));
    }

    /// The packet of a lane whose event is due, unless the event is out of date.
    pub(crate) fn next_of(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        lane: u32,
    ) -> Option<(Packet, Sacks)> {
        let ordered = &mut self.lanes[lane as usize];
        let packet = *ordered.packets.front().filter(|packet| packet.due == now)?;
        ordered.packets.pop_front();
        let sacks = if packet.has_sacks() { ordered.sacks.pop_front() } else { None };
        ordered.asked = ordered.asked.saturating_sub(1);
        if let Some(next) = ordered.packets.front() {
            queue.schedule_next(next.due, Event::new(Kind::Lane, lane));
        }
        self.prefetch_second(lane);
        Some((packet, sacks.unwrap_or_default()))
    }

    /// The packet kept apart whose event is due, unless the event is out of date.
    pub(crate) fn apart(&mut self, now: Time, slot: u32) -> Option<(Packet, Sacks)> {
        self.apart.get(slot).filter(|(packet, _)| packet.due == now)?;
        self.apart.remove(slot)
    }

    /// Moves the packets that `moved` names, by tag, from one instant of leaving the link that they
    /// wait in to another.
    pub(crate) fn reschedule(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: u32,
        moved: impl Fn(u32) -> Option<(Time, Time)>,
    ) {
        let shift = |stored: &mut Packet| match moved(stored.tag) {
            Some((before, after)) => {
                stored.due = after + stored.due.since(before);
                true
            }
            None => false,
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
            queue.schedule(first.due, Event::new(Kind::Lane, lane));
        }
        for (slot, (stored, _)) in self.apart.iter_mut() {
            if shift(stored) {
                queue.schedule(stored.due, Event::new(Kind::Packet, slot));
            }
        }
    }
}
