//! Congestion controllers: a [`Controller`] hears events and answers one question, how many bytes
//! may be in flight. One file each, and one enum that lists them.

use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// The controllers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Additive increase, halving on loss (RFC 5681).
    NewReno,
    /// RFC 9438, in real numbers.
    Cubic,
    /// CUBIC as Linux computes it: whole segments, whole milliseconds, and its own clamps.
    CubicLinux,
}

/// How slow start ends before a loss ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HyStartKind {
    /// By a loss only.
    None,
    /// When a train of acknowledgements spans half the least round trip, or the round trip grows
    /// by an eighth (Ha and Rhee 2011, as in Linux).
    Linux,
    /// When the round trip grows by an eighth, and then cautiously (HyStart++, RFC 9406).
    PlusPlus,
}

/// What an acknowledgement tells a controller.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly delivered (acknowledged or SACKed).
    pub acked: u64,
    /// The latest round-trip sample, if this acknowledgement gave one.
    pub rtt: Option<Span>,
    /// The one-way delay of the newest data, where the transport measures it.
    pub one_way_delay: Option<Span>,
    /// Bytes in flight before this acknowledgement.
    pub in_flight: u64,
    /// Whether the congestion window limited the sender during the last window of data.
    pub window_limited: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Least round-trip time; `Span::MAX` before the first sample.
    pub min_rtt: Span,
    /// Offset up to which everything is acknowledged now.
    pub una: u64,
    /// Offset of the next byte to be sent: acknowledging it ends a round that begins now.
    pub nxt: u64,
}
