//! Which pieces somebody has.

/// A set of piece numbers out of 0..len, with its size kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitfield {
    words: Vec<u64>,
    len: u32,
    count: u32,
}

impl Bitfield {
    /// None of `len` pieces.
    pub fn new(len: u32) -> Bitfield {
        Bitfield { words: vec![0; len.div_ceil(64) as usize], len, count: 0 }
    }
    /// All of `len` pieces.
    pub fn full(len: u32) -> Bitfield {
        let mut words = vec![u64::MAX; len.div_ceil(64) as usize];
        if let Some(last) = words.last_mut()
            && !len.is_multiple_of(64)
        {
            *last = (1 << (len % 64)) - 1;
        }
        Bitfield { words, len, count: len }
    }
    /// How many pieces there are in the torrent.
    pub fn len(&self) -> u32 {
        self.len
    }
    /// Whether there is no piece in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// How many pieces are in it.
    pub fn count(&self) -> u32 {
        self.count
    }
    /// Whether all are in it.
    pub fn is_full(&self) -> bool {
        self.count == self.len
    }
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        self.words.first().copied().unwrap_or(0)
    }
    /// Whether `piece` is in it; false beyond the end.
    #[inline]
    pub fn has(&self, piece: u32) -> bool {
        self.words.get((piece / 64) as usize).is_some_and(|word| word >> (piece % 64) & 1 == 1)
    }
    /// Puts `piece` in. True if it is new and exists.
    #[inline]
    pub fn set(&mut self, piece: u32) -> bool {
        if piece >= self.len || self.has(piece) {
            return false;
        }
        self.words[(piece / 64) as usize] |= 1 << (piece % 64);
        self.count += 1;
        true
    }
    /// The pieces in it, in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word| index as u32 * 64 + word.trailing_zeros())
        })
    }
    /// How many pieces are in it that `other` lacks.
    pub fn missing_in(&self, other: &Bitfield) -> u32 {
        self.words
            .iter()
            .zip(&other.words)
            .map(|(mine, theirs)| (mine & !theirs).count_ones())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_is_every_piece_one_by_one() {
        for len in [1, 63, 64, 65, 200] {
            let mut one_by_one = Bitfield::new(len);
            assert!((0..len).all(|piece| one_by_one.set(piece)));
            assert_eq!(one_by_one, Bitfield::full(len));
            assert!(one_by_one.is_full() && !one_by_one.set(len) && !one_by_one.set(0));
        }
    }

    #[test]
    fn iterates_in_order_and_counts_what_another_lacks() {
        let mut pieces = Bitfield::new(130);
        for piece in [129, 0, 64, 63] {
            pieces.set(piece);
        }
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        let mut other = Bitfield::new(130);
        other.set(63);
        assert_eq!((pieces.missing_in(&other), other.missing_in(&pieces)), (3, 0));
    }
}
