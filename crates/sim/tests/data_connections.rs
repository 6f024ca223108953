//! Swarms whose blocks go over connections of their own.

mod common;

use common::*;
use flashcrowd_sim::plan::*;
use flashcrowd_sim::{Control, Plan, Table, simulate};

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &Control::default()).expect("the plan runs")
}

#[test]
fn a_swarm_completes_whether_its_blocks_go_apart_or_not() {
    for data in [None, Some(Carrier::Tcp(0)), Some(Carrier::Tcp(1))] {
        let tables = run(&adsl_swarm(10, 4 << 20, 200, data), 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"], "{data:?}");
        assert_eq!(numbers(&tables, "downloads", "completed_s").len(), 10, "{data:?}");
    }
}
