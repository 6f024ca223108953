use crate::buffer::Buffer;
use crate::open_file::{OpenFile, ReadOutcome};
use flashcrowd_origin::ReadId;
use std::fmt::Debug;
use std::sync::Arc;

/// Asks for reads, and gets their results.
pub(crate) trait Requester: Debug + Send + Sync {
    fn completed(
        self: Arc<Self>,
        read: ReadId,
        slot: u32,
        buffer: Buffer,
        file: &OpenFile,
        outcome: &ReadOutcome,
    );
}

/// A read of an extent.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) requester: Arc<dyn Requester>,
    pub(crate) read: ReadId,
    pub(crate) file: Arc<OpenFile>,
    pub(crate) offset: u64,
    pub(crate) slot: u32,
    pub(crate) buffer: Buffer,
}
