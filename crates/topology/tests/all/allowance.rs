//! What leaves a link is never more than its rates and traces allow, whatever becomes of them.

use crate::road::Frame;
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_link::{CoDel, Conditions, Queue, Trace};
use flashcrowd_plan::{CorePath, Host, Link, Network, Window, Windowed};
use flashcrowd_topology::{LinkWindow, Topology};
use proptest::prelude::*;

/// What happens at an instant.
#[derive(Clone, Debug)]
enum Event {
    /// A number of packets come, of a number of bytes each.
    Packets(u32, u32),
    /// The line has another rate.
    Rate(u64),
    /// It follows the trace of this number.
    Trace(u32),
    /// Nothing but a look at it.
    Look,
}

struct Line {
    topology: Topology<Frame>,
    conditions: Conditions,
    number: u32,
    /// The departure that it waits for.
    departs: Time,
}

impl Line {
    fn new(rate: u64, queue: Queue, traces: &[Trace]) -> Line {
        let conditions =
            Conditions { rate_bps: Rate::from_bps(rate), queue, ..Conditions::default() };
        let host = |index: u32, up| {
            let name = format!("host-{index}");
            Host { name, group: 0, stack: 0, up, down: Vec::new() }
        };
        let line = Link {
            name: "line".to_owned(),
            conditions: conditions.clone(),
            trace: None,
            delay: None,
        };
        let between = Conditions { delay_ns: Span::from_millis(5), ..Conditions::default() };
        let network = Network {
            groups: vec!["all".to_owned()],
            hosts: vec![host(0, vec![0]), host(1, Vec::new())],
            links: vec![line],
            cores: vec![CorePath { links: Vec::new(), conditions: between, draw: None }],
            traces: traces.to_vec(),
            core_of: vec![0],
        };
        let topology = Topology::new(&network, 1, false);
        Line { topology, conditions, number: 0, departs: Time::NEVER }
    }

    /// Has what waits for a discipline leave up to an instant.
    fn drain(&mut self, now: Time) {
        loop {
            self.departs = self.topology.next_departure(0).unwrap_or(self.departs);
            if self.departs > now {
                return;
            }
            let at = std::mem::replace(&mut self.departs, Time::NEVER);
            self.topology.depart(at, 0, &mut |_, _| {});
        }
    }

    fn meet(&mut self, now: Time, event: &Event) {
        match *event {
            Event::Packets(count, bytes) => {
                let route = self.topology.route(0, 1);
                for _ in 0..count {
                    self.number += 1;
                    let (number, tag) = (self.number, self.number);
                    let mut frame = Frame { number, tag, route, step: 0, bytes };
                    self.topology.advance(now, &mut frame, |frame| *frame, &mut |_, _| {});
                }
            }
            Event::Rate(bps) => self.change(now, Rate::from_bps(bps), None),
            Event::Trace(number) => self.change(now, None, Some(number)),
            Event::Look => {}
        }
    }

    fn change(&mut self, now: Time, rate: Option<Rate>, trace: Option<u32>) {
        self.conditions.rate_bps = rate;
        self.topology.change_link(now, 0, &self.conditions, trace);
    }
}

fn traces() -> impl Strategy<Value = Trace> {
    let rates = (
        1u64..10_000_000,
        prop::collection::vec((1u64..200, 0u64..10_000_000), 0..6),
        any::<bool>(),
    )
        .prop_map(|(first, more, dead)| {
            let mut points = vec![(Span::ZERO, first)];
            for (after, bps) in more {
                let at = points[points.len() - 1].0 + Span::from_millis(after);
                // Half of the traces have outages.
                points.push((at, if dead && bps % 2 == 0 { 0 } else { bps }));
            }
            let length = points[points.len() - 1].0 + Span::from_millis(50);
            Trace::rates(&points, Some(length)).expect("a trace")
        });
    let bursts =
        (prop::collection::vec(0u64..100, 1..20), 1u32..3000).prop_map(|(mut at_ms, bytes)| {
            at_ms.push(100);
            at_ms.sort_unstable();
            Trace::opportunities(&at_ms, bytes).expect("a trace")
        });
    prop_oneof![rates, bursts]
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        4 => (1u32..30, 40u32..3000).prop_map(|(count, bytes)| Event::Packets(count, bytes)),
        1 => (10_000u64..20_000_000).prop_map(Event::Rate),
        1 => (0u32..3).prop_map(Event::Trace),
        2 => Just(Event::Look),
    ];
    // Milliseconds and odd nanoseconds after the event before: often at one instant, or at one of a trace.
    let gap = (0u64..60, prop_oneof![Just(0u64), 0u64..1_000_000]);
    prop::collection::vec((gap.prop_map(|(ms, ns)| ms * 1_000_000 + ns), event), 1..60)
}

