use flashcrowd_base::Time;
use std::time::Duration;
use tokio::time::Instant;

/// The time of the state machines, from the system's monotonic clock. The one place in the house
/// where a clock is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that shows [`BEFORE`] now.
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn started() -> Clock {
        Clock { start: Instant::now() - BEFORE }
    }

    /// The time now.
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn now(self) -> Time {
        let nanos = Instant::now().duration_since(self.start).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// When it will be `time`; `None` if that is further away than any timer needs to be.
    pub(crate) fn instant(self, time: Time) -> Option<Instant> {
        self.start.checked_add(Duration::from_nanos(time.nanos()))
    }
}

/// What a clock shows when it starts: packets of the first microsecond must not carry the timestamp
/// 0, which means none (BEP 29).
const BEFORE: Duration = Duration::from_millis(1);
