use super::active_stream::{ActiveStream, StreamReport, lock};
use std::sync::{Arc, Mutex};
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
    streams: Arc<Mutex<Vec<Arc<ActiveStream>>>>,
}

impl Default for SessionHandle {
    fn default() -> SessionHandle {
        SessionHandle { wish: watch::Sender::new(Wish::GoOn), streams: Arc::default() }
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

    /// The streams of a measurement now; none before they are open and after they have ended.
    pub fn streams(&self) -> Vec<StreamReport> {
        let streams = lock(&self.streams).clone();
        streams.iter().map(|stream| stream.report()).collect()
    }

    pub(super) fn watch(&self, streams: Vec<Arc<ActiveStream>>) {
        *lock(&self.streams) = streams;
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

/// The first of two results.
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
