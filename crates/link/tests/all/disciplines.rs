//! What holds of every discipline, whatever is offered, taken and changed.

use flashcrowd_base::{Probability, RandomStream, Rate, Span, Time};
use flashcrowd_link::{
    Ack, AckFilter, Cake, Choke, CoDel, Conditions, Direction, Drr, Ecn, Flow, FqCoDel, Framing,
    Isolation, Loss, LossModel, Outcome, Packet, Pie, Queue, QueueLimit, Red, Sfq, Side,
};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Probe {
    bytes: u32,
    tag: u32,
    flow: u32,
    ecn: Ecn,
    number: u32,
}

impl Packet for Probe {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn tag(&self) -> u32 {
        self.tag
    }
    fn flow(&self) -> Flow {
        Flow { connection: u64::from(self.flow), source: self.flow % 3, target: self.flow % 2 }
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn ack(&self) -> Option<Ack> {
        let pure = self.bytes < 60;
        Some(Ack { pure, number: self.number, sacked: 0, flags: 0 })
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Waits,
    Due(Time),
    Dropped,
    Lost,
}

/// One of every kind, with limits that matter, and the most packets that may wait in it.
fn queues() -> Vec<(Queue, u32)> {
    let short = Span::from_millis(20);
    let isolation = [Isolation::TripleIsolate, Isolation::Flowblind, Isolation::Hosts];
    let cake = |isolation, ack_filter, bandwidth: u64| Cake {
        bandwidth_bps: Rate::from_bps(bandwidth),
        isolation,
        ack_filter,
        memory_limit_bytes: Some(20_000),
        rtt_ns: short,
        ..Cake::default()
    };
    let often = Sfq { perturb_ns: Some(short), quantum_bytes: 700, ..Sfq::default() };
    let mut queues = vec![
        (Queue::packets(20), 20),
        (CoDel { limit_packets: 20, interval_ns: short, ..CoDel::default() }.into(), 20),
        (CoDel { limit_packets: 90, interval_ns: short, ecn: true, ..CoDel::default() }.into(), 90),
        (FqCoDel { limit_packets: 15, flows: 4, ..FqCoDel::default() }.into(), 15),
        (FqCoDel { interval_ns: short, limit_packets: 90, ..FqCoDel::default() }.into(), 90),
        (Pie { limit_packets: 30, max_burst_ns: short, ..Pie::default() }.into(), 30),
        (Red { limit_packets: 25, weight: 0.1, ecn: true, ..Red::default() }.into(), 25),
        (Choke { limit_packets: 25, weight: 0.1, ecn: true, ..Choke::default() }.into(), 25),
        (Drr { limit_packets: 15, flows: 4, quantum_bytes: 300 }.into(), 15),
        (Drr { limit_packets: 60, ..Drr::default() }.into(), 60),
        (Sfq { limit_packets: 15, flows: 3, divisor: 4, ..Sfq::default() }.into(), 15),
        (Sfq { limit_packets: 60, depth_packets: 9, head_drop: true, ..often.clone() }.into(), 60),
        (often.into(), 127),
    ];
    for isolation in isolation {
        queues.push((cake(isolation, AckFilter::Off, 0).into(), 20_000 / 40));
        queues.push((cake(isolation, AckFilter::Conservative, 700_000).into(), 20_000 / 40));
        queues.push((cake(isolation, AckFilter::Aggressive, 5_000_000).into(), 20_000 / 40));
    }
    queues
}

struct World {
    now: Time,
    link: Direction,
    line: Conditions,
    packets: Vec<(Probe, Fate)>,
    /// When transmissions ended, and of how many bytes.
    departures: Vec<(Time, u32)>,
}

impl World {
    fn new(queue: Queue, side: Option<Side>) -> World {
        let model = LossModel::Bernoulli { probability: Probability::new(0.1).unwrap_or_default() };
        let line = Conditions {
            rate_bps: Rate::from_bps(1_000_000),
            delay_ns: Span::from_millis(10),
            loss: side.map(|side| Loss { side, model }),
            queue,
            ..Conditions::default()
        };
        let link = Direction::new(RandomStream::new(1, "test", 0));
        World { now: Time::START, link, line, packets: Vec::new(), departures: Vec::new() }
    }

    fn drop(packets: &mut [(Probe, Fate)], tag: u32) {
        let fate = &mut packets[tag as usize - 1].1;
        assert_eq!(*fate, Fate::Waits, "{tag} is dropped, and was not waiting");
        *fate = Fate::Dropped;
    }

    fn offer(&mut self, bytes: u32, flow: u32, ecn: Ecn) {
        let tag = self.packets.len() as u32 + 1;
        let packet = Probe { bytes, tag, flow, ecn, number: tag };
        let packets = &mut self.packets;
        let outcome = self.link.offer(&self.line, self.now, &packet, &mut |gone, _| {
            World::drop(packets, gone);
        });
        let fate = match outcome {
            Outcome::Arrives(time) => Fate::Due(time),
            Outcome::Queued => Fate::Waits,
            Outcome::Dropped => Fate::Dropped,
            Outcome::Lost => Fate::Lost,
        };
        self.packets.push((packet, fate));
    }

    /// Takes what leaves up to now.
    fn run(&mut self) {
        while self.link.next_dequeue().is_some_and(|due| due <= self.now) {
            let packets = &mut self.packets;
            let left =
                self.link.dequeue(&self.line, self.now, &mut |gone, _| World::drop(packets, gone));
            let Some(left) = left else { continue };
            let (packet, fate) = &mut self.packets[left.tag as usize - 1];
            assert_eq!(*fate, Fate::Waits);
            assert!(!left.marked || packet.ecn != Ecn::NotEct);
            *fate = left.arrives.map_or(Fate::Lost, Fate::Due);
            self.departures.push((left.departs, self.line.framing.wire_bytes(packet.bytes)));
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Conditions)) {
        let mut new = self.line.clone();
        change(&mut new);
        for moved in self.link.change(self.now, &self.line, &new) {
            let fate = &mut self.packets[moved.tag as usize - 1].1;
            assert_eq!(*fate, Fate::Due(moved.arrived));
            *fate = Fate::Due(moved.arrives);
        }
        self.line = new;
    }

    fn count(&self, wanted: impl Fn(Fate) -> bool) -> u64 {
        self.packets.iter().filter(|(_, fate)| wanted(*fate)).count() as u64
    }

    fn check(&mut self) {
        let waiting = self.count(|fate| fate == Fate::Waits);
        assert_eq!(waiting, u64::from(self.link.waiting_packets()));
        let counters = self.link.counters();
        let dropped = counters.dropped + counters.dropped_early + counters.superseded;
        assert_eq!(dropped, self.count(|fate| fate == Fate::Dropped));
        assert_eq!(counters.lost, self.count(|fate| fate == Fate::Lost));
        // Each flow's packets arrive in the order in which they were offered.
        for flow in 0..6 {
            let arrivals: Vec<Time> = self
                .packets
                .iter()
                .filter(|(packet, _)| packet.flow == flow)
                .filter_map(|(_, fate)| if let Fate::Due(time) = fate { Some(*time) } else { None })
                .collect();
            assert!(arrivals.is_sorted(), "{arrivals:?}");
        }
    }
}

fn ecn(code: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(code) % 4]
}

/// A gap in half milliseconds, a size, a flow and its codepoint, and a change or none.
type Step = (u64, u32, u32, u8, u8);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![Just(40u32), 40u32..1500, Just(1500u32)];
    prop::collection::vec((0u64..20, bytes, 0u32..6, 0u8..4, 0u8..60), 1..300)
}

