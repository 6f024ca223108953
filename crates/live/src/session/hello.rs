use super::Receipt;
use super::conduit::Conduit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// First bytes of version 1 of the protocol: the caller sends one stream.
const MAGIC_1: &[u8; 17] = b"flashcrowd-utp/1\n";
/// First bytes of version 2: a request follows.
const MAGIC_2: &[u8; 17] = b"flashcrowd-utp/2\n";
/// Longest message about a stream, in bytes.
const MAX_TEXT_BYTES: u32 = 4096;
/// How long the server has to answer a request.
const READY_PATIENCE: Duration = Duration::from_secs(30);

/// Which way the content of a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the end that has opened the connection.
    ToServer,
    /// To the end that has opened the connection.
    ToClient,
}

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// This number of bytes.
    Bytes(u64),
    /// As much as goes in this time; what is queued then is still delivered.
    Time(Duration),
}

/// The caller's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Of the content.
    pub(super) seed: u64,
    pub(super) direction: Direction,
    /// Streams with the same number belong together; how many there are.
    pub(super) measurement: u64,
    pub(super) streams: u32,
    /// The amount that the server is to send, if it is the one that sends.
    pub(super) amount: Amount,
    /// In bits per second, at most.
    pub(super) rate: Option<u64>,
    /// TCP's congestion control at the server.
    pub(super) congestion: Option<String>,
}

impl Hello {
    /// Whether version 1 of the protocol can express it: one stream to the server.
    fn is_version_1(&self) -> bool {
        self.direction == Direction::ToServer && self.streams == 1
    }

    /// Sends the request, and in version 2 waits for the reply. Returns the congestion control that the
    /// server uses, if it reports it.
    pub(super) async fn send(&self, conduit: &Conduit) -> io::Result<Option<String>> {
        if self.is_version_1() {
            conduit.write_all(&[&MAGIC_1[..], &self.seed.to_be_bytes()].concat()).await?;
            return Ok(None);
        }
        conduit.write_all(MAGIC_2).await?;
        write_text(conduit, self).await?;
        match tokio::time::timeout(READY_PATIENCE, Reply::read(conduit))
            .await
            .map_err(|_| silent())??
        {
            Reply::Ready { congestion, .. } => Ok(congestion),
            Reply::Receipt(_) => Err(foreign("a receipt for nothing")),
        }
    }

    /// Reads the caller's first message.
    pub(super) async fn read(conduit: &Conduit) -> io::Result<Hello> {
        let mut greeting = [0; MAGIC_1.len()];
        conduit.read_exact(&mut greeting).await?;
        if greeting == *MAGIC_2 {
            let hello: Hello = read_text(conduit).await?;
            return Ok(hello);
        }
        if greeting != *MAGIC_1 {
            return Err(foreign("this is not what `flashcrowd utp send` sends"));
        }
        let mut seed = [0; 8];
        conduit.read_exact(&mut seed).await?;
        Ok(Hello {
            seed: u64::from_be_bytes(seed),
            direction: Direction::ToServer,
            measurement: 0,
            streams: 1,
            amount: Amount::Bytes(0),
            rate: None,
            congestion: None,
        })
    }

    /// Replies to a request of version 2 that the caller may begin.
    pub(super) async fn answer(&self, conduit: &Conduit) -> io::Result<()> {
        if self.is_version_1() {
            return Ok(());
        }
        let congestion = conduit.snapshot().congestion;
        write_text(conduit, &Reply::Ready { ready: true, congestion }).await
    }
}

/// A message of the server, or of a receiver.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Reply {
    Receipt(Receipt),
    Ready { ready: bool, congestion: Option<String> },
}

/// The reply that refuses.
#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    refused: String,
}

impl Reply {
    /// The next reply.
    ///
    /// # Errors
    /// [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) with the server's words if it refuses.
    pub(super) async fn read(conduit: &Conduit) -> io::Result<Reply> {
        let text: serde_json::Value = read_text(conduit).await?;
        if let Ok(Refusal { refused }) = Refusal::deserialize(&text) {
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, refused));
        }
        Reply::deserialize(&text).map_err(|error| foreign(&format!("answer: {error}")))
    }

    pub(super) async fn write(self, conduit: &Conduit) -> io::Result<()> {
        write_text(conduit, &self).await
    }
}

/// Tells a caller why it is refused.
pub(super) async fn refuse(conduit: &Conduit, why: &str) -> io::Result<()> {
    write_text(conduit, &Refusal { refused: why.to_owned() }).await?;
    conduit.shutdown().await
}

async fn write_text(conduit: &Conduit, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    conduit.write_all(&[&(text.len() as u32).to_be_bytes()[..], &text].concat()).await
}

async fn read_text<T: DeserializeOwned>(conduit: &Conduit) -> io::Result<T> {
    let mut len = [0; 4];
    conduit.read_exact(&mut len).await.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            foreign("the other end has closed without a word: is it `flashcrowd utp serve`?")
        }
        _ => error,
    })?;
    let len = u32::from_be_bytes(len);
    if len > MAX_TEXT_BYTES {
        return Err(foreign(&format!("an answer of {len} bytes: no flashcrowd receiver")));
    }
    let mut text = vec![0; len as usize];
    conduit.read_exact(&mut text).await?;
    serde_json::from_slice(&text).map_err(|error| foreign(&format!("answer: {error}")))
}

fn foreign(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn silent() -> io::Error {
    foreign("the other end takes the connection and says nothing: is it `flashcrowd utp serve`?")
}
