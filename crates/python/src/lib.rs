//! The extension module `flashcrowd._core`: private, typed by `_core.pyi`, used by
//! `flashcrowd.engines`.

mod build;

use pyo3::prelude::*;

/// The engines, compiled.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::build::build_info;
}
