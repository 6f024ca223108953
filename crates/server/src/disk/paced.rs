use crate::clock::Clock;
use crate::pace::{Due, Pace, PaceReport};
use flashcrowd_origin::disk::Medium;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A disk that is only thought of: what is read is kept back until that one would have it.
#[derive(Debug)]
pub struct Paced {
    clock: Clock,
    pace: Mutex<Pace>,
}

/// A read's place among those of such a disk.
#[derive(Debug)]
pub struct Turn {
    paced: Arc<Paced>,
    due: Due,
}

impl Paced {
    /// Such a disk, at rest; its time begins now.
    pub fn new(medium: &Medium) -> Arc<Paced> {
        Arc::new(Paced { clock: Clock::started(), pace: Mutex::new(Pace::new(medium)) })
    }

    /// It is asked for `length` bytes of a file from `offset` on. `file` says which one, as device and inode do; `size`
    /// is the file's length.
    pub fn ask(self: &Arc<Self>, file: (u64, u64), size: u64, offset: u64, length: u32) -> Turn {
        let due = self.lock().ask(self.clock.now(), file, size, offset, length);
        Turn { paced: Arc::clone(self), due }
    }

    /// How it has kept its pace.
    pub fn report(&self) -> PaceReport {
        self.lock().report()
    }

    fn lock(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// How long the read is to be kept back.
    pub fn wait(&self) -> Duration {
        let wait = self.due.at.since(self.paced.clock.now().min(self.due.at));
        Duration::from_nanos(wait.nanos())
    }

    /// The read is delivered now. Late by what the system needs to wake a thread, which the pace takes into account.
    pub fn delivered(self) {
        self.paced.lock().deliver(self.paced.clock.now(), self.due);
    }
}
