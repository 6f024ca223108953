//! The round-trip times of a transfer's row: mean and 95th percentile over time, worked out on paper.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::Conditions;
use flashcrowd_plan::{Change, Link, Plan, Transfer, TransportChoice, What, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_transport::utp;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// A flow of 80 kbit/s for ten seconds over a line of 1 Gbit/s, on which it never waits, with 50 ms
/// there and 50 ms back. TCP acknowledges each segment; uTP each packet.
fn flow(transport: Option<TransportChoice>) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(60), 0.0));
    plan.stacks[0].delayed_ack.segments = 1;
    plan.utps.push(utp::profiles::named("libutp").expect("the configuration exists"));
    plan.network.links.push(Link {
        name: "line".to_owned(),
        conditions: line(20),
        trace: None,
        delay: None,
    });
    plan.network.hosts[0].up = vec![0];
    plan.network.hosts[0].down = vec![];
    plan.workloads = vec![Workload::Transfer(Transfer {
        rate_bps: Rate::from_bps(80_000),
        transport,
        ..transfer(0, 1)
    })];
    plan.stop.horizon_ns = Span::from_secs(10);
    plan
}

fn line(millis: u64) -> Conditions {
    Conditions {
        rate_bps: Rate::from_bps(1_000_000_000),
        delay_ns: Span::from_millis(millis),
        ..Conditions::default()
    }
}

fn one(tables: &[Table], column: &str) -> f64 {
    let values = numbers(tables, "transfers", column);
    assert_eq!(values.len(), 1, "{column}: {values:?}");
    values[0]
}

const CARRIERS: [Option<TransportChoice>; 2] = [None, Some(TransportChoice::Utp(0))];

#[test]
fn a_constant_delay_is_its_own_mean_and_percentile() {
    for carrier in CARRIERS {
        let tables = run(&flow(carrier));
        // 20 + 30 ms there, 30 back, and 12 us on the line.
        for column in ["mean_rtt_s", "p95_rtt_s", "min_rtt_s"] {
            let value = one(&tables, column);
            assert!((value - 0.08).abs() < 2e-5, "{carrier:?} {column} {value}");
        }
    }
}

#[test]
fn a_step_of_the_delay_counts_for_as_long_as_it_lasts() {
    for carrier in CARRIERS {
        let mut plan = flow(carrier);
        for (seconds, millis) in [(4, 220), (6, 20)] {
            let what = What::Link { link: 0, conditions: line(millis), trace: None };
            plan.timeline.push(Change { at_ns: Span::from_secs(seconds), what });
        }
        let tables = run(&plan);
        // 280 ms for two of the ten seconds, and 80 ms otherwise. A flow writes each 145 ms, and hears
        // of a change a write and a round trip later: up to 0.43 s late at the begin of the step (of
        // which it hears 0.2 s later than of its end), and the first sample comes after 80 ms.
        let mean = one(&tables, "mean_rtt_s");
        assert!((mean - 0.12).abs() < 0.2 * 0.45 / 9.92, "{carrier:?} {mean}");
        let p95 = one(&tables, "p95_rtt_s");
        assert!((p95 - 0.28).abs() < 2e-5, "{carrier:?} {p95}");
        assert!((one(&tables, "min_rtt_s") - 0.08).abs() < 2e-5);
    }
}
