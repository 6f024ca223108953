//! What a content server that runs as a program has done at the instants that count.

use super::Counts;
use crate::{Counted, Sample, Samples, Table};
use flashcrowd_base::Time;
use flashcrowd_plan::{Plan, Sampled, Source, Windowed};

/// What a content server says of itself at an instant.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// What it has done.
    pub counts: Counts,
    /// Reads that wait for the disk, and clients that wait for a block.
    pub queued_reads: u64,
    /// See `queued_reads`.
    pub waiting: u64,
    /// Clients that are here.
    pub online: u32,
}

/// Takes down what a content server says when it is due: for the window of its table, and for time series.
#[derive(Clone, Debug)]
pub struct Ledger {
    counted: Counted<Counts>,
    samples: Samples,
    last: Option<Counts>,
}

impl Ledger {
    /// Of a server, before anything has happened.
    pub fn new(plan: &Plan) -> Ledger {
        let samples = Samples::new(&plan.measures.series, &[Source::Origins]);
        Ledger {
            counted: Counted::new(plan.measures.window(Windowed::Origins)),
            samples,
            last: None,
        }
    }

    /// When the server is to be asked next; never if all that counts is known.
    pub fn due(&self) -> Time {
        self.samples.due().min(self.counted.due())
    }

    /// Takes down what was due by the instant of this status.
    pub fn look(&mut self, status: &Status) {
        if self.last.is_some() {
            return;
        }
        let now = status.counts.at;
        self.counted.look(now, &status.counts);
        self.samples.look(now, |what| [(0, value(what, status))]);
    }

    /// The run is over: what the server does from here on is no part of it.
    pub fn close(&mut self, status: &Status) {
        self.look(status);
        self.last.get_or_insert_with(|| status.counts.clone());
    }

    /// What it had done when it began to count, and at the end of that.
    pub fn done(&self) -> (Counts, Counts) {
        self.counted.done(|_| Counts::default(), self.last.clone().unwrap_or_default())
    }

    /// The table `series` of a server of this name.
    pub fn series(&self, name: &str) -> Table {
        self.samples.table(|_, _| name.to_owned())
    }
}

fn value(what: Sampled, status: &Status) -> Sample {
    match what {
        Sampled::OriginRate => Sample::Bytes(status.counts.machine.sent),
        Sampled::DiskRate => Sample::Bytes(status.counts.machine.read),
        Sampled::DiskQueue => Sample::Level(status.queued_reads as f64),
        Sampled::DiskWaiting => Sample::Level(status.waiting as f64),
        _ => Sample::Level(f64::from(status.online)),
    }
}
