use crate::crossing::{Crossing, InTransit};
use crate::division::Division;
use crate::header::{self, Header};
use crate::in_flight::{InFlight, Turn};
use crate::offload::Offload;
use crate::pool::{Passing, Pool};
use crate::record::Recorder;
use crate::tap::{TapRecord, Taps};
use flashcrowd_base::{Span, Time};
use flashcrowd_link::Queue;
use flashcrowd_plan::{Plan, What, Windowed};
use flashcrowd_topology::{Advance, SharedLink, Topology};
use flashcrowd_workload::Table;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A plan's network between two instants, with the packets that are on their way: what a driver with a
/// clock puts real packets into and gets them back from when they are due.
///
/// Links advance in their own time: a packet that a late driver takes out at an instant goes on as if it
/// had been taken out when it was due, so that lateness does not add up over a route. Nothing here
/// reads a clock.
///
/// A driver calls [`run`](Network::run) for an instant before it [`send`](Network::send)s at that
/// instant, and again when [`next_due`](Network::next_due) says.
#[derive(Debug)]
pub struct Network {
    plan: Plan,
    topology: Topology<u32>,
    pool: Pool,
    /// Where packets are written to that may be longer than any frame.
    long: Option<Box<[u8]>>,
    in_flight: InFlight,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    /// How many packets were in no FIFO so far.
    overtaking: u64,
    /// Places of packets that a discipline dropped to make room.
    evicted: Vec<u32>,
    /// Whether some queue may look at more of a packet than its size.
    inspects: bool,
    totals: Totals,
    recorder: Recorder,
    taps: Taps,
    now: Time,
    /// The part of the plan that is played here, if it is divided; and the number of this node.
    share: Option<(Division, u32)>,
    /// Places of packets that go to other nodes, and when they are due there.
    leaving: Vec<(u32, Time)>,
}

/// An event at an instant, in the order in which the simulator has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The window of the links' table begins, or ends.
    Window { begins: bool },
    /// An entry of the timeline.
    Change(u32),
    /// A link with a discipline can send its next packet.
    Link(u32),
    /// The first packet of a FIFO is due.
    Fifo(u32),
    /// A packet that is in no FIFO is due; of several the one that came first.
    Packet { number: u64, slot: u32 },
    /// A recorder takes its sample.
    Sample(u32),
}

/// The totals of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Packets that hosts put on the network.
    pub sent: u64,
    /// Packets that reached their host.
    pub delivered: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets that queues dropped.
    pub dropped: u64,
    /// Packets that went on to other nodes.
    pub handed_over: u64,
    /// Packets that came from other nodes.
    pub taken_over: u64,
}

/// A packet that has reached its host.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The host.
    pub host: u32,
    /// When it reached it.
    pub due: Time,
    /// How much later that is than it should be, as it came late from other nodes.
    pub late: Span,
    /// The offloads that are left to do.
    pub offload: Offload,
    /// The packet, from its IP header on.
    pub packet: &'a [u8],
}

impl Network {
    /// The network of a plan that has passed its check, with what the timeline changes in it.
    pub fn new(plan: &Plan, seed: u64) -> Network {
        Network::made(plan, seed, None)
    }

    /// One node's share of it: the network with its hosts and links, and packets that go on elsewhere
    /// are [handed over](Network::hand_over). Each link is played on one node, with its own random draws, so
    /// the shares together do what the whole does, but for the order of packets that are due at one
    /// instant, and of those that come to one link without a rate from several nodes.
    pub fn share(plan: &Plan, seed: u64, division: &Division, node: u32) -> Network {
        Network::made(plan, seed, Some((division.clone(), node)))
    }

