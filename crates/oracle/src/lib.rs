//! libutp (`bittorrent/libutp`, MIT), the reference implementation of uTP, with every clock, die and
//! socket taken from it: an independent answer to compare ours with, in virtual time or on a wire.
//!
//! A [`Libutp`] is one host with its UDP port. It learns the time from [`Libutp::set_now`], gets
//! datagrams by [`Libutp::receive`] and gives them out by [`Libutp::poll`]; libutp itself never sees
//! a clock or a socket.
//!
//! libutp reports what breaks its invariants with `assert`, which ends the process: a test that
//! dies so has found a bug in it, or fed it something that no network delivers.

mod host;
mod state;
mod sys;

pub use host::{Libutp, Settings};
pub use state::{Datagram, Failure, SocketId, Status};
