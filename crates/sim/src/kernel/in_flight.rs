use super::event::{Event, EventKind};
use super::event_queue::EventQueue;
use super::packet::{Packet, Sacks};
use flashcrowd_base::{Ring, Slab, Time, prefetch};
use flashcrowd_link::{Moved, Packet as _};
use std::collections::BTreeMap;

/// Packets in flight: between two links, or between a link and a host.
///
/// Packets that left one link, or cross paths of one delay, arrive first in, first out. They are kept
/// in a FIFO, contiguous in memory, and only the first of a FIFO has an event in the event queue, which
/// so stays small with thousands of packets in flight. A packet that would overtake its FIFO
/// (jitter, paths that differ) is kept among the unordered ones, with an event of its own.
pub(crate) struct InFlight {
    pub(super) fifos: Vec<Fifo>,
    pub(super) unordered: Slab<(Packet, Sacks)>,
    /// Number of the next event of one of these: orders those that are due at one instant.
    next_number: u32,
}

#[derive(Default)]
pub(super) struct Fifo {
    pub(super) packets: Ring<Packet>,
    /// SACK ranges of the packets that have any, in the packets' order.
    sacks: Ring<Sacks>,
    /// Number of packets at the front whose sockets have been prefetched.
    pub(super) prefetched: u32,
}

impl InFlight {
    pub(crate) fn new(fifos: usize) -> InFlight {
        InFlight {
            fifos: (0..fifos).map(|_| Fifo::default()).collect(),
            unordered: Slab::default(),
            next_number: 0,
        }
    }

