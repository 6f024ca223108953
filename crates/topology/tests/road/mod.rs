//! A network for the tests of what is sent over one: hosts, and at most one line with a drop-tail queue
//! between any two, so that the arrival of a packet is known when it sets out.

#![allow(dead_code, unreachable_pub, reason = "every user needs a part")]

use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_link::{Conditions, Counters, Moved, Packet, Queue};
use flashcrowd_plan::{CorePath, Host, Link, Network};
use flashcrowd_topology::{Advance, Carried, Topology};
use std::collections::BTreeMap;

/// A packet of any kind, by number.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub number: u32,
    pub tag: u32,
    pub route: u32,
    pub step: u16,
    pub bytes: u32,
}

impl Packet for Frame {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn tag(&self) -> u32 {
        self.tag
    }
}

impl Carried for Frame {
    fn route(&self) -> u32 {
        self.route
    }
    fn step(&self) -> u16 {
        self.step
    }
    fn set_step(&mut self, step: u16) {
        self.step = step;
    }
    fn set_tag(&mut self, tag: u32) {
        self.tag = tag;
    }
    fn connection(&self) -> u64 {
        u64::from(self.route)
    }
}

/// A topology whose packets arrive, or do not, at an instant that is known when they are sent.
pub struct Road {
    topology: Topology<Frame>,
    line: Conditions,
}

impl Road {
    /// `hosts` hosts, `delay` from each to each; host 0 sends over a line, which takes nothing if it
    /// has no rate.
    pub fn new(hosts: u32, delay: Span, rate: Option<Rate>, queue: Queue) -> Road {
        let line = Conditions { rate_bps: rate, queue, ..Conditions::default() };
        let host = |index| Host {
            name: format!("host-{index}"),
            group: 0,
            stack: 0,
            up: if index == 0 { vec![0] } else { Vec::new() },
            down: Vec::new(),
        };
        let between = Conditions { delay_ns: delay, ..Conditions::default() };
        let network = Network {
            groups: vec!["all".to_owned()],
            hosts: (0..hosts).map(host).collect(),
            links: vec![Link {
                name: "line".to_owned(),
                conditions: line.clone(),
                trace: None,
                delay: None,
            }],
            cores: vec![CorePath { links: Vec::new(), conditions: between, draw: None }],
            traces: Vec::new(),
            core_of: vec![0],
        };
        Road { topology: Topology::new(&network, 1, false), line }
    }

    /// Sends a packet; when it arrives, or `None` if the queue of the line is full. Packets that a
    /// change of the line may move need a number of their own above 0.
    pub fn cross(
        &mut self,
        now: Time,
        from: u32,
        to: u32,
        number: u32,
        bytes: u32,
    ) -> Option<Time> {
        let route = self.topology.route(from, to);
        let mut frame = Frame { number, tag: number, route, step: 0, bytes };
        match self.topology.advance(now, &mut frame, |frame| *frame, &mut |_, _| {}) {
            Advance::Due { at, arrives: true, .. } => Some(at),
            Advance::Dropped => None,
            other => panic!("a road has one queue, without a discipline: {other:?}"),
        }
    }

    /// How long a packet that came now would wait for the line.
    pub fn wait(&self, now: Time) -> Span {
        self.topology.link(0).queueing_delay(now)
    }

    /// What the line has carried.
    pub fn counters(&self) -> Counters {
        self.topology.link(0).counters()
    }

    /// Gives the line another rate; what is in its queue arrives at other instants.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) -> BTreeMap<u32, Moved> {
        self.line.rate_bps = rate;
        self.topology.change_link(now, 0, &self.line, None)
    }
}
