//! uTP on real sockets: measurements that run on threads of their own, watched from Python.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use flashcrowd_live::Socket;
use flashcrowd_live::session::{
    Admission, Amount, FlowHandle, Server, SessionHandle, TransferRequest, Transport, Watch, flow,
    transfer,
};
use flashcrowd_transport::utp::Config;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::faults::{EngineFault, PlanError};
use crate::task::Task;

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

pub(crate) fn address(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{text} is no address with a port")))
}

pub(crate) fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| EngineFault::new_err(error.to_string()))
}

/// A measurement with a `UtpServer`, in the background.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct UtpTransfer {
    control: SessionHandle,
    task: Arc<Task>,
}

#[pymethods]
impl UtpTransfer {
    /// Begins at once: the client sends on `to_server` streams and the server on `to_client` streams,
    /// each stream `bytes` bytes, or for `seconds` seconds (one of the two), at most `rate` bits per
    /// second; over uTP with `config` (JSON), or over the kernel's TCP with its congestion control
    /// `congestion`. Raises `PlanError` or `ValueError`.
    #[new]
    #[pyo3(signature = (
        remote, config, *, bytes = None, seconds = None, rate = None, to_server = 1, to_client = 0,
        tcp = false, congestion = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "by name, as Python has them")]
    fn new(
        remote: &str,
        config: &str,
        bytes: Option<u64>,
        seconds: Option<f64>,
        rate: Option<u64>,
        to_server: u32,
        to_client: u32,
        tcp: bool,
        congestion: Option<String>,
    ) -> PyResult<UtpTransfer> {
        let amount = match (bytes, seconds) {
            (Some(bytes), None) => Amount::Bytes(bytes),
            (None, Some(seconds)) => Amount::Time(
                Duration::try_from_secs_f64(seconds)
                    .map_err(|_| PyValueError::new_err(format!("{seconds} is no time")))?,
            ),
            _ => return Err(PyValueError::new_err("give either bytes or seconds")),
        };
        if to_server.saturating_add(to_client) == 0 {
            return Err(PyValueError::new_err("no stream"));
        }
        let order = TransferRequest {
            transport: if tcp { Transport::Tcp } else { Transport::Utp },
            congestion,
            to_server,
            to_client,
            rate,
            ..TransferRequest::new(address(remote)?, amount, self::config(config)?)
        };
        let control = SessionHandle::default();
        let theirs = control.clone();
        let task =
            Task::start(
                "flashcrowd-utp",
                runtime()?,
                async move { transfer(&order, &theirs).await },
            )?;
        Ok(UtpTransfer { control, task })
    }

    /// Wait at most this long; whether it has ended. Other Python threads go on.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.task.wait(seconds))
    }

    /// The streams now (a JSON list); none before they are open.
    fn streams(&self) -> PyResult<String> {
        json(&self.control.streams())
    }

    /// End soon, and tell the other end; the second time, at once.
    fn stop(&self) {
        self.control.stop();
    }

    /// The result of each stream (a JSON list), when it has ended. Raises `OSError` if nothing was
    /// measured.
    fn result(&self) -> PyResult<String> {
        self.task.result()
    }
}

/// Serves several `UtpTransfer`s at once, in the background.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct UtpServer {
    control: SessionHandle,
    task: Arc<Task>,
    watch: Watch,
    address: SocketAddr,
}

