//! The profiles that ship, for the Python side to offer by name and to resolve into plans.

use flashcrowd_transport::congestion::Kind;
use pyo3::prelude::*;
use serde::Serialize;

use crate::faults::EngineFault;

/// TCP stacks: a JSON object from name to the resolved stack, as a plan takes it.
#[pyfunction]
pub(crate) fn tcp_profiles() -> PyResult<String> {
    by_name(flashcrowd_transport::tcp::profiles::all(), |profile| &profile.name)
}

/// uTP configurations: a JSON object from name to the resolved one, as a plan takes it.
#[pyfunction]
pub(crate) fn utp_profiles() -> PyResult<String> {
    by_name(flashcrowd_transport::utp::profiles::all(), |profile| &profile.name)
}

/// BitTorrent clients: a JSON object from name to the resolved profile, as a plan takes it.
#[pyfunction]
pub(crate) fn client_profiles() -> PyResult<String> {
    by_name(flashcrowd_swarm::profile::all(), |profile| &profile.name)
}

/// The names of the congestion controllers.
#[pyfunction]
pub(crate) fn controllers() -> Vec<&'static str> {
    Kind::ALL.into_iter().map(Kind::name).collect()
}

/// Controllers of the LEDBAT family: a JSON object from name to the table that it ships with.
#[pyfunction]
pub(crate) fn ledbat_tables() -> PyResult<String> {
    let fault = |error| EngineFault::new_err(format!("controllers: {error}"));
    let mut object = serde_json::Map::new();
    for kind in Kind::ALL {
        let Some(table) = kind.ledbat() else { continue };
        object.insert(kind.name().to_owned(), serde_json::to_value(table).map_err(fault)?);
    }
    Ok(serde_json::Value::Object(object).to_string())
}

fn by_name<T: Serialize>(profiles: Vec<T>, name: impl Fn(&T) -> &String) -> PyResult<String> {
    let mut object = serde_json::Map::new();
    for profile in &profiles {
        let name = name(profile);
        let value = serde_json::to_value(profile)
            .map_err(|error| EngineFault::new_err(format!("profile {name}: {error}")))?;
        object.insert(name.clone(), value);
    }
    Ok(serde_json::Value::Object(object).to_string())
}
