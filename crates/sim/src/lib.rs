//! The event loop in virtual time: it joins links, transports and peers, and records what they do.
//!
//! [`simulate`] takes a [`Plan`] and a seed and returns [`Table`]s. It runs on the caller's thread
//! and shares nothing, so runs of a study fill all cores.
//!
//! # The order of events
//! Events happen in the order of their time; events of the same instant in the order in which they
//! were scheduled. Both are integers and every random number comes from a named
//! [`Stream`](flashcrowd_base::Stream), so equal plans and seeds give equal tables, bit for bit.

mod check;
mod control;
mod engine;
mod error;
mod event;
mod inbox;
mod network;
mod packet;
mod parcels;
mod pings;
pub mod plan;
mod queue;
mod queues;
mod route;
mod sampler;
mod sockets;
mod swarms;
mod table;
mod tables;
mod tally;
mod trace;
mod transfers;
mod transit;
mod transport;

pub use control::Control;
pub use engine::simulate;
pub use error::Error;
use flashcrowd_swarm::Torrent;
pub use plan::Plan;
pub use queue::EventQueue;
pub use table::{Column, Table};
