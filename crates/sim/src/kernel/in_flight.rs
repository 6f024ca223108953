use super::event::{Event, Kind};
use super::event_queue::EventQueue;
use super::packet::{Packet, Sacks};
use flashcrowd_base::{Ring, Slab, Time};

/// Packets in flight: between two links, or between a link and a host.
///
/// What left one link, or crosses paths of one delay, arrives first in, first out. Such packets stand
/// in a FIFO, side by side in memory, and only the first of a FIFO has an event in the event queue:
/// thousands of packets in flight keep the event queue small. A packet that would overtake its FIFO
/// (jitter, paths that differ) is kept among the unordered ones, with an event of its own.
pub(crate) struct InFlight {
    pub(super) fifos: Vec<Fifo>,
    pub(super) unordered: Slab<(Packet, Sacks)>,
}

#[derive(Default)]
pub(super) struct Fifo {
    pub(super) packets: Ring<Packet>,
    /// The SACK ranges of those that have any, in their order.
    sacks: Ring<Sacks>,
    /// Number of packets at the front whose sockets have been prefetched.
    pub(super) prefetched: u32,
}

impl InFlight {
    pub(crate) fn new(fifos: usize) -> InFlight {
        InFlight {
            fifos: (0..fifos).map(|_| Fifo::default()).collect(),
            unordered: Slab::default(),
        }
    }

    /// Keeps a packet until it is due, and schedules its event if it is the next of its FIFO.
    #[inline(always)]
    pub(crate) fn keep(
        &mut self,
        queue: &mut EventQueue<Event>,
        fifo: Option<u32>,
        packet: &Packet,
        sacks: &Sacks,
    ) {
        let Some(fifo) = fifo else { return self.keep_unordered(queue, packet, sacks) };
        let in_order = &mut self.fifos[fifo as usize];
        match in_order.packets.back() {
            None => queue.schedule(packet.due, Event::new(Kind::Fifo, fifo)),
            Some(last) if last.due <= packet.due => {}
            _ => return self.keep_unordered(queue, packet, sacks),
        }
        in_order.packets.push_back(*packet);
        if packet.has_sacks() {
            in_order.sacks.push_back(*sacks);
        }
    }

    #[inline(never)]
    fn keep_unordered(&mut self, queue: &mut EventQueue<Event>, packet: &Packet, sacks: &Sacks) {
        let slot = self.unordered.insert((*packet, *sacks));
        queue.schedule(packet.due, Event::new(Kind::Packet, slot));
    }

    /// The packet of a FIFO whose event is due, unless the event is out of date.
    pub(crate) fn next_of(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        fifo: u32,
    ) -> Option<(Packet, Sacks)> {
        let in_order = &mut self.fifos[fifo as usize];
        let packet = *in_order.packets.front().filter(|packet| packet.due == now)?;
        in_order.packets.pop_front();
        let sacks = if packet.has_sacks() { in_order.sacks.pop_front() } else { None };
        in_order.prefetched = in_order.prefetched.saturating_sub(1);
        if let Some(next) = in_order.packets.front() {
            queue.schedule_next(next.due, Event::new(Kind::Fifo, fifo));
        }
        self.prefetch_second(fifo);
        Some((packet, sacks.unwrap_or_default()))
    }

    /// The unordered packet whose event is due, unless the event is out of date.
    pub(crate) fn take_unordered(&mut self, now: Time, slot: u32) -> Option<(Packet, Sacks)> {
        self.unordered.get(slot).filter(|(packet, _)| packet.due == now)?;
        self.unordered.remove(slot)
    }

    /// Moves the packets that `moved` names, by tag, from one instant of leaving the link that they
    /// wait in to another.
    pub(crate) fn reschedule(
        &mut self,
        queue: &mut EventQueue<Event>,
        fifo: u32,
        moved: impl Fn(u32) -> Option<(Time, Time)>,
    ) {
        let shift = |stored: &mut Packet| match moved(stored.tag) {
            Some((before, after)) => {
                stored.due = after + stored.due.since(before);
                true
            }
            None => false,
        };
        let in_order = &mut self.fifos[fifo as usize];
        let mut packets = Vec::with_capacity(in_order.packets.len());
        while let Some(mut stored) = in_order.packets.pop_front() {
            shift(&mut stored);
            let sacks = if stored.has_sacks() { in_order.sacks.pop_front() } else { None };
            packets.push((stored, sacks));
        }
        packets.sort_by_key(|(stored, _)| stored.due);
        for (stored, sacks) in packets {
            in_order.packets.push_back(stored);
            if let Some(sacks) = sacks {
                in_order.sacks.push_back(sacks);
            }
        }
        if let Some(first) = in_order.packets.front() {
            queue.schedule(first.due, Event::new(Kind::Fifo, fifo));
        }
        for (slot, (stored, _)) in self.unordered.iter_mut() {
            if shift(stored) {
                queue.schedule(stored.due, Event::new(Kind::Packet, slot));
            }
        }
    }
}
