//! The LEDBAT family: controllers that keep the queue in front of them short. They share how a
//! delay is measured and how a window is kept, and differ
//! in how it moves.
//!
//! A delay is in microseconds modulo 2^32, the receiver's clock less the sender's, so it contains
//! an unknown offset; only differences of delays mean anything.

mod base_delay;
mod cwnd;
mod draft;
mod drift;
mod fair;
mod filter;
mod flavours;
mod libtorrent;
mod libutp;
mod libutp_2010;
mod plus_plus;
mod rfc6817;
mod table;

pub use draft::LedbatDraft00;
pub use fair::Fair;
pub use flavours::{
    alpha1, alpha2, beta1, draft, fair, libtorrent, libutp, libutp_2010, plus_plus, rfc_6817,
};
pub use libtorrent::Libtorrent;
pub use libutp::Libutp;
pub use libutp_2010::Libutp2010;
pub use plus_plus::PlusPlus;
pub use rfc6817::Rfc6817;
pub use table::Ledbat;
