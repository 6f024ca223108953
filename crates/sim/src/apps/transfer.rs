use super::{App, Sample, TRANSFER, World};
use crate::kernel::{Application, Event, NO_CLASS, Owner, SocketEvent, Stats};
use flashcrowd_base::{Rate, Time};
use flashcrowd_plan::{Change, Plan, Sampled, Source, What, Windowed};
use flashcrowd_workload::{self as workload, End, Sender, Table};

/// All flows of all transfers, in virtual time.
pub(crate) struct Transfers<'p> {
    plan: &'p Plan,
    rules: workload::Transfers,
    /// The ends of each flow.
    flows: Vec<Ends>,
}

/// The applications at the ends of a flow.
struct Ends {
    rate: Option<Rate>,
    /// The rest that the application wants to send; `None` for no end.
    unsent: Option<u64>,
    /// Bytes that a limited application has produced and not written yet.
    backlog: u64,
    ticking: bool,
    /// Its number in the capture, if its packets are captured.
    captured: Option<u32>,
    /// The sending end, while it is open.
    socket: Option<u32>,
    /// Its transport's counters when it ended.
    last: Stats,
}

/// The events of this application.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    /// A flow starts.
    Start,
    /// A flow stops, finished or not.
    Stop,
    /// A limited application produces its next chunk.
    Tick,
}

impl Code {
    const ALL: [Code; 3] = [Code::Start, Code::Stop, Code::Tick];
}

/// The ends of a flow.
const SENDER: u8 = 0;
const RECEIVER: u8 = 1;

/// Bytes that a limited application writes at a time: one segment's worth.
const CHUNK: u64 = 1448;

impl<'p> Transfers<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Transfers<'p> {
        let rules = workload::Transfers::new(plan, world.seed, |_| true);
        let ends = |flow: &workload::Flow| {
            let trace = world.monitor.trace.as_mut();
            Ends {
                rate: flow.spec.rate_bps,
                unsent: flow.spec.size_bytes,
                backlog: 0,
                ticking: false,
                captured: trace.map(|trace| trace.add(&flow.spec.name, flow.number)),
                socket: None,
                last: Stats::default(),
            }
        };
        let flows = rules.flows.iter().map(ends).collect();
        Transfers { plan, rules, flows }
    }

    fn start(&mut self, world: &mut World, index: u32) {
        let flow = &mut self.rules.flows[index as usize];
        if flow.ended.is_some() {
            return;
        }
        flow.started = Some(world.now);
        let ends = &mut self.flows[index as usize];
        let end = |host, role, captured| Application {
            host,
            transport: flow.spec.transport,
            owner: Owner { app: TRANSFER, role, index, part: 0 },
            workload: flow.workload,
            member: flow.number,
            class: NO_CLASS,
            captured,
            nagle: true,
            low_watermark: 0, // `pump` looks for itself.
        };
        let sender = end(flow.spec.from, SENDER, ends.captured);
        ends.socket = Some(world.open(sender, end(flow.spec.to, RECEIVER, None)));
    }

    /// Writes as much as the application has and the socket takes; closes after the last byte.
    /// `flushed` if what the socket had to send has been sent at this instant, as far as the network
    /// lets it.
    fn pump(&mut self, world: &mut World, index: u32, flushed: bool) {
        let ends = &mut self.flows[index as usize];
        let Some(socket) = ends.socket else { return };
        let end = world.sockets.get(socket);
        let Some(transport) = &end.transport else { return };
        if !end.connected_reported {
            return;
        }
        let space = transport.write_space();
        let held_back = flushed && transport.is_blocked();
        if let (Some(_), false) = (ends.rate, ends.ticking) {
            ends.ticking = true;
            world.schedule(world.now, TRANSFER, Code::Tick as u8, index);
        }
        let ready = match ends.rate {
            Some(_) => ends.backlog,
            None => ends.unsent.unwrap_or(u64::MAX),
        };
        let bytes = ready.min(ends.unsent.unwrap_or(u64::MAX)).min(space);
        if bytes == 0 {
            return;
        }
        ends.backlog = ends.backlog.saturating_sub(bytes);
        ends.unsent = ends.unsent.map(|unsent| unsent - bytes);
        let finished = ends.unsent == Some(0);
        world.sockets.write(socket, world.now, bytes, None);
        if finished && let Some(transport) = &mut world.sockets.get_mut(socket).transport {
            transport.close(world.now);
        }
        if finished || !held_back {
            world.flush(socket);
        }
    }

    fn tick(&mut self, world: &mut World, index: u32) {
        let ends = &mut self.flows[index as usize];
        let (Some(rate), None) = (ends.rate, self.rules.flows[index as usize].ended) else {
            ends.ticking = false;
            return;
        };
        ends.backlog += CHUNK;
        let next = world.now + rate.transmission(CHUNK);
        world.schedule(next, TRANSFER, Code::Tick as u8, index);
        self.pump(world, index, false);
    }

    /// Notes the end of a flow and its counters.
    fn end(&mut self, world: &mut World, index: u32, how: End) {
        let stats = self.stats(world, index);
        if self.rules.flows[index as usize].end(world.now, how) {
            self.flows[index as usize].last = stats;
        }
        world.something_ended = true;
    }

    fn stop(&mut self, world: &mut World, index: u32) {
        self.end(world, index, End::Stopped);
        if let Some(socket) = self.flows[index as usize].socket.take() {
            if let Some(transport) = &mut world.sockets.get_mut(socket).transport {
                transport.abort(world.now);
            }
            world.close(socket);
        }
    }

    fn flows_of(&self, workload: u32) -> Vec<u32> {
        self.rules.flows_of(workload).map(|place| place as u32).collect()
    }

    /// Counters of the sending end: now, or when the flow ended.
    fn stats(&self, world: &World, index: u32) -> Stats {
        let ends = &self.flows[index as usize];
        let open = self.rules.flows[index as usize].ended.is_none();
        let socket = ends.socket.filter(|_| open);
        let transport = socket.and_then(|socket| world.sockets.get(socket).transport.as_ref());
        transport.map_or(ends.last, |transport| transport.stats())
    }

    /// The same, as the rules know it.
    fn sender<'a>(&'a self, world: &'a World) -> impl Fn(usize) -> Sender + 'a {
        |place| {
            let stats = self.stats(world, place as u32);
            Sender {
                segments: stats.segments_sent,
                retransmits: stats.segments_retransmitted,
                timeouts: stats.timeouts,
                cwnd: Some(stats.cwnd),
                srtt: stats.srtt,
                min_rtt: stats.min_rtt,
                own_delay: stats.own_delay,
            }
        }
    }
}

