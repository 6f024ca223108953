//! Content servers.

use flashcrowd_workload::origin::{self, Client};
use pyo3::prelude::*;

use super::{at, outcome_of};

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
