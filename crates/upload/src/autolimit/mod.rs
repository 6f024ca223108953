//! Candidates for an upload limit without knobs: a person states no rate of the line, no target and no host. All of
//! them hear the same [`senses::Senses`]; they differ in what they take for congestion:
//!
//! - [`baseline`]: the standing delay that *our* upload adds, against a reference taken while it rests;
//! - [`gradient`]: a standing delay that rises, as real-time congestion control has it;
//! - [`search`]: what is chosen as `autolimit`; harm is read from the mean or from the least delay, as the line is;
//! - [`reserve`]: the same search, which leaves a part of the line free (`autolimit-delay`);
//! - [`capacity`]: trials below and above the limit; what the delay does between them tells the capacity.

pub(crate) mod baseline;
pub(crate) mod capacity;
pub(crate) mod gradient;
mod occupancy;
pub(crate) mod reserve;
pub(crate) mod search;
mod senses;
pub(crate) mod states;

use crate::Limit;

/// The lowest limit in bytes per second: below, clients starve their own requests, and several round 1 KiB/s
/// down to nothing. 2 KiB/s is a quarter of the slowest line in use (64 kbit/s).
const FLOOR: f64 = 2048.0;

/// The highest one: what every client takes (32 signed bits).
const CEILING: f64 = 2_147_482_624.0;

/// Where a search begins without any knowledge: half of the slowest line in use.
const FIRST: f64 = 4096.0;

/// The raise while no queue was ever seen: from 4 KiB/s to 20 Mbit/s in sixteen windows.
const SEARCH: f64 = 1.5;

/// The factor by which congestion cuts the rate that was achieved. The departures during a queue *are* the capacity
/// that is left to us, so one step is enough; 0.85 is what real-time congestion control takes (GCC), and empties a
/// queue of a second within seven.
const CUT: f64 = 0.85;

/// From this part on the limit is what holds the upload; below, the client has nothing more to upload.
const BOUND: f64 = 0.75;

/// From this part on a queue can be ours. Lower than the one above: a search that overshot by half meets its queue with two thirds
/// of the limit in use.
const BLAMED: f64 = 0.6;

fn bounded(limit: f64) -> f64 {
    limit.clamp(FLOOR, CEILING)
}

fn limit_of(bytes: f64) -> Limit {
    Limit::from_bytes_per_second(bounded(bytes))
}

/// The delay in seconds that counts as a queue: two full packets at the known rate (one of ours and one of a stranger
/// in front of the probe are no queue), four times the noise of the line, and 10 ms: less does no harm.
fn threshold(capacity: f64, noise: f64) -> f64 {
    (2.0 * 1500.0 / capacity.max(FLOOR)).max(4.0 * noise).max(0.010)
}
