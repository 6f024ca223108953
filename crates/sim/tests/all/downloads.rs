//! Downloads over several connections: how long they take is what rates and distances say.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{Change, Download, Plan, TransportChoice, What, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_transport::utp;

const SIZE: u64 = 10_000_000;
/// Payload on a line, of what passes there: headers are 52 of 1,500 B.
const PAYLOAD: f64 = 1448.0 / 1500.0;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// Host 0 downloads from host 1, which is a mirror of host 2.
pub(crate) fn download() -> Download {
    Download {
        name: "image".to_owned(),
        from: 1,
        to: 0,
        mirrors: Vec::new(),
        transport: None,
        size_bytes: SIZE,
        connections: 1,
        range_bytes: Some(1 << 20),
        least_split_bytes: Some(100 << 10),
        use_head: true,
        request_bytes: 400,
        head_bytes: 300,
        start_ns: Span::from_secs(1),
        spread_ns: Span::ZERO,
        stop_ns: None,
    }
}

/// Two servers with lines of `mbit` Mbit/s up, 40 ms away and back.
fn servers(mbit: [u64; 2], download: Download) -> Plan {
    let mut plan = plan(3, "linux-6", path(Span::from_millis(40), 0.0));
    plan.utps = vec![utp::profiles::libtorrent()];
    for (server, mbit) in mbit.into_iter().enumerate() {
        let line = Conditions {
            rate_bps: Rate::from_bps(mbit * 1_000_000),
            queue: Queue::packets(1000),
            ..Conditions::default()
        };
        line_up(&mut plan, server + 1, &format!("up {server}"), line);
    }
    plan.workloads.push(Workload::Download(download));
    plan.stop.horizon_ns = Span::from_secs(4000);
    plan
}

fn duration(plan: &Plan) -> f64 {
    numbers(&run(plan), "fetches", "duration_s")[0]
}

/// How long `bytes` bytes take at `mbit` Mbit/s.
fn at_rate(bytes: f64, mbit: f64) -> f64 {
    bytes * 8.0 / (mbit * 1e6) / PAYLOAD
}

#[test]
fn one_connection_takes_a_round_trip_more_than_its_request_for_the_head() {
    // 1,000 B: SYN and SYN-ACK, HEAD and its answer, GET and its answer.
    let small = Download { size_bytes: 1000, ..download() };
    let line = at_rate(3000.0, 8.0);
    let took = duration(&servers([8, 8], small.clone()));
    assert!((took - 0.12).abs() < line, "{took}");
    let took = duration(&servers([8, 8], Download { use_head: false, ..small }));
    assert!((took - 0.08).abs() < line, "{took}");
    // 10 MB at 8 Mbit/s; slow start reaches the rate in three round trips.
    let took = duration(&servers([8, 8], download())) - at_rate(SIZE as f64, 8.0);
    assert!((0.12..0.24).contains(&took), "{took}");
}

#[test]
fn a_file_of_one_range_is_halved_if_it_is_long_enough() {
    let opened = |size_bytes| {
        let four = Download { size_bytes, connections: 4, ..download() };
        let tables = run(&servers([8, 8], four));
        assert_eq!(numbers(&tables, "fetch_servers", "bytes"), [size_bytes as f64]);
        numbers(&tables, "fetch_servers", "connections")[0]
    };
    // 100 KiB are halved, and 50 are not. A connection that is cut short is replaced by a new one.
    assert_eq!([opened(100_000), opened(110_000)], [1.0, 2.0]);
    assert!(opened(1_000_000) >= 4.0);
}

