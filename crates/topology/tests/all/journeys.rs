//! Packets from host to host through a topology, driven by a small event loop.

use crate::road::Frame;
use flashcrowd_base::{Quantiles, Rate, Span, Time};
use flashcrowd_link::{Choke, CoDel, Conditions, Drr, FqCoDel, Queue, Red, Sfq};
use flashcrowd_plan::{CorePath, Draw, Host, Link, Network};
use flashcrowd_topology::{Advance, Topology};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What happens next: a packet is due somewhere, or a link can send.
#[derive(Clone, Copy, Debug)]
enum Event {
    Packet(Frame, bool),
    Link(u32),
}

/// Virtual time, and what became of each packet.
struct Journeys {
    topology: Topology<Frame>,
    events: BTreeMap<(Time, u64), Event>,
    scheduled: u64,
    now: Time,
    arrived: Vec<(u32, Time)>,
    gone: Vec<u32>,
}

impl Journeys {
    fn new(network: &Network) -> Journeys {
        Journeys {
            topology: Topology::new(network, 1, false),
            events: BTreeMap::new(),
            scheduled: 0,
            now: Time::START,
            arrived: Vec::new(),
            gone: Vec::new(),
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    fn send(&mut self, at: Time, number: u32, from: u32, to: u32, bytes: u32) {
        let route = self.topology.route(from, to);
        self.schedule(
            at,
            Event::Packet(Frame { number, tag: number, route, step: 0, bytes }, false),
        );
    }

    fn run(&mut self) {
        while let Some(((now, _), event)) = self.events.pop_first() {
            assert!(now >= self.now);
            self.now = now;
            match event {
                Event::Packet(packet, true) => self.arrived.push((packet.number, now)),
                Event::Packet(mut packet, false) => {
                    let gone = &mut self.gone;
                    let mut evict = |packet: Frame, _| gone.push(packet.number);
                    let advance = self.topology.advance(now, &mut packet, |p| *p, &mut evict);
                    self.settle(packet, advance);
                }
                Event::Link(link) => {
                    let gone = &mut self.gone;
                    let mut evict = |packet: Frame, _| gone.push(packet.number);
                    if let Some(mut sent) = self.topology.depart(now, link, &mut evict) {
                        let (keep, packet) = (|p: &Frame| *p, &mut sent.packet);
                        let advance =
                            self.topology.resume(now, link, sent.arrives, packet, keep, &mut evict);
                        self.settle(sent.packet, advance);
                    }
                    self.arm(link);
                }
            }
        }
    }

    fn arm(&mut self, link: u32) {
        if let Some(at) = self.topology.next_departure(link) {
            self.schedule(at, Event::Link(link));
        }
    }

    fn settle(&mut self, packet: Frame, advance: Advance) {
        match advance {
            Advance::Due { at, arrives, .. } => self.schedule(at, Event::Packet(packet, arrives)),
            Advance::Held { link } => self.arm(link),
            Advance::Lost | Advance::Dropped => self.gone.push(packet.number),
        }
    }
}

fn line(kbps: u64, queue: Queue, delay: Span) -> Conditions {
    Conditions {
        rate_bps: Rate::from_bps(kbps * 1000),
        queue,
        delay_ns: delay,
        ..Conditions::default()
    }
}

/// Hosts on lines of their own, each way, around a core of 10 ms with one shared link.
fn network(hosts: u32, up: Queue, down: Queue, shared: Queue) -> Network {
    let link = |name: String, conditions| Link { name, conditions, trace: None, delay: None };
    let mut links = vec![link("shared".to_owned(), line(4000, shared, Span::from_millis(1)))];
    let mut all = Vec::new();
    for host in 0..hosts {
        let first = links.len() as u32;
        links.push(link(format!("{host} up"), line(1000, up.clone(), Span::from_millis(2))));
        links.push(link(format!("{host} down"), line(8000, down.clone(), Span::from_millis(3))));
        let name = format!("host-{host}");
        all.push(Host { name, group: 0, stack: 0, up: vec![first], down: vec![first + 1] });
    }
    let conditions = Conditions { delay_ns: Span::from_millis(10), ..Conditions::default() };
    Network {
        groups: vec!["all".to_owned()],
        hosts: all,
        links,
        cores: vec![CorePath { links: vec![0], conditions, draw: None }],
        traces: Vec::new(),
        core_of: vec![0],
    }
}

fn queues() -> impl Strategy<Value = Queue> {
    prop_oneof![
        (1u32..20).prop_map(Queue::packets),
        (1u32..20).prop_map(|limit| CoDel { limit_packets: limit, ..CoDel::default() }.into()),
        (1u32..20).prop_map(|limit| FqCoDel { limit_packets: limit, ..FqCoDel::default() }.into()),
        Just(Red::default().into()),
        Just(Choke::default().into()),
        (2u32..20).prop_map(|limit| Sfq { limit_packets: limit, ..Sfq::default() }.into()),
        (1u32..20).prop_map(|limit| Drr { limit_packets: limit, ..Drr::default() }.into()),
    ]
}

#[test]
fn a_packet_alone_takes_the_base_delay_and_its_transmissions() {
    let mut journeys =
        Journeys::new(&network(2, Queue::packets(9), Queue::packets(9), CoDel::default().into()));
    journeys.send(Time::START, 1, 0, 1, 1000);
    journeys.run();
    // 8 ms at 1 Mbit/s, 2 at 4, 1 at 8.
    let transmissions = Span::from_millis(8 + 2 + 1);
    let base = Span::from_millis(2 + 1 + 10 + 3);
    assert_eq!(journeys.arrived, [(1, Time::START + transmissions + base)]);
    assert_eq!(journeys.topology.base_rtt(0, 1), base * 2);
}

#[test]
fn pairs_without_lines_share_a_route_and_all_others_have_their_own() {
    let mut bare = network(3, Queue::default(), Queue::default(), Queue::default());
    bare.cores[0].links.clear();
    bare.hosts.iter_mut().for_each(|host| (host.up, host.down) = (Vec::new(), Vec::new()));
    let mut topology: Topology<Frame> = Topology::new(&bare, 1, false);
    assert_eq!(topology.route(0, 1), topology.route(2, 0));
    let known = topology.route(0, 1);
    assert_eq!(topology.constant_delay(known), Some((Span::from_millis(10), 7)));
    bare.hosts[0].up.push(1);
    let mut topology: Topology<Frame> = Topology::new(&bare, 1, false);
    assert_ne!(topology.route(0, 1), topology.route(0, 2));
    assert_eq!(topology.route(1, 2), topology.route(2, 1));
    // A core that changes has a state for each pair.
    let mut changing: Topology<Frame> = Topology::new(&bare, 1, true);
    assert_ne!(changing.route(1, 2), changing.route(2, 1));
}

#[test]
fn both_ways_of_a_pair_draw_the_same() {
    let mut drawn = network(4, Queue::default(), Queue::default(), Queue::default());
    let quantiles = vec![(0.0, 0.010), (1.0, 0.500)];
    let rtt_s = Quantiles::new(quantiles);
    drawn.cores[0].draw = Some(Draw { rtt_s, loss: None });
    let mut topology: Topology<Frame> = Topology::new(&drawn, 7, false);
    let rtts: Vec<Span> = (1..4).map(|to| topology.base_rtt(0, to)).collect();
    assert!(rtts.windows(2).all(|pair| pair[0] != pair[1]), "{rtts:?}");
    for to in 1..4 {
        assert_eq!(topology.base_rtt(to, 0), rtts[to as usize - 1]);
    }
}

/// A node that plays a link elsewhere hands its packets back behind it: what is before them there is
/// the core.
#[test]
fn a_packet_that_comes_from_elsewhere_crosses_the_core_first() {
    let mut two = network(2, Queue::packets(9), Queue::packets(9), Queue::default());
    two.cores[0].links.clear();
    let mut topology: Topology<Frame> = Topology::new(&two, 1, false);
    let route = topology.route(0, 1);
    topology.leave(two.hosts[0].up[0]);
    let mut frame = Frame { number: 1, tag: 1, route, step: 0, bytes: 1000 };
    for (now, step, at) in [(0, 0, 0), (5, 1, 15), (15, 2, 19)] {
        frame.step = step;
        let now = Time::START + Span::from_millis(now);
        let Advance::Due { at: due, arrives, .. } =
            topology.advance(now, &mut frame, |it| *it, &mut |_, _| {})
        else {
            panic!("nothing is full")
        };
        assert_eq!((due, arrives), (Time::START + Span::from_millis(at), step == 2));
    }
}

proptest! {
    /// Whatever is sent through whatever queues arrives once or is reported gone once, and what one
    /// host sends to another arrives in the order in which it was sent.
    #[test]
    fn packets_are_conserved_and_pairs_keep_their_order(
        sends in prop::collection::vec((0u64..20, 0u32..4, 0u32..4, 40u32..1500), 1..150),
        up in queues(), down in queues(), shared in queues(),
    ) {
        let mut journeys = Journeys::new(&network(4, up, down, shared));
        let mut at = Time::START;
        let mut pairs = Vec::new();
        for (number, (gap, from, to, bytes)) in (1..).zip(sends) {
            at += Span::from_millis(gap);
            journeys.send(at, number, from, to, bytes);
            pairs.push((from, to));
        }
        journeys.run();
        let mut all: Vec<u32> = journeys.arrived.iter().map(|(number, _)| *number).collect();
        let order = all.clone();
        all.extend(&journeys.gone);
        all.sort_unstable();
        prop_assert_eq!(all, (1..=pairs.len() as u32).collect::<Vec<_>>());
        for from in 0..4 {
            for to in 0..4 {
                let of = |number: &&u32| pairs[**number as usize - 1] == (from, to);
                prop_assert!(order.iter().filter(of).is_sorted());
            }
        }
    }

    /// A route of two queues takes a short way through the topology. Where the core between them may change it takes the
    /// long one, and its packets fare the same, whatever becomes of its lines.
    #[test]
    fn two_queues_fare_alike_on_the_short_way_and_on_the_long_one(
        bursts in prop::collection::vec(
            (
                prop::collection::vec((0u64..20, 0u32..3, 0u32..3, 40u32..1500), 1..40),
                (1u32..7, prop::option::of(500u64..9000), queues(), 0u64..20),
            ),
            1..6,
        ),
        up in queues(), down in queues(),
    ) {
        let mut plain = network(3, up, down, Queue::default());
        plain.cores[0].links.clear();
        let topology = Topology::new(&plain, 1, true);
        let mut both =
            [Journeys::new(&plain), Journeys { topology, ..Journeys::new(&plain) }];
        let mut number = 0;
        for (burst, (link, kbps, queue, delay)) in bursts {
            let begin = both[0].now.max(both[1].now);
            for journeys in &mut both {
                let mut at = begin;
                for (number, (gap, from, to, bytes)) in (number + 1..).zip(burst.clone()) {
                    at += Span::from_millis(gap);
                    journeys.send(at, number, from, to, bytes);
                }
                journeys.run();
                let rate_bps = kbps.and_then(|kbps| Rate::from_bps(kbps * 1000));
                let delay_ns = Span::from_millis(delay);
                let changed = Conditions { rate_bps, queue: queue.clone(), delay_ns, ..Conditions::default() };
                journeys.topology.change_link(journeys.now, link, &changed, None);
            }
            number += burst.len() as u32;
            let [short, long] = &both;
            prop_assert_eq!(&short.arrived, &long.arrived);
            prop_assert_eq!(&short.gone, &long.gone);
        }
        let links = |journeys: &Journeys| -> Vec<_> {
            journeys.topology.links().skip(1).map(|link| link.counters()).collect()
        };
        prop_assert_eq!(links(&both[0]), links(&both[1]));
    }
}
