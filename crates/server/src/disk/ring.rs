use super::read::Read;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, Probe, opcode};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Reads that the kernel carries out (io_uring), and the file descriptor that wakes the thread that waits
/// for them.
///
/// It has a place for each of them, where a read and its memory stay until the kernel has answered; at the end, too.
pub(super) struct Ring {
    ring: IoUring,
    places: Box<[Slot]>,
    wakeup: Arc<OwnedFd>,
    /// The kernel has been asked to say when that is readable.
    is_watched: bool,
}

#[derive(Default)]
struct Slot {
    /// Until the system has answered a step of it, or, when all steps are done, until it is due.
    read: Option<Read>,
    /// How long it is kept back; the kernel reads it when the request is submitted.
    wait: Timespec,
}

/// Marks what wakes a thread, in place of the number of a place.
const WAKEUP: u64 = u64::MAX;
/// A pause after the system has lacked something that comes back (memory).
const PAUSE: Duration = Duration::from_millis(1);

impl Ring {
    /// For `reads` reads at once. The kernel may have no rings, or not allow them.
    pub(super) fn new(reads: usize, wakeup: Arc<OwnedFd>) -> io::Result<Ring> {
        // One request for each place, and one for the file descriptor. There is room for twice as many answers.
        let requests = u32::try_from(reads + 1).map_err(|_| io::ErrorKind::InvalidInput)?;
        let ring = IoUring::new(requests.next_power_of_two())?;
        let mut probe = Probe::new();
        let is_known = ring.submitter().register_probe(&mut probe).is_ok();
        let needed = [opcode::Read::CODE, opcode::PollAdd::CODE, opcode::Timeout::CODE];
        // Linux before 5.6.
        if !is_known || !needed.into_iter().all(|code| probe.is_supported(code)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let places = (0..reads).map(|_| Slot::default()).collect();
        let mut ring = Ring { ring, places, wakeup, is_watched: false };
        // A filter of system calls may allow a ring, and not that it is used. What is begun here has ended here, too: answers come by
        // way of the thread that has asked.
        ring.push(&opcode::Nop::new().build().user_data(WAKEUP));
        ring.ring.submit_and_wait(1)?;
        Ok(ring)
    }

    /// Has the kernel do what the read needs next: a step of it, or keeping it back until it is due. Gives it back if it needs nothing.
    pub(super) fn advance(&mut self, mut read: Read) -> Option<Read> {
        let place = self.places.iter().position(|place| place.read.is_none());
        let place = place.expect("there are as many as reads");
        let entry = if let Some(step) = read.step() {
            let length = u32::try_from(step.memory.len()).unwrap_or(u32::MAX);
            let (file, memory) = (Fd(step.file.as_raw_fd()), step.memory.as_mut_ptr());
            opcode::Read::new(file, memory, length).offset(step.at).build()
        } else {
            let wait = read.wait();
            if wait.is_zero() {
                return Some(read);
            }
            self.places[place].wait = wait.into();
            opcode::Timeout::new(&raw const self.places[place].wait).build()
        };
        self.push(&entry.user_data(place as u64));
        self.places[place].read = Some(read);
        // At once: the disk does not wait for what we do next. What the kernel does not take now it gets when we wait.
        let _ = self.ring.submit();
        None
    }

    /// Waits until a read has got on, or is due; nothing if it was woken.
    pub(super) fn next(&mut self) -> Option<Read> {
        loop {
            let Some(answer) = self.ring.completion().next() else {
                self.wait();
                continue;
            };
            if answer.user_data() == WAKEUP {
                // First the count, so that a wake-up that comes now is a new one.
                let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
                self.is_watched = false;
                return None;
            }
            let place = self.places.get_mut(answer.user_data() as usize);
            let Some(mut read) = place.and_then(|place| place.read.take()) else { continue };
            if read.is_open() {
                read.answered(match usize::try_from(answer.result()) {
                    Ok(bytes) => Ok(bytes),
                    Err(_) => Err(Errno::from_raw_os_error(-answer.result())),
                });
            }
            return Some(read);
        }
    }

    fn wait(&mut self) {
        if !self.is_watched {
            let flags = u32::from(PollFlags::IN.bits());
            let entry = opcode::PollAdd::new(Fd(self.wakeup.as_raw_fd()), flags).build();
            self.push(&entry.user_data(WAKEUP));
            self.is_watched = true;
        }
        let is_idle = self.places.iter().all(|place| place.read.is_none());
        let waited = if is_idle {
            // A thread that waits in a ring counts as one that waits for a disk (iowait, Linux 6.18), also when only a wake-up can come.
            let mut ready = [PollFd::new(&self.ring, PollFlags::IN)];
            self.ring.submit().and_then(|_| Ok(poll(&mut ready, None)?))
        } else {
            self.ring.submit_and_wait(1)
        };
        if let Err(error) = waited
            && error.kind() != io::ErrorKind::Interrupted
        {
            thread::sleep(PAUSE);
        }
    }

    #[allow(unsafe_code, reason = "the kernel writes into memory by its address, later")]
    fn push(&mut self, entry: &Entry) {
        // SAFETY: what the kernel writes into is memory of a read, and where it finds how long it is to wait is a
        // place. Places are in memory that does not move; a read's memory does not move with it. A read stays in its
        // place until there is the answer to its one request, also when the ring is dropped, and nothing else refers to
        // its memory meanwhile; files are open as long as the reads of them are there. Of an entry that is not taken,
        // as there is no room, the kernel hears nothing.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.expect("there is room for one of each place and one more");
    }
}

impl Drop for Ring {
    /// Waits for what the kernel still writes.
    fn drop(&mut self) {
        while self.places.iter().any(|place| place.read.as_ref().is_some_and(Read::is_open)) {
            drop(self.next());
        }
    }
}
