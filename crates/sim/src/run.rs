#[cfg(test)]
mod churn;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod settled;

use crate::Error;
use crate::ahead::Ahead;
use crate::apps::{self, AnyApp, App, World};
use crate::kernel::{Content, Delivered, Event, EventKind, Owner, Packet, Sacks, Syn};
use crate::record::{self, Recorders};
use crate::run_handle::RunHandle;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Plan, What, Windowed};
use flashcrowd_workload::{Ending, Outcome, Table};

/// Runs `plan` with `seed` to its end, in virtual time, on this thread.
///
/// The same plan and seed give the same tables, bit for bit.
///
/// # Errors
/// [`Error::Plan`] if the plan contradicts itself; [`Error::Cancelled`] if `handle` says so.
pub fn simulate(plan: &Plan, seed: u64, handle: &RunHandle) -> Result<Vec<Table>, Error> {
    let mut run = Run::start(plan, seed)?;
    run.advance(Time::NEVER, handle)?;
    Ok(run.tables())
}

/// How many events pass between two looks at the handle.
const EVENTS_PER_LOOK: u64 = 1 << 14;
/// This many events at one instant are a loop: a crowd of thousands on a network without delay stays
/// far below.
const MAX_AT_ONCE: u64 = 20_000_000;

/// One run: pops events and dispatches them to the kernel, the applications and the recorders.
///
/// It may pause at any instant: [`simulate`] goes on to the end at once, with the same tables.
pub struct Run<'p> {
    plan: &'p Plan,
    world: World,
    apps: Vec<AnyApp<'p>>,
    recorders: Recorders,
    ahead: Ahead,
    events: u64,
    /// Events at the present instant.
    at_once: u64,
}

