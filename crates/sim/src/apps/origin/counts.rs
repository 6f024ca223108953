use flashcrowd_workload::origin;

/// What a server has done by some instant.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) all: origin::Counts,
    /// By file.
    pub(super) downloads: Vec<u32>,
    pub(super) sent: Vec<u64>,
    pub(super) read: Vec<u64>,
}
