//! The rules of a run, for an engine that plays it with programs: it says what it sees, and asks what is due.
//!
//! One class for each kind of workload. Instants are seconds of the run.

mod calls;
mod downloads;
mod ending;
mod origins;
mod pings;
mod swarms;
mod transfers;
mod webs;

pub(crate) use calls::CallRules;
pub(crate) use downloads::DownloadRules;
pub(crate) use ending::run_ending;
pub(crate) use origins::OriginRules;
pub(crate) use pings::PingRules;
pub(crate) use swarms::{SwarmPeer, SwarmRules, SwarmWatch, TrackerRegister, swarm_waits};
pub(crate) use transfers::TransferRules;
pub(crate) use webs::WebRules;

use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Sampled, Source};
use flashcrowd_workload::{Column, Outcome, Table, Totals};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An instant of a run as Python has it, in seconds.
fn at(seconds: f64) -> Time {
    Time::START + Span::from_seconds(seconds)
}

/// The names of the series of a kind of source.
fn series_of(source: Source) -> Vec<&'static str> {
    let all = Sampled::ALL.iter();
    all.filter(|what| what.source() == source).map(|what| what.name()).collect()
}

/// When something is due as Python has it: infinite for never.
fn due_s(at: Time) -> f64 {
    if at == Time::NEVER { f64::INFINITY } else { at.seconds() }
}

/// The value of a mutex. Nothing that is left half changed by a panic is read again: the run has
/// failed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A table as its name and its columns: a lab loads no library for tables.
pub(crate) type Named = (&'static str, Columns);

pub(crate) fn named(table: Table) -> Named {
    let columns = table.columns.into_iter().map(|(name, column)| (name, cells(column)));
    (table.name, columns.collect())
}

/// The columns of a table by name.
type Columns = Vec<(&'static str, Cells)>;

/// A column as a list.
#[derive(IntoPyObject)]
pub(crate) enum Cells {
    Real(Vec<Option<f64>>),
    Count(Vec<Option<u64>>),
    Text(Vec<Option<String>>),
}

fn cells(column: Column) -> Cells {
    let named = |codes: Vec<Option<u32>>, names: Vec<String>| {
        let name = |code: Option<u32>| names.get(code? as usize).cloned();
        Cells::Text(codes.into_iter().map(name).collect())
    };
    match column {
        Column::F64(values) => Cells::Real(values.into_iter().map(Some).collect()),
        Column::MaybeF64(values) => Cells::Real(values),
        Column::U64(values) => Cells::Count(values.into_iter().map(Some).collect()),
        Column::MaybeU64(values) => Cells::Count(values),
        Column::U32(values) => {
            Cells::Count(values.into_iter().map(|value| Some(u64::from(value))).collect())
        }
        Column::Text(codes, names) => named(codes.into_iter().map(Some).collect(), names),
        Column::MaybeText(codes, names) => named(codes, names),
        Column::Bytes(_, ends) => Cells::Count(ends.into_iter().map(Some).collect()),
    }
}

pub(super) fn outcome_of(name: &str, reason: String) -> Option<Outcome> {
    Some(match name {
        "completed" => Outcome::Completed,
        "stalled" => Outcome::Stalled(reason),
        "horizon" => Outcome::Horizon(reason),
        "stopped" => Outcome::Stopped(reason),
        "failed" => Outcome::Failed(reason),
        _ => return None,
    })
}

/// Outcome and reason of a run with what it did not deliver, a line each. A run that failed stays as it is.
#[pyfunction]
pub(crate) fn with_undelivered(
    outcome: String,
    reason: String,
    lines: Vec<String>,
) -> (String, String) {
    match outcome_of(&outcome, reason.clone()) {
        None => (outcome, reason),
        Some(known) => {
            let (name, reason) = words(&known.with_undelivered(lines));
            (name.to_owned(), reason)
        }
    }
}

/// The table `run` as its columns, of a run that programs played: its `packets`, if it counts
/// any, were sent, delivered, lost and dropped.
#[pyfunction]
#[pyo3(signature = (
    outcome, reason, end_s=0.0, *, packets=None, payload_bytes=0, retransmitted_packets=0
))]
pub(crate) fn run_table(
    outcome: &str,
    reason: &str,
    end_s: f64,
    packets: Option<(u64, u64, u64, u64)>,
    payload_bytes: u64,
    retransmitted_packets: u64,
) -> Named {
    let (sent, delivered, lost, dropped) = packets.unwrap_or_default();
    let totals = Totals {
        events: sent + delivered,
        packets_sent: sent,
        packets_delivered: delivered,
        packets_lost: lost,
        packets_dropped: dropped,
        payload_bytes_delivered: payload_bytes,
        retransmitted_packets,
    };
    named(totals.table(outcome, reason, end_s))
}

fn words(outcome: &Outcome) -> (&'static str, String) {
    let (name, reason) = outcome.words();
    (name, reason.to_owned())
}
