//! A lab: namespaces, and the thread that moves packets between them. One to a process, which the
//! process asks for while it has one thread.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashcrowd_base::{Span, Time};
use flashcrowd_emulation::linux::{self, Attachment, Company, HostSettings, Steering};
use flashcrowd_emulation::{Captured, Division, Request, TapRecord, Traced};
use flashcrowd_workload::Column;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::faults::{EngineFault, PlanError};
use crate::plan::Plan;
use crate::rules::{Named, named};
use crate::table::Table;

/// A host's settings as Python gives them.
#[derive(Deserialize)]
struct Settings {
    address: [u8; 4],
    mtu: u32,
    largest_segment: u32,
    initial_window: u32,
    quick_ack: bool,
    controller: Option<String>,
    sysctls: Vec<(String, String)>,
}

/// An emulated network. Everything of it is gone with this process.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct Lab {
    lab: Mutex<linux::Lab>,
    /// Names of the plan's hosts.
    hosts: Vec<String>,
}

impl Lab {
    fn lab(&self) -> MutexGuard<'_, linux::Lab> {
        self.lab.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Lab {
    /// The hosts of a plan, each in a namespace with its settings (a JSON list of `address`, `mtu`,
    /// `largest_segment`, `initial_window`, `quick_ack`, `controller` and `sysctls`), attached by `"tun"` or
    /// `"veth"`; without a word by TUN where it is allowed. With a `share`, what `divide` gave and the number of
    /// a node, that node's hosts alone. With the number of a processor the emulator's thread stays there, and
    /// hosts receive on the others, if there are any. Raises `PlanError` or `OSError`.
    #[new]
    #[pyo3(signature = (plan, seed, settings_json, attachment = None, share = None, processor = None))]
    fn new(
        py: Python<'_>,
        plan: &Plan,
        seed: u64,
        settings_json: &str,
        attachment: Option<&str>,
        share: Option<(&str, u32)>,
        processor: Option<usize>,
    ) -> PyResult<Lab> {
        let plan = plan.data();
        plan.check().map_err(|error| PlanError::new_err(error.to_string()))?;
        let settings: Vec<Settings> = serde_json::from_str(settings_json)
            .map_err(|error| PyValueError::new_err(format!("settings: {error}")))?;
        if settings.len() != plan.network.hosts.len() {
            return Err(PyValueError::new_err("settings: not one for each host"));
        }
        let attachment = match attachment {
            Some("tun") => Attachment::Tun,
            Some("veth") => Attachment::Veth,
            Some(other) => return Err(PyValueError::new_err(format!("attachment: {other}"))),
            None => Attachment::possible(),
        };
        let host = |it: Settings| HostSettings {
            address: it.address,
            mtu: it.mtu,
            largest_segment: it.largest_segment,
            initial_window: it.initial_window,
            quick_ack: it.quick_ack,
            controller: it.controller,
            sysctls: it.sysctls,
        };
        let hosts: Vec<HostSettings> = settings.into_iter().map(host).collect();
        let share = match share {
            Some((division, node)) => Some((divided(plan, division)?, node)),
            None => None,
        };
        let steering = match processor {
            Some(number) => Steering::with_emulator_on(number)?,
            None => None,
        };
        let lab = py.detach(|| match &share {
            Some((division, node)) => {
                linux::Lab::share(plan, seed, &hosts, attachment, (division, *node))
            }
            None => linux::Lab::new(plan, seed, &hosts, attachment, steering),
        })?;
        let hosts = plan.network.hosts.iter().map(|host| host.name.clone()).collect();
        Ok(Lab { lab: Mutex::new(lab), hosts })
    }

    /// Say how the other nodes are reached, for a share: the file descriptor of a UDP socket, the number
    /// of the run, and where all nodes are reached, as `ADDRESS:PORT`. Raises `OSError`.
    fn join(&self, fd: i32, run: u64, nodes: Vec<String>) -> PyResult<()> {
        if fd < 0 {
            return Err(PyOSError::new_err("no file descriptor"));
        }
        let address = |node: &String| {
            let parsed: Result<SocketAddr, _> = node.parse();
            parsed.map_err(|error| PyValueError::new_err(format!("{node}: {error}")))
        };
        let nodes = nodes.iter().map(address).collect::<PyResult<_>>()?;
        // SAFETY: the descriptor is not closed here, and used for this one call, which copies it.
        #[allow(unsafe_code, reason = "Python names open files by number")]
        let socket = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
        Ok(self.lab().join(Company { socket, run, nodes })?)
    }

    /// Compare clocks with the first node for `over` seconds; all nodes call it at the same time. Gives
    /// what to add to this machine's monotonic clock for the first node's, by how much that may be wrong,
    /// and the least round trip, in nanoseconds; None at the first, or if it did not answer. Raises
    /// `OSError`.
    fn tune(&self, py: Python<'_>, over: f64) -> PyResult<Option<(i64, u64, u64)>> {
        let found = py.detach(|| self.lab().tune(Span::from_seconds(over)))?;
        Ok(found.map(|it| (it.offset_ns, it.uncertainty_ns, it.round_trip_ns)))
    }

    /// Start the network; the run begins at this instant of the monotonic clock, in nanoseconds. Raises
    /// `OSError`.
    fn start_at(&self, begin_ns: u64) -> PyResult<()> {
        Ok(self.lab().start_at(begin_ns)?)
    }

    /// The file descriptors of the hosts' namespaces, in the order of the plan; of a share, of its hosts.
    fn namespaces(&self) -> Vec<i32> {
        self.lab().namespaces().iter().map(linux::Namespace::fd).collect()
    }

    /// Start the network; the run begins after `lead` seconds. Gives that instant of the monotonic clock
    /// in nanoseconds.
    fn start(&self, lead: f64) -> PyResult<u64> {
        Ok(self.lab().start(Span::from_seconds(lead))?)
    }

    /// Whether the network has ended, by itself or after `stop`.
    fn has_ended(&self) -> bool {
        self.lab().has_ended()
    }

    /// End the network; what it did (JSON), the tables about it by name, each as its columns by name, the table
    /// `captures`, and what is to become `packets`, with a column `port` for the flow.
    fn stop(&self, py: Python<'_>) -> PyResult<(String, Vec<Named>, Table, Table)> {
        let report = py.detach(|| self.lab().stop())?;
        let json = serde_json::to_string(&report)
            .map_err(|error| EngineFault::new_err(error.to_string()))?;
        let (captures, packets) = seen(report.seen, &self.hosts);
        let tables = report.tables.into_iter().map(named).collect();
        Ok((json, tables, Table::new(captures)?, Table::new(packets)?))
    }
}

/// What taps saw, as tables.
fn seen(
    seen: TapRecord,
    hosts: &[String],
) -> (flashcrowd_workload::Table, flashcrowd_workload::Table) {
    let TapRecord { captured, bytes, traced } = seen;
    let names =
        |of: fn(&Captured) -> u32| Column::Text(captured.iter().map(of).collect(), hosts.to_vec());
    let directions = ["received", "sent"].map(str::to_owned).to_vec();
    let captures = vec![
        ("host", names(|it| it.host)),
        ("peer", names(|it| it.peer)),
        ("t_ns", Column::U64(captured.iter().map(|it| it.at.nanos()).collect())),
        (
            "direction",
            Column::Text(captured.iter().map(|it| u32::from(it.sent)).collect(), directions),
        ),
        ("ip_bytes", Column::U32(captured.iter().map(|it| it.ip_bytes).collect())),
        ("packet", Column::Bytes(bytes, captured.iter().map(|it| it.end).collect())),
    ];
    let count = |of: fn(&Traced) -> u32| Column::U32(traced.iter().map(of).collect());
    let packets = vec![
        ("port", count(|it| u32::from(it.port))),
        ("t_s", Column::F64(traced.iter().map(|it| it.at.seconds()).collect())),
        ("ip_bytes", count(|it| it.ip_bytes)),
        ("payload_bytes", count(|it| it.payload_bytes)),
        ("retransmission", count(|it| u32::from(it.again))),
    ];
    let table = |name, columns| flashcrowd_workload::Table { name, columns };
    (table("captures", captures), table("packets", packets))
}

/// A division of this plan.
fn divided(plan: &flashcrowd_plan::Plan, division: &str) -> PyResult<Division> {
    let division: Division = serde_json::from_str(division)
        .map_err(|error| PyValueError::new_err(format!("division: {error}")))?;
    match division.fits(plan) {
        true => Ok(division),
        false => Err(PyValueError::new_err("division: it is of another plan")),
    }
}

/// Divide a plan among nodes: a packet from one node to another has at least `min` seconds of delay.
/// Gives the division (JSON: the node of each of `hosts` and `links`), and the shortest such delay in
/// seconds. Raises `PlanError` where that cannot be.
#[pyfunction]
pub(crate) fn divide(plan: &Plan, nodes: u32, min: f64) -> PyResult<(String, f64)> {
    let plan = plan.data();
    plan.check().map_err(|error| PlanError::new_err(error.to_string()))?;
    let division = Division::new(plan, nodes, Span::from_seconds(min))
        .map_err(|error| PlanError::new_err(error.to_string()))?;
    let json = serde_json::to_string(&division)
        .map_err(|error| EngineFault::new_err(error.to_string()))?;
    Ok((json, division.time_in_hand(plan).seconds()))
}

/// How long answers to echo requests take over a plan's network with nothing else on it, in nanoseconds;
/// None for what the model loses. A request is `(t_ns, from, to, bytes)`, in the order of time. Raises
/// `PlanError`.
#[pyfunction]
pub(crate) fn echo_times(
    plan: &Plan,
    seed: u64,
    requests: Vec<(u64, u32, u32, u32)>,
) -> PyResult<Vec<Option<u64>>> {
    let plan = plan.data();
    plan.check().map_err(|error| PlanError::new_err(error.to_string()))?;
    let hosts = plan.network.hosts.len() as u32;
    if requests.iter().any(|&(_, from, to, _)| from.max(to) >= hosts) {
        return Err(PyValueError::new_err("no such host"));
    }
    let request = |(at, from, to, bytes)| Request { at: Time::from_nanos(at), from, to, bytes };
    let requests: Vec<Request> = requests.into_iter().map(request).collect();
    let times = flashcrowd_emulation::echo_times(plan, seed, &requests);
    Ok(times.into_iter().map(|time| time.map(Span::nanos)).collect())
}

/// Move the calling thread into the network namespace of a file descriptor.
#[pyfunction]
pub(crate) fn enter_namespace(fd: i32) -> PyResult<()> {
    if fd < 0 {
        return Err(PyOSError::new_err("no file descriptor"));
    }
    // SAFETY: the descriptor is not closed here, and used for this one call; the kernel refuses one
    // that is not open, or no namespace.
    #[allow(unsafe_code, reason = "Python names open files by number")]
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(linux::enter(file)?)
}

/// Move this process, which may have one thread, into a user namespace of its own, as its root.
#[pyfunction]
pub(crate) fn become_root_of_own() -> PyResult<()> {
    Ok(linux::become_root_of_own()?)
}

/// Move this process, which may have one thread, to where no network is; its next child is the first of a
/// namespace of processes, which all end with it.
#[pyfunction]
pub(crate) fn set_apart() -> PyResult<()> {
    Ok(linux::set_apart()?)
}

/// Be killed when the thread that started this process ends.
#[pyfunction]
pub(crate) fn die_with_parent() -> PyResult<()> {
    Ok(linux::die_with_parent()?)
}

/// Whether this system lets a thread run before all others; tried, and taken back.
#[pyfunction]
pub(crate) fn may_have_real_time() -> bool {
    let allowed = linux::set_real_time(true);
    if allowed {
        linux::set_real_time(false);
    }
    allowed
}

/// Keeps the processors of this process awake until it is stopped; not where it may use less than all of their time.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct IdlePoll(Mutex<Option<linux::IdlePoll>>);

#[pymethods]
impl IdlePoll {
    /// Begins. Raises `OSError`.
    #[new]
    fn new() -> PyResult<IdlePoll> {
        Ok(IdlePoll(Mutex::new(Some(linux::IdlePoll::begin()?))))
    }

    /// Ends.
    fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Whether `IdlePoll` keeps processors awake here.
#[pyfunction]
pub(crate) fn polls_idle() -> bool {
    linux::polls_idle()
}

/// Try to open the device that makes interfaces. Raises `OSError`.
#[pyfunction]
pub(crate) fn try_tun() -> PyResult<()> {
    linux::open_tun()?;
    Ok(())
}
