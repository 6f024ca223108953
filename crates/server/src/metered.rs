use crate::memory_file::MemoryFile;
use crate::meters::Meters;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Fewer bytes are copied: that takes less time than to refer to them.
const MIN_REFERRED: usize = 8192;
/// See send(2): more follows. Neither of our libraries has a name for it.
const MSG_MORE: i32 = 0x8000;

/// A socket that counts the bytes that it takes, and fails when it takes none for too long. It takes bytes of the
/// memory file without a copy; the layers above it need not know.
#[derive(Debug)]
pub(crate) struct Metered {
    stream: TcpStream,
    memory_file: Arc<MemoryFile>,
    /// Of this socket.
    taken: Arc<AtomicU64>,
    /// Bytes that came.
    heard: Arc<AtomicU64>,
    meters: Arc<Meters>,
    patience: Duration,
    alarm: Pin<Box<Sleep>>,
    /// Whether something waits to be taken.
    waiting: bool,
}

impl Metered {
    pub(crate) fn new(
        stream: TcpStream,
        memory_file: Arc<MemoryFile>,
        meters: Arc<Meters>,
        patience: Duration,
    ) -> Metered {
        let taken = Arc::new(AtomicU64::new(0));
        Metered {
            stream,
            memory_file,
            taken,
            heard: Arc::default(),
            meters,
            patience,
            alarm: Box::pin(sleep(patience)),
            waiting: false,
        }
    }

    pub(crate) fn taken(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.taken)
    }

    pub(crate) fn heard(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.heard)
    }

    /// Whether the socket can take these bytes by reference.
    fn refers(&self, bytes: &[u8]) -> bool {
        bytes.len() >= MIN_REFERRED && self.memory_file.holds(bytes)
    }

    /// Writes the beginning of the slices: one by reference, or those up to the next one of that kind.
    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices.iter().position(|slice| self.refers(slice)) {
            None => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
            Some(0) => self.poll_with(context, slices[0].len(), || {
                self.memory_file.send(&self.stream, &slices[0])
            }),
            // The bytes that follow belong into the same packets.
            Some(next) => {
                let length = slices[..next].iter().map(|slice| slice.len()).sum();
                self.poll_with(context, length, || {
                    SockRef::from(&self.stream).send_vectored_with_flags(&slices[..next], MSG_MORE)
                })
            }
        }
    }

    /// Tries it when the socket has room. One that takes a part is full, and is tried again when it says that it has room, unless a
    /// signal to the thread cut a `sendfile` short: then epoll has nothing to tell.
    fn poll_with(
        &self,
        context: &mut Context<'_>,
        length: usize,
        send: impl Fn() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            let mut part = 0;
            let outcome = self.stream.try_io(Interest::WRITABLE, || match send()? {
                sent if 0 < sent && sent < length && !self.has_room() => {
                    part = sent;
                    Err(io::ErrorKind::WouldBlock.into())
                }
                sent => Ok(sent),
            });
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if part > 0 {
                        return Poll::Ready(Ok(part));
                    }
                }
                outcome => return Poll::Ready(outcome),
            }
        }
    }

    /// Asks the socket itself, for less than another `sendfile`. If it has none, epoll will tell when it has.
    fn has_room(&self) -> bool {
        let mut socket = [PollFd::new(&self.stream, PollFlags::OUT)];
        poll(&mut socket, Some(&Timespec::default())) != Ok(0)
    }

    /// The result of a write.
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
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.heard.fetch_add((buffer.filled().len() - before) as u64, Relaxed);
        outcome
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
        let outcome = self.poll_send(context, slices);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    /// As a `sendfile` that a signal cuts short: epoll does not say again that there is room.
    #[tokio::test]
    async fn a_socket_that_took_a_part_is_tried_again_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (client, accepted) =
            tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        let memory_file = MemoryFile::new(4096, 1).unwrap();
        let patience = Duration::from_secs(60);
        let metered = Metered::new(accepted.unwrap().0, memory_file, Arc::default(), patience);
        // epoll reports a new connection before that.
        sleep(Duration::from_millis(20)).await;
        for (length, sent) in [(65_536, 61_440), (4096, 4096)] {
            let taken = poll_fn(|context| metered.poll_with(context, length, || Ok(sent)));
            assert_eq!(timeout(Duration::from_secs(10), taken).await.unwrap().unwrap(), sent);
        }
        drop(client);
    }
}
