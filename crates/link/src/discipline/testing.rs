use super::pool::Held;
use super::{Cause, Context, DisciplineCounters};
use crate::{Ack, Conditions, Departure, Direction, Ecn, Flow, Outcome, Packet, Queue};
use flashcrowd_base::{RandomStream, Rate, Span, Time};

pub(crate) fn at(millis: u64) -> Time {
    Time::START + Span::from_millis(millis)
}

/// A packet of the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) bytes: u32,
    pub(crate) tag: u32,
    pub(crate) flow: Flow,
    pub(crate) ecn: Ecn,
    pub(crate) ack: Option<Ack>,
}

impl Packet for Probe {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn tag(&self) -> u32 {
        self.tag
    }
    fn flow(&self) -> Flow {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
}

/// A link of 8 Mbit/s without a delay, 1000 bytes a millisecond, and what becomes of its packets.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    pub(crate) now: Time,
    pub(crate) link: Direction,
    pub(crate) line: Conditions,
    /// Of the packets that are offered.
    pub(crate) ecn: Ecn,
    /// Tags of packets that were dropped after they had been taken.
    pub(crate) dropped: Vec<u32>,
    pub(crate) causes: Vec<Cause>,
    /// Packets that were dropped at once.
    pub(crate) refused: u32,
    stream: RandomStream,
    /// Each packet that was offered, by its tag less one, and when.
    offered: Vec<(Probe, Time)>,
}

impl Bottleneck {
    pub(crate) fn with(queue: Queue) -> Bottleneck {
        let line =
            Conditions { rate_bps: Rate::from_bps(8_000_000), queue, ..Conditions::default() };
        Bottleneck {
            now: Time::START,
            link: Direction::new(RandomStream::new(1, "test", 0)),
            line,
            ecn: Ecn::NotEct,
            dropped: Vec::new(),
            causes: Vec::new(),
            refused: 0,
            stream: RandomStream::new(1, "context", 0),
            offered: Vec::new(),
        }
    }

    /// Offers a packet of a flow; each flow has hosts of its own.
    pub(crate) fn offer(&mut self, flow: u64, bytes: u32) -> u32 {
        let hosts = flow as u32;
        self.offer_from(Flow { connection: flow, source: hosts, target: hosts }, bytes, None)
    }

    pub(crate) fn offer_from(&mut self, flow: Flow, bytes: u32, ack: Option<Ack>) -> u32 {
        let tag = self.offered.len() as u32 + 1;
        let packet = Probe { bytes, tag, flow, ecn: self.ecn, ack };
        self.offered.push((packet, self.now));
        let (dropped, causes) = (&mut self.dropped, &mut self.causes);
        let outcome = self.link.offer(&self.line, self.now, &packet, &mut |tag, cause| {
            dropped.push(tag);
            causes.push(cause);
        });
        match outcome {
            Outcome::Queued => {}
            Outcome::Dropped => self.refused += 1,
            other => panic!("{other:?}"),
        }
        tag
    }

    /// Goes on to when the next packet is due to leave its queue, and takes it.
    pub(crate) fn step(&mut self) -> Option<Departure> {
        self.now = self.now.max(self.link.next_dequeue()?);
        let (dropped, causes) = (&mut self.dropped, &mut self.causes);
        self.link.dequeue(&self.line, self.now, &mut |tag, cause| {
            dropped.push(tag);
            causes.push(cause);
        })
    }

    /// The flows of the next `packets` packets that leave.
    pub(crate) fn order(&mut self, packets: usize) -> Vec<u64> {
        let mut flows = Vec::new();
        for _ in 0..packets {
            flows.extend(self.step().map(|left| self.flow_of(left.tag)));
        }
        flows
    }

    pub(crate) fn flow_of(&self, tag: u32) -> u64 {
        self.offered[tag as usize - 1].0.flow.connection
    }
    pub(crate) fn offered_at(&self, tag: u32) -> Time {
        self.offered[tag as usize - 1].1
    }

    /// Packets in the queue, without the one in transmission.
    pub(crate) fn waiting(&self) -> u32 {
        self.link.waiting_packets()
    }

    /// A packet as a discipline holds it.
    pub(crate) fn held(&self, tag: u32, bytes: u32, offered: Time) -> Held {
        let packet = Probe { bytes, tag, flow: Flow::default(), ecn: self.ecn, ack: None };
        Held::new(offered, bytes, &packet)
    }

    /// The input of a discipline that is asked now.
    pub(crate) fn context<T>(&mut self, ask: impl FnOnce(&mut Context) -> T) -> T {
        ask(&mut Context {
            now: self.now,
            rate: self.line.rate_bps.unwrap(),
            idle_since: None,
            stream: &mut self.stream,
            counters: &mut DisciplineCounters::default(),
            newcomer: None,
            dropped: &mut |tag, _| self.dropped.push(tag),
        })
    }
}
