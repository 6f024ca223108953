//! The orders of a peer to its driver.

use crate::{ConnId, Message, PeerId};
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Why a peer announces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnnounceEvent {
    /// For the first time.
    Started,
    /// The download is complete.
    Completed,
    /// It leaves.
    Stopped,
    /// Regularly, or for want of peers.
    None,
}

/// Why an unchoke ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnchokeEnd {
    /// A mainline seed's round found it with no request queued, or its socket not flushed,
    /// and ranked it behind all others (`clients.md` A.4).
    Idle,
    /// Its turn was over: the optimistic place moved on, or a seed had newer unchokes to make.
    Rotation,
    /// Others gave, or took, more.
    Outranked,
    /// It wanted nothing any more.
    NotInterested,
    /// The connection was closed by either side.
    Disconnected,
}

/// The orders for the driver. Drain with [`Peer::poll`](crate::Peer::poll) after every call.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Open a connection to `remote`; then call `on_connected`, `on_utp_failed` or `on_closed`.
    Connect {
        /// The number under which the peer will know it.
        conn: ConnId,
        /// The receiver.
        remote: PeerId,
        /// Whether it has to be over TCP, whatever the driver prefers: uTP did not reach this peer.
        tcp: bool,
    },
    /// Close this connection, after what was written. The number is free at once: the driver
    /// must not report anything about the old connection any more, `on_closed` included.
    Close {
        /// Which.
        conn: ConnId,
    },
    /// Append `bytes` to the stream of this connection. The peer has counted them against the
    /// space that it knows; the driver tells it the true space afterwards with `on_space`.
    Write {
        /// Which connection.
        conn: ConnId,
        /// How many bytes.
        bytes: u32,
        /// The message whose last byte they contain, if any.
        completes: Option<Message>,
    },
    /// The same for the separate connection that carries the blocks to this neighbour;
    /// `on_data_space` reports the space. Only of a peer that is
    /// [split](crate::Peer::with_data_connections).
    WriteData {
        /// Which connection.
        conn: ConnId,
        /// How many bytes.
        bytes: u32,
        /// The message whose last byte they contain, if any.
        completes: Option<Message>,
    },
    /// Open a connection apart for the blocks to this neighbour: they will soon be needed, for it
    /// has just been unchoked for the first time. `on_data_space` tells when it stands, `on_closed`
    /// when it fails.
    OpenData {
        /// The neighbour's connection.
        conn: ConnId,
    },
    /// Read a block from the disk; answer with [`on_block_read`](crate::Peer::on_block_read). Only of a peer
    /// [with a disk](crate::Peer::with_disk).
    ReadBlock {
        /// The connection to whose neighbour it will be sent.
        conn: ConnId,
        /// Which piece.
        piece: u32,
        /// First byte within the piece.
        begin: u32,
        /// Bytes.
        length: u32,
    },
    /// From now on read at most `bytes` bytes of this connection, beyond what has been read; `None`: all that
    /// come. What has arrived already is read at once as far as that goes. Only of a client that makes TCP yield
    /// to uTP ([`mixed_mode`](crate::mixed_mode)).
    LimitReads {
        /// Which connection.
        conn: ConnId,
        /// How many bytes.
        bytes: Option<u64>,
    },
    /// Tell the tracker; answer with `on_peers` or `on_announce_failed`.
    Announce {
        /// Why.
        event: AnnounceEvent,
        /// How many peers are wanted; `None` leaves it to the tracker.
        numwant: Option<u16>,
    },
    /// Open a connection to a web seed; then call `on_web_seed_connected` or `on_web_seed_closed`.
    JoinWebSeed {
        /// Which of the swarm's.
        seed: u32,
    },
    /// Close this connection. The driver reports nothing about it any more.
    LeaveWebSeed {
        /// Which.
        seed: u32,
    },
    /// Ask a web seed for bytes of the file, behind what it has been asked for. `on_web_seed_bytes` reports
    /// what comes, in the order of the requests.
    AskWebSeed {
        /// Which.
        seed: u32,
        /// The first byte.
        begin: u64,
        /// How many.
        length: u32,
    },
    /// A piece is whole.
    PieceCompleted {
        /// Which.
        piece: u32,
    },
    /// All pieces are there. Follows the last `PieceCompleted`.
    Completed,
    /// For the record: we choked a neighbour that was unchoked.
    UnchokeEnded {
        /// On which connection.
        conn: ConnId,
        /// The receiver.
        remote: PeerId,
        /// When the unchoke began.
        started: Time,
        /// How long of it nothing that the neighbour had asked for waited.
        idle: Span,
        /// Bytes of blocks fully written during it.
        bytes: u64,
        /// Blocks fully written during it.
        blocks: u32,
        /// Why it ended.
        cause: UnchokeEnd,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_stay_small_in_memory() {
        assert!(size_of::<Action>() <= 40, "{}", size_of::<Action>());
    }
}
