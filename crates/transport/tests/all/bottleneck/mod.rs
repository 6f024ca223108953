//! Controllers alone at a bottleneck: senders that always have data, a queue, and an acknowledgement
//! for every packet. There is no transport, so nothing but the controllers is tested.
#![allow(dead_code, unreachable_pub)]

use crate::road::Road;
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_link::Queue;
use flashcrowd_transport::congestion::{
    Ack, AnyController, Controller, HyStartKind, Kind, Ledbat, Loss, Params,
};
use std::collections::BTreeMap;

/// A path: what it costs to send, and how long it takes.
#[derive(Clone, Debug)]
pub struct Path {
    pub rate: Rate,
    /// Payload of a packet, and its bytes on the wire.
    pub payload: u32,
    pub wire: u64,
    /// One way.
    pub delay: Span,
    /// Packets that fit in the queue, the one being sent included.
    pub buffer: u32,
    /// How often timers are looked at.
    pub tick: Span,
}

impl Path {
    /// 10 Mbit/s and 25 ms each way for libutp's packets on a 1500-byte path: 1432 bytes of
    /// payload, 20 of uTP, 28 of UDP and IPv4, 38 of Ethernet.
    pub fn ten_megabits() -> Path {
        Path {
            rate: Rate::from_bps(10_000_000).expect("a rate"),
            payload: 1432,
            wire: 1518,
            delay: Span::from_millis(25),
            buffer: 100_000,
            tick: Span::from_millis(10),
        }
    }
}

/// One sender.
pub struct Flow {
    pub controller: AnyController,
    pub start: Time,
    /// Never more than this is in flight, whatever the controller says.
    pub cap: u64,
    /// Added to every delay: the clocks differ. And how much more in every second.
    pub offset: u32,
    pub drift: i64,
    pub delivered: u64,
    pub losses: u64,
    pub timeouts: u64,
    packet: u64,
    in_flight: u64,
    nxt: u64,
    una: u64,
    /// Packets that were sent and not acknowledged: offset, when.
    sent: std::collections::VecDeque<(u64, Time)>,
    srtt: Span,
    min: Span,
    limited_at: Time,
    timer: Time,
}

impl Flow {
    pub fn new(kind: Kind, table: Option<Ledbat>, path: &Path, start: Time) -> Flow {
        let params = Params {
            now: start,
            mss: path.payload,
            min_window: 0,
            ledbat: table,
            initial_window: u64::from(path.payload),
            hystart: HyStartKind::None,
            count_acks: false,
            paced: false,
        };
        Flow {
            controller: AnyController::new(kind, params),
            start,
            cap: u64::MAX,
            offset: 1_000_000,
            drift: 0,
            delivered: 0,
            losses: 0,
            timeouts: 0,
            packet: path.payload.into(),
            in_flight: 0,
            nxt: 0,
            una: 0,
            sent: std::collections::VecDeque::new(),
            srtt: Span::ZERO,
            min: Span::MAX,
            limited_at: Time::START,
            timer: Time::NEVER,
        }
    }

    /// Packets sent.
    pub fn sent(&self) -> u64 {
        self.nxt / self.packet
    }

    fn rto(&self) -> Span {
        if self.srtt.is_zero() {
            Span::from_secs(3)
        } else {
            (self.srtt * 2).max(Span::from_secs(1))
        }
    }
}

/// A packet that arrives, and is acknowledged.
struct Arrival {
    flow: usize,
    offset: u64,
    sent: Time,
}

/// The bottleneck and its senders.
pub struct Bottleneck {
    pub now: Time,
    pub path: Path,
    pub flows: Vec<Flow>,
    road: Road,
    number: u32,
    /// By when the packet arrives, and its number.
    arrivals: BTreeMap<(Time, u32), Arrival>,
    next_tick: Time,
    /// Greatest wait in the queue since this was last reset.
    pub greatest_wait: Span,
}

impl Bottleneck {
    pub fn new(path: Path, flows: Vec<Flow>) -> Bottleneck {
        Bottleneck {
            now: Time::START,
            road: Road::new(2, path.delay, Some(path.rate), Queue::packets(path.buffer)),
            path,
            flows,
            number: 0,
            arrivals: BTreeMap::new(),
            next_tick: Time::START,
            greatest_wait: Span::ZERO,
        }
    }

    fn send(&mut self, index: usize) {
        loop {
            let flow = &mut self.flows[index];
            let packet = flow.packet;
            if flow.in_flight + packet > flow.controller.window().min(flow.cap) {
                flow.limited_at = self.now;
                return;
            }
            let offset = flow.nxt;
            flow.nxt += packet;
            flow.in_flight += packet;
            flow.sent.push_back((offset, self.now));
            if flow.timer == Time::NEVER {
                flow.timer = self.now + flow.rto();
            }
            let wait = self.road.wait(self.now);
            self.number += 1;
            let bytes = self.path.wire as u32;
            let Some(arrives) = self.road.cross(self.now, 0, 1, self.number, bytes) else {
                continue;
            };
            self.greatest_wait = self.greatest_wait.max(wait);
            let arrival = Arrival { flow: index, offset, sent: self.now };
            self.arrivals.insert((arrives, self.number), arrival);
        }
    }

