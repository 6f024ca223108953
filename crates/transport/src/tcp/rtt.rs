use super::config::{Config, RtoFloor};
use flashcrowd_base::{Span, Time};

/// A least round trip older than this is forgotten (Linux: `tcp_min_rtt_wlen`).
const MIN_LIFETIME: Span = Span::from_secs(300);

/// Round-trip estimates and the retransmission timeout (RFC 6298).
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct RoundTrip {
    /// Eight times the smoothed round trip, and four times its mean deviation, in nanoseconds.
    smoothed: u64,
    deviation: u64,
    /// Greatest deviation of this round and the one in force (`RtoFloor::Variance`).
    round_deviation: u64,
    variance: u64,
    round_end: u64,
    min: Span,
    min_at: Time,
    rto: Span,
    latest: Span,
}

impl RoundTrip {
    /// Where the timeout stands: the last that arriving data needs.
    pub(super) const OF_TIMEOUT: usize = std::mem::offset_of!(RoundTrip, rto);

    pub(super) fn new(config: &Config) -> RoundTrip {
        RoundTrip {
            smoothed: 0,
            deviation: 0,
            round_deviation: 0,
            variance: 0,
            round_end: 0,
            latest: Span::ZERO,
            min: Span::MAX,
            min_at: Time::START,
            rto: config.initial_rto_ns,
        }
    }

    /// Whether the segment is acknowledged that is measured, if one is at a time.
    #[inline]
    pub(super) fn is_timed(&self, config: &Config, una: u64) -> bool {
        !config.one_rtt_sample || una > self.round_end
    }

    /// The next segment that is measured, if one is at a time, begins at `nxt`.
    #[inline]
    pub(super) fn time_from(&mut self, config: &Config, nxt: u64) {
        if config.one_rtt_sample {
            self.round_end = nxt;
        }
    }

    /// A sample for the least round trip only.
    #[inline]
    pub(super) fn sample_min(&mut self, now: Time, sample: Span) {
        if sample <= self.min || now.since(self.min_at) > MIN_LIFETIME {
            self.min = sample;
            self.min_at = now;
        }
    }

    /// A sample, taken when everything below `una` is acknowledged and `nxt` is next to be sent.
    #[inline]
    pub(super) fn sample(&mut self, config: &Config, sample: Span, una: u64, nxt: u64) {
        let nanos = sample.nanos().max(1);
        self.latest = sample;
        let floor = config.min_rto_ns.nanos();
        let linux = config.rto_floor == RtoFloor::Variance;
        if self.smoothed == 0 {
            self.smoothed = nanos << 3;
            self.deviation = nanos << 1;
            self.variance = self.deviation.max(floor);
            self.round_deviation = self.variance;
            self.round_end = nxt;
        } else {
            let error = nanos as i64 - (self.smoothed >> 3) as i64;
            self.smoothed = self.smoothed.wrapping_add_signed(error);
            let mut change = error.abs() - (self.deviation >> 2) as i64;
            // A sudden drop is no variance, and must not raise the timeout (Linux: tcp_rtt_estimator).
            if linux && error < 0 && change > 0 {
                change >>= 3;
            }
            self.deviation = self.deviation.wrapping_add_signed(change);
            if self.deviation > self.round_deviation {
                self.round_deviation = self.deviation;
                self.variance = self.variance.max(self.round_deviation);
            }
            if una > self.round_end {
                if self.round_deviation < self.variance {
                    self.variance -= (self.variance - self.round_deviation) >> 2;
                }
                self.round_end = nxt;
                self.round_deviation = floor;
            }
        }
        let rto = if linux {
            (self.smoothed >> 3) + self.variance
        } else {
            ((self.smoothed >> 3) + self.deviation).max(floor)
        };
        self.rto = Span::from_nanos(rto).min(config.max_rto_ns);
    }

    /// Smoothed; zero before the first sample.
    #[inline]
    pub(super) fn smoothed(&self) -> Span {
        Span::from_nanos(self.smoothed >> 3)
    }

    /// Mean deviation; zero before the first sample.
    pub(super) fn deviation(&self) -> Span {
        Span::from_nanos(self.deviation >> 2)
    }

