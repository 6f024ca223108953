//! What was not delivered has no time, and a run in which a connection was lost before says so.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_origin::disk::{HardDisk, Medium};
use flashcrowd_plan::{
    Arrivals, Call, Change, Clients, PageSize, Ping, Plan, Reading, Transfer, TransportChoice, Web,
    What, Workload,
};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_swarm::UploadLimit;
use flashcrowd_transport::utp;
use proptest::prelude::*;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}
fn outcome(tables: &[Table]) -> (String, String) {
    let text = |column| texts(tables, "run", column).swap_remove(0);
    (text("outcome"), text("reason"))
}

const SIZE: u64 = 2_000_000;

/// Two hosts 40 ms apart and back, with lines of 4 Mbit/s: [`SIZE`] takes more than 4 s.
fn network(loss: f64, workload: Workload) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), loss));
    plan.utps = vec![utp::profiles::libtorrent()];
    let line = Conditions {
        rate_bps: Rate::from_bps(4_000_000),
        queue: Queue::packets(50),
        ..Conditions::default()
    };
    for host in 0..2 {
        line_up(&mut plan, host, &format!("up {host}"), line.clone());
    }
    plan.workloads = vec![workload];
    plan.stop.horizon_ns = Span::from_secs(4000);
    plan
}

/// From 2 s on nothing gets through.
fn breaks(plan: &mut Plan) {
    let conditions = path(Span::from_millis(40), 1.0);
    let what = What::Core { core: 0, conditions };
    plan.timeline = vec![Change { at_ns: Span::from_secs(2), what }];
}

fn flow(transport: Option<TransportChoice>, size_bytes: Option<u64>) -> Workload {
    Workload::Transfer(Transfer {
        name: "bulk".to_owned(),
        transport,
        size_bytes,
        flows: 2,
        ..transfer(0, 1)
    })
}

fn web() -> Workload {
    Workload::Web(Web {
        name: "home".to_owned(),
        from: 1,
        to: 0,
        transport: None,
        users: 1,
        connections: 2,
        request_bytes: 400,
        page: PageSize {
            median_bytes: SIZE,
            sigma: 0.0,
            tail_from_bytes: SIZE,
            tail_shape: 1.1,
            largest_bytes: SIZE,
        },
        reading: Reading::Exponential { mean_ns: Span::from_secs(10) },
        start_ns: Span::ZERO,
        spread_ns: Span::ZERO,
        stop_ns: None,
    })
}

fn origin(arrivals: Arrivals) -> Workload {
    let mut origin = origin_of_extents("circus", Medium::HardDisk(HardDisk::default()));
    origin.populations = vec![Clients { arrivals, ..together(&[1], false) }];
    Workload::Origin(origin)
}

fn visit(leave_ns: Option<Span>) -> Arrivals {
    Arrivals::Sessions { at_ns: vec![Span::ZERO], leave_ns: vec![leave_ns] }
}

/// Each workload that ends, with the table that has its times, and a word of what it lost.
fn workloads() -> Vec<(Workload, &'static str, &'static str)> {
    let utp = Some(TransportChoice::Utp(0));
    vec![
        (flow(None, Some(SIZE)), "transfers", "transfer bulk: 2 of 2 flows lost"),
        (flow(utp, Some(SIZE)), "transfers", "transfer bulk: 2 of 2 flows lost"),
        (flow(None, None), "transfers", "transfer bulk: 2 of 2 flows lost"),
        (flow(utp, None), "transfers", "transfer bulk: 2 of 2 flows lost"),
        (web(), "pages", "pages lost the connection, the first (page 0 of user 0 at"),
        (origin(visit(None)), "downloads", "origin origin: 1 of 1 clients lost"),
    ]
}