proptest! {
    /// Packets are conserved, none is named twice, flows keep their order, limits hold, and the line is
    /// never faster than its rate.
    #[test]
    fn a_discipline_loses_nothing(which in 0..queues().len(), steps in steps(), side in 0u8..3) {
        let (queue, limit) = queues()[which].clone();
        let side = [None, Some(Side::Sender), Some(Side::Receiver)][usize::from(side)];
        let mut world = World::new(queue, side);
        for (gap, bytes, flow, code, _) in steps {
            world.now += Span::from_micros(500 * gap);
            world.run();
            world.offer(bytes, flow, ecn(code));
            prop_assert!(world.link.waiting_packets() <= limit);
            if gap % 2 == 0 {
                world.run();
            }
        }
        world.check();
        world.now = Time::START + Span::from_secs(60);
        world.run();
        prop_assert_eq!(world.link.waiting_packets(), 0);
        prop_assert_eq!(world.link.next_dequeue(), None);
        world.check();
        let rate = world.line.rate_bps.expect("the line has a rate");
        for pair in world.departures.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= rate.transmission(u64::from(pair[1].1)));
        }
    }

    /// The same while rate, delay, framing and discipline change, apart from limits: what waits stays.
    #[test]
    fn what_waits_stays_when_the_link_changes(which in 0..queues().len(), steps in steps()) {
        let mut world = World::new(queues()[which].0.clone(), None);
        for (gap, bytes, flow, code, change) in steps {
            world.now += Span::from_micros(500 * gap);
            world.run();
            let before = world.link.waiting_packets();
            match change {
                0..=2 => {
                    let (queue, _) = queues()[bytes as usize % queues().len()].clone();
                    world.change(|line| line.queue = queue);
                }
                3 | 4 => {
                    world.change(|line| line.rate_bps = Rate::from_bps(1000 * (100 + u64::from(bytes))));
                }
                5 | 6 => {
                    world.change(|line| line.delay_ns = Span::from_millis(u64::from(bytes) % 80));
                }
                7 => world.change(|line| line.framing = Framing::Atm { encapsulation_bytes: 40 }),
                _ => {}
            }
            prop_assert_eq!(world.link.waiting_packets(), before);
            world.offer(bytes, flow, ecn(code));
            world.run();
        }
        world.check();
        world.now += Span::from_secs(600);
        world.run();
        prop_assert_eq!(world.link.waiting_packets(), 0);
        world.check();
    }

    /// An engine that comes late gets what one that comes in time gets.
    #[test]
    fn being_late_changes_nothing(which in 0..queues().len(), gaps in prop::collection::vec(0u64..20, 1..100)) {
        let departures = |patient: bool| {
            let mut world = World::new(queues()[which].0.clone(), None);
            for (tag, &gap) in gaps.iter().enumerate() {
                let next = world.now + Span::from_micros(500 * gap);
                while let (false, Some(due)) = (patient, world.link.next_dequeue()) {
                    if due > next {
                        break;
                    }
                    world.now = due;
                    world.run();
                }
                world.now = next;
                world.run();
                world.offer(1000, tag as u32 % 3, Ecn::Ect0);
            }
            world.departures
        };
        prop_assert_eq!(departures(true), departures(false));
    }
}