    fn made(plan: &Plan, seed: u64, share: Option<(Division, u32)>) -> Network {
        let cores_change =
            plan.timeline.iter().any(|change| matches!(change.what, What::Core { .. }));
        let mut topology = Topology::new(&plan.network, seed, cores_change);
        let plays = |link: u32| {
            share.as_ref().is_none_or(|(division, node)| division.of_link(link) == *node)
        };
        for link in (0..plan.network.links.len() as u32).filter(|link| !plays(*link)) {
            topology.leave(link);
        }
        let managed = |queue: &Queue| !matches!(queue, Queue::DropTail(_));
        let changed = plan.timeline.iter().filter_map(|change| match &change.what {
            What::Link { conditions, .. } => Some(&conditions.queue),
            _ => None,
        });
        let queues = plan.network.links.iter().map(|link| &link.conditions.queue);
        let mut network = Network {
            pool: Pool::new(max_bytes(plan)),
            long: (share.is_none() && offloads(plan))
                .then(|| vec![0; LONGEST_BYTES].into_boxed_slice()),
            in_flight: InFlight::new(topology.fifos()),
            events: BinaryHeap::new(),
            overtaking: 0,
            evicted: Vec::new(),
            inspects: queues.chain(changed).any(managed),
            totals: Totals::default(),
            recorder: Recorder::new(plan, plays),
            taps: Taps::new(plan),
            now: Time::START,
            topology,
            plan: plan.clone(),
            share,
            leaving: Vec::new(),
        };
        network.begin();
        network
    }

