use flashcrowd_origin::Layout;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Cells of a map at most.
const MAX_CELLS: u32 = 64;

/// The parts of a file in memory, in cells of `extents_per_cell` extents each; the last one may
/// have fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileMap {
    /// The path by which it was opened last.
    pub(crate) name: Arc<Path>,
    layout: Layout,
    /// Downloads now.
    pub(crate) clients: u32,
    /// Bytes of it in memory.
    pub(crate) resident: u64,
    extents_per_cell: u32,
    /// For each cell, its bytes in memory.
    filled: Vec<u64>,
    /// The policy's active region in bytes, if it has one. The part beyond the end of the file is at its beginning.
    pub(crate) region: Option<Range<u64>>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Which bytes it is.
    pub(crate) bytes: Range<u64>,
    /// How many of a hundred are in memory, rounded down.
    pub(crate) percent: u64,
    /// Whether some of it is in the active region.
    pub(crate) is_active: bool,
}

impl FileMap {
    /// Of a file of which nothing is in memory.
    pub(crate) fn new(
        name: &Arc<Path>,
        layout: Layout,
        clients: u32,
        region: Option<Range<u64>>,
    ) -> FileMap {
        let extents_per_cell = layout.extents().div_ceil(MAX_CELLS).max(1);
        let cells = layout.extents().div_ceil(extents_per_cell) as usize;
        FileMap {
            name: Arc::clone(name),
            layout,
            clients,
            resident: 0,
            extents_per_cell,
            filled: vec![0; cells],
            region,
        }
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.layout.length()
    }

    /// This extent is in memory, too.
    pub(crate) fn fill(&mut self, extent: u32) {
        let Range { start, end } = self.layout.extent_bytes(extent);
        self.resident += end - start;
        self.filled[(extent / self.extents_per_cell) as usize] += end - start;
    }

    /// The cells in the order of the file.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        (0..self.layout.extents()).step_by(self.extents_per_cell as usize).zip(&self.filled).map(
            |(first, filled)| {
                let last = (first + self.extents_per_cell).min(self.layout.extents()) - 1;
                let bytes =
                    self.layout.extent_bytes(first).start..self.layout.extent_bytes(last).end;
                let percent = 100 * filled / (bytes.end - bytes.start);
                let is_active = self.region.as_ref().is_some_and(|region| {
                    let around = 0..region.end.saturating_sub(self.length());
                    overlap(&bytes, region) || overlap(&bytes, &around)
                });
                Cell { bytes, percent, is_active }
            },
        )
    }
}

/// Whether two ranges have bytes in common.
fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_origin::{Origin, Settings};

    /// Of a file of `length` bytes, in extents of 8192.
    fn map(length: u64, region: Option<Range<u64>>) -> FileMap {
        let settings = Settings { block_bytes: 4096, extent_bytes: 8192, ..Settings::default() };
        let mut origin = Origin::new(&settings).unwrap();
        let file = origin.open(length).unwrap().number() as u32;
        FileMap::new(&Path::new("f").into(), origin.world().file(file).layout, 0, region)
    }

    #[test]
    fn a_region_goes_on_at_the_beginning() {
        let mut map = map(40_000, Some(32_768..48_192));
        map.fill(1);
        map.fill(4);
        assert_eq!(map.resident, 8192 + 7232);
        let cells: Vec<_> = map.cells().map(|cell| (cell.percent, cell.is_active)).collect();
        assert_eq!(cells, [(0, true), (100, false), (0, false), (0, false), (100, true)]);
    }

    /// 129 extents are 43 cells of three.
    #[test]
    fn cells_are_the_file() {
        let length = 128 * 8192 + 1;
        let mut map = map(length, None);
        map.fill(0);
        (126..129).for_each(|extent| map.fill(extent));
        let cells: Vec<Cell> = map.cells().collect();
        assert_eq!((cells.len(), cells[0].percent, cells[42].percent), (43, 33, 100));
        let ends: Vec<u64> = cells.iter().map(|cell| cell.bytes.end).collect();
        assert!(cells[1..].iter().zip(&ends).all(|(cell, end)| cell.bytes.start == *end));
        assert_eq!((cells[0].bytes.start, ends[42]), (0, length));
    }

    #[test]
    fn an_empty_file_has_no_cells() {
        assert_eq!(map(0, None).cells().count(), 0);
    }
}
