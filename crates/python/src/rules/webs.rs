//! Users who fetch pages.

use flashcrowd_base::Time;
use flashcrowd_workload::{User, Webs};
use pyo3::prelude::*;
use std::sync::Mutex;

use super::{Named, at, held, named};
use crate::plan::Plan;

/// The users of the web workloads of a run, each by its place among all.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct WebRules(Mutex<Webs>);

#[pymethods]
impl WebRules {
    /// Those of a plan, in a run with a seed.
    #[new]
    fn new(plan: &Plan, seed: u64) -> WebRules {
        WebRules(Mutex::new(Webs::new(plan.data(), seed)))
    }

    /// The users of a workload, and when each asks for the first page.
    fn users(&self, workload: u32) -> Vec<(usize, f64)> {
        let webs = held(&self.0);
        let start = |user: usize| (user, webs.users[user].start.seconds());
        webs.users_of(workload).map(start).collect()
    }

    /// A user asks for the next page; gives the bytes that each of its connections brings, None once the user has
    /// stopped.
    fn ask(&self, now_s: f64, user: usize) -> Option<Vec<u64>> {
        self.of(user, |user| {
            let connections = user.spec.connections;
            user.ask(at(now_s)).map(|page| page.parts(connections).collect())
        })
    }

    /// Bytes of the page under way arrive.
    fn receive(&self, now_s: f64, user: usize, bytes: u64) {
        self.of(user, |user| user.receive(at(now_s), bytes));
    }

    /// All of the page under way has arrived; gives when the next one is asked for, None once the user has stopped.
    fn complete(&self, now_s: f64, user: usize) -> Option<f64> {
        self.of(user, |user| user.complete(at(now_s)).map(Time::seconds))
    }

    /// The page under way lost a connection too early, and is given up; gives the same.
    fn lose(&self, now_s: f64, user: usize) -> Option<f64> {
        self.of(user, |user| user.lose(at(now_s)).map(Time::seconds))
    }

    /// A user stops; whether a page is under way, which is given up.
    fn stop(&self, user: usize) -> bool {
        self.of(user, User::stop)
    }

    /// Bytes of pages that have arrived.
    fn payload_bytes(&self) -> u64 {
        held(&self.0).payload_bytes()
    }

    /// A line for each workload whose pages lost connections, or of which no byte arrived.
    fn undelivered(&self, now_s: f64) -> Vec<String> {
        held(&self.0).undelivered(at(now_s))
    }

    /// The table `pages` by name, as its columns by name.
    fn tables(&self) -> Vec<Named> {
        vec![named(held(&self.0).table())]
    }
}

impl WebRules {
    fn of<T>(&self, user: usize, ask: impl FnOnce(&mut User) -> T) -> T {
        ask(&mut held(&self.0).users[user])
    }
}
