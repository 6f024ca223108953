use super::{App, CALL, DatagramContent, Saying, World};
use crate::kernel::{Datagram, Event};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Change, Plan, What, Window, Windowed, Workload};
use flashcrowd_workload::is_due;
use flashcrowd_workload::{Column, Names, Table};
use std::ops::Range;

/// Streams of datagrams at a constant rate, both ways.
pub(crate) struct Calls<'p> {
    /// Packets sent outside of it are not recorded.
    window: Option<&'p Window>,
    all: Vec<Call<'p>>,
}

struct Call<'p> {
    /// Index among the plan's workloads.
    workload: u32,
    spec: &'p plan::Call,
    stopped: bool,
    /// From the host `from` to the host `to`, and back.
    directions: [Direction; 2],
}

/// What happened to the packets of one direction.
#[derive(Default)]
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

impl Direction {
    /// The packet of this number, which belongs to this row, arrives.
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

impl<'p> Calls<'p> {
    pub(crate) fn new(plan: &'p Plan, _world: &mut World) -> Calls<'p> {
        let call = |(index, workload): (usize, &'p Workload)| match workload {
            Workload::Call(spec) => Some(Call {
                workload: index as u32,
                spec,
                stopped: false,
                directions: Default::default(),
            }),
            _ => None,
        };
        let window = plan.measures.window(Windowed::Calls);
        Calls { window, all: plan.workloads.iter().enumerate().filter_map(call).collect() }
    }
}

impl Call<'_> {
    /// The numbers of the packets that are sent in a window.
    fn inside(&self, window: Option<&Window>) -> Range<usize> {
        let Some(window) = window else { return 0..usize::MAX };
        let start = Time::START + self.spec.start_ns;
        let before = |end: Time| {
            end.since(start).nanos().div_ceil(self.spec.interval_ns.nanos().max(1)) as usize
        };
        before(window.begin())..before(window.end())
    }

    /// Packets of one row, but for the last one.
    fn packets_a_row(&self) -> usize {
        let packets = |every: Span| every.nanos().div_ceil(self.spec.interval_ns.nanos());
        self.spec.every_ns.map_or(usize::MAX, |every| packets(every) as usize)
    }
}

impl App for Calls<'_> {
    fn begin(&mut self, world: &mut World) {
        for (index, call) in self.all.iter().enumerate() {
            world.schedule(Time::START + call.spec.start_ns, CALL, 0, index as u32);
        }
    }

    /// Both hosts send a packet.
    fn on_event(&mut self, world: &mut World, event: Event) {
        let call = &mut self.all[event.index as usize];
        let plan::Call { from, to, size_bytes: bytes, interval_ns, stop_ns, .. } = *call.spec;
        let over = stop_ns.is_some_and(|stop| world.now >= Time::START + stop);
        if over || call.stopped {
            return;
        }
        for (code, (from, to)) in [(from, to), (to, from)].into_iter().enumerate() {
            let delays = &mut call.directions[code].delays;
            let words = [delays.len() as u64, world.now.nanos()];
            delays.push(LOST);
            let (code, index) = (code as u8, event.index);
            world.send_datagram(from, to, &Datagram { app: CALL, code, index, words, bytes });
        }
        world.schedule(world.now + interval_ns, CALL, 0, event.index);
    }

    fn on_datagram(&mut self, world: &mut World, datagram: Datagram) {
        let call = &mut self.all[datagram.index as usize];
        let [number, sent] = datagram.words;
        let row = number as usize / call.packets_a_row();
        let delay = world.now - Time::from_nanos(sent);
        call.directions[usize::from(datagram.code)].arrive(number as usize, row, delay);
    }

    fn change(&mut self, _world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what {
            for call in self.all.iter_mut().filter(|call| call.workload == workload) {
                call.stopped = true;
            }
        }
    }

    /// Directions of which not one packet arrived.
    fn undelivered(&self, world: &World) -> Vec<String> {
        let mut lines = Vec::new();
        for call in &self.all {
            let spec = call.spec;
            if !is_due(Time::START + spec.start_ns, world.now) {
                continue;
            }
            for (direction, sender) in call.directions.iter().zip([spec.from, spec.to]) {
                let sent = direction.delays.len();
                if sent > 0 && direction.last.is_none() {
                    let from = &world.network.host(sender).name;
                    let name = &spec.name;
                    lines.push(format!("call {name}: no packet arrived of {sent} from {from}"));
                }
            }
        }
        lines
    }

    fn says(&self, datagram: &Datagram) -> Option<Saying> {
        let Datagram { code, index, words: [number, sent], .. } = *datagram;
        let spec = self.all[index as usize].spec;
        let hosts = if code == 0 { [spec.from, spec.to] } else { [spec.to, spec.from] };
        let content = DatagramContent::Rtp {
            call: index,
            source: index << 1 | u32::from(code),
            sequence: number as u16,
            sent: Time::from_nanos(sent),
        };
        Some(Saying { hosts, content })
    }

    fn tables(&self, world: &World) -> Vec<Table> {
        let (mut name, mut from, mut to) = (Names::default(), Names::default(), Names::default());
        let (mut start, mut sent, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        let (mut mean, mut p95, mut max) = (Vec::new(), Vec::new(), Vec::new());
        let mut jitter = Vec::new();
        for call in &self.all {
            let spec = call.spec;
            let (a_row, inside) = (call.packets_a_row(), call.inside(self.window));
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
                    from.push(&world.network.host(sender).name);
                    to.push(&world.network.host(receiver).name);
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
        vec![Table {
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
        }]
    }
}

fn mean_of(delays: &[Span]) -> Option<f64> {
    let sum: f64 = delays.iter().map(|delay| delay.seconds()).sum();
    (!delays.is_empty()).then(|| sum / delays.len() as f64)
}
