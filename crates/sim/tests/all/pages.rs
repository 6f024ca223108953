//! Pages over fresh connections: how long they take is what rate, distance and transport say.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{
    Change, Link, PageSize, Plan, Reading, TransportChoice, Web, What, Workload,
};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_transport::utp;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// Pages that all have this length.
fn fixed(bytes: u64) -> PageSize {
    PageSize {
        median_bytes: bytes,
        sigma: 0.0,
        tail_from_bytes: bytes,
        tail_shape: 1.1,
        largest_bytes: bytes,
    }
}

/// One user at host 0, who reads for ten seconds or so.
fn user(bytes: u64) -> Web {
    Web {
        name: "home".to_owned(),
        from: 0,
        to: 1,
        transport: None,
        users: 1,
        connections: 1,
        request_bytes: 400,
        page: fixed(bytes),
        reading: Reading::Exponential { mean_ns: Span::from_secs(10) },
        start_ns: Span::from_secs(1),
        spread_ns: Span::ZERO,
        stop_ns: None,
    }
}

/// 100 ms there and back; host 0 has a line of 10 Mbit/s down.
fn home(web: Web) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(100), 0.0));
    let conditions = Conditions {
        rate_bps: Rate::from_bps(10_000_000),
        queue: Queue::packets(1000),
        ..Conditions::default()
    };
    plan.network.links.push(Link { name: "down".to_owned(), conditions, trace: None, delay: None });
    plan.network.hosts[0].down.push(0);
    plan.workloads.push(Workload::Web(web));
    plan.stop.horizon_ns = Span::from_secs(300);
    plan
}

/// Durations of the pages that ended.
fn durations(tables: &[Table]) -> Vec<f64> {
    numbers(tables, "pages", "duration_s")
}

/// Time for this many bytes of packets on the line down.
fn on_the_line(bytes: f64) -> f64 {
    bytes * 8.0 / 10e6
}

#[test]
fn a_small_page_takes_two_round_trips() {
    // 10,000 B fit into the initial window of ten segments: SYN and SYN-ACK, then the request and the
    // page, each packet of 52 B of headers; those of the SYN-ACK take less than a tenth of a
    // millisecond.
    let tables = run(&home(user(10_000)));
    let expected = 0.2 + on_the_line(10_000.0 + 7.0 * 52.0);
    let durations = durations(&tables);
    assert!(durations.len() > 10);
    for duration in durations {
        assert!((duration - expected).abs() < 2e-4, "{duration} for {expected}");
    }
    // The first byte comes with the first packet of them.
    let starts = numbers(&tables, "pages", "start_s");
    let first = numbers(&tables, "pages", "first_byte_s");
    for (start, first) in starts.iter().zip(first) {
        let waited = first - start;
        assert!((waited - 0.2 - on_the_line(1500.0)).abs() < 2e-4, "{waited}");
    }
    assert_eq!(starts[0], 1.0);
    assert_eq!(texts(&tables, "run", "outcome")[0], "completed");
}

#[test]
fn a_large_page_takes_slow_start_and_then_the_rate() {
    let bytes = 5_000_000.0;
    let tables = run(&home(user(5_000_000)));
    // 5 MB at 10 Mbit/s are 4.1 s. Slow start reaches the bandwidth-delay product, 83 segments, after
    // four round trips at most, one for the connection and one for the request besides.
    let carried = on_the_line(bytes * 1500.0 / 1448.0);
    for duration in durations(&tables) {
        assert!(duration > 0.2 + carried, "{duration} for {carried}");
        assert!(duration < 0.2 + 0.4 + carried, "{duration} for {carried}");
    }
    let whole = durations(&tables).len() as f64 * bytes;
    let delivered = numbers(&tables, "run", "payload_bytes_delivered")[0];
    assert!((0.0..bytes).contains(&(delivered - whole)), "{delivered} of {whole}");
}

#[test]
fn several_connections_have_several_initial_windows() {
    let took = |connections| durations(&run(&home(Web { connections, ..user(80_000) })))[0];
    // 55 segments are three windows of one connection (10, 20, 25), and the first of six.
    let (one, six) = (took(1), took(6));
    assert!((one - six - 0.2).abs() < 0.07, "{one} and {six}");
    assert!(six > 0.2 + on_the_line(80_000.0) && six < 0.3, "{six}");
    // Ten bytes over a hundred connections are ten.
    let tables = run(&home(Web { connections: 100, ..user(10) }));
    assert!(durations(&tables).iter().all(|duration| (duration - 0.2).abs() < 0.002));
}

