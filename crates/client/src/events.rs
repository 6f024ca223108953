//! Events and counters of a client.

use flashcrowd_swarm::UnchokeEnd;
use serde::Serialize;
use std::collections::BTreeMap;

/// How far a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It looks at what is on the disk.
    #[default]
    Checking,
    /// It has not joined.
    Waiting,
    /// It is in its swarm.
    Joined,
    /// It has left, and tells its tracker.
    Leaving,
    /// It has ended.
    Ended,
}

/// How a client stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// How far it is.
    pub phase: Phase,
    /// Bytes of blocks received.
    pub down: u64,
    /// Bytes of blocks sent.
    pub up: u64,
    /// Bytes of blocks received that were of no use.
    pub wasted: u64,
    /// Whole pieces; those that were looked at while it checks.
    pub pieces: u32,
    /// All pieces of the torrent.
    pub of: u32,
    /// Connections that stand.
    pub neighbours: u32,
    /// The neighbours that it is interested in.
    pub interested: u32,
    /// Those of them that do not choke it.
    pub unchoking: u32,
    /// The neighbours that it uploads to.
    pub unchoked: u32,
    /// Pieces that failed their check.
    pub bad_pieces: u32,
}

/// An event and its time: seconds of the machine's monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// When.
    pub at: f64,
    /// What.
    #[serde(flatten)]
    pub what: Happened,
}

/// The event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happened {
    /// It has looked at what is on the disk.
    Checked {
        /// Whole pieces.
        pieces: u32,
    },
    /// A piece is complete, and neighbours get a HAVE.
    Have {
        /// Which.
        piece: u32,
    },
    /// All pieces are there.
    Complete,
    /// A piece failed its check, and is fetched again.
    BadPiece {
        /// Which.
        piece: u32,
        /// The peers that brought blocks of it.
        from: Vec<String>,
    },
    /// We choked a neighbour that was unchoked.
    Unchoke {
        /// Where it is.
        remote: String,
        /// Begin.
        started: f64,
        /// Seconds of it in which nothing that it had asked for waited.
        idle: f64,
        /// Bytes of blocks fully written meanwhile.
        bytes: u64,
        /// Blocks fully written meanwhile.
        blocks: u32,
        /// Whether we had everything at its end.
        seeding: bool,
        /// Why it ended.
        cause: UnchokeEnd,
    },
    /// The tracker answered.
    Tracker {
        /// Peers that it named.
        peers: usize,
    },
    /// It did not.
    NoTracker {
        /// Why.
        why: String,
    },
    /// A peer violated the protocol, and its connection was closed.
    Violation {
        /// Where it is.
        remote: String,
        /// The violation.
        why: String,
    },
    /// At the end: a histogram of the gaps between two sends of block bytes over one connection, in milliseconds.
    SendGaps {
        /// The count of each.
        count: BTreeMap<u32, u64>,
    },
}

/// Longer gaps, in milliseconds, share the last bin.
pub(crate) const LONGEST_GAP: u64 = 3_600_000;
