//! Echo requests.

use flashcrowd_workload::{Ping, Pings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;

use super::{Named, at, held, named};
use crate::plan::Plan;

/// The pings of a run.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct PingRules(Mutex<Pings>);

#[pymethods]
impl PingRules {
    /// Those of a plan.
    #[new]
    fn new(plan: &Plan) -> PingRules {
        PingRules(Mutex::new(Pings::new(plan.data())))
    }

    /// When the next request of a workload is due, unless `send` finds that it is over.
    fn next_due(&self, workload: u32) -> PyResult<f64> {
        self.of(workload, |ping| ping.next_due().seconds())
    }

    /// The request that is due is sent; gives its number, None once the ping is over.
    fn send(&self, now_s: f64, workload: u32) -> PyResult<Option<u64>> {
        self.of(workload, |ping| ping.send(at(now_s)))
    }

    /// A request is answered; its first answer counts.
    fn answer(&self, at_s: f64, workload: u32, number: u64) -> PyResult<()> {
        self.of(workload, |ping| ping.answer(number, at(at_s)))
    }

    /// The timeline stops a workload.
    fn stop(&self, workload: u32) {
        held(&self.0).stop(workload);
    }

    /// Of each request when it was sent, and how long its answer took.
    fn echoes(&self, workload: u32) -> PyResult<Vec<(f64, Option<f64>)>> {
        self.of(workload, |ping| {
            let echoes = ping.echoes.iter();
            echoes.map(|(sent, rtt)| (sent.seconds(), rtt.map(|rtt| rtt.seconds()))).collect()
        })
    }

    /// A line for each ping of which not one request was answered.
    fn undelivered(&self, now_s: f64) -> Vec<String> {
        held(&self.0).undelivered(at(now_s))
    }

    /// The table `pings` by name, as its columns by name.
    fn tables(&self) -> Vec<Named> {
        vec![named(held(&self.0).table())]
    }
}

impl PingRules {
    fn of<T>(&self, workload: u32, ask: impl FnOnce(&mut Ping) -> T) -> PyResult<T> {
        let mut pings = held(&self.0);
        let found = pings.all.iter_mut().find(|ping| ping.workload == workload);
        let none = || PyValueError::new_err(format!("workload {workload} is no ping"));
        found.map(ask).ok_or_else(none)
    }
}
