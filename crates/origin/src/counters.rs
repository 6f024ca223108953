use flashcrowd_base::Span;

/// The counters of an origin since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes handed to sockets.
    pub sent: u64,
    /// Blocks handed to sockets.
    pub blocks: u64,
    /// Blocks that were in memory when their client could take one.
    pub hits: u64,
    /// Bytes asked of the disk.
    pub read: u64,
    /// Requests to the disk.
    pub reads: u64,
    /// Those of them for which no client waited when they were asked.
    pub ahead: u64,
    /// Extents that gave their memory to others.
    pub evictions: u64,
    /// For how long those had been in memory, summed.
    pub residence: Span,
    /// Reads that failed.
    pub errors: u64,
}

impl Counters {
    /// Bytes read for a byte sent: the paper's miss ratio.
    pub fn miss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.read as f64 / self.sent as f64 }
    }
}
