//! The bytes of the wire protocol (BEP 3, BEP 6): messages to bytes, and a decoder that takes bytes as they
//! come and gives out messages as they become complete.
//!
//! The decoder trusts no sender: it keeps no more bytes than one message of the agreed size may have,
//! and says with a [`CodecError`] why a stream cannot go on. A message of a type that it does not know
//! is skipped whole, whatever is in it, as BEP 3's reference client and libtorrent's extensions expect
//! of each other: those of BEP 5 (DHT), BEP 10 (extension protocol), BEP 52 (hashes), and those of BEP 6
//! (Fast) unless the decoder knows that both sides offer it. The decoder does not judge whether a
//! message makes sense at its time; [`Peer`](crate::Peer) does.

use crate::peer_exchange::EXTENSION_HANDSHAKE;
use crate::{Bitfield, Extensions, HANDSHAKE_BYTES, Message, PIECE_HEADER_BYTES};
use std::sync::Arc;
use thiserror::Error;

/// The content of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Bits of extensions; mainline 4.0.2 sends and expects none, and ignores others'. See
    /// [`offers`](Handshake::offers).
    pub reserved: [u8; 8],
    /// Which torrent.
    pub info_hash: [u8; 20],
    /// The sender.
    pub peer_id: [u8; 20],
}

/// An extension that a client offers with a bit of its handshake. A message of one may be sent only if
/// both sides offer it; a client without such bits, as of [`Handshake::new`], should never receive
/// any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// The extension protocol (BEP 10): message type 20, whose content the clients agree on.
    Protocol,
    /// Fast peers (BEP 6): suggestions, rejects, allowed-fast pieces; types 13 to 17.
    Fast,
    /// The distributed hash table (BEP 5): the port message, type 9.
    Dht,
}

/// Why a stream is not the wire protocol. There is no way on after any of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The stream does not begin with the protocol's name.
    #[error("the stream does not begin with a BitTorrent handshake")]
    NotBitTorrent,
    /// A message announces more bytes than any message of its type has in this torrent, or than
    /// [`MAX_SKIPPED_BYTES`] if its type is unknown.
    #[error("a message of {length} bytes, where {limit} are the most")]
    TooLong {
        /// The announced length.
        length: u32,
        /// The largest admitted.
        limit: u32,
    },
    /// A message whose length does not fit its type.
    #[error("{length} bytes do not fit a message of type {kind}")]
    BadLength {
        /// The type byte.
        kind: u8,
        /// The announced length.
        length: u32,
    },
    /// A piece that the torrent does not have.
    #[error("piece {piece} of a torrent with {pieces}")]
    NoSuchPiece {
        /// The number.
        piece: u32,
        /// How many there are.
        pieces: u32,
    },
    /// Bits are set behind the last piece of a bitfield.
    #[error("a bitfield with bits set behind its end")]
    SpareBits,
}

/// In the last of the reserved bytes (BEP 6).
const FAST_BIT: u8 = 0x04;
/// In the sixth of them (BEP 10).
const PROTOCOL_BIT: u8 = 0x10;
const PROTOCOL: &[u8; 20] = b"\x13BitTorrent protocol";
const CHOKE: u8 = 0;
const UNCHOKE: u8 = 1;
const INTERESTED: u8 = 2;
const NOT_INTERESTED: u8 = 3;
const HAVE: u8 = 4;
const BITFIELD: u8 = 5;
const REQUEST: u8 = 6;
const PIECE: u8 = 7;
const CANCEL: u8 = 8;
const SUGGEST: u8 = 13;
const HAVE_ALL: u8 = 14;
const HAVE_NONE: u8 = 15;
const REJECT: u8 = 16;
const ALLOWED_FAST: u8 = 17;

/// Most bytes behind the length prefix of a message that is skipped. libtorrent refuses longer ones,
/// too; the largest in use are extension messages with 16 KiB of metadata (BEP 9).
pub const MAX_SKIPPED_BYTES: u32 = 1 << 20;

