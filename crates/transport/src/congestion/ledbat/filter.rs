use flashcrowd_base::{Span, Time};

/// The most samples that can be kept.
pub(super) const MAX_SAMPLES: usize = 16;

/// The last few delays. The least of them is taken for the current delay, which ignores what only
/// some packets had to wait for (RFC 6817, section 2.4.2: CURRENT_FILTER, FILTER).
#[derive(Clone, Debug)]
pub(super) struct Filter {
    len: u8,
    at: u8,
    kept: u8,
    delays: [u32; MAX_SAMPLES],
    /// When each came, in microseconds, wrapping.
    times: [u32; MAX_SAMPLES],
}

fn micros(now: Time) -> u32 {
    (now.nanos() / 1000) as u32
}

impl Filter {
    /// A filter of `samples` samples, empty.
    pub(super) fn new(samples: u32) -> Filter {
        Filter {
            len: samples.clamp(1, MAX_SAMPLES as u32) as u8,
            at: 0,
            kept: 0,
            delays: [0; MAX_SAMPLES],
            times: [0; MAX_SAMPLES],
        }
    }

    /// A filter that begins with `samples` samples of 0.
    pub(super) fn zeros(samples: u32) -> Filter {
        let filter = Filter::new(samples);
        Filter { kept: filter.len, ..filter }
    }

    /// Takes a sample in place of the oldest.
    #[inline]
    pub(super) fn push(&mut self, now: Time, delay: u32) {
        let at = usize::from(self.at);
        self.delays[at] = delay;
        self.times[at] = micros(now);
        self.kept = self.kept.max(self.at + 1);
        self.at = if self.at + 1 == self.len { 0 } else { self.at + 1 };
    }

    /// Least of the samples, as a distance above `base`; below it counts as at it. `None` without
    /// any.
    #[inline]
    pub(super) fn min_above(&self, base: u32) -> Option<u32> {
        self.delays[..usize::from(self.kept)]
            .iter()
            .map(|delay| (delay.wrapping_sub(base) as i32).max(0) as u32)
            .min()
    }

    /// The same of those that are no older than `age`.
    #[inline]
    pub(super) fn min_recent_above(&self, base: u32, now: Time, age: Span) -> Option<u32> {
        let now = micros(now);
        let age = (age.nanos() / 1000).min(u64::from(u32::MAX)) as u32;
        let kept = usize::from(self.kept);
        (self.delays[..kept].iter().zip(&self.times[..kept]))
            .filter(|(_, time)| now.wrapping_sub(**time) <= age)
            .map(|(delay, _)| (delay.wrapping_sub(base) as i32).max(0) as u32)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_of_the_last_few_counts() {
        let mut filter = Filter::new(3);
        assert_eq!(filter.min_above(0), None);
        for (delay, min) in [(30, 30), (20, 20), (40, 20), (50, 20), (60, 40)] {
            filter.push(Time::START, delay);
            assert_eq!(filter.min_above(0), Some(min));
        }
        assert_eq!(filter.min_above(45), Some(0), "below the base is at the base");
        let mut zeros = Filter::zeros(2);
        zeros.push(Time::START, 7);
        assert_eq!(zeros.min_above(0), Some(0));
        zeros.push(Time::START, 9);
        assert_eq!(zeros.min_above(0), Some(7));
    }

    #[test]
    fn old_samples_can_be_left_out() {
        let mut filter = Filter::new(4);
        let at = |ms| Time::START + Span::from_millis(ms);
        filter.push(at(0), 10);
        filter.push(at(100), 30);
        filter.push(at(150), 20);
        let recent =
            |filter: &Filter, ms| filter.min_recent_above(5, at(ms), Span::from_millis(60));
        assert_eq!(recent(&filter, 150), Some(15));
        assert_eq!(filter.min_recent_above(5, at(150), Span::from_millis(200)), Some(5));
        assert_eq!(recent(&filter, 300), None);
        // 71.6 minutes later the clock of the samples has wrapped.
        let wrapped = at(0) + Span::from_micros(1 << 32);
        filter.push(wrapped, 12);
        assert_eq!(filter.min_recent_above(5, wrapped, Span::ZERO), Some(5));
    }

    proptest! {
        #[test]
        fn neither_offset_nor_wrap_matters(
            offset: u32,
            len in 1u32..=16,
            delays in prop::collection::vec(0u32..10_000_000, 1..50),
        ) {
            let (mut plain, mut shifted) = (Filter::new(len), Filter::new(len));
            for (index, &delay) in delays.iter().enumerate() {
                plain.push(Time::START, delay);
                shifted.push(Time::START, delay.wrapping_add(offset));
                let first = (index + 1).saturating_sub(len as usize);
                let min = delays[first..=index].iter().min().copied();
                prop_assert_eq!(plain.min_above(0), min);
                prop_assert_eq!(shifted.min_above(offset), min);
            }
        }
    }
}
