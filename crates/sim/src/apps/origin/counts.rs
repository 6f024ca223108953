use crate::apps::storage;

/// What a server has done by some instant.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) all: storage::Counts,
    /// By file.
    pub(super) downloads: Vec<u32>,
    pub(super) sent: Vec<u64>,
    pub(super) read: Vec<u64>,
}
