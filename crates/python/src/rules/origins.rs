//! Content servers.

use flashcrowd_base::Span;
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::DiskCounters;
use flashcrowd_workload::Origins;
use flashcrowd_workload::origin::Counts;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::sync::Mutex;

use super::{Named, at, held, named, outcome_of};
use crate::plan::Plan;

/// The content servers of a run, each by its place among all, and their clients, each by its number there.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct OriginRules {
    origins: Mutex<Origins>,
    plan: Plan,
}

#[pymethods]
impl OriginRules {
    /// Those of a plan, in a run with a seed.
    #[new]
    fn new(plan: &Plan, seed: u64) -> OriginRules {
        let origins = Mutex::new(Origins::new(plan.data(), seed));
        OriginRules { origins, plan: plan.clone() }
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

    /// Clients of a server that are here.
    fn online(&self, place: usize) -> u32 {
        held(&self.origins).origins[place].online()
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

    /// The tables `downloads` and `origins` about a server by name, as their columns by name. `before` and `after` are
    /// the instants at which it begins and ends to count, with its snapshot there.
    fn tables(
        &self,
        place: usize,
        before: (f64, String),
        after: (f64, String),
    ) -> PyResult<Vec<Named>> {
        let counts = (counts((before.0, &before.1))?, counts((after.0, &after.1))?);
        let origins = held(&self.origins);
        let tables = origins.tables(self.plan.data(), place..place + 1, vec![counts]);
        Ok(tables.into_iter().map(named).collect())
    }
}

/// The parts of a server's snapshot that are in the table `origins`: see `Snapshot` of the crate
/// flashcrowd-server.
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
    trial_disk: TrialDisk,
}

#[derive(Deserialize)]
struct TrialDisk {
    busy_s: f64,
    positioned_reads: u64,
    cost: f64,
}

fn counts((at_s, snapshot): (f64, &str)) -> PyResult<Counts> {
    let found: Snapshot =
        serde_json::from_str(snapshot).map_err(|error| PyValueError::new_err(error.to_string()))?;
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
    Ok(Counts {
        at: at(at_s),
        machine,
        disk: DiskCounters { seeks, busy, cost, ..DiskCounters::default() },
    })
}
