//! Calls.

use flashcrowd_base::Span;
use flashcrowd_workload::{Call, Calls};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;

use super::{Named, at, held, named};
use crate::plan::Plan;

/// The calls of a run.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct CallRules {
    plan: Plan,
    calls: Mutex<Calls>,
}

#[pymethods]
impl CallRules {
    /// Those of a plan.
    #[new]
    fn new(plan: &Plan) -> CallRules {
        CallRules { plan: plan.clone(), calls: Mutex::new(Calls::new(plan.data())) }
    }

    /// When the next packets of a workload are due, unless `send` finds that it is over.
    fn next_due(&self, workload: u32) -> PyResult<f64> {
        self.of(workload, |call| call.next_due().seconds())
    }

    /// Both hosts send the packet that is due; gives its number, None once the call is over.
    fn send(&self, workload: u32) -> PyResult<Option<u64>> {
        self.of(workload, Call::send)
    }

    /// A packet arrives: at the host `to` (direction 0) or `from` (1).
    fn arrive(&self, workload: u32, direction: usize, number: u64, delay_s: f64) -> PyResult<()> {
        self.of(workload, |call| call.arrive(direction, number, Span::from_seconds(delay_s)))
    }

    /// The timeline stops a workload.
    fn stop(&self, workload: u32) {
        held(&self.calls).stop(workload);
    }

    /// A line for each direction in which not one packet arrived.
    fn undelivered(&self, now_s: f64) -> Vec<String> {
        held(&self.calls).undelivered(self.plan.data(), at(now_s))
    }

    /// The table `calls` by name, as its columns by name.
    fn tables(&self) -> Vec<Named> {
        vec![named(held(&self.calls).table(self.plan.data()))]
    }
}

impl CallRules {
    fn of<T>(&self, workload: u32, ask: impl FnOnce(&mut Call) -> T) -> PyResult<T> {
        let mut calls = held(&self.calls);
        let found = calls.all.iter_mut().find(|call| call.workload == workload);
        let none = || PyValueError::new_err(format!("workload {workload} is no call"));
        found.map(ask).ok_or_else(none)
    }
}
