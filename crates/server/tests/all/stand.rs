//! A directory with files, and a server on it.

use flashcrowd_server::{Server, ServerHandle, Settings, Snapshot, Watch};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Builder;

/// Waits at most so long for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Stand {
    pub(crate) directory: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Option<SocketAddr>,
    watch: Watch,
    handle: ServerHandle,
    thread: Option<JoinHandle<bool>>,
}

/// Contents that differ at every place: a wrong offset shows.
pub(crate) fn contents(length: usize, seed: u32) -> Vec<u8> {
    let word = |at: u32| at.wrapping_mul(0x9e37_79b1).rotate_left(13) ^ seed;
    (0..length.div_ceil(4) as u32).flat_map(|at| word(at).to_le_bytes()).take(length).collect()
}

/// Settings as JSON; `with` replaces what it names. A small memory, so that extents come and go.
pub(crate) fn settings(root: &Path, with: Value) -> Settings {
    let mut value = json!({
        "root": root,
        "listen": "127.0.0.1:0",
        "origin": { "memory_bytes": 1 << 20, "extent_bytes": 1 << 17, "block_bytes": 1 << 14 },
    });
    merge(&mut value, with);
    serde_json::from_value(value).unwrap()
}

fn merge(into: &mut Value, with: Value) {
    match (into, with) {
        (Value::Object(into), Value::Object(with)) => {
            for (key, value) in with {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, with) => *into = with,
    }
}

impl Stand {
    /// With these files, and the settings' defaults.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Stand {
        Stand::with(files, json!({}))
    }

    pub(crate) fn with(files: &[(&str, &[u8])], with: Value) -> Stand {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes).unwrap();
            // Older than now: dates of this second are weak validators.
            let file = std::fs::File::options().append(true).open(&path).unwrap();
            let modified = std::time::UNIX_EPOCH + Duration::from_secs(784_111_777);
            file.set_modified(modified).unwrap();
        }
        let settings = settings(directory.path(), with);
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(async { Server::bind(settings) }).unwrap();
        let (address, metrics) = (server.local_addr().unwrap(), server.metrics_addr());
        let (watch, handle) = (server.watch(), ServerHandle::default());
        let theirs = handle.clone();
        let thread = thread::spawn(move || runtime.block_on(server.run(&theirs)));
        Stand { directory, address, metrics, watch, handle, thread: Some(thread) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.watch.snapshot()
    }

    /// Asks the server to stop; the second time, at once.
    pub(crate) fn stop(&self) {
        self.handle.stop();
    }

    /// Waits until it has stopped; whether all answers had ended.
    pub(crate) fn join(&mut self) -> bool {
        self.thread.take().unwrap().join().unwrap()
    }

    /// Waits until the snapshot is so.
    pub(crate) fn until(&self, is_so: impl Fn(&Snapshot) -> bool) -> Snapshot {
        for _ in 0..PATIENCE.as_millis() / 5 {
            let snapshot = self.snapshot();
            if is_so(&snapshot) {
                return snapshot;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("it does not come: {:?}", self.snapshot());
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.handle.stop();
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
