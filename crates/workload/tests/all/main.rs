//! What happens in a run, by its rules alone: no engine, no clock.

mod calls;
mod downloads;
mod endings;
mod mixed;
mod origins;
mod pings;
mod swarms;
mod tables;
mod transfers;
mod webs;

use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Host, Measures, Network, Plan, Stop, Workload};
use flashcrowd_workload::{Column, Table};

fn seconds(seconds: u64) -> Time {
    Time::START + Span::from_secs(seconds)
}

fn millis(millis: u64) -> Time {
    Time::START + Span::from_millis(millis)
}

/// Workloads between ten hosts; a run may wait 40 s for a block.
fn plan(workloads: Vec<Workload>) -> Plan {
    let host = |number| Host {
        name: format!("host-{number}"),
        group: 0,
        stack: 0,
        up: Vec::new(),
        down: Vec::new(),
    };
    Plan {
        format: flashcrowd_plan::FORMAT,
        title: "test".to_owned(),
        network: Network {
            groups: vec!["all".to_owned()],
            hosts: (0..10).map(host).collect(),
            links: Vec::new(),
            cores: Vec::new(),
            traces: Vec::new(),
            core_of: Vec::new(),
        },
        stacks: Vec::new(),
        utps: Vec::new(),
        profiles: Vec::new(),
        workloads,
        timeline: Vec::new(),
        measures: Measures::default(),
        stop: Stop { horizon_ns: Span::from_secs(1000), stall_ns: Span::from_secs(40) },
    }
}

/// The names in a column.
fn words<'t>(table: &'t Table, name: &str) -> Vec<&'t str> {
    let Some(Column::Text(codes, words)) = table.column(name) else { panic!("no {name}") };
    codes.iter().map(|code| words[*code as usize].as_str()).collect()
}

/// The numbers of a column; −1 for what is not there.
fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name) {
        Some(Column::F64(values)) => values.clone(),
        Some(Column::U32(values)) => values.iter().map(|it| f64::from(*it)).collect(),
        Some(Column::U64(values)) => values.iter().map(|it| *it as f64).collect(),
        Some(Column::MaybeF64(values)) => values.iter().map(|it| it.unwrap_or(-1.0)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}
