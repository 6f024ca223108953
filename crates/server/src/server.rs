use crate::access_log::AccessLog;
use crate::admission::Admission;
use crate::connection;
use crate::desk::Desk;
use crate::disk::ReadBy;
use crate::hall::{FAREWELLS, Hall};
use crate::handle::ServerHandle;
use crate::live::Live;
use crate::meters::Snapshot;
use crate::open_file::{ALIGNMENT, OpenFile};
use crate::service::Service;
use crate::settings::seconds;
use crate::target::Root;
use crate::tls::{Tls, TlsError};
use crate::trusted::is_trusted;
use crate::{Settings, buffer::Scratch};
use flashcrowd_base::Refusal;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Protocol, Socket, Type};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long it accepts no connections after the system failed to (no file descriptors are left,
/// say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the lines of the access log that wait have to be written when an immediate end is wished.
const LAST_LINES: Duration = Duration::from_millis(100);
/// How long a connection to the metrics may stay.
const VISIT: Duration = Duration::from_secs(60);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Why a server does not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting that cannot be.
    #[error("{0}")]
    Setting(#[from] Refusal),
    /// The directory cannot be served.
    #[error("{path}: {source}")]
    Root {
        /// The directory.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot listen there.
    #[error("{address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// There is no TLS with these files.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// The access log cannot be written.
    #[error("{path}: {source}")]
    Log {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

fn log_error(path: &Path, source: io::Error) -> StartError {
    StartError::Log { path: path.display().to_string(), source }
}

/// A content server on a directory.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    hall: Arc<Hall>,
    reading: Reading,
}

/// How the directory is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Past the page cache.
    Direct,
    /// Through the page cache, and why.
    PageCache(String),
    /// Past the page cache if the file system can: there was no file to try it with.
    Untried,
}

/// Reads what a [`Server`] does from another thread.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Hall>);

impl Watch {
    /// The server's activity, and its counters.
    pub fn snapshot(&self) -> Snapshot {
        self.0.snapshot(&self.0.service.overview())
    }

    /// Reads the certificate and its key again, and reopens the access log, after they were renewed or moved. What
    /// cannot be read or opened stays as it was.
    pub fn reload(&self) -> Vec<StartError> {
        let Hall { tls, log, .. } = &*self.0;
        let tls = tls.as_ref().and_then(|tls| tls.reload().err()).map(StartError::Tls);
        let log = log.as_ref().and_then(|log| log.reopen().err().map(|error| (log, error)));
        let log = log.map(|(log, error)| log_error(log.path(), error));
        tls.into_iter().chain(log).collect()
    }
}

impl Server {
    /// Opens the directory and listens; to be called inside of a runtime.
    ///
    /// # Errors
    /// A setting that cannot be, a directory that is none, an address that is not to be had.
    pub fn bind(settings: Settings) -> Result<Server, StartError> {
        settings.check()?;
        let root_error =
            |source| StartError::Root { path: settings.root.display().to_string(), source };
        let root = Root::open(&settings.root, settings.symlinks).map_err(root_error)?;
        let reading = if settings.direct {
            try_direct(&root, &settings.root)
        } else {
            Reading::PageCache("as was asked for".into())
        };
        let log = match &settings.access_log {
            Some(path) => {
                let log = AccessLog::open(path).map_err(|source| log_error(path, source))?;
                Some(Arc::new(log))
            }
            None => None,
        };
        let tls = settings.tls.as_ref().map(Tls::open).transpose()?;
        let limits = &settings.limits;
        let listener = listen(settings.listen, limits.send_buffer_bytes)?;
        let metrics = match settings.metrics {
            Some(address) => Some(listen(address, limits.send_buffer_bytes)?),
            None => None,
        };
        let desk = Desk::new(&settings.origin, settings.reader, settings.trial_disk.as_ref())?;
        let direct = settings.direct && !matches!(reading, Reading::PageCache(_));
        let hall = Hall {
            service: Service::new(&settings, desk, root, direct),
            meters: Arc::default(),
            live: Live::new(),
            log,
            admission: Admission::new(limits.connections, limits.connections_per_address),
            tls,
            proxies: settings.trust_proxy.clone(),
            farewells: Hall::farewells(),
        };
        Ok(Server { settings, listener, metrics, hall: Arc::new(hall), reading })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where the metrics are.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref()?.local_addr().ok()
    }

    /// How the directory is read.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// By what extents are read.
    pub fn read_by(&self) -> &ReadBy {
        self.hall.service.desk.read_by()
    }

    /// To read what it does from another thread.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.hall))
    }

    /// Serves until it is stopped. Then it accepts no connections, idle connections close, and answers under way
    /// have their time to end. Whether all of them did.
    pub async fn run(self, handle: &ServerHandle) -> bool {
        let mut connections = JoinSet::new();
        if let Some(metrics) = self.metrics {
            let hall = Arc::clone(&self.hall);
            connections.spawn({
                let handle = handle.clone();
                async move {
                    tokio::select! {
                        () = expose(&hall, metrics) => (),
                        () = handle.end() => (),
                    }
                }
            });
        }
        loop {
            let (stream, peer) = tokio::select! {
                next = accept(&self.listener) => next,
                () = handle.end() => break,
            };
            while connections.try_join_next().is_some() {}
            let hall = Arc::clone(&self.hall);
            hall.meters.accepted.fetch_add(1, Relaxed);
            let peer = peer.ip();
            let place = if is_trusted(&hall.proxies, peer) {
                hall.admission.enter_proxy()
            } else {
                hall.admission.enter(peer)
            };
            match place {
                Ok(place) => {
                    let (settings, handle) = (self.settings.limits.clone(), handle.clone());
                    connections.spawn(async move {
                        connection::attend(hall, stream, peer, place, &settings, &handle).await;
                    });
                }
                Err(full) => hall.turn_away(stream, peer, full),
            }
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        let ended = tokio::select! {
            () = all => true,
            () = sleep(seconds(self.settings.limits.drain_s)) => false,
            () = handle.now() => false,
        };
        connections.abort_all();
        while connections.join_next().await.is_some() {}
        if let Some(log) = &self.hall.log {
            let enough = async {
                handle.now().await;
                sleep(LAST_LINES).await;
            };
            log.finish(enough).await;
        }
        ended
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(next) => return next,
            // Of a connection that has gone already, or for want of something that comes back.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Answers requests for metrics, on any path but that of the live page.
async fn expose(hall: &Arc<Hall>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = accept(&listener).await;
        while connections.try_join_next().is_some() {}
        if connections.len() >= FAREWELLS {
            continue;
        }
        let hall = Arc::clone(hall);
        connections.spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let overview = hall.service.overview();
                let (text, kind) = if request.uri().path() == "/live" {
                    let now = hall.snapshot(&overview);
                    (hall.live.page(&now, &hall.service.desk.maps()), "text/html; charset=utf-8")
                } else {
                    let text = hall.exposition(&overview);
                    (text, "text/plain; version=0.0.4; charset=utf-8")
                };
                let mut answer = Response::new(text);
                let kind = HeaderValue::from_static(kind);
                answer.headers_mut().insert(http::header::CONTENT_TYPE, kind);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .half_close(true)
                .header_read_timeout(Duration::from_secs(15))
                .serve_connection(TokioIo::new(stream), service);
            // A client that takes nothing must not keep others away.
            let _ = timeout(VISIT, connection).await;
        });
    }
}

/// A listener whose sockets have bounded send buffers, unless they are left to the kernel: a large one would hide a slow client from the
/// scheduler, and memory of thousands of them would be the kernel's.
fn listen(address: SocketAddr, send_buffer: Option<u32>) -> Result<TcpListener, StartError> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        if let Some(bytes) = send_buffer {
            socket.set_send_buffer_size(bytes as usize)?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        TcpListener::from_std(socket.into())
    };
    open().map_err(|source| StartError::Listen { address, source })
}