impl Handshake {
    /// The handshake of a client without extensions.
    pub fn new(info_hash: [u8; 20], peer_id: [u8; 20]) -> Handshake {
        Handshake { reserved: [0; 8], info_hash, peer_id }
    }
    /// The same of one that offers these.
    pub fn offering(self, extensions: Extensions) -> Handshake {
        let mut reserved = self.reserved;
        reserved[5] |= if extensions.protocol { PROTOCOL_BIT } else { 0 };
        reserved[7] |= if extensions.fast { FAST_BIT } else { 0 };
        Handshake { reserved, ..self }
    }
    /// The message that this handshake is to a [`Peer`](crate::Peer).
    pub fn message(&self) -> Message {
        Message::Handshake(Extensions {
            fast: self.offers(Extension::Fast),
            protocol: self.offers(Extension::Protocol),
        })
    }
    /// Whether the sender offers this extension.
    pub fn offers(&self, extension: Extension) -> bool {
        let (byte, bit) = match extension {
            Extension::Protocol => (5, PROTOCOL_BIT),
            Extension::Fast => (7, FAST_BIT),
            Extension::Dht => (7, 0x01),
        };
        self.reserved[byte] & bit != 0
    }
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(PROTOCOL);
        out.extend_from_slice(&self.reserved);
        out.extend_from_slice(&self.info_hash);
        out.extend_from_slice(&self.peer_id);
    }
    fn decode(bytes: &[u8; HANDSHAKE_BYTES as usize]) -> Handshake {
        let mut handshake = Handshake::new([0; 20], [0; 20]);
        handshake.reserved.copy_from_slice(&bytes[20..28]);
        handshake.info_hash.copy_from_slice(&bytes[28..48]);
        handshake.peer_id.copy_from_slice(&bytes[48..68]);
        handshake
    }
}

/// Appends the bytes of a message: of PIECE only the header, behind which its owner appends the
/// block; of a handshake nothing, for that is [`Handshake::encode`]'s.
pub fn encode(message: &Message, out: &mut Vec<u8>) {
    let mut head = |kind: u8, numbers: &[u32]| {
        out.extend_from_slice(&(message.size() - 4).to_be_bytes());
        out.push(kind);
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    };
    match message {
        Message::Handshake(_) => {}
        Message::KeepAlive => out.extend_from_slice(&[0; 4]),
        Message::Choke => head(CHOKE, &[]),
        Message::Unchoke => head(UNCHOKE, &[]),
        Message::Interested => head(INTERESTED, &[]),
        Message::NotInterested => head(NOT_INTERESTED, &[]),
        Message::Have { piece } => head(HAVE, &[*piece]),
        Message::Bitfield(pieces) => {
            head(BITFIELD, &[]);
            let start = out.len();
            out.resize(start + pieces.len().div_ceil(8) as usize, 0);
            for piece in pieces.iter() {
                out[start + piece as usize / 8] |= 0x80 >> (piece % 8);
            }
        }
        Message::Request { piece, begin, length }
        | Message::StampedRequest { piece, begin, length, .. } => {
            head(REQUEST, &[*piece, *begin, *length]);
        }
        Message::Piece { piece, begin, .. } => head(PIECE, &[*piece, *begin]),
        Message::Cancel { piece, begin, length } => head(CANCEL, &[*piece, *begin, *length]),
        Message::HaveAll => head(HAVE_ALL, &[]),
        Message::HaveNone => head(HAVE_NONE, &[]),
        Message::Suggest { piece } => head(SUGGEST, &[*piece]),
        Message::Reject { piece, begin, length } => head(REJECT, &[*piece, *begin, *length]),
        Message::AllowedFast { piece } => head(ALLOWED_FAST, &[*piece]),
        Message::ExtensionHandshake => extended(message.size(), EXTENSION_HANDSHAKE, out),
        Message::PeerExchange(peers) => extended(message.size(), peers.body(), out),
    }
}

