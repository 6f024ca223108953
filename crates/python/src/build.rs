//! The build of the module.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The build: `version`, `profile` (`release` or `debug`), `commit` (None if built outside of a
/// repository, with a `+` if sources differed from it), `engine`, `emulation` and `server` (digests of
/// the sources that decide results of the simulation, of the emulation and of the content server) and
/// `rustc`.
#[pyfunction]
pub(crate) fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let known = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("profile", env!("FLASHCROWD_PROFILE"))?;
    info.set_item("commit", known(env!("FLASHCROWD_COMMIT")))?;
    info.set_item("engine", env!("FLASHCROWD_ENGINE"))?;
    info.set_item("emulation", env!("FLASHCROWD_EMULATION"))?;
    info.set_item("server", env!("FLASHCROWD_SERVER"))?;
    info.set_item("rustc", known(env!("FLASHCROWD_RUSTC")))?;
    Ok(info)
}
