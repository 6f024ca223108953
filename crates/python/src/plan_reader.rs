//! Reads plans one after another, as the points of a sweep have them.

use flashcrowd_forecast::Need;
use flashcrowd_plan::Plan;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Error;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::simulate::{need, parse};

/// A longer plan is not kept: it is no point of thousands, and its run will want the memory.
const MAX_BYTES: usize = 1 << 20;

/// Reads plans. Those of a sweep are alike: a part with the same text as in the plan before is not
/// read again.
#[pyclass(module = "flashcrowd._core", frozen)]
#[derive(Default)]
pub(crate) struct PlanReader(Mutex<Option<Read>>);

#[pymethods]
impl PlanReader {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The predicted needs of plans' runs: of each its events, packets, seconds of one core, bytes
    /// of memory, and end. Other threads of Python go on meanwhile.
    fn needs(&self, py: Python<'_>, plans_json: Vec<PyBackedStr>) -> PyResult<Vec<Numbers>> {
        py.detach(|| {
            // A poisoned lock means that a plan was left half read.
            let mut last = self.0.lock().unwrap_or_else(|poisoned| {
                let mut last = PoisonError::into_inner(poisoned);
                *last = None;
                last
            });
            plans_json.iter().map(|plan_json| last_need(&mut last, plan_json)).collect()
        })
    }
}

/// The numbers of a `Need`, in the order of its fields.
type Numbers = (u64, u64, f64, u64, f64);

/// The predicted need of a plan's run, by what was read before it.
fn last_need(last: &mut Option<Read>, plan_json: &str) -> PyResult<Numbers> {
    let alike = last.as_mut().is_some_and(|read| read.renew(plan_json).is_ok());
    let read = match &mut *last {
        Some(read) if alike => read,
        other => other.insert(Read { plan: parse(plan_json)?, texts: BTreeMap::new() }),
    };
    let need = need(&read.plan);
    if plan_json.len() > MAX_BYTES {
        *last = None;
    }
    let Need { events, packets, seconds, bytes, end_s } = need?;
    Ok((events, packets, seconds, bytes, end_s))
}

/// A plan, and the texts that its parts were read from, by key; those of some may be unknown.
struct Read {
    plan: Plan,
    texts: BTreeMap<&'static str, String>,
}

impl Read {
    /// Reads those parts of a plan that differ from the plan before.
    ///
    /// # Errors
    /// It is no plan. What is kept is neither plan then, and an error in place is found by `parse`.
    fn renew(&mut self, plan_json: &str) -> serde_json::Result<()> {
        let mut unread: BTreeMap<&str, &RawValue> = serde_json::from_str(plan_json)?;
        macro_rules! renew {
            ($($part:ident)+) => {
                let Plan { $($part),+ } = &mut self.plan;
                $(
                    let text = self.texts.entry(stringify!($part)).or_default();
                    part($part, text, unread.remove(stringify!($part)))?;
                )+
            };
        }
        renew!(format title network stacks utps profiles workloads timeline measures stop);
        if unread.is_empty() { Ok(()) } else { Err(Error::custom("an unknown key")) }
    }
}

/// Reads one part, unless it was read from the same text.
fn part<T: DeserializeOwned>(
    value: &mut T,
    text: &mut String,
    unread: Option<&RawValue>,
) -> serde_json::Result<()> {
    let unread = unread.ok_or_else(|| Error::custom("a missing key"))?.get();
    if text != unread {
        *value = serde_json::from_str(unread)?;
        unread.clone_into(text);
    }
    Ok(())
}
