use super::config::MAX_PACKETS;

/// An entry without a packet. No payload is that long.
const ABSENT: u16 = u16::MAX;

/// Packets that arrived ahead of a gap: their lengths by number, in a ring that grows to
/// [`MAX_PACKETS`] and no further. Empty, it owns no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Reorder {
    ring: Vec<u16>,
    packets: u32,
    bytes: u64,
    /// After the highest number that is held, while any is.
    end: u64,
}

impl Reorder {
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    #[inline]
    fn slot(&self, seq: u64) -> usize {
        seq as usize & (self.ring.len() - 1)
    }

    /// Whether packet `seq` is held, of those less than [`MAX_PACKETS`] after the gap.
    #[inline]
    pub(super) fn holds(&self, next: u64, seq: u64) -> bool {
        let distance = (seq - next) as usize;
        distance < self.ring.len() && self.ring[self.slot(seq)] != ABSENT
    }

    /// Holds packet `seq`, which is not held yet and lies less than [`MAX_PACKETS`] after `next`.
    pub(super) fn insert(&mut self, next: u64, seq: u64, len: u16) {
        let distance = (seq - next) as usize;
        debug_assert!(distance > 0 && distance < MAX_PACKETS as usize);
        if distance >= self.ring.len() {
            self.grow(next, distance);
        }
        let slot = self.slot(seq);
        debug_assert_eq!(self.ring[slot], ABSENT);
        self.end = if self.packets == 0 { seq + 1 } else { self.end.max(seq + 1) };
        self.ring[slot] = len;
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    #[cold]
    fn grow(&mut self, next: u64, distance: usize) {
        let larger = vec![ABSENT; (distance + 1).next_power_of_two().max(16)];
        let old = std::mem::replace(&mut self.ring, larger);
        for seq in next..next + old.len() as u64 {
            let slot = self.slot(seq);
            self.ring[slot] = old[seq as usize & (old.len() - 1)];
        }
    }

    /// Takes packet `seq` out, if it is held; returns its length.
    #[inline]
    pub(super) fn take(&mut self, seq: u64) -> Option<u16> {
        if self.packets == 0 {
            return None;
        }
        let slot = self.slot(seq);
        let len = self.ring[slot];
        if len == ABSENT {
            return None;
        }
        self.ring[slot] = ABSENT;
        self.packets -= 1;
        self.bytes -= u64::from(len);
        Some(len)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Reorder::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_held_is_found_after_the_ring_has_grown() {
        let mut reorder = Reorder::default();
        let next = 65_530;
        for seq in [next + 1, next + 3, next + 15, next + 16, next + 1000] {
            assert!(!reorder.holds(next, seq));
            reorder.insert(next, seq, (seq - next) as u16);
        }
        assert_eq!((reorder.packets(), reorder.bytes(), reorder.end()), (5, 1035, next + 1001));
        assert_eq!(reorder.take(next), None);
        for (distance, held) in
            [(1, true), (2, false), (3, true), (15, true), (16, true), (1000, true)]
        {
            assert_eq!(reorder.holds(next, next + distance), held);
            assert_eq!(reorder.take(next + distance).is_some(), held);
        }
        assert_eq!((reorder.packets(), reorder.bytes()), (0, 0));
        assert_eq!(reorder.ring.len(), 1024);
    }
}
