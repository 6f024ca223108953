use bytes::Bytes;
use std::fmt;

/// A text that is made piece by piece while it is sent: so a client that takes nothing holds a piece of it, not all.
pub(crate) struct Text {
    pieces: Box<dyn Iterator<Item = Bytes> + Send + Sync>,
    /// Bytes that have not been taken.
    left: u64,
}

impl Text {
    /// Pieces that have `length` bytes together.
    pub(crate) fn of(
        length: u64,
        pieces: impl Iterator<Item = Bytes> + Send + Sync + 'static,
    ) -> Text {
        Text { pieces: Box::new(pieces), left: length }
    }

    pub(crate) fn left(&self) -> u64 {
        self.left
    }
}

impl Iterator for Text {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let piece = self.pieces.find(|piece| !piece.is_empty())?;
        self.left = self.left.saturating_sub(piece.len() as u64);
        Some(piece)
    }
}

impl Default for Text {
    /// Nothing.
    fn default() -> Text {
        Text::of(0, std::iter::empty())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::of(text.len() as u64, std::iter::once(Bytes::from(text)))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text").field("left", &self.left).finish_non_exhaustive()
    }
}
