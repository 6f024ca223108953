use super::Receipt;
use super::content::{Content, Digest};
use super::frames::{greeting, read_receipt, trailer};
use super::handle::{First, SessionHandle, Snapshot, race};
use crate::{Socket, Stream};
use flashcrowd_transport::utp::Config;
use serde::Serialize;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout};

/// A chunk is this long at most: what is queued when somebody wants to stop has to arrive first.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long the receiver has for its receipt after it has acknowledged everything.
const RECEIPT_PATIENCE: Duration = Duration::from_secs(30);
/// How long the end of the connection is waited for when everything is said.
const LINGER_PATIENCE: Duration = Duration::from_secs(3);

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// As much as goes in this time; what is queued then is still delivered.
    Time(Duration),
}

/// What is to be sent where, and how.
#[derive(Clone, Debug)]
pub struct Order {
    /// The receiver.
    pub remote: SocketAddr,
    /// How much.
    pub amount: Amount,
    /// The uTP stack.
    pub config: Arc<Config>,
}

/// Who ended a measurement before its amount was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopper {
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
}

/// What came out at the sender.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Bytes of content that were sent; those that arrived are in the receipt.
    pub bytes: u64,
    /// XXH3-128 of them, in hexadecimal.
    pub digest: String,
    /// From the first byte until everything was acknowledged, in seconds.
    pub seconds: f64,
    /// Whether the receiver has exactly what was sent, or, if it stopped, exactly the beginning.
    pub verified: bool,
    /// What the receiver said, if it did.
    pub receipt: Option<Receipt>,
    /// Who stopped, if anybody did.
    pub stopped_by: Option<Stopper>,
    /// The connection at its end.
    pub connection: Snapshot,
}

/// Sends, and waits for the receiver's receipt.
///
/// # Errors
/// Those of [`Socket::bind`] and [`Socket::connect`], and whatever breaks the connection;
/// [`Interrupted`](io::ErrorKind::Interrupted) if stopped before there was one;
/// [`InvalidData`](io::ErrorKind::InvalidData) if the other end is something else.
pub async fn send(order: &Order, control: &SessionHandle) -> io::Result<Outcome> {
    let local: SocketAddr = if order.remote.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = Socket::bind(local, &order.config)?;
    let stream = match race(socket.connect(order.remote), control.end()).await {
        First::This(stream) => Arc::new(stream?),
        First::That(()) => return Err(io::ErrorKind::Interrupted.into()),
    };
    control.watch(Some(Arc::clone(&stream)));
    let outcome = race(measure(order, &stream, control), control.now()).await;
    control.watch(None);
    let outcome = match outcome {
        First::This(outcome) => outcome,
        First::That(()) => {
            stream.abort();
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    };
    drop(stream);
    // What is left is to acknowledge the other end's end.
    let _ = timeout(LINGER_PATIENCE, race(socket.close(), control.now())).await;
    outcome
}

async fn measure(order: &Order, stream: &Stream, control: &SessionHandle) -> io::Result<Outcome> {
    let seed = getrandom::u64().map_err(io::Error::other)?;
    let content = Content::new(seed);
    let mut sending = Sending { content: &content, sent: 0, digest: Digest::default() };
    let started = now();
    let deadline = match order.amount {
        Amount::Bytes(_) => None,
        Amount::Time(span) => started.checked_add(span),
    };
    let most = match order.amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Time(_) => u64::MAX,
    };
    let mut early = std::pin::pin!(read_receipt(stream));
    let mut stopped_by = None;
    let mut receipt = None;
    {
        let mut all = std::pin::pin!(sending.send(stream, seed, most, deadline, control));
        match race(&mut all, &mut early).await {
            First::This(stopped) => {
                if stopped? {
                    stopped_by = Some(Stopper::Sender);
                }
            }
            First::That(said) => {
                receipt = Some(said?);
                stopped_by = Some(Stopper::Receiver);
            }
        }
    }
    if receipt.is_some() {
        let mut end = stream;
        end.shutdown().await?;
    } else {
        // The receiver may stop while the rest is under way, and its receipt then comes first.
        match race(stream.delivered(), &mut early).await {
            First::This(done) => done?,
            First::That(said) => receipt = Some(said?),
        }
    }
    let seconds = (now() - started).as_secs_f64();
    let receipt = match receipt {
        Some(receipt) => receipt,
        None => timeout(RECEIPT_PATIENCE, early).await.map_err(|_| silent())??,
    };
    if receipt.stopped {
        stopped_by = stopped_by.or(Some(Stopper::Receiver));
    }
    let digest = format!("{:032x}", sending.digest.value());
    let verified = if receipt.stopped {
        receipt.digest == format!("{:032x}", content.digest(receipt.bytes).value())
    } else {
        receipt.bytes == sending.sent && receipt.digest == digest && receipt.equal == Some(true)
    };
    Ok(Outcome {
        bytes: sending.sent,
        digest,
        seconds,
        verified,
        receipt: Some(receipt),
        stopped_by,
        connection: stream.stats().into(),
    })
}

struct Sending<'a> {
    content: &'a Content,
    sent: u64,
    digest: Digest,
}

impl Sending<'_> {
    /// Queues everything, up to the end of the stream. Whether somebody wanted to stop.
    async fn send(
        &mut self,
        mut stream: &Stream,
        seed: u64,
        most: u64,
        deadline: Option<Instant>,
        control: &SessionHandle,
    ) -> io::Result<bool> {
        stream.write_all(&greeting(seed)).await?;
        while self.sent < most
            && !control.is_stopped()
            && deadline.is_none_or(|deadline| now() < deadline)
        {
            let left = usize::try_from(most - self.sent).unwrap_or(usize::MAX);
            let chunk = self.content.slice(self.sent, left.min(CHUNK_BYTES));
            stream.write_all(&(chunk.len() as u32).to_be_bytes()).await?;
            stream.write_all(chunk).await?;
            self.digest.update(chunk);
            self.sent += chunk.len() as u64;
        }
        let stopped = control.is_stopped();
        stream.write_all(&trailer(self.sent, self.digest.value())).await?;
        stream.shutdown().await?;
        Ok(stopped)
    }
}

fn silent() -> io::Error {
    let text = "the other end has taken everything and says nothing: is it `flashcrowd utp serve`?";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[allow(clippy::disallowed_methods, reason = "a measurement of the real world")]
fn now() -> Instant {
    Instant::now()
}
