//! The content server over HTTP, in the background.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use flashcrowd_origin::Scheduling;
use flashcrowd_server::{ReadBy, Reading, Server, ServerHandle, Settings, StartError, Watch};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tokio::runtime::Builder;

use crate::faults::PlanError;
use crate::task::Task;
use crate::utp::json;

/// Names of the policies of a content server, in the order in which they are shown.
#[pyfunction]
pub(crate) fn content_policies() -> Vec<&'static str> {
    Scheduling::NAMES.to_vec()
}

/// The least memory with which a server's machine has this many bytes for its cache.
#[pyfunction]
pub(crate) fn content_memory(cache_bytes: u64, extent_bytes: u32, reads: u32) -> u64 {
    flashcrowd_server::memory_for(cache_bytes, extent_bytes, reads)
}

/// A content server on a directory.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct ContentServer {
    handle: ServerHandle,
    task: Arc<Task>,
    watch: Watch,
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    reading: Reading,
    read_by: ReadBy,
    /// The errors of a reload, when it is done.
    reload: Mutex<Option<Receiver<Vec<String>>>>,
}

#[pymethods]
impl ContentServer {
    /// Begins at once, with settings (JSON). Raises `PlanError` for a setting that cannot be, and `OSError`, with
    /// what it is about as its file name, if the directory or the address is not to be had.
    #[new]
    fn new(py: Python<'_>, settings: &str) -> PyResult<ContentServer> {
        let settings: Settings = serde_json::from_str(settings)
            .map_err(|error| PlanError::new_err(error.to_string()))?;
        let runtime = Builder::new_multi_thread()
            .enable_all()
            // Paths are opened there, which may wait for the disk.
            .max_blocking_threads(64)
            .thread_name("flashcrowd-http")
            .build()
            .map_err(|error| PyOSError::new_err(format!("no event loop: {error}")))?;
        // The disk may take its time: other Python threads go on.
        let server = py.detach(|| {
            let _inside = runtime.enter();
            Server::bind(settings)
        });
        let server = server.map_err(refused)?;
        let (address, metrics) = (server.local_addr()?, server.metrics_addr());
        let (watch, reading) = (server.watch(), server.reading().clone());
        let read_by = server.read_by().clone();
        let handle = ServerHandle::default();
        let theirs = handle.clone();
        let work = async move { io::Result::Ok(server.run(&theirs).await) };
        let task = Task::start("flashcrowd-serve", runtime, work)?;
        let reload = Mutex::default();
        Ok(ContentServer { handle, task, watch, address, metrics, reading, read_by, reload })
    }

    /// Where it listens.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Where the metrics are; None if nowhere.
    #[getter]
    fn metrics(&self) -> Option<String> {
        self.metrics.map(|address| address.to_string())
    }

    /// How the directory is read, and by what, in words.
    #[getter]
    fn reading(&self) -> String {
        let way: String = match &self.reading {
            Reading::Direct => "past the page cache (O_DIRECT)".into(),
            Reading::PageCache(why) => format!("through the page cache ({why})"),
            Reading::Untried => {
                "past the page cache (O_DIRECT) if the file system can (no file to try it with)"
                    .into()
            }
        };
        format!("{way}, {}", self.read_by)
    }

    /// Wait at most this long; whether it has ended. Other Python threads go on.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.task.wait(seconds))
    }

    /// The server's state and counters (a JSON object).
    fn snapshot(&self, py: Python<'_>) -> PyResult<String> {
        json(&py.detach(|| self.watch.snapshot()))
    }

    /// Begin to read the certificate and its key again, and to reopen the access log; see `reloaded`. Whether it has
    /// begun: not while the last time still waits for a disk.
    fn reload(&self) -> PyResult<bool> {
        let mut under_way = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.is_some() {
            return Ok(false);
        }
        let (watch, (tell, told)) = (self.watch.clone(), channel());
        thread::Builder::new().name("flashcrowd-load".into()).spawn(move || {
            let _ = tell.send(watch.reload().iter().map(ToString::to_string).collect());
        })?;
        *under_way = Some(told);
        Ok(true)
    }

    /// The errors of the last reload, in words, once it is done; None before, and at later calls. A file that could not
    /// be read or opened keeps its old content.
    fn reloaded(&self) -> Option<Vec<String>> {
        let mut under_way = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => None,
            told => {
                *under_way = None;
                Some(told.unwrap_or_else(|_| vec!["it broke off".into()]))
            }
        }
    }

    /// End soon, when answers under way have ended or had their time; the second time, at once.
    fn stop(&self) {
        self.handle.stop();
    }

    /// Whether all answers had ended (JSON). Only when it has ended.
    fn result(&self) -> PyResult<String> {
        self.task.result()
    }
}

/// A reason not to begin, as Python has it.
fn refused(error: StartError) -> PyErr {
    let (subject, source) = match error {
        StartError::Setting(refusal) => return PlanError::new_err(refusal.to_string()),
        StartError::Tls(error) => return PlanError::new_err(error.to_string()),
        StartError::Root { path, source } | StartError::Log { path, source } => (path, source),
        StartError::Listen { address, source } => (address.to_string(), source),
    };
    match source.raw_os_error() {
        Some(number) => {
            let text = source.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, subject))
        }
        None => PyOSError::new_err((0, source.to_string(), subject)),
    }
}
