//! The same packets, at the same instants, through one network and through its shares on several nodes,
//! which hand packets over without losing time: the same arrive, at the same nanosecond, and the links
//! say the same of themselves.

use crate::any_link::{any_core, any_framing, any_queue};
use crate::networks::{line, network, rate};
use flashcrowd_base::{Span, Time};
use flashcrowd_emulation::{Division, InTransit, Network, Totals};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{Call, Change, PageSize, Plan, Reading, Web, What, Workload};
use flashcrowd_workload::Column;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A packet that a host sends.
#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    from: u32,
    to: u32,
    bytes: Vec<u8>,
}

/// Its result.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Host, instant and bytes of all that arrived.
    arrived: Vec<(u32, u64, Vec<u8>)>,
    /// Name, packets, bytes, dropped, lost and the most packets of each link.
    links: Vec<Vec<String>>,
}

/// The rows of the table `links` of a share, as far as they are whole numbers.
fn links(share: &Network) -> Vec<Vec<String>> {
    let table = &share.tables()[0];
    let column = |name| match table.column(name).expect("the column exists") {
        Column::Text(codes, names) => codes.iter().map(|it| names[*it as usize].clone()).collect(),
        Column::U64(values) => values.iter().map(u64::to_string).collect(),
        Column::U32(values) => values.iter().map(u32::to_string).collect::<Vec<String>>(),
        other => panic!("no names and no counts: {other:?}"),
    };
    let columns = ["link", "packets", "bytes", "dropped", "lost", "max_queue_packets"].map(column);
    (0..table.rows()).map(|row| columns.iter().map(|it| it[row].clone()).collect()).collect()
}

/// Lets shares of a network carry packets until an instant, side by side.
fn carried(plan: &Plan, mut shares: Vec<Network>, sent: &[Sent], end: Time) -> (Outcome, Totals) {
    let mut arrived = Vec::new();
    let mut waiting = sent.iter().peekable();
    let division = Division::new(plan, shares.len() as u32, Span::ZERO).expect("it can be divided");
    loop {
        let due = shares.iter().map(Network::next_due).min().unwrap_or(Time::NEVER);
        let now = waiting.peek().map_or(due, |packet| packet.at.min(due));
        if now >= end {
            break;
        }
        run(&mut shares, now, &mut arrived);
        while let Some(packet) = waiting.next_if(|packet| packet.at <= now) {
            let share = &mut shares[division.of_host(packet.from) as usize];
            share.buffer()[..packet.bytes.len()].copy_from_slice(&packet.bytes);
            share.send(now, packet.from, packet.to, packet.bytes.len());
        }
        run(&mut shares, now, &mut arrived);
    }
    arrived.sort();
    let mut links: Vec<Vec<String>> = shares.iter().flat_map(links).collect();
    links.sort();
    let mut totals = Totals::default();
    for share in shares.iter().map(Network::totals) {
        totals.sent += share.sent;
        totals.delivered += share.delivered;
        totals.lost += share.lost;
        totals.dropped += share.dropped;
        totals.handed_over += share.handed_over;
        totals.taken_over += share.taken_over;
    }
    (Outcome { arrived, links }, totals)
}

/// Runs all shares for an instant, and again as long as they have something for each other.
fn run(shares: &mut [Network], now: Time, arrived: &mut Vec<(u32, u64, Vec<u8>)>) {
    loop {
        let mut crossings: Vec<(u32, InTransit, Vec<u8>)> = Vec::new();
        for share in &mut *shares {
            share.run(now, &mut |delivery| {
                assert_eq!(delivery.late, Span::ZERO);
                arrived.push((delivery.host, delivery.due.nanos(), delivery.packet.to_vec()));
            });
            share.hand_over(&mut |it| crossings.push((it.node, it.place, it.packet.to_vec())));
        }
        if crossings.is_empty() {
            return;
        }
        for (node, place, bytes) in crossings {
            assert!(place.due >= now, "it is due before it is handed over");
            let share = &mut shares[node as usize];
            share.buffer()[..bytes.len()].copy_from_slice(&bytes);
            assert!(share.take_over(now, place, bytes.len()));
        }
    }
}

/// Datagrams of `hosts` hosts, at instants that are all different, in bursts.
fn datagrams(hosts: u32, count: usize) -> impl Strategy<Value = Vec<Sent>> {
    let one = (0..hosts, 1..hosts, 40usize..1500, 0u64..700_000, 0u16..3, any::<bool>());
    prop::collection::vec(one, count).prop_map(move |drawn| {
        let mut at = Time::START;
        let sent = |(number, one): (usize, (u32, u32, usize, u64, u16, bool))| {
            let (from, other, size, gap, port, ect) = one;
            at += Span::from_nanos(gap + 1);
            let to = (from + other) % hosts;
            let mut bytes = vec![0u8; size];
            bytes[..4].copy_from_slice(&[0x45, u8::from(ect) << 1, (size >> 8) as u8, size as u8]);
            (bytes[8], bytes[9]) = (64, 17);
            bytes[12..16].copy_from_slice(&[10, 0, 0, from as u8 + 1]);
            bytes[16..20].copy_from_slice(&[10, 0, 0, to as u8 + 1]);
            bytes[20..22].copy_from_slice(&port.to_be_bytes());
            bytes[28..36].copy_from_slice(&(number as u64).to_be_bytes());
            Sent { at, from, to, bytes }
        };
        drawn.into_iter().enumerate().map(sent).collect()
    })
}

