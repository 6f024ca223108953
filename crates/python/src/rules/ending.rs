//! When a run ends, and how.

use flashcrowd_base::Time;
use flashcrowd_workload::Ending;
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
    fn answer<T: Default>(&self, found: PyResult<T>) -> T {
        found.unwrap_or_else(|error| {
            self.raised.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    fn words(&self, method: &str) -> Option<String> {
        self.answer(self.object.call_method0(method).and_then(|it| it.extract()))
    }

    fn holds(&self, method: &str) -> bool {
        self.answer(self.object.call_method0(method).and_then(|it| it.extract()))
    }
}

impl Ending for Workloads<'_, '_> {
    fn failed(&self) -> Option<String> {
        self.words("failed")
    }
    fn stalled(&mut self, _now: Time) -> Option<String> {
        self.answer(self.object.call_method1("stalled", (self.now_s,)).and_then(|it| it.extract()))
    }
    fn is_finite(&self) -> bool {
        self.holds("is_finite")
    }
    fn is_done(&self) -> bool {
        self.holds("is_done")
    }
    fn stopped(&self) -> Option<String> {
        self.words("stopped")
    }
    fn unfinished(&self) -> Vec<String> {
        self.answer(self.object.call_method0("unfinished").and_then(|it| it.extract()))
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
