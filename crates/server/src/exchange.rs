use crate::access_log::AccessLog;
use crate::meters::Meters;
use flashcrowd_origin::Failure;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ending {
    /// The client or its connection has gone.
    Broken,
    /// All bytes were handed to the socket.
    Complete,
    /// The file has changed.
    Changed,
    /// The disk could not read.
    Disk,
}

impl Ending {
    pub(crate) fn of(failure: Failure) -> Ending {
        match failure {
            Failure::Disk => Ending::Disk,
            Failure::Closed => Ending::Changed,
            Failure::Stalled => Ending::Broken,
        }
    }

    pub(crate) const NAMES: [&str; 4] = ["broken", "complete", "changed", "disk"];
}

/// Which order an answer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No contents of a file.
    #[default]
    Text,
    /// The whole file.
    Whole,
    /// One range or several, as asked for.
    Ranges,
    /// Any order, one answer.
    Stream,
    /// Any order, one part.
    Pull,
}

impl Mode {
    pub(crate) const NAMES: [&str; 5] = ["text", "whole", "ranges", "stream", "pull"];
}

/// What was asked, for the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) request: String,
    pub(crate) referer: String,
    pub(crate) agent: String,
}

/// A request and its answer. What it came to is told when nothing refers to it any more: when the socket has taken all bytes, or
/// the connection has gone.
#[derive(Debug)]
pub(crate) struct Exchange {
    peer: SocketAddr,
    asked: Asked,
    began: std::time::Instant,
    status: Mutex<(u16, Mode, usize)>,
    ending: AtomicU8,
    /// Bytes that the connection's socket has taken, and how many when this began.
    taken: Arc<AtomicU64>,
    before: u64,
    /// Bytes of a text, which is gone before its socket has taken it.
    text: AtomicU64,
    meters: Arc<Meters>,
    log: Option<Arc<AccessLog>>,
}

impl Exchange {
    #[allow(clippy::disallowed_methods, reason = "how long an answer took is wall-clock time")]
    pub(crate) fn begin(
        peer: SocketAddr,
        asked: Asked,
        taken: &Arc<AtomicU64>,
        meters: &Arc<Meters>,
        log: Option<&Arc<AccessLog>>,
    ) -> Arc<Exchange> {
        Arc::new(Exchange {
            peer,
            asked,
            began: std::time::Instant::now(),
            status: Mutex::default(),
            ending: AtomicU8::new(Ending::Broken as u8),
            taken: Arc::clone(taken),
            before: taken.load(Relaxed),
            text: AtomicU64::new(0),
            meters: Arc::clone(meters),
            log: log.cloned(),
        })
    }

    /// The head of the answer: its status, its order and how many ranges it is of.
    pub(crate) fn answer(&self, status: u16, mode: Mode, ranges: usize) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = (status, mode, ranges);
    }

    /// The answer is a text of so many bytes.
    pub(crate) fn text(&self, bytes: usize) {
        self.text.store(bytes as u64, Relaxed);
    }

    pub(crate) fn end(&self, ending: Ending) {
        self.ending.store(ending as u8, Relaxed);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let (status, mode, ranges) = *self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.taken.load(Relaxed).saturating_sub(self.before);
        let bytes = bytes.max(self.text.load(Relaxed));
        let ending = Ending::NAMES[usize::from(self.ending.load(Relaxed)).min(3)];
        self.meters.answered(status, mode as usize, ending);
        if let Some(log) = &self.log {
            let seconds = self.began.elapsed().as_secs_f64();
            let mode = Mode::NAMES[mode as usize];
            log.line(self.peer, &self.asked, status, bytes, seconds, mode, ranges, ending);
        }
    }
}
