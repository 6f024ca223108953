use crate::clock::Clock;
use crate::hub::Hub;
use crate::train::Outbox;
use crate::udp::{Inbox, Sent, Udp};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::time::Sleep;

/// Batches that one call of the driver receives at most, before others may run.
const BATCHES: usize = 8;

/// What a socket, its streams and its driver share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) udp: Udp,
    pub(crate) clock: Clock,
    hub: Mutex<Hub>,
}

impl Shared {
    pub(crate) fn new(udp: Udp, hub: Hub) -> Shared {
        Shared { udp, clock: Clock::started(), hub: Mutex::new(hub) }
    }

    /// Does something with the hub; wakes whom it concerns afterwards.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Hub) -> T) -> T {
        let mut hub = self.lock();
        let done = work(&mut hub);
        if hub.woken.is_empty() {
            return done;
        }
        let woken = std::mem::take(&mut hub.woken);
        drop(hub);
        woken.into_iter().for_each(std::task::Waker::wake);
        done
    }

    fn lock(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets ICMP errors end the connections that are being opened, for as long as there is a socket.
    pub(crate) async fn watch_errors(self: Arc<Shared>) {
        let tell = |address: IpAddr| {
            let now = self.clock.now();
            self.with(|hub| hub.unreachable(now, address, io::ErrorKind::ConnectionRefused));
        };
        // Without it an absent peer is found by its silence.
        let _ = self.udp.watch_errors(tell).await;
    }
}

/// Moves datagrams between the socket and the connections, until the socket is closed and every
/// connection has ended.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    inbox: Inbox,
    outbox: Outbox,
    sleep: Pin<Box<Sleep>>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, offload: bool) -> Driver {
        let outbox = Outbox::new(if offload { shared.udp.train_length() } else { 1 });
        let sleep = Box::pin(tokio::time::sleep(std::time::Duration::ZERO));
        Driver { shared, inbox: Inbox::new(), outbox, sleep }
    }

    /// Sends what is gathered, down to `keep` trains. Whether the socket took everything.
    fn send(&mut self, keep: usize) -> bool {
        while self.outbox.len() > keep {
            let Some(train) = self.outbox.first() else { break };
            let to = train.destination;
            match self.shared.udp.send(train) {
                Sent::Done => self.outbox.pop(),
                Sent::Later => return false,
                Sent::Split => {
                    self.outbox.limit(self.shared.udp.train_length());
                    self.outbox.split();
                }
                // A datagram that the system will not send is lost like any other: the state
                // machine finds out. What it can use is why.
                Sent::Refused(error) => {
                    self.outbox.pop();
                    let now = self.shared.clock.now();
                    self.shared.with(|hub| {
                        if quinn_udp::is_msg_size_err(&error) {
                            hub.too_large(now, to);
                        } else {
                            hub.unreachable(now, to.ip(), error.kind());
                        }
                    });
                }
            }
        }
        true
    }

    /// Sends everything that there is to be sent. Whether the socket took everything.
    fn transmit(&mut self) -> bool {
        loop {
            if !self.send(1) {
                return false;
            }
            let now = self.shared.clock.now();
            let outbox = &mut self.outbox;
            if self.shared.with(|hub| hub.transmit(now, outbox)) {
                return self.send(0);
            }
        }
    }
}

/// Whoever waits is told when there is no driver any more, because the runtime ends.
impl Drop for Driver {
    fn drop(&mut self) {
        let now = self.shared.clock.now();
        self.shared.with(|hub| hub.fail(now, io::ErrorKind::BrokenPipe));
    }
}

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        for _ in 0..BATCHES {
            let received = match this.shared.udp.poll_receive(cx, &mut this.inbox) {
                Poll::Ready(Ok(())) => true,
                Poll::Ready(Err(error)) => {
                    let now = this.shared.clock.now();
                    this.shared.with(|hub| hub.fail(now, error.kind()));
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => false,
            };
            let now = this.shared.clock.now();
            let inbox = &this.inbox;
            this.shared.with(|hub| {
                if received {
                    for (from, datagram) in inbox.datagrams() {
                        hub.receive(now, from, datagram);
                    }
                }
                hub.ring(now);
                hub.driver = Some(cx.waker().clone());
            });
            while !this.transmit() {
                // The socket is full. Once it is not, the same train goes first.
                if this.shared.udp.poll_writable(cx)?.is_pending() {
                    break;
                }
            }
            if received {
                continue;
            }
            let (done, alarm) =
                this.shared.with(|hub| (hub.closing && hub.is_idle(), hub.next_alarm()));
            if done && this.outbox.first().is_none() {
                return Poll::Ready(Ok(()));
            }
            if let Some(at) = alarm.and_then(|time| this.shared.clock.instant(time)) {
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
