//! Progress of a run: the share of its time, or of its work if that is further.

use super::Run;
use crate::common::*;
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_link::Conditions;
use flashcrowd_origin::Settings;
use flashcrowd_origin::disk::{Medium, Ssd};
use flashcrowd_plan::{Arrivals, Clients, Files, Plan, Transfer, Workload};

/// The progress that a run reports at each of these seconds.
fn shares(plan: &Plan, seconds: &[u64]) -> Vec<f64> {
    plan.check().expect("the plan makes sense");
    let mut run = Run::new(plan, 1);
    run.begin();
    let mut after = |seconds| {
        while run.world.outcome.is_none() && run.world.now < Time::START + Span::from_secs(seconds)
        {
            let (now, event) = run.world.queue.pop().expect("the horizon comes");
            run.world.now = now;
            run.handle(event);
            run.world.forget_evicted();
        }
        run.progress()
    };
    seconds.iter().map(|&at| after(at)).collect()
}

/// Flows of 10,000 bytes a second, of these sizes in bytes, until a horizon in seconds.
fn flows(sizes: &[Option<u64>], horizon: u64) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(20), 0.0));
    plan.workloads = sizes
        .iter()
        .map(|&size_bytes| {
            let rate_bps = Rate::from_bps(80_000);
            Workload::Transfer(Transfer { size_bytes, rate_bps, ..transfer(0, 1) })
        })
        .collect();
    plan.stop.horizon_ns = Span::from_secs(horizon);
    plan
}

fn assert_close(found: &[f64], expected: &[f64]) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.03);
    assert!(near && found.len() == expected.len(), "{found:?} instead of {expected:?}");
}

#[test]
fn a_flow_with_a_size_is_as_far_as_its_bytes() {
    let plan = flows(&[Some(100_000)], 1000);
    assert_close(&shares(&plan, &[0, 3, 7]), &[0.0, 0.3, 0.7]);
    // The slower of two; one without a size does not count.
    let plan = flows(&[Some(100_000), Some(200_000), None], 1000);
    assert_close(&shares(&plan, &[3, 7, 12]), &[0.15, 0.35, 0.6]);
    // But the run is over at the horizon.
    assert_close(&shares(&flows(&[Some(100_000)], 5), &[1, 3]), &[0.2, 0.6]);
}

#[test]
fn without_a_size_time_counts() {
    assert_close(&shares(&flows(&[None], 10), &[0, 4, 9]), &[0.0, 0.4, 0.9]);
    let mut plan = flows(&[None], 1000);
    let Workload::Transfer(flow) = &mut plan.workloads[0] else { panic!("it is a transfer") };
    flow.stop_ns = Some(Span::from_secs(6));
    assert_close(&shares(&plan, &[3, 5]), &[0.5, 5.0 / 6.0]);
}

/// One seed that sends 20 KiB/s to each of two leechers who take turns: of 2 MiB, 400 KiB in 20 s.
#[test]
fn a_swarm_is_as_far_as_its_leechers_together() {
    let mut plan = flash_crowd(2, 1 << 20, kilobytes(20), path(Span::from_millis(100), 0.0));
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    swarm.populations[1].arrivals =
        Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
    swarm.populations[1].upload_bps = Rate::from_bps(8).into();
    let found = shares(&plan, &[0, 20, 40]);
    assert_eq!(found[0], 0.0);
    assert!((found[2] - found[1] - 400.0 / 2048.0).abs() < 0.03, "{found:?}");
}

/// A server of two files, whose clients get 100,000 bytes a second each: one from the start, one after five
/// seconds.
#[test]
fn a_server_is_as_far_as_the_bytes_of_all_its_clients() {
    let mut plan = plan(3, "linux-6", path(Span::from_millis(20), 0.0));
    for host in 1..3 {
        let rate_bps = Rate::from_bps(829_000);
        line_down(&mut plan, host, Conditions { rate_bps, ..Conditions::default() });
    }
    let mut origin = origin_of_extents("in-order", Medium::Ssd(Ssd::default()));
    origin.files = Files { count: 2, size_bytes: 1_000_000, zipf: 0.0 };
    origin.settings =
        Settings { block_bytes: 1 << 12, extent_bytes: 1 << 18, ..Settings::default() };
    let arrivals = Arrivals::Times { at_ns: vec![Span::ZERO, Span::from_secs(5)] };
    origin.populations = vec![Clients { arrivals, ..together(&[1, 2], true) }];
    plan.workloads = vec![Workload::Origin(origin)];
    assert_close(&shares(&plan, &[0, 4, 7, 12]), &[0.0, 0.2, 0.45, 0.85]);
}
