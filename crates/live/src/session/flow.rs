//! A flow of bytes between two sockets of one process, in whatever network each of them is. The connection
//! carries the content and no messages, so that its bytes are those that were asked for.

use super::active_stream::{lock, now};
use super::content::Content;
use super::handle::{First, race};
use super::snapshot::Snapshot;
use crate::{Socket, Stream};
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Bytes that an application without a limit writes at a time.
const WRITE_BYTES: usize = 64 * 1024;
/// Bytes that a limited application produces at a time: about a packet.
const PRODUCED_BYTES: u64 = 1448;
/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;

/// Where a flow stands.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowReport {
    /// Bytes that the receiving application has read.
    pub received: u64,
    /// When the last byte was acknowledged, the flow was stopped or its connection broke: seconds after its
    /// start.
    pub ended_s: Option<f64>,
    /// Why it broke off, if it did.
    pub error: Option<String>,
    /// Whether that is because other bytes arrived than were sent.
    pub corrupt: bool,
    /// The connection at the sending end; `None` while there is none.
    pub connection: Option<Snapshot>,
}

/// Why a flow broke off.
#[derive(Clone, Debug)]
struct Broken {
    words: String,
    corrupt: bool,
}

/// The state that two tasks and their watcher share.
#[derive(Debug)]
struct Shared {
    received: AtomicU64,
    /// Of the application, in bits per second.
    rate: watch::Sender<Option<u64>>,
    stopped: watch::Sender<bool>,
    started: Instant,
    stream: Mutex<Option<Arc<Stream>>>,
    /// The connection as it was when it was let go.
    last: Mutex<Option<Snapshot>>,
    /// When it ended, and why if it broke off.
    ended: Mutex<Option<(Instant, Option<Broken>)>>,
}

/// Watches, limits and stops a [`flow`] from another thread.
#[derive(Clone, Debug)]
pub struct FlowHandle(Arc<Shared>);

impl FlowHandle {
    /// Of a flow that starts now, with this limit of its application in bits per second.
    pub fn started(rate: Option<u64>) -> FlowHandle {
        FlowHandle(Arc::new(Shared {
            received: AtomicU64::new(0),
            rate: watch::Sender::new(rate),
            stopped: watch::Sender::new(false),
            started: now(),
            stream: Mutex::default(),
            last: Mutex::default(),
            ended: Mutex::default(),
        }))
    }

    /// The application's limit from now on, in bits per second.
    pub fn limit(&self, rate: Option<u64>) {
        self.0.rate.send_replace(rate);
    }

    /// Ends it at once, with a reset to the other end.
    pub fn stop(&self) {
        self.end(None);
        self.0.stopped.send_replace(true);
    }

    /// Its state.
    pub fn report(&self) -> FlowReport {
        let connection = lock(&self.0.stream).as_ref().map(|it| Snapshot::from(it.stats()));
        let ended = lock(&self.0.ended).clone();
        FlowReport {
            received: self.0.received.load(Ordering::Relaxed),
            ended_s: ended.as_ref().map(|(at, _)| (*at - self.0.started).as_secs_f64()),
            corrupt: ended
                .as_ref()
                .is_some_and(|(_, why)| why.as_ref().is_some_and(|it| it.corrupt)),
            error: ended.and_then(|(_, why)| why).map(|why| why.words),
            connection: connection.or_else(|| lock(&self.0.last).clone()),
        }
    }

    /// The first word counts.
    fn end(&self, why: Option<Broken>) {
        lock(&self.0.ended).get_or_insert_with(|| (now(), why));
    }

    fn watch(&self, stream: Arc<Stream>) {
        *lock(&self.0.stream) = Some(stream);
    }

    /// The connection goes, and its counters stay.
    fn let_go(&self) {
        let stream = lock(&self.0.stream).take();
        if let Some(stream) = stream {
            *lock(&self.0.last) = Some(Snapshot::from(stream.stats()));
        }
    }

    async fn stopped(&self) {
        // The sender lives as long as we do.
        let _ = self.0.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }
}

/// Carries `bytes` of content (or as much as goes until it is stopped) from `from`, which calls `to`, to
/// `receiver`, which listens there. The result is in the handle's report.
///
/// # Panics
/// Outside of a tokio runtime with I/O and time.
pub async fn flow(
    from: Socket,
    receiver: Socket,
    to: SocketAddr,
    bytes: Option<u64>,
    seed: u64,
    handle: &FlowHandle,
) {
    let content = Content::new(seed);
    let both = async {
        let sending = send(&from, to, bytes, &content, handle);
        let receiving = receive(&receiver, bytes, &content, handle);
        let (sent, received) = together(sending, receiving).await;
        sent.and(received)
    };
    let outcome = match race(both, handle.stopped()).await {
        First::This(outcome) => outcome,
        First::That(()) => Ok(()),
    };
    let why = outcome.err().map(|error| Broken {
        words: error.to_string(),
        corrupt: error.kind() == io::ErrorKind::InvalidData,
    });
    if (why.is_some() || *handle.0.stopped.borrow())
        && let Some(stream) = lock(&handle.0.stream).as_ref()
    {
        stream.abort();
    }
    handle.end(why);
    handle.let_go();
}

