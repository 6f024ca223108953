//! uTP (BEP 29): one [`Connection`] is one end, both directions.
//!
//! # Driving a connection
//!
//! 1. Call any of [`Connection::receive`], [`Connection::on_timer`], [`Connection::write`],
//!    [`Connection::read`], [`Connection::close`], [`Connection::release`], [`Connection::abort`].
//!    A driver that has several datagrams at hand delivers all of them first: acknowledgements are
//!    sent once a poll, so one covers them.
//! 2. Call [`Connection::poll_transmit`] until it returns `None`, and put each [`Packet`] on the wire.
//! 3. Ask [`Connection::next_timer`], and call [`Connection::on_timer`] at that instant or later,
//!    unless step 1 happens first.
//!
//! # Who owns the bytes
//!
//! The driver. A [`Packet`] that is to be sent names the range of the stream that it carries,
//! `offset` and `len`: byte 0 is the first that [`Connection::write`] took. Ranges are kept until
//! [`Stats::bytes_acked`] has passed them.
//!
//! A sequence number counts packets, not bytes, so the offset of a packet that arrives is unknown
//! until all before it have come. [`Connection::receive`] says what to do with its payload:
//! [`Payload::Append`] it to what is readable, and behind it whatever is held under the sequence
//! numbers that follow, as far as they follow without a gap; [`Payload::Hold`] it under its
//! sequence number; or [`Payload::Drop`] it. Then [`Connection::readable`] is what was appended and
//! not yet taken off by [`Connection::read`].
//!
//! # Ids
//!
//! The end that calls draws an id `r` and receives on it; the other end receives on `r + 1`. So a
//! packet that arrives belongs to the connection with its address and
//! [`receive_id`](Connection::receive_id), except a SYN, which carries the id that its sender
//! receives on, and a RESET, which carries either of the two. A SYN for which there is no connection
//! becomes one by [`Connection::accept`]; DATA and FIN for which there is none are answered with
//! RESET. An [`Endpoint`] does this for a UDP port, within [`Limits`].
//!
//! # What is ours
//!
//! The machine speaks to libutp and libtorrent, and is like the one or the other by configuration
//! ([`profiles`]). Always:
//!
//! - It answers a retransmitted SYN; libutp does not, so a lost answer is fatal there.
//! - It confirms the answer to its SYN though it have nothing to write. An end that was not
//!   confirmed repeats its answer if it has, and sends no data: data that overtakes the answer
//!   ends libutp's opening.
//! - Where the other end has room for part of a packet only and nothing is in flight, it sends that
//!   part; and it offers no window of less than a packet itself, since libutp looks after a closed
//!   window but not after a small one.
//! - A packet that is older than another, by its acknowledgement number and then by its timestamp,
//!   never sets the window of the other end; libutp takes that of any packet, so a window that an
//!   overtaken one has closed stays so until the next arrives or is probed.
//! - A closed window is probed after a retransmission timeout, and with back-off from then on (RFC
//!   9293, 3.8.6.1); libutp probes each fifteen seconds, which here is the longest interval.
//! - What timed out is resent as the window opens. Libutp does that when it writes, or next looks
//!   at its timers.
//!
//! ```
//! use flashcrowd_base::Time;
//! use flashcrowd_transport::utp::{Connection, Payload, profiles};
//! use std::sync::Arc;
//!
//! let config = Arc::new(profiles::libutp());
//! let now = Time::START;
//! let mut caller = Connection::connect(&config, now, 0x1101, 0x1202);
//! let syn = caller.poll_transmit(now).expect("a SYN");
//! let mut answerer = Connection::accept(&config, now, &syn, 0x1303);
//! let answer = answerer.poll_transmit(now).expect("a STATE");
//! caller.receive(now, &answer);
//! assert!(caller.is_established());
//! assert_eq!(caller.write(now, 500), 500);
//! let data = caller.poll_transmit(now).expect("DATA");
//! assert_eq!((data.offset, data.len), (0, 500));
//! assert_eq!(answerer.receive(now, &data), Payload::Append);
//! assert!(answerer.is_established());
//! assert_eq!(answerer.readable(), 500);
//! ```

mod config;
mod connection;
mod endpoint;
mod limits;
mod packet;
mod packet_size_steps;
mod path_mtu_search;
pub mod profiles;
mod receiver;
mod reorder;
mod rtt;
mod sack;
mod send_queue;
mod sender;
mod sequence;
mod state;
mod syn_cookies;
pub mod wire;

pub use config::{
    Backoff, Config, DelayedAck, IdleTimer, Ladder, LossDetection, PacketSize, PathMtu,
    RttEstimator, SackPolicy, SearchBegin, SmallWindow, TimerRestart, WindowFill, WindowPacket,
};
pub use connection::Connection;
pub use endpoint::{Endpoint, Route};
pub use limits::{Address, Limits, Network};
pub use packet::{
    Extension, HEADER_BYTES, MIN_PADDING_BYTES, Packet, PacketKind, UDP_OVERHEAD_BYTES,
};
pub use receiver::Payload;
pub use sack::{MAX_SACK_BYTES, Sack};
pub use state::{CloseReason, State, Stats};
