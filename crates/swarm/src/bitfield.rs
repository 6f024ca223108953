//! Bitfield (BEP 3): which pieces a peer has.

/// A set of piece numbers out of 0..len, with its size kept.
///
/// Up to 256 pieces are in place: a swarm of hundreds has tens of thousands of these, and each HAVE
/// would fetch its word from a page of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitfield {
    few: [u64; FEW_WORDS],
    /// All of them, if there are more.
    many: Box<[u64]>,
    len: u32,
    count: u32,
}

const FEW_WORDS: usize = 4;

impl Bitfield {
    /// None of `len` pieces.
    pub fn new(len: u32) -> Bitfield {
        let words = len.div_ceil(64) as usize;
        let many = if words > FEW_WORDS { vec![0; words] } else { Vec::new() };
        Bitfield { few: [0; FEW_WORDS], many: many.into_boxed_slice(), len, count: 0 }
    }
    /// All of `len` pieces.
    pub fn full(len: u32) -> Bitfield {
        let mut full = Bitfield::new(len);
        full.count = len;
        let mut left = len;
        for word in full.words_mut() {
            let here = left.min(64);
            *word = if here == 64 { u64::MAX } else { (1 << here) - 1 };
            left -= here;
        }
        full
    }
    fn words(&self) -> &[u64] {
        if self.many.is_empty() { &self.few } else { &self.many }
    }
    fn words_mut(&mut self) -> &mut [u64] {
        if self.many.is_empty() { &mut self.few } else { &mut self.many }
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
    /// Whether `piece` is in it; false beyond the end.
    pub fn has(&self, piece: u32) -> bool {
        self.words().get((piece / 64) as usize).is_some_and(|word| word >> (piece % 64) & 1 == 1)
    }
    /// Puts `piece` in. True if it is new and exists.
    pub fn set(&mut self, piece: u32) -> bool {
        if piece >= self.len || self.has(piece) {
            return false;
        }
        self.words_mut()[(piece / 64) as usize] |= 1 << (piece % 64);
        self.count += 1;
        true
    }
    /// The pieces in it, in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words().iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word| index as u32 * 64 + word.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_is_every_piece_one_by_one() {
        for len in [1, 63, 64, 65, 200, 256, 257, 1000] {
            let mut one_by_one = Bitfield::new(len);
            assert!((0..len).all(|piece| one_by_one.set(piece)));
            assert_eq!(one_by_one, Bitfield::full(len));
            assert!(one_by_one.is_full() && !one_by_one.set(len) && !one_by_one.set(0));
        }
    }

    /// In place and not, on both sides of the borders of words.
    #[test]
    fn what_is_in_it_is_told_from_what_is_not() {
        for len in [1, 64, 65, 256, 300] {
            let mut pieces = Bitfield::new(len);
            assert_eq!((pieces.len(), pieces.count()), (len, 0));
            assert!(pieces.is_empty() && !pieces.is_full() && pieces.iter().next().is_none());
            assert!(pieces.set(len - 1), "it is new");
            assert!(!pieces.set(len - 1), "it is there");
            assert!(!pieces.set(len), "it does not exist");
            assert_eq!((pieces.count(), pieces.is_empty()), (1, false));
            assert_eq!(pieces.is_full(), len == 1);
            assert_eq!(pieces.iter().collect::<Vec<_>>(), [len - 1]);
            assert!(pieces.has(len - 1) && !pieces.has(len) && !pieces.has(u32::MAX));
            assert!(len == 1 || !pieces.has(len - 2));
            let full = Bitfield::full(len);
            assert!(full.iter().eq(0..len));
        }
    }

    #[test]
    fn iterates_in_order() {
        let mut pieces = Bitfield::new(130);
        for piece in [129, 0, 64, 63] {
            pieces.set(piece);
        }
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
    }
}
