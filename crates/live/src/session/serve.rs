use super::Receipt;
use super::frames::{Reader, write_receipt};
use super::handle::{First, SessionHandle, Snapshot, race};
use super::send::Stopper;
use crate::{Socket, Stream};
use flashcrowd_transport::utp::Config;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// What is read at once.
const READ_BYTES: usize = 256 * 1024;
/// How long a sender may say nothing at all: more than the longest silence of a connection that
/// lives, because the sender's window may be closed to a crawl.
const SILENCE: Duration = Duration::from_secs(120);
/// How long a sender that was asked to stop has to do so, and a connection to end.
const LINGER_PATIENCE: Duration = Duration::from_secs(5);

/// Whom a [`Server`] receives from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// End after the first sender.
    pub once: bool,
    /// Senders at once. The connection of one more is reset.
    pub most_senders: usize,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission { once: false, most_senders: 16 }
    }
}

/// Receives from several senders at once.
#[derive(Debug)]
pub struct Server {
    socket: Socket,
    admission: Admission,
    board: Arc<Board>,
}

/// One sender, as the receiver sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Reception {
    /// Counts connections from 1.
    pub id: u64,
    /// Where the sender is.
    pub peer: String,
    /// Bytes of content so far.
    pub bytes: u64,
    /// From the first byte to the last so far.
    pub seconds: f64,
    /// XXH3-128 in hexadecimal; empty while it goes on.
    pub digest: String,
    /// Whether that is the sender's; `None` while that is not known.
    pub equal: Option<bool>,
    /// Who stopped, if anybody did.
    pub stopped_by: Option<Stopper>,
    /// Why it broke off, if it did.
    pub error: Option<String>,
    /// The connection.
    pub connection: Snapshot,
}

/// What is going on, for others to read.
#[derive(Debug, Default)]
struct Board {
    active: Mutex<BTreeMap<u64, Arc<Active>>>,
    finished: Mutex<Vec<Reception>>,
}

#[derive(Debug)]
struct Active {
    id: u64,
    stream: Stream,
    bytes: AtomicU64,
    first: Mutex<Option<Instant>>,
}

/// Reads what a [`Server`] does from another thread.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Board>);

impl Watch {
    /// Senders that are connected.
    pub fn active(&self) -> Vec<Reception> {
        lock(&self.0.active).values().map(|active| active.report()).collect()
    }

    /// Senders that have finished since this was last asked.
    pub fn take_finished(&self) -> Vec<Reception> {
        std::mem::take(&mut lock(&self.0.finished))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Active {
    fn report(&self) -> Reception {
        let first = *lock(&self.first);
        Reception {
            id: self.id,
            peer: self.stream.peer_addr().to_string(),
            bytes: self.bytes.load(Ordering::Relaxed),
            seconds: first.map_or(0.0, |first| (now() - first).as_secs_f64()),
            digest: String::new(),
            equal: None,
            stopped_by: None,
            error: None,
            connection: self.stream.stats().into(),
        }
    }
}

impl Server {
    /// Binds a UDP socket, and receives from whom `admission` lets in.
    ///
    /// # Errors
    /// Those of [`Socket::bind`].
    pub fn bind(
        address: SocketAddr,
        config: &Arc<Config>,
        admission: Admission,
    ) -> io::Result<Server> {
        Ok(Server { socket: Socket::bind(address, config)?, admission, board: Arc::default() })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    /// To read what it does from another thread.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.board))
    }

    /// Receives until it is stopped; then senders are told, and have a moment to end.
    ///
    /// # Errors
    /// If the socket has failed.
    pub async fn run(self, control: &SessionHandle) -> io::Result<()> {
        let mut sessions = JoinSet::new();
        let mut id = 0;
        loop {
            match race(self.socket.accept(), control.end()).await {
                First::This(stream) => {
                    let stream = stream?;
                    while sessions.try_join_next().is_some() {}
                    if sessions.len() >= self.admission.most_senders {
                        stream.abort();
                        continue;
                    }
                    id += 1;
                    let active = Arc::new(Active {
                        id,
                        stream,
                        bytes: AtomicU64::new(0),
                        first: Mutex::new(None),
                    });
                    lock(&self.board.active).insert(id, Arc::clone(&active));
                    let (board, control) = (Arc::clone(&self.board), control.clone());
                    sessions.spawn(async move { board.receive(active, &control).await });
                }
                First::That(()) => break,
            }
            if self.admission.once {
                break;
            }
        }
        while sessions.join_next().await.is_some() {}
        let _ = timeout(LINGER_PATIENCE, race(self.socket.close(), control.now())).await;
        Ok(())
    }
}

impl Board {
    /// One sender, from its greeting to its end.
    async fn receive(&self, active: Arc<Active>, control: &SessionHandle) {
        let mut reader = Reader::new();
        let work = converse(&active, &mut reader, control);
        let outcome = match race(work, control.now()).await {
            First::This(outcome) => outcome,
            First::That(()) => {
                active.stream.abort();
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, "stopped at once"))
            }
        };
        let mut report = active.report();
        report.bytes = reader.bytes;
        report.digest = format!("{:032x}", reader.digest.value());
        report.equal = reader.is_equal();
        match outcome {
            Ok(done) => {
                report.seconds = done.seconds;
                if done.stopped {
                    report.stopped_by = Some(Stopper::Receiver);
                    report.equal = report.equal.or_else(|| Some(reader.is_as_announced()));
                }
            }
            Err(error) => report.error = Some(error.to_string()),
        }
        lock(&self.active).remove(&active.id);
        lock(&self.finished).push(report);
    }
}

struct Done {
    seconds: f64,
    stopped: bool,
}

async fn converse(
    active: &Active,
    reader: &mut Reader,
    control: &SessionHandle,
) -> io::Result<Done> {
    let mut buffer = vec![0; READ_BYTES];
    let stopped = match race(listen(active, reader, &mut buffer), control.end()).await {
        First::This(heard) => {
            heard?;
            false
        }
        First::That(()) => true,
    };
    let span = lock(&active.first).map_or(Duration::ZERO, |first| now() - first);
    let receipt = Receipt {
        bytes: reader.bytes,
        digest: format!("{:032x}", reader.digest.value()),
        equal: reader.is_equal(),
        stopped,
        nanos: u64::try_from(span.as_nanos()).unwrap_or(u64::MAX),
    };
    write_receipt(&active.stream, &receipt).await?;
    // Until the sender has closed as well; what it had queued is of no interest any more.
    let rest = async {
        let mut stream = &active.stream;
        while stream.read(&mut buffer).await? > 0 {}
        stream.delivered().await
    };
    let _ = timeout(LINGER_PATIENCE, rest).await;
    Ok(Done { seconds: span.as_secs_f64(), stopped })
}

/// Reads until the sender has said everything.
async fn listen(active: &Active, reader: &mut Reader, buffer: &mut [u8]) -> io::Result<()> {
    let mut stream = &active.stream;
    while !reader.is_done() {
        let len = timeout(SILENCE, stream.read(buffer)).await.map_err(|_| {
            io::Error::new(io::ErrorKind::TimedOut, "the sender has been silent for too long")
        })??;
        if len == 0 {
            let text = "the sender has closed in the middle";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        lock(&active.first).get_or_insert_with(now);
        reader.take(&buffer[..len])?;
        active.bytes.store(reader.bytes, Ordering::Relaxed);
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a measurement of the real world")]
fn now() -> Instant {
    Instant::now()
}
