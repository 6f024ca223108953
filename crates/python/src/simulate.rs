//! One run of the simulator.

use std::panic::AssertUnwindSafe;

use flashcrowd_forecast::check_memory;
use flashcrowd_sim::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::faults::{Cancelled, PlanError, guarded};
use crate::plan::Plan;
use crate::table::Table;

/// Watches and cancels a run from another thread.
#[pyclass(module = "flashcrowd._core", frozen)]
#[derive(Default)]
pub(crate) struct RunHandle {
    run: flashcrowd_sim::RunHandle,
    /// Whether a run is begun that may need more memory than there is.
    force: bool,
}

#[pymethods]
impl RunHandle {
    /// With `force` a run is begun even if it may need more memory than there is.
    #[new]
    #[pyo3(signature = (force = false))]
    fn new(force: bool) -> Self {
        Self { force, ..Self::default() }
    }

    /// End the run soon; it raises `Cancelled`.
    fn cancel(&self) {
        self.run.cancel();
    }

    /// Whether `cancel` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.run.is_cancelled()
    }

    /// How far the run is, 0 to 1, as far as known.
    #[getter]
    fn progress(&self) -> f64 {
        self.run.progress()
    }
}

/// Run a plan with a seed; gives the run's tables by name. Other Python threads go on.
///
/// Raises `PlanError`, `Cancelled` or `EngineFault`.
#[pyfunction]
#[pyo3(signature = (plan, seed, handle = None))]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    plan: &Plan,
    seed: u64,
    handle: Option<&RunHandle>,
) -> PyResult<Bound<'py, PyDict>> {
    let unwatched = RunHandle::default();
    let handle = handle.unwrap_or(&unwatched);
    let plan = plan.data();
    let outcome = py.detach(|| {
        let work = AssertUnwindSafe(|| {
            plan.check()?;
            if !handle.force {
                check_memory(plan)?;
            }
            flashcrowd_sim::simulate(plan, seed, &handle.run)
        });
        guarded(work)?.map_err(raise)
    })?;
    let tables = PyDict::new(py);
    for table in outcome {
        tables.set_item(table.name, Table::new(table)?)?;
    }
    Ok(tables)
}

/// The JSON Schema of plans, as the engines read them.
#[pyfunction]
pub(crate) fn plan_schema() -> PyResult<String> {
    let schema = flashcrowd_plan::schema();
    serde_json::to_string(&schema).map_err(|error| PlanError::new_err(error.to_string()))
}

/// Bytes of memory that a run may still have; None where the system does not say.
#[pyfunction]
pub(crate) fn available_memory() -> Option<u64> {
    flashcrowd_forecast::available_memory()
}

fn raise(error: Error) -> PyErr {
    match error {
        Error::Cancelled => Cancelled::new_err("cancelled"),
        Error::Plan(error) => PlanError::new_err(error.to_string()),
    }
}
