use flashcrowd_base::{Span, Time};

/// The longest history that can be kept.
pub(super) const MAX_SLOTS: usize = 32;
const SLOT: Span = Span::from_secs(60);

/// Whether `a` comes before `b` on a clock that wraps.
#[inline]
pub(super) fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// The least delay of the last minutes, the estimate for a path without a queue (RFC 6817, section
/// 2.4.2). One minimum a minute is kept, so that a path that became longer is noticed when the last
/// short one has fallen out.
#[derive(Clone, Debug)]
pub(super) struct BaseDelay {
    min: u32,
    /// Slots in use, the slot being filled, and since when it is.
    len: u8,
    at: u8,
    kept: u8,
    begun: bool,
    /// Samples of this minute, and how many it must have more of before it may end.
    samples: u32,
    min_samples: u32,
    since: Time,
    slots: [u32; MAX_SLOTS],
}

impl BaseDelay {
    /// A history of `minutes` minutes that begins now.
    pub(super) fn new(minutes: u32, now: Time) -> BaseDelay {
        BaseDelay {
            min: 0,
            len: minutes.clamp(1, MAX_SLOTS as u32) as u8,
            at: 0,
            kept: 1,
            begun: false,
            samples: 0,
            min_samples: 0,
            since: now,
            slots: [0; MAX_SLOTS],
        }
    }

    /// The same, where a minute ends only with more than `samples` samples.
    pub(super) fn ending_after(self, samples: u32) -> BaseDelay {
        BaseDelay { min_samples: samples, ..self }
    }

    /// Whether there was a sample.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.begun
    }

    /// The least delay.
    #[inline]
    pub(super) fn min(&self) -> u32 {
        self.min
    }

    /// Takes a sample, and returns its distance above the least delay.
    #[inline]
    pub(super) fn see(&mut self, now: Time, sample: u32) -> u32 {
        if !self.begun {
            self.begun = true;
            self.min = sample;
            self.slots[0] = sample;
        }
        let slot = &mut self.slots[usize::from(self.at)];
        if precedes(sample, *slot) {
            *slot = sample;
        }
        if precedes(sample, self.min) {
            self.min = sample;
        }
        let above = sample.wrapping_sub(self.min);
        self.samples = self.samples.saturating_add(1);
        if now.since(self.since) > SLOT {
            self.go_on(now, sample);
        }
        above
    }

    /// The minute is over: a new one begins with this sample.
    #[cold]
    fn go_on(&mut self, now: Time, sample: u32) {
        self.since = now;
        if self.samples <= self.min_samples {
            return;
        }
        self.samples = 0;
        self.at = (self.at + 1) % self.len;
        self.kept = (self.kept + 1).min(self.len);
        self.slots[usize::from(self.at)] = sample;
        self.min = self.slots[..usize::from(self.kept)]
            .iter()
            .copied()
            .reduce(|a, b| if precedes(b, a) { b } else { a })
            .unwrap_or(sample);
    }

    /// Raises all of the history by `by` microseconds, by which it was too low.
    pub(super) fn raise(&mut self, by: u32) {
        for slot in &mut self.slots[..usize::from(self.kept)] {
            *slot = slot.wrapping_add(by);
        }
        self.min = self.min.wrapping_add(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn minute(minutes: u64) -> Time {
        Time::START + Span::from_secs(61 * minutes)
    }

    #[test]
    fn a_minimum_is_kept_for_so_many_minutes() {
        let mut base = BaseDelay::new(3, Time::START);
        base.see(minute(0), 20);
        for later in 1..3 {
            assert_eq!(base.see(minute(later), 50), 30);
            assert_eq!(base.min(), 20);
        }
        // Of this sample the distance is still above the old base; then that is gone.
        assert_eq!(base.see(minute(3), 50), 30);
        assert_eq!((base.min(), base.see(minute(3), 51)), (50, 1));
        base.see(minute(3), 40);
        base.raise(5);
        assert_eq!(base.min(), 45);
    }

    #[test]
    fn a_quiet_minute_goes_on() {
        let mut base = BaseDelay::new(1, Time::START).ending_after(3);
        base.see(minute(0), 20);
        base.see(minute(1), 50);
        assert_eq!(base.min(), 20, "after two samples");
        base.see(minute(2), 50);
        assert_eq!(base.min(), 20, "after three");
        base.see(minute(3), 50);
        assert_eq!(base.min(), 50, "after four");
    }

    proptest! {
        /// Clocks that differ by enough that the samples wrap change no distance.
        #[test]
        fn the_offset_between_clocks_does_not_matter(
            offset: u32,
            samples in prop::collection::vec((0u64..30, 0u32..2_000_000), 1..200),
        ) {
            let (mut here, mut there) = (BaseDelay::new(10, Time::START), BaseDelay::new(10, Time::START));
            let mut now = Time::START;
            for (wait, delay) in samples {
                now += Span::from_secs(wait);
                let shifted = delay.wrapping_add(offset);
                prop_assert_eq!(here.see(now, delay), there.see(now, shifted));
                prop_assert_eq!(here.min().wrapping_add(offset), there.min());
            }
        }

        /// A clock that drifts moves the base by no more than it drifts in the time that is kept, and
        /// where delays shrink none of that makes them look greater. (A history of one minute forgets
        /// the path each time that it begins with a queue, so it is left out.)
        #[test]
        fn drift_matters_for_as_long_as_the_history_is(
            offset: u32,
            ppm in -200i64..=200,
            minutes in 2u32..=10,
            queues in prop::collection::vec(0u32..50_000, 600),
        ) {
            let mut base = BaseDelay::new(minutes, Time::START);
            for (second, queue) in queues.into_iter().enumerate() {
                let now = Time::START + Span::from_secs(second as u64);
                // Every tenth sample meets no queue.
                let queue = if second % 10 == 0 { 0 } else { queue };
                let drifted = (ppm * second as i64) as u32;
                let sample = drifted.wrapping_add(queue).wrapping_add(offset);
                let above = base.see(now, sample);
                let kept = i64::from(minutes).min(second as i64 / 60 + 1) * 62;
                let error = i64::from(above) - i64::from(queue);
                let worst = ppm.abs() * kept.max(11);
                prop_assert!(error.abs() <= worst, "{error} at {second} s");
                if ppm <= 0 {
                    prop_assert!(error <= 0, "{error} at {second} s");
                }
            }
        }
    }
}
