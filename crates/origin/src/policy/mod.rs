//! Policies: which client gets which block, what is read from the disk, what is kept.

mod attach;
mod circus;
pub(crate) mod in_order;
mod ranking;
mod region;
mod relevance;
mod scheduling;
#[cfg(test)]
mod testing;
mod wanted;

pub use attach::Attach;
pub use circus::{Begin, Circus, Follow, Independence, Slide};
pub use in_order::InOrder;
pub use relevance::Relevance;
pub use scheduling::Scheduling;

use crate::world::{Choice, World};
use std::fmt::Debug;
use std::ops::Range;

/// A policy. It decides what a client whose socket has room takes next, what to read ahead, and which extent gives up
/// its memory; it gets all events. Numbers of clients, files and slots are small, and used again after `left`,
/// `closed` and `gone`.
///
/// What the origin does by itself: an extent is asked of the disk once, for all that want it; the disk's queue serves
/// one party after the other, and each first come, first served; a client that waits is asked again when the extent has
/// come, before it can be evicted.
pub trait Policy: Debug + Send {
    /// There is one more file; its number is the number of files so far, or that of one that was closed.
    fn opened(&mut self, world: &World, file: u32);
    /// A file is gone, of which nothing is in memory any more: nothing is kept of it.
    fn closed(&mut self, file: u32);
    /// A client begins.
    fn joined(&mut self, world: &World, client: u32);
    /// A client ends, whatever it still needs.
    fn left(&mut self, world: &World, client: u32);
    /// A client's socket is about to have room: asks for the memory of the policy's own that the choice needs, if that is
    /// much ([`prefetch`](flashcrowd_base::prefetch)).
    fn expect(&self, _client: u32) {}
    /// The next block of a client whose socket has room. Asked again after an extent has come.
    fn choose(&mut self, world: &mut World, client: u32) -> Choice;
    /// Whether [`choose`](Policy::choose) would give a client this block, which lies in the extent that the client is
    /// being handed: it is handed both at once then. Looking must not change what comes next; a policy that says no
    /// serves block by block.
    fn is_next(&self, _world: &World, _client: u32, _block: u32) -> bool {
        false
    }
    /// A client was handed a block, which it needs no more, out of a slot.
    fn sent(&mut self, world: &World, client: u32, block: u32, slot: u32);
    /// An extent that a client will need soon, and that is to be asked of the disk because the disk has nothing else
    /// to do.
    fn ahead(&mut self, _world: &World, _client: u32) -> Option<u32> {
        None
    }
    /// The blocks of a file that are kept in memory as a stretch, if the policy has one; those beyond the end of the file count from
    /// its beginning on.
    fn region(&self, _world: &World, _file: u32) -> Option<Range<u32>> {
        None
    }
    /// An extent was put into the queue for the disk.
    fn asked(&mut self, _world: &World, _slot: u32) {}
    /// The disk has brought an extent.
    fn loaded(&mut self, world: &World, slot: u32);
    /// An extent is about to go: out of memory, or, as the state of its slot says, before it came there, because no
    /// client waits for it any more or the disk could not read it.
    fn gone(&mut self, world: &World, slot: u32);
    /// The slot, [evictable](crate::Cache::evictable), whose memory is needed for another extent.
    fn victim(&mut self, world: &World) -> Option<u32>;
}
