//! `multipart/byteranges` (RFC 9110, 14.6; RFC 2046, 5.1).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

/// How the parts of one answer are framed.
#[derive(Clone, Debug)]
pub struct Framing {
    boundary: String,
    content_type: String,
    length: u64,
}

impl Framing {
    /// For parts of a file of `length` bytes. The boundary is random: no file can contain it on purpose.
    pub fn new(content_type: &str, length: u64) -> Framing {
        let draw = || RandomState::new().build_hasher().finish();
        let boundary = format!("fc-{:016x}{:016x}", draw(), draw());
        Framing { boundary, content_type: content_type.to_owned(), length }
    }

    /// The value of the answer's `Content-Type`.
    pub fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// The text before the bytes of a part; `first`: before the first part.
    pub fn head(&self, range: &Range<u64>, first: bool) -> String {
        format!(
            "{}--{}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
            if first { "" } else { "\r\n" },
            self.boundary,
            self.content_type,
            content_range(range, self.length)
        )
    }

    /// The text behind the bytes of the last part.
    pub fn tail(&self) -> String {
        format!("\r\n--{}--\r\n", self.boundary)
    }

    /// The length of a body with these parts.
    pub fn body_length(&self, ranges: &[Range<u64>]) -> u64 {
        let parts = ranges.iter().enumerate().map(|(place, range)| {
            self.head(range, place == 0).len() as u64 + (range.end - range.start)
        });
        parts.sum::<u64>() + self.tail().len() as u64
    }
}

/// The value of `Content-Range` (RFC 9110, 14.4).
pub fn content_range(range: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", range.start, range.end - 1)
}
