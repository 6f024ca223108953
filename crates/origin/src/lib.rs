//! A content server as a machine without a clock, a disk or a socket: which block goes to which client, what is read, what
//! is kept. The same machine runs in simulated time and behind a real HTTP server.
//!
//! The reason for it: many people fetch the same large files at different speeds, each in order, and together they are a
//! random access that a disk's arm serves at a fraction of its rate. A server that may send the blocks of a file in any
//! order turns that crowd into nearly one sequential read (Anastasiadis, Wickremesinghe and Chase, "Circus: opportunistic
//! block reordering for scalable content servers", FAST 2004).
//!
//! # Words
//!
//! A *block* is what is sent at once (64 KiB), an *extent* is what is read and kept at once (1 MiB), a *slot* is the
//! memory that an extent lies in. A *client* is one download. It *needs* blocks until they have been sent to it, each one
//! once.
//!
//! # Policies
//!
//! | [`Scheduling`] | a client begins | and goes on with | an extent is read when | and goes when |
//! | --- | --- | --- | --- | --- |
//! | `in-order` | at the beginning | the next block | the next block is in it | it was used longest ago |
//! | `attach` | where the disk is in the file | the next block, around the file | the next block is in it | it was used longest ago |
//! | `circus` | in the active region | what it misses there, else it leads; nearly done: whatever it misses | the next block is in it | it is outside the region, and was used longest ago |
//! | `relevance` | with what is in memory | what it misses of that, then what is being read | it misses nothing of these: the one that most clients miss | no client is in the midst of it, and fewest clients miss it |
//!
//! A client that takes blocks in the order of the file only ([`Request::in_order`]) gets them so under every policy;
//! what is read for it serves all others.
//!
//! # For a driver
//!
//! The loop is that of all machines here: an input with its instant, then [`Origin::poll`] until there is nothing, then
//! wait until [`Origin::deadline`] at the latest, at which [`Origin::elapsed`] is called. Instants do not fall.
//!
//! - **Files.** [`Origin::open`] for each, with its length. A file that turns out to have changed (ask when a read is
//!   done: size, time of change, inode) is [`close`](Origin::close)d; its downloads end with [`Failure::Closed`], so
//!   that no client gets a mixture. Then `open` it again.
//! - **Clients.** [`Origin::join`] with the ranges that the client asked for, in any order. A client that has not said
//!   that it takes any order is in order. One that asked for several ranges in an order of its own is several clients, one
//!   after the other. The first and the last block of a range are cut to the range by the driver: the machine knows whole
//!   blocks only.
//! - **Sockets.** [`Origin::writable`] when the socket has room for a whole block, as long as it has; nothing is chosen
//!   for a socket that has not, so that slow and dead sockets hold nothing back. In a simulator: the room in the send
//!   buffer is a block. Behind HTTP: when the connection asks for the next frame of the body; keep its own buffers
//!   small, and the socket's too (`SO_SNDBUF`, `TCP_NOTSENT_LOWAT`), since what lies in them was chosen too early.
//!   [`Origin::accepted`] when the socket has *taken* bytes, not when a library has: by a counting writer beneath it.
//!   What leads a policy counts these bytes alone, so that a client which takes nothing leads no policy. A fast client
//!   may be given several at a time, if they follow each other: [`Origin::lengthen`]. A driver whose poller names many
//!   sockets at once passes them on before it sees to the first: [`Origin::expect`].
//! - **Memory.** [`Output::Send`] refers to a slot until the block is accepted whole; the slot is not read into before
//!   that. If a socket took a part and then stops, copy the rest and say [`Origin::release`]. With `sendfile` the
//!   kernel refers to the page until the peer has acknowledged it: say `accepted` no sooner, or read into other pages
//!   than those. The lengths of all slots together never exceed [`Settings::memory_bytes`]. Slots are counted from 0 and
//!   used again, so that memory may be a table of buffers: there are no more than extents were in memory at once.
//! - **Disk.** [`Output::Read`]s are at most [`Settings::reads`] at once. Answer each with [`Origin::completed`], in
//!   any order, also after its file was closed or its client has left. The machine's queue serves one party after the
//!   other ([`Origin::join_for`]), and each party first come, first served; it asks for an extent once, for all that
//!   want it. [`disk`] has disks in virtual time, for simulators and for servers on machines whose disks no longer
//!   seek.
//! - **The end.** [`Output::Done`] comes when the socket has accepted the last byte, [`Output::Failed`] when there will be
//!   no more; after both the client's number is free. A connection that ends by itself: [`Origin::leave`].
//!
//! # Cost
//!
//! A choice looks at no block but the one that it takes. What a client needs is a set in three levels with memory for what is
//! neither whole nor gone, so an extent costs 1 bit at most, and a file of ten million blocks some kilobytes a client
//! while most of it is still missing. Policies that keep something by rank (`relevance`) pay a step in a tree of the
//! extents in memory when a client is done with an extent; which extent to read is asked once a read.
//! Reading one extent of a file of *n* looks at *n*/4096 counts. So does a client that begins or ends, whatever is in memory
//! of the file, and beside that at what it has been sent a part of.

mod cache;
mod client;
mod counters;
pub mod disk;
mod extent_set;
mod fair_queue;
mod ids;
mod layout;
mod list;
mod needs;
mod origin;
mod output;
mod policy;
mod replacement;
mod settings;
mod stretches;
mod world;

pub use cache::{Cache, Slot, State};
pub use counters::Counters;
pub use ids::{ClientId, FileId, ReadId};
pub use layout::Layout;
pub use needs::Needs;
pub use origin::{Origin, Request};
pub use output::{Failure, Output};
pub use policy::{
    Attach, Begin, Circus, Follow, InOrder, Independence, Policy, Relevance, Scheduling, Slide,
};
pub use replacement::Replacement;
pub use settings::Settings;
pub use world::{Choice, File, World};
