use super::*;
use crate::discipline::testing::Bottleneck;
use crate::{Ack, Ecn, Flow, Queue};

fn line(cake: Cake) -> Bottleneck {
    Bottleneck::with(Queue::Cake(Box::new(cake)))
}

/// The shaper sends exactly at its rate, whatever the link could: n packets take n times as long as
/// one, also after a pause.
#[test]
fn the_shaper_keeps_its_rate() {
    let mut line = line(Cake { bandwidth_bps: Rate::from_bps(1_000_000), ..Cake::default() });
    line.ecn = Ecn::Ect0;
    for burst in 0..3 {
        let start = Span::from_secs(10 * burst);
        line.now = Time::START + start;
        for _ in 0..100 {
            line.offer(1, 1250);
        }
        for n in 0..100u64 {
            let left = line.step().unwrap();
            // 1250 bytes: 10 ms at the shaper, 1.25 ms at the link.
            let begins = Time::START + start + Span::from_millis(10 * n);
            assert_eq!(left.departs, begins + Span::from_micros(1250), "{n}");
        }
    }
    assert_eq!((line.dropped.len(), line.refused), (0, 0));
}

/// A packet that comes before the last one's time at the shaper is over has to wait for it.
#[test]
fn a_short_pause_gains_nothing() {
    let mut line = line(Cake { bandwidth_bps: Rate::from_bps(1_000_000), ..Cake::default() });
    line.offer(1, 1250);
    line.step().unwrap();
    line.now = Time::START + Span::from_millis(4);
    line.offer(1, 1250);
    assert_eq!(line.link.next_dequeue(), Some(Time::START + Span::from_millis(10)));
}

/// With `atm`, an acknowledgement of 40 bytes is shaped as two cells.
#[test]
fn the_shaper_counts_cells() {
    let framing = Some(Framing::Atm { encapsulation_bytes: 40 });
    let bandwidth_bps = Rate::from_bps(848_000);
    let mut line = line(Cake { bandwidth_bps, framing, ..Cake::default() });
    line.offer(1, 40);
    line.offer(1, 40);
    line.step().unwrap();
    // 106 bytes at 848 kbit/s are a millisecond.
    assert_eq!(line.link.next_dequeue(), Some(Time::START + Span::from_millis(1)));
}

#[test]
fn hosts_share_fairly_however_many_flows_they_have() {
    // One host with 1 flow, one with 4; all to different receivers.
    let flows: Vec<Flow> = [(1, 0), (2, 1), (2, 2), (2, 3), (2, 4)]
        .map(|(source, n)| Flow { connection: n, source, target: 10 + n as u32 })
        .to_vec();
    for (isolation, expected) in [
        (Isolation::Flows, 0.2),
        (Isolation::DualSrchost, 0.5),
        (Isolation::DualDsthost, 0.2),
        (Isolation::TripleIsolate, 0.5),
        (Isolation::Srchost, 0.5),
    ] {
        let mut line = line(Cake { isolation, ..Cake::default() });
        for flow in flows.iter().flat_map(|flow| [*flow; 20]) {
            line.offer_from(flow, 1000, None);
        }
        // Another packet of the same flow for each that leaves or is dropped.
        let (mut of_first, mut dropped) = (0, 0);
        for _ in 0..4_000 {
            let left = line.step().unwrap();
            of_first += u32::from(line.flow_of(left.tag) == 0);
            let gone = line.dropped[dropped..].iter().chain([&left.tag]);
            for flow in gone.map(|&tag| line.flow_of(tag) as usize).collect::<Vec<_>>() {
                line.offer_from(flows[flow], 1000, None);
            }
            dropped = line.dropped.len();
        }
        let share = f64::from(of_first) / 4_000.0;
        assert!((share - expected).abs() < 0.02, "{isolation:?}: {share}");
    }
}

