use super::Receipt;
use super::conduit::{Conduit, Transport};
use super::hello::Direction;
use super::snapshot::Snapshot;
use serde::Serialize;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The end that ended a stream before its amount was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopper {
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
}

/// One stream of a measurement, as one end sees it.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// Counts streams from 1.
    pub id: u64,
    /// Its transport.
    pub transport: Transport,
    /// Which way the content goes.
    pub direction: Direction,
    /// Where the other end is.
    pub peer: String,
    /// The congestion control of TCP at the end that sends, if that is known.
    pub congestion: Option<String>,
    /// Bytes of content that have arrived: at the receiver, those that came in order; at the sender, those
    /// that were acknowledged (with a few of the protocol's own), or that are in the receipt.
    pub bytes: u64,
    /// Bytes of content that this end has queued; 0 at the receiver.
    pub queued_bytes: u64,
    /// At the sender, from the first byte until everything was acknowledged (TCP: until the receipt
    /// came); at the receiver, from the first byte to the last. So far, while it goes on.
    pub seconds: f64,
    /// How long the other end has been silent.
    pub silent_seconds: f64,
    /// XXH3-128 of the content in hexadecimal; empty while it goes on.
    pub digest: String,
    /// Whether the receiver has exactly what was sent, or, if an end stopped, exactly the beginning;
    /// `None` while that is not known.
    pub verified: Option<bool>,
    /// Which end stopped, if one did.
    pub stopped_by: Option<Stopper>,
    /// Why it broke off, if it did.
    pub error: Option<String>,
    /// The receipt that the receiver sent.
    pub receipt: Option<Receipt>,
    /// The connection.
    pub connection: Snapshot,
}

/// The result of a stream.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) digest: String,
    pub(super) verified: Option<bool>,
    pub(super) stopped_by: Option<Stopper>,
    pub(super) receipt: Option<Receipt>,
    pub(super) error: Option<io::Error>,
}

/// A stream that is under way.
#[derive(Debug)]
pub(super) struct ActiveStream {
    id: u64,
    direction: Direction,
    pub(super) conduit: Conduit,
    /// The congestion control of TCP at the other end, if that end sends and has reported it.
    theirs: Option<String>,
    /// Content that has arrived here, or that was queued here.
    arrived: AtomicU64,
    queued: AtomicU64,
    /// When content was last queued, or arrived.
    moved: Mutex<Instant>,
    /// It was ended for another.
    gave_way: AtomicBool,
    /// Of the first byte, and of the end.
    span: Mutex<(Option<Instant>, Option<Instant>)>,
}

impl ActiveStream {
    pub(super) fn new(
        id: u64,
        direction: Direction,
        conduit: Conduit,
        theirs: Option<String>,
    ) -> ActiveStream {
        ActiveStream {
            theirs,
            id,
            direction,
            conduit,
            arrived: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            moved: Mutex::new(now()),
            gave_way: AtomicBool::new(false),
            span: Mutex::default(),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The first byte is under way; the time of the first call.
    pub(super) fn begin(&self) -> Instant {
        *lock(&self.span).0.get_or_insert_with(now)
    }

    /// The last byte is there.
    pub(super) fn end(&self) {
        lock(&self.span).1.get_or_insert_with(now);
    }

    pub(super) fn set_arrived(&self, bytes: u64) {
        if self.arrived.swap(bytes, Ordering::Relaxed) != bytes {
            *lock(&self.moved) = now();
        }
    }
    pub(super) fn set_queued(&self, bytes: u64) {
        self.queued.store(bytes, Ordering::Relaxed);
        *lock(&self.moved) = now();
    }

    /// For how long no content was queued, and none has arrived.
    pub(super) fn idle(&self) -> Duration {
        now() - *lock(&self.moved)
    }

    /// Ends for another, which waits.
    pub(super) fn give_way(&self) {
        self.gave_way.store(true, Ordering::Relaxed);
        self.conduit.abort();
    }

    /// Whether it was ended for another.
    pub(super) fn has_given_way(&self) -> bool {
        self.gave_way.load(Ordering::Relaxed)
    }

    /// From the first byte to the last, or until now.
    pub(super) fn seconds(&self) -> f64 {
        let (begin, end) = *lock(&self.span);
        begin.map_or(0.0, |begin| (end.unwrap_or_else(now) - begin).as_secs_f64())
    }

    /// As it is now.
    pub(super) fn report(&self) -> StreamReport {
        let connection = self.conduit.snapshot();
        let queued_bytes = self.queued.load(Ordering::Relaxed);
        let acknowledged = connection.acknowledged_bytes.unwrap_or(queued_bytes).min(queued_bytes);
        StreamReport {
            id: self.id,
            transport: self.conduit.transport(),
            direction: self.direction,
            peer: self.conduit.peer().to_string(),
            congestion: if queued_bytes > 0 {
                connection.congestion.clone()
            } else {
                self.theirs.clone()
            },
            bytes: self.arrived.load(Ordering::Relaxed).max(acknowledged),
            queued_bytes,
            seconds: self.seconds(),
            silent_seconds: self.conduit.silence().as_secs_f64(),
            digest: String::new(),
            verified: None,
            stopped_by: None,
            error: None,
            receipt: None,
            connection,
        }
    }

    /// As it was at its end.
    pub(super) fn finished(&self, ending: &Ending) -> StreamReport {
        self.end();
        let mut report = self.report();
        report.bytes = ending.receipt.as_ref().map_or(report.bytes, |receipt| receipt.bytes);
        report.digest.clone_from(&ending.digest);
        report.verified = ending.verified;
        report.stopped_by = ending.stopped_by;
        report.error = ending.error.as_ref().map(ToString::to_string);
        report.receipt.clone_from(&ending.receipt);
        report
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::disallowed_methods, reason = "a measurement of the real world")]
pub(super) fn now() -> Instant {
    Instant::now()
}
