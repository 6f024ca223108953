//! Hosts, shared links and the routes between them, made from the network of a plan: how packets
//! get from one host to another, for every engine that has a plan and a clock.
//!
//! [`Topology::advance`] takes a packet through the next queue that it can wait in and says when it
//! is due there after: a packet takes its engine one event for each drop-tail queue, and a link
//! without a rate none. Where a link's discipline decides when a packet leaves, the packet stays
//! here until its [departure](Topology::depart). A packet is whatever the engine carries; see
//! [`Carried`].
//!
//! Nothing here reads a clock: the same code serves virtual and wall-clock time.

mod carried;
mod held;
mod link_window;
mod queue_lengths;
mod records;
mod route;
mod shared_link;
mod topology;

pub use carried::Carried;
pub use link_window::{LinkUse, LinkWindow};
pub use queue_lengths::{QueueLength, QueueLengths};
pub use shared_link::SharedLink;
pub use topology::{Advance, Dequeued, Topology};
