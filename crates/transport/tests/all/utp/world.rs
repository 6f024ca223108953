//! Two hosts, a network between them, and a clock for each, in virtual time. The network is not a topology:
//! tests and traces name the datagrams that it loses, delays or doubles, and it looks into them.

use super::host::Host;
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::utp::{PacketKind, wire};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

/// What the network does to a datagram.
#[derive(Clone, Debug)]
pub enum Fate {
    Arrives(Span),
    Twice(Span, Span),
    Lost,
}

/// One direction of the network.
pub trait Network {
    /// `number` counts datagrams of this direction from 0.
    fn carry(&mut self, now: Time, number: u64, datagram: &[u8], dont_fragment: bool) -> Fate;
}

/// A path that only delays, and loses the datagrams with these numbers.
pub struct Quiet {
    pub delay: Span,
    pub lost: Vec<u64>,
    /// These arrive so much later.
    pub late: Vec<(u64, Span)>,
}

impl Quiet {
    pub fn new(millis: u64) -> Quiet {
        Quiet { delay: Span::from_millis(millis), lost: Vec::new(), late: Vec::new() }
    }
}

impl Network for Quiet {
    fn carry(&mut self, _: Time, number: u64, _: &[u8], _: bool) -> Fate {
        if self.lost.contains(&number) {
            return Fate::Lost;
        }
        let late = self.late.iter().find(|late| late.0 == number).map_or(Span::ZERO, |late| late.1);
        Fate::Arrives(self.delay + late)
    }
}

/// Loses, delays, reorders and duplicates at random until `until`, and then only delays.
#[derive(Clone, Debug)]
pub struct Storm {
    pub stream: RandomStream,
    pub until: Time,
    pub loss: f64,
    pub duplication: f64,
    pub delay: Span,
    pub jitter: Span,
    /// From here on the path is longer by this.
    pub jump: (Time, Span),
    /// Larger datagrams vanish, if they may not be fragmented or if fragments vanish too.
    pub mtu: usize,
    pub black_hole: bool,
    /// Whether SYN-ACKs are spared, of which libutp repeats none.
    pub spare: Option<fn(&[u8]) -> bool>,
}

impl Network for Storm {
    fn carry(&mut self, now: Time, _: u64, datagram: &[u8], dont_fragment: bool) -> Fate {
        if datagram.len() > self.mtu && (dont_fragment || self.black_hole) {
            return Fate::Lost;
        }
        let jump = if now >= self.jump.0 { self.jump.1 } else { Span::ZERO };
        let delay = self.delay + jump;
        if now >= self.until {
            return Fate::Arrives(delay);
        }
        let draw = self.stream.unit();
        let late = self.stream.between(Span::ZERO, self.jitter);
        let again = self.stream.between(Span::ZERO, self.jitter * 3);
        let spared = self.spare.is_some_and(|spare| spare(datagram));
        if draw < self.loss && !spared {
            Fate::Lost
        } else if draw < self.loss + self.duplication {
            Fate::Twice(delay + late, delay + again)
        } else {
            Fate::Arrives(delay + late)
        }
    }
}

/// A host's clock: an offset, and too fast or too slow by millionths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    pub offset: Span,
    pub drift_ppm: i64,
}

impl Clock {
    pub fn local(self, at: Time) -> Time {
        let nanos = i128::from(at.nanos());
        let drift = nanos * i128::from(self.drift_ppm) / 1_000_000;
        Time::from_nanos((nanos + drift + i128::from(self.offset.nanos())) as u64)
    }
    /// The first instant at which the clock shows `local` or later.
    fn global(self, local: Time) -> Time {
        let since = i128::from(local.nanos()) - i128::from(self.offset.nanos());
        let guess = since.max(0) * 1_000_000 / (1_000_000 + i128::from(self.drift_ppm));
        let mut at = Time::from_nanos((guess - 2).max(0) as u64);
        while self.local(at) < local {
            at += Span::from_nanos(1);
        }
        at
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arrival(Time, u64, usize, Vec<u8>);

/// A datagram that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Time,
    pub who: usize,
    pub lost: bool,
    pub bytes: Vec<u8>,
}

/// Host 0 calls, host 1 answers.
pub struct World<A, B, N> {
    pub now: Time,
    pub hosts: (A, B),
    pub networks: [N; 2],
    pub clocks: [Clock; 2],
    arrivals: BinaryHeap<Reverse<Arrival>>,
    sequence: u64,
    numbers: [u64; 2],
    /// Everything that was sent, if kept.
    pub log: Option<Vec<Sent>>,
}

impl<A: Host, B: Host, N: Network> World<A, B, N> {
    pub fn new(hosts: (A, B), networks: [N; 2], clocks: [Clock; 2]) -> World<A, B, N> {
        World {
            now: Time::START,
            hosts,
            networks,
            clocks,
            arrivals: BinaryHeap::new(),
            sequence: 0,
            numbers: [0; 2],
            log: None,
        }
    }

