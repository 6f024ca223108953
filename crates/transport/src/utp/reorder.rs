use super::config::MAX_PACKETS;
use super::sack::{MAX_SACK_BYTES, Sack};

/// Least length of the ring: one word of bits.
const MIN_SLOTS: usize = 64;

/// Packets that arrived ahead of a gap: their lengths by number, in a ring that grows to
/// [`MAX_PACKETS`] and no further. Empty, it owns no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Reorder {
    lengths: Vec<u16>,
    /// A bit for each entry: whether a packet is held.
    held: Vec<u64>,
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

    #[inline]
    fn slot(&self, seq: u64) -> usize {
        seq as usize & (self.lengths.len() - 1)
    }
    #[inline]
    fn is_held(&self, slot: usize) -> bool {
        self.held[slot / 64] & (1 << (slot % 64)) != 0
    }

    /// Whether packet `seq` is held, of those less than [`MAX_PACKETS`] after the gap at `next`.
    #[inline]
    pub(super) fn holds(&self, next: u64, seq: u64) -> bool {
        let distance = (seq - next) as usize;
        distance < self.lengths.len() && self.is_held(self.slot(seq))
    }

    /// Holds packet `seq`, which is not held yet and is less than [`MAX_PACKETS`] after `next`.
    #[inline]
    pub(super) fn insert(&mut self, next: u64, seq: u64, len: u16) {
        let distance = (seq - next) as usize;
        debug_assert!(distance > 0 && distance < MAX_PACKETS as usize);
        if distance >= self.lengths.len() {
            self.grow(next, distance);
        }
        let slot = self.slot(seq);
        debug_assert!(!self.is_held(slot));
        self.end = if self.packets == 0 { seq + 1 } else { self.end.max(seq + 1) };
        self.lengths[slot] = len;
        self.held[slot / 64] |= 1 << (slot % 64);
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    #[cold]
    fn grow(&mut self, next: u64, distance: usize) {
        let size = (distance + 1).next_power_of_two().max(MIN_SLOTS);
        let mut larger =
            Reorder { lengths: vec![0; size], held: vec![0; size / 64], ..Reorder::default() };
        for seq in next..next + self.lengths.len() as u64 {
            let slot = self.slot(seq);
            if self.is_held(slot) {
                larger.insert(next, seq, self.lengths[slot]);
            }
        }
        *self = larger;
    }

    /// Takes packet `seq` out, if it is held; returns its length.
    #[inline]
    pub(super) fn take(&mut self, seq: u64) -> Option<u16> {
        if self.packets == 0 {
            return None;
        }
        let slot = self.slot(seq);
        if !self.is_held(slot) {
            return None;
        }
        self.held[slot / 64] &= !(1 << (slot % 64));
        self.packets -= 1;
        self.bytes -= u64::from(self.lengths[slot]);
        Some(self.lengths[slot])
    }

    /// A mask that begins after the gap at `next`: as long as the disorder, in steps of four bytes.
    pub(super) fn mask(&self, next: u64) -> Sack {
        let bits = (self.end - next - 1) as usize;
        let bytes = (bits.div_ceil(32) * 4).min(MAX_SACK_BYTES);
        self.fill(next, bytes, bits)
    }

    /// A mask of `bytes` bytes, of which the last two bits stay free.
    pub(super) fn mask_of(&self, next: u64, bytes: usize) -> Sack {
        let bits = (self.end - next - 1) as usize;
        self.fill(next, bytes, bits.min(8 * bytes - 2))
    }

    /// The first `bits` bits, of which none is beyond the ring.
    fn fill(&self, next: u64, bytes: usize, bits: usize) -> Sack {
        let mut mask = [0; MAX_SACK_BYTES];
        for (word, chunk) in mask.chunks_exact_mut(8).enumerate().take(bits.div_ceil(64)) {
            let slot = self.slot(next + 1 + 64 * word as u64);
            let low = self.held[slot / 64] >> (slot % 64);
            // Shifted in two steps, since one of 64 is none.
            let high = self.held[(slot / 64 + 1) % self.held.len()] << 1 << (63 - slot % 64);
            let left = bits - 64 * word;
            let wanted = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            chunk.copy_from_slice(&((low | high) & wanted).to_le_bytes());
        }
        Sack::from_wire(&mask[..bytes])
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
        for distance in [1, 3, 15, 63, 64, 1000] {
            assert!(!reorder.holds(next, next + distance));
            reorder.insert(next, next + distance, distance as u16);
        }
        assert_eq!((reorder.packets(), reorder.bytes(), reorder.end), (6, 1146, next + 1001));
        assert_eq!(reorder.take(next), None);
        for (distance, held) in [(1, true), (2, false), (3, true), (15, true), (63, true)] {
            assert_eq!(reorder.holds(next, next + distance), held);
            assert_eq!(reorder.take(next + distance), held.then_some(distance as u16));
        }
        assert_eq!((reorder.packets(), reorder.bytes()), (2, 1064));
        assert_eq!((reorder.lengths.len(), reorder.held.len()), (1024, 16));
        // A packet a whole ring further is not the one that is held in the same place.
        assert!(reorder.holds(next, next + 64) && !reorder.holds(next, next + 64 + 1024));
    }

    #[test]
    fn masks_say_what_is_held() {
        for next in [65_530, 131_070, 70_001] {
            let mut reorder = Reorder::default();
            let held: Vec<u64> = (1..180).filter(|distance| distance % 7 < 3).collect();
            for (count, distance) in held.iter().enumerate() {
                reorder.insert(next, next + distance, 1);
                let expected: Vec<usize> =
                    held[..=count].iter().map(|distance| *distance as usize - 1).collect();
                let mask = reorder.mask(next);
                assert_eq!(mask.iter().collect::<Vec<_>>(), expected);
                assert_eq!(mask.as_bytes().len(), (*distance as usize).div_ceil(32) * 4);
                let short = reorder.mask_of(next, 4);
                assert_eq!(short.as_bytes().len(), 4);
                assert!(short.iter().eq(expected.into_iter().filter(|index| *index < 30)));
            }
        }
    }
}
