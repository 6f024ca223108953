use super::job::Job;
use crate::clock::Clock;
use crate::pace::{Due, Pace, PaceReport};
use flashcrowd_origin::disk::Medium;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A disk that is only thought of: what is read is kept back until that one would have it.
#[derive(Debug)]
pub(super) struct Paced {
    clock: Clock,
    pace: Mutex<Pace>,
}

/// A read's place among those of such a disk.
#[derive(Debug)]
pub(super) struct Turn {
    paced: Arc<Paced>,
    due: Due,
}

impl Paced {
    pub(super) fn new(medium: &Medium, clock: Clock) -> Arc<Paced> {
        Arc::new(Paced { clock, pace: Mutex::new(Pace::new(medium)) })
    }

    /// It is asked for a read.
    pub(super) fn ask(self: &Arc<Self>, job: &Job) -> Turn {
        let (file, size, length) =
            (job.file.id.number(), job.file.version.length, job.buffer.len() as u32);
        let due = self.lock().ask(self.clock.now(), file, size, job.offset, length);
        Turn { paced: Arc::clone(self), due }
    }

    pub(super) fn report(&self) -> PaceReport {
        self.lock().report()
    }

    fn lock(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// How long the read is to be kept back.
    pub(super) fn wait(&self) -> Duration {
        let wait = self.due.at.since(self.paced.clock.now().min(self.due.at));
        Duration::from_nanos(wait.nanos())
    }

    /// The read is delivered now. Late by what the system needs to wake a thread, which the pace takes into account.
    pub(super) fn delivered(self) {
        self.paced.lock().deliver(self.paced.clock.now(), self.due);
    }
}
