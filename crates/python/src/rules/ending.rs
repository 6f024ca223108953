//! When a run ends, and how.

use flashcrowd_base::Time;
use flashcrowd_workload::Ending;
use pyo3::call::PyCallArgs;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use std::cell::RefCell;

use super::{at, words};

/// The workloads of a run: an object of Python with the methods of `Ending`.
struct Workloads<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    now_s: f64,
    /// What a method has raised: the first one of all that did.
    raised: RefCell<Option<PyErr>>,
}

impl<'py> Workloads<'_, 'py> {
    /// What a method answers, or nothing if it raises.
    fn ask<T: Default + FromPyObjectOwned<'py>>(
        &self,
        method: &str,
        arguments: impl PyCallArgs<'py>,
    ) -> T {
        let answer = self.object.call_method1(method, arguments);
        let found = answer.and_then(|it| it.extract().map_err(Into::into));
        found.unwrap_or_else(|error| {
            self.raised.borrow_mut().get_or_insert(error);
            T::default()
        })
    }
}

impl Ending for Workloads<'_, '_> {
    fn failed(&self) -> Option<String> {
        self.ask("failed", ())
    }
    fn stalled(&mut self, _now: Time) -> Option<String> {
        self.ask("stalled", (self.now_s,))
    }
    fn is_finite(&self) -> bool {
        self.ask("is_finite", ())
    }
    fn is_done(&self) -> bool {
        self.ask("is_done", ())
    }
    fn stopped(&self) -> Option<String> {
        self.ask("stopped", ())
    }
    fn unfinished(&self) -> Vec<String> {
        self.ask("unfinished", ())
    }
}

/// Outcome and reason of a run that is over; `ended` if something has ended since last time. Raises what a method of
/// the workloads raises.
#[pyfunction]
#[pyo3(signature = (workloads, now_s, horizon_s, *, ended))]
pub(crate) fn run_ending(
    workloads: &Bound<'_, PyAny>,
    now_s: f64,
    horizon_s: f64,
    ended: bool,
) -> PyResult<Option<(&'static str, String)>> {
    let raised = RefCell::new(None);
    let mut asked = Workloads { object: workloads, now_s, raised };
    let outcome = asked.look(at(now_s), at(horizon_s), ended);
    match asked.raised.into_inner() {
        Some(error) => Err(error),
        None => Ok(outcome.as_ref().map(words)),
    }
}
