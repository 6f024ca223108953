//! The same packets, at the same instants, through the simulator's network and through this one: the
//! same arrive, at the same nanosecond, and the links say the same of themselves.
//!
//! The simulator captures what its hosts send and receive; what they sent is replayed here.

use crate::any_link::{any_core, any_framing, any_queue};
use crate::networks::{line, network, rate};
use flashcrowd_base::{Quantiles, Span, Time};
use flashcrowd_emulation::Network;
use flashcrowd_link::{Conditions, Jitter, JitterShape, Queue, Trace};
use flashcrowd_plan::{Change, Draw, DrawnDelay, Plan, What};
use flashcrowd_sim::{Column, RunHandle, Table, simulate};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A packet at the interface of a host.
#[derive(Clone, Debug, PartialEq)]
struct TappedPacket {
    host: u32,
    peer: u32,
    t_ns: u64,
    sent: bool,
    bytes: Vec<u8>,
}

fn column<'a>(tables: &'a [Table], table: &str, name: &str) -> &'a Column {
    let table = tables.iter().find(|it| it.name == table).expect("the table exists");
    table.column(name).expect("the column exists")
}

fn counts(column: &Column) -> Vec<u64> {
    match column {
        Column::U64(values) => values.clone(),
        Column::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
        other => panic!("no counts: {other:?}"),
    }
}

fn texts(column: &Column) -> Vec<&str> {
    let Column::Text(codes, words) = column else { panic!("no text: {column:?}") };
    codes.iter().map(|code| words[*code as usize].as_str()).collect()
}

fn captured(tables: &[Table]) -> Vec<TappedPacket> {
    let of = |name| column(tables, "captures", name);
    let number = |host: &str| host.trim_start_matches("host-").parse().expect("a number");
    let Column::Bytes(bytes, ends) = of("packet") else { panic!("it is a column of bytes") };
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let packets = starts.zip(ends).map(|(from, to)| bytes[from as usize..*to as usize].to_vec());
    let (hosts, peers) = (texts(of("host")), texts(of("peer")));
    let (times, ways) = (counts(of("t_ns")), texts(of("direction")));
    let row = |(index, bytes): (usize, Vec<u8>)| TappedPacket {
        host: number(hosts[index]),
        peer: number(peers[index]),
        t_ns: times[index],
        sent: ways[index] == "sent",
        bytes,
    };
    packets.enumerate().map(row).collect()
}

/// What arrives if these packets are sent at their instants, and what the links say at the end.
fn replayed(
    plan: &Plan,
    seed: u64,
    seen: &[TappedPacket],
    end: Time,
) -> (Vec<TappedPacket>, Vec<Table>) {
    let mut network = Network::new(plan, seed);
    let mut arrived = Vec::new();
    let mut run = |network: &mut Network, until: Time| {
        network.run(until, &mut |delivery| {
            let bytes = delivery.packet.to_vec();
            arrived.push((delivery.host, delivery.due.nanos(), bytes));
        });
    };
    for packet in seen.iter().filter(|packet| packet.sent) {
        let at = Time::from_nanos(packet.t_ns);
        run(&mut network, at);
        network.buffer()[..packet.bytes.len()].copy_from_slice(&packet.bytes);
        network.send(at, packet.host, packet.peer, packet.bytes.len());
    }
    // At the last instant itself the simulation does nothing more.
    run(&mut network, Time::from_nanos(end.nanos() - 1));
    let tables = network.tables();
    let seen = |(host, t_ns, bytes): (u32, u64, Vec<u8>)| {
        let peer = u32::from(bytes[15]) - 1; // The simulator's addresses are 10.0.0.1 and on.
        TappedPacket { host, peer, t_ns, sent: false, bytes }
    };
    (arrived.into_iter().map(seen).collect(), tables)
}