    /// Whether the first packet of a FIFO is due; else its event is stale.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: Time, number: u32) -> bool {
        self.fifos[number as usize].packets.front().is_some_and(|packet| packet.due() == now)
    }

    /// Takes the first packet of a FIFO, which must be there, and its SACK ranges, and schedules the event of the packet
    /// behind it. Not as an option, which would be put together byte by byte and copied whole.
    #[inline(always)]
    pub(crate) fn take_first(
        &mut self,
        queue: &mut EventQueue<Event>,
        number: u32,
    ) -> (Packet, Sacks) {
        let fifo = &mut self.fifos[number as usize];
        let packet = fifo.packets.front().copied().unwrap_or_default();
        let sacks = if packet.has_sacks() { fifo.sacks.pop_front() } else { None };
        fifo.packets.drop_front();
        fifo.prefetched = fifo.prefetched.saturating_sub(1);
        if let Some(next) = fifo.packets.front() {
            queue.schedule_next(next.due(), Event::new(EventKind::Fifo, number));
            if let Some(second) = fifo.packets.get(1) {
                prefetch(second); // It becomes the first with the next event.
            }
        }
        (packet, sacks.unwrap_or_default())
    }

    /// Keeps a packet until it is due, and schedules its event if it is the first of its FIFO.
    #[inline(always)]
    pub(crate) fn keep(
        &mut self,
        queue: &mut EventQueue<Event>,
        fifo: Option<u32>,
        packet: Packet,
        sacks: &Sacks,
    ) {
        let Some(fifo) = fifo else { return self.keep_unordered(queue, &{ packet }, sacks) };
        let in_order = &mut self.fifos[fifo as usize];
        match in_order.packets.back() {
            None => queue.schedule(packet.due(), Event::new(EventKind::Fifo, fifo)),
            Some(last) if last.due() <= packet.due() => {}
            _ => return self.keep_early(queue, fifo, &{ packet }, sacks),
        }
        in_order.packets.push_back(packet);
        if packet.has_sacks() {
            in_order.sacks.push_back(*sacks);
        }
    }

    /// Keeps a packet that is due before the last of its FIFO: behind a packet that is due at the same
    /// nanosecond, as a link that keeps order delivers them in that order, else among the unordered.
    #[inline(never)]
    fn keep_early(
        &mut self,
        queue: &mut EventQueue<Event>,
        fifo: u32,
        packet: &Packet,
        sacks: &Sacks,
    ) {
        let in_order = &mut self.fifos[fifo as usize];
        let place = in_order.packets.partition_point(|stored| stored.due() <= packet.due());
        let before = place.checked_sub(1).and_then(|before| in_order.packets.get(before));
        if before.is_none_or(|before| before.due() != packet.due()) {
            return self.keep_unordered(queue, packet, sacks);
        }
        if packet.has_sacks() {
            let sacked = |stored: &&Packet| stored.has_sacks();
            let earlier = in_order.packets.iter().take(place).filter(sacked).count();
            in_order.sacks.insert(earlier, *sacks);
        }
        in_order.packets.insert(place, *packet);
    }

    fn keep_unordered(&mut self, queue: &mut EventQueue<Event>, packet: &Packet, sacks: &Sacks) {
        let slot = self.unordered.insert((*packet, *sacks));
        schedule_unordered(queue, &mut self.next_number, packet.due(), slot);
    }

    /// Takes the unordered packet whose event this is, unless the event is stale.
    pub(crate) fn take_unordered(&mut self, now: Time, slot: u32) -> Option<(Packet, Sacks)> {
        self.unordered.get(slot).filter(|(packet, _)| packet.due() == now)?;
        self.unordered.remove(slot)
    }

    /// Reschedules the packets that wait in a link: `moved` gives, by tag, the old and the new instant at
    /// which a packet leaves it.
    pub(crate) fn reschedule(
        &mut self,
        queue: &mut EventQueue<Event>,
        fifo: u32,
        moved: &BTreeMap<u32, Moved>,
    ) {
        let shift = |stored: &mut Packet| match moved.get(&stored.tag()) {
            Some(moved) => {
                stored.set_due(moved.shifted(stored.due()));
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
        packets.sort_by_key(|(stored, _)| stored.due());
        for (stored, sacks) in packets {
            in_order.packets.push_back(stored);
            if let Some(sacks) = sacks {
                in_order.sacks.push_back(sacks);
            }
        }
        if let Some(first) = in_order.packets.front() {
            queue.schedule(first.due(), Event::new(EventKind::Fifo, fifo));
        }
        for (slot, (stored, _)) in self.unordered.iter_mut() {
            if shift(stored) {
                schedule_unordered(queue, &mut self.next_number, stored.due(), slot);
            }
        }
    }
}

/// Schedules a packet that is in no FIFO, behind those that are due with it.
fn schedule_unordered(queue: &mut EventQueue<Event>, number: &mut u32, due: Time, slot: u32) {
    queue.schedule(due, Event::packet(*number, slot));
    *number = number.wrapping_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::packet::Content;
    use flashcrowd_transport::tcp::Segment;
    use proptest::prelude::*;

    proptest! {
        /// Packets of one sender that are due one after another, or at one instant, leave in the order
        /// in which they came, whatever shares their FIFO; each with its own SACK ranges.
        #[test]
        fn senders_keep_their_order(
            packets in prop::collection::vec((0u32..3, 0u64..4, any::<bool>()), 1..200),
        ) {
            let mut in_flight = InFlight::new(1);
            let mut queue = EventQueue::new();
            let mut last = [Time::START; 3];
            for (number, &(sender, later, has_sacks)) in packets.iter().enumerate() {
                let due = last[sender as usize] + flashcrowd_base::Span::from_nanos(later);
                last[sender as usize] = due;
                let seq = number as u64;
                let segment = Segment { seq, sack_len: u8::from(has_sacks), ..Segment::EMPTY };
                let mut sacks = Sacks::default();
                sacks[0] = if has_sacks { (number as u32, number as u32 + 1) } else { (0, 0) };
                let packet = Packet::segment(sender, &segment, 0, 0).arriving(due);
                in_flight.keep(&mut queue, Some(0), packet, &sacks);
            }
            let mut left = [const { Vec::new() }; 3];
            while let Some((now, event)) = queue.pop() {
                let due = match event.kind() {
                    EventKind::Fifo => in_flight
                        .is_due(now, event.index())
                        .then(|| in_flight.take_first(&mut queue, event.index())),
                    EventKind::Packet => in_flight.take_unordered(now, event.index()),
                    other => panic!("no event of a packet: {other:?}"),
                };
                let Some((packet, sacks)) = due else { continue };
                let Content::Segment { socket, segment } = packet.content() else { panic!("it is TCP") };
                let seq = segment.with(&sacks).seq;
                let number = seq as u32;
                let expected = if packet.has_sacks() { (number, number + 1) } else { (0, 0) };
                prop_assert_eq!(sacks[0], expected);
                left[socket as usize].push(seq);
            }
            prop_assert_eq!(left.iter().map(Vec::len).sum::<usize>(), packets.len());
            for of_one in left {
                prop_assert!(of_one.is_sorted(), "{:?}", of_one);
            }
        }
    }
}
