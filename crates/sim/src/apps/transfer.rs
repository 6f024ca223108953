use super::round_trips::{RoundTrips, Summary};
use super::{App, Sample, TRANSFER, World};
use crate::kernel::{Application, Event, NO_CLASS, Owner, SocketEvent, Stats};
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_plan::{self as plan, Change, Plan, Sampled, What, Window, Windowed, Workload};
use flashcrowd_workload::{Column, Table, names, seconds};
use flashcrowd_workload::{is_due, lost};
use std::ops::Range;

/// All flows of all transfers, each from one host to another.
pub(crate) struct Transfers<'p> {
    flows: Vec<Flow<'p>>,
    /// What counts, if not all of the run, and each flow's counts at its begin and at its end.
    window: Option<&'p Window>,
    begin: Vec<Counts>,
    end: Vec<Counts>,
}

/// What a flow has done by some instant.
#[derive(Clone, Copy)]
struct Counts {
    received: u64,
    segments: u64,
    retransmits: u64,
    timeouts: u32,
}

/// A flow's row.
struct Row<'a> {
    flow: &'a Flow<'a>,
    started: Time,
    counts: Counts,
    goodput_bps: Option<f64>,
    mean_rtt: Option<Span>,
    p95_rtt: Option<Span>,
    min_rtt: Option<Span>,
}

/// One flow of a transfer.
struct Flow<'p> {
    /// Index among the plan's workloads.
    workload: u32,
    spec: &'p plan::Transfer,
    /// Its number in the transfer.
    number: u32,
    start: Time,
    stop: Option<Time>,
    rate: Option<Rate>,
    /// What the application still wants to send; `None` for no end.
    unsent: Option<u64>,
    /// What a limited application has produced and not written yet.
    backlog: u64,
    ticking: bool,
    /// Its number in the capture, if its packets are captured.
    captured: Option<u32>,
    /// The sending end, while it is open.
    socket: Option<u32>,
    received: u64,
    started: Option<Time>,
    ended: Option<Time>,
    /// Whether its connection ended it, and not its last byte, its stop or the timeline.
    lost: bool,
    /// Its transport's counters when it ended.
    last: Stats,
    /// The round trips of the sending end until then; boxed, for most may not have started.
    round_trips: Option<Box<RoundTrips>>,
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

/// What a limited application writes at a time: one segment's worth.
const CHUNK: u64 = 1448;

