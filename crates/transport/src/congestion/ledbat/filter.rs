use flashcrowd_base::{Span, Time};

/// The most samples that can be kept.
pub(super) const MOST_SAMPLES: usize = 16;

/// The last few delays. The least of them is taken for the current delay, which ignores what only
/// some packets had to wait for (RFC 6817, section 2.4.2: CURRENT_FILTER, FILTER).
#[derive(Clone, Debug)]
pub(super) struct Filter {
    len: u8,
    at: u8,
    kept: u8,
    delays: [u32; MOST_SAMPLES],
    /// When each came, in microseconds, wrapping.
    times: [u32; MOST_SAMPLES],
}

fn micros(now: Time) -> u32 {
    (now.nanos() / 1000) as u32
}

impl Filter {
    /// Holds so many samples, and none yet.
    pub(super) fn new(samples: u32) -> Filter {
        Filter {
            len: samples.clamp(1, MOST_SAMPLES as u32) as u8,
            at: 0,
            kept: 0,
            delays: [0; MOST_SAMPLES],
            times: [0; MOST_SAMPLES],
        }
    }

    /// Begins with so many samples of 0.
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
    pub(super) fn least_above(&self, base: u32) -> Option<u32> {
        self.delays[..usize::from(self.kept)]
            .iter()
            .map(|delay| (delay.wrapping_sub(base) as i32).max(0) as u32)
            .min()
    }

    /// The same of those that are no older than `age`.
    #[inline]
    pub(super) fn least_recent_above(&self, base: u32, now: Time, age: Span) -> Option<u32> {
        let now = micros(now);
        let age = (age.nanos() / 1000).min(u64::from(u32::MAX)) as u32;
        let kept = usize::from(self.kept);
        (self.delays[..kept].iter().zip(&self.times[..kept]))
            .filter(|(_, time)| now.wrapping_sub(**time) <= age)
            .map(|(delay, _)| (delay.wrapping_sub(base) as i32).max(0) as u32)
            .min()
    }
}
