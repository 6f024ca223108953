use std::ops::Range;

/// Words of a chunk: one word says which of them have a bit.
const WORDS: u32 = 64;
/// Extents of a chunk.
const CHUNK: u32 = 64 * WORDS;

/// A set of extents in three levels: bits, a summary of the words of a chunk, and a bit for each chunk that is not
/// empty. A chunk that is full or empty has no memory of its own: 100,000 clients that fetch one file of ten million
/// blocks take 4 kB each, not 78 kB (as long as most of the chunks are still or no longer wanted whole).
#[derive(Clone, Debug)]
pub(crate) struct ExtentSet {
    chunks: Box<[Chunk]>,
    /// A bit for each chunk that is not empty.
    occupied: Box<[u64]>,
    size: u32,
    count: u32,
}

#[derive(Clone, Debug)]
enum Chunk {
    Empty,
    Full,
    /// The summary, then the words.
    Bits(Box<[u64]>),
}

fn bit(index: u32) -> u64 {
    1 << (index % 64)
}
/// The bits at `index` and above.
fn from(index: u32) -> u64 {
    u64::MAX << (index % 64)
}
/// Those of 64 extents from `64 * word` on that are in a range, as bits.
fn within(word: u32, extents: &Range<u32>) -> u64 {
    let places = |end: u32| end.saturating_sub(64 * word);
    let below = |end: u32| 1u64.checked_shl(places(end)).map_or(u64::MAX, |bit| bit - 1);
    below(extents.end) & !below(extents.start)
}

impl ExtentSet {
    /// No extent of `size`.
    pub(crate) fn empty(size: u32) -> ExtentSet {
        let chunks = size.div_ceil(CHUNK);
        ExtentSet {
            chunks: vec![Chunk::Empty; chunks as usize].into_boxed_slice(),
            occupied: vec![0; chunks.div_ceil(64) as usize].into_boxed_slice(),
            size,
            count: 0,
        }
    }

    /// Every one of `size` extents.
    pub(crate) fn full(size: u32) -> ExtentSet {
        let mut set = ExtentSet::empty(size);
        set.chunks.fill(Chunk::Full);
        for chunk in 0..set.chunks.len() as u32 {
            set.occupied[(chunk / 64) as usize] |= bit(chunk);
        }
        set.count = size;
        set
    }

    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Word `word` of all that are in a chunk that is full.
    pub(crate) fn full_word(&self, word: u32) -> u64 {
        match self.size.saturating_sub(64 * word) {
            0 => 0,
            left if left < 64 => u64::MAX >> (64 - left),
            _ => u64::MAX,
        }
    }

    /// 64 extents from `64 * word` on, as bits.
    pub(crate) fn word(&self, word: u32) -> u64 {
        match self.chunks.get((word / WORDS) as usize) {
            None | Some(Chunk::Empty) => 0,
            Some(Chunk::Full) => self.full_word(word),
            Some(Chunk::Bits(bits)) => bits.get(1 + (word % WORDS) as usize).copied().unwrap_or(0),
        }
    }

    pub(crate) fn contains(&self, extent: u32) -> bool {
        self.word(extent / 64) & bit(extent) != 0
    }

    /// The bits of a chunk, with memory of their own.
    fn bits(&mut self, chunk: u32) -> &mut [u64] {
        let place = chunk as usize;
        if !matches!(self.chunks[place], Chunk::Bits(_)) {
            let words = (self.size - CHUNK * chunk).div_ceil(64).min(WORDS);
            let mut bits = vec![0; 1 + words as usize].into_boxed_slice();
            if matches!(self.chunks[place], Chunk::Full) {
                bits[0] = u64::MAX >> (64 - words);
                for word in 0..words {
                    bits[1 + word as usize] = self.full_word(WORDS * chunk + word);
                }
            }
            self.chunks[place] = Chunk::Bits(bits);
        }
        match &mut self.chunks[place] {
            Chunk::Bits(bits) => bits,
            Chunk::Empty | Chunk::Full => unreachable!("made above"),
        }
    }

    /// Takes an extent out; whether it was there.
    pub(crate) fn remove(&mut self, extent: u32) -> bool {
        if !self.contains(extent) {
            return false;
        }
        let chunk = extent / CHUNK;
        let word = extent / 64 % WORDS;
        let bits = self.bits(chunk);
        bits[1 + word as usize] &= !bit(extent);
        if bits[1 + word as usize] == 0 {
            bits[0] &= !bit(word);
        }
        if bits[0] == 0 {
            self.chunks[chunk as usize] = Chunk::Empty;
            self.occupied[(chunk / 64) as usize] &= !bit(chunk);
        }
        self.count -= 1;
        true
    }

    /// Puts extents in, whole chunks at once where they are.
    pub(crate) fn insert(&mut self, extents: Range<u32>) {
        let (mut at, end) = (extents.start, extents.end.min(self.size));
        while at < end {
            let chunk = at / CHUNK;
            let last = (CHUNK * (chunk + 1)).min(self.size);
            self.occupied[(chunk / 64) as usize] |= bit(chunk);
            let is_empty = matches!(self.chunks[chunk as usize], Chunk::Empty);
            if is_empty && at.is_multiple_of(CHUNK) && end >= last {
                self.chunks[chunk as usize] = Chunk::Full;
                self.count += last - at;
            } else if !self.is_full(chunk) {
                let extents = at..end.min(last);
                let bits = self.bits(chunk);
                let mut more = 0;
                for word in extents.start / 64..extents.end.div_ceil(64) {
                    let place = 1 + (word % WORDS) as usize;
                    let new = within(word, &extents) & !bits[place];
                    bits[place] |= new;
                    bits[0] |= bit(word % WORDS);
                    more += new.count_ones();
                }
                self.count += more;
            }
            at = last;
        }
    }