/// A turn is 1514 bytes of 300 each, and what it takes too much is owed: 6, then 5 packets. Flows of
/// one host have half of that each once both are in bulk: the first one's third turn is the first
/// of 757 bytes for it, the second one's second.
#[test]
fn a_turn_is_a_quantum_of_bytes() {
    for (isolation, turns) in
        [(Isolation::Flows, [6, 6, 5, 5, 5, 5, 5]), (Isolation::DualSrchost, [6, 6, 5, 2, 2, 3, 3])]
    {
        let mut line = line(Cake { isolation, ..Cake::default() });
        for connection in [1, 2].repeat(30) {
            line.offer_from(Flow { connection, source: 7, target: connection as u32 }, 300, None);
        }
        let expected: Vec<u64> = turns
            .iter()
            .zip([1, 2].iter().cycle())
            .flat_map(|(&packets, &flow)| vec![flow; packets])
            .collect();
        assert_eq!(line.order(expected.len()), expected, "{isolation:?}");
    }
}

/// Two flows of a host are in bulk: the first turn of a third one is half a quantum.
#[test]
fn a_new_flow_begins_with_its_share_of_its_host() {
    for (isolation, packets) in [(Isolation::Flows, 6), (Isolation::DualSrchost, 3)] {
        let mut line = line(Cake { isolation, ..Cake::default() });
        let flow = |connection| Flow { connection, source: 7, target: connection as u32 };
        for connection in [1, 2].repeat(30) {
            line.offer_from(flow(connection), 300, None);
        }
        line.order(17);
        for _ in 0..10 {
            line.offer_from(flow(3), 300, None);
        }
        let order = line.order(12);
        let turn = order.iter().skip_while(|&&it| it != 3).take_while(|&&it| it == 3);
        assert_eq!(turn.count(), packets, "{isolation:?}: {order:?}");
    }
}

/// Flows whose hashes name one queue wait in queues of their own.
#[test]
fn flows_that_meet_in_the_hash_are_told_apart() {
    let params = Cake { isolation: Isolation::Flows, ..Cake::default() };
    let (mut cake, mut pool) = (CakeQueue::new(&params, 5), Pool::default());
    let like = line(params.clone()).held(1, 1000, Time::START);
    let place = |packet: &Held| {
        let hash = (mix(params.isolation.key(packet) ^ 5) >> 32) as u32;
        hash % hash::QUEUES
    };
    let meeting: Vec<Held> = (0..10_000)
        .map(|connection| Held { flow: Flow { connection, ..Flow::default() }, ..like })
        .filter(|packet| place(packet) == 77)
        .take(8)
        .collect();
    assert_eq!(meeting.len(), 8);
    for packet in meeting {
        cake.push(&params, &mut pool, packet);
    }
    assert_eq!(cake.lists().count(), 8);
}

#[test]
fn a_sparse_flow_comes_first_and_blind_queues_keep_the_order() {
    for (isolation, place) in [(Isolation::TripleIsolate, 0), (Isolation::Flowblind, 20)] {
        let mut line = line(Cake { isolation, ..Cake::default() });
        for _ in 0..11 {
            line.offer(1, 1514);
            line.offer(2, 1514);
        }
        // The first of each have left; both are in bulk now.
        line.step();
        line.step();
        line.offer(3, 100);
        let order: Vec<u64> = line.order(21);
        assert_eq!(order.iter().position(|&flow| flow == 3), Some(place), "{isolation:?}");
    }
}

#[test]
fn a_full_queue_drops_from_the_longest() {
    let mut line = line(Cake { memory_limit_bytes: Some(50_000), ..Cake::default() });
    for _ in 0..20 {
        line.offer(1, 1000);
    }
    for _ in 0..40 {
        line.offer(2, 1000);
    }
    assert_eq!(line.waiting(), 50);
    assert_eq!(line.dropped.len() as u32 + line.refused, 10);
    assert!(line.dropped.iter().all(|&tag| line.flow_of(tag) == 2));
    assert!(line.causes.iter().all(|cause| *cause == Cause::Full));
    assert_eq!((line.link.counters().dropped, line.link.counters().dropped_early), (10, 0));
}

