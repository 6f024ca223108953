//! Torrents, clients in threads, and a tracker.

use flashcrowd_base::{RandomStream, Span};
use flashcrowd_client::{Client, Ending, Event, Handle, Happened, Metainfo, Progress, Settings};
use flashcrowd_swarm::{Profile, UploadLimit, profile};
use sha1_smol::Sha1;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub(crate) const PIECE: u32 = 1 << 16;
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What is shared.
pub(crate) struct Shared {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metainfo: Metainfo,
}

impl Shared {
    /// Files of these lengths.
    pub(crate) fn files(lengths: &[usize], announce: Option<String>) -> Shared {
        let mut stream = RandomStream::new(1, "content", 0);
        let total = lengths.iter().sum();
        let bytes: Vec<u8> = (0..total).map(|_| stream.bits() as u8).collect();
        let name = |n: usize| if lengths.len() == 1 { "f".into() } else { format!("d/{n}").into() };
        let files = lengths.iter().enumerate().map(|(n, bytes)| (name(n), *bytes as u64)).collect();
        let hashes = bytes.chunks(PIECE as usize).map(|piece| Sha1::from(piece).digest().bytes());
        let hashes: Vec<[u8; 20]> = hashes.collect();
        let info_hash = Sha1::from(hashes.concat()).digest().bytes();
        let metainfo = Metainfo { info_hash, files, piece_bytes: PIECE, hashes, announce };
        Shared { bytes, metainfo }
    }
    pub(crate) fn put(&self, folder: &Path) {
        let mut rest = &self.bytes[..];
        for (path, bytes) in &self.metainfo.files {
            let (now, later) = rest.split_at(*bytes as usize);
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, now).unwrap();
            rest = later;
        }
    }
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        let read =
            |(path, _): &(std::path::PathBuf, u64)| fs::read(folder.join(path)).unwrap_or_default();
        self.metainfo.files.iter().flat_map(read).collect::<Vec<u8>>() == self.bytes
    }
}

/// A client in a thread.
pub(crate) struct Running {
    pub(crate) handle: Handle,
    pub(crate) at: SocketAddrV4,
    thread: Option<JoinHandle<io::Result<Ending>>>,
}

/// Mainline, with rounds of one second in place of ten.
pub(crate) fn mainline() -> Profile {
    in_haste("mainline-4.0.2")
}
pub(crate) fn in_haste(name: &str) -> Profile {
    let mut profile = profile::named(name).unwrap();
    profile.choker.round_ns = Span::from_secs(1);
    profile
}

pub(crate) fn settings(shared: &Shared, folder: &Path, last: u8) -> Settings {
    Settings {
        metainfo: shared.metainfo.clone(),
        folder: folder.to_owned(),
        profile: mainline(),
        trusted: false,
        bind: SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), 0),
        upload: UploadLimit::Unlimited,
        seed: u64::from(last),
        patience: Span::from_secs(5),
        records: true,
    }
}

/// Begins at once.
pub(crate) fn run(settings: Settings) -> Running {
    let client = Client::bind(settings).unwrap();
    let (handle, at) = (client.handle(), client.local_addr());
    handle.join();
    let thread = Some(thread::spawn(move || client.run()));
    Running { handle, at, thread }
}

impl Running {
    pub(crate) fn wait_for(&self, what: &str, is_it: impl Fn(&Progress) -> bool) -> Progress {
        let rounds = PATIENCE.as_millis() / 5;
        for _ in 0..rounds {
            let progress = self.handle.progress();
            if is_it(&progress) {
                return progress;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("no {what}: {:?} {:?}", self.handle.progress(), self.handle.take_events());
    }
    pub(crate) fn wait_for_all(&self) -> Progress {
        self.wait_for("whole file", |it| it.of > 0 && it.pieces == it.of)
    }
    /// It leaves; how it ended, and the events that it recorded.
    pub(crate) fn end(mut self, told: bool) -> (Ending, Vec<Event>) {
        self.handle.leave(told);
        let ended = self.thread.take().unwrap().join().unwrap().unwrap();
        (ended, self.handle.take_events())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.leave(false);
    }
}

pub(crate) fn violations(events: &[Event]) -> Vec<String> {
    let why = |event: &Event| match &event.what {
        Happened::Violation { why, .. } => Some(why.clone()),
        _ => None,
    };
    events.iter().filter_map(why).collect()
}

/// Names all peers that it knows to all, and any others that it is given.
pub(crate) struct Tracker {
    pub(crate) url: String,
    pub(crate) named: Arc<Mutex<Vec<SocketAddrV4>>>,
    /// How often each event was announced.
    pub(crate) events: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Tracker {
    pub(crate) fn start() -> Tracker {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/announce", listener.local_addr().unwrap());
        let named = Arc::new(Mutex::new(Vec::new()));
        let events = Arc::new(Mutex::new(BTreeMap::new()));
        let tracker = Tracker { url, named: Arc::clone(&named), events: Arc::clone(&events) };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut some = [0; 4096];
                while !head.ends_with(b"\r\n\r\n") {
                    let read = stream.read(&mut some).unwrap_or(0);
                    head.extend_from_slice(&some[..read]);
                    if read == 0 {
                        break;
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let line = head.lines().next().unwrap_or_default();
                let value = |key: &str| {
                    let query = line.split([' ', '?', '&']);
                    query.filter_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')).next()
                };
                let Some(port) = value("port").and_then(|port| port.parse().ok()) else { continue };
                let event = value("event").unwrap_or_default().to_owned();
                *events.lock().unwrap().entry(event.clone()).or_default() += 1;
                let Ok(SocketAddr::V4(from)) = stream.peer_addr() else { continue };
                let at = SocketAddrV4::new(*from.ip(), port);
                let mut named = named.lock().unwrap();
                named.retain(|other| *other != at);
                let mut peers = Vec::new();
                for other in named.iter() {
                    peers.extend_from_slice(&other.ip().octets());
                    peers.extend_from_slice(&other.port().to_be_bytes());
                }
                if event != "stopped" {
                    named.push(at);
                }
                let head = b"HTTP/1.0 200 OK\r\n\r\nd8:intervali60e5:peers";
                let length = format!("{}:", peers.len());
                let answer = [&head[..], length.as_bytes(), &peers, b"e"].concat();
                let _ = stream.write_all(&answer);
            }
        });
        tracker
    }
    pub(crate) fn names(&self, at: SocketAddrV4) {
        self.named.lock().unwrap().push(at);
    }
    pub(crate) fn count(&self, event: &str) -> u32 {
        self.events.lock().unwrap().get(event).copied().unwrap_or(0)
    }
}