/// Limits hold for what is left of a discipline, too, when the link is drop-tail again.
#[test]
fn a_discipline_that_goes_is_emptied_in_order() {
    let (packets, bytes) = (Some(11), Some(11_000));
    for limit in [QueueLimit { packets: None, bytes }, QueueLimit { packets, bytes: None }] {
        let mut world = World::new(FqCoDel::default().into(), None);
        for packet in 0..10 {
            world.offer(1000, packet % 2, Ecn::NotEct);
        }
        world.run();
        world.change(|line| line.queue = limit.into());
        for _ in 0..3 {
            world.offer(1000, 5, Ecn::NotEct);
        }
        // Ten were there, the one in transmission included; one more has room.
        assert_eq!(world.count(|fate| fate == Fate::Dropped), 2);
        world.now += Span::from_secs(1);
        world.run();
        let arrivals: Vec<Time> = world
            .packets
            .iter()
            .filter_map(|(_, fate)| if let Fate::Due(time) = fate { Some(*time) } else { None })
            .collect();
        assert_eq!(arrivals.len(), 11);
        assert!(arrivals.is_sorted());
        // Then it is a drop-tail queue as any other.
        world.offer(1000, 5, Ecn::NotEct);
        assert_eq!(world.packets[13].1, Fate::Due(world.now + Span::from_millis(18)));
    }
}

/// A discipline draws from a stream of its own: losses are those of the link without one.
#[test]
fn losses_are_the_same_with_and_without_a_discipline() {
    let lost = |queue: Queue| {
        let mut world = World::new(queue, Some(Side::Sender));
        for _ in 0..200 {
            world.offer(1000, 1, Ecn::NotEct);
            world.now += Span::from_millis(20);
            world.run();
        }
        world.packets.iter().map(|(_, fate)| *fate == Fate::Lost).collect::<Vec<bool>>()
    };
    let plain = lost(Queue::packets(50));
    assert!(plain.iter().any(|&lost| lost));
    for (queue, _) in queues() {
        assert_eq!(lost(queue), plain);
    }
}