    /// The first extent at `begin` or behind.
    pub(crate) fn next(&self, begin: u32) -> Option<u32> {
        if begin >= self.size {
            return None;
        }
        self.next_in_chunk(begin).or_else(|| {
            let chunk = self.next_chunk(begin / CHUNK + 1)?;
            self.next_in_chunk(CHUNK * chunk)
        })
    }

    /// The first extent at `begin` or behind, in the same chunk.
    fn next_in_chunk(&self, begin: u32) -> Option<u32> {
        let word = begin / 64;
        let here = self.word(word) & from(begin);
        if here != 0 {
            return Some(64 * word + here.trailing_zeros());
        }
        let chunk = begin / CHUNK;
        let place = word % WORDS + 1;
        if place == WORDS {
            return None;
        }
        let (summary, base) = match &self.chunks[chunk as usize] {
            Chunk::Empty => return None,
            // No bit was left in this word, so it is the last one.
            Chunk::Full if self.full_word(word + 1) == 0 => return None,
            Chunk::Full => (u64::MAX, WORDS * chunk),
            Chunk::Bits(bits) => (bits[0], WORDS * chunk),
        };
        let later = summary & from(place);
        if later == 0 {
            return None;
        }
        let word = base + later.trailing_zeros();
        let bits = self.word(word);
        (bits != 0).then(|| 64 * word + bits.trailing_zeros())
    }

    /// The first chunk at `begin` or behind that is not empty.
    pub(crate) fn next_chunk(&self, begin: u32) -> Option<u32> {
        let mut word = begin / 64;
        let mut here = self.occupied.get(word as usize)? & from(begin);
        while here == 0 {
            word += 1;
            here = *self.occupied.get(word as usize)?;
        }
        Some(64 * word + here.trailing_zeros())
    }

    /// Whether every extent of a chunk is in it. One that was put in and taken out in parts may not know.
    pub(crate) fn is_full(&self, chunk: u32) -> bool {
        matches!(self.chunks.get(chunk as usize), Some(Chunk::Full))
    }

    /// Whether it has these extents: all, none, or, which is nothing, a part of them. What is behind the last extent of the file
    /// does not count.
    pub(crate) fn has(&self, extents: Range<u32>) -> Option<bool> {
        let end = extents.end.min(self.size);
        match self.next(extents.start) {
            Some(first) if first < end => {
                (first == extents.start && self.has_all(extents.start..end)).then_some(true)
            }
            _ => Some(false),
        }
    }

    fn has_all(&self, extents: Range<u32>) -> bool {
        let mut at = extents.start;
        while at < extents.end {
            if self.is_full(at / CHUNK) {
                at = CHUNK * (at / CHUNK + 1);
            } else if within(at / 64, &extents) & !self.word(at / 64) == 0 {
                at = 64 * (at / 64 + 1);
            } else {
                return false;
            }
        }
        true
    }

    /// Bytes of memory outside the structure itself.
    pub(crate) fn memory(&self) -> usize {
        let own = |chunk: &Chunk| match chunk {
            Chunk::Bits(bits) => size_of_val::<[u64]>(bits),
            Chunk::Empty | Chunk::Full => 0,
        };
        size_of_val::<[Chunk]>(&self.chunks)
            + size_of_val::<[u64]>(&self.occupied)
            + self.chunks.iter().map(own).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(
            size in prop_oneof![5 => 1u32..200, 4 => 4000u32..4200, 1 => 300_000u32..300_100],
            full in any::<bool>(),
            steps in prop::collection::vec((0u8..3, any::<u32>(), 0u32..5000), 1..60),
        ) {
            let mut set = if full { ExtentSet::full(size) } else { ExtentSet::empty(size) };
            let mut wanted: BTreeSet<u32> = if full { (0..size).collect() } else { BTreeSet::new() };
            for (step, at, many) in steps {
                let at = at % size;
                match step {
                    0 => prop_assert_eq!(set.remove(at), wanted.remove(&at)),
                    1 => {
                        set.insert(at..at.saturating_add(many));
                        wanted.extend(at..(at + many).min(size));
                    }
                    _ => for extent in at..(at + many).min(size) {
                        prop_assert_eq!(set.remove(extent), wanted.remove(&extent));
                    },
                }
                prop_assert_eq!(set.len() as usize, wanted.len());
                prop_assert_eq!(set.next(at), wanted.range(at..).next().copied());
                prop_assert_eq!(set.contains(at), wanted.contains(&at));
                let end = at.saturating_add(many + 1);
                let has = match wanted.range(at..end).count() as u32 {
                    0 => Some(false),
                    count => (count == end.min(size) - at).then_some(true),
                };
                prop_assert_eq!(set.has(at..end), has);
            }
            let walk = std::iter::successors(set.next(0), |extent| set.next(extent + 1));
            prop_assert!(walk.eq(wanted.iter().copied()));
            prop_assert_eq!(set.next(size), None);
        }
    }

    #[test]
    fn what_is_wanted_whole_or_not_at_all_takes_no_memory() {
        // Ten million blocks of 64 KiB.
        let mut set = ExtentSet::full(625_000);
        assert!(set.memory() < 4096, "{}", set.memory());
        for extent in 0..500_000 {
            set.remove(extent);
        }
        assert!(set.memory() < 4096 + 600, "{}", set.memory());
    }
}
