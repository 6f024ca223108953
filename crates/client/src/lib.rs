//! A BitTorrent client: the pure peer of `flashcrowd-swarm` over the kernel's TCP, with a tracker over HTTP and files on a
//! disk, in wall-clock time.
//!
//! A [`Client`] listens from its making on, looks at what is on the disk, and waits until its [`Handle`] says that it
//! joins. It works in one thread, which waits for all its sockets and for the next instant of the pure peer, until it
//! is to leave; an announce is made by a thread of its own. How it behaves is its
//! [`Profile`](flashcrowd_swarm::Profile).
//!
//! # No remote is trusted
//!
//! - A stream is cut by the [decoder](flashcrowd_swarm::codec) of the pure peer, which keeps no more than one message.
//!   Requests and blocks that the torrent does not have close the connection.
//! - A block that was not requested reaches no file. A piece is checked before neighbours hear of it. A wrong one is
//!   fetched again. A peer that alone brought it is banned, as is one that has a part in three and in no more good
//!   ones.
//! - A connection whose handshake does not come in time is closed, and so is one whose other end asks and does not read.
//!
//! # What is simplified
//!
//! - IPv4, trackers over plain HTTP, no DHT, no encryption, no peer exchange: the pure peer knows others by numbers.
//! - What the kernel did not take waits here, at most one message of a connection; the pure peer counts it as sent.
//! - A profile that hands over the next block when the transport has [sent](flashcrowd_swarm::profile::HandOver) the last
//!   one does so when the kernel has taken it.

mod actions;
mod announcing;
pub mod bencode;
mod client;
mod clock;
mod content;
mod directory;
mod events;
mod handle;
mod incoming;
mod link;
mod metainfo;
mod newcomers;
mod session;
mod settings;
mod tracker;
mod wake;

pub use client::Client;
pub use events::{Event, Happened, Phase, Progress};
pub use handle::Handle;
pub use metainfo::{Metainfo, NoTorrent};
pub use settings::{Ending, Settings};
pub use tracker::Answer;
