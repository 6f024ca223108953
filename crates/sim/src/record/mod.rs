//! What is recorded of a run: reads the world and the applications, and changes neither.

mod captures;
mod connections;
mod link_window;
mod queue_lengths;
mod sampler;
mod tables;

use crate::apps::{AnyApp, World};
use crate::kernel::{Event, Kind};
use flashcrowd_base::Time;
use flashcrowd_plan::Plan;
use link_window::LinkWindow;
use queue_lengths::QueueLengths;
use sampler::Sampler;
pub(crate) use tables::tables;

/// What looks at a run at intervals.
pub(crate) struct Recorders {
    sampler: Sampler,
    queue_lengths: QueueLengths,
    link_window: LinkWindow,
}

impl Recorders {
    pub(crate) fn new(plan: &Plan) -> Recorders {
        let sampler = Sampler::new(&plan.measures.series);
        let queue_lengths = QueueLengths::new(plan);
        Recorders { sampler, queue_lengths, link_window: LinkWindow::new(plan) }
    }

    /// An event for each kind of series, and one for the lengths of queues.
    pub(crate) fn begin(&self, world: &mut World) {
        let tasks = self.sampler.tasks() + usize::from(self.queue_lengths.every.is_some());
        for task in 0..tasks as u32 {
            world.queue.schedule(Time::START, Event::new(Kind::Sample, task));
        }
    }

    /// The window of the links' table begins, or ends.
    pub(crate) fn mark_links(&mut self, world: &mut World, begins: bool) {
        self.link_window.mark(world, begins);
    }

    /// Does what an event of [`Recorders::begin`] is for, until the next time.
    pub(crate) fn sample(&mut self, world: &mut World, apps: &[AnyApp<'_>], task: u32) {
        let every = if (task as usize) < self.sampler.tasks() {
            Some(self.sampler.sample(world, apps, task as usize))
        } else {
            self.queue_lengths.count(world, apps);
            self.queue_lengths.every
        };
        if let Some(every) = every {
            world.queue.schedule(world.now + every, Event::new(Kind::Sample, task));
        }
    }
}