fn queues() -> impl Strategy<Value = Queue> {
    prop_oneof![
        (1u32..50).prop_map(Queue::packets),
        Just(CoDel { limit_packets: 30, ..CoDel::default() }.into()),
    ]
}

/// A change rounds what is left of a packet to a byte, and its end to a nanosecond.
const ROUNDING_BITS: f64 = 32.0;

proptest! {
    #[test]
    fn no_more_leaves_than_is_allowed(
        rate in 10_000u64..20_000_000,
        queue in queues(),
        traces in prop::collection::vec(traces(), 3),
        events in events(),
        marks in (0usize..60, 0usize..60),
    ) {
        let mut line = Line::new(rate, queue, &traces);
        let (first, last) = (marks.0.min(marks.1), marks.0.max(marks.1));
        let (mut now, mut looks, mut changes) = (Time::START, vec![], 0.0);
        let mut between = (Time::START, None);
        for (place, (gap, event)) in events.iter().enumerate() {
            now += Span::from_nanos(*gap);
            line.drain(now);
            line.meet(now, event);
            line.drain(now);
            changes += f64::from(u8::from(matches!(event, Event::Rate(_) | Event::Trace(_))));
            let link = line.topology.link(0);
            let sent = link.sent(now);
            prop_assert!(sent.bits >= sent.bytes * 8 && sent.bits <= sent.bytes * 8 + 3000 * 8);
            prop_assert!(sent.packets <= link.counters().packets);
            looks.push((sent.bits as f64, link.offered_bits(now)));
            if place == first {
                between.0 = now;
            }
            if place == last {
                between.1 = Some(now);
            }
        }
        for (earlier, one) in looks.iter().enumerate() {
            for other in &looks[earlier..] {
                let (sent, allowed) = (other.0 - one.0, other.1 - one.1);
                prop_assert!(sent <= allowed + ROUNDING_BITS * (changes + 1.0), "{sent} of {allowed} bits");
            }
        }
        // The same once more, for a table about a window.
        let window = Window { table: Windowed::Links, from_ns: between.0 - Time::START, to_ns: between.1.map(|at| at - Time::START) };
        for window in [None, Some(window)] {
            let mut line = Line::new(rate, line.conditions.queue.clone(), &traces);
            let (mut now, mut table) = (Time::START, LinkWindow::new(window.clone()));
            for (place, (gap, event)) in events.iter().enumerate() {
                now += Span::from_nanos(*gap);
                line.drain(now);
                for (mark, begins) in [(first, true), (last, false)] {
                    if place == mark {
                        table.mark(line.topology.links(), now, begins);
                    }
                }
                line.meet(now, event);
            }
            line.drain(now);
            let used = table.used(0, line.topology.link(0), now);
            prop_assert!(used.utilisation.is_none_or(|share| (0.0..=1.0).contains(&share)), "{used:?}");
        }
    }

    #[test]
    fn all_that_is_taken_leaves_in_the_end(
        rate in 10_000u64..20_000_000,
        queue in queues(),
        traces in prop::collection::vec(traces(), 3),
        events in events(),
    ) {
        let mut line = Line::new(rate, queue, &traces);
        let mut now = Time::START;
        for (gap, event) in &events {
            now += Span::from_nanos(*gap);
            line.drain(now);
            line.meet(now, event);
        }
        line.change(now, Rate::from_bps(1_000_000), None);
        now += Span::from_secs(3600);
        line.drain(now);
        let link = line.topology.link(0);
        let (sent, counted) = (link.sent(now), link.counters());
        prop_assert_eq!((sent.packets, sent.bytes, sent.bits), (counted.packets, counted.bytes, counted.bytes * 8));
        let used = LinkWindow::new(None).used(0, link, now);
        prop_assert_eq!(used.packets, counted.packets);
        prop_assert!(used.utilisation.is_some());
    }
}
