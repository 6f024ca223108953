//! A plan, parsed once.

use pyo3::prelude::*;
use std::sync::Arc;

use crate::simulate::parse;

/// A plan. Those who need it share it.
#[pyclass(module = "flashcrowd._core", frozen)]
#[derive(Clone)]
pub(crate) struct Plan(Arc<flashcrowd_plan::Plan>);

#[pymethods]
impl Plan {
    /// From JSON. Raises `PlanError`.
    #[new]
    fn new(plan_json: &str) -> PyResult<Plan> {
        Ok(Plan(Arc::new(parse(plan_json)?)))
    }
}

impl Plan {
    pub(crate) fn data(&self) -> &flashcrowd_plan::Plan {
        &self.0
    }
}