fn datagrams() -> [Workload; 2] {
    let second = Span::from_secs(1);
    let ping = Ping {
        name: "ping".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 64,
        interval_ns: second,
        start_ns: Span::ZERO,
        stop_ns: None,
    };
    let call = Call {
        name: "voice".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 200,
        interval_ns: second,
        every_ns: None,
        start_ns: Span::ZERO,
        stop_ns: None,
    };
    [Workload::Ping(ping), Workload::Call(call)]
}

#[test]
fn what_loses_its_connection_has_no_time() {
    for middle in [false, true] {
        for (workload, table, says) in workloads() {
            let mut plan = network(if middle { 0.0 } else { 1.0 }, workload);
            if middle {
                breaks(&mut plan);
            }
            let tables = run(&plan, 1);
            let (how, reason) = outcome(&tables);
            assert_eq!(how, "undelivered", "{middle} {reason}");
            assert!(reason.contains(says), "{middle} {reason}");
            assert!(numbers(&tables, table, "duration_s").is_empty(), "{middle} {reason}");
            let arrived = numbers(&tables, "run", "payload_bytes_delivered")[0];
            assert_eq!(arrived > 0.0, middle, "{reason}");
        }
    }
}

/// With nothing in their way the same deliver all; what has no end has no time either.
#[test]
fn what_arrives_has_a_time() {
    for (workload, table, says) in workloads() {
        let endless = matches!(&workload, Workload::Transfer(it) if it.size_bytes.is_none());
        let mut plan = network(0.0, workload);
        plan.stop.horizon_ns = Span::from_secs(60);
        let tables = run(&plan, 1);
        assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()), "{says}");
        assert_eq!(numbers(&tables, table, "duration_s").is_empty(), endless, "{says}");
    }
}

/// A workload that the timeline stops was meant to end then: it has no time, and the run has not
/// failed.
#[test]
fn what_is_stopped_has_no_time_and_is_no_failure() {
    let second = Span::from_secs(1);
    let stop = vec![Change { at_ns: second, what: What::Stop { workload: 0 } }];
    for (workload, table, says) in workloads() {
        let mut plan = network(0.0, workload);
        plan.timeline.clone_from(&stop);
        plan.stop.horizon_ns = Span::from_secs(60);
        let tables = run(&plan, 1);
        assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()), "{says}");
        assert!(numbers(&tables, table, "duration_s").is_empty(), "{says}");
    }
    // As by its own stop, or as a client of an origin who goes.
    let Workload::Transfer(sized) = flow(None, Some(SIZE)) else { unreachable!() };
    for workload in [
        Workload::Transfer(Transfer { stop_ns: Some(second), ..sized }),
        origin(visit(Some(second))),
    ] {
        let tables = run(&network(0.0, workload), 1);
        assert_eq!(outcome(&tables).0, "completed");
    }
}

/// What the timeline stops before its start has no row.
#[test]
fn what_is_stopped_before_its_start_never_starts() {
    let download = Workload::Download(crate::downloads::download());
    let all = workloads().into_iter().map(|(workload, ..)| workload).chain(datagrams());
    for mut workload in all.chain([download]) {
        let (start_ns, table) = match &mut workload {
            Workload::Transfer(it) => (&mut it.start_ns, "transfers"),
            Workload::Web(it) => (&mut it.start_ns, "pages"),
            Workload::Download(it) => (&mut it.start_ns, "fetches"),
            Workload::Ping(it) => (&mut it.start_ns, "pings"),
            Workload::Call(it) => (&mut it.start_ns, "calls"),
            Workload::Origin(it) => {
                let Arrivals::Sessions { at_ns, .. } = &mut it.populations[0].arrivals else {
                    unreachable!("it has one visit")
                };
                (&mut at_ns[0], "downloads")
            }
            Workload::Swarm(_) => unreachable!("it is none of them"),
        };
        *start_ns = Span::from_secs(5);
        let mut plan = network(0.0, workload);
        let what = What::Stop { workload: 0 };
        plan.timeline = vec![Change { at_ns: Span::from_secs(1), what }];
        plan.stop.horizon_ns = Span::from_secs(60);
        let tables = run(&plan, 1);
        assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()), "{table}");
        assert_eq!(crate::common::table(&tables, table).rows(), 0, "{table}");
        assert_eq!(numbers(&tables, "run", "payload_bytes_delivered"), [0.0], "{table}");
    }
}