#[test]
fn a_page_goes_by_utp_as_well() {
    let mut plan = home(Web { transport: Some(TransportChoice::Utp(0)), ..user(100_000) });
    plan.utps = vec![utp::profiles::named("libutp").expect("the profile exists")];
    let durations = durations(&run(&plan));
    assert!(durations.len() > 10);
    assert!(durations.iter().all(|duration| *duration > 0.2 && *duration < 3.0), "{durations:?}");
}

#[test]
fn users_are_apart_and_their_pages_are_the_same_in_all_variants() {
    let heavy = PageSize {
        median_bytes: 100_000,
        sigma: 1.0,
        tail_from_bytes: 500_000,
        tail_shape: 1.1,
        largest_bytes: 5_000_000,
    };
    let web = Web { users: 4, page: heavy, spread_ns: Span::from_secs(5), ..user(1) };
    let mut plan = home(web);
    let fast = run(&plan);
    plan.network.links[0].conditions.rate_bps = Rate::from_bps(2_000_000);
    let slow = run(&plan);
    let pages = |tables: &[Table]| -> Vec<(u32, u32, u64)> {
        let of = |column| numbers(tables, "pages", column);
        let rows = of("user").into_iter().zip(of("page")).zip(of("bytes"));
        rows.map(|((user, page), bytes)| (user as u32, page as u32, bytes as u64)).collect()
    };
    let (fast_pages, slow_pages) = (pages(&fast), pages(&slow));
    let shared: Vec<_> = slow_pages.iter().filter(|row| fast_pages.contains(row)).collect();
    // A slower line has fewer pages, and none that the faster one has not.
    assert!(slow_pages.len() < fast_pages.len());
    assert_eq!(shared.len(), slow_pages.len());
    assert!(mean(&durations(&slow)) > 2.0 * mean(&durations(&fast)));
    for user in 0..4 {
        assert!(fast_pages.iter().filter(|row| row.0 == user).count() > 5);
    }
    let bytes: std::collections::BTreeSet<u64> = fast_pages.iter().map(|row| row.2).collect();
    assert_eq!(bytes.len(), fast_pages.len(), "every page has a length of its own");
    assert_eq!(
        fast,
        run(&home(match &plan.workloads[0] {
            Workload::Web(web) => web.clone(),
            _ => panic!("it is a web"),
        }))
    );
}

#[test]
fn a_stop_gives_up_the_page_under_way() {
    for by_timeline in [false, true] {
        let mut web = user(5_000_000);
        let at_ns = Span::from_secs(3);
        web.stop_ns = (!by_timeline).then_some(at_ns);
        let mut plan = home(web);
        if by_timeline {
            plan.timeline.push(Change { at_ns, what: What::Stop { workload: 0 } });
        }
        let tables = run(&plan);
        assert_eq!(table(&tables, "pages").rows(), 1);
        assert_eq!(numbers(&tables, "pages", "first_byte_s").len(), 1);
        assert!(durations(&tables).is_empty());
        let delivered = numbers(&tables, "run", "payload_bytes_delivered")[0];
        assert!((1e6..3e6).contains(&delivered), "{delivered}");
        // The connection is closed at once, so nothing more is carried than what was under way.
        let carried = numbers(&tables, "links", "bytes")[0];
        assert!(carried < delivered * 1.04 + 1_600_000.0, "{carried}");
    }
}

/// A server that cannot be reached: the page fails when TCP gives up, and the user goes on.
#[test]
fn a_page_that_fails_is_given_up() {
    let mut plan = home(user(10_000));
    plan.network.cores[0].conditions = path(Span::from_millis(100), 1.0);
    plan.stop.horizon_ns = Span::from_secs(3600);
    let tables = run(&plan);
    assert!(table(&tables, "pages").rows() > 5, "{}", table(&tables, "pages").rows());
    assert!(durations(&tables).is_empty() && numbers(&tables, "pages", "first_byte_s").is_empty());
}