impl<'p> Transfers<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Transfers<'p> {
        let mut flows = Vec::new();
        for (index, workload) in plan.workloads.iter().enumerate() {
            let Workload::Transfer(spec) = workload else { continue };
            for (start, number) in spec.starts(world.seed, index as u64).zip(0..) {
                let trace = world.monitor.trace.as_mut();
                flows.push(Flow {
                    workload: index as u32,
                    spec,
                    number,
                    start: Time::START + start,
                    stop: spec.stop_ns.map(|stop| Time::START + stop),
                    rate: spec.rate_bps,
                    unsent: spec.size_bytes,
                    backlog: 0,
                    ticking: false,
                    captured: trace.map(|trace| trace.add(&spec.name, number)),
                    socket: None,
                    received: 0,
                    started: None,
                    ended: None,
                    lost: false,
                    last: Stats::default(),
                    round_trips: None,
                });
            }
        }
        let window = plan.measures.window(Windowed::Transfers);
        Transfers { flows, window, begin: Vec::new(), end: Vec::new() }
    }

    fn start(&mut self, world: &mut World, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.ended.is_some() {
            return;
        }
        flow.started = Some(world.now);
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
        let sender = end(flow.spec.from, SENDER, flow.captured);
        flow.socket = Some(world.open(sender, end(flow.spec.to, RECEIVER, None)));
    }

    /// Writes as much as the application has and the socket takes; closes after the last byte.
    /// `flushed` if what the socket had to send has been sent at this instant, as far as the network
    /// lets it.
    fn pump(&mut self, world: &mut World, index: u32, flushed: bool) {
        let flow = &mut self.flows[index as usize];
        let Some(socket) = flow.socket else { return };
        let end = world.sockets.get(socket);
        let Some(transport) = &end.transport else { return };
        if !end.connected_reported {
            return;
        }
        let space = transport.write_space();
        let held_back = flushed && transport.is_blocked();
        if let (Some(_), false) = (flow.rate, flow.ticking) {
            flow.ticking = true;
            world.schedule(world.now, TRANSFER, Code::Tick as u8, index);
        }
        let ready = match flow.rate {
            Some(_) => flow.backlog,
            None => flow.unsent.unwrap_or(u64::MAX),
        };
        let bytes = ready.min(flow.unsent.unwrap_or(u64::MAX)).min(space);
        if bytes == 0 {
            return;
        }
        flow.backlog = flow.backlog.saturating_sub(bytes);
        flow.unsent = flow.unsent.map(|unsent| unsent - bytes);
        let finished = flow.unsent == Some(0);
        world.sockets.write(socket, world.now, bytes, None);
        if finished && let Some(transport) = &mut world.sockets.get_mut(socket).transport {
            transport.close(world.now);
        }
        if finished || !held_back {
            world.flush(socket);
        }
    }

    fn tick(&mut self, world: &mut World, index: u32) {
        let flow = &mut self.flows[index as usize];
        let (Some(rate), None) = (flow.rate, flow.ended) else {
            flow.ticking = false;
            return;
        };
        flow.backlog += CHUNK;
        let next = world.now + rate.transmission(CHUNK);
        world.schedule(next, TRANSFER, Code::Tick as u8, index);
        self.pump(world, index, false);
    }

    /// Notes the end of a flow and its counters.
    fn end(&mut self, world: &mut World, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.ended.is_none() {
            flow.last = flow.stats(world);
            flow.ended = Some(world.now);
            if let Some(round_trips) = &mut flow.round_trips {
                round_trips.hold(world.now);
            }
        }
        world.something_ended = true;
    }

    fn stop(&mut self, world: &mut World, index: u32) {
        self.end(world, index);
        if let Some(socket) = self.flows[index as usize].socket.take() {
            if let Some(transport) = &mut world.sockets.get_mut(socket).transport {
                transport.abort(world.now);
            }
            world.close(socket);
        }
    }

    fn flows_of(&self, workload: u32) -> Vec<u32> {
        let flows = self.flows.iter().enumerate();
        flows.filter(|(_, flow)| flow.workload == workload).map(|(index, _)| index as u32).collect()
    }
}

impl Flow<'_> {
    fn is_finite(&self) -> bool {
        self.unsent.is_some() || self.stop.is_some()
    }

    /// How long it took, if it had a size and all of it arrived.
    fn duration(&self) -> Option<Span> {
        let whole = Some(self.received) == self.spec.size_bytes;
        whole.then(|| Some(self.ended? - self.started?)).flatten()
    }

    /// Nothing of it arrived, for so long that it should have.
    fn is_silent(&self, now: Time) -> bool {
        let until = self.ended.unwrap_or(now);
        self.received == 0 && self.started.is_some_and(|started| is_due(started, until))
    }

    /// Which one it is, and how far it came.
    fn standing(&self) -> String {
        let (number, received) = (self.number, self.received);
        let of = self.spec.size_bytes.map(|size| format!(" of {size}")).unwrap_or_default();
        let at = self.ended.unwrap_or(Time::START);
        format!("flow {number} at {:.1} s after {received}{of} bytes", at.seconds())
    }

    /// Counters of the sending end: now, or when it ended.
    fn stats(&self, world: &World) -> Stats {
        let socket = self.socket.filter(|_| self.ended.is_none());
        let transport = socket.and_then(|socket| world.sockets.get(socket).transport.as_ref());
        transport.map_or(self.last, |transport| transport.stats())
    }

    /// The sending end has received something from the other.
    fn see_round_trip(&mut self, world: &World, socket: u32, window: Option<&Window>) {
        let transport = world.sockets.get(socket).transport.as_ref();
        if self.ended.is_none()
            && let Some(sample) = transport.and_then(|transport| transport.latest_rtt())
        {
            let within = || Box::new(RoundTrips::within(extent(window)));
            self.round_trips.get_or_insert_with(within).see(world.now, sample);
        }
    }

    fn round_trips(&self, now: Time) -> Option<Summary> {
        self.round_trips.as_ref()?.summary(self.ended.unwrap_or(now))
    }

    fn counts(&self, world: &World) -> Counts {
        let stats = self.stats(world);
        Counts {
            received: self.received,
            segments: stats.segments_sent,
            retransmits: stats.segments_retransmitted,
            timeouts: stats.timeouts,
        }
    }
}

