use super::{App, DatagramContent, PING, Saying, World};
use crate::kernel::{Datagram, Event};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Change, Plan, What, Window, Windowed, Workload};
use flashcrowd_workload::is_due;
use flashcrowd_workload::{Column, Names, Table};

/// Echo requests at fixed intervals: what a bystander feels.
pub(crate) struct Pings<'p> {
    /// Requests sent outside of it are not recorded.
    window: Option<&'p Window>,
    all: Vec<Pinger<'p>>,
}

/// One pinging host.
struct Pinger<'p> {
    /// Index among the plan's workloads.
    workload: u32,
    spec: &'p plan::Ping,
    stopped: bool,
    /// When each request was sent and how long its answer took.
    echoes: Vec<(Time, Option<Span>)>,
}

const REQUEST: u8 = 0;
const REPLY: u8 = 1;

impl<'p> Pings<'p> {
    pub(crate) fn new(plan: &'p Plan, _world: &mut World) -> Pings<'p> {
        let pinger = |(index, workload): (usize, &'p Workload)| match workload {
            Workload::Ping(spec) => {
                Some(Pinger { workload: index as u32, spec, stopped: false, echoes: Vec::new() })
            }
            _ => None,
        };
        let window = plan.measures.window(Windowed::Pings);
        Pings { window, all: plan.workloads.iter().enumerate().filter_map(pinger).collect() }
    }

    fn hosts(&self, ping: u32, code: u8) -> [u32; 2] {
        let spec = self.all[ping as usize].spec;
        if code == REPLY { [spec.to, spec.from] } else { [spec.from, spec.to] }
    }

    fn echo(&self, world: &mut World, ping: u32, number: u64, code: u8) {
        let [from, to] = self.hosts(ping, code);
        let bytes = self.all[ping as usize].spec.size_bytes;
        let datagram = Datagram { app: PING, code, index: ping, words: [number, 0], bytes };
        world.send_datagram(from, to, &datagram);
    }
}

impl App for Pings<'_> {
    fn begin(&mut self, world: &mut World) {
        for (ping, pinger) in self.all.iter().enumerate() {
            world.schedule(Time::START + pinger.spec.start_ns, PING, 0, ping as u32);
        }
    }

    /// Sends a request and schedules the next one.
    fn on_event(&mut self, world: &mut World, event: Event) {
        let pinger = &mut self.all[event.index as usize];
        let over = pinger.spec.stop_ns.is_some_and(|stop| world.now >= Time::START + stop);
        if over || pinger.stopped {
            return;
        }
        let number = pinger.echoes.len() as u64;
        pinger.echoes.push((world.now, None));
        let next = world.now + pinger.spec.interval_ns;
        self.echo(world, event.index, number, REQUEST);
        world.schedule(next, PING, 0, event.index);
    }

    /// A request reached the answering host, or an answer the asking one.
    fn on_datagram(&mut self, world: &mut World, datagram: Datagram) {
        let (ping, number) = (datagram.index, datagram.words[0]);
        if datagram.code == REQUEST {
            return self.echo(world, ping, number, REPLY);
        }
        if let Some((sent, rtt)) = self.all[ping as usize].echoes.get_mut(number as usize) {
            *rtt = Some(world.now - *sent);
        }
    }

    fn change(&mut self, _world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what {
            for pinger in self.all.iter_mut().filter(|pinger| pinger.workload == workload) {
                pinger.stopped = true;
            }
        }
    }

    /// Pings of which not one was answered.
    fn undelivered(&self, world: &World) -> Vec<String> {
        let silent = |pinger: &&Pinger<'_>| {
            let due = pinger.echoes.first().is_some_and(|(sent, _)| is_due(*sent, world.now));
            due && pinger.echoes.iter().all(|(_, rtt)| rtt.is_none())
        };
        let line = |pinger: &Pinger<'_>| {
            let (name, requests) = (&pinger.spec.name, pinger.echoes.len());
            format!("ping {name}: no answer arrived to {requests} requests")
        };
        self.all.iter().filter(silent).map(line).collect()
    }

    fn says(&self, datagram: &Datagram) -> Option<Saying> {
        let Datagram { code, index, words: [number, _], .. } = *datagram;
        let content = DatagramContent::Echo {
            reply: code == REPLY,
            identifier: index as u16 + 1,
            sequence: number as u16,
        };
        Some(Saying { hosts: self.hosts(index, code), content })
    }

    fn tables(&self, _world: &World) -> Vec<Table> {
        let mut name = Names::default();
        let (mut seq, mut sent, mut rtt) = (Vec::new(), Vec::new(), Vec::new());
        for pinger in &self.all {
            for (number, (at, answer)) in pinger.echoes.iter().enumerate() {
                if self.window.is_some_and(|window| !window.holds(*at)) {
                    continue;
                }
                name.push(&pinger.spec.name);
                seq.push(number as u32);
                sent.push(at.seconds());
                rtt.push(answer.map(|answer| answer.seconds()));
            }
        }
        vec![Table {
            name: "pings",
            columns: vec![
                ("ping", name.column()),
                ("seq", Column::U32(seq)),
                ("sent_s", Column::F64(sent)),
                ("rtt_s", Column::MaybeF64(rtt)),
            ],
        }]
    }
}
