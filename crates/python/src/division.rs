//! Which connection of `flashcrowd fetch` asks for which bytes: the rules by which simulated downloads go.

use flashcrowd_workload::{Came, Division as Rules};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file whose missing bytes several connections ask for. Runs are a first byte and the first after the last.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct Division(Mutex<Rules>);

#[pymethods]
impl Division {
    /// Nothing was asked for of what is missing, ascending runs. Without a range, connections get equal parts;
    /// without a least split, no rest is halved.
    #[new]
    #[pyo3(signature = (missing, connections, range_bytes, least_split_bytes))]
    fn new(
        missing: Vec<(u64, u64)>,
        connections: u32,
        range_bytes: Option<u64>,
        least_split_bytes: Option<u64>,
    ) -> Division {
        let missing = missing.into_iter().map(|(start, end)| start..end);
        Division(Mutex::new(Rules::new(missing, connections, range_bytes, least_split_bytes)))
    }

    /// The next range for an idle connection; None if nothing is left for it.
    fn ask(&self, connection: u32) -> Option<(u64, u64)> {
        self.held().ask(connection).map(|range| (range.start, range.end))
    }

    /// Bytes of a connection's range came: how many of them were missing, and whether all of its range has come.
    fn receive(&self, connection: u32, bytes: u64) -> (u64, bool) {
        let (missing, came) = self.held().receive(connection, bytes);
        (missing, came != Came::More)
    }

    /// A connection brings nothing any more: what is left of its range is for any.
    fn lose(&self, connection: u32) {
        self.held().lose(connection);
    }

    /// Whether every byte has come.
    fn is_whole(&self) -> bool {
        self.held().is_whole()
    }
}

impl Division {
    fn held(&self) -> MutexGuard<'_, Rules> {
        // Nothing of it panics; a poisoned one would say the same.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
