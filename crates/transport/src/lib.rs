//! Transports as pure state machines, and congestion controllers.
//!
//! Nothing here reads a clock, opens a socket or touches payload: time is an argument, a segment
//! names a range of the stream, and what a connection wants to say is polled. The simulator runs both
//! transports in virtual time; the same uTP runs on UDP sockets, by the clock, in `flashcrowd_live`.
//!
//! ```
//! use flashcrowd_base::Time;
//! use flashcrowd_transport::tcp::{Connection, profiles};
//! use std::sync::Arc;
//!
//! let config = Arc::new(profiles::linux_6());
//! let now = Time::START;
//! let mut client = Connection::connect(&config, now);
//! let syn = client.poll_transmit(now).expect("a SYN");
//! let mut server = Connection::accept(&config, now, &syn);
//! while let Some(segment) = server.poll_transmit(now) {
//!     client.receive(now, &segment);
//! }
//! assert!(client.is_established());
//! ```

pub mod congestion;
mod pacing;
mod rate;
pub mod tcp;
pub mod utp;

pub use pacing::Pacing;
