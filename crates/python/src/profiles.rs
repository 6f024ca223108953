//! The profiles that ship, for the Python side to offer by name and to resolve into plans.

use flashcrowd_transport::congestion::Kind;
use flashcrowd_upload::{Parameter, UploadControl};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;

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

/// The upload controllers: a JSON list of objects with a `name`, what it does (`about`) and its
/// `parameters`, each with its name in a plan, what it is about, its bounds (in seconds or bits per
/// second) and its default (as a plan has it).
#[pyfunction]
pub(crate) fn upload_controllers() -> PyResult<String> {
    let fault = |error| EngineFault::new_err(format!("upload controllers: {error}"));
    let mut list = Vec::new();
    for control in UploadControl::NAMES.into_iter().filter_map(UploadControl::named) {
        let defaults = serde_json::to_value(&control).map_err(fault)?;
        let described = control.parameters().into_iter().map(|it| {
            let Parameter { name, about, min, max, .. } = it;
            let default = &defaults[name];
            json!({ "name": name, "about": about, "min": min, "max": max, "default": default })
        });
        let parameters: Vec<serde_json::Value> = described.collect();
        let (name, about) = (control.name(), control.about());
        list.push(json!({ "name": name, "about": about, "parameters": parameters }));
    }
    Ok(serde_json::Value::Array(list).to_string())
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
