//! Echo requests at fixed intervals: what a bystander feels.

use crate::{Column, Names, Table, is_due};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Plan, Window, Windowed, Workload};

/// The pings of a run.
#[derive(Clone, Debug)]
pub struct Pings {
    /// Every one, in the order of the plan.
    pub all: Vec<Ping>,
    /// Requests sent outside of it have no row.
    window: Option<Window>,
}

/// One host that pings another.
#[derive(Clone, Debug)]
pub struct Ping {
    /// Its index among the plan's workloads.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: plan::Ping,
    /// When each request was sent, and how long its answer took.
    pub echoes: Vec<(Time, Option<Span>)>,
    stopped: bool,
}

impl Pings {
    /// Those of a plan, before anything has happened.
    pub fn new(plan: &Plan) -> Pings {
        let ping = |(workload, spec): (u32, &Workload)| match spec {
            Workload::Ping(spec) => {
                Some(Ping { workload, spec: spec.clone(), echoes: Vec::new(), stopped: false })
            }
            _ => None,
        };
        let window = plan.measures.window(Windowed::Pings).cloned();
        Pings { all: (0..).zip(&plan.workloads).filter_map(ping).collect(), window }
    }

    /// The timeline stops a workload, if it is one of them.
    pub fn stop(&mut self, workload: u32) {
        self.all.iter_mut().filter(|ping| ping.workload == workload).for_each(Ping::stop);
    }

    /// A line for each ping of which not one request was answered.
    pub fn undelivered(&self, now: Time) -> Vec<String> {
        let silent = |ping: &&Ping| {
            let due = ping.echoes.first().is_some_and(|(sent, _)| is_due(*sent, now));
            due && ping.echoes.iter().all(|(_, answer)| answer.is_none())
        };
        let line = |ping: &Ping| {
            let (name, requests) = (&ping.spec.name, ping.echoes.len());
            format!("ping {name}: no answer arrived to {requests} requests")
        };
        self.all.iter().filter(silent).map(line).collect()
    }

    /// The table `pings`.
    pub fn table(&self) -> Table {
        let mut name = Names::default();
        let (mut seq, mut sent, mut rtt) = (Vec::new(), Vec::new(), Vec::new());
        for ping in &self.all {
            for (number, (at, answer)) in ping.echoes.iter().enumerate() {
                if self.window.as_ref().is_some_and(|window| !window.holds(*at)) {
                    continue;
                }
                name.push(&ping.spec.name);
                seq.push(number as u32);
                sent.push(at.seconds());
                rtt.push(answer.map(Span::seconds));
            }
        }
        Table {
            name: "pings",
            columns: vec![
                ("ping", name.column()),
                ("seq", Column::U32(seq)),
                ("sent_s", Column::F64(sent)),
                ("rtt_s", Column::MaybeF64(rtt)),
            ],
        }
    }
}

impl Ping {
    /// When the next request is due, unless [`Ping::send`] finds that it is over.
    pub fn next_due(&self) -> Time {
        Time::START + self.spec.start_ns + self.spec.interval_ns * self.echoes.len() as u64
    }

    /// The request that is due is sent. Gives its number, or none once the ping is over.
    pub fn send(&mut self, now: Time) -> Option<u64> {
        let over = self.spec.stop_ns.is_some_and(|stop| self.next_due() >= Time::START + stop);
        if over || self.stopped {
            return None;
        }
        self.echoes.push((now, None));
        Some(self.echoes.len() as u64 - 1)
    }

    /// The request of this number is answered. Its first answer counts.
    pub fn answer(&mut self, number: u64, now: Time) {
        if let Some((sent, answer)) = self.echoes.get_mut(number as usize) {
            answer.get_or_insert(now.since(*sent));
        }
    }

    /// It sends no more.
    pub fn stop(&mut self) {
        self.stopped = true;
    }
}
