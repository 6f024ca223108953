//! BitTorrent as pure state machines.
//!
//! Nothing here reads a clock, opens a socket or draws from an ambient generator. A [`Peer`] is
//! told what happened (a message arrived, a socket has room, time has come) and is then asked what
//! to do, with [`Peer::poll`], until it has nothing more to say. What a client does is data: a
//! [`Profile`], of which every coupling can be switched off.
//!
//! No payload moves through a peer, only its length: see [`codec`] for the bytes.

mod action;
pub mod assembly;
pub mod backlog;
mod bitfield;
pub mod choker;
pub mod codec;
pub mod limiter;
mod message;
pub mod meter;
mod peer;
pub mod picker;
pub mod profile;
mod torrent;
mod tracker;

pub use action::{Action, ConnId, Event, PeerId, UnchokeEnd};
pub use bitfield::Bitfield;
pub use message::{HANDSHAKE_BYTES, Message, PIECE_HEADER_BYTES};
pub use peer::{Peer, Role};
pub use profile::Profile;
pub use torrent::{GeometryError, MAX_PIECES, Torrent};
pub use tracker::{Answer, Tracker};
