//! Both ways to read, held against each other and against what files are.

mod agreement;
mod ending;
mod order;

use super::*;
use crate::buffer::Buffer;
use crate::open_file::{OpenFile, ReadOutcome, Version};
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_origin::disk::{HardDisk, Positioning};
use flashcrowd_origin::{Origin, Output, ReadId, Request, Settings};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

const EXTENT: u32 = 1 << 16;
/// The longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Those that this machine has.
pub(crate) fn ways() -> Vec<Reader> {
    let mut ways = vec![Reader::Threads];
    match ring(1) {
        Ok(_) => ways.push(Reader::IoUring),
        Err(error) => eprintln!("io_uring is left out, there is none: {}", why(&error)),
    }
    ways
}

/// A requester that keeps its results.
#[derive(Debug, Default)]
struct Taker {
    taken: Mutex<Vec<Taken>>,
    more: Condvar,
}

#[derive(Clone, Debug)]
struct Taken {
    slot: u32,
    bytes: Vec<u8>,
    outcome: ReadOutcome,
    /// Below `/proc`: the thread that delivered it.
    thread: PathBuf,
}

impl Requester for Taker {
    fn completed(
        self: Arc<Self>,
        _: ReadId,
        slot: u32,
        buffer: Buffer,
        _: &OpenFile,
        outcome: &ReadOutcome,
    ) {
        let thread = std::fs::read_link("/proc/thread-self").unwrap();
        let bytes = buffer.bytes().to_vec();
        self.taken.lock().unwrap().push(Taken { slot, bytes, outcome: *outcome, thread });
        self.more.notify_all();
    }
}

impl Taker {
    /// Its results, once there are `count`.
    fn wait(&self, count: usize) -> Vec<Taken> {
        let few = |taken: &mut Vec<Taken>| taken.len() < count;
        let taken = self.taken.lock().unwrap();
        let (taken, _) = self.more.wait_timeout_while(taken, PATIENCE, few).unwrap();
        assert_eq!(taken.len(), count, "reads that came");
        taken.clone()
    }

    fn count(&self) -> usize {
        self.taken.lock().unwrap().len()
    }

    fn job(self: &Arc<Self>, file: &Arc<OpenFile>, offset: u64, slot: u32, buffer: Buffer) -> Job {
        let requester = Arc::clone(self) as Arc<dyn Requester>;
        Job { requester, read: read_id(), file: Arc::clone(file), offset, slot, buffer }
    }
}

/// That of the first read that an origin asks for.
fn read_id() -> ReadId {
    let mut origin = Origin::new(&Settings::default()).unwrap();
    let file = origin.open(1 << 20).unwrap();
    let request = Request { ranges: None, in_order: true };
    let client = origin.join(Time::START, file, request);
    origin.writable(Time::START, client);
    loop {
        if let Output::Read { read, .. } = origin.poll().unwrap() {
            return read;
        }
    }
}

fn open(file: File, direct: bool) -> Arc<OpenFile> {
    let version = Version::of(&file.metadata().unwrap());
    let layout = Origin::new(&Settings::default()).unwrap().layout(1 << 20).unwrap();
    Arc::new(OpenFile::new(file, Path::new("f"), version, layout, 0, direct))
}

fn start(reader: Reader, reads: u32, trial: Option<&Medium>) -> Disk {
    Disk::start(reader, reads, EXTENT, trial).unwrap()
}

/// Takes this long for each read, wherever it is.
fn medium(time: Duration) -> Medium {
    let time_ns = Span::from_micros(time.as_micros() as u64);
    let rate_bps = Rate::at_least_one(1 << 40);
    let positioning = Positioning::Constant { time_ns };
    Medium::HardDisk(HardDisk { positioning, rate_bps, ..HardDisk::default() })
}

/// Waits until all threads that delivered a result have ended.
fn ended(taken: &[Taken]) {
    let is_there = || taken.iter().any(|it| PathBuf::from("/proc").join(&it.thread).exists());
    for _ in 0..PATIENCE.as_millis() {
        if !is_there() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("a thread is left");
}

#[test]
fn what_is_chosen_is_said() {
    let refused = |error: io::Error| move || Err::<(), _>(error);
    let has = || Ok(());
    assert_eq!(choose(Reader::Auto, has).unwrap(), (Some(()), ReadBy::IoUring));
    assert_eq!(choose(Reader::IoUring, has).unwrap(), (Some(()), ReadBy::IoUring));
    assert_eq!(choose(Reader::Threads, has).unwrap(), (None, ReadBy::Threads(None)));
    for (errno, why) in [
        (rustix::io::Errno::PERM, "forbidden by the sysctl kernel.io_uring_disabled, or by "),
        (rustix::io::Errno::NOSYS, "Linux reads with it from 5.6 on"),
        (rustix::io::Errno::NOMEM, "no memory for it: raise `ulimit -l`"),
        (rustix::io::Errno::MFILE, "Too many open files"),
    ] {
        let (ring, by) = choose(Reader::Auto, refused(errno.into())).unwrap();
        let by = by.to_string();
        let said = format!("by threads with pread (no io_uring: {why}");
        assert!(ring.is_none() && by.starts_with(&said), "{by}");
        let refusal = choose(Reader::IoUring, refused(errno.into())).unwrap_err().to_string();
        let said = "reader: io_uring is not allowed, auto or threads: there is no io_uring here (";
        assert!(refusal.starts_with(&format!("{said}{why}")), "{refusal}");
        let threads = choose(Reader::Threads, refused(errno.into())).unwrap();
        assert_eq!(threads.1.to_string(), "by threads with pread");
    }
}
