use crate::connection_state::ConnectionState;
use crate::driver::Shared;
use flashcrowd_transport::utp::{State, Stats};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A uTP connection: bytes in order, both ways. Read and write it with
/// [`AsyncReadExt`](tokio::io::AsyncReadExt) and [`AsyncWriteExt`](tokio::io::AsyncWriteExt).
///
/// `write` succeeds when bytes are queued, `shutdown` queues the end of the stream behind them and
/// lets the other direction go on; `read` gives 0 at the other's end of stream.
/// [`delivered`](Stream::delivered) waits until the other end has acknowledged everything.
///
/// One task may read while another writes: `&Stream` reads and writes as well.
///
/// Dropping it closes it, and delivers in the background what was written; bytes that arrived and
/// were not read reset it.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<Shared>,
    key: usize,
    remote: SocketAddr,
}

impl Stream {
    pub(crate) fn new(shared: Arc<Shared>, key: usize, remote: SocketAddr) -> Stream {
        Stream { shared, key, remote }
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> SocketAddr {
        SocketAddr::new(self.remote.ip().to_canonical(), self.remote.port())
    }

    /// Counters and estimates, now.
    pub fn stats(&self) -> Stats {
        self.shared.with(|mux| mux.connection(self.key).machine.stats())
    }

    /// How long the other end has been silent: time since its last packet that counts.
    pub fn silence(&self) -> Duration {
        let now = self.shared.clock.now();
        let last = self.shared.with(|mux| mux.connection(self.key).machine.last_received());
        Duration::from_nanos(now.since(last.min(now)).nanos())
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.shared.with(|mux| mux.connection(self.key).machine.state())
    }

    /// Ends the connection at once, both directions, with a RESET to the other end.
    pub fn abort(&self) {
        let now = self.shared.clock.now();
        self.shared.with(|mux| {
            mux.connection(self.key).machine.abort(now);
            mux.wake_driver(self.key);
        });
    }

    /// Waits until the other end has acknowledged everything that was written.
    ///
    /// # Errors
    /// If the connection breaks before.
    pub async fn delivered(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            self.with_connection(|conn| {
                if conn.send_buffer.len() == 0 {
                    return Poll::Ready(Ok(()));
                }
                if let Some(error) = conn.error() {
                    return Poll::Ready(Err(error));
                }
                conn.drain = Some(cx.waker().clone());
                Poll::Pending
            })
        })
        .await
    }

    pub(crate) fn poll_open(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with_connection(|conn| {
            if conn.machine.is_established() {
                return Poll::Ready(Ok(()));
            }
            if conn.machine.is_closed() {
                let error = conn.error().unwrap_or_else(|| io::ErrorKind::ConnectionAborted.into());
                return Poll::Ready(Err(error));
            }
            conn.opener = Some(cx.waker().clone());
            Poll::Pending
        })
    }

    fn with_connection<T>(&self, work: impl FnOnce(&mut ConnectionState) -> T) -> T {
        self.shared.with(|mux| work(mux.connection(self.key)))
    }
}

impl AsyncRead for &Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.shared.with(|mux| {
            let conn = mux.connection(self.key);
            let mut taken = 0;
            while buffer.remaining() > 0 && conn.receive_buffer.len() > 0 {
                let readable = conn.receive_buffer.readable();
                let len = readable.len().min(buffer.remaining());
                buffer.put_slice(&readable[..len]);
                conn.receive_buffer.consume(len);
                taken += len;
            }
            if taken > 0 {
                let now = self.shared.clock.now();
                conn.machine.read(now, taken as u64);
                if conn.machine.has_acknowledgement() {
                    mux.wake_driver(self.key);
                }
                return Poll::Ready(Ok(()));
            }
            if conn.machine.peer_closed() {
                return Poll::Ready(Ok(()));
            }
            if conn.machine.is_closed() {
                return Poll::Ready(conn.error().map_or(Ok(()), Err));
            }
            conn.reader = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}

impl AsyncWrite for &Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.shared.with(|mux| {
            let conn = mux.connection(self.key);
            if let Some(error) = conn.error() {
                return Poll::Ready(Err(error));
            }
            if conn.shut || conn.machine.is_closed() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let now = self.shared.clock.now();
            let taken = conn.machine.write(now, bytes.len() as u64) as usize;
            if taken == 0 && !bytes.is_empty() {
                conn.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            conn.send_buffer.push(&bytes[..taken]);
            mux.wake_driver(self.key);
            Poll::Ready(Ok(taken))
        })
    }

    /// Does nothing: what is written is sent as soon as the congestion controller lets it.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = self.shared.clock.now();
        self.shared.with(|mux| {
            let conn = mux.connection(self.key);
            conn.shut = true;
            conn.machine.close(now);
            mux.wake_driver(self.key);
        });
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(cx, bytes)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_shutdown(cx)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let now = self.shared.clock.now();
        self.shared.with(|mux| mux.orphan(now, self.key));
    }
}
