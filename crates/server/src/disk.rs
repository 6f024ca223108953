use crate::buffer::Buffer;
use crate::desk::Desk;
use crate::open_file::{ALIGNMENT, OpenFile};
use flashcrowd_origin::ReadId;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A read of an extent.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) desk: Arc<Desk>,
    pub(crate) read: ReadId,
    pub(crate) file: Arc<OpenFile>,
    pub(crate) offset: u64,
    pub(crate) slot: u32,
    pub(crate) buffer: Buffer,
}

/// Threads that read: as many as reads may be under way. They end with the desk.
#[derive(Debug)]
pub(crate) struct Disk {
    jobs: Sender<Job>,
}

impl Disk {
    pub(crate) fn start(reads: u32, extent: u32) -> io::Result<Disk> {
        let (sender, receiver) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(receiver));
        for _ in 0..reads {
            let jobs = Arc::clone(&jobs);
            let body = move || work(&jobs, extent as usize);
            thread::Builder::new().name("flashcrowd-disk".into()).spawn(body)?;
        }
        Ok(Disk { jobs: sender })
    }

    pub(crate) fn read(&self, job: Job) {
        // The threads live as long as the sender does.
        let _ = self.jobs.send(job);
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, extent: usize) {
    // Of an extent that is cut by the end of the file the whole unit of the disk is read, which is longer.
    let mut scratch = Buffer::aligned(extent + ALIGNMENT);
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { desk, read, file, offset, slot, mut buffer }) = next else { return };
        let length = buffer.len();
        let outcome = if buffer.is_aligned() {
            file.read(buffer.bytes_mut(), offset, length)
        } else {
            let unit = length.next_multiple_of(ALIGNMENT);
            let outcome = file.read(&mut scratch.bytes_mut()[..unit], offset, length);
            buffer.bytes_mut().copy_from_slice(&scratch.bytes()[..length]);
            outcome
        };
        desk.completed(read, slot, buffer, &file, &outcome);
    }
}