#[pymethods]
impl UtpServer {
    /// Begins at once; `once` ends it after one measurement, more than `most_streams` at once are
    /// refused, and `tcp` says whether TCP is served at the same port. Raises `PlanError`, `ValueError`, or `OSError` if it cannot listen there.
    #[new]
    #[pyo3(signature = (local, config, *, once = false, most_streams = 16, tcp = true))]
    fn new(
        local: &str,
        config: &str,
        once: bool,
        most_streams: usize,
        tcp: bool,
    ) -> PyResult<UtpServer> {
        let config = self::config(config)?;
        let local = address(local)?;
        let runtime = runtime()?;
        let server = {
            let _inside = runtime.enter();
            Server::bind(local, &config, Admission { once, most_streams }, tcp)?
        };
        let (address, watch) = (server.local_addr(), server.watch());
        let control = SessionHandle::default();
        let theirs = control.clone();
        let task =
            Task::start("flashcrowd-utp", runtime, async move { server.run(&theirs).await })?;
        Ok(UtpServer { control, task, watch, address })
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

    /// Streams that are under way (a JSON list).
    fn active(&self) -> PyResult<String> {
        json(&self.watch.active())
    }

    /// Streams that have finished since this was last called (a JSON list).
    fn take_finished(&self) -> PyResult<String> {
        json(&self.watch.take_finished())
    }

    /// Clients refused since the last call: `count`, and of the last one `peer` and `why` (JSON);
    /// None if there are none.
    fn take_refusals(&self) -> PyResult<Option<String>> {
        self.watch.take_refusals().map(|refusals| json(&refusals)).transpose()
    }

    /// End soon, and tell the other ends; the second time, at once.
    fn stop(&self) {
        self.control.stop();
    }

    /// Raises `OSError` if the socket has failed. Only when it has ended.
    fn result(&self) -> PyResult<()> {
        self.task.result().map(drop)
    }
}

/// The event loop of all flows of this process, on a thread of its own.
fn event_loop() -> PyResult<Handle> {
    static LOOP: OnceLock<Handle> = OnceLock::new();
    if let Some(handle) = LOOP.get() {
        return Ok(handle.clone());
    }
    let runtime = runtime()?;
    let handle = runtime.handle().clone();
    let body = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("flashcrowd-utp".into()).spawn(body)?;
    Ok(LOOP.get_or_init(|| handle).clone())
}

/// The ends of a flow that has not started.
#[derive(Default)]
struct Ends {
    from: Option<Socket>,
    to: Option<Socket>,
}

/// A flow over uTP between two sockets of this process, which may be in different network namespaces.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct UtpFlow {
    config: Arc<Config>,
    ends: Mutex<Ends>,
    handle: OnceLock<FlowHandle>,
}

impl UtpFlow {
    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A socket in the network namespace of the calling thread.
    fn bind(&self, local: &str) -> PyResult<Socket> {
        let local = address(local)?;
        let events = event_loop()?;
        let _inside = events.enter();
        Ok(Socket::bind(local, &self.config)?)
    }
}

#[pymethods]
impl UtpFlow {
    /// With a uTP configuration (JSON). Raises `PlanError`.
    #[new]
    fn new(config: &str) -> PyResult<UtpFlow> {
        let config = self::config(config)?;
        Ok(UtpFlow { config, ends: Mutex::default(), handle: OnceLock::new() })
    }

    /// Have the receiving end listen at an address with a port, in the network namespace of the calling
    /// thread. Raises `ValueError` or `OSError`.
    fn listen(&self, local: &str) -> PyResult<()> {
        self.ends().to = Some(self.bind(local)?);
        Ok(())
    }

    /// Make the socket of the sending end, in the network namespace of the calling thread. Raises
    /// `ValueError` or `OSError`.
    fn prepare(&self, local: &str) -> PyResult<()> {
        self.ends().from = Some(self.bind(local)?);
        Ok(())
    }

    /// Connect both, and send `bytes` bytes, or until it is stopped; at most `rate` bits per second are
    /// produced. Raises `ValueError`.
    #[pyo3(signature = (*, bytes = None, rate = None, seed = 0))]
    fn start(&self, bytes: Option<u64>, rate: Option<u64>, seed: u64) -> PyResult<()> {
        let ends = std::mem::take(&mut *self.ends());
        let (Some(from), Some(receiver)) = (ends.from, ends.to) else {
            return Err(PyValueError::new_err("both ends first, and only once"));
        };
        let to = receiver.local_addr();
        let handle = self.handle.get_or_init(|| FlowHandle::started(rate)).clone();
        event_loop()?.spawn(async move { flow(from, receiver, to, bytes, seed, &handle).await });
        Ok(())
    }

    /// The application's limit from now on, in bits per second.
    #[pyo3(signature = (rate))]
    fn limit(&self, rate: Option<u64>) {
        if let Some(handle) = self.handle.get() {
            handle.limit(rate);
        }
    }

    /// End at once.
    fn stop(&self) {
        if let Some(handle) = self.handle.get() {
            handle.stop();
        }
    }

    /// Its state (a JSON object); None before it starts.
    fn report(&self) -> PyResult<Option<String>> {
        self.handle.get().map(|handle| json(&handle.report())).transpose()
    }
}
