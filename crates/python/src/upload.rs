//! Upload controllers for a driver in Python: what happens goes in with its instant, what is to be done comes out. No
//! clock in here.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_upload::{Answer, Controller, Event, Limit, Rates, Setup, UploadControl};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::faults::{EngineFault, guarded};

/// An upload controller for a real client. Instants are nanoseconds of a clock that the driver chooses, limits are in
/// bits per second, and None is no limit.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct UploadController(Mutex<Box<dyn Controller>>);

#[pymethods]
impl UploadController {
    /// The controller `kind` at `now_ns` with `reflectors` reflectors, for a client that has `limit_bps`. `settings` is
    /// a JSON object of what differs from the defaults. Raises `ValueError`.
    #[new]
    #[pyo3(signature = (kind, now_ns, reflectors, limit_bps = None, settings = None))]
    fn new(
        kind: &str,
        now_ns: u64,
        reflectors: usize,
        limit_bps: Option<u64>,
        settings: Option<&str>,
    ) -> PyResult<UploadController> {
        let wrong = |error: &dyn std::fmt::Display| {
            PyValueError::new_err(format!("upload controller {kind}: {error}"))
        };
        let mut object: Map<String, Value> =
            serde_json::from_str(settings.unwrap_or("{}")).map_err(|error| wrong(&error))?;
        object.insert("kind".into(), kind.into());
        let control: UploadControl =
            serde_json::from_value(Value::Object(object)).map_err(|error| wrong(&error))?;
        control.check().map_err(|error| wrong(&error))?;
        if reflectors == 0 {
            return Err(wrong(&"it needs a reflector"));
        }
        let setup = Setup { now: Time::from_nanos(now_ns), reflectors, limit: limit(limit_bps) };
        Ok(UploadController(Mutex::new(control.build(&setup))))
    }

    /// A probe of `reflector` was answered after `rtt_ns`, or was lost (None).
    #[pyo3(signature = (now_ns, reflector, rtt_ns))]
    fn on_answer(&self, now_ns: u64, reflector: usize, rtt_ns: Option<u64>) -> PyResult<()> {
        let answer = Answer { reflector, rtt: rtt_ns.map(Span::from_nanos) };
        self.with(|control| control.on_answer(Time::from_nanos(now_ns), &answer))
    }

    /// The client's counters of payload in bytes, the limit in force, the highest that there can be, and what its host sent with
    /// headers, if known.
    #[pyo3(signature = (now_ns, uploaded, downloaded, limit_bps = None, ceiling_bps = None, sent = None))]
    fn on_rates(
        &self,
        now_ns: u64,
        uploaded: u64,
        downloaded: u64,
        limit_bps: Option<u64>,
        ceiling_bps: Option<u64>,
        sent: Option<u64>,
    ) -> PyResult<()> {
        let (limit, ceiling) = (limit(limit_bps), limit(ceiling_bps));
        let rates = Rates { uploaded, downloaded, sent, limit, ceiling };
        self.with(|control| control.on_rates(Time::from_nanos(now_ns), &rates))
    }

    /// Something happened to the line: `down`, `up`, `path-changed` or `resumed`. Raises `ValueError`.
    fn on_event(&self, now_ns: u64, event: &str) -> PyResult<()> {
        let event = match event {
            "down" => Event::Down,
            "up" => Event::Up,
            "path-changed" => Event::PathChanged,
            "resumed" => Event::Resumed,
            _ => return Err(PyValueError::new_err(format!("{event} is no event"))),
        };
        self.with(|control| control.on_event(Time::from_nanos(now_ns), event))
    }

    /// The next probe that is due: its reflector, and the nanoseconds after which it is lost. Ask until there is none.
    fn probe(&self, now_ns: u64) -> PyResult<Option<(usize, u64)>> {
        let probe = self.with(|control| control.probe(Time::from_nanos(now_ns)))?;
        Ok(probe.map(|probe| (probe.reflector, probe.timeout.nanos())))
    }

    /// When `probe` is to be asked again; None for never.
    #[getter]
    fn deadline_ns(&self) -> PyResult<Option<u64>> {
        let deadline = self.with(|control| control.deadline())?;
        Ok((deadline != Time::NEVER).then(|| deadline.nanos()))
    }

    /// The limit that the client should have now.
    #[getter]
    fn limit_bps(&self) -> PyResult<Option<u64>> {
        Ok(match self.with(|control| control.limit())? {
            Limit::Unlimited => None,
            Limit::At(rate) => Some(rate.bps()),
        })
    }

    /// Its state (one word) and the reason; the delay that decided and the threshold for it, in nanoseconds,
    /// where it goes by delays.
    #[getter]
    fn state(&self) -> PyResult<(&'static str, &'static str, Option<u64>, Option<u64>)> {
        let state = self.with(|control| control.state())?;
        let nanos = |span: Option<Span>| span.map(Span::nanos);
        Ok((state.phase.name(), state.reason, nanos(state.delay), nanos(state.threshold)))
    }
}

impl UploadController {
    /// Calls it; a panic is a fault of ours, after which it may be asked no more.
    fn with<T>(&self, call: impl FnOnce(&mut dyn Controller) -> T) -> PyResult<T> {
        let mut control: MutexGuard<'_, Box<dyn Controller>> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let control: &mut dyn Controller = control.as_mut();
        guarded(AssertUnwindSafe(|| call(control)))
            .map_err(|fault| EngineFault::new_err(fault.to_string()))
    }
}

fn limit(bps: Option<u64>) -> Limit {
    bps.map_or(Limit::Unlimited, |bps| Limit::At(Rate::at_least_one(bps)))
}
