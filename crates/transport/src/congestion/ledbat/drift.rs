use flashcrowd_base::{Span, Time};

const SLOT: Span = Span::from_secs(5);
/// Microseconds per slot that are believed to be a bad clock and no more.
const TOLERATED: i32 = -200_000;

/// How fast the clocks drift apart, as libutp estimates it: the mean delay of each 5 seconds less that
/// of the 5 before, an eighth of it new. A sender whose clock runs slow sees its delays shrink and
/// would take more than its share.
#[derive(Clone, Debug)]
pub(super) struct Drift {
    /// Microseconds per slot.
    drift: i32,
    average: i32,
    /// Delays are averaged as distances from here.
    base: Option<u32>,
    sum: i64,
    samples: u32,
    slot_end: Time,
}

impl Drift {
    pub(super) fn new(now: Time) -> Drift {
        Drift { drift: 0, average: 0, base: None, sum: 0, samples: 0, slot_end: now + SLOT }
    }

    #[inline]
    pub(super) fn see(&mut self, now: Time, delay: u32) {
        let base = *self.base.get_or_insert(delay);
        self.sum += i64::from(delay.wrapping_sub(base) as i32);
        self.samples += 1;
        if now > self.slot_end {
            self.end_slot(base);
        }
    }

    #[cold]
    fn end_slot(&mut self, base: u32) {
        let mut before = self.average;
        self.average = (self.sum / i64::from(self.samples)) as i32;
        self.slot_end += SLOT;
        (self.sum, self.samples) = (0, 0);
        // Only the slope counts: stay near zero, so that nothing wraps.
        let (min, max) = (before.min(self.average), before.max(self.average));
        let shift = if min > 0 {
            min
        } else if max < 0 {
            max
        } else {
            0
        };
        self.base = Some(base.wrapping_add_signed(shift));
        self.average -= shift;
        before -= shift;
        let change = i64::from(self.average) - i64::from(before);
        self.drift = ((i64::from(self.drift) * 7 + change) / 8) as i32;
    }

    /// The addition to the delay of a sender whose clock runs slow, in microseconds.
    #[inline]
    pub(super) fn penalty(&self) -> i32 {
        if self.drift < TOLERATED { (TOLERATED - self.drift) / 7 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten samples a second of a clock that gains `gain` microseconds per second.
    fn penalty(gain: i64, seconds: u64, offset: u32) -> i32 {
        let mut drift = Drift::new(Time::START);
        for tenth in 0..seconds * 10 {
            let now = Time::START + Span::from_millis(100 * tenth);
            drift.see(now, offset.wrapping_add((gain * tenth as i64 / 10) as u32));
        }
        drift.penalty()
    }

    #[test]
    fn only_a_clock_that_is_far_too_slow_pays() {
        assert_eq!(penalty(0, 300, 5), 0);
        assert_eq!(penalty(-100, 300, 5), 0, "100 ppm, a bad crystal");
        assert_eq!(penalty(80_000, 300, 5), 0, "fast clocks only hurt themselves");
        // 8 % slow: 400 ms per slot of 5 s, 200 of them tolerated, a seventh of the rest.
        let paid = penalty(-80_000, 300, 5);
        assert!((28_000..=28_571).contains(&paid), "{paid}");
        let paid_for_long = penalty(-80_000, 30_000, 5);
        assert!((28_570..=28_571).contains(&paid_for_long), "more than 2^31 us: {paid_for_long}");
        for offset in [0, 1 << 31, u32::MAX - 10] {
            assert_eq!(penalty(-80_000, 300, offset), paid, "wherever it wraps");
        }
    }
}
