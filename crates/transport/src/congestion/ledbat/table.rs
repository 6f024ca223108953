use super::base_delay::MAX_SLOTS;
use super::filter::MAX_SAMPLES;
use flashcrowd_base::{Refusal, Settings, Span};

flashcrowd_base::settings! {
    /// Everything about a controller of the LEDBAT family that can change a number.
    ///
    /// Each controller ships with a complete table.
    #[derive(Copy)]
    pub struct Ledbat {
        /// The queueing delay that it steers to.
        #[min(Span::from_millis(1))]
        #[max(Span::from_secs(10))]
        pub target_ns: Span,
        /// Packets of growth per window of acknowledged data without a queue (RFC 6817: GAIN). Read by `ledbat`,
        /// `fledbat` and `ledbat-draft`; `ledbat-plus-plus` multiplies its own gain by it.
        #[above(0.0)]
        #[max(1000.0)]
        pub gain: f64,
        /// The same in bytes, whatever a packet's size. Read by `libutp`, `libutp-2010` and `libtorrent`.
        #[min(1)]
        #[max(1 << 24)]
        pub max_increase_bytes: u32,
        /// Minutes of base history (BASE_HISTORY): the base delay is their minimum.
        #[min(1)]
        #[max(MAX_SLOTS as u32)]
        pub base_history: u32,
        /// Samples in the filter of current delays (CURRENT_FILTER): the current delay is their minimum.
        #[min(1)]
        #[max(MAX_SAMPLES as u32)]
        pub noise_filter: u32,
        /// Minimum window in packets (MIN_CWND), except after a timeout.
        #[max(1000)]
        pub min_window_packets: u32,
        /// Minimum window as a size. libutp has only this one, and goes below a packet.
        #[max(1 << 24)]
        pub min_window_bytes: u32,
        /// The window is never above this; in libutp, the send buffer.
        #[min(1000)]
        #[max(1u64 << 40)]
        #[at_least(min_window_bytes)]
        pub max_window_bytes: u64,
        /// The window is never above what was in flight plus this many packets (RFC 6817: ALLOWED_INCREASE); 0
        /// for no such bound. Read by `ledbat` and `fledbat`.
        #[max(1_000_000)]
        pub allowed_increase_packets: u32,
        /// The factor by which a loss cuts the window.
        #[above(0.0)]
        #[max(1.0)]
        #[file("unit" = "share")]
        pub loss_factor: f64,
        /// Least time between two reductions for losses. Read by `libutp`, `libutp-2010` and `libtorrent`. All
        /// but the first two reduce once per window of data as well.
        pub loss_interval_ns: Span,
        /// Begin, and begin again after a timeout, with slow start.
        pub slow_start: bool,
        /// Slow start ends when the queueing delay exceeds this part of the target.
        #[above(0.0)]
        #[max(100.0)]
        #[file("unit" = "share")]
        pub slow_start_exit: f64,
        /// The window does not grow if it was last full longer ago. Read by `libutp` and `libutp-2010`.
        pub app_limited_ns: Span,
        /// The gain is at least one part in this. Read by `ledbat-plus-plus`.
        #[min(1)]
        #[max(1_000_000)]
        pub gain_divisor: u32,
        /// How strongly the window comes down: above the target in `ledbat-plus-plus` (the constant C), with any queue in
        /// `fledbat`.
        #[above(0.0)]
        #[max(1000.0)]
        pub decrease: f64,
        /// Time between two slowdowns, as a multiple of what the last one took; 0 for no slowdowns. Read by
        /// `ledbat-plus-plus`.
        #[max(1_000_000)]
        pub slowdown_interval: u32,
    }
}

impl Ledbat {
    /// Refuses values with which a controller could not work.
    pub fn check(&self) -> Result<(), Refusal> {
        self.check_bounds()?;
        let least = self.min_window_bytes;
        if self.min_window_packets == 0 && least == 0 {
            let allowed = "more than nothing where min_window_packets is 0";
            return Err(Refusal::new("min_window_bytes", least, allowed));
        }
        Ok(())
    }

    /// The target in microseconds.
    pub(super) fn target_micros(&self) -> f64 {
        self.target_ns.nanos() as f64 / 1000.0
    }
}
