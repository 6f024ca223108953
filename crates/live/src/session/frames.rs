use super::content::{Content, Digest};
use std::io;

/// The end of the content.
pub(super) fn trailer(bytes: u64, digest: u128) -> Vec<u8> {
    [&[0; 4][..], &bytes.to_be_bytes(), &digest.to_be_bytes()].concat()
}

/// Where a receiver is in the sender's stream.
#[derive(Debug)]
enum At {
    Length,
    Chunk(u32),
    Trailer,
    End,
}

/// Reads a sender's stream, in whatever pieces it comes.
#[derive(Debug)]
pub(super) struct Reader {
    at: At,
    /// A field of which only a part has come.
    part: Vec<u8>,
    /// Bytes of content so far, and their digest.
    pub(super) bytes: u64,
    pub(super) digest: Digest,
    /// The sender's closing message.
    pub(super) claimed: Option<(u64, u128)>,
    /// The content that was announced.
    seed: u64,
}

impl Reader {
    pub(super) fn new(seed: u64) -> Reader {
        Reader {
            at: At::Length,
            part: Vec::new(),
            bytes: 0,
            digest: Digest::default(),
            claimed: None,
            seed,
        }
    }

    /// Whether the sender's closing message has arrived.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.at, At::End)
    }

    /// Whether what came is what the sender sent; `None` while that is not known.
    pub(super) fn is_equal(&self) -> Option<bool> {
        self.claimed.map(|claimed| claimed == (self.bytes, self.digest.value()))
    }

    /// Whether what came so far is the announced content.
    pub(super) fn is_as_announced(&self) -> bool {
        Content::new(self.seed).digest(self.bytes).value() == self.digest.value()
    }

    /// The next piece of the stream.
    pub(super) fn take(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            if let At::Chunk(left) = self.at {
                let (content, rest) = piece.split_at(piece.len().min(left as usize));
                self.digest.update(content);
                self.bytes += content.len() as u64;
                self.at = match left - content.len() as u32 {
                    0 => At::Length,
                    left => At::Chunk(left),
                };
                piece = rest;
                continue;
            }
            let wanted = match self.at {
                At::Length => 4,
                At::Trailer => 24,
                At::Chunk(_) | At::End => return Err(foreign()),
            };
            let (more, rest) = piece.split_at(piece.len().min(wanted - self.part.len()));
            self.part.extend_from_slice(more);
            piece = rest;
            if self.part.len() == wanted {
                let field = std::mem::take(&mut self.part);
                self.field(&field)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &[u8]) -> io::Result<()> {
        self.at = match self.at {
            At::Length => match u32::from_be_bytes(field.try_into().map_err(|_| foreign())?) {
                0 => At::Trailer,
                len => At::Chunk(len),
            },
            At::Trailer => {
                let (bytes, digest) = field.split_at(8);
                self.claimed = Some((
                    u64::from_be_bytes(bytes.try_into().map_err(|_| foreign())?),
                    u128::from_be_bytes(digest.try_into().map_err(|_| foreign())?),
                ));
                At::End
            }
            At::Chunk(_) | At::End => return Err(foreign()),
        };
        Ok(())
    }
}

fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not what `flashcrowd utp send` sends")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(content: &[u8]) -> Vec<u8> {
        let mut stream = Vec::new();
        for chunk in content.chunks(1000) {
            stream.extend((chunk.len() as u32).to_be_bytes());
            stream.extend(chunk);
        }
        let mut digest = Digest::default();
        digest.update(content);
        stream.extend(trailer(content.len() as u64, digest.value()));
        stream
    }

    #[test]
    fn a_stream_is_read_in_any_pieces() {
        let content: Vec<u8> = Content::new(5).slice(0, 10_500).to_vec();
        let stream = claimed(&content);
        for size in [1, 3, 17, 1004, stream.len()] {
            let mut reader = Reader::new(5);
            for piece in stream.chunks(size) {
                assert!(!reader.is_done());
                reader.take(piece).unwrap();
            }
            assert!(reader.is_done() && reader.is_as_announced());
            assert_eq!((reader.bytes, reader.is_equal()), (10_500, Some(true)));
        }
    }

    #[test]
    fn a_changed_byte_is_found_and_so_is_one_too_many() {
        let mut stream = claimed(&[1; 5000]);
        stream[3000] ^= 4;
        let mut reader = Reader::new(5);
        reader.take(&stream).unwrap();
        assert_eq!(reader.is_equal(), Some(false));
        assert!(reader.take(b"more").is_err());
    }
}
