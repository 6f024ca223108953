//! Transfers: flows of bytes from one host to another.

use crate::round_trips::{RoundTrips, Summary};
use crate::{Column, Counted, Sample, Table, is_due, lost, names, seconds};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Plan, Sampled, Source, Window, Windowed, Workload};
use std::ops::{Range, Sub};
use std::sync::Arc;

/// The flows of all transfers of a run.
///
/// Methods that need what senders do now take `of`: the sender of the flow of this place.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Every one, in the order of the plan.
    pub flows: Vec<Flow>,
    /// What each flow had done when what counts began, and when it ended.
    counted: Counted<Vec<Counts>>,
}

/// One flow of a transfer.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Index of the transfer among the plan's workloads.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: Arc<plan::Transfer>,
    /// Its number in the transfer.
    pub number: u32,
    /// When it is to start.
    pub start: Time,
    /// Payload bytes that the receiving application has read.
    pub received: u64,
    /// When it started.
    pub started: Option<Time>,
    /// When it ended, however that was.
    pub ended: Option<Time>,
    /// Whether its connection ended it, and not its last byte, its stop or the timeline.
    lost: bool,
    /// The round trips of the sending end until then; boxed, for most may not have started.
    round_trips: Option<Box<RoundTrips>>,
}

/// The sending end of a flow; none for what its transport does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sender {
    /// Packets sent.
    pub segments: u64,
    /// Those of them that were sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Congestion window in bytes.
    pub cwnd: Option<u64>,
    /// Smoothed round-trip time; none before the first sample, too.
    pub srtt: Option<Span>,
    /// The least round-trip time.
    pub min_rtt: Option<Span>,
    /// The latest one-way delay above the least, as the transport itself measures it.
    pub own_delay: Option<Span>,
}

/// Why a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The last byte is there.
    Whole,
    /// It was stopped: by its own time, or by the timeline.
    Stopped,
    /// Its connection ended it.
    Lost,
}

/// What a flow has done by some instant.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    received: u64,
    segments: u64,
    retransmits: u64,
    timeouts: u32,
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, before: Counts) -> Counts {
        Counts {
            received: self.received - before.received,
            segments: self.segments - before.segments,
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts - before.timeouts,
        }
    }
}

/// A flow's row.
struct Row<'a> {
    flow: &'a Flow,
    started: Time,
    counts: Counts,
    goodput_bps: Option<f64>,
    mean_rtt: Option<Span>,
    p95_rtt: Option<Span>,
    min_rtt: Option<Span>,
}

impl Transfers {
    /// Those of a plan, before anything has happened, in a run with this seed: the flows from hosts that are played
    /// here.
    pub fn new(plan: &Plan, seed: u64, plays: impl Fn(u32) -> bool) -> Transfers {
        let mut flows = Vec::new();
        for (workload, spec) in (0..).zip(&plan.workloads) {
            let Workload::Transfer(spec) = spec else { continue };
            if !plays(spec.from) {
                continue;
            }
            let spec = Arc::new(spec.clone());
            for (start, number) in spec.starts(seed, u64::from(workload)).zip(0..) {
                flows.push(Flow {
                    workload,
                    spec: Arc::clone(&spec),
                    number,
                    start: Time::START + start,
                    received: 0,
                    started: None,
                    ended: None,
                    lost: false,
                    round_trips: None,
                });
            }
        }
        Transfers { flows, counted: Counted::new(plan.measures.window(Windowed::Transfers)) }
    }

