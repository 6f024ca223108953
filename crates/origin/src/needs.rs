use crate::Layout;
use crate::extent_set::ExtentSet;
use crate::list::NOWHERE;
use std::ops::Range;

/// The blocks that a client still needs, as its server knows them or as it knows them itself: extents of which something is
/// missing, and the exact blocks of those few of which something has been sent.
///
/// The fields that a choice needs are adjacent (`near` to `blocks`), the rest in memory of its own: a server asks for
/// one client after the other, and each way to main memory takes as long as all that is done with what comes from
/// there.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Needs {
    layout: Layout,
    near: Near,
    /// The first extent of which something is missing, or [`NOWHERE`].
    first: u32,
    blocks: u32,
    extents: ExtentSet,
    /// Extents that are missing in part, by number, with the missing blocks as bits; `near` apart. All others are missing whole.
    partial: Vec<(u32, u64)>,
}

/// The extent that a block was taken from last.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// [`NOWHERE`] at first.
    extent: u32,
    /// The next one behind it of which something is missing, or [`NOWHERE`].
    next: u32,
    /// Its missing blocks.
    bits: u64,
}

const FAR: Near = Near { extent: NOWHERE, next: NOWHERE, bits: 0 };

fn there(extent: u32) -> Option<u32> {
    (extent != NOWHERE).then_some(extent)
}

impl Needs {
    /// Every block of a file.
    pub fn whole(layout: Layout) -> Needs {
        let extents = ExtentSet::full(layout.extents());
        Needs { blocks: layout.blocks(), ..Needs::of(layout, extents) }
    }

    fn of(layout: Layout, extents: ExtentSet) -> Needs {
        let first = extents.next(0).unwrap_or(NOWHERE);
        Needs { layout, near: FAR, first, blocks: 0, extents, partial: Vec::new() }
    }

    /// The blocks that these ranges of bytes touch.
    pub(crate) fn ranges(layout: Layout, ranges: &[Range<u64>]) -> Needs {
        let mut wanted: Vec<Range<u32>> = ranges
            .iter()
            .map(|range| layout.blocks_of(range))
            .filter(|range| !range.is_empty())
            .collect();
        wanted.sort_by_key(|range| range.start);
        let mut needs = Needs::of(layout, ExtentSet::empty(layout.extents()));
        let mut end = 0;
        for range in wanted {
            let begin = range.start.max(end);
            if begin < range.end {
                needs.add(begin..range.end);
                end = range.end;
            }
        }
        needs.first = needs.extents.next(0).unwrap_or(NOWHERE);
        if needs.blocks == layout.blocks() { Needs::whole(layout) } else { needs }
    }

    /// Adds blocks, none of which is there, behind all that are.
    fn add(&mut self, blocks: Range<u32>) {
        self.blocks += blocks.end - blocks.start;
        let (first, last) =
            (self.layout.extent_of(blocks.start), self.layout.extent_of(blocks.end - 1));
        for extent in [first, last].into_iter().take(if first == last { 1 } else { 2 }) {
            let begin = self.layout.first_block(extent);
            let mask = self.layout.mask(extent);
            let low = u64::MAX << blocks.start.saturating_sub(begin);
            let high = u64::MAX >> (64 - (blocks.end - begin).min(64));
            let mut bits = mask & low & high;
            match self.partial.last_mut() {
                Some((at, there)) if *at == extent => {
                    *there |= bits;
                    bits = *there;
                }
                _ if bits != mask => self.partial.push((extent, bits)),
                _ => {}
            }
            if bits == mask && self.partial.last().is_some_and(|(at, _)| *at == extent) {
                self.partial.pop();
            }
        }
        self.extents.insert(first..last + 1);
    }