/// Directories that are looked through for a file to try reading with, and entries of each.
const LOOKS: usize = 64;

/// Reads the beginning of some file past the page cache.
fn try_direct(root: &Root, path: &Path) -> Reading {
    let mut directories = vec![path.to_owned()];
    for _ in 0..LOOKS {
        let Some(directory) = directories.pop() else { break };
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.take(LOOKS).flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                directories.push(entry.path());
                continue;
            }
            let Ok(relative) = entry.path().strip_prefix(path).map(Path::to_owned) else {
                continue;
            };
            if !kind.is_file() {
                continue;
            }
            if let Ok((file, metadata)) = root.open_file(&relative)
                && metadata.len() >= ALIGNMENT as u64
            {
                let mut buffer = Scratch::new(ALIGNMENT);
                return match OpenFile::try_direct(&file, buffer.bytes_mut()) {
                    Ok(()) => Reading::Direct,
                    Err(error) => Reading::PageCache(error.to_string()),
                };
            }
        }
    }
    Reading::Untried
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::ways;
    use crate::download::Download;
    use crate::open_file::Version;
    use crate::settings::Reader;
    use std::fs::{self, File};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// The answer to a request on a connection of its own.
    async fn get(address: SocketAddr, target: &str, fields: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A body that is cut may end with a reset.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Two files whose reads fail as those of a bad sector do, since their descriptors are a directory's (`EISDIR`): of one of them the
    /// first extent was read before.
    #[tokio::test]
    async fn a_disk_that_cannot_read_has_a_status_or_cuts_the_body_and_others_go_on() {
        for reader in ways() {
            has_a_status_or_cuts_the_body_and_others_go_on(reader).await;
        }
    }

    async fn has_a_status_or_cuts_the_body_and_others_go_on(reader: Reader) {
        const LENGTH: usize = 3 << 20;
        const ANY: &str = "Range: bytes=0-65535,65536-\r\nPrefer: part-order=any\r\n";
        let directory = tempfile::tempdir().unwrap();
        for name in ["bad", "half", "good"] {
            fs::write(directory.path().join(name), vec![b'x'; LENGTH]).unwrap();
        }
        let settings = serde_json::json!({
            "root": directory.path(), "listen": "127.0.0.1:0", "direct": false, "reader": reader,
        });
        let server = Server::bind(serde_json::from_value(settings).unwrap()).unwrap();
        let (address, desk) = (server.local_addr().unwrap(), Arc::clone(&server.hall.service.desk));
        let open = |name: &str, read: &Path| {
            let path = directory.path().join(name);
            let version = Version::of(&fs::metadata(path).unwrap());
            desk.open(File::open(read).unwrap(), Path::new(name), version, false).unwrap()
        };
        let half = open("half", &directory.path().join("half"));
        let mut first = Download::begin(&desk, &half, &[0..1], true, 1, None);
        first.next().await.unwrap();
        drop(first);
        // The disk lets go of it a moment later.
        while Arc::strong_count(&half) > 1 {
            sleep(Duration::from_millis(1)).await;
        }
        drop(half);
        // A download that waits: others share its file.
        let spoiled = ["bad", "half"].map(|name| {
            let file = open(name, directory.path());
            Download::begin(&desk, &file, &[0..1], true, 1, None)
        });
        let handle = ServerHandle::default();
        let running = tokio::spawn({
            let handle = handle.clone();
            async move { server.run(&handle).await }
        });
        for (fields, status) in [("", "200"), (ANY, "206")] {
            let answer = get(address, "/bad", fields).await;
            assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
            let cut = get(address, "/half", fields).await;
            assert!(cut.starts_with(&format!("HTTP/1.1 {status} ")), "{}", &cut[..300]);
            assert!(cut.len() < LENGTH && !cut.ends_with("0\r\n\r\n"));
            let whole = get(address, "/good", "").await;
            assert!(whole.starts_with("HTTP/1.1 200 "), "{reader:?}: {whole:.300}");
            assert!(whole.len() > LENGTH, "{reader:?}: {} bytes", whole.len());
        }
        let mut answer = get(address, "/bad?digests", "").await;
        while answer.starts_with("HTTP/1.1 202 ") {
            sleep(Duration::from_millis(5)).await;
            answer = get(address, "/bad?digests", "").await;
        }
        let errors = desk.overview().counters.errors;
        // The error is reported again, and the read not repeated at once.
        for _ in 0..3 {
            let again = get(address, "/bad?digests", "").await;
            assert!(answer.starts_with("HTTP/1.1 500 ") && again.starts_with("HTTP/1.1 500 "));
        }
        assert!(errors >= 4 && errors == desk.overview().counters.errors);
        handle.stop();
        assert!(running.await.unwrap());
        drop(spoiled);
    }
}
