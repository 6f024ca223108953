//! Memory that is asked for before it is needed.
//!
//! A swarm of hundreds keeps tens of megabytes in use, and an event needs a dozen places in them.
//! What the next events need is asked for side by side, and comes while others are worked on;
//! see [`prefetch`](flashcrowd_base::prefetch). Measured in `benches/README.md`.

use crate::apps::{AnyApp, App, World};
use crate::kernel::{EventKind, Look};

/// Sockets to look at. Kept for its capacity.
#[derive(Default)]
pub(crate) struct Ahead {
    sockets: Vec<Look>,
}

impl Ahead {
    /// Asks for everything that the next few events will work on.
    #[inline(never)]
    pub(crate) fn of_events(&mut self, world: &mut World, apps: &[AnyApp<'_>]) {
        for event in world.queue.look_ahead() {
            let look = match event.kind {
                EventKind::Fifo => world.network.in_flight.peek(Some(event.index), 0),
                EventKind::Packet => world.network.in_flight.peek(None, event.index),
                EventKind::App => {
                    apps[usize::from(event.app)].prefetch_event(event).map(Look::write)
                }
                EventKind::Socket if world.sockets.expects_timer(event.index) => {
                    Some(Look::write(event.index))
                }
                _ => None,
            };
            self.sockets.extend(look);
        }
        self.ask(world, apps);
    }

    /// Asks for what the packets that follow in a FIFO will need, if it is time to look at that.
    pub(crate) fn of_fifo(&mut self, world: &mut World, apps: &[AnyApp<'_>], fifo: u32) {
        if world.network.in_flight.look_ahead(fifo, &mut self.sockets) {
            self.ask(world, apps);
        }
    }

    /// Asks for the sockets listed, for what they point to, and, where a message will be complete,
    /// for its reader's state.
    #[inline(never)]
    fn ask(&mut self, world: &World, apps: &[AnyApp<'_>]) {
        for look in &self.sockets {
            world.sockets.prefetch(look);
        }
        for look in self.sockets.drain(..) {
            world.sockets.prefetch_beyond(&look);
            if let Some(owner) = world.sockets.next_reader(&look)
                && let Some(app) = apps.get(usize::from(owner.app))
            {
                app.prefetch_reader(owner);
            }
        }
    }
}
