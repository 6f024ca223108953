//! Swarms whose blocks go over connections of their own.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_plan::Plan;
use flashcrowd_plan::*;
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_swarm::profile::HandOver;
use flashcrowd_transport::tcp::profiles;
use flashcrowd_transport::utp;
use std::fmt::Write as _;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}
fn populations(plan: &mut Plan) -> &mut Vec<Population> {
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    &mut swarm.populations
}
const TCP: Option<TransportChoice> = Some(TransportChoice::Tcp(0));
const LEDBAT: Option<TransportChoice> = Some(TransportChoice::Tcp(1));
const UTP: Option<TransportChoice> = Some(TransportChoice::Utp(0));

#[test]
fn what_blocks_apart_change_in_a_small_swarm() {
    let mut table =
        String::from("blocks    mean s  last s  packets  dropped  waited s  most queued\n");
    for (name, data) in [("shared", None), ("apart", TCP), ("LEDBAT", LEDBAT)] {
        let tables = run(&adsl_swarm(10, 4 << 20, 200, data), 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"], "{name}");
        let durations = numbers(&tables, "downloads", "duration_s");
        let one = |column| numbers(&tables, "run", column)[0];
        let max = |name, column| numbers(&tables, name, column).into_iter().fold(0.0, f64::max);
        assert_eq!(durations.len(), 10, "{name}");
        writeln!(
            table,
            "{name:8} {:7.1} {:7.1} {:8} {:8} {:9.2} {:12}",
            mean(&durations),
            one("end_s"),
            one("packets_delivered"),
            one("packets_dropped"),
            max("links", "mean_queue_delay_s"),
            max("links", "max_queue_packets"),
        )
        .expect("a string takes everything");
    }
    assert_eq!(table.trim_end(), include_str!("data_connections.txt").trim_end());
}

#[test]
fn equal_seeds_give_equal_tables() {
    let mut plan = adsl_swarm(6, 2 << 20, 50, LEDBAT);
    plan.measures.queues_ns = Some(Span::from_millis(100));
    plan.measures.unchokes = true;
    assert_eq!(run(&plan, 3), run(&plan, 3));
    assert_ne!(run(&plan, 3), run(&plan, 4));
}

/// Half of the leechers upload by one carrier, half by the other.
fn mixed(data: [Option<TransportChoice>; 2]) -> Plan {
    let mut plan = adsl_swarm(10, 2 << 20, 100, data[0]);
    plan.utps = vec![utp::profiles::named("libutp").expect("it ships")];
    let populations = populations(&mut plan);
    let mut others = populations[1].clone();
    others.hosts = populations[1].hosts.split_off(5);
    others.name = "others".to_owned();
    others.data = data[1];
    populations.push(others);
    plan
}

#[test]
fn every_uploader_uses_its_own_carrier_and_takes_what_comes() {
    for data in [[TCP, UTP], [UTP, LEDBAT], [None, UTP], [TCP, None]] {
        let tables = run(&mixed(data), 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"], "{data:?}");
        let up = numbers(&tables, "downloads", "uploaded_bytes");
        let who = texts(&tables, "downloads", "population");
        for half in ["leechers", "others"] {
            let half = up.iter().zip(&who).filter(|(_, name)| *name == half);
            assert!(half.map(|(bytes, _)| bytes).sum::<f64>() > 1e6, "{data:?}: {up:?}");
        }
    }
}

#[test]
fn peers_that_leave_take_both_connections_with_them() {
    let mut plan = mixed([TCP, UTP]);
    for population in &mut populations(&mut plan)[1..] {
        population.departure = Departure::AfterShare { share: 0.5 };
        population.replace = true;
    }
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    swarm.stop_after_completions = Some(30);
    for seed in 0..4 {
        let tables = run(&plan, seed);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
        assert_eq!(numbers(&tables, "downloads", "completed_s").len(), 30);
        assert!(numbers(&tables, "downloads", "left_s").len() >= 15);
        let one = |column| numbers(&tables, "run", column)[0];
        let settled = one("packets_delivered") + one("packets_lost") + one("packets_dropped");
        let travelling = one("packets_sent") - settled;
        assert!((0.0..11.0 * 200.0).contains(&travelling), "{travelling}");
    }
}

#[test]
fn a_population_and_a_transfer_may_name_what_carries_them() {
    let mut plan = adsl_swarm(4, 1 << 20, 100, None);
    plan.utps = vec![utp::profiles::named("libutp").expect("it ships")];
    for transport in [None, TCP, LEDBAT, UTP] {
        populations(&mut plan)[1].transport = transport;
        plan.workloads.truncate(1);
        let backup = Transfer { size_bytes: Some(200_000), transport, ..transfer(1, 2) };
        plan.workloads.push(Workload::Transfer(backup));
        let tables = run(&plan, 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"], "{transport:?}");
        assert_eq!(numbers(&tables, "transfers", "bytes"), [200_000.0]);
    }
}

#[test]
fn a_block_at_a_time_costs_what_the_transport_is_waited_for() {
    // 100 Mbit/s and 100 ms: a block of 16 KiB takes a millisecond, an acknowledgement a hundred.
    let seconds = |hand_over| {
        let mut plan = adsl_swarm(1, 2 << 20, 1000, TCP);
        for link in &mut plan.network.links {
            link.conditions.rate_bps = Rate::from_bps(100_000_000);
            link.conditions.delay_ns = Span::from_millis(25);
        }
        plan.profiles[0].limiter.hand_over = hand_over;
        numbers(&run(&plan, 1), "downloads", "duration_s")[0]
    };
    let [room, sent, acknowledged] =
        [HandOver::Room, HandOver::Sent, HandOver::Acknowledged].map(seconds);
    // 128 blocks, of which one is on its way in each round trip.
    assert!((12.8..15.0).contains(&acknowledged), "{acknowledged}");
    assert!(room <= sent && sent < 0.6 * acknowledged, "{room} {sent} {acknowledged}");
}

/// A client that goes by room writes until its send buffer is full, and goes on at news of room: of the connection that
/// it writes to, not of the one on which the neighbour's blocks come.
#[test]
fn a_client_that_goes_by_room_fills_its_buffer_and_no_more() {
    for stack in ["linux-2.6", "linux-6"] {
        let mut plan = adsl_swarm(8, 4 << 20, 1000, TCP);
        plan.stacks[0] = profiles::named(stack).expect("the profile exists");
        plan.profiles[0].limiter.hand_over = HandOver::Room;
        let leechers = &mut populations(&mut plan)[1];
        leechers.arrivals = Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
        let tables = run(&plan, 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"], "{stack}");
        let up = numbers(&tables, "downloads", "uploaded_bytes");
        assert!(up.iter().filter(|bytes| **bytes > 1e6).count() > 4, "{stack}: {up:?}");
        // A whole copy each, over nine lines of 1 Mbit/s up, is 30 s at best.
        let last = numbers(&tables, "downloads", "duration_s").into_iter().fold(0.0, f64::max);
        assert!((30.0..150.0).contains(&last), "{stack}: {last} s");
    }
}

#[test]
fn carriers_that_do_not_exist_are_refused_with_their_place() {
    let refused = |spoil: &dyn Fn(&mut Plan)| {
        let mut plan = adsl_swarm(2, 1 << 20, 100, TCP);
        spoil(&mut plan);
        simulate(&plan, 1, &RunHandle::default()).expect_err("refused").to_string()
    };
    assert_eq!(
        refused(&|plan| populations(plan)[1].data = Some(TransportChoice::Tcp(7))),
        "plan: workloads[0].populations[1].data: 7 does not exist: there are 2"
    );
    assert_eq!(
        refused(&|plan| populations(plan)[0].transport = UTP),
        "plan: workloads[0].populations[0].transport: 0 does not exist: there are 0"
    );
    assert_eq!(
        refused(&|plan| {
            let flow = Transfer { transport: Some(TransportChoice::Tcp(2)), ..transfer(0, 1) };
            plan.workloads.push(Workload::Transfer(flow));
        }),
        "plan: workloads[1].transport: 2 does not exist: there are 2"
    );
    let drawn = |min, max| {
        move |plan: &mut Plan| {
            let (least_ns, most_ns) = (Span::from_secs(min), Span::from_secs(max));
            plan.network.links[1].delay = Some(DrawnDelay { number: 0, least_ns, most_ns });
        }
    };
    assert!(refused(&drawn(2, 1)).contains("network.links[1].delay.least_ns: must be at most"));
    assert!(refused(&drawn(1, 4000)).contains("network.links[1].delay.most_ns: must be at most"));
    assert!(
        refused(&|plan| plan.measures.queues_ns = Some(Span::ZERO)).contains("measures.queues_ns")
    );
}
