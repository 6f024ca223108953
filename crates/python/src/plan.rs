//! A plan, parsed once.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use flashcrowd_base::Span;
use flashcrowd_forecast::Need;
use flashcrowd_plan::{Visit, Workload};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use crate::faults::PlanError;

/// A visit to a content server: population, host, file, and when it comes and leaves at the latest, in nanoseconds.
type VisitRow = (u32, u32, u32, u64, Option<u64>);
/// The numbers of a `Need`, in the order of its fields.
type Numbers = (u64, u64, f64, u64, f64);

/// A plan. Those who need it share it. Two with the same text are equal.
#[pyclass(module = "flashcrowd._core", frozen, eq, hash)]
#[derive(Clone)]
pub(crate) struct Plan(Arc<Read>);

/// A plan with the texts of its parts, which plans of one sweep share.
struct Read {
    plan: flashcrowd_plan::Plan,
    texts: [Arc<str>; PARTS.len()],
    /// The parts as Python's values, once they were asked for.
    values: [PyOnceLock<Py<PyAny>>; PARTS.len()],
}

macro_rules! parts {
    ($($part:ident)+) => {
        /// Names of the parts of a plan.
        const PARTS: &[&str] = &[$(stringify!($part)),+];

        /// Their places there.
        #[allow(non_camel_case_types, reason = "each is the name of a part")]
        enum Place {
            $($part),+
        }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Unread<'a> {
            $(#[serde(borrow)] $part: &'a RawValue,)+
        }

        impl Read {
            /// A plan from its JSON. A part with the same text as in the plan `like` is not read again.
            fn new(text: &str, like: Option<&Read>) -> serde_json::Result<Read> {
                a_table("plan", text.trim_start())?;
                let unread: Unread = serde_json::from_str(text)?;
                $(a_table(stringify!($part), unread.$part.get())?;)+
                let mut known = like.into_iter().flat_map(|it| &it.texts);
                $(let $part = part(unread.$part, known.next().zip(like.map(|it| &it.plan.$part)))?;)+
                Ok(Read {
                    plan: flashcrowd_plan::Plan { $($part: $part.1,)+ },
                    texts: [$($part.0,)+],
                    values: [const { PyOnceLock::new() }; PARTS.len()],
                })
            }
        }

        #[pymethods]
        impl Plan {
            $(
                /// The part of this name.
                #[getter]
                fn $part(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                    self.part(py, Place::$part)
                }
            )+

            /// From JSON. What has the same text as in the plan `like` is not read again. Other threads of Python go on
            /// meanwhile. Raises `PlanError`.
            #[new]
            #[pyo3(signature = (text, like = None))]
            fn new(py: Python<'_>, text: &str, like: Option<&Plan>) -> PyResult<Plan> {
                let like = like.map(|it| &*it.0);
                let read = py.detach(|| {
                    Read::new(text, like).map_err(|error| {
                        // The error of the whole plan has the place. One without a line names it itself.
                        let whole = serde_json::from_str::<flashcrowd_plan::Plan>(text);
                        let placed = whole.err().filter(|_| error.line() > 0);
                        PlanError::new_err(format!("plan: {}", placed.unwrap_or(error)))
                    })
                })?;
                Ok(Plan(Arc::new(read)))
            }

            /// The plan with other parts.
            #[pyo3(signature = (**parts))]
            fn with_(&self, py: Python<'_>, parts: Option<&Bound<'_, PyDict>>) -> PyResult<Plan> {
                let mut texts = BTreeMap::new();
                for (name, part) in parts.into_iter().flatten() {
                    texts.insert(name.extract()?, json(py, &part)?);
                }
                Plan::new(py, &self.text(texts), Some(self))
            }

            /// The plan as JSON, as it was given.
            fn to_json(&self) -> String {
                self.text(BTreeMap::new())
            }

            /// As `pickle` asks.
            fn __getnewargs__(&self) -> (String,) {
                (self.to_json(),)
            }

            /// Raise `PlanError` if it contradicts itself: whatever a run would refuse.
            fn check(&self) -> PyResult<()> {
                self.data().check().map_err(|error| PlanError::new_err(error.to_string()))
            }

            /// The predicted need of a run: events, packets, seconds of one core, bytes of memory, and end. Raises `PlanError`
            /// if it contradicts itself.
            fn need(&self, py: Python<'_>) -> PyResult<Numbers> {
                py.detach(|| {
                    self.check()?;
                    let Need { events, packets, seconds, bytes, end_s } = Need::of(self.data());
                    Ok((events, packets, seconds, bytes, end_s))
                })
            }

            /// The predicted work of a run: how often, by kinds of work. Seconds and bytes of `need` are counted from it.
            /// Raises `PlanError` if it contradicts itself.
            fn work(&self) -> PyResult<BTreeMap<&'static str, f64>> {
                self.check()?;
                Ok(flashcrowd_forecast::work(self.data()).into_iter().collect())
            }

            /// The clients of the content server that is the workload of this number, in a run with a seed. Raises `PlanError`.
            fn visits(&self, seed: u64, workload: u32) -> PyResult<Vec<VisitRow>> {
                let Some(Workload::Origin(origin)) = self.data().workloads.get(workload as usize) else {
                    return Err(PlanError::new_err(format!("workloads[{workload}]: is no origin")));
                };
                let row =
                    |it: Visit| (it.population, it.host, it.file, it.at.nanos(), it.leave.map(Span::nanos));
                Ok(origin.visits(seed, workload).into_iter().map(row).collect())
            }
        }
    };
}

