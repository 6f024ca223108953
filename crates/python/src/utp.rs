//! uTP on real sockets: measurements that run on threads of their own, watched from Python.

use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use flashcrowd_live::session::{Admission, Amount, Order, Server, SessionHandle, Watch, send};
use flashcrowd_transport::utp::Config;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use crate::faults::{EngineFault, PlanError, guarded};

/// What a thread comes to, for others to wait for.
#[derive(Default)]
struct Task {
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
    /// Runs `work` on a thread with a runtime of its own.
    fn start<T: Serialize>(
        runtime: Runtime,
        work: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> PyResult<Arc<Task>> {
        let task = Arc::new(Task::default());
        let ours = Arc::clone(&task);
        let body = move || {
            let outcome = guarded(AssertUnwindSafe(|| runtime.block_on(work)));
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
        thread::Builder::new().name("flashcrowd-utp".into()).spawn(body)?;
        Ok(task)
    }

    /// Waits at most this long. Whether it has ended.
    fn wait(&self, seconds: f64) -> bool {
        let span = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.there.wait_timeout_while(ended, span, |ended| ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    fn result(&self) -> PyResult<String> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match ended {
            Some(Ok(text)) => Ok(text),
            Some(Err(Fault::Io(kind, text))) => Err(io::Error::new(kind, text).into()),
            Some(Err(Fault::Bug(text))) => Err(EngineFault::new_err(text)),
            None => Err(PyValueError::new_err("not ended yet: wait first")),
        }
    }
}

fn runtime() -> PyResult<Runtime> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| PyOSError::new_err(format!("no event loop: {error}")))
}

fn config(json: &str) -> PyResult<Arc<Config>> {
    let config: Config = serde_json::from_str(json)
        .map_err(|error| PlanError::new_err(format!("uTP configuration: {error}")))?;
    config.check().map_err(|error| PlanError::new_err(format!("uTP configuration: {error}")))?;
    Ok(Arc::new(config))
}

fn address(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{text} is no address with a port")))
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| EngineFault::new_err(error.to_string()))
}

/// Sends to a `UtpReceiver`, in the background.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct UtpSender {
    control: SessionHandle,
    task: Arc<Task>,
}

#[pymethods]
impl UtpSender {
    /// Begins at once. One of `bytes` and `seconds` is to be given; `config` is a uTP
    /// configuration (JSON). Raises `PlanError` or `ValueError`.
    #[new]
    #[pyo3(signature = (remote, config, *, bytes = None, seconds = None))]
    fn new(
        remote: &str,
        config: &str,
        bytes: Option<u64>,
        seconds: Option<f64>,
    ) -> PyResult<UtpSender> {
        let amount = match (bytes, seconds) {
            (Some(bytes), None) => Amount::Bytes(bytes),
            (None, Some(seconds)) => Amount::Time(
                Duration::try_from_secs_f64(seconds)
                    .map_err(|_| PyValueError::new_err(format!("{seconds} is no time")))?,
            ),
            _ => return Err(PyValueError::new_err("give either bytes or seconds")),
        };
        let order = Order { remote: address(remote)?, amount, config: self::config(config)? };
        let control = SessionHandle::default();
        let theirs = control.clone();
        let task = Task::start(runtime()?, async move { send(&order, &theirs).await })?;
        Ok(UtpSender { control, task })
    }

    /// Wait at most this long; whether it has ended. Other Python threads go on.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.task.wait(seconds))
    }

    /// The connection now (JSON), or None if there is none.
    fn snapshot(&self) -> PyResult<Option<String>> {
        self.control.snapshot().map(|snapshot| json(&snapshot)).transpose()
    }

    /// End soon, and tell the other end; the second time, at once.
    fn stop(&self) {
        self.control.stop();
    }

    /// What came out (JSON), when it has ended. Raises `OSError` if nothing could come out.
    fn result(&self) -> PyResult<String> {
        self.task.result()
    }
}

/// Receives from several `UtpSender`s at once, in the background.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct UtpReceiver {
    control: SessionHandle,
    task: Arc<Task>,
    watch: Watch,
    address: SocketAddr,
}

#[pymethods]
impl UtpReceiver {
    /// Begins at once; `once` ends it after one sender, and more than `most_senders` at once are
    /// refused. Raises `PlanError`, `ValueError`, or `OSError` if it cannot listen there.
    #[new]
    #[pyo3(signature = (local, config, *, once = false, most_senders = 16))]
    fn new(local: &str, config: &str, once: bool, most_senders: usize) -> PyResult<UtpReceiver> {
        let config = self::config(config)?;
        let local = address(local)?;
        let runtime = runtime()?;
        let server = {
            let _inside = runtime.enter();
            Server::bind(local, &config, Admission { once, most_senders })?
        };
        let (address, watch) = (server.local_addr(), server.watch());
        let control = SessionHandle::default();
        let theirs = control.clone();
        let task = Task::start(runtime, async move { server.run(&theirs).await })?;
        Ok(UtpReceiver { control, task, watch, address })
    }

    /// Where it listens.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Wait at most this long; whether it has ended. Other Python threads go on.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.task.wait(seconds))
    }

    /// Senders that are connected (a JSON list).
    fn active(&self) -> PyResult<String> {
        json(&self.watch.active())
    }

    /// Senders that have finished since this was last called (a JSON list).
    fn take_finished(&self) -> PyResult<String> {
        json(&self.watch.take_finished())
    }

    /// End soon, and tell the senders; the second time, at once.
    fn stop(&self) {
        self.control.stop();
    }

    /// Raises `OSError` if the socket has failed. Only when it has ended.
    fn result(&self) -> PyResult<()> {
        self.task.result().map(drop)
    }
}