    pub fn host(&mut self, who: usize) -> &mut dyn Host {
        if who == 0 { &mut self.hosts.0 } else { &mut self.hosts.1 }
    }

    pub fn peek(&self, who: usize) -> &dyn Host {
        if who == 0 { &self.hosts.0 } else { &self.hosts.1 }
    }

    /// The application has its turn, and what the host wants to say goes out.
    pub fn flush(&mut self, who: usize) {
        let now = self.clocks[who].local(self.now);
        self.host(who).settle(now);
        let mut burst = 0;
        while let Some((bytes, dont_fragment)) = self.host(who).poll(now) {
            burst += 1;
            assert!(burst < 10_000, "a poll that never ends");
            let number = self.numbers[who];
            self.numbers[who] += 1;
            let fate = self.networks[who].carry(self.now, number, &bytes, dont_fragment);
            if let Some(log) = &mut self.log {
                let lost = matches!(fate, Fate::Lost);
                log.push(Sent { at: self.now, who, lost, bytes: bytes.clone() });
            }
            match fate {
                Fate::Lost => {}
                Fate::Arrives(delay) => self.schedule(delay, 1 - who, bytes),
                Fate::Twice(first, second) => {
                    self.schedule(first, 1 - who, bytes.clone());
                    self.schedule(second, 1 - who, bytes);
                }
            }
        }
    }

    fn schedule(&mut self, delay: Span, to: usize, bytes: Vec<u8>) {
        self.sequence += 1;
        self.arrivals.push(Reverse(Arrival(self.now + delay, self.sequence, to, bytes)));
    }

    fn timer(&self, who: usize) -> Option<Time> {
        let local = self.clocks[who].local(self.now);
        self.peek(who).next_timer(local).map(|at| self.clocks[who].global(at).max(self.now))
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        let arrival = self.arrivals.peek().map(|Reverse(arrival)| arrival.0);
        [self.timer(0), self.timer(1), arrival].into_iter().flatten().min()
    }

    /// Goes on to the next instant and does one thing that happens then. `false` if nothing will.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next() else { return false };
        assert!(next >= self.now, "a timer in the past");
        self.now = next;
        if self.arrivals.peek().is_some_and(|Reverse(arrival)| arrival.0 <= next) {
            let Some(Reverse(Arrival(_, _, to, bytes))) = self.arrivals.pop() else { return false };
            let local = self.clocks[to].local(self.now);
            self.host(to).receive(local, &bytes);
            self.flush(to);
            return true;
        }
        for who in 0..2 {
            if self.timer(who).is_some_and(|at| at <= self.now) {
                let local = self.clocks[who].local(self.now);
                self.host(who).on_timer(local);
                self.flush(who);
            }
        }
        true
    }

    /// Runs until both ends are over, nothing happens any more, or `until`.
    pub fn run(&mut self, until: Time) {
        self.flush(0);
        let mut still = 0;
        while !(self.hosts.0.is_over() && self.hosts.1.is_over()) && self.now < until {
            let before = self.now;
            if !self.step() {
                break;
            }
            still = if self.now == before { still + 1 } else { 0 };
            assert!(still < 100_000, "time stands still at {}", self.now);
        }
    }

    /// The log as a table: milliseconds, direction, type, id, difference, numbers, length, mask.
    pub fn trace(&self) -> String {
        let mut table = String::new();
        for sent in self.log.as_deref().unwrap_or(&[]) {
            let (packet, _) = wire::decode(&sent.bytes).expect("uTP");
            let kind = match packet.kind {
                PacketKind::Data => "DATA",
                PacketKind::Fin => "FIN",
                PacketKind::State => "STATE",
                PacketKind::Reset => "RESET",
                PacketKind::Syn => "SYN",
            };
            let mut line = String::new();
            let _ = write!(
                line,
                "{:>8.1} {} {kind:<5} {:04x} {:>8} {:04x} {:04x} {:>7} {:>4} {:?}{}",
                sent.at.seconds() * 1e3,
                ["A>B", "B>A"][sent.who],
                packet.connection_id,
                packet.timestamp_difference,
                packet.seq_nr,
                packet.ack_nr,
                packet.window,
                sent.bytes.len(),
                packet.sack,
                if sent.lost { " lost" } else { "" },
            );
            let _ = writeln!(table, "{}", line.trim_end());
        }
        table
    }
}