/// The parts that are lists.
const LISTS: &[&str] = &["stacks", "utps", "profiles", "workloads", "timeline"];

parts!(format title network stacks utps profiles workloads timeline measures stop);

impl Plan {
    pub(crate) fn data(&self) -> &flashcrowd_plan::Plan {
        &self.0.plan
    }

    /// A part as Python's value.
    fn part(&self, py: Python<'_>, place: Place) -> PyResult<Py<PyAny>> {
        let place = place as usize;
        let read = || value(py, &self.0.texts[place]);
        self.0.values[place].get_or_try_init(py, read).map(|it| it.clone_ref(py))
    }

    /// The plan as JSON, with other texts for some parts, or for more.
    fn text(&self, mut other: BTreeMap<String, String>) -> String {
        let mut parts: Vec<_> = (PARTS.iter().zip(&self.0.texts))
            .map(|(&name, text)| {
                let text = other.remove(name).unwrap_or_else(|| text.to_string());
                format!("\"{name}\":{text}")
            })
            .collect();
        parts.extend(other.into_iter().map(|(name, text)| format!("\"{name}\":{text}")));
        format!("{{{}}}", parts.join(","))
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.0.texts == other.0.texts
    }
}

impl Hash for Plan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.texts.hash(state);
    }
}

/// Refuses a list in the place of a table: its values would be taken for the fields, in their order.
fn a_table(name: &str, text: &str) -> serde_json::Result<()> {
    match text.starts_with('[') && !LISTS.contains(&name) {
        true => Err(serde_json::Error::custom(format!("{name}: is a list, where a table belongs"))),
        false => Ok(()),
    }
}

/// A part of a plan and its text; those of a plan before, if the text is the same.
fn part<T: DeserializeOwned + Clone>(
    unread: &RawValue,
    before: Option<(&Arc<str>, &T)>,
) -> serde_json::Result<(Arc<str>, T)> {
    match before {
        Some((text, value)) if **text == *unread.get() => Ok((text.clone(), value.clone())),
        _ => Ok((unread.get().into(), serde_json::from_str(unread.get())?)),
    }
}

/// JSON as a value of Python.
fn value(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

/// A value of Python as JSON without spaces.
fn json(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let how = [("ensure_ascii", false), ("allow_nan", false)].into_py_dict(py)?;
    how.set_item("separators", (",", ":"))?;
    py.import("json")?.call_method("dumps", (value,), Some(&how))?.extract()
}
