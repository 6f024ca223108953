//! Work on a thread of its own, waited for from Python.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::faults::{EngineFault, guarded};

/// The result of a thread, for others to wait for.
#[derive(Default)]
pub(crate) struct Task {
    ended: Mutex<Option<Ended>>,
    there: Condvar,
}

/// A JSON text, or why there is none.
type Ended = Result<String, Fault>;

#[derive(Clone)]
enum Fault {
    Io(io::ErrorKind, String),
    Bug(String),
}

impl Task {
    /// Runs `work` on a thread of this name with a runtime of its own.
    pub(crate) fn start<T: Serialize>(
        name: &str,
        runtime: Runtime,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> PyResult<Arc<Task>> {
        Task::run(name, move || runtime.block_on(work))
    }
    /// The same without a runtime.
    pub(crate) fn run<T: Serialize>(
        name: &str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> PyResult<Arc<Task>> {
        let task = Arc::new(Task::default());
        let ours = Arc::clone(&task);
        let body = move || {
            let outcome = guarded(AssertUnwindSafe(work));
            let ended = match outcome {
                Ok(Ok(value)) => {
                    serde_json::to_string(&value).map_err(|error| Fault::Bug(error.to_string()))
                }
                Ok(Err(error)) => Err(Fault::Io(error.kind(), error.to_string())),
                Err(fault) => Err(Fault::Bug(fault.to_string())),
            };
            *ours.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            ours.there.notify_all();
        };
        thread::Builder::new().name(name.into()).spawn(body)?;
        Ok(task)
    }

    /// Waits at most this long. Whether it has ended.
    pub(crate) fn wait(&self, seconds: f64) -> bool {
        let span = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.there.wait_timeout_while(ended, span, |ended| ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    pub(crate) fn result(&self) -> PyResult<String> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match ended {
            Some(Ok(text)) => Ok(text),
            Some(Err(Fault::Io(kind, text))) => Err(io::Error::new(kind, text).into()),
            Some(Err(Fault::Bug(text))) => Err(EngineFault::new_err(text)),
            None => Err(PyValueError::new_err("not ended yet: wait first")),
        }
    }
}
