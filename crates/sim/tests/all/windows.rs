//! Tables about a part of a run, worked out on paper.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{Call, Ping, Plan, Transfer, Window, Windowed, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}
fn one(tables: &[Table], name: &str, column: &str) -> f64 {
    let values = numbers(tables, name, column);
    assert_eq!(values.len(), 1, "{name}.{column}: {values:?}");
    values[0]
}
fn window(table: Windowed, from_millis: u64, to_millis: Option<u64>) -> Window {
    let to_ns = to_millis.map(Span::from_millis);
    Window { table, from_ns: Span::from_millis(from_millis), to_ns }
}

/// A line of 1 Mbit/s with room for two packets, to which three come at 0, 1, 2 and 3 s: of 1000 B,
/// which departs after 8 ms, of 500 B, which departs after 12 ms, and of 100 B, which is dropped.
fn pings() -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    let conditions = Conditions {
        rate_bps: Rate::from_bps(1_000_000),
        queue: Queue::packets(2),
        ..Conditions::default()
    };
    line_up(&mut plan, 0, "line", conditions);
    let ping = |bytes: u32| {
        Workload::Ping(Ping {
            name: format!("{bytes} B"),
            from: 0,
            to: 1,
            size_bytes: bytes,
            interval_ns: Span::from_secs(1),
            start_ns: Span::ZERO,
            stop_ns: None,
        })
    };
    plan.workloads = [1000, 500, 100].map(ping).to_vec();
    plan.stop.horizon_ns = Span::from_millis(3500);
    plan
}

#[test]
fn what_a_link_did_between_two_instants() {
    // Packets, bytes, dropped, most at once, kilobits, seconds; the mean wait is (0 + 8) / 2 ms in each
    // case. Of the second packet, 2 of 4 kilobits have left at 1.010 s and at 3.010 s.
    for (from, to, expected) in [
        // All at 1 and 2 s. What happens at the begin is inside, and at the end it is not.
        (1000, Some(3000), (4.0, 3000.0, 2.0, 2.0, 24.0, 2.0)),
        // At 1.010 s only the second packet is at the line, from which it departs inside.
        (1010, Some(2500), (3.0, 2000.0, 1.0, 2.0, 14.0, 1.49)),
        // At 3.010 s it is there, too, and departs no more.
        (1500, Some(3010), (3.0, 2500.0, 2.0, 2.0, 22.0, 1.51)),
        // To the end, or beyond it.
        (2500, None, (2.0, 1500.0, 1.0, 2.0, 12.0, 1.0)),
        (2500, Some(9000), (2.0, 1500.0, 1.0, 2.0, 12.0, 1.0)),
    ] {
        let mut plan = pings();
        plan.measures.windows = vec![window(Windowed::Links, from, to)];
        let tables = run(&plan);
        let of = |column| one(&tables, "links", column);
        let found = (of("packets"), of("bytes"), of("dropped"), of("max_queue_packets"));
        let (packets, bytes, dropped, max, kilobits, over) = expected;
        assert_eq!(found, (packets, bytes, dropped, max), "{from} to {to:?} ms");
        assert_eq!(of("mean_queue_delay_s"), 0.004, "{from} to {to:?} ms");
        let utilisation = kilobits / (1e3 * over);
        assert!((of("utilisation") - utilisation).abs() < 1e-9, "{from} to {to:?} ms");
        // The other tables are about the whole run.
        assert_eq!(table(&tables, "pings").rows(), 12);
    }
}

#[test]
fn a_window_after_the_end_is_empty() {
    let mut plan = pings();
    plan.measures.windows =
        [Windowed::Links, Windowed::Pings].map(|table| window(table, 5000, None)).to_vec();
    let tables = run(&plan);
    for column in ["packets", "bytes", "dropped", "max_queue_packets"] {
        assert_eq!(one(&tables, "links", column), 0.0, "{column}");
    }
    for column in ["mean_queue_delay_s", "utilisation"] {
        assert!(numbers(&tables, "links", column).is_empty(), "{column}");
    }
    assert_eq!(table(&tables, "pings").rows(), 0);
}

