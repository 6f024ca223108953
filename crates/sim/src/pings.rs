use crate::engine::Sim;
use crate::event::Event;
use crate::packet::{Addressee, Packet};
use crate::plan::{self, Plan, Workload};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::tcp::Segment;

/// All pings of a run.
pub(crate) struct Pings {
    pub(crate) all: Vec<Pinger>,
}

/// One pinging host.
pub(crate) struct Pinger {
    workload: u32,
    stopped: bool,
    /// When each request was sent and how long its answer took.
    pub(crate) echoes: Vec<(Time, Option<Span>)>,
}

impl Pings {
    pub(crate) fn new(plan: &Plan) -> Pings {
        let pinger = |(index, workload): (usize, &Workload)| match workload {
            Workload::Ping(_) => {
                Some(Pinger { workload: index as u32, stopped: false, echoes: Vec::new() })
            }
            _ => None,
        };
        Pings { all: plan.workloads.iter().enumerate().filter_map(pinger).collect() }
    }

    pub(crate) fn spec<'p>(&self, plan: &'p Plan, ping: u32) -> Option<&'p plan::Ping> {
        match &plan.workloads[self.all[ping as usize].workload as usize] {
            Workload::Ping(spec) => Some(spec),
            _ => None,
        }
    }
}

impl Sim<'_> {
    pub(crate) fn begin_pings(&mut self) {
        for ping in 0..self.pings.all.len() as u32 {
            if let Some(spec) = self.pings.spec(self.plan, ping) {
                self.queue.schedule(Time::START + spec.start_ns, Event::ping(ping));
            }
        }
    }

    /// Sends a request and schedules the next one.
    pub(crate) fn send_ping(&mut self, ping: u32) {
        let Some(spec) = self.pings.spec(self.plan, ping) else { return };
        let over = spec.stop_ns.is_some_and(|stop| self.now >= Time::START + stop);
        let pinger = &mut self.pings.all[ping as usize];
        if over || pinger.stopped {
            return;
        }
        let number = pinger.echoes.len() as u64;
        pinger.echoes.push((self.now, None));
        self.echo(spec, ping, number, false);
        self.queue.schedule(self.now + spec.interval_ns, Event::ping(ping));
    }

    /// A request reached the answering host, or an answer the asking one.
    pub(crate) fn deliver_ping(&mut self, ping: u32, reply: bool, number: u64) {
        let Some(spec) = self.pings.spec(self.plan, ping) else { return };
        if !reply {
            return self.echo(spec, ping, number, true);
        }
        if let Some((sent, rtt)) = self.pings.all[ping as usize].echoes.get_mut(number as usize) {
            *rtt = Some(self.now - *sent);
        }
    }

    fn echo(&mut self, spec: &plan::Ping, ping: u32, number: u64, reply: bool) {
        let (from, to) = if reply { (spec.to, spec.from) } else { (spec.from, spec.to) };
        let route = self.network.route(from, to);
        let segment = Segment { seq: number, ..Segment::default() };
        let to = Addressee::Ping { ping, reply };
        let mut packet = Packet::new(&segment, to, route, spec.size_bytes);
        self.network.send(&mut self.queue, self.now, 1, &segment, &mut packet);
    }

    pub(crate) fn stop_pings(&mut self, workload: u32) {
        for pinger in self.pings.all.iter_mut().filter(|pinger| pinger.workload == workload) {
            pinger.stopped = true;
        }
    }
}