impl App for Transfers<'_> {
    fn begin(&mut self, world: &mut World) {
        for (index, flow) in (0..).zip(&self.rules.flows) {
            world.schedule(flow.start, TRANSFER, Code::Start as u8, index);
            if let Some(stop) = flow.spec.stop_ns {
                world.schedule_stop(Time::START + stop, TRANSFER, Code::Stop as u8, index);
            }
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code())] {
            Code::Start => self.start(world, event.index()),
            Code::Stop => self.stop(world, event.index()),
            Code::Tick => self.tick(world, event.index()),
        }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        let index = socket_event.owner.index;
        if socket_event.owner.role == SENDER {
            let transport = world.sockets.get(socket).transport.as_ref();
            if let Some(sample) = transport.and_then(|transport| transport.latest_rtt()) {
                self.rules.see_round_trip(world.now, index as usize, sample);
            }
            return self.pump(world, index, true);
        }
        let flow = &mut self.rules.flows[index as usize];
        flow.received += socket_event.bytes;
        if socket_event.bytes > 0 && flow.is_whole() {
            self.end(world, index, End::Whole);
        }
    }

    fn on_closed(&mut self, world: &mut World, _socket: u32, owner: Owner) {
        self.end(world, owner.index, End::Lost);
        self.flows[owner.index as usize].socket = None;
    }

    fn change(&mut self, world: &mut World, change: &Change) {
        match change.what {
            What::Stop { workload } => {
                for index in self.flows_of(workload) {
                    self.stop(world, index);
                }
            }
            What::TransferRate { workload, rate_bps } => {
                for index in self.flows_of(workload) {
                    self.flows[index as usize].rate = rate_bps;
                    self.pump(world, index, false);
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, world: &World, table: Windowed, begins: bool) {
        if table == Windowed::Transfers {
            let senders: Vec<Sender> = (0..self.flows.len()).map(self.sender(world)).collect();
            self.rules.mark(begins, |place| senders[place]);
        }
    }

    fn is_finite(&self) -> bool {
        self.rules.is_finite()
    }
    fn is_done(&self) -> bool {
        self.rules.is_done()
    }
    fn unfinished(&self) -> Vec<String> {
        self.rules.unfinished()
    }
    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(world.now)
    }
    fn progress(&self, world: &World) -> f64 {
        self.rules.progress(world.now)
    }
    fn payload_bytes(&self) -> u64 {
        self.rules.payload_bytes()
    }
    fn sample(&self, world: &World, what: Sampled) -> Vec<(u32, Sample)> {
        if what.source() == Source::Flows {
            self.rules.sample(what, self.sender(world))
        } else {
            Vec::new()
        }
    }
    fn source_name(&self, what: Sampled, source: u32) -> Option<String> {
        self.rules.source_name(what, source)
    }
    fn tables(&self, world: &World) -> Vec<Table> {
        vec![self.rules.table(self.plan, world.now, self.sender(world))]
    }
}
