use crate::open_file::ALIGNMENT;

/// Memory for an extent. One of whole length begins at a multiple of [`ALIGNMENT`], so that the disk can write into
/// it; a shorter one is as long as its extent, and filled through a reader's own memory.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
    length: usize,
    aligned: bool,
}

impl Buffer {
    /// Memory that begins at a multiple of [`ALIGNMENT`].
    pub(crate) fn aligned(length: usize) -> Buffer {
        let bytes = vec![0; length + ALIGNMENT];
        // The address may be anything in theory; then the system refuses the read, and says so.
        let begin = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Buffer { bytes, begin, length, aligned: true }
    }

    pub(crate) fn short(length: usize) -> Buffer {
        Buffer { bytes: vec![0; length], begin: 0, length, aligned: false }
    }

    pub(crate) fn is_aligned(&self) -> bool {
        self.aligned
    }
    pub(crate) fn len(&self) -> usize {
        self.length
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.begin..self.begin + self.length]
    }
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.length]
    }
    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Extents that may be lent to sockets out of so much memory: one in 32, and as many as a few processors need.
pub(crate) fn loans(memory: u64, extent: u32) -> usize {
    (memory / u64::from(extent) / 32).min(16) as usize
}

/// Of so much memory for contents, what the origin may have, such that no buffers, those that are lent twice included, and no
/// reader's own memory, exceed it.
pub(crate) fn share(memory: u64, extent: u32, reads: u32) -> u64 {
    let loans = loans(memory, extent) as u64;
    let (extent, slack) = (u64::from(extent), ALIGNMENT as u64);
    let left = memory.saturating_sub(u64::from(reads) * (extent + 2 * slack));
    let left = left.saturating_sub(loans * (extent + slack));
    let whole = left / (extent + slack) * extent;
    whole.min(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_ones_are_where_the_disk_can_write() {
        for _ in 0..20 {
            let mut buffer = Buffer::aligned(1 << 16);
            assert_eq!(buffer.bytes_mut().as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!((buffer.len(), buffer.memory()), (1 << 16, (1 << 16) + ALIGNMENT));
        }
        assert_eq!(Buffer::short(77).memory(), 77);
    }

    proptest! {
        /// As many whole extents as the origin could have, or short ones for all of it.
        #[test]
        fn buffers_stay_within_the_memory(memory in 0u64..1 << 34, shift in 16u32..21, reads in 1u32..9) {
            let extent = 1 << shift;
            let share = share(memory, extent, reads);
            let lent = loans(memory, extent) as u64 * (u64::from(extent) + ALIGNMENT as u64);
            let readers = u64::from(reads) * (u64::from(extent) + 2 * ALIGNMENT as u64) + lent;
            let whole = share / u64::from(extent) * (u64::from(extent) + ALIGNMENT as u64);
            prop_assert!(share == 0 || readers + whole <= memory && readers + share <= memory);
        }
    }
}
