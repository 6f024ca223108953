use std::sync::Arc;
use tokio::sync::watch;

/// How soon a server is to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    #[default]
    GoOn,
    /// Accept no connections; answers under way have [`drain_s`](crate::Limits::drain_s).
    End,
    /// At once.
    Now,
}

/// Stops a server from another thread.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    wish: Arc<watch::Sender<Wish>>,
}

impl Default for ServerHandle {
    fn default() -> ServerHandle {
        ServerHandle { wish: Arc::new(watch::Sender::new(Wish::GoOn)) }
    }
}

impl ServerHandle {
    /// Ends the server in good order; the second time, at once.
    pub fn stop(&self) {
        self.wish
            .send_modify(|wish| *wish = if *wish == Wish::GoOn { Wish::End } else { Wish::Now });
    }

    /// Waits until the end is wished.
    pub(crate) async fn end(&self) {
        self.wait(Wish::End).await;
    }

    /// Waits until an immediate end is wished.
    pub(crate) async fn now(&self) {
        self.wait(Wish::Now).await;
    }

    async fn wait(&self, for_what: Wish) {
        let mut wishes = self.wish.subscribe();
        // The sender lives as long as we do.
        let _ = wishes.wait_for(|wish| *wish >= for_what).await;
    }
}
