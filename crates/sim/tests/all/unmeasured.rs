//! What was never measured is null, and what is sent again counts, the handshake included.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::Conditions;
use flashcrowd_plan::{Link, Plan, Sampled, Series, Transfer, TransportChoice, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_transport::utp;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// One flow that starts after a second, over a path that loses every packet, for ten seconds.
fn nobody_answers() -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(100), 1.0));
    let flow = Transfer { start_ns: Span::from_secs(1), ..transfer(0, 1) };
    plan.workloads = vec![Workload::Transfer(flow)];
    plan.measures.packets_ns = Some(Span::from_secs(600));
    plan.measures.series = [Sampled::Rtt, Sampled::Window]
        .map(|what| Series { what, every_ns: Span::from_millis(300) })
        .to_vec();
    plan.stop.horizon_ns = Span::from_secs(10);
    plan
}

#[test]
fn a_flow_that_never_connected_has_no_round_trip() {
    let tables = run(&nobody_answers());
    assert_eq!(table(&tables, "transfers").rows(), 1);
    for column in ["mean_rtt_s", "p95_rtt_s", "min_rtt_s", "end_s"] {
        assert!(numbers(&tables, "transfers", column).is_empty(), "{column}");
    }
    // Nothing came of nine seconds: that was measured.
    assert_eq!(numbers(&tables, "transfers", "goodput_bps"), [0.0]);
    // No round trip to sample, and no window before the start.
    assert!(texts(&tables, "series", "what").iter().all(|what| what == "window"));
    let first = numbers(&tables, "series", "t_s")[0];
    assert_eq!(first, 1.2);
}

/// A flow of 100 kB is over long before one that goes on.
#[test]
fn what_is_over_has_no_window_and_no_round_trip() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(100), 0.0));
    let short = Transfer { size_bytes: Some(100_000), name: "short".to_owned(), ..transfer(0, 1) };
    let long =
        Transfer { rate_bps: kilobytes(10), stop_ns: Some(Span::from_secs(10)), ..transfer(0, 1) };
    plan.workloads = vec![Workload::Transfer(short), Workload::Transfer(long)];
    plan.measures.series = [Sampled::Rtt, Sampled::Window, Sampled::Goodput]
        .map(|what| Series { what, every_ns: Span::from_millis(70) })
        .to_vec();
    let tables = run(&plan);
    let ended = numbers(&tables, "transfers", "end_s")[0];
    assert!(ended < 2.0, "{ended}");
    let last = |what: &str| {
        let rows =
            texts(&tables, "series", "what").into_iter().zip(texts(&tables, "series", "source"));
        let at = rows.zip(numbers(&tables, "series", "t_s"));
        let of = at.filter(|((kind, source), _)| kind == what && source == "short/0");
        of.map(|(_, at)| at).fold(0.0, f64::max)
    };
    for what in ["rtt", "window"] {
        assert!((ended - 0.07..=ended).contains(&last(what)), "{what}: {} {ended}", last(what));
    }
    // It goes on delivering nothing, which is a rate.
    assert!(last("goodput") > 9.9);
}

#[test]
fn repeats_of_a_syn_count_as_those_of_data() {
    // RFC 6298: after 1, 2 and 4 s, so at 2, 4 and 8 s; the next would be at 16 s.
    let tables = run(&nobody_answers());
    assert_eq!(numbers(&tables, "packets", "t_s"), [1.0, 2.0, 4.0, 8.0]);
    assert_eq!(numbers(&tables, "packets", "retransmission"), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(numbers(&tables, "transfers", "segments"), [4.0]);
    assert_eq!(numbers(&tables, "transfers", "retransmits"), [3.0]);
    assert_eq!(numbers(&tables, "run", "retransmitted_packets"), [3.0]);
}

#[test]
fn repeats_of_utp_s_syn_count_too() {
    let mut plan = nobody_answers();
    plan.utps.push(utp::profiles::named("libutp").expect("the configuration exists"));
    if let Workload::Transfer(flow) = &mut plan.workloads[0] {
        flow.transport = Some(TransportChoice::Utp(0));
    }
    let tables = run(&plan);
    let again: f64 = numbers(&tables, "packets", "retransmission").iter().sum();
    assert_eq!(table(&tables, "packets").rows() as f64, again + 1.0);
    assert!(again > 0.0);
    assert_eq!(numbers(&tables, "transfers", "retransmits"), [again]);
    assert!(numbers(&tables, "transfers", "mean_rtt_s").is_empty());
}

#[test]
fn a_link_that_carried_nothing_has_no_mean_wait_and_an_instant_no_goodput() {
    let mut plan = plan(3, "linux-6", path(Span::ZERO, 0.0));
    let conditions = Conditions { rate_bps: Rate::from_bps(1_000_000), ..Conditions::default() };
    plan.network.links = ["used", "idle"]
        .map(|name| Link {
            name: name.to_owned(),
            conditions: conditions.clone(),
            trace: None,
            delay: None,
        })
        .to_vec();
    plan.network.hosts[0].up = vec![0];
    plan.workloads = vec![
        Workload::Transfer(Transfer { size_bytes: Some(100_000), ..transfer(0, 1) }),
        // Over at the instant of its start: nothing on its way takes time.
        Workload::Transfer(Transfer { size_bytes: Some(1000), ..transfer(1, 2) }),
    ];
    let tables = run(&plan);
    assert_eq!(texts(&tables, "links", "link"), ["used", "idle"]);
    assert_eq!(numbers(&tables, "links", "mean_queue_delay_s").len(), 1);
    assert_eq!(table(&tables, "transfers").rows(), 2);
    assert_eq!(numbers(&tables, "transfers", "goodput_bps").len(), 1);
    assert_eq!(numbers(&tables, "transfers", "bytes"), [100_000.0, 1000.0]);
    // Round trips of no length are measured ones.
    for column in ["mean_rtt_s", "p95_rtt_s", "min_rtt_s"] {
        assert_eq!(numbers(&tables, "transfers", column).len(), 2, "{column}");
    }
}
