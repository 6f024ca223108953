//! The messages of the wire protocol and of its Fast extension, without payload.

use crate::Bitfield;
use crate::peer_exchange::{EXTENSION_HANDSHAKE, PeerExchange};
use std::sync::Arc;

/// The extensions that a handshake offers, a bit each among its reserved ones; two clients use what both offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// The Fast extension (BEP 6).
    pub fast: bool,
    /// The extension protocol (BEP 10).
    pub protocol: bool,
}

impl Extensions {
    /// None.
    pub const NONE: Extensions = Extensions { fast: false, protocol: false };
    /// The Fast extension alone.
    pub const FAST: Extensions = Extensions { fast: true, protocol: false };
}

/// One message of the peer wire protocol (BEP 3, BEP 6). Block data is not carried: `piece`, `begin`
/// and `length` say which bytes they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first message in each direction.
    Handshake(Extensions),
    /// Nothing but a sign of life.
    KeepAlive,
    /// No more blocks for now.
    Choke,
    /// Requests will be answered.
    Unchoke,
    /// You have something that I lack.
    Interested,
    /// You have nothing that I lack.
    NotInterested,
    /// The sender completed a piece.
    Have {
        /// Which piece.
        piece: u32,
    },
    /// The pieces that the sender has. Only directly after the handshake.
    Bitfield(Arc<Bitfield>),
    /// Asks for a block.
    Request {
        /// Which piece.
        piece: u32,
        /// First byte within the piece.
        begin: u32,
        /// Bytes.
        length: u32,
    },
    /// The same from a client whose profile has
    /// [`requests.stamped`](crate::profile::Requests::stamped): a model's message, which says more than
    /// any wire format can. It has the size of a REQUEST, and [`encode`](crate::codec::encode) makes one
    /// of it; no decoder ever gives it out, so a client on a socket never depends on the stamp.
    StampedRequest {
        /// Which piece.
        piece: u32,
        /// First byte within the piece.
        begin: u32,
        /// Bytes.
        length: u32,
        /// How many UNCHOKEs the sender had received on this connection.
        unchoke: u32,
    },
    /// Brings a block.
    Piece {
        /// Which piece.
        piece: u32,
        /// First byte within the piece.
        begin: u32,
        /// Bytes.
        length: u32,
    },
    /// Takes a request back.
    Cancel {
        /// Which piece.
        piece: u32,
        /// First byte within the piece.
        begin: u32,
        /// Bytes.
        length: u32,
    },
    /// Instead of a bitfield: the sender has everything (BEP 6).
    HaveAll,
    /// Instead of a bitfield: the sender has nothing (BEP 6).
    HaveNone,
    /// A piece that the sender would like to be asked for (BEP 6).
    Suggest {
        /// Which piece.
        piece: u32,
    },
    /// A request will not be answered (BEP 6).
    Reject {
        /// Which piece.
        piece: u32,
        /// First byte within the piece.
        begin: u32,
        /// Bytes.
        length: u32,
    },
    /// A piece that may be requested while choked (BEP 6).
    AllowedFast {
        /// Which piece.
        piece: u32,
    },
    /// The first message of the extension protocol (BEP 10): the sender understands peer exchange.
    ExtensionHandshake,
    /// The sender's connections (BEP 11).
    PeerExchange(Arc<PeerExchange>),
}

/// Bytes of a handshake.
pub const HANDSHAKE_BYTES: u32 = 68;
/// Bytes of a PIECE message before its block.
pub const PIECE_HEADER_BYTES: u32 = 13;

impl Message {
    /// Bytes on the wire, length prefix and block included.
    pub fn size(&self) -> u32 {
        match self {
            Message::Handshake(_) => HANDSHAKE_BYTES,
            Message::KeepAlive => 4,
            Message::Choke | Message::Unchoke | Message::Interested | Message::NotInterested => 5,
            Message::HaveAll | Message::HaveNone => 5,
            Message::Have { .. } | Message::Suggest { .. } | Message::AllowedFast { .. } => 9,
            Message::Bitfield(pieces) => 5 + pieces.len().div_ceil(8),
            Message::Request { .. } | Message::StampedRequest { .. } => 17,
            Message::Cancel { .. } | Message::Reject { .. } => 17,
            Message::ExtensionHandshake => 4 + EXTENSION_HANDSHAKE.len() as u32,
            // A hundred neighbours are 700 bytes.
            Message::PeerExchange(peers) => 4 + peers.body().len() as u32,
            Message::Piece { length, .. } => PIECE_HEADER_BYTES.saturating_add(*length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_small_in_memory() {
        assert!(size_of::<Message>() <= 24);
    }

    #[test]
    fn sizes_on_the_wire() {
        let block = Message::Piece { piece: 0, begin: 0, length: 16384 };
        assert_eq!(block.size(), 16397);
        assert_eq!(Message::Bitfield(Arc::new(Bitfield::new(200))).size(), 30);
        assert_eq!(Message::Have { piece: 3 }.size(), 9);
        // BEP 6: length prefixes 1, 1, 5, 13 and 5.
        let fast = [
            Message::HaveAll,
            Message::HaveNone,
            Message::Suggest { piece: 1 },
            Message::Reject { piece: 1, begin: 0, length: 16384 },
            Message::AllowedFast { piece: 1 },
        ];
        assert_eq!(fast.map(|message| message.size() - 4), [1, 1, 5, 13, 5]);
        assert_eq!(Message::Handshake(Extensions::FAST).size(), 68);
        let stamped = Message::StampedRequest { piece: 0, begin: 0, length: 1, unchoke: 7 };
        assert_eq!(stamped.size(), Message::Request { piece: 0, begin: 0, length: 1 }.size());
    }
}
