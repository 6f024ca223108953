//! A client whose neighbours send over TCP and over uTP, and what it leaves to each.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{Arrivals, Link, Plan, TransportChoice};
use flashcrowd_sim::{RunHandle, simulate};
use flashcrowd_swarm::profile::{self, MixedModeAlgorithm};
use flashcrowd_transport::utp;

/// A leecher behind 4 Mbit/s, to which a seed connects over TCP and seven over uTP.
fn home(algorithm: MixedModeAlgorithm) -> Plan {
    let mut plan = flash_crowd(8, 10_000_000, None, path(Span::from_millis(40), 0.0));
    plan.profiles = vec![profile::named("libtorrent").expect("the profile exists")];
    plan.profiles[0].limiter.mixed_mode_algorithm = algorithm;
    plan.utps = vec![utp::profiles::named("libtorrent").expect("the configuration exists")];
    plan.network.links.push(Link {
        name: "down".to_owned(),
        conditions: Conditions {
            rate_bps: Rate::from_bps(4_000_000),
            queue: Queue::packets(100),
            ..Conditions::default()
        },
        trace: None,
        delay: None,
    });
    plan.network.hosts[1].down.push(0);
    let populations = &mut swarm(&mut plan).populations;
    populations[1].hosts = vec![1];
    // Whoever comes later connects to those who are there.
    let first = Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
    populations[1].arrivals = first;
    let later = Arrivals::FlashCrowd { start_ns: Span::from_secs(5), spread_ns: Span::ZERO };
    populations[0].arrivals = later;
    let mut yielding = populations[0].clone();
    yielding.name = "yielding".to_owned();
    yielding.hosts = (2..9).collect();
    yielding.transport = Some(TransportChoice::Utp(0));
    populations.push(yielding);
    plan
}

/// Of what the leecher downloaded, the share that came over TCP.
fn share_of_tcp(algorithm: MixedModeAlgorithm) -> f64 {
    let tables = simulate(&home(algorithm), 1, &RunHandle::default()).expect("the plan runs");
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    let uploaded = numbers(&tables, "populations", "uploaded_bytes");
    let [tcp, none, utp] = uploaded[..] else { panic!("three populations") };
    assert_eq!(none, 0.0);
    tcp / (tcp + utp)
}

#[test]
fn tcp_leaves_utp_half_of_a_full_line_where_it_has_one_of_eight_connections() {
    let free = share_of_tcp(MixedModeAlgorithm::PreferTcp);
    let limited = share_of_tcp(MixedModeAlgorithm::PeerProportional);
    assert!(free > 0.7, "{free}");
    assert!((0.3..0.6).contains(&limited), "{limited}");
}
