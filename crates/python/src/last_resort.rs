//! The end of a process that was asked to end and does not.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long the last words may take: standard error may be stuck as well.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Ends this process, with status 0, when Ctrl-C or SIGTERM has come and what goes on has not ended in time: whatever its threads
/// wait for, since this one takes no lock, and needs neither the interpreter nor a disk.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct LastResort {
    /// The socket that signals are written to.
    numbers: Mutex<Option<UnixStream>>,
    heard: Arc<AtomicUsize>,
}

#[pymethods]
impl LastResort {
    /// Exit `after_first` seconds after the first signal, and `after_second` seconds after each later one; `said`
    /// is printed to stderr then.
    #[new]
    fn new(after_first: f64, after_second: f64, said: String) -> PyResult<LastResort> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let patience = [after_first, after_second].map(|seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(1 << 31))
        });
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        let body = move || watch(ours, patience, said, &count);
        thread::Builder::new().name("flashcrowd-end".into()).spawn(body)?;
        Ok(LastResort { numbers: Mutex::new(Some(theirs)), heard })
    }

    /// The file descriptor into which the numbers of signals are to be written, a byte each (`signal.set_wakeup_fd`).
    fn fileno(&self) -> RawFd {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// How often they have come so far. A handler in Python is called once for two that come together.
    fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }

    /// The process ends in order: there is nothing to do.
    fn cancel(&self) {
        drop(self.numbers.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[allow(clippy::disallowed_methods, reason = "people wait by the clock on the wall")]
fn watch(mut numbers: UnixStream, patience: [Duration; 2], said: String, heard: &AtomicUsize) {
    let mut end = None;
    loop {
        let left = end.map(|end: Instant| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            leave(said);
        }
        // Never refused: zero was looked for.
        let _ = numbers.set_read_timeout(left);
        let mut number = [0];
        match numbers.read(&mut number) {
            Ok(0) => return,
            Ok(_) if [libc::SIGINT, libc::SIGTERM].contains(&i32::from(number[0])) => {
                heard.fetch_add(1, Ordering::Relaxed);
                let until = Instant::now() + patience[usize::from(end.is_some())];
                end = Some(end.map_or(until, |end| end.min(until)));
            }
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                _ => return,
            },
        }
    }
}

#[allow(unsafe_code, reason = "an end that waits for nothing")]
fn leave(said: String) -> ! {
    let says = thread::Builder::new().spawn(move || {
        let _ = writeln!(io::stderr(), "{said}");
    });
    if says.is_ok() {
        thread::sleep(LAST_WORDS);
    }
    // SAFETY: the process ends here; nothing of it is run any more.
    unsafe { libc::_exit(0) }
}