    fn begin(&mut self) {
        if let Some(window) = self.plan.measures.window(Windowed::Links).cloned() {
            self.schedule(window.begin(), Event::Window { begins: true });
            self.schedule(window.end(), Event::Window { begins: false });
        }
        for index in 0..self.plan.timeline.len() {
            let change = &self.plan.timeline[index];
            if matches!(change.what, What::Link { .. } | What::Core { .. }) {
                let at = Time::START + change.at_ns;
                self.schedule(at, Event::Change(index as u32));
            }
        }
        for task in 0..self.recorder.tasks() {
            self.schedule(Time::START, Event::Sample(task));
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        if at < Time::NEVER {
            self.events.push(Reverse((at, event)));
        }
    }

    fn schedule_packet(&mut self, due: Time, slot: u32) {
        self.schedule(due, Event::Packet { number: self.overtaking, slot });
        self.overtaking += 1;
    }

    /// The number of the node whose share this is; `None` of a whole network.
    pub fn node(&self) -> Option<u32> {
        self.share.as_ref().map(|(_, node)| *node)
    }
    /// The totals of the network.
    pub fn totals(&self) -> Totals {
        self.totals
    }
    /// Packets on their way, and in queues.
    pub fn packets(&self) -> usize {
        self.pool.len()
    }
    /// A shared link.
    pub fn link(&self, link: u32) -> &SharedLink<u32> {
        self.topology.link(link)
    }
    /// When something happens next; [`Time::NEVER`] if nothing does.
    pub fn next_due(&self) -> Time {
        self.events.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Where the next packet is to be written, before it is [sent](Network::send).
    pub fn buffer(&mut self) -> &mut [u8] {
        match &mut self.long {
            Some(long) => long,
            None => self.pool.next_bytes(),
        }
    }

    /// Sends the packet of `bytes` bytes that was written to the [`buffer`](Network::buffer), from one
    /// host to another, at `now`, for which the network has [run](Network::run).
    pub fn send(&mut self, now: Time, from: u32, to: u32, bytes: usize) {
        self.send_offloaded(now, from, to, bytes, Offload::NOTHING);
    }

    /// The same for a packet about which the host has left something to its network card. A super-segment
    /// stays whole where nothing on its route has a queue or loses frames, as in the simulation; elsewhere it
    /// is cut into frames, which set out together.
    pub fn send_offloaded(
        &mut self,
        now: Time,
        from: u32,
        to: u32,
        bytes: usize,
        offload: Offload,
    ) {
        self.now = self.now.max(now);
        let Some(long) = self.long.take() else {
            let packet = self.pool.next_bytes().get(..bytes).unwrap_or_default();
            self.recorder.sent(from, packet);
            self.taps.sent(now, (from, to), packet, &offload);
            return self.launch(now, (from, to), bytes, offload, 1);
        };
        let packet = &long[..bytes];
        self.recorder.sent(from, packet);
        self.taps.sent(now, (from, to), packet, &offload);
        let mut frames = offload.frames(packet);
        if frames > 1 {
            let route = self.topology.route(from, to);
            if !self.topology.keeps_whole(route) {
                for index in 0..frames {
                    let frame = offload.frame(packet, index, self.pool.next_bytes());
                    if let Some((bytes, offload)) = frame {
                        self.launch(now, (from, to), bytes, offload, 1);
                    }
                }
                frames = 0;
            }
        }
        if frames > 0 {
            self.pool.write_next(packet);
            self.launch(now, (from, to), bytes, offload, frames);
        }
        self.long = Some(long);
    }

    /// Sends the packet that was written to the pool.
    fn launch(
        &mut self,
        now: Time,
        (from, to): (u32, u32),
        bytes: usize,
        offload: Offload,
        frames: u32,
    ) {
        self.totals.sent += u64::from(frames);
        let mut packet = self.written(from, to, bytes);
        (packet.offload, packet.frames) = (offload, frames);
        if self.goes_on(&packet) {
            // Its first link is elsewhere already.
            return self.settle(packet, Advance::Due { at: now, arrives: false, fifo: None });
        }
        let evicted = &mut self.evicted;
        let mut gone = |slot: u32, _| evicted.push(slot);
        let advance = self.topology.advance(now, &mut packet, |it| it.slot, &mut gone);
        self.settle(packet, advance);
    }

    /// The packet of `bytes` bytes that was written to the [`buffer`](Network::buffer).
    fn written(&mut self, from: u32, to: u32, bytes: usize) -> Passing {
        let mut packet = self.pool.take();
        (packet.source, packet.target) = (from, to);
        packet.bytes = bytes as u32;
        packet.route = self.topology.route(from, to);
        packet.tag = self.topology.new_tag();
        if self.inspects
            && let Some(header) = Header::of(self.pool.bytes(&packet))
        {
            packet.connection = header.connection();
            packet.ecn = header.ecn();
            packet.ack = header.ack();
        }
        packet
    }

    /// Takes over a packet of `bytes` bytes from another node, which was written to the
    /// [`buffer`](Network::buffer), at `now`, for which the network has [run](Network::run). One that
    /// should have been looked at before is looked at now, and stays marked as late by that. Whether
    /// there is such a place in the plan.
    pub fn take_over(&mut self, now: Time, place: InTransit, bytes: usize) -> bool {
        let hosts = self.plan.network.hosts.len() as u32;
        if place.from.max(place.to) >= hosts {
            return false;
        }
        let route = self.topology.route(place.from, place.to);
        let steps = self.topology.steps(route);
        if place.step > steps || (place.arrives && place.step < steps) {
            return false;
        }
        self.now = self.now.max(now);
        self.totals.taken_over += 1;
        let mut packet = self.written(place.from, place.to, bytes);
        packet.step = place.step;
        packet.arrives = place.arrives;
        packet.due = place.due.max(now);
        packet.late = place.late + packet.due.since(place.due);
        self.pool.put(packet);
        self.schedule_packet(packet.due, packet.slot);
        true
    }

    /// Gives away what goes on at other nodes, since the last call.
    pub fn hand_over(&mut self, take: &mut impl FnMut(Crossing<'_>)) {
        for (slot, due) in self.leaving.drain(..) {
            let packet = self.pool.get(slot);
            let Some((division, _)) = &self.share else { continue };
            let next = self.topology.link_at(packet.route, packet.step);
            let node = match next {
                Some(link) => division.of_link(link),
                None => division.of_host(packet.target),
            };
            let place = InTransit {
                due,
                late: packet.late,
                from: packet.source,
                to: packet.target,
                step: packet.step,
                arrives: packet.arrives,
            };
            self.totals.handed_over += 1;
            take(Crossing { node, place, packet: self.pool.bytes(&packet) });
            self.pool.release(slot);
        }
    }

    /// Whether a packet goes on at another node.
    fn goes_on(&self, packet: &Passing) -> bool {
        let Some((division, node)) = &self.share else { return false };
        match self.topology.link_at(packet.route, packet.step) {
            Some(link) => self.topology.link(link).is_elsewhere(),
            None => packet.arrives && division.of_host(packet.target) != *node,
        }
    }

    /// Does all that is due by `now`, in order; `deliver` gets what reaches its host.
    pub fn run(&mut self, now: Time, deliver: &mut impl FnMut(Delivery<'_>)) {
        while let Some(Reverse((at, ..))) = self.events.peek()
            && *at <= now
        {
            let Some(Reverse((at, event))) = self.events.pop() else { break };
            self.now = at;
            match event {
                Event::Fifo(fifo) => self.on_fifo(fifo, deliver),
                Event::Packet { slot, .. } => self.on_unordered(slot, deliver),
                Event::Link(link) => self.on_link(link),
                Event::Change(index) => self.on_change(index),
                Event::Sample(task) => {
                    let every = self.recorder.sample(&mut self.topology, at, task);
                    self.schedule(at + every, Event::Sample(task));
                }
                Event::Window { begins } => self.recorder.mark(&mut self.topology, at, begins),
            }
        }
        self.now = self.now.max(now);
    }

    fn on_fifo(&mut self, fifo: u32, deliver: &mut impl FnMut(Delivery<'_>)) {
        let Some((slot, next)) = self.in_flight.take(fifo, self.now) else { return };
        if let Some(next) = next {
            self.schedule(next, Event::Fifo(fifo));
        }
        self.on_packet(slot, deliver);
    }

    fn on_unordered(&mut self, slot: u32, deliver: &mut impl FnMut(Delivery<'_>)) {
        let packet = self.pool.get(slot);
        // If not, the link has changed, and with it the instant.
        if packet.due == self.now && !packet.in_fifo {
            self.on_packet(slot, deliver);
        }
    }

    fn on_packet(&mut self, slot: u32, deliver: &mut impl FnMut(Delivery<'_>)) {
        let mut packet = self.pool.get(slot);
        if packet.crosses {
            self.leaving.push((slot, packet.due + packet.ahead));
            packet.due = Time::NEVER;
            return self.pool.put(packet);
        }
        if packet.arrives {
            self.totals.delivered += u64::from(packet.frames);
            let bytes = self.pool.bytes(&packet);
            let ends = (packet.source, packet.target);
            self.taps.received(self.now, ends, bytes, &packet.offload);
            let (host, due, late, offload) = (packet.target, self.now, packet.late, packet.offload);
            let delivery = Delivery { host, due, late, offload, packet: bytes };
            deliver(delivery);
            return self.pool.release(slot);
        }
        let evicted = &mut self.evicted;
        let mut gone = |slot: u32, _| evicted.push(slot);
        let advance = self.topology.advance(self.now, &mut packet, |it| it.slot, &mut gone);
        self.settle(packet, advance);
    }

    /// Does what an advance leads to.
    fn settle(&mut self, mut packet: Passing, advance: Advance) {
        match advance {
            Advance::Due { at, arrives, fifo } => {
                packet.arrives = arrives;
                packet.crosses = self.goes_on(&packet);
                if packet.crosses {
                    // Not before it has left its queue: until then a change of the link can move it.
                    let ahead = self.topology.ahead(packet.route, packet.step);
                    packet.ahead = ahead.min(at.since(self.now));
                }
                packet.due = Time::from_nanos(at.nanos() - packet.ahead.nanos());
                self.keep(packet, fifo);
            }
            Advance::Held { link } => {
                packet.due = Time::NEVER;
                self.pool.put(packet);
                self.arm(link);
            }
            Advance::Lost => {
                self.totals.lost += u64::from(packet.frames);
                self.pool.release(packet.slot);
            }
            Advance::Dropped => {
                self.totals.dropped += 1;
                self.pool.release(packet.slot);
            }
        }
        self.release_evicted();
    }

    /// Counts and releases what disciplines dropped to make room.
    fn release_evicted(&mut self) {
        while let Some(slot) = self.evicted.pop() {
            self.totals.dropped += 1;
            self.pool.release(slot);
        }
    }

    /// Keeps a packet until it is due.
    fn keep(&mut self, mut packet: Passing, fifo: Option<u32>) {
        let (slot, due) = (packet.slot, packet.due);
        // Packets to other nodes leave ahead of those that stay.
        let fifo = fifo.filter(|_| !packet.crosses);
        let turn = fifo.map_or(Turn::Unordered, |fifo| self.in_flight.keep(fifo, due, slot));
        packet.in_fifo = turn != Turn::Unordered;
        self.pool.put(packet);
        match (turn, fifo) {
            (Turn::First, Some(fifo)) => self.schedule(due, Event::Fifo(fifo)),
            (Turn::Unordered, _) => self.schedule_packet(due, slot),
            _ => {}
        }
    }

    /// Schedules the next departure from a link, unless an earlier one is pending.
    fn arm(&mut self, link: u32) {
        if let Some(next) = self.topology.next_departure(link) {
            self.schedule(next, Event::Link(link));
        }
    }

    /// The discipline of a link sends its next packet.
    fn on_link(&mut self, link: u32) {
        let now = self.now;
        let evicted = &mut self.evicted;
        let mut gone = |slot: u32, _| evicted.push(slot);
        if let Some(sent) = self.topology.depart(now, link, &mut gone) {
            let mut packet = self.pool.get(sent.packet);
            if sent.marked {
                packet.ecn = flashcrowd_link::Ecn::Ce;
                header::mark(self.pool.bytes_mut(&packet));
            }
            let keep = |it: &Passing| it.slot;
            let advance =
                self.topology.resume(now, link, sent.arrives, &mut packet, keep, &mut gone);
            self.settle(packet, advance);
        }
        self.release_evicted();
        self.arm(link);
    }

    /// An entry of the timeline that is about the network.
    fn on_change(&mut self, index: u32) {
        let now = self.now;
        match &self.plan.timeline[index as usize].what {
            What::Link { link, conditions, trace } => {
                let link = *link;
                let moved = self.topology.change_link(now, link, conditions, *trace);
                let pool = &mut self.pool;
                let first = self.in_flight.reschedule(link, |slot, due| {
                    let mut packet = pool.get(slot);
                    if let Some(moved) = moved.get(&packet.tag) {
                        packet.due = moved.shifted(due);
                        pool.put(packet);
                    }
                    packet.due
                });
                if let Some(first) = first {
                    self.schedule(first, Event::Fifo(link));
                }
                let mut again = Vec::new();
                for packet in self.pool.due().filter(|packet| !packet.in_fifo) {
                    if let Some(moved) = moved.get(&packet.tag) {
                        let due = moved.shifted(packet.due + packet.ahead);
                        if packet.crosses {
                            let ahead = self.topology.ahead(packet.route, packet.step);
                            packet.ahead = ahead.min(due.since(now));
                        }
                        packet.due = Time::from_nanos(due.nanos() - packet.ahead.nanos());
                        again.push((packet.due, packet.tag, packet.slot));
                    }
                }
                again.sort_unstable();
                for (due, _, slot) in again {
                    self.schedule_packet(due, slot);
                }
                self.arm(link);
            }
            What::Core { core, conditions } => self.topology.change_core(*core, conditions),
            What::Stop { .. } | What::Upload { .. } | What::TransferRate { .. } => {}
        }
    }

    /// The packets at the taps since the last call.
    pub fn seen(&mut self) -> TapRecord {
        self.taps.take()
    }

    /// The tables about links, and `payloads`, until the last instant that the network has run for.
    pub fn tables(&self) -> Vec<Table> {
        self.recorder.tables(&self.topology, self.now)
    }

    /// Packets by the host that sent them and the length of their TCP payload, if these are measured.
    pub fn payloads(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.recorder.payloads()
    }
}

/// The longest IPv4 packet, super-segments included.
const LONGEST_BYTES: usize = 1 << 16;

/// Whether some host of the plan leaves the cutting of super-segments to its network card.
fn offloads(plan: &Plan) -> bool {
    plan.stacks.iter().any(|stack| stack.tso_bytes > 0)
}

/// The longest frame that a host of the plan sends.
pub fn max_bytes(plan: &Plan) -> usize {
    plan.stacks.iter().map(|stack| stack.mtu_bytes as usize).max().unwrap_or(0).max(1500)
}
