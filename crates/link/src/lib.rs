//! One direction of a link: a drop-tail queue, a rate, a delay, jitter and loss.
//!
//! The model gives an [`Outcome`] for each packet at the instant at which it is offered: it arrives
//! then and then, or it never does. A packet therefore costs its engine one event for each link
//! whose queue it can wait in and none for a link without a rate, and the same code serves virtual
//! and wall-clock time.
//!
//! [`Conditions`] say what the link is like, [`Direction`] is its state. They are kept apart so
//! that thousands of paths can share one set of conditions and change together.

mod conditions;
mod direction;
mod framing;

pub use conditions::{Conditions, Jitter, JitterShape, Loss, LossModel, QueueLimit, Side};
pub use direction::{Counters, Direction, Moved, Outcome};
pub use framing::Framing;
