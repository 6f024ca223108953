use super::sequence;
use flashcrowd_base::Time;
use std::collections::VecDeque;

/// State of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// In flight, as far as is known.
    InFlight,
    /// Timed out: to be retransmitted when the window has room.
    Lost,
    /// Acknowledged by a mask.
    Delivered,
}

/// A packet that was sent and not acknowledged in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) offset: u64,
    pub(super) sent_at: Time,
    pub(super) len: u16,
    pub(super) transmissions: u16,
    pub(super) fate: Fate,
    /// To be retransmitted at once, whatever the window.
    pub(super) urgent: bool,
}

/// Packets that were sent and not acknowledged in order, by number.
#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    first: u64,
    packets: VecDeque<SentPacket>,
    /// Payload bytes in flight.
    pub(super) in_flight: u64,
    lost: u32,
    urgent: u32,
    /// How often a packet was declared lost.
    declared_lost: u64,
    /// No packet before this number is lost or urgent: where the search for a retransmission begins.
    retransmit_from: u64,
}

impl SendQueue {
    pub(super) fn new(first: u16) -> SendQueue {
        let first = sequence::origin(first);
        SendQueue {
            first,
            packets: VecDeque::new(),
            in_flight: 0,
            lost: 0,
            urgent: 0,
            declared_lost: 0,
            retransmit_from: first,
        }
    }

