use std::ops::Range;

/// How a file is cut: into blocks, which are sent, and extents of whole blocks, which are read and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    length: u64,
    block_shift: u32,
    /// Of blocks in an extent.
    extent_shift: u32,
}

impl Layout {
    /// Blocks in an extent at most: an extent's blocks are the bits of one word.
    pub const MAX_BLOCKS: u32 = 64;

    /// Of a file without a byte.
    pub(crate) const EMPTY: Layout = Layout { length: 0, block_shift: 0, extent_shift: 0 };

    /// `None` where sizes are no powers of two, where an extent has no block or more than [`Layout::MAX_BLOCKS`],
    /// or where the file has more than 2^31 blocks.
    pub(crate) fn new(length: u64, block: u32, extent: u32) -> Option<Layout> {
        let whole = block.is_power_of_two() && extent.is_power_of_two();
        let blocks = extent.checked_div(block)?;
        if !whole || !(1..=Layout::MAX_BLOCKS).contains(&blocks) {
            return None;
        }
        let block_shift = block.trailing_zeros();
        let within = length.div_ceil(u64::from(block)) <= 1 << 31;
        within.then_some(Layout { length, block_shift, extent_shift: blocks.trailing_zeros() })
    }

    /// Length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
    /// Length of every block but, perhaps, the last.
    pub fn block_size(&self) -> u64 {
        1 << self.block_shift
    }
    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.length.div_ceil(1 << self.block_shift) as u32
    }
    /// Number of extents.
    pub fn extents(&self) -> u32 {
        self.blocks().div_ceil(1 << self.extent_shift)
    }
    /// Blocks in every extent but, perhaps, the last.
    pub fn blocks_per_extent(&self) -> u32 {
        1 << self.extent_shift
    }
    /// The extent that a block is in.
    pub fn extent_of(&self, block: u32) -> u32 {
        block >> self.extent_shift
    }
    /// A block's place in its extent.
    pub fn place_of(&self, block: u32) -> u32 {
        block & (self.blocks_per_extent() - 1)
    }
    /// The first block of an extent.
    pub fn first_block(&self, extent: u32) -> u32 {
        extent << self.extent_shift
    }
    /// The blocks of an extent as bits, the first one lowest.
    pub(crate) fn mask(&self, extent: u32) -> u64 {
        let blocks = (self.blocks() - self.first_block(extent)).min(self.blocks_per_extent());
        u64::MAX >> (64 - blocks)
    }
    /// The bytes of a block.
    pub fn block_bytes(&self, block: u32) -> Range<u64> {
        let begin = u64::from(block) << self.block_shift;
        begin..(begin + (1 << self.block_shift)).min(self.length)
    }
    /// The bytes of an extent.
    pub fn extent_bytes(&self, extent: u32) -> Range<u64> {
        let shift = self.block_shift + self.extent_shift;
        let begin = u64::from(extent) << shift;
        begin..(begin + (1 << shift)).min(self.length)
    }
    /// The blocks that a range of bytes touches.
    pub(crate) fn blocks_of(&self, bytes: &Range<u64>) -> Range<u32> {
        let end = bytes.end.min(self.length);
        if bytes.start >= end {
            return 0..0;
        }
        let block = |byte: u64| (byte >> self.block_shift) as u32;
        block(bytes.start)..block(end - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_and_the_last_extent_are_short() {
        let layout = Layout::new(100_000 + 3 * 65_536, 16_384, 65_536).unwrap();
        assert_eq!((layout.blocks(), layout.extents(), layout.blocks_per_extent()), (19, 5, 4));
        assert_eq!((layout.extent_of(18), layout.place_of(18), layout.first_block(4)), (4, 2, 16));
        assert_eq!((layout.mask(3), layout.mask(4)), (0b1111, 0b111));
        assert_eq!(layout.block_bytes(18), 294_912..296_608);
        assert_eq!(layout.extent_bytes(4), 262_144..296_608);
        assert_eq!(layout.blocks_of(&(16_383..16_385)), 0..2);
        assert_eq!(layout.blocks_of(&(16_384..u64::MAX)), 1..19);
        assert_eq!(layout.blocks_of(&(296_608..u64::MAX)), 0..0);
    }

    #[test]
    fn an_empty_file_has_no_extents() {
        let layout = Layout::new(0, 65_536, 1 << 20).unwrap();
        assert_eq!((layout.blocks(), layout.extents()), (0, 0));
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (length, block, extent) in [
            (1, 60_000, 1 << 20),
            (1, 65_536, 32_768),
            (1, 4096, 1 << 20),
            (1 << 60, 65_536, 65_536),
        ] {
            assert_eq!(Layout::new(length, block, extent), None, "{length} {block} {extent}");
        }
    }
}
