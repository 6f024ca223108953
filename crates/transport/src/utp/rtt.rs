use super::config::{Backoff, Config, RttEstimator};
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
    /// Of a sliding average: how many samples there were, up to [`SLIDING`].
    samples: u8,
}

/// Samples after which a sliding average forgets (libtorrent: the inverted gain of `m_rtt`).
const SLIDING: u8 = 16;

impl RoundTrip {
    pub(super) fn new(config: &Config) -> RoundTrip {
        RoundTrip {
            smoothed: 0,
            deviation: 0,
            latest: Span::ZERO,
            min: Span::MAX,
            rto: config.initial_rto_ns,
            samples: 0,
        }
    }

    /// A packet is acknowledged; where Karn's rule is in force, which is the caller's, only if it was
    /// `sent_once`.
    #[inline]
    pub(super) fn sample(&mut self, config: &Config, sample: Span, sent_once: bool) {
        let nanos = sample.nanos().max(1);
        if sent_once {
            self.latest = sample;
            self.min = self.min.min(sample);
        }
        if config.rtt_estimator == RttEstimator::SlidingAverage {
            self.slide(sample);
        } else if self.smoothed == 0 {
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

    /// Libtorrent's `sliding_average<int, 16>::add_sample`: whole milliseconds, in 64ths.
    fn slide(&mut self, sample: Span) {
        let unit = 1_000_000i64;
        let sample = 64 * (sample.nanos() / 1_000_000) as i64;
        let before = (self.smoothed >> 3) as i64 * 64 / unit;
        let deviation = (self.deviation >> 2) as i64 * 64 / unit;
        let error = if self.samples > 0 { (before - sample).abs() } else { 0 };
        self.samples = (self.samples + 1).min(SLIDING);
        let mean = before + (sample - before) / i64::from(self.samples);
        let deviation = if self.samples > 1 {
            deviation + (error - deviation) / i64::from(self.samples - 1)
        } else {
            0
        };
        let nanos = |sixty_fourths: i64| (sixty_fourths * unit / 64) as u64;
        // A round trip of no time at all is not "no sample yet".
        self.smoothed = (nanos(mean) << 3).max(8);
        self.deviation = nanos(deviation) << 2;
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

    /// The timeout after `backoff` timeouts in a row.
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
            rtt.sample(&config, Span::from_seconds(sample), true);
            let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-6, "{x} {y}");
            near(rtt.smoothed().seconds(), smoothed);
            near(rtt.timeout(&config, 0).seconds(), smoothed + 4.0 * deviation);
        }
    }

    /// The answers of `sliding_average<int, 16>` of libtorrent's header to the same samples.
    #[test]
    fn samples_slide_as_in_libtorrent() {
        let config = profiles::libtorrent();
        let mut rtt = RoundTrip::new(&config);
        let millis = |span: Span| (span.nanos() + 500_000) / 1_000_000;
        for (sample, mean, deviation) in [
            (100, 100, 0),
            (120, 110, 20),
            (90, 103, 20),
            (400, 178, 112),
            (100, 162, 104),
            (100, 152, 95),
            (0, 130, 105),
            (55, 121, 100),
        ] {
            rtt.sample(&config, Span::from_millis(sample), sample != 400);
            assert_eq!((millis(rtt.smoothed()), millis(rtt.deviation())), (mean, deviation));
        }
        assert_eq!(rtt.latest(), Span::from_millis(55), "of packets that were sent once");
        for sample in 0..40 {
            rtt.sample(&config, Span::from_millis(100 + sample % 7), true);
        }
        assert_eq!((millis(rtt.smoothed()), millis(rtt.deviation())), (104, 9));
    }

    #[test]
    fn timeouts_back_off_as_each_implementation_does() {
        let seconds = |config: &Config| {
            let mut rtt = RoundTrip::new(config);
            rtt.sample(config, Span::from_millis(100), true);
            [0, 1, 2, 3, 9].map(|n| rtt.timeout(config, n).seconds())
        };
        assert_eq!(seconds(&profiles::libutp()), [1.0, 2.0, 4.0, 8.0, 512.0]);
        assert_eq!(seconds(&profiles::libtorrent()), [0.5, 1.5, 2.5, 4.5, 60.0]);
    }
}