/// Drop-tail knows when a packet departs; all others say so when it does.
#[test]
fn a_managed_queue_decides_when_packets_leave() {
    for (queue, _) in queues() {
        let managed = queue.is_managed();
        let mut world = World::new(queue, None);
        world.offer(1000, 1, Ecn::NotEct);
        assert_eq!(world.count(|fate| matches!(fate, Fate::Due(_))) == 0, managed);
    }
}

/// With a queue that stands, `waited` and `max_packets` are counted as for drop-tail.
#[test]
fn waits_are_counted_as_for_drop_tail() {
    let counters = |queue: Queue| {
        let mut world = World::new(queue, None);
        for _ in 0..5 {
            world.offer(1250, 1, Ecn::NotEct);
            world.run();
        }
        assert_eq!(world.link.queued_packets(world.now), 5);
        let delay = world.link.queueing_delay(&world.line, world.now);
        assert_eq!(delay, Span::from_millis(50));
        world.now += Span::from_secs(1);
        world.run();
        world.link.counters()
    };
    let plain = counters(Queue::packets(50));
    assert_eq!((plain.waited, plain.max_packets), (Span::from_millis(100), 5));
    for queue in [CoDel::default().into(), FqCoDel::default().into(), Pie::default().into()] {
        assert_eq!(counters(queue), plain);
    }
    assert_eq!(counters(Cake::default().into()), plain);
    assert_eq!(counters(Red::default().into()), plain);
    assert_eq!(counters(Choke::default().into()), plain);
    assert_eq!(counters(Sfq::default().into()), plain);
    assert_eq!(counters(Drr::default().into()), plain);
}

#[test]
fn a_plan_has_every_parameter_and_no_other() {
    let written = serde_json::to_value(Queue::from(CoDel::default())).unwrap();
    assert_eq!(written["kind"], "codel");
    assert_eq!(serde_json::from_value::<Queue>(written.clone()).unwrap(), CoDel::default().into());
    let mut odd = written;
    odd["taregt_ns"] = 1.into();
    assert!(serde_json::from_value::<Queue>(odd).is_err());
    let limit = serde_json::json!({ "kind": "drop-tail", "packets": 5, "bytes": null });
    assert_eq!(serde_json::from_value::<Queue>(limit).unwrap(), Queue::packets(5));
}

/// One parameter of each discipline, and the rules between two: that each bound of the schema holds is tested for
/// all tables alike (`tests/plan/test_settings.py`).
#[test]
fn parameters_that_cannot_be_are_refused() {
    let refused = |queue: Queue| queue.check().err().map(|refusal| refusal.path);
    for (queue, _) in queues() {
        assert_eq!(refused(queue), None);
    }
    let wrong = |queue: Queue, path: &str| assert_eq!(refused(queue).as_deref(), Some(path));
    assert_eq!(refused(Queue::packets(1)), None);
    wrong(Queue::packets(0), "packets");
    wrong(QueueLimit { packets: None, bytes: Some(0) }.into(), "packets");
    wrong(CoDel { limit_packets: 0, ..CoDel::default() }.into(), "limit_packets");
    wrong(FqCoDel { flows: 65_537, ..FqCoDel::default() }.into(), "flows");
    wrong(Pie { alpha_hz: f64::NAN, ..Pie::default() }.into(), "alpha_hz");
    wrong(Red { weight: 0.0, ..Red::default() }.into(), "weight");
    wrong(Red { max_packets: 5.0, ..Red::default() }.into(), "max_packets");
    assert_eq!(refused(Red { max_packets: 5.1, ..Red::default() }.into()), None);
    wrong(Choke { max_packets: 5.0, ..Choke::default() }.into(), "max_packets");
    wrong(Sfq { limit_packets: 1, ..Sfq::default() }.into(), "limit_packets");
    wrong(Drr { quantum_bytes: 255, ..Drr::default() }.into(), "quantum_bytes");
    wrong(Cake { rtt_ns: Span::ZERO, ..Cake::default() }.into(), "rtt_ns");
    wrong(Cake { memory_limit_bytes: Some(1513), ..Cake::default() }.into(), "memory_limit_bytes");
    assert_eq!(refused(Cake { memory_limit_bytes: Some(1514), ..Cake::default() }.into()), None);
}
