//! A part of the uplink that stays free, for people who play or call.
//!
//! A client sends in bursts, and a packet of a game waits for the burst before it: with today's limiters for up to half a
//! second times the limit over the capacity. No limit near the capacity can mend that. So the limit stays at a share of the
//! capacity. The capacity is known without a queue that stands: the part of the probes that wait is the part of the time in which
//! the uplink is busy (see [`Occupancy`]). Traffic of others counts as well, and the upload makes room for it.

use super::occupancy::Occupancy;
use crate::parameter::parameters;
use flashcrowd_base::Span;

parameters! {
    /// The limit stays at a share of the capacity that was found; no trial goes above it.
    AutolimitDelay {
        /// The share of the uplink's capacity that the upload may take. At 0.4 the longest wait for a burst of the usual limiter is 0.2 s.
        share: f64 = 0.4, 0.1..=0.9;
    }
}

/// How often it probes: no simple part of the tick of the usual limiter (0.5 s), so that probes meet all phases of its bursts, and
/// the part of them that waits is the part of the time.
pub(super) const PROBE_PERIOD: Span = Span::from_millis(370);

/// Probes that waited, from which on their part is believed: its error is then a third.
const BELIEVED: f64 = 8.0;

/// The limit never falls below this part of what was found, whatever others send: peers still get something.
const LEAST: f64 = 0.3;

/// The known capacity, and the part of it that the upload may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserve {
    share: f64,
    line: Occupancy,
    /// The highest limit in bytes per second by a queue that stood; infinite without one.
    ceiling: f64,
}

impl Reserve {
    pub(super) fn new(parameters: &AutolimitDelay) -> Reserve {
        Reserve { share: parameters.share, line: Occupancy::default(), ceiling: f64::INFINITY }
    }

    /// A window at this upload, in bytes per second: how many of its probes waited, and how many there were.
    pub(super) fn note(&mut self, upload: f64, probes: (usize, usize)) {
        self.line.fade();
        self.line.note(upload, probes);
    }

    /// There was a standing queue at this upload, in bytes per second: that was the capacity.
    pub(super) fn full(&mut self, upload: f64) {
        self.line = Occupancy::default();
        self.ceiling = self.share * upload;
    }

    /// With a download a limit did harm that is no capacity: it is a bound all the same.
    pub(super) fn bound(&mut self, limit: f64) {
        self.ceiling = self.ceiling.min(limit);
    }

    /// The line changed: forget all.
    pub(super) fn forget(&mut self) {
        (self.line, self.ceiling) = (Occupancy::default(), f64::INFINITY);
    }

    /// The share by what is known, however little that is; infinite without anything.
    pub(super) fn guess(&self) -> f64 {
        self.guessed().unwrap_or(f64::INFINITY).min(self.ceiling)
    }

    /// The limit at which a search is over that has come to this one: a few probes that waited are enough to stop.
    pub(super) fn end(&self, limit: f64) -> Option<f64> {
        let share = self.guess();
        (self.line.waits() >= 0.5 * BELIEVED && share <= limit).then_some(share)
    }

    /// The limit, once the capacity is known. Recent bursts say more than a queue of long ago. Below the capacity, an
    /// upload without bursts delays no probe, and then the queue is all that is known.
    pub(super) fn limit(&self) -> Option<f64> {
        if self.line.waits() >= BELIEVED {
            return self.guessed();
        }
        // A queue after a stall comes from what was pent up, and few bursts are enough to see that the line has more.
        let more = if self.line.waits() >= 0.5 * BELIEVED { self.guessed() } else { None };
        self.ceiling.is_finite().then(|| self.ceiling.max(more.unwrap_or(0.0)))
    }

    /// The share by the bursts that were seen, however few.
    fn guessed(&self) -> Option<f64> {
        self.line.capacity().map(|capacity| self.share * capacity)
    }

    /// The part of the found limit that peers get where others leave less than that.
    pub(super) fn least(&self, found: f64) -> Option<f64> {
        self.limit().filter(|wanted| *wanted < LEAST * found).map(|_| LEAST * found)
    }

    /// The next limit after one that is in force: lower at once, higher by a tenth at most.
    pub(super) fn next(&self, limit: f64, found: f64) -> f64 {
        let Some(wanted) = self.limit() else { return limit };
        let next = self.least(found).unwrap_or(wanted).min(1.1 * limit);
        // Less than the error of the estimate is no reason to write.
        if (next - limit).abs() < 0.08 * limit { limit } else { next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: f64 = 125e3;

    /// A line on which as many of ten probes wait as the law says, for `windows` windows.
    fn watched(upload: f64, windows: usize) -> Reserve {
        let mut reserve = Reserve::new(&AutolimitDelay::default());
        for _ in 0..windows {
            reserve.note(upload, ((10.0 * upload / CAPACITY + 0.5) as usize, 10));
        }
        reserve
    }

    #[test]
    fn bursts_tell_the_share_without_a_queue_that_stands() {
        let limit = watched(0.4 * CAPACITY, 20).limit().expect("bursts were seen");
        assert!((0.35..0.4).contains(&(limit / CAPACITY)), "{limit}");
        assert_eq!(watched(0.4 * CAPACITY, 1).limit(), None, "a few probes say little");
    }

    #[test]
    fn an_upload_without_bursts_goes_by_the_queue_that_stood() {
        let mut reserve = watched(0.0, 20);
        assert_eq!(reserve.limit(), None);
        reserve.full(CAPACITY);
        assert_eq!(reserve.limit(), Some(0.4 * CAPACITY));
    }

    /// At 11 kB/s on a line of 125 kB/s one probe in two windows waits.
    #[test]
    fn a_queue_that_was_pent_up_by_a_stall_is_disproved_within_half_a_minute() {
        let mut reserve = Reserve::new(&AutolimitDelay::default());
        let found = 11e3;
        reserve.full(found / 0.4);
        let mut limit = found;
        for window in 0..15 {
            reserve.note(limit, (usize::from(window % 2 == 0), 5));
            limit = reserve.next(limit, found);
        }
        assert!(limit > 1.2 * found, "{limit}");
    }

    #[test]
    fn others_on_the_line_are_given_room_but_not_all_of_it() {
        // Whatever we send, nine of ten probes wait.
        let mut reserve = Reserve::new(&AutolimitDelay::default());
        let found = 60e3;
        let mut limit = found;
        for _ in 0..100 {
            reserve.note(limit, (9, 10));
            limit = reserve.next(limit, found);
        }
        assert!((LEAST * found..0.5 * found).contains(&limit), "{limit}");
    }

    #[test]
    fn the_limit_follows_a_line_that_became_faster_step_by_step() {
        let mut reserve = watched(50e3, 30);
        let (mut limit, mut steps) = (50e3, 0);
        for _ in 0..60 {
            reserve.note(limit, ((10.0 * limit / (2.0 * CAPACITY) + 0.5) as usize, 10));
            let next = reserve.next(limit, 50e3);
            assert!(next <= 1.1 * limit + 1.0);
            steps += u32::from(next != limit);
            limit = next;
        }
        assert!(limit > 80e3 && steps > 3, "{limit} after {steps} steps");
    }
}
