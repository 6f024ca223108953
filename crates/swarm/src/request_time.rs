//! How long a neighbour may take for its next block: the mean of the last intervals and four deviations
//! (libtorrent: `aux::sliding_average`, `peer_connection::request_timeout`).

use flashcrowd_base::Span;

/// How many intervals the mean follows.
const GAIN: i64 = 20;
/// A millisecond of the sums.
const FIXED_POINT: i64 = 64;
/// It is looked at once a second.
const MIN: Span = Span::from_secs(2);

/// The times between blocks of one neighbour, or from its only request to the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTime {
    mean: i64,
    deviation: i64,
    samples: i64,
}

impl RequestTime {
    /// A block came `interval` after the one before.
    pub fn add(&mut self, interval: Span) {
        let sample = (interval.nanos() / 1_000_000) as i64 * FIXED_POINT;
        let deviation = if self.samples > 0 { (self.mean - sample).abs() } else { 0 };
        self.samples = (self.samples + 1).min(GAIN);
        self.mean += (sample - self.mean) / self.samples;
        if self.samples > 1 {
            self.deviation += (deviation - self.deviation) / (self.samples - 1);
        }
    }
    /// The time after which it is late, in whole seconds; `max` before anything came.
    pub fn timeout(&self, max: Span) -> Span {
        let millis = |sum: i64| (sum + FIXED_POINT / 2) / FIXED_POINT;
        let mean = millis(self.mean);
        let late = match self.samples {
            0 => return max,
            1 => mean + mean / 5,
            _ => mean + 4 * millis(self.deviation),
        };
        Span::from_secs(late.max(0).cast_unsigned().div_ceil(1000)).min(max).max(MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand from libtorrent's rule, in milliseconds and seconds.
    #[test]
    fn late_is_what_takes_longer_than_the_mean_and_four_deviations() {
        let max = Span::from_secs(60);
        let mut time = RequestTime::default();
        let mut after = |millis| {
            time.add(Span::from_millis(millis));
            time.timeout(max)
        };
        assert_eq!(after(10_000), Span::from_secs(12), "one of 10 s: a fifth more");
        // Mean 7.5 s, deviation 5 s.
        assert_eq!(after(5000), Span::from_secs(28));
        // Mean 6.667 s, deviation (5 + 2.5) / 2 s.
        assert_eq!(after(5000), Span::from_secs(22));
        assert_eq!(RequestTime::default().timeout(max), max);
        let mut steady = RequestTime::default();
        (0..50).for_each(|_| steady.add(Span::from_millis(1300)));
        assert_eq!(steady.timeout(max), Span::from_secs(2));
        (0..50).for_each(|_| steady.add(Span::from_secs(200)));
        assert_eq!(steady.timeout(max), max);
    }
}
