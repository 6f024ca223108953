use flashcrowd_base::Time;
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::DiskCounters;

/// What a server has done by some instant.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) at: Time,
    pub(super) machine: Counters,
    pub(super) disk: DiskCounters,
    /// By file.
    pub(super) downloads: Vec<u32>,
    pub(super) sent: Vec<u64>,
    pub(super) read: Vec<u64>,
}