    /// The latest; zero before the first sample.
    pub(super) fn latest(&self) -> Span {
        self.latest
    }

    /// The least; `Span::MAX` before the first sample.
    #[inline]
    pub(super) fn min(&self) -> Span {
        self.min
    }

    /// The timeout without back-off.
    #[inline]
    pub(super) fn timeout(&self) -> Span {
        self.rto
    }
}

#[cfg(test)]
mod tests {
    use super::super::profiles;
    use super::*;

    /// The vector of ns-3's test of its mean-deviation estimator, which follows RFC 6298.
    #[test]
    fn samples_are_smoothed_as_in_rfc_6298() {
        let config = profiles::windows_xp();
        let mut rtt = RoundTrip::new(&config);
        let expected = [(1.0, 1.0, 0.5), (1.2, 1.025, 0.425), (0.9, 1.009375, 0.35)];
        for (sample, smoothed, deviation) in expected {
            rtt.sample(&config, Span::from_seconds(sample), 0, 0);
            let near = |x: u64, y: f64| assert!((x as f64 / 1e9 - y).abs() < 1e-6, "{x} {y}");
            near(rtt.smoothed >> 3, smoothed);
            near(rtt.deviation >> 2, deviation);
            near(rtt.timeout().nanos(), smoothed + 4.0 * deviation);
        }
    }

    /// The variance of a round that was restless goes by a quarter of what is above the present round's
    /// (Linux: tcp_rtt_estimator, mdev_max_us).
    #[test]
    fn linux_forgets_a_restless_round_by_quarters() {
        let linux = profiles::linux_6();
        let mut rtt = RoundTrip::new(&linux);
        let calm = Span::from_millis(100);
        (0..100).for_each(|round| rtt.sample(&linux, calm, round, round));
        rtt.sample(&linux, Span::from_secs(3), 100, 100);
        let restless = rtt.variance;
        assert!(restless > Span::from_millis(700).nanos(), "{restless}");
        (101..300).for_each(|round| rtt.sample(&linux, calm, round, round));
        let timeout = rtt.timeout().seconds();
        assert!((timeout - 0.3).abs() < 1e-3, "{timeout}");
    }

    /// The variance rises with the first sample that deviates more (Linux: tcp_rtt_estimator): 100 ms after a round
    /// trip of 100 ms are a deviation of 62.5 ms, four of which are 250 ms.
    #[test]
    fn linux_raises_the_timeout_at_once() {
        let linux = profiles::linux_6();
        let mut rtt = RoundTrip::new(&linux);
        rtt.sample(&linux, Span::from_millis(100), 0, 10);
        rtt.sample(&linux, Span::from_millis(200), 1, 11);
        assert_eq!(rtt.smoothed(), Span::from_micros(112_500));
        assert_eq!(rtt.timeout(), Span::from_micros(112_500 + 250_000));
    }

    #[test]
    fn the_least_is_forgotten_after_its_lifetime() {
        let mut rtt = RoundTrip::new(&profiles::linux_6());
        rtt.sample_min(Time::START, Span::from_millis(40));
        rtt.sample_min(Time::START + MIN_LIFETIME, Span::from_millis(50));
        assert_eq!(rtt.min(), Span::from_millis(40));
        rtt.sample_min(Time::START + MIN_LIFETIME * 2, Span::from_millis(60));
        assert_eq!(rtt.min(), Span::from_millis(60));
    }

    #[test]
    fn linux_puts_the_floor_under_the_variance() {
        let linux = profiles::linux_6();
        let mut rtt = RoundTrip::new(&linux);
        assert_eq!(rtt.timeout(), Span::from_secs(1));
        for round in 0..100 {
            rtt.sample(&linux, Span::from_millis(100), round, round);
        }
        let timeout = rtt.timeout().seconds();
        assert!((timeout - 0.3).abs() < 1e-3, "{timeout}");
        let xp = profiles::windows_xp();
        let mut rtt = RoundTrip::new(&xp);
        for round in 0..100 {
            rtt.sample(&xp, Span::from_millis(100), round, round);
        }
        assert_eq!(rtt.timeout(), xp.min_rto_ns);
    }
}
