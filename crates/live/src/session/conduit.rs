use super::snapshot::Snapshot;
use super::tcp::Tcp;
use crate::Stream;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The transport of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// uTP on a UDP socket of this process.
    #[default]
    Utp,
    /// The kernel's TCP.
    Tcp,
}

/// A connection of either transport: the same bytes go over both.
#[derive(Debug)]
pub(super) enum Conduit {
    Utp(Stream),
    Tcp(Tcp),
}

impl Conduit {
    pub(super) fn transport(&self) -> Transport {
        match self {
            Conduit::Utp(_) => Transport::Utp,
            Conduit::Tcp(_) => Transport::Tcp,
        }
    }

    /// Address of the other end.
    pub(super) fn peer(&self) -> SocketAddr {
        match self {
            Conduit::Utp(stream) => stream.peer_addr(),
            Conduit::Tcp(tcp) => tcp.peer(),
        }
    }

    /// Some bytes; 0 at the other end's end of stream.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Conduit::Utp(stream) => (&mut &*stream).read(buffer).await,
            Conduit::Tcp(tcp) => tcp.read(buffer).await,
        }
    }

    /// As many bytes as the buffer takes; [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if there are fewer.
    pub(super) async fn read_exact(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => filled += len,
            }
        }
        Ok(())
    }

    /// Queues all of these.
    pub(super) async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Conduit::Utp(stream) => (&mut &*stream).write_all(bytes).await,
            Conduit::Tcp(tcp) => tcp.write_all(bytes).await,
        }
    }

    /// Ends this direction behind what is queued.
    pub(super) async fn shutdown(&self) -> io::Result<()> {
        match self {
            Conduit::Utp(stream) => (&mut &*stream).shutdown().await,
            Conduit::Tcp(tcp) => tcp.shutdown(),
        }
    }

    /// Waits until the other end has acknowledged everything that was written; for ever with TCP, which
    /// does not report it.
    pub(super) async fn delivered(&self) -> io::Result<()> {
        match self {
            Conduit::Utp(stream) => stream.delivered().await,
            Conduit::Tcp(_) => std::future::pending().await,
        }
    }

    /// Ends both directions at once.
    pub(super) fn abort(&self) {
        match self {
            Conduit::Utp(stream) => stream.abort(),
            Conduit::Tcp(tcp) => tcp.abort(),
        }
    }

    /// Counters and estimates, now.
    pub(super) fn snapshot(&self) -> Snapshot {
        match self {
            Conduit::Utp(stream) => stream.stats().into(),
            Conduit::Tcp(tcp) => tcp.snapshot(),
        }
    }

    /// How long the other end has been silent; zero where the system does not report it.
    pub(super) fn silence(&self) -> Duration {
        match self {
            Conduit::Utp(stream) => stream.silence(),
            Conduit::Tcp(tcp) => tcp.silence(),
        }
    }
}
