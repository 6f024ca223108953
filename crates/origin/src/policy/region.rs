use std::ops::Range;

/// Circus' active region: a stretch of the circle of a file's blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Region {
    /// The file cursor: the region's first block.
    pub(super) begin: u32,
    /// The active length in blocks, at most the file's.
    pub(super) length: u32,
    /// Blocks of the file.
    pub(super) blocks: u32,
}

impl Region {
    /// How far ahead of the file cursor a block is.
    pub(super) fn distance(&self, block: u32) -> u32 {
        if block >= self.begin { block - self.begin } else { block + self.blocks - self.begin }
    }
    pub(super) fn contains(&self, block: u32) -> bool {
        self.distance(block) < self.length
    }
    /// Whether one of these blocks is in it.
    pub(super) fn touches(&self, blocks: Range<u32>) -> bool {
        self.length > 0 && (self.contains(blocks.start) || blocks.contains(&self.begin))
    }
    /// The block that is `steps` behind `from`, around the file.
    pub(super) fn step(&self, from: u32, steps: u32) -> u32 {
        ((u64::from(from) + u64::from(steps)) % u64::from(self.blocks.max(1))) as u32
    }
    /// The same with this block as the file cursor.
    pub(super) fn at(self, begin: u32) -> Region {
        Region { begin, ..self }
    }
    /// The same with this block as its last one.
    pub(super) fn ending_with(self, block: u32) -> Region {
        let back = self.length.saturating_sub(1);
        self.at(self.step(block, self.blocks - back))
    }
    /// Its pieces in the order of the circle, beginning with `cursor`, which is in it.
    pub(super) fn around(&self, cursor: u32) -> [Range<u32>; 3] {
        let end = self.step(self.begin, self.length);
        let wraps = self.begin + self.length > self.blocks;
        let whole = self.length >= self.blocks;
        if whole {
            [cursor..self.blocks, 0..cursor, 0..0]
        } else if !wraps {
            [cursor..self.begin + self.length, self.begin..cursor, 0..0]
        } else if cursor >= self.begin {
            [cursor..self.blocks, 0..end, self.begin..cursor]
        } else {
            [cursor..end, self.begin..self.blocks, 0..cursor]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of the region's blocks.
        #[test]
        fn it_is_a_stretch_of_a_circle(
            blocks in 1u32..40, begin in 0u32..40, length in 1u32..40, at in 0u32..40, many in 0u32..10,
        ) {
            let (begin, length) = (begin % blocks, length.min(blocks));
            let region = Region { begin, length, blocks };
            let inside: Vec<u32> = (0..length).map(|step| (begin + step) % blocks).collect();
            let block = at % blocks;
            prop_assert_eq!(region.contains(block), inside.contains(&block));
            let range = block..(block + many + 1).min(blocks);
            prop_assert_eq!(region.touches(range.clone()), range.clone().any(|b| inside.contains(&b)));
            prop_assert!(region.ending_with(block).contains(block));
            prop_assert_eq!(region.ending_with(block).distance(block), length - 1);
            let cursor = inside[at as usize % inside.len()];
            let walk: Vec<u32> = region.around(cursor).into_iter().flatten().collect();
            let mut wanted = inside.clone();
            wanted.rotate_left(at as usize % inside.len());
            if length < blocks {
                prop_assert_eq!(walk, wanted);
            } else {
                prop_assert_eq!((walk.len(), walk[0]), (wanted.len(), cursor));
            }
        }
    }
}
