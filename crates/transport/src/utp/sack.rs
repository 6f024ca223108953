use std::fmt;

/// Bytes of a selective-acknowledgement mask that a [`Packet`](super::Packet) carries.
pub const MAX_SACK_BYTES: usize = 24;

/// A selective acknowledgement: bit `i`, the least significant of a byte first, says that packet
/// `ack_nr + 2 + i` has arrived (BEP 29; `ack_nr + 1` is missing by definition).
///
/// A mask may have any length on the wire. 24 bytes are kept, 192 packets, so that a packet fills
/// one cache line; a packet further ahead is acknowledged when the acknowledgement number has come
/// nearer. Libutp sends 4 bytes of which it fills 30 bits; libtorrent as many as it needs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Sack {
    len: u8,
    mask: [u8; MAX_SACK_BYTES],
}

impl Sack {
    /// No mask at all.
    pub const NONE: Sack = Sack { len: 0, mask: [0; MAX_SACK_BYTES] };

    /// A mask of `bytes` bytes, at most [`MAX_SACK_BYTES`], without a bit set.
    pub fn of_bytes(bytes: usize) -> Sack {
        Sack { len: bytes.min(MAX_SACK_BYTES) as u8, mask: [0; MAX_SACK_BYTES] }
    }

    /// The part of a mask from the wire that is kept.
    pub fn from_wire(mask: &[u8]) -> Sack {
        let mut sack = Sack::of_bytes(mask.len());
        let len = usize::from(sack.len);
        sack.mask[..len].copy_from_slice(&mask[..len]);
        sack
    }

    /// The mask as it is sent.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.mask[..usize::from(self.len)]
    }

    /// Whether there is no mask.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many packets it can speak of.
    #[inline]
    pub fn bits(&self) -> usize {
        8 * usize::from(self.len)
    }

    /// Says that packet `ack_nr + 2 + index` has arrived. Ignored beyond the mask.
    #[inline]
    pub fn set(&mut self, index: usize) {
        if index < self.bits() {
            self.mask[index / 8] |= 1 << (index % 8);
        }
    }

    /// Whether packet `ack_nr + 2 + index` has arrived.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        index < self.bits() && self.mask[index / 8] & (1 << (index % 8)) != 0
    }

    /// The indices of the bits that are set, rising.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.beyond(&Sack::NONE)
    }

    /// The indices of the bits that are set here and not in `known`, rising.
    #[inline]
    pub fn beyond(&self, known: &Sack) -> impl Iterator<Item = usize> + use<> {
        let mut words = self.words();
        for (word, known) in words.iter_mut().zip(known.words()) {
            *word &= !known;
        }
        words.into_iter().enumerate().flat_map(|(position, mut left)| {
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(64 * position + bit)
            })
        })
    }

    /// The mask in words, the first packet in the lowest bit. Nothing is set beyond its length.
    #[inline]
    fn words(&self) -> [u64; MAX_SACK_BYTES / 8] {
        let mut words = [0; MAX_SACK_BYTES / 8];
        for (word, bytes) in words.iter_mut().zip(self.mask.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(bytes);
            *word = u64::from_le_bytes(eight);
        }
        words
    }
}

impl fmt::Debug for Sack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_significant_bit_comes_first() {
        let mut sack = Sack::of_bytes(4);
        for index in [0, 1, 2, 9, 31, 32] {
            sack.set(index);
        }
        assert_eq!(sack.as_bytes(), [0b111, 0b10, 0, 0x80]);
        assert_eq!(sack.iter().collect::<Vec<_>>(), [0, 1, 2, 9, 31]);
        assert!(sack.get(9) && !sack.get(8) && !sack.get(32));
        assert_eq!(format!("{sack:?}"), "07020080");
    }

    #[test]
    fn a_long_mask_is_cut() {
        let sack = Sack::from_wire(&[0xff; 200]);
        assert_eq!(sack.bits(), 192);
        assert_eq!(sack.iter().count(), 192);
    }
}
