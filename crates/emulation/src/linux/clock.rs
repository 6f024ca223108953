use flashcrowd_base::{Span, Time};
use rustix::thread::ClockId;
use rustix::time::{ClockId as AnyClock, Timespec, clock_gettime};
use std::io;
use std::num::NonZeroU64;

/// The monotonic clock (CLOCK_MONOTONIC), counted from the begin of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begin_ns: u64,
}

fn nanos(at: Timespec) -> u64 {
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// The monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    nanos(clock_gettime(AnyClock::Monotonic))
}

impl Clock {
    /// A run that begins at this instant.
    pub(crate) fn beginning_at(begin_ns: u64) -> Clock {
        Clock { begin_ns }
    }

    /// The same clock, of a run that begins `earlier_ns` nanoseconds earlier.
    pub(crate) fn moved(self, earlier_ns: i64) -> Clock {
        Clock { begin_ns: self.begin_ns.saturating_add_signed(-earlier_ns) }
    }

    /// Now; the start as long as the run has not begun.
    pub(crate) fn now(self) -> Time {
        Time::from_nanos(monotonic_ns().saturating_sub(self.begin_ns))
    }

    /// Sleeps until an instant of the run.
    pub(crate) fn sleep_until(self, at: Time) {
        let until = self.begin_ns + at.nanos();
        let request = Timespec {
            tv_sec: (until / 1_000_000_000) as i64,
            tv_nsec: (until % 1_000_000_000) as i64,
        };
        while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &request).is_err() {}
    }
}

/// The processor time of the calling thread.
pub(crate) fn thread_time() -> Span {
    Span::from_nanos(nanos(clock_gettime(AnyClock::ThreadCPUTime)))
}

/// Wakes the calling thread when it asks to be woken, not up to 50 us later.
pub(crate) fn wake_punctually() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

/// Runs the calling thread before all others that have no real-time priority, or after all the same no
/// more. Whether the system allows it.
pub fn set_real_time(wanted: bool) -> bool {
    let (policy, priority) = if wanted { (libc::SCHED_FIFO, 10) } else { (libc::SCHED_OTHER, 0) };
    set_policy(policy, priority).is_ok()
}

/// Runs the calling thread when no other wants to.
pub(super) fn set_idle() -> io::Result<()> {
    set_policy(libc::SCHED_IDLE, 0)
}

#[allow(unsafe_code, reason = "no safe crate sets the policy of a thread")]
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads the parameters, which live until it returns; 0 is the calling thread.
    let failed = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