impl<'p> Run<'p> {
    /// A run at its first instant.
    ///
    /// # Errors
    /// The plan contradicts itself.
    pub fn start(plan: &'p Plan, seed: u64) -> Result<Run<'p>, Error> {
        plan.check()?;
        let mut run = Run::new(plan, seed);
        run.begin();
        Ok(run)
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The records; of a run that goes on, the table `run` is not yet true.
    pub fn tables(&self) -> Vec<Table> {
        record::tables(&self.world, &self.apps, &self.recorders, self.plan, self.events)
    }

    fn new(plan: &'p Plan, seed: u64) -> Run<'p> {
        let mut world = World::new(plan, seed);
        let apps = apps::all(plan, &mut world);
        let recorders = Recorders::new(plan);
        Run { plan, world, apps, recorders, ahead: Ahead::default(), events: 0, at_once: 0 }
    }

    fn begin(&mut self) {
        for (index, window) in (0..).zip(&self.plan.measures.windows) {
            let queue = &mut self.world.queue;
            queue.schedule(window.begin(), Event::new(EventKind::Window, 2 * index));
            if window.to_ns.is_some() {
                queue.schedule(window.end(), Event::new(EventKind::Window, 2 * index + 1));
            }
        }
        for (index, change) in self.plan.timeline.iter().enumerate() {
            let event = Event::new(EventKind::Change, index as u32);
            self.world.queue.schedule(Time::START + change.at_ns, event);
        }
        for app in &mut self.apps {
            app.begin(&mut self.world);
        }
        self.recorders.begin(&mut self.world);
        let queue = &mut self.world.queue;
        queue.schedule(Time::START + watch_interval(self.plan), Event::new(EventKind::Watch, 0));
        queue.schedule(Time::START + self.plan.stop.horizon_ns, Event::new(EventKind::Horizon, 0));
    }

    /// Goes on until this instant is reached, or to the end. Whether it has ended: then it goes no further.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if `handle` says so.
    pub fn advance(&mut self, until: Time, handle: &RunHandle) -> Result<bool, Error> {
        while self.world.outcome.is_none() {
            if self.world.now >= until {
                return Ok(false);
            }
            if self.world.sockets.are_many() && self.world.queue.is_between_batches() {
                self.ahead.of_events(&mut self.world, &self.apps);
            }
            let Some((now, event)) = self.world.queue.pop() else { break };
            self.at_once = if now == self.world.now { self.at_once + 1 } else { 0 };
            if self.at_once > MAX_AT_ONCE {
                self.world.outcome = Some(Outcome::Stalled(format!(
                    "time stands still: more than {MAX_AT_ONCE} events at {now}, the last a {:?}",
                    event.kind()
                )));
                break;
            }
            self.world.now = now;
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_LOOK) {
                handle.report(self.progress());
                if handle.is_cancelled() {
                    return Err(Error::Cancelled);
                }
            }
            self.handle(event);
            self.world.forget_evicted();
            if self.world.something_ended {
                self.finish_if_done();
            }
        }
        self.note_undelivered();
        handle.report(1.0);
        Ok(true)
    }

    fn handle(&mut self, event: Event) {
        match event.kind() {
            EventKind::Fifo => {
                if self.world.sockets.are_many() {
                    self.ahead.of_fifo(&mut self.world, &self.apps, event.index());
                }
                let World { network, queue, now, .. } = &mut self.world;
                if network.in_flight.is_due(*now, event.index()) {
                    let (packet, sacks) = network.in_flight.take_first(queue, event.index());
                    self.go_on(packet, &sacks);
                }
            }
            EventKind::Packet => self.on_unordered(event.index()),
            EventKind::Link => self.world.on_link(event.index()),
            EventKind::Socket => {
                let world = &mut self.world;
                if world.sockets.take_timer(event.index(), world.now, &mut world.queue)
                    && world.on_socket_timer(event.index())
                {
                    self.attend(event.index());
                }
            }
            EventKind::App | EventKind::Stop => {
                self.apps[usize::from(event.application())].on_event(&mut self.world, event)
            }
            EventKind::Change => self.change(event.index()),
            EventKind::Sample => self.recorders.sample(&mut self.world, &self.apps, event.index()),
            EventKind::Window => self.mark(event.index()),
            EventKind::Watch => self.watch(),
            EventKind::Horizon => self.on_horizon(),
        }
    }

    /// A packet that is in no FIFO is due.
    #[inline(never)]
    fn on_unordered(&mut self, slot: u32) {
        if let Some((packet, sacks)) = self.world.take_unordered(slot) {
            self.go_on(packet, &sacks);
        }
    }

    /// A packet has left a link: it goes on to the next one, or is there.
    #[inline(always)]
    fn go_on(&mut self, packet: Packet, sacks: &Sacks) {
        match packet.is_arriving() {
            true => self.arrive(&packet, sacks),
            false => self.world.forward(packet, sacks),
        }
    }

    /// A packet has reached its host.
    fn arrive(&mut self, packet: &Packet, sacks: &Sacks) {
        self.world.network.totals.delivered += u64::from(packet.frames());
        if self.world.sockets.tap.is_some() {
            self.see_arrival(packet, sacks);
        }
        match packet.content() {
            Content::Segment { socket, segment } => {
                let segment = segment.with(sacks);
                match self.world.deliver(socket, &segment) {
                    Delivered::SocketEvent => self.attend(socket),
                    Delivered::Syn => self.on_syn(socket, Syn::Tcp(&segment)),
                    Delivered::Nothing => {}
                }
            }
            Content::Utp { socket, slot } => {
                let Some(packet) = self.world.sockets.utp_packets.remove(slot) else { return };
                match self.world.deliver_utp(socket, &packet) {
                    Delivered::SocketEvent => self.attend(socket),
                    Delivered::Syn => self.on_syn(socket, Syn::Utp(&packet)),
                    Delivered::Nothing => {}
                }
            }
            Content::Datagram(datagram) => {
                let app = &mut self.apps[usize::from(datagram.app)];
                app.on_datagram(&mut self.world, datagram);
            }
        }
    }

    /// A packet has arrived at a host, which may be captured.
    #[cold]
    fn see_arrival(&mut self, packet: &Packet, sacks: &Sacks) {
        let ends = match packet.content() {
            Content::Datagram(datagram) => self.apps[usize::from(datagram.app)].says(&datagram),
            _ => None,
        };
        let ends = ends.map(|saying| saying.hosts);
        self.world.see_arrival(packet, sacks, ends);
    }

    fn on_syn(&mut self, socket: u32, syn: Syn<'_>) {
        let listener = self.world.sockets.get(socket).owner;
        let app = self.apps.get_mut(usize::from(listener.app));
        if app.as_ref().is_some_and(|app| !app.hears(&self.world, listener, socket)) {
            return;
        }
        let owner = app.and_then(|app| app.accept(&mut self.world, listener, socket));
        self.world.answer(socket, syn, owner);
    }

    /// Passes a socket's event to its owner, then sends what the owner wrote.
    fn attend(&mut self, socket: u32) {
        let Some(socket_event) = self.world.socket_event(socket) else { return };
        match self.apps.get_mut(usize::from(socket_event.owner.app)) {
            Some(app) => app.on_socket_event(&mut self.world, socket, socket_event),
            None => while self.world.sockets.next_message(socket).is_some() {},
        }
        if self.world.after_socket_event(socket, socket_event.bytes) {
            self.lose(socket);
        }
    }

    /// The other end closed, or the connection failed: the owner lets go and this end closes too.
    fn lose(&mut self, socket: u32) {
        let end = self.world.sockets.get_mut(socket);
        let owner = std::mem::replace(&mut end.owner, Owner::NOBODY);
        if let Some(app) = self.apps.get_mut(usize::from(owner.app)) {
            app.on_closed(&mut self.world, socket, owner);
        }
        self.world.close(socket);
        self.world.sockets.release_pair(socket);
    }

    fn change(&mut self, index: u32) {
        let change = &self.plan.timeline[index as usize];
        match change.what {
            What::Link { .. } | What::Core { .. } => self.world.change(change),
            _ => self.apps.iter_mut().for_each(|app| app.change(&mut self.world, change)),
        }
    }

    /// A table's window begins, or ends.
    fn mark(&mut self, index: u32) {
        let (table, begins) =
            (self.plan.measures.windows[index as usize / 2].table, index.is_multiple_of(2));
        match table {
            Windowed::Links => self.recorders.mark_links(&mut self.world, begins),
            _ => self.apps.iter_mut().for_each(|app| app.mark(&self.world, table, begins)),
        }
    }

    /// Ends the run if nothing is left that can finish.
    fn finish_if_done(&mut self) {
        self.world.something_ended = false;
        if self.world.outcome.is_none() {
            self.world.outcome = self.workloads().when_something_ended();
        }
    }

    fn workloads(&mut self) -> Workloads<'_, 'p> {
        Workloads { apps: &mut self.apps, world: &self.world }
    }

    fn watch(&mut self) {
        let now = self.world.now;
        if let Some(outcome) = self.workloads().at_watch(now) {
            self.world.outcome = Some(outcome);
        }
        let next = now + watch_interval(self.plan);
        self.world.queue.schedule(next, Event::new(EventKind::Watch, 0));
    }

    /// The horizon: a cut for what could have finished, the ordinary end for what could not.
    fn on_horizon(&mut self) {
        self.world.outcome = Some(self.workloads().at_horizon());
    }

    /// However the run ended: what was not delivered makes its times those of the others alone.
    fn note_undelivered(&mut self) {
        let world = &self.world;
        let lines = self.apps.iter().flat_map(|app| app.undelivered(world)).collect();
        let outcome = self.world.outcome.take().unwrap_or_else(Outcome::nothing_left);
        self.world.outcome = Some(outcome.with_undelivered(lines));
    }

    fn progress(&self) -> f64 {
        let time = self.world.now.seconds() / self.plan.stop.horizon_ns.seconds();
        if !self.apps.iter().any(App::is_finite) {
            return time;
        }
        let done = self.apps.iter().map(|app| app.progress(&self.world)).fold(1.0, f64::min);
        time.max(done)
    }
}

/// The applications, as they are asked whether the run is over.
struct Workloads<'r, 'p> {
    apps: &'r mut [AnyApp<'p>],
    world: &'r World,
}

impl Ending for Workloads<'_, '_> {
    fn stalled(&mut self, _now: Time) -> Option<String> {
        self.apps.iter_mut().find_map(|app| app.stall(self.world))
    }
    fn is_finite(&self) -> bool {
        self.apps.iter().any(App::is_finite)
    }
    fn is_done(&self) -> bool {
        self.apps.iter().all(App::is_done)
    }
    fn stopped(&self) -> Option<String> {
        self.apps.iter().find_map(App::stopped)
    }
    fn unfinished(&self) -> Vec<String> {
        self.apps.iter().flat_map(App::unfinished).collect()
    }
}

/// How often the run looks whether it gets anywhere.
fn watch_interval(plan: &Plan) -> Span {
    (plan.stop.stall_ns / 8).max(Span::from_millis(100))
}
