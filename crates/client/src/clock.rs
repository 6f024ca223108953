use flashcrowd_base::Time;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The system's monotonic clock, which other programs of this machine read, too: instants of a peer are instants of
/// Python's `time.monotonic`. The one place here where a clock is read.
pub(crate) fn now() -> Time {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(tv_sec).unwrap_or(0);
    Time::from_nanos(seconds * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or(0))
}

/// From one instant to a later one, for the system.
pub(crate) fn until(now: Time, then: Time) -> Timespec {
    let nanos = then.nanos().saturating_sub(now.nanos());
    // 64 bits of nanoseconds are five hundred years.
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}