    /// The places of the flows of a workload in the list of all.
    pub fn flows_of(&self, workload: u32) -> impl Iterator<Item = usize> + use<'_> {
        let flows = self.flows.iter().enumerate();
        flows.filter(move |(_, flow)| flow.workload == workload).map(|(place, _)| place)
    }

    /// The sending end of a flow knows this round-trip time now.
    pub fn see_round_trip(&mut self, now: Time, place: usize, sample: Span) {
        let (flow, window) = (&mut self.flows[place], self.counted.window());
        if flow.ended.is_none() {
            let within = || Box::new(RoundTrips::within(extent(window)));
            flow.round_trips.get_or_insert_with(within).see(now, sample);
        }
    }

    /// The window of the table begins, or ends.
    pub fn mark(&mut self, begins: bool, of: impl Fn(usize) -> Sender) {
        let counts = self.counts(of);
        self.counted.mark(begins, counts);
    }

    /// When the window of the table begins or ends next; never if neither is to come.
    pub fn due(&self) -> Time {
        self.counted.due()
    }

    /// The same as [`mark`](Transfers::mark) for each end of the window that has been reached and not marked.
    pub fn look(&mut self, now: Time, of: impl Fn(usize) -> Sender) {
        if self.due() <= now {
            let counts = self.counts(of);
            self.counted.look(now, &counts);
        }
    }

    /// What each flow has done by now.
    fn counts(&self, of: impl Fn(usize) -> Sender) -> Vec<Counts> {
        let flows = self.flows.iter().enumerate();
        flows.map(|(place, flow)| flow.counts(of(place))).collect()
    }

    /// Whether a flow can end.
    pub fn is_finite(&self) -> bool {
        self.flows.iter().any(Flow::is_finite)
    }

    /// Whether every flow that can end has.
    pub fn is_done(&self) -> bool {
        self.flows.iter().all(|flow| !flow.is_finite() || flow.ended.is_some())
    }

    /// A line for each flow with a size that has not ended.
    pub fn unfinished(&self) -> Vec<String> {
        let line = |flow: &Flow| {
            let size = flow.spec.size_bytes.filter(|_| flow.ended.is_none())?;
            let (name, number, received) = (&flow.spec.name, flow.number, flow.received);
            Some(format!("transfer {name} flow {number}: {received} of {size} bytes"))
        };
        self.flows.iter().filter_map(line).collect()
    }

    /// Lines for each transfer whose flows lost their connection, or of which no byte arrived.
    pub fn undelivered(&self, now: Time) -> Vec<String> {
        let mut lines = Vec::new();
        for flows in self.flows.chunk_by(|one, next| one.workload == next.workload) {
            let whose = format!("transfer {}", flows[0].spec.name);
            let gone = flows.iter().filter(|flow| flow.lost).map(Flow::standing);
            lines.extend(lost(&whose, flows.len(), "flows", gone));
            let silent = |flow: &&Flow| !flow.lost && flow.is_silent(now);
            let silent = flows.iter().filter(silent).count();
            if silent > 0 {
                lines
                    .push(format!("{whose}: no byte arrived of {silent} of {} flows", flows.len()));
            }
        }
        lines
    }

    /// How far the flow is that is furthest behind, of those that can end.
    pub fn progress(&self, now: Time) -> f64 {
        let share = |flow: &Flow| match (flow.ended, flow.spec.stop_ns) {
            (Some(_), _) => Some(1.0),
            (None, Some(stop)) => Some(now.seconds() / stop.seconds()),
            (None, None) => Some(flow.received as f64 / flow.spec.size_bytes? as f64),
        };
        self.flows.iter().filter_map(share).fold(1.0, f64::min)
    }

    /// Payload bytes that arrived.
    pub fn payload_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.received).sum()
    }

    /// Values of a series, by the flow's place. Only a flow that has started has a window, and only one that knows a
    /// round trip an RTT; what is over has neither.
    pub fn sample(&self, what: Sampled, of: impl Fn(usize) -> Sender) -> Vec<(u32, Sample)> {
        let level = |value: Option<f64>| value.map(Sample::Level);
        let value = |(place, flow): (usize, &Flow)| match what {
            Sampled::Goodput => Some(Sample::Bytes(flow.received)),
            _ if flow.ended.is_some() || flow.started.is_none() => None,
            Sampled::Window => level(of(place).cwnd.map(|bytes| bytes as f64)),
            Sampled::Rtt => level(of(place).srtt.map(Span::seconds)),
            Sampled::OwnDelay => level(of(place).own_delay.map(Span::seconds)),
            _ => None,
        };
        let flows = self.flows.iter().enumerate();
        flows.filter_map(|flow| Some((flow.0 as u32, value(flow)?))).collect()
    }

    /// How series call the flow of this place; none if the series is not about flows.
    pub fn source_name(&self, what: Sampled, place: u32) -> Option<String> {
        let flow = self.flows.get(place as usize).filter(|_| what.source() == Source::Flows)?;
        Some(format!("{}/{}", flow.spec.name, flow.number))
    }

    /// The table `transfers`.
    pub fn table(&self, plan: &Plan, now: Time, of: impl Fn(usize) -> Sender) -> Table {
        let nothing = |now: &Vec<Counts>| vec![Counts::default(); now.len()];
        let (begin, end) = self.counted.done(nothing, self.counts(&of));
        let flows = self.flows.iter().enumerate();
        let row = |(place, flow)| self.row(now, flow, of(place), end[place] - begin[place]);
        let rows: Vec<Row<'_>> = flows.filter_map(row).collect();
        let host = |host| plan.network.name_of(host);
        let counts =
            |of: fn(&Counts) -> u64| Column::U64(rows.iter().map(|row| of(&row.counts)).collect());
        Table {
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
        }
    }

    /// The row of a flow, if it has started.
    fn row<'a>(
        &'a self,
        now: Time,
        flow: &'a Flow,
        sender: Sender,
        counts: Counts,
    ) -> Option<Row<'a>> {
        let started = flow.started?;
        let round_trips = flow.round_trips(now);
        let counted = extent(self.counted.window());
        let ended = flow.ended.unwrap_or(now).min(counted.end);
        let span = ended.since(started.max(counted.start));
        let goodput = || counts.received as f64 * 8.0 / span.seconds();
        Some(Row {
            flow,
            started,
            counts,
            goodput_bps: (!span.is_zero()).then(goodput),
            mean_rtt: round_trips.map(|it| it.mean),
            p95_rtt: round_trips.map(|it| it.p95),
            min_rtt: match self.counted.window() {
                None => sender.min_rtt,
                Some(_) => round_trips.map(|it| it.min),
            },
        })
    }
}

impl Flow {
    /// It is over now, unless it was before; whether that is new.
    pub fn end(&mut self, now: Time, how: End) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.ended = Some(now);
        self.lost = how == End::Lost;
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.hold(now);
        }
        true
    }

    /// Whether it has a size, and all of it has arrived.
    pub fn is_whole(&self) -> bool {
        Some(self.received) == self.spec.size_bytes
    }

    /// Whether it can end: by itself, or by the clock.
    pub fn is_finite(&self) -> bool {
        self.spec.size_bytes.is_some() || self.spec.stop_ns.is_some()
    }

    /// How long it took, if it had a size and all of it arrived.
    fn duration(&self) -> Option<Span> {
        self.is_whole().then(|| Some(self.ended? - self.started?)).flatten()
    }

    /// Nothing of it arrived, for longer than that takes.
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

    fn round_trips(&self, now: Time) -> Option<Summary> {
        self.round_trips.as_ref()?.summary(self.ended.unwrap_or(now))
    }

    fn counts(&self, sender: Sender) -> Counts {
        Counts {
            received: self.received,
            segments: sender.segments,
            retransmits: sender.retransmits,
            timeouts: sender.timeouts,
        }
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