/// The line that all share, and the path behind it, from this instant on.
fn change(plan: &mut Plan, bps: u64, delay: u64) {
    let at_ns = Span::from_millis(1_700);
    let delay_ns = Span::from_nanos(delay);
    let shared = plan.network.links[0].conditions.clone();
    let conditions = Conditions { rate_bps: rate(bps), delay_ns, ..shared };
    plan.timeline.push(Change { at_ns, what: What::Link { link: 0, conditions, trace: None } });
    let core = plan.network.cores[0].conditions.clone();
    let conditions = Conditions { delay_ns: core.delay_ns + delay_ns, ..core };
    plan.timeline.push(Change { at_ns, what: What::Core { core: 0, conditions } });
}

/// What marks change in a packet on its way, and what the capture of its receiver shows as well.
fn in_order(mut seen: Vec<TappedPacket>) -> Vec<TappedPacket> {
    seen.sort_by(|a, b| (a.t_ns, a.host, &a.bytes).cmp(&(b.t_ns, b.host, &b.bytes)));
    seen
}

fn hold_together(plan: &Plan, seed: u64) -> (usize, usize) {
    // The replay ends just before the last instant: no opportunity of a trace may be at it.
    let mut plan = plan.clone();
    plan.stop.horizon_ns += Span::from_nanos(333_333);
    let plan = &plan;
    let tables = simulate(plan, seed, &RunHandle::default()).expect("the plan makes sense");
    let seen = captured(&tables);
    let Column::F64(end) = column(&tables, "run", "end_s") else { panic!("it is a number") };
    let end = Time::START + Span::from_seconds(end[0]);
    let (theirs, told) = replayed(plan, seed, &seen, end);
    let ours: Vec<TappedPacket> = seen.iter().filter(|packet| !packet.sent).cloned().collect();
    // What is due at the last instant may or may not be seen before the run is over.
    let before = |seen: Vec<TappedPacket>| {
        in_order(seen.into_iter().filter(|packet| packet.t_ns < end.nanos()).collect())
    };
    let (ours, theirs) = (before(ours), before(theirs));
    let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    let here = differs.map(|place| (&ours[place], &theirs[place]));
    assert!(
        here.is_none() && ours.len() == theirs.len(),
        "{} and {}, {here:?}",
        ours.len(),
        theirs.len()
    );

    for name in ["packets", "bytes", "dropped", "lost", "max_queue_packets"] {
        assert_eq!(column(&tables, "links", name), column(&told, "links", name), "{name}");
    }
    let sent = seen.iter().filter(|packet| packet.sent).count();
    (sent, sent - ours.len())
}

#[test]
fn a_crowd_through_a_full_queue() {
    let shared = Conditions { rate_bps: rate(5_000_011), queue: Queue::packets(30), ..line() };
    let (sent, missing) = hold_together(&network(4, line(), shared, Conditions::default()), 1);
    assert!(sent > 1000 && missing > 20, "{sent} packets, {missing} did not arrive");
}

/// Packets from two lines reach PIE's queue at one nanosecond, 3.6 s after the start. Their order decides
/// which waits 1.5 ms for the other.
#[test]
fn two_packets_at_one_nanosecond_have_one_order() {
    let queue = Queue::Pie(Box::default());
    let shared = Conditions { rate_bps: rate(5_000_011), queue, ..line() };
    let core = Conditions { delay_ns: Span::from_nanos(20_526_592), ..Conditions::default() };
    let mut plan = network(5, line(), shared, core);
    plan.stacks[0].ecn = flashcrowd_transport::tcp::Ecn::On;
    change(&mut plan, 7_846_467, 1_371_022);
    hold_together(&plan, 7_958_178_620_545_595_394);
}

/// What else a plan's network may say: a line that varies, delays and losses that are drawn, jitter in order.
#[derive(Clone, Debug)]
struct Variety {
    trace: Option<Trace>,
    draws: bool,
    in_order: bool,
}

