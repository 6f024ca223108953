use crate::memory_file::Region;
use crate::open_file::ALIGNMENT;

/// Memory for an extent. One of whole length is a region of the memory file, so that the disk can write into it and sockets take
/// it without a copy; a shorter one is as long as its extent, and filled through a reader's own memory.
#[derive(Debug)]
pub(crate) enum Buffer {
    Whole(Region),
    Short(Vec<u8>),
}

impl Default for Buffer {
    /// No memory.
    fn default() -> Buffer {
        Buffer::Short(Vec::new())
    }
}

impl Buffer {
    pub(crate) fn short(length: usize) -> Buffer {
        Buffer::Short(vec![0; length])
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Buffer::Whole(region) => region.len(),
            Buffer::Short(bytes) => bytes.len(),
        }
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Whole(region) => region.bytes(),
            Buffer::Short(bytes) => bytes,
        }
    }
    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Buffer::Whole(region) => region.len(),
            Buffer::Short(bytes) => bytes.capacity(),
        }
    }
}

/// Memory of a reader's own, which begins at a multiple of [`ALIGNMENT`].
#[derive(Debug)]
pub(crate) struct Scratch {
    bytes: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Scratch {
    pub(crate) fn new(length: usize) -> Scratch {
        let bytes = vec![0; length + ALIGNMENT];
        // The address may be anything in theory; then the system refuses the read, and says so.
        let begin = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Scratch { bytes, begin, length }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.length]
    }
}

/// Extents that may be lent to sockets out of this memory: one in 32, and as many as a few processors need.
pub(crate) fn loans(memory: u64, extent: u32) -> usize {
    (memory / u64::from(extent) / 32).min(16) as usize
}

/// The origin's share of `memory` bytes for contents, such that no buffers, those that are lent included, and no
/// reader's own memory, exceed it.
pub(crate) fn share(memory: u64, extent: u32, reads: u32) -> u64 {
    let loans = loans(memory, extent) as u64 * u64::from(extent);
    memory.saturating_sub(u64::from(reads) * reader(extent)).saturating_sub(loans)
}

/// The least memory for contents of which the origin has `share`.
pub fn memory_for(share: u64, extent: u32, reads: u32) -> u64 {
    let least = share + u64::from(reads) * reader(extent);
    let with = |lent: usize| least + lent as u64 * u64::from(extent);
    (0..).find(|lent| loans(with(*lent), extent) <= *lent).map_or(least, with)
}

/// Bytes of a reader's own memory: an extent, the rest of a unit of the disk, and what aligning it costs.
pub(crate) fn reader(extent: u32) -> u64 {
    u64::from(extent) + 2 * ALIGNMENT as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn readers_memory_is_where_the_disk_can_write() {
        for _ in 0..20 {
            let mut scratch = Scratch::new(1 << 16);
            assert_eq!(scratch.bytes_mut().as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(scratch.bytes_mut().len(), 1 << 16);
        }
    }

    proptest! {
        #[test]
        fn buffers_stay_within_the_memory(memory in 0u64..1 << 34, shift in 16u32..21, reads in 1u32..9) {
            let extent = 1 << shift;
            let share = share(memory, extent, reads);
            let lent = loans(memory, extent) as u64 * u64::from(extent);
            prop_assert!(share == 0 || share + lent + u64::from(reads) * reader(extent) == memory);
        }

        #[test]
        fn the_memory_for_a_share_is_the_least_that_has_it(given in 0u64..1 << 34, shift in 16u32..21, reads in 1u32..9) {
            let extent = 1 << shift;
            let memory = memory_for(given, extent, reads);
            prop_assert_eq!(share(memory, extent, reads), given);
            prop_assert!(given == 0 || share(memory - 1, extent, reads) < given);
        }
    }
}