/// The connection may still be trying when the run ends: that nothing arrived is enough.
#[test]
fn a_dead_network_is_no_success() {
    let second = Span::from_secs(1);
    let [ping, call] = datagrams();
    let datagrams = [
        (ping, "pings", "rtt_s", "ping ping: no answer arrived to 10 requests"),
        (call, "calls", "mean_delay_s", "call voice: no packet arrived of 10 from"),
    ];
    let nothing = [
        (flow(None, None), "transfers", "duration_s", "bulk: no byte arrived of 2 of 2 flows"),
        (flow(None, Some(SIZE)), "transfers", "duration_s", "cut off in time: transfer bulk"),
        (web(), "pages", "duration_s", "web home: no byte arrived of 1 pages"),
        (origin(visit(Some(second * 3))), "downloads", "duration_s", "no block arrived at 1"),
    ];
    for (workload, table, column, says) in datagrams.into_iter().chain(nothing) {
        let mut plan = network(1.0, workload);
        plan.stop.horizon_ns = second * 10;
        let tables = run(&plan, 1);
        let (how, reason) = outcome(&tables);
        assert_eq!(how, "undelivered", "{says}: {reason}");
        assert!(reason.contains(says), "{says}: {reason}");
        assert!(numbers(&tables, table, column).is_empty(), "{says}");
    }
    // A swarm, however it ends.
    let stop = vec![Change { at_ns: second * 20, what: What::Stop { workload: 0 } }];
    for (timeline, ends, says) in [
        (vec![], "horizon", "swarm swarm: 0 of 2 leechers complete"),
        (stop.clone(), "undelivered", "swarm swarm: no block arrived at 2 leechers"),
        (stop, "stopped", "the timeline stopped a swarm with 0 of 2 leechers complete"),
    ] {
        let mut plan = flash_crowd(2, 1 << 20, None, path(Span::from_millis(40), 1.0));
        if ends == "stopped" {
            // Its seed is not allowed to upload: that nothing arrives is what the plan says.
            swarm(&mut plan).populations[0].upload_bps = UploadLimit::Nothing;
        }
        plan.timeline = timeline;
        plan.stop.horizon_ns = second * 60;
        let tables = run(&plan, 1);
        assert_eq!(outcome(&tables), (ends.to_owned(), says.to_owned()));
        assert!(numbers(&tables, "downloads", "duration_s").is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However much is lost: a workload with fewer bytes than it asked for has no time, and one with all
    /// has one.
    #[test]
    fn a_time_is_the_time_of_all_bytes(loss in 0.0..1.0_f64, kind in 0..6_usize, seed in 0..1000_u64) {
        let (workload, table, _) = workloads().swap_remove(kind);
        let mut plan = network(loss, workload);
        plan.stop.horizon_ns = Span::from_secs(200);
        let tables = run(&plan, seed);
        let (how, reason) = outcome(&tables);
        let timed = numbers(&tables, table, "duration_s").len();
        let whole = match table {
            "transfers" => {
                let sizes: Vec<f64> = numbers(&tables, table, "bytes");
                sizes.iter().filter(|bytes| kind < 2 && **bytes == SIZE as f64).count()
            }
            "downloads" => numbers(&tables, table, "completed_s").len(),
            _ => numbers(&tables, table, "end_s").len(),
        };
        prop_assert_eq!(timed, whole);
        let rows = numbers(&tables, table, if table == "downloads" { "peer" } else { "start_s" });
        if kind < 2 && timed < rows.len() {
            prop_assert!(how == "undelivered" || how == "horizon", "{} {}", how, reason);
        }
        prop_assert!(how != "completed" || reason.is_empty());
    }
}
