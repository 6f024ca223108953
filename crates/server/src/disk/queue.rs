use super::job::Job;
use super::paced::Turn;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Jobs for a thread that waits for the kernel, and is woken by a file descriptor (`eventfd`) when there is a new one.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wakeup: Arc<OwnedFd>,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<(Job, Option<Turn>)>,
    /// There will be no more.
    is_over: bool,
    /// The thread waits, or will before it looks again.
    is_awaited: bool,
}

/// The next work of a thread.
#[derive(Debug)]
pub(super) enum Next {
    Job(Job, Option<Turn>),
    /// Nothing, and it will be woken.
    Later,
    /// Nothing any more.
    Over,
}

impl Queue {
    pub(super) fn new() -> io::Result<Queue> {
        let wakeup = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Queue { state: Mutex::default(), wakeup })
    }

    /// Readable when the thread is to look.
    pub(super) fn wakeup(&self) -> &Arc<OwnedFd> {
        &self.wakeup
    }

    pub(super) fn push(&self, job: Job, turn: Option<Turn>) {
        let mut state = self.lock();
        state.jobs.push_back((job, turn));
        self.wake(state);
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_over = true;
        self.wake(state);
    }

    pub(super) fn next(&self) -> Next {
        let mut state = self.lock();
        match state.jobs.pop_front() {
            Some((job, turn)) => Next::Job(job, turn),
            None if state.is_over => Next::Over,
            None => {
                state.is_awaited = true;
                Next::Later
            }
        }
    }

    /// The thread does not wait any more, and will look: it need not be woken.
    pub(super) fn attend(&self) {
        self.lock().is_awaited = false;
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::take(&mut state.is_awaited) {
            drop(state);
            // It is refused when the count is full, and then the thread is woken as well.
            let _ = rustix::io::write(&self.wakeup, &1u64.to_ne_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
