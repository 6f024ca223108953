use prefetch_index::prefetch_index;
use std::slice;

/// Asks the processor to bring the line of its cache that `place` begins in, and waits for nothing.
///
/// A run of hundreds of peers keeps tens of megabytes in use, and an event needs a dozen places in
/// them. What the next events need is asked for side by side, and comes while others are worked on.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_index(slice::from_ref(place), 0);
}

/// Zero-sized marker at the start of a `#[repr(C)]` structure: lets a caller prefetch the structure's
/// n-th cache line without dereferencing it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheLines([CacheLine; 0]);

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct CacheLine(#[allow(dead_code)] [u8; 64]);

/// One value, of four bytes: an `enum` around a `#[repr(C)]` structure with such a field has its own tag there.
///
/// Otherwise the compiler takes the field with the most spare values, which may be in a line of the cache that few
/// readers of the structure need, and that every reader of the `enum` then fetches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u32)]
pub enum TagHere {
    /// The structure.
    #[default]
    Structure = 1,
}

impl CacheLines {
    /// At the beginning of a structure.
    pub const HERE: CacheLines = CacheLines([]);

    /// Asks for the lines of this range, counted from here.
    #[inline(always)]
    pub fn prefetch(&self, lines: std::ops::Range<usize>) {
        for line in lines {
            // As a slice: an array would be copied, and the copy's lines asked for.
            prefetch_index(self.0.as_slice(), line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_take_no_room() {
        #[repr(C)]
        struct Large {
            lines: CacheLines,
            first: u64,
        }
        assert_eq!((size_of::<CacheLines>(), std::mem::offset_of!(Large, first)), (0, 0));
        let large = Large { lines: CacheLines::HERE, first: 1 };
        // Far beyond its end as well: nothing is read.
        large.lines.prefetch(0..1000);
        prefetch(&large.first);
        assert_eq!(large.first, 1);
    }
}