fn hold_together(plan: &Plan, nodes: u32, seed: u64, sent: &[Sent]) -> Totals {
    let end = sent.last().map_or(Time::START, |packet| packet.at) + Span::from_secs(1);
    let division = Division::new(plan, nodes, Span::ZERO).expect("it can be divided");
    let shares = (0..nodes).map(|node| Network::share(plan, seed, &division, node)).collect();
    let (whole, alone) = carried(plan, vec![Network::new(plan, seed)], sent, end);
    let (parts, together) = carried(plan, shares, sent, end);
    let differs = whole.arrived.iter().zip(&parts.arrived).find(|(one, other)| one != other);
    let brief = |it: &(u32, u64, Vec<u8>)| (it.0, it.1, it.2[..36].to_vec());
    assert!(differs.is_none(), "{:?}", differs.map(|(one, other)| (brief(one), brief(other))));
    assert_eq!(whole.arrived.len(), parts.arrived.len());
    assert_eq!(whole.links, parts.links);
    assert_eq!(together.handed_over, together.taken_over);
    let own = Totals { handed_over: 0, taken_over: 0, ..together };
    assert_eq!(own, alone);
    together
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(2), ..ProptestConfig::with_cases(48) })]
    #[test]
    fn shares_do_what_the_whole_does(
        (hosts, sent) in (3u32..7).prop_flat_map(|hosts| (Just(hosts), datagrams(hosts, 900))),
        nodes in 2u32..4,
        seed in any::<u64>(),
        queue in any_queue(),
        framing in any_framing(),
        core in any_core(),
        change in prop::option::of((1_000_000u64..9_000_000, 4_000_000u64..30_000_000)),
    ) {
        let shared = Conditions { rate_bps: rate(9_000_011), queue, framing, ..line() };
        let mut plan = network(hosts, line(), shared.clone(), core.clone());
        plan.workloads.clear(); // they would keep hosts together
        if let Some((bps, delay)) = change {
            let at_ns = Span::from_nanos(90_000_007);
            let delay_ns = Span::from_nanos(delay);
            let conditions = Conditions { rate_bps: rate(bps), delay_ns, ..shared };
            plan.timeline.push(Change { at_ns, what: What::Link { link: 0, conditions, trace: None } });
            // A line that gets slower moves what waits in it and goes on elsewhere.
            let slow = Conditions { rate_bps: rate(bps / 2), delay_ns, ..line() };
            plan.timeline.push(Change { at_ns, what: What::Link { link: 1, conditions: slow, trace: None } });
        }
        let totals = hold_together(&plan, nodes, seed, &sent);
        prop_assert!(totals.handed_over > 300);
        prop_assert!(totals.delivered > 100);
    }
}

#[test]
fn parts_that_are_near_stay_together() {
    let shared = Conditions { rate_bps: rate(5_000_011), queue: Queue::packets(30), ..line() };
    let core = Conditions { delay_ns: Span::from_millis(20), ..Conditions::default() };
    let mut plan = network(4, line(), shared, core);
    // Each has a transfer with the next.
    let refused = Division::new(&plan, 2, Span::from_millis(1)).expect_err("all hang together");
    let said = refused.to_string();
    assert!(
        said.ends_with("1 of it are so far apart (both ends of from 0 are played on one node)"),
        "{said}"
    );
    plan.workloads.clear();
    let division = Division::new(&plan, 2, Span::from_millis(1)).expect("lines are 3 ms long");
    assert_eq!(division.hosts(0).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(division.hosts(1).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(division.time_in_hand(&plan), Span::from_nanos(3_000_017));
    let refused = Division::new(&plan, 2, Span::from_millis(4)).expect_err("lines are too short");
    let said = refused.to_string();
    assert!(said.contains("host-0 and shared: 3 ms"), "{said}");
    assert!(said.contains("which takes 4 ms of delay"), "{said}");
}

/// Each host on a node of its own, and one workload between the first and the last.
#[test]
fn both_ends_of_what_one_process_plays_are_on_one_node() {
    let shared = Conditions { rate_bps: rate(5_000_011), queue: Queue::packets(30), ..line() };
    let core = Conditions { delay_ns: Span::from_millis(20), ..Conditions::default() };
    let mut plan = network(4, line(), shared, core);
    let start_ns = Span::ZERO;
    let ping = plan.workloads.pop().expect("the last one pings");
    let transfer = plan.workloads.pop().expect("from the last host to the first");
    let call = Workload::Call(Call {
        name: "call".into(),
        from: 0,
        to: 3,
        size_bytes: 200,
        interval_ns: Span::from_millis(20),
        every_ns: None,
        start_ns,
        stop_ns: None,
    });
    let web = Workload::Web(Web {
        name: "web".into(),
        from: 0,
        to: 3,
        transport: None,
        users: 1,
        connections: 1,
        request_bytes: 300,
        page: PageSize {
            median_bytes: 10_000,
            sigma: 0.0,
            tail_from_bytes: 20_000,
            tail_shape: 1.0,
            largest_bytes: 30_000,
        },
        reading: Reading::Exponential { mean_ns: Span::from_secs(1) },
        start_ns,
        spread_ns: Span::ZERO,
        stop_ns: None,
    });
    for (workload, together) in [(ping, false), (transfer, true), (call, true), (web, true)] {
        plan.workloads = vec![workload];
        let name = plan.workloads[0].name();
        plan.check().expect(name);
        let apart = Division::new(&plan, 4, Span::from_millis(1));
        assert_eq!(apart.is_err(), together, "{name}");
        if together {
            let division = Division::new(&plan, 3, Span::from_millis(1)).expect(name);
            assert_eq!(division.of_host(0), division.of_host(3), "{name}");
        }
    }
}
