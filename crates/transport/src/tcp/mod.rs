//! TCP: one [`Connection`] is one end, both directions.
//!
//! # Driving a connection
//!
//! 1. Call any of [`Connection::receive`], [`Connection::on_timer`], [`Connection::write`],
//!    [`Connection::read`], [`Connection::close`], [`Connection::abort`].
//! 2. Call [`Connection::poll_transmit`] until it returns `None`, and put each [`Segment`] on the wire.
//! 3. Ask [`Connection::next_timer`], and call [`Connection::on_timer`] at that instant or later,
//!    unless step 1 happens first.
//!
//! # Offsets
//!
//! Sequence and acknowledgement numbers are offsets into the stream that never wrap: byte 0 is the
//! first byte the application wrote. A SYN occupies no offset (it is acknowledged by any segment
//! that carries [`Flags::ACK`]); a FIN occupies the one after the last byte. The numbers on the wire
//! are `initial + 1 + offset` modulo 2^32, which is a codec's business.

mod config;
mod connection;
mod delayed_ack;
mod delivery;
mod dsack;
mod ecn;
mod flight;
mod hot;
pub mod profiles;
mod reassembly;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod state;
mod timestamp;

pub use config::{
    Config, DelayedAck, Ecn, Nagle, ReceiveWindow, Reduction, RightSizing, RtoFloor, SendBuffer,
};
pub use connection::{Connection, Outgoing};
pub use segment::{Flags, MAX_SACK_RANGES, Segment};
pub use state::{CloseReason, LossTimer, Phase, State, Stats};