#[test]
fn pings_and_packets_of_calls_are_those_sent_inside() {
    let mut plan = pings();
    plan.workloads.push(Workload::Call(Call {
        name: "call".to_owned(),
        from: 1,
        to: 0,
        size_bytes: 200,
        interval_ns: Span::from_millis(20),
        every_ns: Some(Span::from_secs(1)),
        start_ns: Span::ZERO,
        stop_ns: None,
    }));
    plan.measures.windows =
        [Windowed::Pings, Windowed::Calls].map(|table| window(table, 1000, Some(2500))).to_vec();
    let tables = run(&plan);
    assert_eq!(numbers(&tables, "pings", "sent_s"), [1.0, 2.0].repeat(3));
    assert_eq!(numbers(&tables, "pings", "seq"), [1.0, 2.0].repeat(3));
    // 50 packets in the row of the second second and 25 in that of the third, each way.
    assert_eq!(numbers(&tables, "calls", "sent"), [50.0, 25.0, 50.0, 25.0]);
    assert_eq!(numbers(&tables, "calls", "start_s"), [1.0, 2.0, 1.0, 2.0]);
    plan.measures.windows = vec![window(Windowed::Calls, 1090, Some(1110))];
    let tables = run(&plan);
    assert_eq!(numbers(&tables, "calls", "sent"), [1.0, 1.0]);
    assert_eq!(numbers(&tables, "calls", "start_s"), [1.1, 1.1]);
}

#[test]
fn a_flow_s_windows_add_up_to_the_flow() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(100), 0.01));
    let flow = Transfer { start_ns: Span::from_secs(2), ..transfer(0, 1) };
    plan.workloads = vec![Workload::Transfer(flow)];
    plan.stop.horizon_ns = Span::from_secs(20);
    let whole = run(&plan);
    let mut part = |from, to| {
        plan.measures.windows = vec![window(Windowed::Transfers, from, to)];
        run(&plan)
    };
    let parts = [part(0, Some(8000)), part(8000, Some(15_000)), part(15_000, None)];
    for column in ["bytes", "segments", "retransmits", "timeouts"] {
        let sum: f64 = parts.iter().map(|tables| one(tables, "transfers", column)).sum();
        assert_eq!(sum, one(&whole, "transfers", column), "{column}");
    }
    // It started at 2 s, which is inside of the first.
    for (tables, seconds) in parts.iter().zip([6.0, 7.0, 5.0]) {
        let goodput = one(tables, "transfers", "bytes") * 8.0 / seconds;
        assert!((one(tables, "transfers", "goodput_bps") - goodput).abs() < 1e-6);
        // On a path without a queue every round trip is that of the path, but for what a delayed
        // acknowledgement or a repair adds.
        let min = one(tables, "transfers", "min_rtt_s");
        assert!((min - 0.1).abs() < 1e-6, "{min}");
        assert!(one(tables, "transfers", "mean_rtt_s") >= min);
    }
    // The flow is listed, but nothing of it is inside.
    let before = part(0, Some(1000));
    assert_eq!(one(&before, "transfers", "bytes"), 0.0);
    for column in ["goodput_bps", "mean_rtt_s", "p95_rtt_s", "min_rtt_s"] {
        assert!(numbers(&before, "transfers", column).is_empty(), "{column}");
    }
}

#[test]
fn windows_that_cannot_be_are_refused() {
    let backwards = vec![window(Windowed::Links, 5, Some(5))];
    let twice = vec![window(Windowed::Links, 5, None); 2];
    for (windows, place) in [(backwards, "to_ns"), (twice, "windows[1].table")] {
        let mut plan = pings();
        plan.measures.windows = windows;
        let error = plan.check().expect_err("it makes no sense").to_string();
        assert!(error.contains(place), "{error}");
    }
}