    /// Number of the oldest packet, or of the next one.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }
    /// Number of the next packet.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    #[inline]
    pub(super) fn front(&self) -> Option<&SentPacket> {
        self.packets.front()
    }
    /// Whether everything has arrived but the oldest.
    pub(super) fn is_all_delivered_but_the_first(&self) -> bool {
        self.packets.iter().skip(1).all(|packet| packet.fate == Fate::Delivered)
    }
    #[inline]
    pub(super) fn get(&self, seq: u64) -> Option<&SentPacket> {
        self.packets.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// A new packet is sent.
    #[inline]
    pub(super) fn push(&mut self, now: Time, offset: u64, len: u16) -> u64 {
        let seq = self.next();
        self.in_flight += u64::from(len);
        self.packets.push_back(SentPacket {
            offset,
            sent_at: now,
            len,
            transmissions: 1,
            fate: Fate::InFlight,
            urgent: false,
        });
        seq
    }

    /// Packet `seq` is acknowledged. Returns the packet as it was, or `None` if it was acknowledged
    /// before.
    #[inline]
    pub(super) fn deliver(&mut self, seq: u64) -> Option<SentPacket> {
        let index = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?;
        let was = *packet;
        packet.fate = Fate::Delivered;
        packet.urgent = false;
        match was.fate {
            Fate::InFlight => self.in_flight -= u64::from(was.len),
            Fate::Lost => self.lost -= 1,
            Fate::Delivered => return None,
        }
        self.urgent -= u32::from(was.urgent);
        Some(was)
    }

    /// Forgets the oldest packets, as far as they have arrived.
    #[inline]
    pub(super) fn trim(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.fate == Fate::Delivered) {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Counts every packet in flight as lost.
    pub(super) fn lose_all(&mut self) {
        for packet in &mut self.packets {
            if packet.fate == Fate::InFlight {
                packet.fate = Fate::Lost;
                self.lost += 1;
                self.declared_lost += u64::from(!packet.urgent);
            }
        }
        self.in_flight = 0;
        self.retransmit_from = self.first;
    }

    /// Packet `seq` is to be retransmitted at once.
    pub(super) fn retransmit_now(&mut self, seq: u64) {
        let index = (seq - self.first) as usize;
        if let Some(packet) = self.packets.get_mut(index)
            && packet.fate != Fate::Delivered
            && !packet.urgent
        {
            self.declared_lost += u64::from(packet.fate == Fate::InFlight);
            packet.urgent = true;
            self.urgent += 1;
            self.retransmit_from = self.retransmit_from.min(seq);
        }
    }

    /// The oldest packet that is to be retransmitted: urgent ones, and with `lost` also those that
    /// timed out.
    #[inline]
    pub(super) fn find_retransmission(&mut self, lost: bool) -> Option<u64> {
        if self.urgent == 0 && (!lost || self.lost == 0) {
            return None;
        }
        let from = self.retransmit_from.max(self.first);
        let found = self
            .packets
            .iter()
            .skip((from - self.first) as usize)
            .position(|packet| packet.urgent || (lost && packet.fate == Fate::Lost))?
            as u64;
        // Without `lost`, lost ones may have been passed over.
        if lost || self.lost == 0 {
            self.retransmit_from = from + found;
        }
        Some(from + found)
    }

    /// How often a packet was declared lost.
    pub(super) fn packets_lost(&self) -> u64 {
        self.declared_lost
    }

    /// Numbers on the wire, offsets and lengths of the lost packets that were not retransmitted since.
    pub(super) fn lost_packets(&self) -> impl Iterator<Item = (u16, u64, u16)> {
        let waits = |packet: &SentPacket| packet.urgent || packet.fate == Fate::Lost;
        let numbered = (self.first..).zip(&self.packets).filter(move |(_, packet)| waits(packet));
        numbered.map(|(seq, packet)| (seq as u16, packet.offset, packet.len))
    }

    /// Whether something counts as lost.
    #[inline]
    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0
    }
    /// Whether anything is to be retransmitted.
    #[inline]
    pub(super) fn has_retransmissions(&self) -> bool {
        self.lost + self.urgent > 0
    }

    /// Packet `seq` is retransmitted. Returns it.
    pub(super) fn resend(&mut self, now: Time, seq: u64) -> Option<SentPacket> {
        let packet = self.packets.get_mut((seq - self.first) as usize)?;
        if packet.fate == Fate::Lost {
            packet.fate = Fate::InFlight;
            self.lost -= 1;
            self.in_flight += u64::from(packet.len);
        }
        self.urgent -= u32::from(packet.urgent);
        packet.urgent = false;
        packet.sent_at = now;
        packet.transmissions = packet.transmissions.saturating_add(1);
        Some(*packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in flight, and those that will be once all lost packets are retransmitted.
    fn state(queue: &mut SendQueue) -> (u64, Option<u64>) {
        (queue.in_flight, queue.find_retransmission(true))
    }

    #[test]
    fn what_was_lost_and_has_arrived_is_not_sent_again() {
        let mut queue = SendQueue::new(1);
        let numbers: Vec<u64> = (0..3).map(|i| queue.push(Time::START, 100 * i, 100)).collect();
        assert_eq!(state(&mut queue), (300, None));
        queue.lose_all();
        assert_eq!(state(&mut queue), (0, Some(numbers[0])));
        // It was only late.
        assert!(queue.deliver(numbers[0]).is_some_and(|was| was.fate == Fate::Lost));
        assert!(queue.deliver(numbers[0]).is_none(), "once");
        queue.trim();
        assert_eq!(state(&mut queue), (0, Some(numbers[1])));
        assert_eq!(queue.lost, 2);
        for number in &numbers[1..] {
            queue.deliver(*number);
        }
        queue.trim();
        assert_eq!((state(&mut queue), queue.lost, queue.len()), ((0, None), 0, 0));
    }

    #[test]
    fn what_is_urgent_is_not_sent_again_once_it_has_arrived() {
        let mut queue = SendQueue::new(1);
        let numbers: Vec<u64> = (0..3).map(|i| queue.push(Time::START, 100 * i, 100)).collect();
        queue.retransmit_now(numbers[1]);
        queue.retransmit_now(numbers[1]);
        assert_eq!((queue.find_retransmission(false), queue.packets_lost()), (Some(numbers[1]), 1));
        queue.deliver(numbers[1]);
        assert_eq!((queue.find_retransmission(false), queue.urgent), (None, 0));
    }

    #[test]
    fn a_packet_is_lost_once_for_each_time_that_it_was_sent() {
        let mut queue = SendQueue::new(1);
        let first = queue.push(Time::START, 0, 100);
        queue.push(Time::START, 100, 100);
        queue.retransmit_now(first);
        queue.lose_all();
        assert_eq!(queue.packets_lost(), 2);
        queue.retransmit_now(first);
        assert_eq!(queue.packets_lost(), 2, "it is waiting to be sent again");
        queue.resend(Time::START, first);
        queue.lose_all();
        assert_eq!(queue.packets_lost(), 3);
    }
}
