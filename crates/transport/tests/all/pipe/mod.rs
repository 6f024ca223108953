//! Two ends and a network between them, in virtual time.
#![allow(dead_code, unreachable_pub)]

use crate::road::Road;
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_link::Queue;
use flashcrowd_transport::tcp::{Config, Connection, Flags, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What happens to a segment on its way.
pub enum Fate {
    /// It arrives after this delay.
    Arrives(Span),
    /// It arrives twice.
    Twice(Span, Span),
    /// It arrives after this delay, marked if it is ECN-capable.
    Marked(Span),
    /// It does not arrive.
    Lost,
}

/// One direction of the network.
pub trait Network {
    fn carry(&mut self, now: Time, segment: &Segment) -> Fate;
}

/// A fixed delay, and a line with a queue. Data segments are lost independently of each other, and before
/// the line; all others are spared, so that what is measured is not how handshakes fare.
pub struct Path {
    loss: f64,
    pub stream: RandomStream,
    /// Longest wait for the line; what finds it longer is dropped.
    queue: Span,
    road: Road,
}

impl Path {
    pub fn new(delay: Span, seed: u64) -> Path {
        Path::over_line(delay, seed, None, Span::MAX)
    }

    /// The same over a line of this rate.
    pub fn over_line(delay: Span, seed: u64, rate: Option<Rate>, queue: Span) -> Path {
        Path {
            loss: 0.0,
            stream: RandomStream::new(seed, "loss", 0),
            queue,
            road: Road::new(2, delay, rate, Queue::default()),
        }
    }

    /// The same with losses.
    pub fn losing(self, loss: f64) -> Path {
        Path { loss, ..self }
    }

    /// Packets carried, and the sum of their waits.
    pub fn carried(&self) -> (u64, Span) {
        let counters = self.road.counters();
        (counters.packets, counters.waited)
    }
}

impl Network for Path {
    fn carry(&mut self, now: Time, segment: &Segment) -> Fate {
        let lost = segment.len > 0 && self.loss > 0.0 && self.stream.unit() < self.loss;
        if lost || self.road.wait(now) > self.queue {
            return Fate::Lost;
        }
        match self.road.cross(now, 0, 1, 0, segment.wire_bytes() as u32) {
            Some(arrives) => Fate::Arrives(arrives - now),
            None => Fate::Lost,
        }
    }
}

/// Loses, delays, reorders and duplicates at random until `until`, and then only delays.
pub struct Storm {
    pub stream: RandomStream,
    pub until: Time,
    pub loss: f64,
    pub duplication: f64,
    pub delay: Span,
    pub jitter: Span,
}

impl Network for Storm {
    fn carry(&mut self, now: Time, _: &Segment) -> Fate {
        if now >= self.until {
            return Fate::Arrives(self.delay);
        }
        let draw = self.stream.unit();
        let late = self.stream.between(Span::ZERO, self.jitter);
        let again = self.stream.between(Span::ZERO, self.jitter * 3);
        if draw < self.loss {
            Fate::Lost
        } else if draw < self.loss + self.duplication {
            Fate::Twice(self.delay + late, self.delay + again)
        } else if draw > 0.9 {
            Fate::Marked(self.delay + late)
        } else {
            Fate::Arrives(self.delay + late)
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arrival(Time, u64, usize, usize);

/// Two connections, client 0 and server 1, and what is under way.
pub struct Pair<N> {
    pub now: Time,
    pub ends: [Option<Connection>; 2],
    configs: [Arc<Config>; 2],
    pub networks: [N; 2],
    queue: BinaryHeap<Reverse<Arrival>>,
    slots: Vec<Segment>,
    free: Vec<usize>,
    sequence: u64,
    pub delivered: u64,
    /// Every segment that was sent, if kept: when, and by which end.
    pub log: Option<Vec<(Time, usize, Segment)>>,
    /// Bytes each application has read, and whether it reads by itself.
    pub read: [u64; 2],
    pub reads: [bool; 2],
    /// Whether super-segments are cut before the network.
    pub cut: bool,
}

impl<N: Network> Pair<N> {
    pub fn new(client: &Config, server: &Config, networks: [N; 2]) -> Pair<N> {
        let configs = [Arc::new(client.clone()), Arc::new(server.clone())];
        let mut pair = Pair {
            now: Time::START,
            ends: [Some(Connection::connect(&configs[0], Time::START)), None],
            configs,
            networks,
            queue: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            sequence: 0,
            delivered: 0,
            log: None,
            read: [0; 2],
            reads: [true; 2],
            cut: true,
        };
        pair.flush(0);
        pair
    }

    pub fn end(&mut self, who: usize) -> &mut Connection {
        self.ends[who].as_mut().expect("not open yet")
    }

    /// Puts everything that one end wants to say on the wire.
    pub fn flush(&mut self, who: usize) {
        let quiet = self.ends[who].as_ref().is_some_and(Connection::is_idle);
        let mut burst = 0;
        while let Some(segment) = self.ends[who].as_mut().and_then(|c| c.poll_transmit(self.now)) {
            burst += 1;
            assert!(burst < 100_000, "a poll that never ends: {segment:?}");
            assert!(!quiet, "it had nothing to say: {segment:?}");
            let frames = if self.cut { segment.frames() } else { 1 };
            for index in 0..frames {
                let frame = if self.cut { segment.frame(index) } else { segment };
                self.launch(who, frame);
            }
        }
        self.check_patience(who);
    }

    /// What an end says of a poll that a driver may spare itself has to be true.
    fn check_patience(&self, who: usize) {
        let Some(end) = &self.ends[who] else { return };
        if end.can_sleep() {
            let timer = end.next_timer().unwrap_or(self.now + Span::from_secs(100));
            let before = Time::from_nanos(timer.nanos() - 1).max(self.now);
            assert_eq!(end.clone().poll_transmit(before), None, "patience at {before}");
        }
        if end.is_blocked() {
            let mut end = end.clone();
            end.write(self.now, 100_000);
            assert_eq!(end.poll_transmit(self.now), None, "held back");
        }
    }

    fn launch(&mut self, who: usize, segment: Segment) {
        if let Some(log) = &mut self.log {
            log.push((self.now, who, segment));
        }
        match self.networks[who].carry(self.now, &segment) {
            Fate::Lost => {}
            Fate::Arrives(delay) => self.schedule(delay, who, segment),
            Fate::Marked(delay) => {
                let mut segment = segment;
                if segment.flags.intersects(Flags::CE) {
                    segment.flags |= Flags::CE;
                }
                self.schedule(delay, who, segment);
            }
            Fate::Twice(first, second) => {
                self.schedule(first, who, segment);
                self.schedule(second, who, segment);
            }
        }
    }

    fn schedule(&mut self, delay: Span, who: usize, segment: Segment) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = segment;
                slot
            }
            None => {
                self.slots.push(segment);
                self.slots.len() - 1
            }
        };
        self.sequence += 1;
        self.queue.push(Reverse(Arrival(self.now + delay, self.sequence, 1 - who, slot)));
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        let arrival = self.queue.peek().map(|Reverse(arrival)| arrival.0);
        let timers = self.ends.iter().flatten().filter_map(Connection::next_timer);
        timers.chain(arrival).min()
    }

    /// Goes on to the next instant and does what happens then. `false` if nothing ever will.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next() else { return false };
        assert!(next >= self.now, "a timer in the past");
        self.now = next;
        match self.queue.peek() {
            Some(Reverse(arrival)) if arrival.0 <= next => {
                let Some(Reverse(Arrival(_, _, to, slot))) = self.queue.pop() else { return false };
                self.free.push(slot);
                let segment = self.slots[slot];
                self.delivered += 1;
                self.arrive(to, &segment);
                self.flush(to);
            }
            _ => {
                for who in 0..2 {
                    if let Some(end) = &mut self.ends[who]
                        && end.next_timer().is_some_and(|at| at <= self.now)
                    {
                        end.on_timer(self.now);
                        self.flush(who);
                    }
                }
            }
        }
        true
    }

    fn arrive(&mut self, to: usize, segment: &Segment) {
        let syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        if to == 1 && syn && self.ends[1].is_none() {
            self.ends[1] = Some(Connection::accept(&self.configs[1], self.now, segment));
        } else if let Some(end) = &mut self.ends[to] {
            end.receive(self.now, segment);
            if self.reads[to] {
                let bytes = end.readable();
                if bytes > 0 {
                    end.read(self.now, bytes);
                    self.read[to] += bytes;
                }
            }
        }
    }

    /// Runs to `until`; `now` is that instant afterwards.
    pub fn run_until(&mut self, until: Time) {
        while self.next().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = until;
    }

    /// Runs until both ends are established.
    pub fn establish(&mut self) {
        while !self.ends.iter().all(|end| end.as_ref().is_some_and(Connection::is_established)) {
            assert!(self.step(), "no connection");
        }
    }

    /// The client writes without end until `until`.
    pub fn bulk_until(&mut self, until: Time) {
        self.fill(0);
        while self.next().is_some_and(|at| at <= until) {
            self.step();
            self.fill(0);
        }
        self.now = until;
    }

    pub fn fill(&mut self, who: usize) {
        let now = self.now;
        if let Some(end) = &mut self.ends[who]
            && end.write_space() > 0
        {
            end.write(now, u64::MAX);
            self.flush(who);
        }
    }
}
