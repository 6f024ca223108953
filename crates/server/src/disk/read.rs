use super::job::Job;
use super::paced::Turn;
use crate::buffer::{Buffer, Scratch};
use crate::open_file::{ALIGNMENT, Progress, ReadOutcome};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// A job that is being carried out, by a thread or by the kernel: with the memory that the system writes into, which
/// does not move with it.
#[derive(Debug)]
pub(super) struct Read {
    job: Job,
    turn: Option<Turn>,
    /// A reader's own memory, for an extent that is shorter than others.
    scratch: Scratch,
    progress: Progress,
    outcome: Option<ReadOutcome>,
}

/// The request to the system in a step of a read.
pub(super) struct Step<'a> {
    pub(super) file: BorrowedFd<'a>,
    pub(super) memory: &'a mut [u8],
    pub(super) at: u64,
}

impl Read {
    pub(super) fn new(mut job: Job, turn: Option<Turn>, scratch: Scratch) -> Read {
        let outcome = match &mut job.buffer {
            // No memory is as bad as no disk: that download fails, others go on.
            Buffer::Whole(region) => region.renew().err().map(|_| ReadOutcome::Failed),
            Buffer::Short(_) => None,
        };
        let progress = Progress::new(job.offset, job.buffer.len());
        Read { job, turn, scratch, progress, outcome }
    }

    /// The next request to the system; nothing when the result of the read is known.
    pub(super) fn step(&mut self) -> Option<Step<'_>> {
        if !self.is_open() {
            return None;
        }
        let memory = match &mut self.job.buffer {
            Buffer::Whole(region) => region.bytes_mut(),
            // Past the page cache whole units of the disk are read, of an extent that is cut by the end of the file, too.
            Buffer::Short(bytes) => {
                let unit = bytes.len().next_multiple_of(ALIGNMENT);
                &mut self.scratch.bytes_mut()[..unit]
            }
        };
        let memory = &mut memory[self.progress.done()..];
        Some(Step { file: self.job.file.as_fd(), memory, at: self.progress.at() })
    }

    /// The system has answered a step.
    pub(super) fn answered(&mut self, answer: Result<usize, Errno>) {
        self.outcome = self.job.file.answered(&mut self.progress, answer);
    }

    /// Whether its result is not known yet.
    pub(super) fn is_open(&self) -> bool {
        self.outcome.is_none()
    }

    /// How long it is to be kept back, for a disk that is only thought of.
    pub(super) fn wait(&self) -> Duration {
        self.turn.as_ref().map_or(Duration::ZERO, Turn::wait)
    }

    /// Gives the result to its requester; the reader's own memory is free again.
    pub(super) fn end(self) -> Scratch {
        let Read { job, turn, mut scratch, outcome, .. } = self;
        let Job { requester, read, file, slot, mut buffer, .. } = job;
        if let Buffer::Short(bytes) = &mut buffer {
            let length = bytes.len();
            bytes.copy_from_slice(&scratch.bytes_mut()[..length]);
        }
        if let Some(turn) = turn {
            turn.delivered();
        }
        let outcome = outcome.unwrap_or(ReadOutcome::Failed);
        requester.completed(read, slot, buffer, &file, &outcome);
        scratch
    }
}
