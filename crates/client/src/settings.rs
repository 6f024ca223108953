//! The settings of a client, and how it ended.

use crate::metainfo::Metainfo;
use flashcrowd_base::Span;
use flashcrowd_swarm::{Profile, UploadLimit};
use std::net::SocketAddrV4;
use std::path::PathBuf;

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The torrent.
    pub metainfo: Metainfo,
    /// Where the files are, or will be.
    pub folder: PathBuf,
    /// How it behaves.
    pub profile: Profile,
    /// All that is on the disk is right, and need not be looked at: everything that the torrent has.
    pub trusted: bool,
    /// Where it listens, and where its connections come from.
    pub bind: SocketAddrV4,
    /// How fast it uploads.
    pub upload: UploadLimit,
    /// Of what it draws.
    pub seed: u64,
    /// How long a connection may take until both handshakes are there.
    pub patience: Span,
    /// Whether unchokes and the like are recorded.
    pub records: bool,
}

impl Settings {
    /// How long a connection may take until both handshakes are there, by default.
    pub const PATIENCE: Span = Span::from_secs(30);
}

/// How a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Ending {
    /// Whether it had everything.
    pub complete: bool,
    /// Pieces that it had.
    pub pieces: u32,
}
