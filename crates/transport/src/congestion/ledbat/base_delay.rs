use flashcrowd_base::{Span, Time};

/// The longest history that can be kept.
pub(super) const MOST_SLOTS: usize = 32;
const SLOT: Span = Span::from_secs(60);

/// Whether `a` comes before `b` on a clock that wraps.
#[inline]
pub(super) fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// The least delay of the last minutes, which stands for a path without a queue (RFC 6817,
/// section 2.4.2). One minimum a minute is kept, so that a path that became longer is noticed
/// when the last short one has fallen out.
#[derive(Clone, Debug)]
pub(super) struct BaseDelay {
    least: u32,
    /// Slots in use, the slot being filled, and since when it is.
    len: u8,
    at: u8,
    kept: u8,
    begun: bool,
    /// Samples of this minute, and how many it must have more of before it may end.
    samples: u32,
    least_samples: u32,
    since: Time,
    slots: [u32; MOST_SLOTS],
}

impl BaseDelay {
    /// A history of so many minutes.
    pub(super) fn new(minutes: u32) -> BaseDelay {
        BaseDelay {
            least: 0,
            len: minutes.clamp(1, MOST_SLOTS as u32) as u8,
            at: 0,
            kept: 1,
            begun: false,
            samples: 0,
            least_samples: 0,
            since: Time::START,
            slots: [0; MOST_SLOTS],
        }
    }

    /// A minute ends with more than so many samples only.
    pub(super) fn ending_after(self, samples: u32) -> BaseDelay {
        BaseDelay { least_samples: samples, ..self }
    }

    /// Whether there was a sample.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.begun
    }

    /// The least delay.
    #[inline]
    pub(super) fn least(&self) -> u32 {
        self.least
    }

    /// Takes a sample, and returns how far it lies above the least delay so far.
    #[inline]
    pub(super) fn see(&mut self, now: Time, sample: u32) -> u32 {
        if !self.begun {
            self.begun = true;
            self.since = now;
            self.least = sample;
            self.slots[0] = sample;
        }
        let slot = &mut self.slots[usize::from(self.at)];
        if precedes(sample, *slot) {
            *slot = sample;
        }
        if precedes(sample, self.least) {
            self.least = sample;
        }
        let above = sample.wrapping_sub(self.least);
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
        if self.samples <= self.least_samples {
            return;
        }
        self.samples = 0;
        self.at = (self.at + 1) % self.len;
        self.kept = (self.kept + 1).min(self.len);
        self.slots[usize::from(self.at)] = sample;
        self.least = self.slots[..usize::from(self.kept)]
            .iter()
            .copied()
            .reduce(|a, b| if precedes(b, a) { b } else { a })
            .unwrap_or(sample);
    }

    /// Raises all of the history: it was too low by so much.
    pub(super) fn raise(&mut self, by: u32) {
        for slot in &mut self.slots[..usize::from(self.kept)] {
            *slot = slot.wrapping_add(by);
        }
        self.least = self.least.wrapping_add(by);
    }
}
