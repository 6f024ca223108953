use super::base_delay::MAX_SLOTS;
use super::filter::MAX_SAMPLES;
use flashcrowd_base::Span;
use serde::{Deserialize, Serialize};

/// Everything about a controller of the LEDBAT family that can change a number. Which controllers
/// read a field is said where it is not all of them. There are no defaults;
/// [`flavours`](super) has complete tables.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Ledbat {
    /// The queueing delay that it steers to.
    pub target_ns: Span,
    /// Growth in packets per window of acknowledged data while there is no queue (RFC 6817: GAIN).
    /// `ledbat` and `ledbat-draft`; `ledbat-plus-plus` multiplies its own by it.
    pub gain: f64,
    /// The same in bytes, whatever a packet's size: `libutp`, `libutp-2010`, `libtorrent`.
    pub max_increase_bytes: u32,
    /// Minutes of base history (BASE_HISTORY): the base delay is their minimum.
    pub base_history: u32,
    /// Samples in the filter of current delays (CURRENT_FILTER): the minimum counts.
    pub noise_filter: u32,
    /// Minimum window in packets (MIN_CWND), except after a timeout.
    pub min_window_packets: u32,
    /// Minimum window in bytes. libutp has only this one, and goes below a packet.
    pub min_window_bytes: u32,
    /// The window is never above this; libutp's send buffer.
    pub max_window_bytes: u64,
    /// The window is never above what was in flight plus this many packets (RFC 6817:
    /// ALLOWED_INCREASE); 0 for no such bound. `ledbat`.
    pub allowed_increase_packets: u32,
    /// What a loss leaves of the window.
    pub loss_factor: f64,
    /// Time between two reductions for losses, at least: `libutp`, `libutp-2010`, `libtorrent`. All
    /// but the first two reduce once per window of data as well.
    pub loss_interval_ns: Span,
    /// Begin, and begin again after a timeout, with slow start.
    pub slow_start: bool,
    /// Slow start ends when the queueing delay exceeds this part of the target.
    pub slow_start_exit: f64,
    /// The window does not grow if it was last full longer ago: `libutp`, `libutp-2010`.
    pub app_limited_ns: Span,
    /// The gain is at least one part in this. `ledbat-plus-plus`.
    pub gain_divisor: u32,
    /// How strongly the window comes down above the target (the constant C). `ledbat-plus-plus`.
    pub decrease: f64,
    /// Time between two slowdowns, as a multiple of what the last one took; 0 for no slowdowns.
    /// `ledbat-plus-plus`.
    pub slowdown_interval: u32,
}

impl Ledbat {
    /// Refuses values with which a controller could not work: the field as a dotted path below
    /// `ledbat`, and what is allowed.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let rules = [
            (
                self.target_ns >= Span::from_millis(1) && self.target_ns <= Span::from_secs(10),
                "ledbat.target_ns",
                "must lie between 1 ms and 10 s",
            ),
            (
                positive(self.gain) && self.gain <= 1000.0,
                "ledbat.gain",
                "must be above 0 and at most 1000",
            ),
            (
                (1..=1 << 24).contains(&self.max_increase_bytes),
                "ledbat.max_increase_bytes",
                "must lie between 1 and 16777216",
            ),
            (
                (1..=MAX_SLOTS as u32).contains(&self.base_history),
                "ledbat.base_history",
                "must lie between 1 and 32",
            ),
            (
                (1..=MAX_SAMPLES as u32).contains(&self.noise_filter),
                "ledbat.noise_filter",
                "must lie between 1 and 16",
            ),
            (self.min_window_packets <= 1000, "ledbat.min_window_packets", "must be at most 1000"),
            (
                self.min_window_packets > 0 || self.min_window_bytes > 0,
                "ledbat.min_window_bytes",
                "must be at least 1 unless min_window_packets is",
            ),
            (
                self.min_window_bytes <= 1 << 24,
                "ledbat.min_window_bytes",
                "must be at most 16777216",
            ),
            (
                (1000..=1 << 40).contains(&self.max_window_bytes)
                    && self.max_window_bytes >= u64::from(self.min_window_bytes),
                "ledbat.max_window_bytes",
                "must lie between 1000 (or min_window_bytes) and 2^40",
            ),
            (
                self.allowed_increase_packets <= 1_000_000,
                "ledbat.allowed_increase_packets",
                "must be at most 1000000",
            ),
            (
                positive(self.loss_factor) && self.loss_factor <= 1.0,
                "ledbat.loss_factor",
                "must be above 0 and at most 1",
            ),
            (
                positive(self.slow_start_exit) && self.slow_start_exit <= 100.0,
                "ledbat.slow_start_exit",
                "must be above 0 and at most 100",
            ),
            (
                (1..=1_000_000).contains(&self.gain_divisor),
                "ledbat.gain_divisor",
                "must lie between 1 and 1000000",
            ),
            (
                positive(self.decrease) && self.decrease <= 1000.0,
                "ledbat.decrease",
                "must be above 0 and at most 1000",
            ),
            (
                self.slowdown_interval <= 1_000_000,
                "ledbat.slowdown_interval",
                "must be at most 1000000",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            Some((_, field, reason)) => Err((field, reason)),
            None => Ok(()),
        }
    }

    /// The target in microseconds.
    pub(super) fn target_micros(&self) -> f64 {
        self.target_ns.nanos() as f64 / 1000.0
    }
}
