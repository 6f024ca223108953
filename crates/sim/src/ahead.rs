//! Prefetching: memory is requested before it is needed.
//!
//! A swarm of hundreds keeps tens of megabytes in use, and an event touches a dozen cache lines of them.
//! Those of the next events are requested together, and arrive while other events are processed;
//! see [`prefetch`](flashcrowd_base::prefetch). Measured in `benches/README.md`.

use crate::apps::{AnyApp, App, World};
use crate::kernel::{Event, EventKind, Owner, PrefetchHint};

/// Sockets and events to prefetch for. Fields so that their capacity is reused.
#[derive(Default)]
pub(crate) struct Ahead {
    sockets: Vec<PrefetchHint>,
    events: Vec<Event>,
    readers: Vec<Owner>,
}

/// How many steps an application's [`prefetch_event`](App::prefetch_event) takes before the last.
const STEPS: u32 = 4;

impl Ahead {
    /// Prefetches what the next few events will need.
    #[inline(never)]
    pub(crate) fn of_events(&mut self, world: &mut World, apps: &[AnyApp<'_>]) {
        for event in world.queue.look_ahead() {
            let look = match event.kind() {
                EventKind::Fifo => world.network.in_flight.peek(Some(event.index()), 0),
                EventKind::Packet => world.network.in_flight.peek(None, event.index()),
                EventKind::App => {
                    self.events.push(event);
                    None
                }
                EventKind::Socket if world.sockets.expects_timer(event.index()) => {
                    Some(PrefetchHint::write(event.index()))
                }
                _ => None,
            };
            self.sockets.extend(look);
        }
        let app = |event: Event| &apps[usize::from(event.application())];
        for step in 0..STEPS {
            for &event in &self.events {
                app(event).prefetch_event(event, step);
            }
        }
        let last =
            self.events.drain(..).filter_map(|event| app(event).prefetch_event(event, STEPS));
        self.sockets.extend(last.map(PrefetchHint::write));
        self.ask(world, apps);
    }

    /// Prefetches what the next packets of a FIFO will need, if those prefetched before have been taken.
    pub(crate) fn of_fifo(&mut self, world: &mut World, apps: &[AnyApp<'_>], fifo: u32) {
        if world.network.in_flight.look_ahead(fifo, &mut self.sockets) {
            self.ask(world, apps);
        }
    }

    /// Prefetches the sockets listed, what they point to, and, where a message will be complete, the
    /// state of its reader.
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
                self.readers.push(owner);
            }
        }
        for owner in self.readers.drain(..) {
            apps[usize::from(owner.app)].prefetch_beyond_reader(owner);
        }
    }
}
