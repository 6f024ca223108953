use super::job::Job;
use super::paced::Turn;
use super::queue::{Next, Queue};
use super::read::Read;
use super::ring::Ring;
use crate::buffer::Scratch;
use std::io;
use std::sync::Arc;
use std::thread;

/// A thread that has the kernel read (io_uring). It ends when this is dropped, and all is read.
#[derive(Debug)]
pub(super) struct RingThread {
    queue: Arc<Queue>,
}

impl RingThread {
    /// Reads with these pieces of memory, one for each read at once.
    pub(super) fn start(queue: Queue, ring: Ring, memory: Vec<Scratch>) -> io::Result<RingThread> {
        let queue = Arc::new(queue);
        let theirs = Arc::clone(&queue);
        let body = move || work(&theirs, ring, memory);
        thread::Builder::new().name("flashcrowd-disk".into()).spawn(body)?;
        Ok(RingThread { queue })
    }

    pub(super) fn read(&self, job: Job, turn: Option<Turn>) {
        self.queue.push(job, turn);
    }
}

impl Drop for RingThread {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn work(queue: &Queue, mut ring: Ring, mut idle: Vec<Scratch>) {
    let reads = idle.len();
    loop {
        while let Some(scratch) = idle.pop() {
            let next = queue.next();
            let Next::Job(job, turn) = next else {
                idle.push(scratch);
                if matches!(next, Next::Over) && idle.len() == reads {
                    return;
                }
                break;
            };
            idle.extend(advance(&mut ring, Read::new(job, turn, scratch)));
        }
        let read = ring.next();
        queue.attend();
        if let Some(read) = read {
            idle.extend(advance(&mut ring, read));
        }
    }
}

/// Goes on with a read; if it has ended, its memory is idle.
fn advance(ring: &mut Ring, read: Read) -> Option<Scratch> {
    ring.advance(read).map(Read::end)
}
