//! Content servers.

use flashcrowd_base::{Span, Time};
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::DiskCounters;
use flashcrowd_plan::Source;
use flashcrowd_workload::Origins;
use flashcrowd_workload::origin::{Counts, Ledger, Status};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::sync::Mutex;

use super::{Named, at, due_s, held, named, outcome_of, series_of};
use crate::plan::Plan;

/// The content servers of a run, each by its place among all, and their clients, each by its number there.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct OriginRules {
    origins: Mutex<Origins>,
    /// What is taken down of each server.
    ledgers: Mutex<Vec<Ledger>>,
    plan: Plan,
}

#[pymethods]
impl OriginRules {
    /// The time series of a content server.
    #[classattr]
    #[pyo3(name = "SERIES")]
    fn series() -> Vec<&'static str> {
        series_of(Source::Origins)
    }

    /// Those of a plan, in a run with a seed.
    #[new]
    fn new(plan: &Plan, seed: u64) -> OriginRules {
        let origins = Origins::new(plan.data(), seed);
        let ledgers = vec![Ledger::new(plan.data()); origins.origins.len()];
        let (origins, ledgers) = (Mutex::new(origins), Mutex::new(ledgers));
        OriginRules { origins, ledgers, plan: plan.clone() }
    }

    /// The place of the content server that is this workload. Raises `ValueError`.
    fn place(&self, workload: u32) -> PyResult<usize> {
        let found = held(&self.origins).place_of(workload);
        found.ok_or_else(|| PyValueError::new_err(format!("workload {workload} is no origin")))
    }

    /// A client comes; false if it goes at once, as the server was stopped.
    fn come(&self, now_s: f64, place: usize, number: u32) -> bool {
        held(&self.origins).origins[place].come(at(now_s), number)
    }

    /// Bytes of its file have come at a client, each piece with its begin and its end. It goes when it has all.
    fn receive(&self, now_s: f64, place: usize, number: u32, pieces: Vec<(u64, u64)>) {
        let origin = &mut held(&self.origins).origins[place];
        for (begin, end) in pieces {
            origin.receive(at(now_s), number, begin..end);
        }
    }

    /// A client leaves without its file, if it is here.
    fn leave(&self, now_s: f64, place: usize, number: u32) {
        held(&self.origins).origins[place].leave(at(now_s), number);
    }

    /// A client loses its connection, and leaves.
    fn lose(&self, now_s: f64, place: usize, number: u32) {
        held(&self.origins).origins[place].lose(at(now_s), number);
    }

    /// The timeline stops a server: its clients leave, and others go as soon as they come.
    fn stop(&self, now_s: f64, place: usize) {
        held(&self.origins).origins[place].stop(at(now_s));
    }

    /// When a server is to be asked what it has done; infinite if all that counts is known.
    fn due_s(&self, place: usize) -> f64 {
        due_s(held(&self.ledgers)[place].due())
    }

    /// Takes down what was due, as a server says it (JSON).
    fn look(&self, now_s: f64, place: usize, snapshot: &str) -> PyResult<()> {
        let status = self.status(now_s, place, snapshot)?;
        held(&self.ledgers)[place].look(&status);
        Ok(())
    }

    /// The run is over: what the server does from here on is no part of it.
    fn close(&self, now_s: f64, place: usize, snapshot: &str) -> PyResult<()> {
        let status = self.status(now_s, place, snapshot)?;
        held(&self.ledgers)[place].close(&status);
        Ok(())
    }

    /// Whether all clients have come and gone.
    fn is_done(&self) -> bool {
        held(&self.origins).is_done()
    }

    /// Why a server gets no further, if one does not.
    fn stalled(&self, now_s: f64) -> Option<String> {
        held(&self.origins).stalled(at(now_s))
    }

    /// Which part of what all clients want has arrived.
    fn progress(&self) -> f64 {
        held(&self.origins).progress()
    }

    /// A line for each server whose clients have not all ended.
    fn unfinished(&self) -> Vec<String> {
        held(&self.origins).unfinished()
    }

    /// A line for each server whose clients lack something; `outcome` is how the run ended, as far as is known.
    fn undelivered(&self, now_s: f64, outcome: &str) -> Vec<String> {
        let outcome = outcome_of(outcome, String::new());
        held(&self.origins).undelivered(at(now_s), outcome.as_ref())
    }

    /// Bytes of blocks that have arrived.
    fn payload_bytes(&self) -> u64 {
        held(&self.origins).payload_bytes()
    }

    /// The tables `downloads`, `origins` and `series` about a server by name, as their columns by name, after `close`.
    fn tables(&self, place: usize) -> Vec<Named> {
        let (origins, ledgers) = (held(&self.origins), held(&self.ledgers));
        let ledger = &ledgers[place];
        let counts = vec![ledger.done()];
        let [downloads, table] = origins.tables(self.plan.data(), place..place + 1, counts);
        let series = ledger.series(&origins.origins[place].spec.name);
        [downloads, table, series].into_iter().map(named).collect()
    }
}

impl OriginRules {
    fn status(&self, now_s: f64, place: usize, snapshot: &str) -> PyResult<Status> {
        let found: Snapshot = serde_json::from_str(snapshot)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let online = held(&self.origins).origins[place].online();
        let (queued_reads, waiting) = (found.queued_reads, found.waiting);
        Ok(Status { counts: counts(at(now_s), found), queued_reads, waiting, online })
    }
}

/// The parts of a server's snapshot that are in tables: see `Snapshot` of the crate flashcrowd-server.
#[derive(Deserialize)]
struct Snapshot {
    served_bytes: u64,
    blocks: u64,
    hits: u64,
    read_bytes: u64,
    reads: u64,
    reads_ahead: u64,
    evictions: u64,
    residence_s: f64,
    waiting: u64,
    queued_reads: u64,
    trial_disk: TrialDisk,
}

#[derive(Deserialize)]
struct TrialDisk {
    busy_s: f64,
    positioned_reads: u64,
    cost: f64,
}

fn counts(at: Time, found: Snapshot) -> Counts {
    let TrialDisk { busy_s, positioned_reads: seeks, cost } = found.trial_disk;
    let machine = Counters {
        sent: found.served_bytes,
        blocks: found.blocks,
        hits: found.hits,
        read: found.read_bytes,
        reads: found.reads,
        ahead: found.reads_ahead,
        evictions: found.evictions,
        residence: Span::from_seconds(found.residence_s),
        ..Counters::default()
    };
    let busy = Span::from_seconds(busy_s);
    let disk = DiskCounters { seeks, busy, cost, ..DiskCounters::default() };
    Counts { at, machine, disk }
}