    /// Gives the bottleneck another rate, for what waits there, too.
    pub fn set_rate(&mut self, rate: Rate) {
        self.path.rate = rate;
        for moved in self.road.set_rate(self.now, Some(rate)).into_values() {
            if let Some(arrival) = self.arrivals.remove(&(moved.arrived, moved.tag)) {
                self.arrivals.insert((moved.arrives, moved.tag), arrival);
            }
        }
    }

    /// The acknowledgement of a packet comes back, which arrived then.
    fn acknowledge(&mut self, arrived: Time, arrival: &Arrival) {
        let now = self.now;
        let flow = &mut self.flows[arrival.flow];
        let packet = flow.packet;
        let micros = arrived.since(arrival.sent).nanos() / 1000;
        let drifted = (flow.drift as f64 * arrived.seconds()) as i64 as u32;
        let one_way = (micros as u32).wrapping_add(flow.offset).wrapping_add(drifted);
        let rtt = now.since(arrival.sent);
        flow.srtt = if flow.srtt.is_zero() { rtt } else { (flow.srtt * 7 + rtt) / 8 };
        flow.min = flow.min.min(rtt);
        // A queue keeps the order: what was sent before and is not acknowledged is lost.
        let mut first_lost = None;
        let mut known = false;
        let mut lost = 0;
        while let Some(&(offset, _)) = flow.sent.front() {
            if offset > arrival.offset {
                break;
            }
            flow.sent.pop_front();
            flow.in_flight -= packet;
            if offset == arrival.offset {
                known = true;
                break;
            }
            first_lost.get_or_insert(offset);
            lost += packet;
        }
        if !known {
            return; // It was given up at a timeout.
        }
        flow.una = arrival.offset + packet;
        if let Some(offset) = first_lost {
            flow.losses += lost / packet;
            let window = flow.controller.window();
            let (in_flight, nxt) = (flow.in_flight, flow.nxt);
            flow.controller.on_loss(&Loss { now, window, in_flight, offset, nxt });
        }
        flow.delivered += packet;
        let window_limited = now.since(flow.limited_at) <= flow.srtt;
        flow.controller.on_ack(&Ack {
            now,
            acked: packet,
            uncounted: 0,
            rtt: Some(rtt),
            one_way_delay: Some(one_way),
            opposite_delay: None,
            in_flight: flow.in_flight + packet,
            window_limited,
            limited_at: flow.limited_at,
            may_grow: true,
            srtt: flow.srtt,
            min_rtt: flow.min,
            una: flow.una,
            nxt: flow.nxt,
            rate: None,
        });
        flow.timer = now + flow.rto();
        self.send(arrival.flow);
    }

    fn tick(&mut self) {
        let now = self.now;
        for index in 0..self.flows.len() {
            let flow = &mut self.flows[index];
            if now < flow.start {
                continue;
            }
            if now >= flow.timer {
                flow.timeouts += 1;
                flow.timer = Time::NEVER;
                if flow.in_flight == 0 {
                    flow.controller.on_idle(now);
                } else {
                    let loss = Loss {
                        now,
                        window: flow.controller.window(),
                        in_flight: 0,
                        offset: flow.una,
                        nxt: flow.nxt,
                    };
                    flow.controller.on_timeout(&loss, false);
                    flow.sent.clear();
                    flow.in_flight = 0;
                }
            }
            self.send(index);
            let flow = &mut self.flows[index];
            if flow.timer == Time::NEVER {
                flow.timer = now + flow.rto();
            }
        }
    }

    /// Goes on until then.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let arrived = self.arrivals.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let ack = if arrived == Time::NEVER { arrived } else { arrived + self.path.delay };
            let next = ack.min(self.next_tick);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            if ack == next {
                if let Some((_, arrival)) = self.arrivals.pop_first() {
                    self.acknowledge(arrived, &arrival);
                }
            } else {
                self.next_tick = next + self.path.tick;
                self.tick();
            }
        }
    }

    /// Bytes each flow delivers until then.
    pub fn deliver_until(&mut self, until: Time) -> Vec<u64> {
        let before: Vec<u64> = self.flows.iter().map(|flow| flow.delivered).collect();
        self.run_until(until);
        self.flows.iter().zip(before).map(|(flow, before)| flow.delivered - before).collect()
    }
}

/// Each part of the whole.
pub fn shares(bytes: &[u64]) -> Vec<f64> {
    let sum: u64 = bytes.iter().sum();
    bytes.iter().map(|&part| part as f64 / sum.max(1) as f64).collect()
}

/// Jain's index.
pub fn jain(bytes: &[u64]) -> f64 {
    let sum: f64 = bytes.iter().map(|&x| x as f64).sum();
    let squares: f64 = bytes.iter().map(|&x| x as f64 * x as f64).sum();
    sum * sum / (bytes.len() as f64 * squares)
}

/// The instant `seconds` seconds into the run.
pub fn at(seconds: u64) -> Time {
    Time::START + Span::from_secs(seconds)
}
