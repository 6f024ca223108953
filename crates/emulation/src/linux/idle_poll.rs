//! Idle polling: processors do not halt while a network runs.
//!
//! A virtual processor that halts goes back to the host, which may take a millisecond to give it again; a
//! real one sleeps the deeper, and wakes the later, the longer nothing is to do. Kernels poll instead if
//! configured (`idle=poll`, `haltpoll`), which takes an administrator and a reboot. This takes neither: one
//! thread a processor that asks for nothing and makes way for all others (`SCHED_IDLE`, sched(7)); to the
//! scheduler a processor that has no other thread is idle (`sched_idle_cpu`).

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, available_parallelism};

/// Turns between two looks at whether it is over.
const TURNS: u32 = 64;
/// So that the time that is polled away is counted as that of nice programs (`nice`, proc_stat(5)).
const NICEST: i32 = 19;

/// Keeps the processors of the calling thread awake until it is dropped.
#[derive(Debug)]
pub struct IdlePoll {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl IdlePoll {
    /// Begins, unless the time of these processors is limited, see [`polls_idle`].
    ///
    /// # Errors
    /// The system gives no thread, or does not say which processors there are.
    pub fn begin() -> io::Result<IdlePoll> {
        let mut poll = IdlePoll { over: Arc::default(), threads: Vec::new() };
        for processor in processors()? {
            let over = Arc::clone(&poll.over);
            let body = move || {
                if make_way(processor).is_ok() {
                    while !over.load(Ordering::Relaxed) {
                        (0..TURNS).for_each(|_| spin_loop());
                    }
                }
            };
            poll.threads.push(Builder::new().name("idle-poll".into()).spawn(body)?);
        }
        Ok(poll)
    }
}

impl Drop for IdlePoll {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // it has nothing to say
        }
    }
}

/// Whether processors are kept awake on this machine: not where the group of this process may use less than
/// all of their time (`cpu.max`), which polling would use up.
#[must_use]
pub fn polls_idle() -> bool {
    processors().is_ok_and(|found| !found.is_empty())
}

/// Those that are to be kept awake.
fn processors() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let found: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|it| allowed.is_set(*it)).collect();
    let limited = available_parallelism()?.get() < found.len();
    Ok(if limited { Vec::new() } else { found })
}

/// Pins the calling thread to a processor, and lets it run only when that is idle.
fn make_way(processor: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only)?;
    setpriority_process(None, NICEST)?;
    super::clock::set_idle()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn threads_that_poll_make_way_and_end() {
        let Ok(Some(first)) = processors().map(|found| found.first().copied()) else { return };
        let over = std::thread::spawn(move || {
            make_way(first).expect("a thread may always make way");
            // Fields of proc_pid_stat(5), counted from behind the name: nice is the 17th, policy the 39th.
            let said = fs::read_to_string("/proc/thread-self/stat").expect("Linux");
            let behind = said.rsplit(") ").next().unwrap_or_default();
            behind.split(' ').map(str::to_owned).collect::<Vec<_>>()
        });
        let fields = over.join().expect("no panic");
        assert_eq!(fields[16], "19");
        assert_eq!(fields[38], libc::SCHED_IDLE.to_string());
        drop(IdlePoll::begin().expect("threads"));
    }
}
