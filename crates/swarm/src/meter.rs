//! The rate meter (`clients.md` A.6): a cumulative mean at first, then roughly exponential with the
//! window as its time constant.

use crate::profile::MeterRules;
use flashcrowd_base::Time;

/// A rate in bytes per second, from what arrived when. Reading it is a measurement of zero bytes
/// and moves its state, as in mainline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meter {
    rate: f64,
    // Signed: a meter pretends to have begun before the run did.
    since: i64,
    last: i64,
}

/// Two blocks at one instant must not yield an infinite rate.
const MIN_SPAN: i64 = 1_000_000;

fn nanos(time: Time) -> i64 {
    i64::try_from(time.nanos()).unwrap_or(i64::MAX)
}

impl Meter {
    /// Created now, but counting from `head_start_ns` earlier.
    pub fn new(now: Time, rules: &MeterRules) -> Meter {
        let head_start = i64::try_from(rules.head_start_ns.nanos()).unwrap_or(i64::MAX);
        let since = nanos(now).saturating_sub(head_start);
        Meter { rate: 0.0, since, last: since }
    }
    /// Counting from now on only.
    pub fn fresh(now: Time) -> Meter {
        Meter { rate: 0.0, since: nanos(now), last: nanos(now) }
    }
    /// `bytes` arrived.
    pub fn update(&mut self, now: Time, bytes: u32, rules: &MeterRules) {
        let now = nanos(now);
        let before = (self.last - self.since) as f64;
        let span = (now - self.since).max(MIN_SPAN) as f64;
        self.rate = (self.rate * before + f64::from(bytes) * 1e9) / span;
        self.last = now.max(self.since + MIN_SPAN);
        let window = i64::try_from(rules.window_ns.nanos()).unwrap_or(i64::MAX);
        self.since = self.since.max(now.saturating_sub(window));
    }
    /// Bytes per second.
    pub fn rate(&mut self, now: Time, rules: &MeterRules) -> f64 {
        self.update(now, 0, rules);
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;
    use flashcrowd_base::Span;

    fn rules() -> MeterRules {
        named("mainline-4.0.2").unwrap().meter
    }
    fn at(seconds: f64) -> Time {
        Time::START + Span::from_seconds(seconds)
    }

    #[test]
    fn the_first_block_is_spread_over_the_head_start() {
        let mut meter = Meter::new(at(0.0), &rules());
        meter.update(at(5.0), 10_000, &rules());
        assert!((meter.rate(at(5.0), &rules()) - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn a_steady_stream_on_an_old_connection_is_known_to_one_minus_e_to_the_minus_t_over_window() {
        let mut meter = Meter::new(at(0.0), &rules());
        meter.rate(at(1000.0), &rules());
        for step in 1..=400 {
            meter.update(at(1000.0 + f64::from(step) * 0.1), 1000, &rules());
        }
        let expected = 10_000.0 * (1.0 - libm::exp(-2.0));
        let rate = meter.rate(at(1040.0), &rules());
        assert!((rate - expected).abs() < 100.0, "{rate} {expected}");
    }

    #[test]
    fn a_fresh_meter_knows_the_rate_after_the_first_block() {
        let mut meter = Meter::fresh(at(1000.0));
        meter.update(at(1003.2), 16_384, &rules());
        assert!((meter.rate(at(1003.2), &rules()) - 5120.0).abs() < 1e-3);
    }

    #[test]
    fn the_formula_step_by_step() {
        let mut meter = Meter::new(at(10.0), &rules());
        meter.update(at(20.0), 30_000, &rules());
        // (0 x 0 + 30000) / (20 - 5), then the start stays at 5.
        assert!((meter.rate - 2000.0).abs() < 1e-9);
        meter.update(at(35.0), 6_000, &rules());
        // (2000 x 15 + 6000) / 30, then the start moves to 15.
        assert!((meter.rate - 1200.0).abs() < 1e-9);
        meter.update(at(40.0), 0, &rules());
        assert!((meter.rate - 1200.0 * 20.0 / 25.0).abs() < 1e-9);
    }

    #[test]
    fn blocks_at_one_instant_keep_the_rate_finite() {
        let mut meter = Meter::fresh(at(1.0));
        meter.update(at(1.0), 16_384, &rules());
        meter.update(at(1.0), 16_384, &rules());
        assert!(meter.rate(at(1.0), &rules()).is_finite());
    }
}
