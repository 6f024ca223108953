use crate::buffer::{Buffer, Scratch};
use crate::clock::Clock;
use crate::open_file::{ALIGNMENT, OpenFile, ReadOutcome};
use crate::pace::{Due, Pace, PaceReport};
use flashcrowd_origin::ReadId;
use flashcrowd_origin::disk::Medium;
use std::fmt::Debug;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Who asks for reads, and is told what came of each.
pub(crate) trait Requester: Debug + Send + Sync {
    fn completed(
        self: Arc<Self>,
        read: ReadId,
        slot: u32,
        buffer: Buffer,
        file: &OpenFile,
        outcome: &ReadOutcome,
    );
}

/// A read of an extent.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) requester: Arc<dyn Requester>,
    pub(crate) read: ReadId,
    pub(crate) file: Arc<OpenFile>,
    pub(crate) offset: u64,
    pub(crate) slot: u32,
    pub(crate) buffer: Buffer,
}

/// Threads that read: as many as reads may be under way. They end with the desk.
#[derive(Debug)]
pub(crate) struct Disk {
    jobs: Sender<(Job, Option<Due>)>,
    paced: Option<Arc<Paced>>,
}

/// A disk that is only thought of: what is read is kept back until that one would have it.
#[derive(Debug)]
struct Paced {
    clock: Clock,
    pace: Mutex<Pace>,
}

impl Disk {
    pub(crate) fn start(
        reads: u32,
        extent: u32,
        trial: Option<&Medium>,
        clock: Clock,
    ) -> io::Result<Disk> {
        let (sender, receiver) = channel();
        let jobs = Arc::new(Mutex::new(receiver));
        let paced =
            trial.map(|medium| Arc::new(Paced { clock, pace: Mutex::new(Pace::new(medium)) }));
        for _ in 0..reads {
            let (jobs, paced) = (Arc::clone(&jobs), paced.clone());
            let body = move || work(&jobs, paced.as_deref(), extent as usize);
            thread::Builder::new().name("flashcrowd-disk".into()).spawn(body)?;
        }
        Ok(Disk { jobs: sender, paced })
    }

    pub(crate) fn read(&self, job: Job) {
        let due = self.paced.as_ref().map(|paced| {
            let (file, size) = (job.file.id, job.file.version.length);
            paced.lock().ask(paced.clock.now(), file, size, job.offset, job.buffer.len() as u32)
        });
        // The threads live as long as the sender does.
        let _ = self.jobs.send((job, due));
    }

    /// How a disk that is only thought of keeps its pace.
    pub(crate) fn pace(&self) -> Option<PaceReport> {
        self.paced.as_ref().map(|paced| paced.lock().report())
    }
}

impl Paced {
    fn lock(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a read is due. Late by what the system needs to wake a thread, which the pace takes into account.
    fn deliver(&self, due: Due) {
        let wait = due.at.since(self.clock.now().min(due.at));
        if !wait.is_zero() {
            thread::sleep(Duration::from_nanos(wait.nanos()));
        }
        self.lock().deliver(self.clock.now(), due);
    }
}

fn work(jobs: &Mutex<Receiver<(Job, Option<Due>)>>, paced: Option<&Paced>, extent: usize) {
    // Of an extent that is cut by the end of the file the whole unit of the disk is read, which is longer.
    let mut scratch = Scratch::new(extent + ALIGNMENT);
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((Job { requester, read, file, offset, slot, mut buffer }, due)) = next else {
            return;
        };
        let length = buffer.len();
        let outcome = match &mut buffer {
            // No memory is as bad as no disk: that download fails, others go on.
            Buffer::Whole(region) => match region.renew() {
                Ok(()) => file.read(region.bytes_mut(), offset, length),
                Err(_) => ReadOutcome::Failed,
            },
            Buffer::Short(bytes) => {
                let unit = &mut scratch.bytes_mut()[..length.next_multiple_of(ALIGNMENT)];
                let outcome = file.read(unit, offset, length);
                bytes.copy_from_slice(&unit[..length]);
                outcome
            }
        };
        if let (Some(paced), Some(due)) = (paced, due) {
            paced.deliver(due);
        }
        requester.completed(read, slot, buffer, &file, &outcome);
    }
}
