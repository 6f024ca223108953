use flashcrowd_base::Time;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The monotonic clock as the origin's time, and the calendar for dates: the one place where clocks are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn started() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The time since the start.
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn now(&self) -> Time {
        let nanos = Instant::now().duration_since(self.start).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The calendar's time.
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn date() -> SystemTime {
        SystemTime::now()
    }

    /// Whole seconds since 1970.
    pub(crate) fn unix() -> u64 {
        Clock::date().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}
