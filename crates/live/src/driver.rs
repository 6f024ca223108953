use crate::clock::Clock;
use crate::gso_batch::TransmitQueue;
use crate::mux::Mux;
use crate::udp::{Icmp, ReceivedBatch, Sent, Udp};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::time::Sleep;

/// Batches that one call of the driver receives at most, before others may run.
const BATCHES: usize = 8;

/// The state that a socket, its streams and its driver share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) udp: Udp,
    pub(crate) clock: Clock,
    mux: Mutex<Mux>,
}

impl Shared {
    pub(crate) fn new(udp: Udp, mux: Mux) -> Shared {
        Shared { udp, clock: Clock::started(), mux: Mutex::new(mux) }
    }

    /// Runs `work` under the lock, and calls the wakers that it has gathered once the lock is released.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Mux) -> T) -> T {
        let mut mux = self.lock();
        let done = work(&mut mux);
        if mux.woken.is_empty() {
            return done;
        }
        let woken = std::mem::take(&mut mux.woken);
        drop(mux);
        woken.into_iter().for_each(std::task::Waker::wake);
        done
    }

    fn lock(&self) -> MutexGuard<'_, Mux> {
        self.mux.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets ICMP errors end connections that are being opened, and probes of the path MTU, for as long as the
    /// socket lives.
    pub(crate) async fn watch_errors(self: Arc<Shared>) {
        let tell = |icmp| {
            let now = self.clock.now();
            self.with(|mux| match icmp {
                Icmp::Unreachable(address) => {
                    mux.unreachable(now, address, io::ErrorKind::ConnectionRefused);
                }
                Icmp::TooBig(bytes) => mux.path_is_smaller(now, bytes),
            });
        };
        // If this fails, an absent peer is found by its silence.
        let _ = self.udp.watch_errors(tell).await;
    }
}

/// Moves datagrams between the socket and the connections, until the socket is closed and every
/// connection has ended.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    received_batch: ReceivedBatch,
    transmit_queue: TransmitQueue,
    sleep: Pin<Box<Sleep>>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, offload: bool) -> Driver {
        let transmit_queue =
            TransmitQueue::new(if offload { shared.udp.max_gso_segments() } else { 1 });
        let sleep = Box::pin(tokio::time::sleep(std::time::Duration::ZERO));
        Driver { shared, received_batch: ReceivedBatch::new(), transmit_queue, sleep }
    }

    /// Sends gathered batches until `keep` are left. Returns whether the socket took them.
    fn send(&mut self, keep: usize) -> bool {
        while self.transmit_queue.len() > keep {
            let Some(batch) = self.transmit_queue.first() else { break };
            let (to, bytes) = (batch.destination, batch.each);
            match self.shared.udp.send(batch) {
                Sent::Done => self.transmit_queue.pop(),
                Sent::Later => return false,
                Sent::Split => {
                    self.transmit_queue.limit(self.shared.udp.max_gso_segments());
                    self.transmit_queue.split();
                }
                // A datagram that the system will not send is lost like any other: the state
                // machine finds out. What it can use is why.
                Sent::Refused(error) => {
                    self.transmit_queue.pop();
                    let now = self.shared.clock.now();
                    self.shared.with(|mux| {
                        if quinn_udp::is_msg_size_err(&error) {
                            mux.too_large(now, to, bytes);
                        } else {
                            mux.unreachable(now, to.ip(), error.kind());
                        }
                    });
                }
            }
        }
        true
    }

    /// Gathers and sends until no connection has packets. Returns whether the socket took all.
    fn transmit(&mut self) -> bool {
        loop {
            if !self.send(1) {
                return false;
            }
            let now = self.shared.clock.now();
            let transmit_queue = &mut self.transmit_queue;
            if self.shared.with(|mux| mux.transmit(now, transmit_queue)) {
                return self.send(0);
            }
        }
    }
}

/// A driver that is dropped (the runtime ends) fails every connection, so that no task waits for ever.
impl Drop for Driver {
    fn drop(&mut self) {
        let now = self.shared.clock.now();
        self.shared.with(|mux| mux.fail(now, io::ErrorKind::BrokenPipe));
    }
}

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        for _ in 0..BATCHES {
            let received = match this.shared.udp.poll_receive(cx, &mut this.received_batch) {
                Poll::Ready(Ok(())) => true,
                Poll::Ready(Err(error)) => {
                    let now = this.shared.clock.now();
                    this.shared.with(|mux| mux.fail(now, error.kind()));
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => false,
            };
            let now = this.shared.clock.now();
            let received_batch = &this.received_batch;
            this.shared.with(|mux| {
                if received {
                    for (from, datagram) in received_batch.datagrams() {
                        mux.receive(now, from, datagram);
                    }
                }
                mux.fire_timers(now);
                mux.driver = Some(cx.waker().clone());
            });
            while !this.transmit() {
                // The socket is full. Once it is not, the same batch goes first.
                if this.shared.udp.poll_writable(cx)?.is_pending() {
                    break;
                }
            }
            if received {
                continue;
            }
            let (done, timer) =
                this.shared.with(|mux| (mux.closing && mux.is_idle(), mux.next_timer()));
            if done && this.transmit_queue.first().is_none() {
                return Poll::Ready(Ok(()));
            }
            if let Some(at) = timer.and_then(|time| this.shared.clock.instant(time)) {
                if this.sleep.deadline() != at {
                    this.sleep.as_mut().reset(at);
                }
                if this.sleep.as_mut().poll(cx).is_ready() {
                    continue;
                }
            }
            return Poll::Pending;
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