fn any_variety() -> impl Strategy<Value = Variety> {
    let piece = (200_000_003u64..900_000_000, 1_000_003u64..9_000_000);
    let rates = (prop::collection::vec(piece, 1..4), any::<bool>()).prop_map(|(pieces, again)| {
        let mut at = Span::ZERO;
        let mut points = vec![(at, 4_000_037)];
        for (after, bps) in pieces {
            at += Span::from_nanos(after);
            points.push((at, bps));
        }
        let length = again.then(|| at + Span::from_nanos(300_000_007));
        Trace::rates(&points, length).expect("a trace")
    });
    let opportunities = prop::collection::vec(1u64..6, 100..200).prop_map(|gaps| {
        let at = gaps.iter().scan(0, |at, gap| {
            *at += gap;
            Some(*at)
        });
        Trace::opportunities(&at.collect::<Vec<_>>(), 1504).expect("a trace")
    });
    let trace = prop_oneof![Just(None), rates.prop_map(Some), opportunities.prop_map(Some)];
    (trace, any::<bool>(), any::<bool>()).prop_map(|(trace, draws, in_order)| Variety {
        trace,
        draws,
        in_order,
    })
}

/// Makes a plan's network so.
fn vary(plan: &mut Plan, variety: Variety) {
    if let Some(trace) = variety.trace {
        plan.network.traces = vec![trace];
        plan.network.links[0].trace = Some(0);
        plan.network.links[0].conditions.rate_bps = None;
    }
    if variety.draws {
        let rtt_s = Quantiles::new(vec![(0.0, 0.01), (0.5, 0.03), (1.0, 0.11)]);
        let loss = Quantiles::new(vec![(0.0, 0.0), (1.0, 0.05)]);
        plan.network.cores[0].draw = Some(Draw { rtt_s, loss });
        let (least_ns, most_ns) = (Span::from_nanos(1_000_033), Span::from_nanos(9_000_011));
        for (number, lines) in (0..).zip(plan.network.links[1..].chunks_mut(2)) {
            for line in lines {
                line.delay = Some(DrawnDelay { number, least_ns, most_ns });
            }
        }
    }
    if variety.in_order {
        // At the last step of a way: of two packets that are due at one instant nothing says which is first.
        let spread_ns = Span::from_nanos(3_000_017);
        let jitter = Jitter { shape: JitterShape::Normal, spread_ns, reorder: false };
        for host in &plan.network.hosts {
            plan.network.links[host.down[0] as usize].conditions.jitter = Some(jitter);
        }
    }
}

proptest! {
    // The same networks each time.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(24)
    })]
    #[test]
    fn verdicts_and_departures_are_the_simulators(
        seed in any::<u64>(),
        hosts in 2u32..6,
        queue in any_queue(),
        framing in any_framing(),
        core in any_core(),
        ecn in any::<bool>(),
        // A delay that falls lets packets catch up with each other, and arrive at once.
        changes in prop::option::of((1_000_000u64..9_000_000, 4_000_000u64..30_000_000)),
    ) {
        let shared = Conditions { rate_bps: rate(5_000_011), queue, framing, ..line() };
        let mut plan = network(hosts, line(), shared, core);
        if ecn {
            plan.stacks[0].ecn = flashcrowd_transport::tcp::Ecn::On;
        }
        if let Some((bps, delay)) = changes {
            change(&mut plan, bps, delay);
        }
        let (sent, _) = hold_together(&plan, seed);
        prop_assert!(sent > 100);
    }
    #[test]
    fn so_they_are_on_lines_that_vary(
        seed in any::<u64>(),
        hosts in 2u32..6,
        queue in any_queue(),
        core in any_core(),
        variety in any_variety(),
    ) {
        let shared = Conditions { rate_bps: rate(5_000_011), queue, ..line() };
        let mut plan = network(hosts, line(), shared, core);
        vary(&mut plan, variety);
        let (sent, _) = hold_together(&plan, seed);
        prop_assert!(sent > 100);
    }
}
