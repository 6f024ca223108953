//! BitTorrent as pure state machines.
//!
//! Nothing here reads a clock, opens a socket or draws from an ambient generator. A [`Peer`] takes
//! events (a message arrived, a socket has room, time has come) and is then asked what to do, with
//! [`Peer::poll`], until it has nothing more to say. What a client does is data: a [`Profile`], of
//! which every coupling can be switched off.
//!
//! No payload moves through a peer, only its length: see [`codec`] for the bytes.
//!
//! # Driving a peer
//!
//! ```
//! use flashcrowd_base::{Rate, Span, RandomStream, Time};
//! use flashcrowd_swarm::{Action, Extensions, Message, Peer, PeerId, Role, Torrent, profile};
//! use std::sync::Arc;
//!
//! let profile = profile::named("mainline-4.0.2").ok_or("no such profile")?;
//! let torrent = Torrent::new(50 << 20, 1 << 18, profile.requests.block_bytes)?;
//! let limit = Rate::from_bps(20 * 8 * 1024);
//! let stream = RandomStream::new(1, "peer", 0);
//! let (profile, torrent) = (Arc::new(profile), Arc::new(torrent));
//! let now = Time::START;
//! let mut peer = Peer::new(profile, torrent, Role::Leecher, PeerId(0), limit, stream, now);
//!
//! peer.start(now);
//! assert!(matches!(peer.poll(), Some(Action::Announce { .. })));
//! peer.on_peers(now, Span::from_secs(1800), &[PeerId(1)]);
//! let Some(Action::Connect { conn, .. }) = peer.poll() else { return Err("no connection".into()) };
//! peer.on_connected(now, conn, 16_384);
//! let handshake = Action::Write { conn, bytes: 68, completes: Some(Message::Handshake(Extensions::NONE)) };
//! assert_eq!(peer.poll(), Some(handshake));
//! assert_eq!(peer.poll(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is simplified
//!
//! - A mainline peer that connects sends 48 bytes of its handshake first and the 20 of its
//!   identity after the answer; here all 68 go out at once, and the other side counts the
//!   connection as complete half a round trip earlier.
//! - Peers are known by number before they connect, so no pair connects twice; of two connections
//!   made at once the one of the lower number stays. Mainline finds out by the identity in the
//!   handshake.
//! - A web seed answers every range, sends no redirects and knows one file; the received part of a
//!   block is requested again if its connection is lost.
//! - In a simulation pieces never fail their check, and the tracker does not test whether peers are reachable.
//! - `modern` has the choker, the request queue and the limits of libtorrent, and nothing else of it;
//!   `libtorrent` lacks its slots by rate.

mod action;
mod availability;
pub mod bandwidth;
mod bitfield;
pub mod block_map;
pub mod candidates;
pub mod choker;
pub mod codec;
pub mod fast_set;
mod ids;
pub mod limiter;
mod message;
pub mod meter;
pub mod mixed_mode;
mod peer;
pub mod peer_exchange;
pub mod picker;
pub mod pipeline;
pub mod profile;
pub mod rate_window;
pub mod request_time;
pub mod statistics;
mod torrent;
mod tracker;
mod upload_limit;

pub use action::{Action, AnnounceEvent, UnchokeEnd};
pub use availability::Availability;
pub use bitfield::Bitfield;
pub use ids::{ConnId, PeerId};
pub use message::{Extensions, HANDSHAKE_BYTES, Message, PIECE_HEADER_BYTES};
pub use peer::{Download, FromWebSeed, Peer, Role, Standing};
pub use profile::Profile;
pub use torrent::{GeometryError, MAX_PIECES, Torrent};
pub use tracker::{Answer, Tracker, TrackerRules};
pub use upload_limit::UploadLimit;
