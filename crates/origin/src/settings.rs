use crate::{Layout, Scheduling};
use flashcrowd_base::{Refusal, Span};
use serde::{Deserialize, Serialize};

/// The settings of an origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Bytes that are sent at once, a power of two. Circus: 64 KiB.
    pub block_bytes: u32,
    /// Bytes that are read and kept at once: a power of two, 1 to 64 blocks. With 1 MiB a disk that takes 5 ms to the
    /// place and reads 40 MB/s brings 33 MB/s in any order; with 64 KiB 10 MB/s.
    pub extent_bytes: u32,
    /// Memory for what is read, reads under way included. Never exceeded.
    pub memory_bytes: u64,
    /// Reads under way at most. Two keep a disk busy while the driver takes in the first.
    pub reads: u32,
    /// A client whose socket accepts nothing of a block for this long is given up. A socket that has room for
    /// nothing is no concern of the origin: the client is not handed a block.
    pub patience_ns: Span,
    /// Which client gets which block, what is read, what is kept.
    pub scheduling: Scheduling,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            block_bytes: 1 << 16,
            extent_bytes: 1 << 20,
            memory_bytes: 1 << 28,
            reads: 2,
            patience_ns: Span::from_secs(60),
            scheduling: Scheduling::default(),
        }
    }
}

impl Settings {
    /// Whether an origin can be made with these.
    pub fn check(&self) -> Result<(), Refusal> {
        if Layout::new(0, self.block_bytes, self.block_bytes).is_none() {
            return Err(Refusal::new("block_bytes", self.block_bytes, "a power of two"));
        }
        if Layout::new(0, self.block_bytes, self.extent_bytes).is_none() {
            let allowed = format!("a power of two, 1 to {} blocks", Layout::MAX_BLOCKS);
            return Err(Refusal::new("extent_bytes", self.extent_bytes, allowed));
        }
        if !(1..=1024).contains(&self.reads) {
            return Err(Refusal::new("reads", self.reads, "from 1 to 1024"));
        }
        let min = u64::from(self.extent_bytes) * (u64::from(self.reads) + 2);
        if self.memory_bytes < min {
            let allowed = format!("at least {min}: two extents more than reads under way");
            return Err(Refusal::new("memory_bytes", self.memory_bytes, allowed));
        }
        if self.patience_ns.is_zero() {
            return Err(Refusal::new("patience_ns", 0, "more than 0"));
        }
        self.scheduling.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scenario files have the same defaults: a test of theirs reads the same file.
    #[test]
    fn defaults_are_written_down() {
        let found = serde_json::json!(Settings::default());
        let written: serde_json::Value =
            serde_json::from_str(include_str!("../tests/defaults.json")).unwrap();
        assert_eq!(found, written, "{found:#}");
    }
}
