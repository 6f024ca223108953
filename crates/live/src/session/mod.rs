//! A measurement between two machines, as `flashcrowd utp send` and `flashcrowd utp serve` make it:
//! one end sends bytes that anybody can compute, the other says what it got.
//!
//! # On the stream
//!
//! Numbers are big-endian.
//!
//! | from | what |
//! | --- | --- |
//! | sender | `flashcrowd-utp/1\n`, and the content's seed: 64 bits |
//! | sender | chunks: a length of 32 bits, and so many bytes of content |
//! | sender | a length of 0, the bytes of content in all (64 bits), and their digest (128 bits) |
//! | receiver | a length of 32 bits, and so many bytes of JSON: the [`Receipt`] |
//!
//! Each then closes. A receiver may send its receipt at any time, which asks the sender to stop; the
//! sender checks the receipt against its own computation.

mod content;
mod frames;
mod handle;
mod send;
mod serve;

pub use content::{Content, Digest};
pub use handle::{SessionHandle, Snapshot};
pub use send::{Amount, Order, Outcome, Stopper, send};
pub use serve::{Admission, Reception, Server, Watch};

use serde::{Deserialize, Serialize};

/// Receipt: what the receiver reports of the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Bytes of content that it got.
    pub bytes: u64,
    /// XXH3-128 of them, in hexadecimal.
    pub digest: String,
    /// Whether that is the sender's digest; `None` if the receiver stopped before it knew that.
    pub equal: Option<bool>,
    /// Whether the receiver wants no more.
    pub stopped: bool,
    /// From the first byte to the last, in nanoseconds.
    pub nanos: u64,
}
