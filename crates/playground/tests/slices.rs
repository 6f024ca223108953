//! A run in slices is the same run, and the slices together are its tables.

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use common::{flash_crowd, kilobytes, path};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Ping, Plan, Sampled, Series, Workload};
use flashcrowd_playground::Session;
use flashcrowd_sim::{RunHandle, Table, simulate};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Five leechers of a small file, and a ping that loses some of its packets.
fn crowd() -> Plan {
    let mut plan = flash_crowd(5, 1 << 20, kilobytes(100), path(Span::from_millis(50), 0.02));
    plan.workloads.push(Workload::Ping(Ping {
        name: "ping".to_owned(),
        from: 1,
        to: 0,
        interval_ns: Span::from_millis(200),
        size_bytes: 84,
        start_ns: Span::ZERO,
        stop_ns: None,
    }));
    plan.measures.have = true;
    plan.measures.series =
        vec![Series { what: Sampled::Completed, every_ns: Span::from_millis(500) }];
    plan
}

fn session(plan: &Plan) -> Session {
    let text = serde_json::to_string(plan).expect("a plan is JSON");
    Session::start(text.as_bytes(), 7).expect("the plan makes sense")
}

fn read(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).expect("an answer is a JSON object")
}

/// Advances to the end in steps of `seconds`; the live tables as the slices say, and all tables.
fn in_steps(
    plan: &Plan,
    seconds: f64,
) -> (BTreeMap<String, Map<String, Value>>, Map<String, Value>) {
    let mut session = session(plan);
    let mut told: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    loop {
        let before = session.now();
        let slice = read(&session.advance(seconds).expect("the run goes on"));
        for (name, part) in slice["tables"].as_object().expect("tables by name") {
            let from = part["from"].as_u64().expect("a row") as usize;
            let table = told.entry(name.clone()).or_default();
            for (column, values) in part["columns"].as_object().expect("columns by name") {
                let rows = table.entry(column).or_insert_with(|| Value::Array(Vec::new()));
                let rows = rows.as_array_mut().expect("rows");
                assert!(rows.len() >= from, "{name}.{column}: a gap before row {from}");
                rows.truncate(from);
                rows.extend(values.as_array().expect("values").iter().cloned());
            }
        }
        if slice["ended"] == Value::Bool(true) {
            return (told, read(&session.tables().expect("tables are JSON")));
        }
        assert!(session.now() >= before + Span::from_seconds(seconds));
    }
}

fn rows(tables: &[Table], name: &str) -> usize {
    tables.iter().find(|table| table.name == name).map_or(0, Table::rows)
}

#[test]
fn slices_of_any_length_give_the_tables_of_a_run_at_once() {
    let plan = crowd();
    let at_once = simulate(&plan, 7, &RunHandle::default()).expect("the run ends");
    for name in ["have", "series", "pings", "downloads"] {
        assert!(rows(&at_once, name) > 0, "{name} is empty: nothing is compared");
    }
    let whole = in_steps(&plan, 1e6).1;
    for step in [0.05, 1.0, 7.0] {
        let (told, tables) = in_steps(&plan, step);
        assert_eq!(tables, whole, "steps of {step} s");
        for (name, table) in told {
            assert_eq!(Value::Object(table), tables[&name], "{name}, steps of {step} s");
        }
    }
    let names: Vec<&str> = at_once.iter().map(|table| table.name).collect();
    assert_eq!(whole.len(), names.len());
    for table in &at_once {
        let columns = whole[table.name].as_object().expect("columns by name");
        assert_eq!(columns.len(), table.columns.len());
        for (name, column) in &table.columns {
            assert_eq!(columns[*name].as_array().map(Vec::len), Some(column.len()), "{name}");
        }
    }
}

#[test]
fn a_run_that_has_ended_goes_no_further() {
    let mut session = session(&crowd());
    session.advance(1e6).expect("the run ends");
    let (end, tables) = (session.now(), session.tables());
    assert!(end > Time::START);
    let again = read(&session.advance(10.0).expect("nothing happens"));
    assert_eq!(again["ended"], Value::Bool(true));
    assert_eq!((session.now(), session.tables()), (end, tables));
}

#[test]
fn what_is_no_plan_is_refused_with_its_place() {
    let refused = |text: &str| Session::start(text.as_bytes(), 1).err().unwrap_or_default();
    assert!(refused("{}").contains("missing field"), "{}", refused("{}"));
    let mut plan = crowd();
    plan.stop.horizon_ns = Span::ZERO;
    let text = serde_json::to_string(&plan).expect("a plan is JSON");
    assert!(refused(&text).contains("stop.horizon_ns"), "{}", refused(&text));
}