/// Waits for both; when one fails, for neither.
async fn together(
    one: impl Future<Output = io::Result<()>>,
    other: impl Future<Output = io::Result<()>>,
) -> (io::Result<()>, io::Result<()>) {
    use std::task::Poll;
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|cx| {
        if first.is_none()
            && let Poll::Ready(done) = one.as_mut().poll(cx)
        {
            first = Some(done);
        }
        if second.is_none()
            && let Poll::Ready(done) = other.as_mut().poll(cx)
        {
            second = Some(done);
        }
        match (first.take(), second.take()) {
            (Some(Err(error)), other) => Poll::Ready((Err(error), other.unwrap_or(Ok(())))),
            (one, Some(Err(error))) => Poll::Ready((one.unwrap_or(Ok(())), Err(error))),
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

async fn send(
    socket: &Socket,
    to: SocketAddr,
    bytes: Option<u64>,
    content: &Content,
    handle: &FlowHandle,
) -> io::Result<()> {
    let stream = Arc::new(socket.connect(to).await?);
    handle.watch(Arc::clone(&stream));
    let mut rates = handle.0.rate.subscribe();
    let mut rate = *rates.borrow_and_update();
    let max = bytes.unwrap_or(u64::MAX);
    let (mut sent, mut since) = (0, (now(), 0));
    while sent < max {
        let latest = *rates.borrow_and_update();
        if latest != rate {
            rate = latest;
            since = (now(), sent);
        }
        let ready = match rate {
            None => u64::MAX,
            Some(rate) => {
                let produced = since.1 + produced(rate, now() - since.0);
                if produced <= sent {
                    let next = since.0.checked_add(due(rate, sent + 1 - since.1));
                    match next {
                        Some(next) => race(sleep_until(next), rates.changed()).await,
                        None => First::That(rates.changed().await),
                    };
                    continue;
                }
                produced - sent
            }
        };
        let max = usize::try_from(ready.min(max - sent)).unwrap_or(usize::MAX);
        let written = (&*stream).write(content.slice(sent, max.min(WRITE_BYTES))).await?;
        sent += written as u64;
    }
    (&*stream).shutdown().await?;
    stream.delivered().await?;
    handle.end(None);
    Ok(())
}

async fn receive(
    socket: &Socket,
    bytes: Option<u64>,
    content: &Content,
    handle: &FlowHandle,
) -> io::Result<()> {
    let mut stream = socket.accept().await?;
    let mut buffer = vec![0; READ_BYTES];
    let mut received = 0;
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            break;
        }
        let mut at = 0;
        while at < len {
            let expected = content.slice(received, len - at);
            if buffer[at..at + expected.len()] != *expected {
                let text = format!("what arrived after {received} bytes is not what was sent");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            received += expected.len() as u64;
            at += expected.len();
        }
        handle.0.received.store(received, Ordering::Relaxed);
    }
    if bytes.is_some_and(|bytes| bytes != received) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.shutdown().await
}

/// Bytes that a limited application has produced `after` its start: a chunk at the start of each
/// interval.
fn produced(rate: u64, after: Duration) -> u64 {
    let chunk = u128::from(PRODUCED_BYTES);
    let chunks = after.as_nanos() * u128::from(rate) / (chunk * 8_000_000_000);
    u64::try_from((chunks + 1) * chunk).unwrap_or(u64::MAX)
}

/// When a limited application has produced `bytes` bytes.
fn due(rate: u64, bytes: u64) -> Duration {
    let chunks = u128::from(bytes.div_ceil(PRODUCED_BYTES).saturating_sub(1));
    let nanos =
        (chunks * u128::from(PRODUCED_BYTES) * 8_000_000_000).div_ceil(u128::from(rate.max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_produces_a_chunk_at_the_start_of_each_interval() {
        let rate = 8 * 1448 * 10;
        assert_eq!(produced(rate, Duration::ZERO), 1448);
        assert_eq!(produced(rate, Duration::from_millis(99)), 1448);
        assert_eq!(produced(rate, Duration::from_millis(100)), 2896);
        assert_eq!(due(rate, 1), Duration::ZERO);
        assert_eq!(due(rate, 1449), Duration::from_millis(100));
        for bytes in [1, 1448, 1449, 5000] {
            for rate in [1, 999, 1_000_003] {
                assert!(produced(rate, due(rate, bytes)) >= bytes, "{rate} {bytes}");
            }
        }
    }
}
