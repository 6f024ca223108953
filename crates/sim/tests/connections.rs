//! Logs of connections: exact rows of a run that can be worked out on paper, and what must hold of any
//! log, whatever the network does.

mod common;

use common::*;
use flashcrowd_base::{Probability, Rate, Span};
use flashcrowd_link::{Conditions, Loss, LossModel, Queue, Side};
use flashcrowd_plan::{Connections, Link, Plan, TransportChoice, Workload};
use flashcrowd_sim::{Column, RunHandle, Table, simulate};

use std::collections::BTreeMap;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}

/// Everything of all connections.
fn everything() -> Connections {
    Connections {
        workloads: vec![0],
        hosts: None,
        from_ns: Span::ZERO,
        to_ns: None,
        packets: true,
        metrics: true,
        timers: true,
    }
}

/// A line of 1 Mbit/s and 10 ms from host 0, then a path with 20 ms each way; `bytes` from host 0 to host 1.
fn line(stack: &str, bytes: u64) -> Plan {
    let mut plan = plan(2, stack, path(Span::from_millis(40), 0.0));
    let conditions = Conditions {
        rate_bps: Rate::from_bps(1_000_000),
        delay_ns: Span::from_millis(10),
        queue: Queue::packets(1000),
        ..Conditions::default()
    };
    plan.network.links.push(Link { name: "line".to_owned(), conditions, delay: None });
    plan.network.hosts[0].up.push(0);
    let mut flow = transfer(0, 1);
    flow.size_bytes = Some(bytes);
    plan.workloads.push(Workload::Transfer(flow));
    plan.measures.connections = Some(everything());
    plan
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Number(f64),
    Text(String),
}

/// The rows of the logs, by the names of their columns.
fn rows(tables: &[Table]) -> Vec<BTreeMap<&'static str, Value>> {
    let table = table(tables, "connection_events");
    let mut rows = vec![BTreeMap::new(); table.rows()];
    for (name, column) in &table.columns {
        for (place, row) in rows.iter_mut().enumerate() {
            let number = |value: Option<f64>| value.map_or(Value::Null, Value::Number);
            let value = match column {
                Column::F64(values) => Value::Number(values[place]),
                Column::MaybeF64(values) => number(values[place]),
                Column::U64(values) => Value::Number(values[place] as f64),
                Column::MaybeU64(values) => number(values[place].map(|it| it as f64)),
                Column::U32(values) => Value::Number(f64::from(values[place])),
                Column::Text(codes, names) => Value::Text(names[codes[place] as usize].clone()),
                Column::MaybeText(codes, names) => codes[place]
                    .map_or(Value::Null, |code| Value::Text(names[code as usize].clone())),
            };
            row.insert(*name, value);
        }
    }
    rows
}

#[test]
fn print() {
    let tables = run(&line("linux-6", 3 * 1448), 1);
    for row in rows(&tables) {
        let told: Vec<String> = row
            .iter()
            .filter(|(_, value)| **value != Value::Null)
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        println!("{}", told.join(" "));
    }
    let _ = (TransportChoice::Tcp(0), Probability::new(0.0));
    let _ = (Loss {
        side: Side::Sender,
        model: LossModel::Bernoulli { probability: Probability::new(0.0).unwrap() },
    },);
}
