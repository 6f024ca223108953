use crate::driver::Shared;
use crate::end::End;
use flashcrowd_transport::utp::{State, Stats};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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
        self.shared.with(|hub| hub.end(self.key).connection.stats())
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.shared.with(|hub| hub.end(self.key).connection.state())
    }

    /// Ends the connection at once, both directions: the other end is told.
    pub fn abort(&self) {
        let now = self.shared.clock.now();
        self.shared.with(|hub| {
            hub.end(self.key).connection.abort(now);
            hub.nudge(self.key);
        });
    }

    /// Waits until the other end has acknowledged everything that was written.
    ///
    /// # Errors
    /// If the connection breaks before.
    pub async fn delivered(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            self.with_end(|end| {
                if end.outgoing.len() == 0 {
                    return Poll::Ready(Ok(()));
                }
                if let Some(error) = end.error() {
                    return Poll::Ready(Err(error));
                }
                end.drain = Some(cx.waker().clone());
                Poll::Pending
            })
        })
        .await
    }

    pub(crate) fn poll_open(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with_end(|end| {
            if end.connection.is_established() {
                return Poll::Ready(Ok(()));
            }
            if end.connection.is_closed() {
                let error = end.error().unwrap_or_else(|| io::ErrorKind::ConnectionAborted.into());
                return Poll::Ready(Err(error));
            }
            end.opener = Some(cx.waker().clone());
            Poll::Pending
        })
    }

    fn with_end<T>(&self, work: impl FnOnce(&mut End) -> T) -> T {
        self.shared.with(|hub| work(hub.end(self.key)))
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
        self.shared.with(|hub| {
            let end = hub.end(self.key);
            let mut taken = 0;
            while buffer.remaining() > 0 && end.incoming.len() > 0 {
                let readable = end.incoming.readable();
                let len = readable.len().min(buffer.remaining());
                buffer.put_slice(&readable[..len]);
                end.incoming.consume(len);
                taken += len;
            }
            if taken > 0 {
                let now = self.shared.clock.now();
                end.connection.read(now, taken as u64);
                if end.connection.has_acknowledgement() {
                    hub.nudge(self.key);
                }
                return Poll::Ready(Ok(()));
            }
            if end.connection.peer_closed() {
                return Poll::Ready(Ok(()));
            }
            if end.connection.is_closed() {
                return Poll::Ready(end.error().map_or(Ok(()), Err));
            }
            end.reader = Some(cx.waker().clone());
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
        self.shared.with(|hub| {
            let end = hub.end(self.key);
            if let Some(error) = end.error() {
                return Poll::Ready(Err(error));
            }
            if end.shut || end.connection.is_closed() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let now = self.shared.clock.now();
            let taken = end.connection.write(now, bytes.len() as u64) as usize;
            if taken == 0 && !bytes.is_empty() {
                end.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            end.outgoing.push(&bytes[..taken]);
            hub.nudge(self.key);
            Poll::Ready(Ok(taken))
        })
    }

    /// Does nothing: what is written is sent as soon as the congestion controller lets it.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = self.shared.clock.now();
        self.shared.with(|hub| {
            let end = hub.end(self.key);
            end.shut = true;
            end.connection.close(now);
            hub.nudge(self.key);
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
        self.shared.with(|hub| hub.disown(now, self.key));
    }
}
