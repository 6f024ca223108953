//! The pure peer of `swarm` as a client on real sockets, in a thread of its own, watched from Python.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashcrowd_base::Rate;
use flashcrowd_client::{Client, Handle, Metainfo, Settings};
use flashcrowd_swarm::{Profile, UploadLimit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::faults::PlanError;
use crate::task::Task;
use crate::utp::json;

/// No torrent file is longer.
const MOST_TORRENT: u64 = 64 << 20;

/// The settings from Python.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    torrent: PathBuf,
    folder: PathBuf,
    profile: Profile,
    bind: SocketAddrV4,
    upload_bps: UploadLimit,
    seed: u64,
    trusted: bool,
    records: bool,
}

fn limit(bps: Option<u64>) -> UploadLimit {
    match bps.map(Rate::from_bps) {
        None => UploadLimit::Unlimited,
        Some(None) => UploadLimit::Nothing,
        Some(Some(rate)) => UploadLimit::Rate(rate),
    }
}

fn metainfo(path: &Path) -> PyResult<Metainfo> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_TORRENT).read_to_end(&mut text));
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    read.map_err(named)?;
    let bad = |error| PyValueError::new_err(format!("{}: {error}", path.display()));
    Metainfo::parse(&text).map_err(bad)
}

/// A client of one torrent, in the network namespace of the thread that makes it.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct TorrentClient {
    handle: Handle,
    task: Arc<Task>,
    local: SocketAddrV4,
    pieces: usize,
    size: u64,
    has_tracker: bool,
}

#[pymethods]
impl TorrentClient {
    /// Listens, and looks at what is on the disk; `settings` (JSON) has `torrent`, `folder`, `profile`, `bind`,
    /// `upload_bps`, `seed`, `trusted` (what is on the disk is whole) and `records` (whether events are kept). Raises
    /// `PlanError`, `ValueError` for no torrent, or `OSError`.
    #[new]
    fn new(settings: &str) -> PyResult<TorrentClient> {
        let asked: Asked = serde_json::from_str(settings)
            .map_err(|error| PlanError::new_err(format!("client: {error}")))?;
        asked.profile.check().map_err(|error| PlanError::new_err(format!("profile: {error}")))?;
        let metainfo = metainfo(&asked.torrent)?;
        let (pieces, size) = (metainfo.hashes.len(), metainfo.bytes());
        let has_tracker = metainfo.announce.is_some();
        let client = Client::bind(Settings {
            metainfo,
            folder: asked.folder,
            profile: asked.profile,
            trusted: asked.trusted,
            bind: asked.bind,
            upload: asked.upload_bps,
            seed: asked.seed,
            patience: Settings::PATIENCE,
            records: asked.records,
        })?;
        let (handle, local) = (client.handle(), client.local_addr());
        let task = Task::run("flashcrowd-torrent", move || client.run())?;
        Ok(TorrentClient { handle, task, local, pieces, size, has_tracker })
    }

    /// Where it listens.
    #[getter]
    fn address(&self) -> String {
        self.local.to_string()
    }

    /// How many pieces the torrent has.
    #[getter]
    fn pieces(&self) -> usize {
        self.pieces
    }

    /// How many bytes it has.
    #[getter]
    fn size(&self) -> u64 {
        self.size
    }

    /// Whether it names a tracker.
    #[getter]
    fn has_tracker(&self) -> bool {
        self.has_tracker
    }

    /// Enter the swarm, once what is on the disk has been looked at.
    fn join(&self) {
        self.handle.join();
    }

    /// Another upload limit, in bits per second.
    #[pyo3(signature = (bps))]
    fn limit(&self, bps: Option<u64>) {
        self.handle.limit(limit(bps));
    }

    /// Leave the swarm, and end when the tracker knows. It ends at once if `told` is false, and at the second
    /// call.
    #[pyo3(signature = (*, told = true))]
    fn leave(&self, told: bool) {
        self.handle.leave(told);
    }

    /// Its state (a JSON object).
    fn progress(&self) -> PyResult<String> {
        json(&self.handle.progress())
    }

    /// The pieces that it has, as in a BITFIELD.
    fn has(&self) -> Vec<u8> {
        self.handle.pieces()
    }

    /// Events since the last call (a JSON list).
    fn take_events(&self) -> PyResult<String> {
        json(&self.handle.take_events())
    }

    /// A histogram of the gaps between two sends of block bytes over one connection: milliseconds,
    /// count.
    fn send_gaps(&self) -> Vec<(u32, u64)> {
        self.handle.send_gaps().into_iter().collect()
    }

    /// Wait at most this long; whether it has ended. Other Python threads go on.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.task.wait(seconds))
    }

    /// Whether it is `complete`, and its `pieces` (JSON), when it has ended. Raises `OSError` if a file could not be read or
    /// written.
    fn result(&self) -> PyResult<String> {
        self.task.result()
    }
}

impl Drop for TorrentClient {
    fn drop(&mut self) {
        self.handle.leave(false);
    }
}
