use super::config::{Backoff, Config};
use flashcrowd_base::Span;

/// Round-trip estimates and the retransmission timeout (RFC 6298, BEP 29).
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    /// Eight times the smoothed round trip, and four times its mean deviation, in nanoseconds.
    smoothed: u64,
    deviation: u64,
    latest: Span,
    min: Span,
    rto: Span,
}

impl RoundTrip {
    pub(super) fn new(config: &Config) -> RoundTrip {
        RoundTrip {
            smoothed: 0,
            deviation: 0,
            latest: Span::ZERO,
            min: Span::MAX,
            rto: config.initial_rto_ns,
        }
    }

    /// A packet that was sent once is acknowledged (Karn's rule is the caller's).
    #[inline]
    pub(super) fn sample(&mut self, config: &Config, sample: Span) {
        let nanos = sample.nanos().max(1);
        self.latest = sample;
        self.min = self.min.min(sample);
        if self.smoothed == 0 {
            self.smoothed = nanos << 3;
            self.deviation = nanos << 1;
        } else {
            let error = nanos as i64 - (self.smoothed >> 3) as i64;
            let change = error.abs() - (self.deviation >> 2) as i64;
            self.smoothed = self.smoothed.wrapping_add_signed(error);
            self.deviation = self.deviation.wrapping_add_signed(change);
        }
        let spread = (self.deviation >> 2) * u64::from(config.rto_deviations);
        let rto = Span::from_nanos((self.smoothed >> 3) + spread);
        self.rto = rto.max(config.min_rto_ns).min(config.max_rto_ns);
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

    /// The timeout after so many timeouts in a row.
    #[inline]
    pub(super) fn timeout(&self, config: &Config, timeouts: u32) -> Span {
        if timeouts == 0 {
            return self.rto;
        }
        let longer = match config.backoff {
            Backoff::Doubling => self.rto * (1 << timeouts.min(30)),
            Backoff::Seconds => self.rto + Span::from_secs(1 << (timeouts - 1).min(30)),
        };
        longer.min(config.max_rto_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::profiles;
    use super::*;

    /// The vector of ns-3's test of its mean-deviation estimator, which follows RFC 6298.
    #[test]
    fn samples_are_smoothed_as_in_rfc_6298() {
        let config = profiles::rfc6817();
        let mut rtt = RoundTrip::new(&config);
        for (sample, smoothed, deviation) in
            [(1.0, 1.0, 0.5), (1.2, 1.025, 0.425), (0.9, 1.009375, 0.35)]
        {
            rtt.sample(&config, Span::from_seconds(sample));
            let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-6, "{x} {y}");
            near(rtt.smoothed().seconds(), smoothed);
            near(rtt.timeout(&config, 0).seconds(), smoothed + 4.0 * deviation);
        }
    }

    #[test]
    fn timeouts_back_off_as_each_implementation_does() {
        let seconds = |config: &Config| {
            let mut rtt = RoundTrip::new(config);
            rtt.sample(config, Span::from_millis(100));
            [0, 1, 2, 3, 9].map(|n| rtt.timeout(config, n).seconds())
        };
        assert_eq!(seconds(&profiles::libutp()), [1.0, 2.0, 4.0, 8.0, 512.0]);
        assert_eq!(seconds(&profiles::libtorrent()), [0.5, 1.5, 2.5, 4.5, 60.0]);
    }
}