/// A message of the extension protocol.
fn extended(size: u32, body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(size - 4).to_be_bytes());
    out.extend_from_slice(body);
}

/// The next item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// The first message.
    Handshake(Handshake),
    /// A message; with PIECE its block, with all others nothing.
    Message(Message, &'a [u8]),
    /// The end of a message of a type that the decoder does not know. A sign of life, and nothing else.
    Skipped {
        /// The type byte.
        kind: u8,
        /// Bytes behind the length prefix, the type byte included.
        length: u32,
    },
}

/// Cuts one direction of a stream into messages.
#[derive(Clone, Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the beginning that have been given out.
    used: usize,
    pieces: u32,
    limit: u32,
    greeted: bool,
    fast: bool,
    skipping: Option<Skipping>,
    failed: Option<CodecError>,
}

/// A message of an unknown type that is being thrown away as it comes.
#[derive(Clone, Copy, Debug)]
struct Skipping {
    kind: u8,
    length: u32,
    /// Bytes that are still to come.
    left: u32,
}

impl Decoder {
    /// For a torrent of `pieces` pieces, whose blocks have at most `max_block_bytes`.
    pub fn new(pieces: u32, max_block_bytes: u32) -> Decoder {
        let block = max_block_bytes.saturating_add(PIECE_HEADER_BYTES - 4);
        let limit = block.max(pieces.div_ceil(8).saturating_add(1)).max(13);
        Decoder {
            buffer: Vec::new(),
            used: 0,
            pieces,
            limit,
            greeted: false,
            fast: false,
            skipping: None,
            failed: None,
        }
    }
    /// Both sides offer the Fast extension: from now on its messages are given out. Call when the
    /// handshake is there.
    pub fn allow_fast(&mut self) {
        self.fast = true;
    }
    fn knows(&self, kind: u8) -> bool {
        kind <= CANCEL || (self.fast && (SUGGEST..=ALLOWED_FAST).contains(&kind))
    }
    /// Bytes arrived. Call [`next`](Decoder::next) until it has nothing more before feeding again,
    /// else they pile up.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.buffer.drain(..self.used);
            self.used = 0;
            self.buffer.extend_from_slice(bytes);
        }
    }
    /// How many bytes wait for the rest of their message, or to be asked for.
    pub fn buffered(&self) -> usize {
        self.buffer.len() - self.used
    }
    /// The next complete message, if there is one. Errors are final: they come back at every call.
    #[expect(clippy::should_implement_trait, reason = "it lends from the decoder, and can fail")]
    pub fn next(&mut self) -> Result<Option<Decoded<'_>>, CodecError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.cut() {
            Ok(Some((decoded, start, end))) => Ok(Some(match decoded {
                Cut::Handshake(handshake) => Decoded::Handshake(handshake),
                Cut::Message(message) => Decoded::Message(message, &self.buffer[start..end]),
                Cut::Skipped { kind, length } => Decoded::Skipped { kind, length },
            })),
            Ok(None) => Ok(None),
            Err(error) => {
                self.failed = Some(error);
                self.buffer = Vec::new();
                self.used = 0;
                Err(error)
            }
        }
    }
    /// Cuts off one message: it, and where its block lies in the buffer.
    fn cut(&mut self) -> Result<Option<(Cut, usize, usize)>, CodecError> {
        let rest = &self.buffer[self.used..];
        if !self.greeted {
            // A stranger is recognised by its first byte already.
            let known = rest.len().min(PROTOCOL.len());
            if rest[..known] != PROTOCOL[..known] {
                return Err(CodecError::NotBitTorrent);
            }
            let Some(bytes) = rest.first_chunk() else { return Ok(None) };
            let handshake = Handshake::decode(bytes);
            self.greeted = true;
            self.used += HANDSHAKE_BYTES as usize;
            return Ok(Some((Cut::Handshake(handshake), 0, 0)));
        }
        if let Some(skipping) = self.skipping {
            return Ok(self.skip(skipping));
        }
        let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length);
        let max = self.limit.max(MAX_SKIPPED_BYTES);
        if length > max {
            return Err(CodecError::TooLong { length, limit: max });
        }
        let message = if length == 0 {
            Message::KeepAlive
        } else {
            // The type and its length are judged before the rest is waited for.
            let Some(&kind) = rest.first() else { return Ok(None) };
            if !self.knows(kind) {
                self.used += 4;
                return Ok(self.skip(Skipping { kind, length, left: length }));
            }
            self.check_length(kind, length)?;
            let Some(body) = rest.get(1..length as usize) else { return Ok(None) };
            self.parse(kind, body)?
        };
        let end = self.used + 4 + length as usize;
        self.used = end;
        let block = match message {
            Message::Piece { length, .. } => length as usize,
            _ => 0,
        };
        Ok(Some((Cut::Message(message), end - block, end)))
    }
    /// Throws away what is there of a message; itself, if that is its end.
    fn skip(&mut self, mut skipping: Skipping) -> Option<(Cut, usize, usize)> {
        let there = u32::try_from(self.buffered()).unwrap_or(u32::MAX).min(skipping.left);
        self.used += there as usize;
        skipping.left -= there;
        let Skipping { kind, length, left } = skipping;
        self.skipping = (left > 0).then_some(skipping);
        (left == 0).then_some((Cut::Skipped { kind, length }, 0, 0))
    }
    fn check_length(&self, kind: u8, length: u32) -> Result<(), CodecError> {
        if length > self.limit {
            return Err(CodecError::TooLong { length, limit: self.limit });
        }
        let good = match kind {
            CHOKE | UNCHOKE | INTERESTED | NOT_INTERESTED | HAVE_ALL | HAVE_NONE => length == 1,
            HAVE | SUGGEST | ALLOWED_FAST => length == 5,
            BITFIELD => length == 1 + self.pieces.div_ceil(8),
            REQUEST | CANCEL | REJECT => length == 13,
            _ => length > 9,
        };
        if good { Ok(()) } else { Err(CodecError::BadLength { kind, length }) }
    }
    /// `body` is behind the type, one that the decoder knows, and of the right length for it.
    fn parse(&self, kind: u8, body: &[u8]) -> Result<Message, CodecError> {
        let number = |index: usize| {
            let bytes = body.get(4 * index..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        let piece = number(0);
        let names_piece =
            matches!(kind, HAVE | REQUEST | PIECE | CANCEL | SUGGEST | REJECT | ALLOWED_FAST);
        if names_piece && piece >= self.pieces {
            return Err(CodecError::NoSuchPiece { piece, pieces: self.pieces });
        }
        let (begin, length) = (number(1), number(2));
        Ok(match kind {
            CHOKE => Message::Choke,
            UNCHOKE => Message::Unchoke,
            INTERESTED => Message::Interested,
            NOT_INTERESTED => Message::NotInterested,
            HAVE => Message::Have { piece },
            BITFIELD => Message::Bitfield(Arc::new(self.bitfield(body)?)),
            REQUEST => Message::Request { piece, begin, length },
            // No longer than the limit, which has 32 bits.
            PIECE => Message::Piece { piece, begin, length: body.len() as u32 - 8 },
            HAVE_ALL => Message::HaveAll,
            HAVE_NONE => Message::HaveNone,
            SUGGEST => Message::Suggest { piece },
            REJECT => Message::Reject { piece, begin, length },
            ALLOWED_FAST => Message::AllowedFast { piece },
            _ => Message::Cancel { piece, begin, length },
        })
    }
    fn bitfield(&self, bytes: &[u8]) -> Result<Bitfield, CodecError> {
        let mut pieces = Bitfield::new(self.pieces);
        for (byte, index) in bytes.iter().zip(0u32..) {
            for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
                if !pieces.set(8 * index + bit) {
                    return Err(CodecError::SpareBits);
                }
            }
        }
        Ok(pieces)
    }
}

enum Cut {
    Handshake(Handshake),
    Message(Message),
    Skipped { kind: u8, length: u32 },
}
