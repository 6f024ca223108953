use crate::meters::Meters;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A socket that counts the bytes that it takes, and fails when it takes none for too long.
#[derive(Debug)]
pub(crate) struct Metered {
    stream: TcpStream,
    /// Of this socket.
    taken: Arc<AtomicU64>,
    meters: Arc<Meters>,
    patience: Duration,
    alarm: Pin<Box<Sleep>>,
    /// Whether something waits to be taken.
    waiting: bool,
}

impl Metered {
    pub(crate) fn new(stream: TcpStream, meters: Arc<Meters>, patience: Duration) -> Metered {
        let taken = Arc::new(AtomicU64::new(0));
        Metered {
            stream,
            taken,
            meters,
            patience,
            alarm: Box::pin(sleep(patience)),
            waiting: false,
        }
    }

    pub(crate) fn taken(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.taken)
    }

    /// What came of trying to write.
    fn note(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match outcome {
            Poll::Pending => {
                if !self.waiting {
                    self.waiting = true;
                    let deadline = soon(self.patience);
                    self.alarm.as_mut().reset(deadline);
                }
                if self.alarm.as_mut().poll(context).is_ready() {
                    self.meters.stalled.fetch_add(1, Relaxed);
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                Poll::Pending
            }
            Poll::Ready(outcome) => {
                self.waiting = false;
                if let Ok(bytes) = outcome {
                    self.taken.fetch_add(bytes as u64, Relaxed);
                    self.meters.taken.fetch_add(bytes as u64, Relaxed);
                }
                Poll::Ready(outcome)
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a time-out of a socket is wall-clock time")]
fn soon(patience: Duration) -> Instant {
    // A patience beyond what the clock can count is a year.
    let now = Instant::now();
    now.checked_add(patience).unwrap_or(now + Duration::from_secs(365 * 86_400))
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
