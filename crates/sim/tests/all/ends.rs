//! When a run is over, and when it is not.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_plan::{Arrivals, Change, Plan, Transfer, What, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}
fn outcome(tables: &[Table]) -> (String, f64) {
    (texts(tables, "run", "outcome").swap_remove(0), numbers(tables, "run", "end_s")[0])
}

/// Only what can finish ends a run early: an endless flow that the timeline stops is no such thing.
#[test]
fn a_run_in_which_nothing_can_finish_goes_on_until_the_horizon() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(20), 0.0));
    plan.workloads = vec![Workload::Transfer(transfer(0, 1))];
    plan.timeline = vec![Change { at_ns: Span::from_secs(5), what: What::Stop { workload: 0 } }];
    plan.stop.horizon_ns = Span::from_secs(10);
    assert_eq!(outcome(&run(&plan)), ("completed".to_owned(), 10.0));
}

/// A download that takes several times the stall time, and never pauses for as long.
#[test]
fn a_swarm_that_gets_on_slowly_is_not_stalled() {
    let mut slow = flash_crowd(1, 1 << 20, kilobytes(10), path(Span::from_millis(50), 0.0));
    slow.stop.stall_ns = Span::from_secs(20);
    let (how, end) = outcome(&run(&slow));
    assert_eq!(how, "completed");
    assert!(end > 5.0 * 20.0, "{end}");
    // One that gets nothing for as long is.
    let Workload::Swarm(swarm) = &mut slow.workloads[0] else { panic!("it is a swarm") };
    swarm.populations[0].upload_bps = Rate::from_bps(8).into();
    let (how, end) = outcome(&run(&slow));
    assert_eq!(how, "stalled");
    assert!((20.0..60.0).contains(&end), "{end}");
}

/// A peer that has the file and one that left without it wait for nothing: a pause until the next comes
/// is no stall.
#[test]
fn nobody_waits_until_the_next_comes() {
    let mut plan = flash_crowd(3, 1 << 18, kilobytes(50), path(Span::from_millis(50), 0.0));
    plan.stop.stall_ns = Span::from_secs(20);
    let seconds = |at: u64| Span::from_secs(at);
    swarm(&mut plan).populations[1].arrivals = Arrivals::Sessions {
        at_ns: vec![seconds(0), seconds(0), seconds(100)],
        leave_ns: vec![None, Some(seconds(1)), None],
    };
    let (how, end) = outcome(&run(&plan));
    assert_eq!(how, "completed");
    assert!(end > 100.0, "{end}");
}

/// The SYN is sent again after 1, 2, 4, 8, 16 and 32 s; 64 s later TCP gives up, and the flow with it.
#[test]
fn a_flow_whose_connection_fails_is_over() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(20), 1.0));
    let flow = Transfer { size_bytes: Some(1000), ..transfer(0, 1) };
    plan.workloads = vec![Workload::Transfer(flow)];
    let tables = run(&plan);
    assert_eq!(outcome(&tables), ("undelivered".to_owned(), 127.0));
    let lost = "transfer 0 to 1: 1 of 1 flows lost the connection, \
                the first (flow 0 at 127.0 s after 0 of 1000 bytes)";
    assert_eq!(texts(&tables, "run", "reason"), [lost]);
    assert_eq!(numbers(&tables, "transfers", "end_s"), [127.0]);
    assert_eq!(numbers(&tables, "transfers", "bytes"), [0.0]);
    // What it counted stays, too.
    assert_eq!(numbers(&tables, "transfers", "retransmits"), [6.0]);
    assert_eq!(numbers(&tables, "transfers", "timeouts"), [6.0]);
    assert_eq!(numbers(&tables, "run", "retransmitted_packets"), [6.0]);
}

#[test]
fn a_swarm_that_the_timeline_stops_says_how_far_it_was() {
    for (seconds, ends, reason) in [
        (5, "stopped", "the timeline stopped a swarm with 0 of 2 leechers complete"),
        (5000, "completed", ""),
    ] {
        let mut plan = flash_crowd(2, 1 << 20, kilobytes(10), path(Span::from_millis(50), 0.0));
        let at_ns = Span::from_secs(seconds);
        plan.timeline = vec![Change { at_ns, what: What::Stop { workload: 0 } }];
        let tables = run(&plan);
        assert_eq!(outcome(&tables).0, ends);
        assert_eq!(texts(&tables, "run", "reason"), [reason]);
    }
}
