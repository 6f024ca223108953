//! Content servers.

use flashcrowd_base::Span;
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::DiskCounters;
use flashcrowd_plan::{Windowed, Workload};
use flashcrowd_workload::origin::{self, Client, Counts, Download, Row};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use super::{Named, at, named, outcome_of};
use crate::plan::Plan;

/// A line about the clients of a content server, if they lack something. Of each that has come its number, when it
/// came and left, bytes of its file, and whether it lost its connection before it had it.
#[pyfunction]
pub(crate) fn origin_undelivered(
    name: &str,
    came: Vec<(u32, f64, Option<f64>, u64, bool)>,
    now_s: f64,
    outcome: &str,
) -> Option<String> {
    let client = |(number, arrived, left, bytes, is_lost): (u32, f64, Option<f64>, u64, bool)| {
        let (arrived, left, is_silent) = (at(arrived), left.map(at), bytes == 0);
        Client { number, arrived, left, bytes, is_silent, is_lost }
    };
    let came: Vec<Client> = came.into_iter().map(client).collect();
    let outcome = outcome_of(outcome, String::new());
    origin::undelivered(name, &came, at(now_s), outcome.as_ref())
}

/// Why a content server gets no further: so many clients are there, and nothing has arrived since then.
#[pyfunction]
pub(crate) fn origin_stalled(name: &str, online: usize, since_s: f64) -> String {
    origin::stalled(name, online, at(since_s))
}

/// What is left to do of a content server.
#[pyfunction]
pub(crate) fn origin_unfinished(name: &str, complete: usize, all: usize) -> String {
    origin::unfinished(name, complete, all)
}

/// What of a server's snapshot, see `Snapshot` of the crate flashcrowd-server, is in the table `origins`.
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

/// A client as a program tells of it: its number, population and host, when it was due, came and left, the bytes
/// that have come, and whether those are all.
type Came = (u32, String, u32, f64, f64, Option<f64>, u64, bool);

/// The tables `downloads` and `origins` about the content server that is a workload of a plan, by what it had done at
/// two instants, and of the clients that have come.
#[pyfunction]
pub(crate) fn origin_tables(
    plan: &Plan,
    workload: u32,
    before: (f64, String),
    after: (f64, String),
    mut came: Vec<Came>,
) -> PyResult<Vec<Named>> {
    let plan = plan.data();
    let Some(Workload::Origin(spec)) = plan.workloads.get(workload as usize) else {
        return Err(PyValueError::new_err(format!("workload {workload} is no origin")));
    };
    let window = plan.measures.window(Windowed::Origins);
    came.retain(|it| window.is_none_or(|window| window.holds(at(it.3))));
    came.sort_by_key(|it| it.0);
    let host = |number: u32| plan.network.hosts[number as usize].name.as_str();
    let block = u64::from(spec.settings.block_bytes);
    let downloads: Vec<Download<'_>> = came
        .iter()
        .map(|(number, population, at_host, _, arrived, left, bytes, whole)| {
            let left = left.map(at);
            let blocks = if *whole { bytes.div_ceil(block) } else { bytes / block };
            Download {
                origin: &spec.name,
                population,
                host: host(*at_host),
                number: *number,
                arrived: at(*arrived),
                completed: left.filter(|_| *whole),
                left,
                bytes: *bytes,
                blocks: blocks as u32,
            }
        })
        .collect();
    let row = Row {
        origin: &spec.name,
        host: host(spec.host),
        policy: spec.settings.scheduling.name(),
        disk: &spec.disk,
        downloads: downloads.len() as u64,
        completed: downloads.iter().filter(|it| it.completed.is_some()).count() as u64,
        from: counts((before.0, &before.1))?,
        to: counts((after.0, &after.1))?,
    };
    Ok(vec![named(origin::downloads(&downloads)), named(origin::table(&[row]))])
}
