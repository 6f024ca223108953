use std::collections::VecDeque;

/// The unacknowledged ranges that an end has sent, by offset (TCP) or number (uTP), each with the number
/// of the packet that carried it last.
#[derive(Default)]
pub(super) struct Flight {
    sent: VecDeque<Transmission>,
    /// How many packets this end has sent.
    packets: u64,
    /// End of the highest range ever sent.
    reached: u64,
    /// A SYN has been sent.
    opened: bool,
}

struct Transmission {
    start: u64,
    end: u64,
    number: u64,
    lost: bool,
}

impl Flight {
    /// A packet is sent. Returns its number.
    pub(super) fn count(&mut self) -> u64 {
        self.packets += 1;
        self.packets - 1
    }

    /// Packet `number` carries `start..end`. Returns whether that is a retransmission.
    pub(super) fn send(&mut self, number: u64, start: u64, end: u64) -> bool {
        let again = end <= self.reached;
        for known in self.from(start).take_while(|known| known.start < end) {
            (known.number, known.lost) = (number, false);
        }
        if end > self.reached {
            let start = start.max(self.reached);
            self.sent.push_back(Transmission { start, end, number, lost: false });
            self.reached = end;
        }
        again
    }

    /// A SYN is sent. Returns whether it is a retransmission.
    pub(super) fn send_syn(&mut self) -> bool {
        std::mem::replace(&mut self.opened, true)
    }

    /// Everything below `end` is acknowledged.
    pub(super) fn acknowledged(&mut self, end: u64) {
        while self.sent.front().is_some_and(|known| known.end <= end) {
            self.sent.pop_front();
        }
    }

    /// The range that begins at `start` counts as lost. Returns the number of the packet that carried it
    /// last, unless that was counted before.
    pub(super) fn lose(&mut self, start: u64) -> Option<u64> {
        let known = self.from(start).next().filter(|known| known.start <= start && !known.lost)?;
        known.lost = true;
        Some(known.number)
    }

    /// Losses were undone: what was not retransmitted does not count as lost any more.
    pub(super) fn forgive(&mut self) {
        self.sent.iter_mut().for_each(|known| known.lost = false);
    }

    /// Transmissions that end above `start`.
    fn from(&mut self, start: u64) -> impl Iterator<Item = &mut Transmission> {
        let first = self.sent.partition_point(|known| known.end <= start);
        self.sent.range_mut(first..)
    }

    /// uTP: a number on the wire as one that does not wrap, near the newest that was sent.
    pub(super) fn unwrap(&self, seq_nr: u16) -> u64 {
        // The first is taken for one of the second round, so that those before it are above zero.
        let near = if self.reached == 0 { (1 << 16) + u64::from(seq_nr) } else { self.reached };
        near.wrapping_add_signed(i64::from(seq_nr.wrapping_sub(near as u16) as i16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_carried_it_last_is_lost_once() {
        let mut flight = Flight::default();
        for start in [0, 1000, 2000] {
            let number = flight.count();
            assert!(!flight.send(number, start, start + 1000));
        }
        assert_eq!((flight.lose(1000), flight.lose(1000)), (Some(1), None));
        let number = flight.count();
        assert!(flight.send(number, 1000, 2000));
        assert_eq!((flight.lose(1000), flight.lose(1000)), (Some(3), None));
        flight.forgive();
        assert_eq!(flight.lose(1000), Some(3));
        flight.acknowledged(2000);
        assert_eq!((flight.lose(2000), flight.lose(3000)), (Some(2), None));
        // One packet may carry what two did, and something new.
        let number = flight.count();
        assert!(!flight.send(number, 2000, 4000));
        assert_eq!((flight.lose(2000), flight.lose(3000)), (Some(4), Some(4)));
    }

    #[test]
    fn numbers_on_the_wire_do_not_wrap_here() {
        let mut flight = Flight::default();
        assert_eq!(flight.unwrap(65535), (1 << 16) + 65535);
        let first = flight.unwrap(65535);
        flight.send(0, first, first + 1);
        assert_eq!(flight.unwrap(0), first + 1);
        assert_eq!(flight.unwrap(65534), first - 1);
    }
}
