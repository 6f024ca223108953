use crate::Error;
use crate::check::{refused, require};
use flashcrowd_origin::disk::Medium;
use flashcrowd_origin::{InOrder, Replacement, Scheduling, Settings};
use serde::{Deserialize, Serialize};

/// The storage of each seed of a population: a disk with the file at its beginning, and memory before it. A block that
/// is not in memory waits for the extent that it is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// The disk of the file.
    pub disk: Medium,
    /// Memory for what is read, reads under way included; what was sent from longest ago goes first.
    pub memory_bytes: u64,
    /// Bytes that are read and kept at once: a power of two, 1 to 64 blocks.
    pub extent_bytes: u32,
    /// Reads under way at most; further ones wait.
    pub reads: u32,
}

impl Storage {
    /// The content server's machine that does the reading: it is asked for a block at a time.
    pub fn settings(&self, block_bytes: u32) -> Settings {
        let in_order = InOrder { read_ahead: false, replacement: Replacement::Lru };
        Settings {
            block_bytes,
            extent_bytes: self.extent_bytes,
            memory_bytes: self.memory_bytes,
            reads: self.reads,
            scheduling: Scheduling::InOrder(in_order),
            ..Settings::default()
        }
    }

    /// Refuses what no server's disk and memory can be, and a disk without room for a file of this size.
    pub(crate) fn check(&self, size_bytes: u64, block_bytes: u32, path: &str) -> Result<(), Error> {
        self.settings(block_bytes).check().map_err(refused(path))?;
        self.disk.check().map_err(refused(format_args!("{path}.disk")))?;
        if let Medium::HardDisk(disk) = &self.disk {
            let fits = size_bytes <= disk.size_bytes;
            require(fits, format_args!("{path}.disk.size_bytes"), "must be at least the file's")?;
        }
        Ok(())
    }
}
