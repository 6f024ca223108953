use crate::Stream;
use flashcrowd_transport::utp::Stats;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// How soon a measurement is to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    #[default]
    GoOn,
    /// Stop sending, and let the other side verify what it got.
    End,
    /// Abort.
    Now,
}

/// Watches and stops a measurement from another thread.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    wish: watch::Sender<Wish>,
    stream: Arc<Mutex<Option<Arc<Stream>>>>,
}

impl Default for SessionHandle {
    fn default() -> SessionHandle {
        SessionHandle { wish: watch::Sender::new(Wish::GoOn), stream: Arc::default() }
    }
}

/// Counters and estimates of a connection, in the units of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// Smoothed round-trip time, in milliseconds; 0 before the first sample.
    pub rtt_ms: f64,
    /// Least round-trip time, in milliseconds.
    pub min_rtt_ms: f64,
    /// The latest one-way delay above the least, in milliseconds.
    pub queueing_delay_ms: f64,
    /// Congestion window, in bytes.
    pub window_bytes: u64,
    /// Bytes in the network.
    pub in_flight_bytes: u64,
    /// What the other end has room for, in bytes.
    pub peer_window_bytes: u64,
    /// Payload of a full packet.
    pub packet_bytes: u64,
    /// Payload bytes that the other end has acknowledged, those of the protocol included.
    pub acknowledged_bytes: u64,
    /// Packets sent, of every kind.
    pub packets_sent: u64,
    /// Packets sent again.
    pub packets_retransmitted: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Packets that had been received before.
    pub packets_duplicate: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Cuts of the congestion window.
    pub reductions: u32,
}

impl From<Stats> for Snapshot {
    fn from(stats: Stats) -> Snapshot {
        Snapshot {
            rtt_ms: stats.srtt.seconds() * 1e3,
            min_rtt_ms: stats.min_rtt.seconds() * 1e3,
            queueing_delay_ms: stats.queueing_delay.seconds() * 1e3,
            window_bytes: stats.cwnd,
            in_flight_bytes: stats.in_flight,
            peer_window_bytes: stats.peer_window,
            packet_bytes: stats.packet_bytes,
            acknowledged_bytes: stats.bytes_acked,
            packets_sent: stats.packets_sent,
            packets_retransmitted: stats.packets_retransmitted,
            packets_received: stats.packets_received,
            packets_duplicate: stats.packets_duplicate,
            timeouts: stats.timeouts,
            reductions: stats.reductions,
        }
    }
}

impl SessionHandle {
    /// Ends the measurement soon, in good order; the second time, at once.
    pub fn stop(&self) {
        self.wish
            .send_modify(|wish| *wish = if *wish == Wish::GoOn { Wish::End } else { Wish::Now });
    }

    /// Whether [`stop`](SessionHandle::stop) was called.
    pub fn is_stopped(&self) -> bool {
        *self.wish.borrow() >= Wish::End
    }

    /// The connection now, if there is one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).clone();
        stream.map(|stream| stream.stats().into())
    }

    pub(super) fn watch(&self, stream: Option<Arc<Stream>>) {
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = stream;
    }

    /// Waits until the end is wished.
    pub(super) async fn end(&self) {
        self.wait(Wish::End).await;
    }

    /// Waits until an immediate end is wished.
    pub(super) async fn now(&self) {
        self.wait(Wish::Now).await;
    }

    async fn wait(&self, for_what: Wish) {
        let mut wishes = self.wish.subscribe();
        // The sender lives as long as we do.
        let _ = wishes.wait_for(|wish| *wish >= for_what).await;
    }
}

/// What came first of two things.
pub(super) enum First<A, B> {
    This(A),
    That(B),
}

/// Waits for either; the other is dropped. `this` is preferred.
pub(super) async fn race<A, B>(
    this: impl Future<Output = A>,
    that: impl Future<Output = B>,
) -> First<A, B> {
    let mut this = std::pin::pin!(this);
    let mut that = std::pin::pin!(that);
    std::future::poll_fn(|cx| {
        use std::task::Poll;
        if let Poll::Ready(done) = this.as_mut().poll(cx) {
            return Poll::Ready(First::This(done));
        }
        that.as_mut().poll(cx).map(First::That)
    })
    .await
}
