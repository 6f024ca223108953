//! BBR: a controller that models the path by its bandwidth and its round trip without a queue, and
//! sends at that rate. It paces, and takes its window as a bound only.
//!
//! [`Bbr`] is version 1 as Linux ships it (`net/ipv4/tcp_bbr.c`; Cardwell et al., ACM Queue 14, 2016);
//! [`BbrV3`] is version 3 by draft-ietf-ccwg-bbr. Rates here are bytes per second.

mod aggregation;
mod policer;
#[cfg(test)]
mod shared_rules;
mod v1;
mod v3;

pub use v1::Bbr;
pub use v3::BbrV3;

use flashcrowd_base::Span;

/// The least window: enough for a receiver that acknowledges every other packet (both versions).
const MIN_PIPE_PACKETS: u64 = 4;
/// The part of the estimated bandwidth that is used: a queue that was misjudged drains, in per cent.
const USED_PER_CENT: u64 = 99;
/// The round trip that is assumed until there is a sample (both versions).
const ASSUMED_ROUND_TRIP: Span = Span::from_millis(1);
/// Bandwidth must grow by a quarter in three rounds, or the pipe is full (both versions).
const FULL_PIPE_GROWTH: (u64, u64) = (5, 4);
const FULL_PIPE_ROUNDS: u32 = 3;
/// Time spent with few packets in flight, to see the round trip without a queue (both versions).
const PROBE_RTT_TIME: Span = Span::from_millis(200);

/// The bytes that `rate` bytes per second deliver in this time.
fn bytes_in(rate: u64, time: Span) -> u64 {
    let nanos = u128::from(rate) * u128::from(time.nanos());
    u64::try_from(nanos.div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}

/// A value times a gain.
fn gained(value: u64, (above, below): (u64, u64)) -> u64 {
    u64::try_from(u128::from(value) * u128::from(above) / u128::from(below)).unwrap_or(u64::MAX)
}

/// Rounds of packets: one ends when a packet is delivered that was sent after its beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    /// Delivered in all when the round began.
    ends_at: u64,
    /// The latest acknowledgement began one.
    started: bool,
}

impl Rounds {
    /// An acknowledgement of a packet that was sent when `prior` bytes had been delivered.
    fn update(&mut self, prior: u64, delivered: u64) {
        self.started = prior >= self.ends_at;
        if self.started {
            self.ends_at = delivered;
            self.count += 1;
        }
    }

    /// Begins one out of turn.
    fn restart(&mut self, delivered: u64) {
        self.ends_at = delivered;
    }
}