    /// How many blocks are missing.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Of how many extents something is missing.
    pub fn extents(&self) -> u32 {
        self.extents.len()
    }
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }
    pub(crate) fn set(&self) -> &ExtentSet {
        &self.extents
    }

    /// Whether something of this extent is missing.
    pub fn has_extent(&self, extent: u32) -> bool {
        if extent == self.near.extent { self.near.bits != 0 } else { self.extents.contains(extent) }
    }

    /// The missing blocks of an extent as bits.
    pub(crate) fn bits(&self, extent: u32) -> u64 {
        if self.has_extent(extent) { self.missing(extent) } else { 0 }
    }

    /// The same of an extent of which something is missing.
    fn missing(&self, extent: u32) -> u64 {
        if extent == self.near.extent {
            return self.near.bits;
        }
        match self.place(extent) {
            Ok(place) => self.partial[place].1,
            Err(_) => self.layout.mask(extent),
        }
    }

    fn place(&self, extent: u32) -> Result<usize, usize> {
        self.partial.binary_search_by_key(&extent, |(at, _)| *at)
    }

    /// The next extent behind this one of which something is missing.
    fn behind(&self, extent: u32) -> Option<u32> {
        if extent == self.near.extent {
            there(self.near.next)
        } else {
            self.extents.next(extent + 1)
        }
    }

    /// The extent that a client is in the midst of, or else the next one.
    pub(crate) fn likely(&self) -> Option<u32> {
        match self.near {
            Near { extent: NOWHERE, .. } => there(self.first),
            Near { bits: 0, next, .. } => there(next),
            Near { extent, .. } => Some(extent),
        }
    }

    /// Whether this block is missing.
    pub fn has(&self, block: u32) -> bool {
        self.bits(self.layout.extent_of(block)) >> self.layout.place_of(block) & 1 != 0
    }

    /// The first missing block of an extent.
    pub fn first_in(&self, extent: u32) -> Option<u32> {
        self.first_of(extent, self.bits(extent))
    }

    fn first_of(&self, extent: u32, bits: u64) -> Option<u32> {
        (bits != 0).then(|| self.layout.first_block(extent) + bits.trailing_zeros())
    }

    /// The first missing block at `block` or behind.
    pub fn next(&self, block: u32) -> Option<u32> {
        if block >= self.layout.blocks() {
            return None;
        }
        let extent = self.layout.extent_of(block);
        let extent = if extent < self.first {
            there(self.first)?
        } else {
            let bits = self.bits(extent) & u64::MAX << self.layout.place_of(block);
            if bits != 0 {
                return self.first_of(extent, bits);
            }
            self.behind(extent)?
        };
        self.first_of(extent, self.missing(extent))
    }

    /// The first missing block at `block` or behind, or else from the beginning of the file.
    pub fn next_around(&self, block: u32) -> Option<u32> {
        self.next(block).or_else(|| self.next(0))
    }

    /// The first missing block in a range of blocks.
    pub fn next_within(&self, blocks: Range<u32>) -> Option<u32> {
        self.next(blocks.start).filter(|block| *block < blocks.end)
    }

    /// The last missing block in a range of blocks, of which each extent is looked at.
    pub(crate) fn last_within(&self, blocks: Range<u32>) -> Option<u32> {
        let last = self.layout.extent_of(blocks.end.checked_sub(1)?);
        (self.layout.extent_of(blocks.start)..=last).rev().find_map(|extent| {
            let begin = self.layout.first_block(extent);
            let low = u64::MAX << blocks.start.saturating_sub(begin);
            let high = u64::MAX >> (64 - (blocks.end - begin).min(64));
            let bits = self.bits(extent) & low & high;
            (bits != 0).then(|| begin + bits.ilog2())
        })
    }

    /// Takes a block out; whether it was there.
    pub fn remove(&mut self, block: u32) -> bool {
        let extent = self.layout.extent_of(block);
        let bit = 1 << self.layout.place_of(block);
        if extent != self.near.extent {
            let bits = self.bits(extent);
            if bits & bit == 0 {
                return false;
            }
            self.approach(extent, bits);
        }
        if self.near.bits & bit == 0 {
            return false;
        }
        self.near.bits &= !bit;
        self.blocks -= 1;
        if self.near.bits == 0 {
            self.extents.remove(extent);
            if extent == self.first {
                self.first = self.near.next;
            }
        }
        true
    }

    /// Has this extent, of which these blocks are missing, near.
    fn approach(&mut self, extent: u32, bits: u64) {
        if self.near.bits != 0
            && let Err(place) = self.place(self.near.extent)
        {
            self.partial.insert(place, (self.near.extent, self.near.bits));
        }
        if let Ok(place) = self.place(extent) {
            self.partial.remove(place);
        }
        let next = self.extents.next(extent + 1).unwrap_or(NOWHERE);
        self.near = Near { extent, next, bits };
    }

    /// Bytes of memory outside the structure itself.
    pub fn memory(&self) -> usize {
        self.extents.memory() + self.partial.capacity() * size_of::<(u32, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn they_are_a_set_of_blocks(
            length in 1u64..3_000_000,
            extent_shift in 12u32..=18,
            ranges in prop::option::of(prop::collection::vec((0u64..3_000_000, 0u64..200_000), 0..20)),
            steps in prop::collection::vec(any::<u32>(), 1..100),
        ) {
            let layout = Layout::new(length, 4096, 1 << extent_shift).unwrap();
            let (mut needs, mut wanted) = match ranges {
                None => (Needs::whole(layout), (0..layout.blocks()).collect::<BTreeSet<u32>>()),
                Some(ranges) => {
                    let ranges: Vec<_> = ranges.iter().map(|(at, many)| *at..*at + many).collect();
                    let wanted = (0..layout.blocks()).filter(|block| {
                        let bytes = layout.block_bytes(*block);
                        ranges.iter().any(|r| r.start.max(bytes.start) < r.end.min(bytes.end))
                    });
                    (Needs::ranges(layout, &ranges), wanted.collect())
                }
            };
            for step in steps {
                let block = step % layout.blocks();
                let extent = layout.extent_of(block);
                let begin = layout.first_block(extent);
                let within = begin..begin + layout.blocks_per_extent();
                prop_assert_eq!(needs.blocks() as usize, wanted.len());
                prop_assert_eq!(needs.is_empty(), wanted.is_empty());
                prop_assert_eq!(needs.has(block), wanted.contains(&block));
                prop_assert_eq!(needs.next(block), wanted.range(block..).next().copied());
                prop_assert_eq!(needs.first_in(extent), wanted.range(within.clone()).next().copied());
                prop_assert_eq!(needs.has_extent(extent), wanted.range(within).next().is_some());
                for end in [block + 1, layout.blocks()] {
                    let last = wanted.range(block..end).next_back().copied();
                    prop_assert_eq!(needs.last_within(block..end), last);
                    prop_assert_eq!(needs.last_within(0..end), wanted.range(..end).next_back().copied());
                }
                prop_assert_eq!(needs.last_within(block..block), None);
                let around = wanted.range(block..).next().or(wanted.first()).copied();
                prop_assert_eq!(needs.next_around(block), around);
                let extents: BTreeSet<u32> = wanted.iter().map(|block| layout.extent_of(*block)).collect();
                prop_assert_eq!(needs.extents() as usize, extents.len());
                prop_assert_eq!(needs.remove(block), wanted.remove(&block));
            }
        }
    }
}
