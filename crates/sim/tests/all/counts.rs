//! What is counted while a run goes on: pieces, and packets of uTP.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{Plan, Transfer, TransportChoice, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_transport::utp;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// The counts of a population against each piece that one of it has got by then.
#[test]
fn pieces_are_counted_by_population() {
    let mut plan = flash_crowd(12, 1 << 20, kilobytes(30), path(Span::from_millis(50), 0.0));
    let swarm = swarm(&mut plan);
    swarm.piece_bytes = 65_536;
    let mut others = swarm.populations[1].clone();
    "others".clone_into(&mut others.name);
    others.hosts = swarm.populations[1].hosts.split_off(5);
    swarm.populations.push(others);
    plan.measures.have = true;
    plan.measures.pieces_ns = Some(Span::from_millis(1700));
    let tables = run(&plan);
    let of = |table, column| numbers(&tables, table, column);
    let (peers, groups) = (of("downloads", "peer"), texts(&tables, "downloads", "population"));
    let arrived = of("downloads", "arrived_s");
    let (had, times) = (of("have", "peer"), of("have", "t_s"));
    let counted = texts(&tables, "pieces", "population");
    let [at, leechers, mean, min, max] =
        ["t_s", "leechers", "mean", "min", "max"].map(|column| of("pieces", column));
    assert!(counted.len() > 20, "{}", counted.len());
    for row in 0..counted.len() {
        let here = (0..peers.len())
            .filter(|&peer| groups[peer] == counted[row] && arrived[peer] <= at[row])
            .map(|peer| {
                let mine = had.iter().zip(&times).filter(|it| *it.0 == peers[peer]);
                mine.filter(|it| *it.1 <= at[row]).count() as f64
            });
        let here: Vec<f64> = here.collect();
        assert_eq!(leechers[row], here.len() as f64, "row {row}");
        let found = here.iter().sum::<f64>() / here.len() as f64;
        assert!((mean[row] - found).abs() < 1e-9, "row {row}: {} {found}", mean[row]);
        assert_eq!(min[row], here.iter().copied().fold(f64::MAX, f64::min), "row {row}");
        assert_eq!(max[row], here.iter().copied().fold(0.0, f64::max), "row {row}");
    }
    for group in ["leechers", "others"] {
        assert!(counted.iter().any(|name| name == group));
    }
}

/// The SYN, the data and the FIN of uTP take numbers: each is new once, and again whenever it is lost.
#[test]
fn a_trace_tells_what_utp_sends_again() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    let conditions = Conditions {
        rate_bps: Rate::from_bps(1_000_000),
        queue: Queue::packets(8),
        ..Conditions::default()
    };
    line_up(&mut plan, 0, "line", conditions);
    plan.utps = vec![utp::profiles::named("libutp").expect("the configuration exists")];
    let bytes = 500_000;
    let flow = Transfer {
        size_bytes: Some(bytes),
        transport: Some(TransportChoice::Utp(0)),
        ..transfer(0, 1)
    };
    // Another one keeps the run going until the FIN has been answered.
    let last = Transfer { start_ns: Span::from_secs(60), size_bytes: Some(1), ..transfer(1, 0) };
    plan.workloads = vec![Workload::Transfer(flow), Workload::Transfer(last)];
    plan.measures.packets_ns = Some(Span::from_secs(50));
    let tables = run(&plan);
    let payload = numbers(&tables, "packets", "payload_bytes");
    let again = numbers(&tables, "packets", "retransmission");
    let first = payload.iter().zip(&again).filter(|(_, again)| **again == 0.0);
    assert_eq!(first.map(|(payload, _)| *payload as u64).sum::<u64>(), bytes);
    let retransmits = numbers(&tables, "transfers", "retransmits")[0];
    assert!(retransmits > 0.0, "the queue of 8 packets overflows");
    assert_eq!(again.iter().sum::<f64>(), retransmits);
    // The connection's first packets are its SYN and its first data, its last is the FIN.
    assert_eq!((payload[0], again[0], again[1]), (0.0, 0.0, 0.0));
    assert_eq!((payload.last(), again.last()), (Some(&0.0), Some(&0.0)));
}
