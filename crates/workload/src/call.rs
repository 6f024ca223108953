//! Calls: datagrams at a constant rate, both ways.

use crate::{Column, Names, Table, is_due};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Plan, Window, Windowed, Workload};
use std::ops::Range;

/// The calls of a run.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Every one, in the order of the plan.
    pub all: Vec<Call>,
    /// Packets sent outside of it do not count.
    window: Option<Window>,
}

/// One call between two hosts.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its index among the plan's workloads.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: plan::Call,
    stopped: bool,
    /// From the host `from` to the host `to`, and back.
    directions: [Direction; 2],
}

/// What happened to the packets of one direction.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// One-way delay of each packet, by its number; [`LOST`] until it arrives.
    delays: Vec<Span>,
    /// The delay of the packet that arrived last.
    last: Option<Span>,
    /// Interarrival jitter in sixteenths of a nanosecond (RFC 3550, section 6.4.1 and appendix A.8).
    jitter: u64,
    /// The jitter in nanoseconds after the last arrival among the packets of each row.
    jitters: Vec<Option<u64>>,
}

/// In place of a delay: the packet has not arrived.
const LOST: Span = Span::MAX;

impl Calls {
    /// Those of a plan, before anything has happened.
    pub fn new(plan: &Plan) -> Calls {
        let call = |(workload, spec): (u32, &Workload)| match spec {
            Workload::Call(spec) => Some(Call {
                workload,
                spec: spec.clone(),
                stopped: false,
                directions: Default::default(),
            }),
            _ => None,
        };
        let window = plan.measures.window(Windowed::Calls).cloned();
        Calls { all: (0..).zip(&plan.workloads).filter_map(call).collect(), window }
    }

    /// The timeline stops a workload, if it is one of them.
    pub fn stop(&mut self, workload: u32) {
        self.all.iter_mut().filter(|call| call.workload == workload).for_each(Call::stop);
    }

    /// A line for each direction in which not one packet arrived.
    pub fn undelivered(&self, plan: &Plan, now: Time) -> Vec<String> {
        let mut lines = Vec::new();
        for call in &self.all {
            let spec = &call.spec;
            if !is_due(Time::START + spec.start_ns, now) {
                continue;
            }
            for (direction, sender) in call.directions.iter().zip([spec.from, spec.to]) {
                let sent = direction.delays.len();
                if sent > 0 && direction.last.is_none() {
                    let (name, from) = (&spec.name, plan.network.name_of(sender));
                    lines.push(format!("call {name}: no packet arrived of {sent} from {from}"));
                }
            }
        }
        lines
    }

    /// The table `calls`.
    pub fn table(&self, plan: &Plan) -> Table {
        let (mut name, mut from, mut to) = (Names::default(), Names::default(), Names::default());
        let (mut start, mut sent, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        let (mut mean, mut p95, mut max) = (Vec::new(), Vec::new(), Vec::new());
        let mut jitter = Vec::new();
        for call in &self.all {
            let spec = &call.spec;
            let (a_row, inside) = (call.packets_a_row(), call.inside(self.window.as_ref()));
            let ends = [(spec.from, spec.to), (spec.to, spec.from)];
            for (direction, (sender, receiver)) in call.directions.iter().zip(ends) {
                for (row, packets) in direction.delays.chunks(a_row).enumerate() {
                    let begin = row.saturating_mul(a_row);
                    let place = |number: usize| number.saturating_sub(begin).min(packets.len());
                    let (outside, packets) =
                        (place(inside.start), &packets[place(inside.start)..place(inside.end)]);
                    if packets.is_empty() {
                        continue;
                    }
                    let mut delays: Vec<Span> =
                        packets.iter().copied().filter(|delay| *delay != LOST).collect();
                    delays.sort_unstable();
                    name.push(&spec.name);
                    from.push(plan.network.name_of(sender));
                    to.push(plan.network.name_of(receiver));
                    let first = spec.interval_ns * (begin + outside) as u64;
                    start.push((Time::START + spec.start_ns + first).seconds());
                    sent.push(packets.len() as u64);
                    lost.push((packets.len() - delays.len()) as u64);
                    mean.push(mean_of(&delays));
                    // The nearest rank: the least delay that 95 % of the packets do not exceed.
                    let rank = (delays.len() * 95).div_ceil(100);
                    p95.push(rank.checked_sub(1).map(|place| delays[place].seconds()));
                    max.push(delays.last().map(|delay| delay.seconds()));
                    let nanos = direction.jitters.get(row).copied().flatten();
                    jitter.push(nanos.map(|nanos| Span::from_nanos(nanos).seconds()));
                }
            }
        }
        Table {
            name: "calls",
            columns: vec![
                ("call", name.column()),
                ("from", from.column()),
                ("to", to.column()),
                ("start_s", Column::F64(start)),
                ("sent", Column::U64(sent)),
                ("lost", Column::U64(lost)),
                ("mean_delay_s", Column::MaybeF64(mean)),
                ("p95_delay_s", Column::MaybeF64(p95)),
                ("max_delay_s", Column::MaybeF64(max)),
                ("jitter_s", Column::MaybeF64(jitter)),
            ],
        }
    }
}

impl Call {
    /// When the next packets are due, unless [`Call::send`] finds that it is over.
    pub fn next_due(&self) -> Time {
        let sent = self.directions[0].delays.len() as u64;
        Time::START + self.spec.start_ns + self.spec.interval_ns * sent
    }

    /// Both hosts send the packet that is due. Gives its number, or none once the call is over.
    pub fn send(&mut self) -> Option<u64> {
        let over = self.spec.stop_ns.is_some_and(|stop| self.next_due() >= Time::START + stop);
        if over || self.stopped {
            return None;
        }
        self.directions.iter_mut().for_each(|direction| direction.delays.push(LOST));
        Some(self.directions[0].delays.len() as u64 - 1)
    }

    /// The packet of this number arrives, at the host `to` (direction 0) or `from` (1).
    pub fn arrive(&mut self, direction: usize, number: u64, delay: Span) {
        let row = number as usize / self.packets_a_row();
        self.directions[direction].arrive(number as usize, row, delay);
    }

    /// Nothing is sent any more.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// The numbers of the packets that are sent in a window.
    fn inside(&self, window: Option<&Window>) -> Range<usize> {
        let Some(window) = window else { return 0..usize::MAX };
        let start = Time::START + self.spec.start_ns;
        let before =
            |end: Time| end.since(start).nanos().div_ceil(self.spec.interval_ns.nanos()) as usize;
        before(window.begin())..before(window.end())
    }

    /// Packets of one row, but for the last one.
    fn packets_a_row(&self) -> usize {
        let packets = |every: Span| every.nanos().div_ceil(self.spec.interval_ns.nanos());
        self.spec.every_ns.map_or(usize::MAX, |every| packets(every) as usize)
    }
}

impl Direction {
    fn arrive(&mut self, number: usize, row: usize, delay: Span) {
        let Some(place) = self.delays.get_mut(number) else { return };
        *place = delay;
        if let Some(last) = self.last.replace(delay) {
            let change = delay.nanos().abs_diff(last.nanos());
            self.jitter = self.jitter + change - ((self.jitter + 8) >> 4);
        }
        if self.jitters.len() <= row {
            self.jitters.resize(row + 1, None);
        }
        self.jitters[row] = Some(self.jitter >> 4);
    }
}

fn mean_of(delays: &[Span]) -> Option<f64> {
    let sum: f64 = delays.iter().map(|delay| delay.seconds()).sum();
    (!delays.is_empty()).then(|| sum / delays.len() as f64)
}