/// Two flows from one host to another, one from a second host to the same, and one to a third:
/// whose packets share a queue, and what that leaves for the last two.
#[test]
fn queues_are_told_apart_by_what_is_isolated() {
    let flows: Vec<Flow> = [(1, 10), (1, 10), (2, 10), (2, 11)]
        .iter()
        .zip(0..)
        .map(|(&(source, target), connection)| Flow { connection, source, target })
        .collect();
    for (isolation, expected) in [
        (Isolation::Flowblind, [0.25, 0.25]),
        (Isolation::Flows, [0.25, 0.25]),
        (Isolation::Srchost, [0.25, 0.25]),
        // Three flows to one host have a half.
        (Isolation::Dsthost, [1.0 / 6.0, 0.5]),
        (Isolation::DualDsthost, [1.0 / 6.0, 0.5]),
        // Three pairs.
        (Isolation::Hosts, [1.0 / 3.0, 1.0 / 3.0]),
    ] {
        // Longer than any wait here: nothing is dropped.
        let mut line = line(Cake { isolation, rtt_ns: Span::from_secs(100), ..Cake::default() });
        for flow in flows.iter().flat_map(|flow| [*flow; 20]) {
            line.offer_from(flow, 1000, None);
        }
        let mut sent = [0; 4];
        for _ in 0..4_000 {
            let flow = line.order(1)[0] as usize;
            sent[flow] += 1;
            line.offer_from(flows[flow], 1000, None);
        }
        for (flow, expected) in [(2, expected[0]), (3, expected[1])] {
            let share = f64::from(sent[flow]) / 4_000.0;
            assert!((share - expected).abs() < 0.02, "{isolation:?}: {sent:?}");
        }
    }
}

/// Linux: a fortieth of a second at 1 Mbit/s is what 1.5 packets of 1514 bytes take longer than 5 ms.
#[test]
fn slow_lines_have_a_longer_target() {
    let slow = Cake { bandwidth_bps: Rate::from_bps(1_000_000), ..Cake::default() };
    let cobalt_params = slow.cobalt_params();
    assert_eq!(cobalt_params.mtu_time, Span::from_micros(12_112));
    assert_eq!(cobalt_params.target, Span::from_micros(18_168));
    assert_eq!(cobalt_params.interval, Span::from_micros(100_000 + 18_168 - 5_000));
    assert_eq!((slow.quantum(), slow.memory_limit()), (300, 4 << 20));
    let fast = Cake { bandwidth_bps: Rate::from_bps(100_000_000), ..Cake::default() };
    assert_eq!((fast.cobalt_params().target, fast.quantum()), (Span::from_millis(5), 1514));
    assert_eq!(fast.memory_limit(), 5_000_000);
    assert_eq!(Cake::default().memory_limit(), 10_240 * 1514);
    // At 100 kbit/s twice the target is more than the interval: 1.5 * 121.12 ms.
    let modem = Cake { bandwidth_bps: Rate::from_bps(100_000), ..Cake::default() };
    assert_eq!(modem.cobalt_params().target, Span::from_micros(181_680));
    assert_eq!(modem.cobalt_params().interval, Span::from_micros(363_360));
    // 4096 turns a second between 300 and 1514 bytes; four intervals, but no more than unlimited.
    let cable = Cake { bandwidth_bps: Rate::from_bps(32_768_000), ..Cake::default() };
    assert_eq!(cable.quantum(), 1000);
    let fibre = Cake { bandwidth_bps: Rate::from_bps(1_000_000_000), ..Cake::default() };
    assert_eq!(fibre.memory_limit(), 10_240 * 1514);
    let short = Cake { rtt_ns: Span::from_millis(20), ..Cake::default() };
    assert_eq!(
        (short.cobalt_params().target, short.cobalt_params().interval),
        (Span::from_millis(1), short.rtt_ns)
    );
}

fn ack(number: u32, sacked: u32, flags: u8) -> Option<Ack> {
    Some(Ack { pure: true, number, sacked, flags })
}

/// Acknowledgements that wait for a line that is busy, and which numbers are left.
fn filtered(filter: AckFilter, acks: &[Option<Ack>]) -> Vec<u32> {
    let mut line = line(Cake { ack_filter: filter, ..Cake::default() });
    line.offer(9, 1000);
    let flow = Flow { connection: 1, source: 1, target: 2 };
    let tags: Vec<u32> = acks.iter().map(|ack| line.offer_from(flow, 52, *ack)).collect();
    assert!(line.causes.iter().all(|cause| *cause == Cause::Superseded));
    assert_eq!(line.link.counters().superseded, line.dropped.len() as u64);
    (0..tags.len() as u32).filter(|&n| !line.dropped.contains(&tags[n as usize])).collect()
}

