use crate::access_log::{AccessLog, LoggedRequest};
use crate::admission::Admitted;
use crate::meters::Meters;
use crate::outcome::{Ending, Mode};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A request and its answer. Its outcome is reported when nothing refers to it any more: when the socket has taken all bytes, or
/// the connection has gone.
#[derive(Debug)]
pub(crate) struct Exchange {
    client: IpAddr,
    /// The number of its address.
    party: u32,
    /// Its place among the requests of its address, if its connection has none.
    _place: Option<Admitted>,
    asked: LoggedRequest,
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
        client: IpAddr,
        party: u32,
        place: Option<Admitted>,
        asked: LoggedRequest,
        taken: &Arc<AtomicU64>,
        meters: &Arc<Meters>,
        log: Option<&Arc<AccessLog>>,
    ) -> Arc<Exchange> {
        Arc::new(Exchange {
            client,
            party,
            _place: place,
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

    pub(crate) fn party(&self) -> u32 {
        self.party
    }

    /// The answer is a text of `bytes` bytes.
    pub(crate) fn text(&self, bytes: u64) {
        self.text.store(bytes, Relaxed);
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
        let ending = usize::from(self.ending.load(Relaxed)).min(Ending::NAMES.len() - 1);
        let ending = Ending::NAMES[ending];
        self.meters.answered(status, mode as usize, ending);
        if let Some(log) = &self.log {
            let seconds = self.began.elapsed().as_secs_f64();
            let mode = Mode::NAMES[mode as usize];
            // The client has gone before there was an answer: as nginx has it.
            let status = if status == 0 { 499 } else { status };
            log.line(self.client, &self.asked, status, bytes, seconds, mode, ranges, ending);
        }
    }
}
