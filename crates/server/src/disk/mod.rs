mod job;
mod paced;
mod queue;
mod read;
// As the manifest has it of the crate io-uring.
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )),
    path = "no_ring.rs"
)]
mod ring;
mod ring_thread;
mod threads;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use job::{Job, Requester};
pub use paced::{Paced, Turn};

use crate::buffer::Scratch;
use crate::open_file::ALIGNMENT;
use crate::pace::PaceReport;
use crate::settings::Reader;
use flashcrowd_base::Refusal;
use flashcrowd_origin::disk::Medium;
use queue::Queue;
use ring::Ring;
use ring_thread::RingThread;
use std::fmt;
use std::io;
use std::sync::Arc;
use threads::Threads;

/// The readers: one of two ways, which ends when this is dropped and all that was asked for is
/// read.
#[derive(Debug)]
pub(crate) struct Disk {
    way: Backend,
    read_by: ReadBy,
    paced: Option<Arc<Paced>>,
}

#[derive(Debug)]
enum Backend {
    Ring(RingThread),
    Threads(Threads),
}

/// How extents are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadBy {
    /// By the kernel, for one thread that waits for it.
    IoUring,
    /// By threads that wait for one read each; and why not by io_uring, unless threads were asked for.
    Threads(Option<String>),
}

impl fmt::Display for ReadBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadBy::IoUring => f.write_str("by io_uring"),
            ReadBy::Threads(None) => f.write_str("by threads with pread"),
            ReadBy::Threads(Some(why)) => write!(f, "by threads with pread (no io_uring: {why})"),
        }
    }
}

impl Disk {
    /// For `reads` reads at once, of extents of `extent` bytes. With `trial`, they take as long as they would on such
    /// a disk.
    pub(crate) fn start(
        reader: Reader,
        reads: u32,
        extent: u32,
        trial: Option<&Medium>,
    ) -> Result<Disk, Refusal> {
        // Of an extent that is cut by the end of the file the whole unit of the disk is read, which is longer.
        let memory = || (0..reads).map(|_| Scratch::new(extent as usize + ALIGNMENT)).collect();
        let no_threads = |error| {
            let allowed = format!("as many as the system has threads ({error})");
            Refusal::new("reads", reads, allowed)
        };
        let (ring, read_by) = choose(reader, || ring(reads))?;
        let way = match ring {
            Some((queue, ring)) => RingThread::start(queue, ring, memory()).map(Backend::Ring),
            None => Threads::start(memory()).map(Backend::Threads),
        };
        let paced = trial.map(Paced::new);
        Ok(Disk { way: way.map_err(no_threads)?, read_by, paced })
    }

    pub(crate) fn read(&self, job: Job) {
        let turn = self.paced.as_ref().map(|paced| ask(paced, &job));
        match &self.way {
            Backend::Ring(thread) => thread.read(job, turn),
            Backend::Threads(threads) => threads.read(job, turn),
        }
    }

    pub(crate) fn read_by(&self) -> &ReadBy {
        &self.read_by
    }

    /// How a disk that is only thought of keeps its pace.
    pub(crate) fn pace(&self) -> Option<PaceReport> {
        self.paced.as_ref().map(|paced| paced.report())
    }
}

fn ask(paced: &Arc<Paced>, job: &Job) -> Turn {
    let (file, length) = (&job.file, job.buffer.len() as u32);
    paced.ask(file.version.key(), file.version.length, job.offset, length)
}

fn ring(reads: u32) -> io::Result<(Queue, Ring)> {
    let queue = Queue::new()?;
    let ring = Ring::new(reads as usize, Arc::clone(queue.wakeup()))?;
    Ok((queue, ring))
}

/// A ring if it is wished for and there is one; without, threads read.
fn choose<T>(
    reader: Reader,
    ring: impl FnOnce() -> io::Result<T>,
) -> Result<(Option<T>, ReadBy), Refusal> {
    if reader == Reader::Threads {
        return Ok((None, ReadBy::Threads(None)));
    }
    match ring() {
        Ok(ring) => Ok((Some(ring), ReadBy::IoUring)),
        Err(error) if reader == Reader::Auto => Ok((None, ReadBy::Threads(Some(why(&error))))),
        Err(error) => {
            let allowed = format!("auto or threads: there is no io_uring here ({})", why(&error));
            Err(Refusal::new("reader", "io_uring", allowed))
        }
    }
}

/// Why the kernel gives no ring, and what does.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "forbidden by the sysctl kernel.io_uring_disabled, or by a container's filter of system calls"
                .into()
        }
        io::ErrorKind::Unsupported => "Linux reads with it from 5.6 on".into(),
        // Linux before 5.12 takes rings for memory that is locked.
        io::ErrorKind::OutOfMemory => "no memory for it: raise `ulimit -l`".into(),
        _ => error.to_string(),
    }
}