#[test]
fn acknowledgements_that_say_nothing_more_are_dropped() {
    let rising: Vec<_> = (0..6).map(|n| ack(1000 * n, 0, 0)).collect();
    assert_eq!(filtered(AckFilter::Off, &rising), [0, 1, 2, 3, 4, 5]);
    assert_eq!(filtered(AckFilter::Conservative, &rising), [4, 5]);
    assert_eq!(filtered(AckFilter::Aggressive, &rising), [5]);
    // Numbers wrap around.
    let wrap: Vec<_> = (0..3u32).map(|n| ack((1000 * n).wrapping_sub(1500), 0, 0)).collect();
    assert_eq!(filtered(AckFilter::Aggressive, &wrap), [2]);
}

#[test]
fn acknowledgements_that_say_something_else_are_kept() {
    // Duplicates.
    assert_eq!(filtered(AckFilter::Aggressive, &[ack(5, 0, 0); 3]), [0, 1, 2]);
    // Duplicates whose SACK ranges grow say more each.
    let growing = [ack(5, 0, 0), ack(5, 1000, 0), ack(5, 2000, 0)];
    assert_eq!(filtered(AckFilter::Aggressive, &growing), [2]);
    // SACK ranges that a later one has not.
    let fewer = [ack(5, 2000, 0), ack(6, 0, 0), ack(7, 0, 0)];
    assert_eq!(filtered(AckFilter::Aggressive, &fewer), [0, 2]);
    // An ECE is not lost, nor its end.
    let marks = [ack(5, 0, 0), ack(6, 0, 1), ack(7, 0, 0)];
    assert_eq!(filtered(AckFilter::Aggressive, &marks), [0, 1, 2]);
    // Data is not dropped, though what comes before it is.
    let data = Some(Ack { pure: false, number: 6, sacked: 0, flags: 0 });
    assert_eq!(filtered(AckFilter::Aggressive, &[ack(5, 0, 0), data, ack(7, 0, 0)]), [1, 2]);
    assert_eq!(filtered(AckFilter::Aggressive, &[ack(5, 0, 0), None, ack(7, 0, 0)]), [0, 1, 2]);
}

/// Filtered packets do not make its queue longer: the other one is the longest.
#[test]
fn filtered_acknowledgements_are_not_counted() {
    let memory_limit_bytes = Some(20_000);
    let ack_filter = AckFilter::Aggressive;
    let mut line = line(Cake { memory_limit_bytes, ack_filter, ..Cake::default() });
    for number in 0..500 {
        line.offer_from(Flow { connection: 1, source: 1, target: 2 }, 52, ack(number, 0, 0));
    }
    let filtered = line.dropped.len();
    assert_eq!((line.waiting(), line.causes.contains(&Cause::Full)), (1, false));
    for _ in 0..25 {
        line.offer(2, 1000);
    }
    // 52 B and 19 packets of a thousand.
    assert_eq!(line.waiting(), 20);
    assert!(line.dropped[filtered..].iter().all(|&tag| line.flow_of(tag) == 2));
}

#[test]
fn other_connections_are_left_alone() {
    let isolation = Isolation::Flowblind;
    let mut line = line(Cake { isolation, ack_filter: AckFilter::Aggressive, ..Cake::default() });
    line.offer(9, 1000);
    for number in 0..10 {
        for connection in [1, 2] {
            let flow = Flow { connection, source: 1, target: 2 };
            line.offer_from(flow, 52, ack(number, 0, 0));
        }
    }
    // One behind the other, so that each has one of the other between: as if it were conservative.
    assert_eq!(line.waiting(), 1 + 2 * 2);
}

/// A flow that does not answer is held down by drops, and then comes to rest.
#[test]
fn an_unresponsive_flow_is_dropped_and_forgotten() {
    let mut line = line(Cake::default());
    for _ in 0..2_000 {
        while line.waiting() < 50 {
            line.offer(1, 1000);
        }
        line.step();
    }
    let drops = line.dropped.len();
    assert!(drops > 20, "{drops}");
    while line.step().is_some() {}
    let rest = line.dropped.len();
    // Another flow goes on for a while; the first one's state decays meanwhile.
    for _ in 0..10_000 {
        line.offer(2, 500);
        line.offer(2, 500);
        line.step();
        line.step();
    }
    for _ in 0..20 {
        line.offer(1, 1000);
    }
    for _ in 0..20 {
        line.step();
    }
    assert_eq!(line.dropped.len(), rest);
}
