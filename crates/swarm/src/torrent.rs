//! The file that is shared: its geometry, and which content it has.

use std::num::NonZeroU64;
use thiserror::Error;

/// How a file is cut into pieces, and pieces into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torrent {
    bytes: NonZeroU64,
    piece_bytes: u32,
    block_bytes: u32,
    pieces: u32,
    content: u64,
}

/// A geometry that no torrent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// There is nothing to share.
    #[error("a torrent has at least one byte")]
    Empty,
    /// A piece or block of nothing.
    #[error("pieces and blocks have at least one byte")]
    ZeroPiece,
    /// More blocks in a piece than the picker counts.
    #[error("a piece has at most 65535 blocks")]
    TooManyBlocks,
    /// More pieces than fit the protocol's bitfield.
    #[error("a torrent has at most 4194304 pieces")]
    TooManyPieces,
}

/// Most pieces that a torrent may have: their bitfield is half a mebibyte.
pub const MAX_PIECES: u32 = 1 << 22;

impl Torrent {
    /// A file of `bytes`, in pieces of `piece_bytes` and blocks of `block_bytes`; the last of
    /// each may be shorter.
    pub fn new(bytes: u64, piece_bytes: u32, block_bytes: u32) -> Result<Torrent, GeometryError> {
        let bytes = NonZeroU64::new(bytes).ok_or(GeometryError::Empty)?;
        if piece_bytes == 0 || block_bytes == 0 {
            return Err(GeometryError::ZeroPiece);
        }
        if piece_bytes.div_ceil(block_bytes) > u32::from(u16::MAX) {
            return Err(GeometryError::TooManyBlocks);
        }
        let pieces = u32::try_from(bytes.get().div_ceil(u64::from(piece_bytes)))
            .ok()
            .filter(|pieces| *pieces <= MAX_PIECES)
            .ok_or(GeometryError::TooManyPieces)?;
        Ok(Torrent { bytes, piece_bytes, block_bytes, pieces, content: 0 })
    }
    /// The same with another content, which has another info-hash: what it is does not matter.
    pub fn of_content(self, content: u64) -> Torrent {
        Torrent { content, ..self }
    }
    /// Which content it has.
    pub fn content(&self) -> u64 {
        self.content
    }
    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
    /// Number of pieces.
    pub fn pieces(&self) -> u32 {
        self.pieces
    }
    /// Bytes of a full block.
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }
    /// Bytes of this piece.
    pub fn piece_bytes(&self, piece: u32) -> u32 {
        if piece + 1 < self.pieces {
            self.piece_bytes
        } else {
            // At most one full piece remains for the last one.
            (self.bytes.get() - u64::from(self.pieces - 1) * u64::from(self.piece_bytes)) as u32
        }
    }
    /// Blocks of this piece.
    pub fn blocks(&self, piece: u32) -> u32 {
        self.piece_bytes(piece).div_ceil(self.block_bytes)
    }
    /// Bytes of a block of this piece.
    pub fn block_len(&self, piece: u32, block: u32) -> u32 {
        (self.piece_bytes(piece) - block * self.block_bytes).min(self.block_bytes)
    }
    /// Whether these bytes are within the file.
    pub fn contains(&self, piece: u32, begin: u32, length: u32) -> bool {
        piece < self.pieces
            && length > 0
            && begin.checked_add(length).is_some_and(|end| end <= self.piece_bytes(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_piece_and_its_last_block_are_what_remains() {
        let torrent = Torrent::new(3 * 262_144 + 20_000, 262_144, 16_384).unwrap();
        assert_eq!(torrent.pieces(), 4);
        assert_eq!((torrent.piece_bytes(2), torrent.blocks(2)), (262_144, 16));
        assert_eq!((torrent.piece_bytes(3), torrent.blocks(3)), (20_000, 2));
        assert_eq!((torrent.block_len(3, 0), torrent.block_len(3, 1)), (16_384, 3_616));
        assert!(torrent.contains(3, 16_384, 3_616));
        assert!(!torrent.contains(3, 16_384, 3_617) && !torrent.contains(4, 0, 1));
        assert!(!torrent.contains(0, u32::MAX, 2) && !torrent.contains(0, 0, 0));
    }

    #[test]
    fn a_file_of_full_pieces_ends_with_a_full_piece() {
        let torrent = Torrent::new(50 << 20, 1 << 18, 1 << 14).unwrap();
        assert_eq!((torrent.pieces(), torrent.piece_bytes(199)), (200, 1 << 18));
    }

    #[test]
    fn blocks_of_a_torrent_that_is_less_than_a_piece() {
        let torrent = Torrent::new(40, 100, 16).unwrap();
        assert_eq!((torrent.pieces(), torrent.piece_bytes(0), torrent.blocks(0)), (1, 40, 3));
        assert_eq!([0, 1, 2].map(|block| torrent.block_len(0, block)), [16, 16, 8]);
        assert!(torrent.contains(0, 0, 40) && torrent.contains(0, 39, 1));
        assert!(!torrent.contains(0, 0, 41) && !torrent.contains(0, 40, 1));
        assert!(!torrent.contains(1, 0, 1));
    }

    #[test]
    fn impossible_geometries_are_refused() {
        assert_eq!(Torrent::new(0, 1, 1), Err(GeometryError::Empty));
        assert_eq!(Torrent::new(1, 0, 1), Err(GeometryError::ZeroPiece));
        assert_eq!(Torrent::new(1, 1 << 30, 1 << 10), Err(GeometryError::TooManyBlocks));
        assert_eq!(Torrent::new(u64::MAX, 1, 1), Err(GeometryError::TooManyPieces));
    }
}
