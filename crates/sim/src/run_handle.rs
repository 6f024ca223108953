use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The link between a run and its starter, on another thread: how far it is, and stop.
#[derive(Debug, Default)]
pub struct RunHandle {
    cancelled: AtomicBool,
    /// Bits of an `f64` between 0 and 1.
    progress: AtomicU64,
}

impl RunHandle {
    /// Asks the run to stop; it returns [`Error::Cancelled`](crate::Error::Cancelled) soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
    /// Whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
    /// Best estimate of the share of the work that is done, between 0 and 1.
    pub fn progress(&self) -> f64 {
        f64::from_bits(self.progress.load(Ordering::Relaxed))
    }
    pub(crate) fn report(&self, progress: f64) {
        self.progress.store(progress.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_is_read() {
        let handle = RunHandle::default();
        assert_eq!(handle.progress(), 0.0);
        for (reported, read) in [(0.25, 0.25), (1.5, 1.0), (-0.5, 0.0), (0.75, 0.75)] {
            handle.report(reported);
            assert_eq!(handle.progress(), read);
        }
        assert!(!handle.is_cancelled());
        handle.cancel();
        assert!(handle.is_cancelled());
    }
}