#[test]
fn two_servers_bring_their_shares_whatever_the_rates() {
    let both = Download { connections: 2, mirrors: vec![2], ..download() };
    let tables = run(&servers([8, 24], both.clone()));
    let took = numbers(&tables, "fetches", "duration_s")[0];
    let together = at_rate(SIZE as f64, 32.0);
    // Each range has a round trip in which its line is idle, and the begin has four.
    assert!((together..together * 1.2 + 0.2).contains(&took), "{took} for {together}");
    let bytes = numbers(&tables, "fetch_servers", "bytes");
    assert_eq!(bytes.iter().sum::<f64>(), SIZE as f64);
    assert!((bytes[1] / bytes[0] - 3.0).abs() < 0.5, "{bytes:?}");
    let rates = numbers(&tables, "fetch_servers", "rate_bps");
    assert!(rates[0] > 6.5e6 && rates[0] < 8e6 * PAYLOAD, "{rates:?}");
    assert!(rates[1] > 18e6 && rates[1] < 24e6 * PAYLOAD, "{rates:?}");
    assert_eq!(texts(&tables, "run", "outcome")[0], "completed");
    // Equal parts wait for the slower server, unless the faster one takes half of what is left to it, again and again.
    let equal = Download { range_bytes: None, ..both };
    let helped = duration(&servers([8, 24], equal.clone()));
    assert!((together..together + 0.7).contains(&helped), "{helped} for {together}");
    let waits = duration(&servers([8, 24], Download { least_split_bytes: None, ..equal }));
    let slower = at_rate(SIZE as f64 / 2.0, 8.0);
    assert!((slower..slower + 0.4).contains(&waits), "{waits} for {slower}");
}

#[test]
fn several_connections_take_a_larger_share_of_a_line_and_less_time() {
    let took = |connections| {
        let mut plan = servers([1000, 1000], Download { connections, ..download() });
        // A send buffer of 64 KiB: 13 Mbit/s a connection over 40 ms.
        plan.stacks[0].send_buffer.initial_bytes = 1 << 16;
        plan.stacks[0].send_buffer.max_bytes = 1 << 16;
        duration(&plan)
    };
    let (one, four) = (took(1), took(4));
    assert!((3.2..4.2).contains(&(one / four)), "{one} and {four}");
}

#[test]
fn a_server_that_is_cut_off_leaves_its_ranges_to_the_other() {
    let both = Download { connections: 4, mirrors: vec![2], ..download() };
    let mut plan = servers([8, 8], both);
    let dead = Conditions {
        rate_bps: Rate::from_bps(8_000_000),
        queue: Queue::packets(1000),
        loss: path(Span::ZERO, 1.0).loss,
        ..Conditions::default()
    };
    let what = What::Link { link: 0, conditions: dead, trace: None };
    plan.timeline = vec![Change { at_ns: Span::from_secs(3), what }];
    let tables = run(&plan);
    assert_eq!(texts(&tables, "run", "outcome")[0], "completed");
    let bytes = numbers(&tables, "fetch_servers", "bytes");
    assert!(bytes[1] > 0.7 * SIZE as f64, "{bytes:?}");
    assert_eq!(bytes.iter().sum::<f64>(), SIZE as f64);
}

#[test]
fn a_download_without_servers_is_undelivered() {
    let both = Download { connections: 4, mirrors: vec![2], ..download() };
    let mut plan = servers([8, 8], both);
    let conditions = path(Span::from_millis(40), 1.0);
    plan.timeline =
        vec![Change { at_ns: Span::from_secs(3), what: What::Core { core: 0, conditions } }];
    let tables = run(&plan);
    assert_eq!(texts(&tables, "run", "outcome")[0], "undelivered");
    let reason = &texts(&tables, "run", "reason")[0];
    assert!(reason.starts_with("download image: the last connection was lost at"), "{reason}");
    assert!(numbers(&tables, "fetches", "duration_s").is_empty(), "it has no time");
}

#[test]
fn a_download_is_stopped_by_its_time_and_by_the_timeline() {
    let stop = Some(Span::from_secs(3));
    let own = servers([8, 8], Download { connections: 3, stop_ns: stop, ..download() });
    let mut timed = servers([8, 8], Download { connections: 3, ..download() });
    timed.timeline = vec![Change { at_ns: Span::from_secs(3), what: What::Stop { workload: 0 } }];
    for plan in [own, timed] {
        let tables = run(&plan);
        assert_eq!(numbers(&tables, "run", "end_s"), [3.0]);
        assert_eq!(texts(&tables, "run", "outcome")[0], "completed");
        let bytes = numbers(&tables, "fetches", "bytes")[0];
        assert!((1.5e6..2e6).contains(&bytes), "{bytes}");
    }
}

#[test]
fn downloads_go_over_utp_as_well() {
    let over = Download {
        connections: 3,
        mirrors: vec![2],
        transport: Some(TransportChoice::Utp(0)),
        ..download()
    };
    let took = duration(&servers([8, 8], over));
    let together = at_rate(SIZE as f64, 16.0);
    assert!((together * 0.97..together * 1.4).contains(&took), "{took} for {together}");
}
