use super::job::Job;
use super::paced::Turn;
use super::read::Read;
use crate::buffer::Scratch;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Threads that read with `pread`: as many as reads may be under way. They end when this is dropped, and all is read.
#[derive(Debug)]
pub(super) struct Threads {
    jobs: Sender<(Job, Option<Turn>)>,
}

impl Threads {
    /// One for each of these pieces of memory.
    pub(super) fn start(memory: Vec<Scratch>) -> io::Result<Threads> {
        let (sender, receiver) = channel();
        let jobs = Arc::new(Mutex::new(receiver));
        for scratch in memory {
            let jobs = Arc::clone(&jobs);
            let body = move || work(&jobs, scratch);
            thread::Builder::new().name("flashcrowd-disk".into()).spawn(body)?;
        }
        Ok(Threads { jobs: sender })
    }

    pub(super) fn read(&self, job: Job, turn: Option<Turn>) {
        // The threads live as long as the sender does.
        let _ = self.jobs.send((job, turn));
    }
}

fn work(jobs: &Mutex<Receiver<(Job, Option<Turn>)>>, mut scratch: Scratch) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((job, turn)) = next else { return };
        let mut read = Read::new(job, turn, scratch);
        while let Some(step) = read.step() {
            let answer = rustix::io::pread(step.file, step.memory, step.at);
            read.answered(answer);
        }
        let wait = read.wait();
        if !wait.is_zero() {
            thread::sleep(wait);
        }
        scratch = read.end();
    }
}
