use super::sources;
use crate::apps::{AnyApp, App, World};
use crate::kernel::{Event, EventKind};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Plan, Windowed};
use flashcrowd_topology::{LinkWindow, QueueLengths};
use flashcrowd_workload::Sampler;

/// Recorders that look at a run at intervals.
pub(crate) struct Recorders {
    pub(super) sampler: Sampler,
    /// How often queues are looked at, if they are.
    every: Option<Span>,
    pub(super) queue_lengths: QueueLengths,
    pub(super) link_window: LinkWindow,
}

impl Recorders {
    pub(crate) fn new(plan: &Plan) -> Recorders {
        let sampler = Sampler::new(&plan.measures.series);
        let every = plan.measures.queues_ns;
        let queue_lengths = every.map(|_| QueueLengths::new(&plan.network)).unwrap_or_default();
        let link_window = LinkWindow::new(plan.measures.window(Windowed::Links).cloned());
        Recorders { sampler, every, queue_lengths, link_window }
    }

    /// An event for each kind of series, and one for the lengths of queues.
    pub(crate) fn begin(&self, world: &mut World) {
        let tasks = self.sampler.tasks() + usize::from(self.every.is_some());
        for task in 0..tasks as u32 {
            world.queue.schedule(Time::START, Event::new(EventKind::Sample, task));
        }
    }

    /// The window of the links' table begins, or ends.
    pub(crate) fn mark_links(&mut self, world: &mut World, begins: bool) {
        self.link_window.mark(world.network.links(), world.now, begins);
        if begins {
            world.network.restart_max_packets(world.now);
        }
    }

    /// Does what an event of [`Recorders::begin`] is for, until the next time.
    pub(crate) fn sample(&mut self, world: &mut World, apps: &[AnyApp<'_>], task: u32) {
        let every = if (task as usize) < self.sampler.tasks() {
            let (what, every) = self.sampler.task(task as usize);
            let values = sources::values(world, apps, what);
            self.sampler.record(world.now, task as usize, values.into_iter());
            Some(every)
        } else {
            let (now, network) = (world.now, &mut world.network);
            let is_on = |host| apps.iter().any(|app| app.is_on(host));
            self.queue_lengths.count(|link| network.queued_packets(link, now), is_on);
            self.every
        };
        if let Some(every) = every {
            world.queue.schedule(world.now + every, Event::new(EventKind::Sample, task));
        }
    }
}
