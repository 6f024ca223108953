//! Echo requests: who stops, who goes on, and by what a capture tells them apart.

use crate::common::*;
use flashcrowd_base::Span;
use flashcrowd_plan::{Capture, Change, Ping, Plan, What, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};
use std::collections::BTreeSet;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// Two hosts 40 ms apart, of which the first asks the second each second, for each name; 5.5 s.
fn pings(names: &[&str]) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    let ping = |name: &&str| {
        Workload::Ping(Ping {
            name: (*name).to_owned(),
            from: 0,
            to: 1,
            size_bytes: 84,
            interval_ns: Span::from_secs(1),
            start_ns: Span::ZERO,
            stop_ns: None,
        })
    };
    plan.workloads = names.iter().map(ping).collect();
    plan.stop.horizon_ns = Span::from_millis(5500);
    plan
}

#[test]
fn the_timeline_stops_one_of_them() {
    let mut plan = pings(&["stopped", "other"]);
    let what = What::Stop { workload: 0 };
    plan.timeline = vec![Change { at_ns: Span::from_millis(2500), what }];
    let tables = run(&plan);
    let names = texts(&tables, "pings", "ping");
    assert_eq!(names, [&["stopped"; 3][..], &["other"; 6][..]].concat());
    let seconds = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(numbers(&tables, "pings", "sent_s"), seconds);
    assert_eq!(numbers(&tables, "pings", "seq"), seconds);
    let rtts = numbers(&tables, "pings", "rtt_s");
    assert!(rtts.len() == 9 && rtts.iter().all(|rtt| (rtt - 0.04).abs() < 1e-9), "{rtts:?}");
}

#[test]
fn nothing_is_sent_before_the_start_and_from_the_stop_on() {
    let mut plan = pings(&["ping"]);
    let Workload::Ping(ping) = &mut plan.workloads[0] else { panic!("it is a ping") };
    (ping.start_ns, ping.stop_ns) = (Span::from_millis(1500), Some(Span::from_millis(4500)));
    let tables = run(&plan);
    assert_eq!(numbers(&tables, "pings", "sent_s"), [1.5, 2.5, 3.5]);
    assert_eq!(numbers(&tables, "pings", "seq"), [0.0, 1.0, 2.0]);
}

/// The identifier of RFC 792 is the number of the ping, from one on.
#[test]
fn every_ping_has_an_identifier_of_its_own() {
    let mut plan = pings(&["a", "b", "c"]);
    plan.measures.capture =
        Some(Capture { hosts: vec![0], from_ns: Span::ZERO, to_ns: None, snap_bytes: None });
    let tables = run(&plan);
    let mut seen = BTreeSet::new();
    for (sent, packet) in captured_packets(&tables) {
        // Behind the IP header: type, code, checksum, identifier, number.
        let word = |at| u16::from_be_bytes([packet[at], packet[at + 1]]);
        assert_eq!(packet[20], if sent { 8 } else { 0 });
        assert!(seen.insert((sent, word(24), word(26))), "one of each");
    }
    for way in [true, false] {
        for identifier in 1..=3 {
            assert!((0..6).all(|number| seen.contains(&(way, identifier, number))));
        }
    }
    assert_eq!(seen.len(), 2 * 3 * 6);
}
