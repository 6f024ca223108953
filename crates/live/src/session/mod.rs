//! A measurement between two machines, as `flashcrowd utp send` and `flashcrowd utp serve` make it: one
//! end sends bytes that either end can compute, the other says what it got. The same over uTP and over
//! the kernel's TCP, one connection a stream.
//!
//! # On a stream
//!
//! Numbers are big-endian. A text is JSON behind its length in bytes (32 bits).
//!
//! | from | what |
//! | --- | --- |
//! | caller | `flashcrowd-utp/1\n` and the content's seed (64 bits), to send one stream; |
//! | | or `flashcrowd-utp/2\n` and a text: `seed`, `direction` (`to-server`, `to-client`), `measurement` (a number that its streams share), `streams` (how many), `amount` (`{"bytes": …}` or `{"time": {"secs": …, "nanos": …}}`), `rate` (bit/s or null), `congestion` (the name of one of TCP's, or null) |
//! | server | to version 2, a text: `{"ready": true, "congestion": …}`, with the name of TCP's at its end or null |
//! | sender | chunks: content behind its length in bytes (32 bits) |
//! | sender | a length of 0, the bytes of content in all (64 bits), and their digest (128 bits) |
//! | receiver | a text: the [`Receipt`] |
//!
//! Each then closes. A receiver may send its receipt at any time, which asks the sender to stop; the
//! sender checks the receipt against its own computation. A server that does not want the caller says
//! `{"refused": "why"}` in the place of its first text, and closes.

mod active_stream;
mod conduit;
mod content;
mod flow;
mod frames;
mod handle;
mod hello;
mod rate_limit;
mod serve;
mod sink;
mod snapshot;
mod source;
mod tcp;
mod tcp_info;
mod transfer;
mod waiting;

pub use active_stream::{Stopper, StreamReport};
pub use conduit::Transport;
pub use content::{Content, Digest};
pub use flow::{FlowHandle, FlowReport, flow};
pub use handle::SessionHandle;
pub use hello::{Amount, Direction};
pub use serve::{Admission, Refusals, Server, Watch};
pub use snapshot::Snapshot;
pub use transfer::{TransferRequest, transfer};

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
