use crate::Needs;
use flashcrowd_base::{CacheLines, Time};
use std::ops::Range;

/// Of the lines of the processor's cache that a client takes, those that a choice needs.
pub(crate) const CHOICE: Range<usize> = 0..2;

/// A download. It begins with a line of the processor's cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Client {
    pub(crate) lines: CacheLines,
    pub(crate) generation: u32,
    pub(crate) file: u32,
    pub(crate) doing: Doing,
    /// Blocks that have not been handed to its socket.
    pub(crate) left: u32,
    /// Bytes that its socket has accepted.
    pub(crate) accepted: u64,
    /// When its socket accepted something for the last time, or was handed a block.
    pub(crate) progress: Time,
    pub(crate) in_order: bool,
    /// Its bytes are counted.
    pub(crate) counted: bool,
    /// The party that its disk reads count for.
    pub(crate) party: u32,
    pub(crate) needs: Needs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// The number is free.
    Gone,
    /// Its socket has no room, or the driver has not said so.
    Resting,
    /// It waits for the extent of this slot.
    Waiting { slot: u32 },
    /// Its socket has been handed a block of this slot, and has `bytes` bytes still to accept. Released: the driver
    /// has put them aside.
    Sending { slot: u32, bytes: u32, released: bool },
}