impl App for Transfers<'_> {
    fn begin(&mut self, world: &mut World) {
        for (index, flow) in self.flows.iter().enumerate() {
            world.schedule(flow.start, TRANSFER, Code::Start as u8, index as u32);
            if let Some(stop) = flow.stop {
                world.schedule(stop, TRANSFER, Code::Stop as u8, index as u32);
            }
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code)] {
            Code::Start => self.start(world, event.index),
            Code::Stop => self.stop(world, event.index),
            Code::Tick => self.tick(world, event.index),
        }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        let index = socket_event.owner.index;
        if socket_event.owner.role == SENDER {
            self.flows[index as usize].see_round_trip(world, socket, self.window);
            return self.pump(world, index, true);
        }
        let flow = &mut self.flows[index as usize];
        flow.received += socket_event.bytes;
        if socket_event.bytes > 0 && Some(flow.received) == flow.spec.size_bytes {
            self.end(world, index);
        }
    }

    fn on_closed(&mut self, world: &mut World, _socket: u32, owner: Owner) {
        let flow = &mut self.flows[owner.index as usize];
        flow.lost |= flow.ended.is_none();
        self.end(world, owner.index);
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
            let counts = self.flows.iter().map(|flow| flow.counts(world)).collect();
            *(if begins { &mut self.begin } else { &mut self.end }) = counts;
        }
    }

    fn is_finite(&self) -> bool {
        self.flows.iter().any(Flow::is_finite)
    }
    fn is_done(&self) -> bool {
        self.flows.iter().all(|flow| !flow.is_finite() || flow.ended.is_some())
    }

    /// A line for each flow with a size that has not ended.
    fn unfinished(&self) -> Vec<String> {
        let open = self.flows.iter().filter(|flow| flow.ended.is_none() && flow.unsent.is_some());
        let line = |flow: &Flow<'_>| {
            let (name, size) = (&flow.spec.name, flow.spec.size_bytes.unwrap_or(0));
            let (number, received) = (flow.number, flow.received);
            format!("transfer {name} flow {number}: {received} of {size} bytes")
        };
        open.map(line).collect()
    }

    fn undelivered(&self, world: &World) -> Vec<String> {
        let mut lines = Vec::new();
        for flows in self.flows.chunk_by(|one, next| one.workload == next.workload) {
            let whose = format!("transfer {}", flows[0].spec.name);
            let gone = flows.iter().filter(|flow| flow.lost).map(Flow::standing);
            lines.extend(lost(&whose, flows.len(), "flows", gone));
            let silent = |flow: &&Flow<'_>| !flow.lost && flow.is_silent(world.now);
            let silent = flows.iter().filter(silent).count();
            if silent > 0 {
                lines
                    .push(format!("{whose}: no byte arrived of {silent} of {} flows", flows.len()));
            }
        }
        lines
    }

    fn progress(&self, world: &World) -> f64 {
        let share = |flow: &Flow<'_>| match (flow.ended, flow.stop) {
            (Some(_), _) => 1.0,
            (None, Some(stop)) => world.now.seconds() / stop.seconds().max(1e-9),
            (None, None) => {
                let size = flow.spec.size_bytes.unwrap_or(1).max(1);
                flow.received as f64 / size as f64
            }
        };
        self.flows.iter().filter(|flow| flow.is_finite()).map(share).fold(1.0, f64::min)
    }

    fn payload_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.received).sum()
    }

    fn sample(&self, world: &World, what: Sampled) -> Vec<(u32, Sample)> {
        // Only a flow that has started has a window, and only one that knows a round trip an RTT; what
        // is over has neither.
        let value = |flow: &Flow<'_>| match what {
            Sampled::Goodput => Some(Sample::Bytes(flow.received)),
            _ if flow.ended.is_some() => None,
            Sampled::Window => flow.started.map(|_| Sample::Level(flow.stats(world).cwnd as f64)),
            Sampled::Rtt => flow.stats(world).srtt.map(|srtt| Sample::Level(srtt.seconds())),
            Sampled::OwnDelay => {
                flow.stats(world).own_delay.map(|delay| Sample::Level(delay.seconds()))
            }
            _ => None,
        };
        let flows = self.flows.iter().enumerate();
        flows.filter_map(|(index, flow)| Some((index as u32, value(flow)?))).collect()
    }

    fn source_name(&self, what: Sampled, source: u32) -> Option<String> {
        let mine =
            matches!(what, Sampled::Goodput | Sampled::Window | Sampled::Rtt | Sampled::OwnDelay);
        let flow = self.flows.get(source as usize).filter(|_| mine)?;
        Some(format!("{}/{}", flow.spec.name, flow.number))
    }

    fn tables(&self, world: &World) -> Vec<Table> {
        let flows = self.flows.iter().enumerate();
        let rows: Vec<Row<'_>> =
            flows.filter_map(|(index, flow)| self.row(world, index, flow)).collect();
        let host = |host: u32| world.network.host(host).name.as_str();
        let counts =
            |of: fn(&Counts) -> u64| Column::U64(rows.iter().map(|row| of(&row.counts)).collect());
        vec![Table {
            name: "transfers",
            columns: vec![
                ("transfer", names(rows.iter().map(|row| row.flow.spec.name.as_str()))),
                ("flow", Column::U32(rows.iter().map(|row| row.flow.number).collect())),
                ("from", names(rows.iter().map(|row| host(row.flow.spec.from)))),
                ("to", names(rows.iter().map(|row| host(row.flow.spec.to)))),
                ("start_s", Column::F64(rows.iter().map(|row| row.started.seconds()).collect())),
                (
                    "end_s",
                    Column::MaybeF64(rows.iter().map(|row| seconds(row.flow.ended)).collect()),
                ),
                ("duration_s", spans(rows.iter().map(|row| row.flow.duration()))),
                ("bytes", counts(|counts| counts.received)),
                ("goodput_bps", Column::MaybeF64(rows.iter().map(|row| row.goodput_bps).collect())),
                ("segments", counts(|counts| counts.segments)),
                ("retransmits", counts(|counts| counts.retransmits)),
                ("timeouts", Column::U32(rows.iter().map(|row| row.counts.timeouts).collect())),
                ("mean_rtt_s", spans(rows.iter().map(|row| row.mean_rtt))),
                ("p95_rtt_s", spans(rows.iter().map(|row| row.p95_rtt))),
                ("min_rtt_s", spans(rows.iter().map(|row| row.min_rtt))),
            ],
        }]
    }
}

