//! The profiles that ship, for the Python side to offer by name and to resolve into plans.

use flashcrowd_base::Rate;
use flashcrowd_swarm::profile::{RequestPipeline, Slots};
use flashcrowd_swarm::{choker, pipeline};
use flashcrowd_transport::congestion::Kind;
use flashcrowd_upload::{Parameter, STATES, UploadControl};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::faults::{EngineFault, PlanError};

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

/// Uploads at a time, the optimistic ones included, by a profile's `choker.slots` (JSON) and an upload limit in bits
/// per second; None is unlimited. Raises `PlanError`.
#[pyfunction]
#[pyo3(signature = (rule, limit_bps))]
pub(crate) fn upload_slots(rule: &str, limit_bps: Option<u64>) -> PyResult<u32> {
    let rule: Slots = part("choker.slots", rule)?;
    Ok(choker::slots(rule, limit_bps.map(Rate::at_least_one)))
}

/// How many seconds of the download rate the outstanding requests are worth, by a profile's `requests.backlog`
/// (JSON); None if their number is fixed. Raises `PlanError`.
#[pyfunction]
pub(crate) fn request_queue_time_s(rule: &str) -> PyResult<Option<f64>> {
    let rule: RequestPipeline = part("requests.backlog", rule)?;
    Ok(pipeline::queue_time_s(&rule))
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

/// The states of the controllers of `flashcrowd autolimit`: phase, reason, and what it means.
#[pyfunction]
pub(crate) fn upload_states() -> Vec<(&'static str, &'static str, &'static str)> {
    STATES.iter().map(|(state, meaning)| (state.phase.name(), state.reason, *meaning)).collect()
}

/// The JSON Schema of what can be configured: `tables` by name, with references to `$defs`.
#[pyfunction]
pub(crate) fn settings_schema() -> String {
    flashcrowd_plan::settings_schema().to_string()
}

/// The contradiction in a table of that name (JSON, as a plan has it): the path in it, and what is
/// allowed there. None if there is none.
#[pyfunction]
pub(crate) fn check_settings(table: &str, table_json: &str) -> PyResult<Option<(String, String)>> {
    let checked = flashcrowd_plan::check_settings(table, table_json)
        .map_err(|error| PlanError::new_err(format!("{table}: {error}")))?;
    Ok(checked.err().map(|refusal| (refusal.path, refusal.allowed)))
}

/// A part of a profile.
fn part<T: DeserializeOwned>(name: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PlanError::new_err(format!("{name}: {error}")))
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
