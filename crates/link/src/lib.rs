//! One direction of a link: a queue with its discipline, a rate or a trace of one, a delay, jitter, loss
//! and marks.
//!
//! A drop-tail queue gives the [`Outcome`] of each packet at the instant at which it is offered: it
//! arrives at a known time, or it never does. Such a packet takes its engine one event for each link
//! whose queue it can wait in and none for a link without a rate. Other disciplines decide when a packet
//! leaves the queue: the packet is [`Outcome::Queued`], and its engine asks [`Direction::next_dequeue`]
//! for when to call [`Direction::dequeue`]. The same code serves virtual and wall-clock time.
//!
//! [`Conditions`] say what the link is like, [`Direction`] is its state. They are kept apart so
//! that thousands of paths can share one set of conditions and change together.

mod conditions;
mod direction;
mod discipline;
mod framing;
mod packet;
mod plain;
mod queue;
mod trace;

pub use conditions::{Conditions, Jitter, JitterShape, Loss, LossModel, Side};
pub use direction::{Counters, Departure, Direction, Moved, Outcome, Sent};
pub use discipline::Cause;
pub use discipline::cake::{AckFilter, Cake, Isolation};
pub use discipline::choke::Choke;
pub use discipline::codel::CoDel;
pub use discipline::drr::Drr;
pub use discipline::fq_codel::FqCoDel;
pub use discipline::pie::Pie;
pub use discipline::red::Red;
pub use discipline::sfq::Sfq;
pub use framing::Framing;
pub use packet::{Ack, Ecn, Flow, Frame, Packet};
pub use plain::Plain;
pub use queue::{Queue, QueueLimit};
pub use trace::{Invalid, MAX_ENTRIES, Trace};