impl Transfers<'_> {
    /// The row of a flow, if it has started.
    fn row<'a>(&'a self, world: &World, index: usize, flow: &'a Flow<'a>) -> Option<Row<'a>> {
        let started = flow.started?;
        let now = flow.counts(world);
        let round_trips = flow.round_trips(world.now);
        let mut counts = now;
        if self.window.is_some() {
            // A run that ended before its window began did nothing in it.
            let begin = self.begin.get(index).unwrap_or(&now);
            let end = self.end.get(index).unwrap_or(&now);
            counts = Counts {
                received: end.received - begin.received,
                segments: end.segments - begin.segments,
                retransmits: end.retransmits - begin.retransmits,
                timeouts: end.timeouts - begin.timeouts,
            };
        }
        let counted = extent(self.window);
        let ended = flow.ended.unwrap_or(world.now).min(counted.end);
        let span = ended.since(started.max(counted.start));
        let goodput = || counts.received as f64 * 8.0 / span.seconds();
        Some(Row {
            flow,
            started,
            counts,
            goodput_bps: (!span.is_zero()).then(goodput),
            mean_rtt: round_trips.map(|it| it.mean),
            p95_rtt: round_trips.map(|it| it.p95),
            min_rtt: match self.window {
                None => flow.stats(world).min_rtt,
                Some(_) => round_trips.map(|it| it.min),
            },
        })
    }
}

/// The instants that count.
fn extent(window: Option<&Window>) -> Range<Time> {
    window.map_or(Time::START..Time::NEVER, |window| window.begin()..window.end())
}

/// A column of spans, some of which were never measured.
fn spans(values: impl Iterator<Item = Option<Span>>) -> Column {
    Column::MaybeF64(values.map(|value| value.map(Span::seconds)).collect())
}
