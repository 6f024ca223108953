//! Queues that decide when a packet leaves, in whole runs.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Cake, Choke, CoDel, Conditions, Drr, FqCoDel, Pie, Queue, Red, Sfq};
use flashcrowd_plan::{Change, Link, Ping, Plan, What, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_transport::tcp::Ecn;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// 10 Mbit/s one way, 20 ms each way, 400 packets of room unless the queue says otherwise.
fn line(queue: Queue) -> Conditions {
    Conditions { rate_bps: Rate::from_bps(10_000_000), queue, ..Conditions::default() }
}

/// Two endless CUBIC flows and a ping through one queue, for 30 s.
fn busy(queue: Queue) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    plan.network.links.push(Link {
        name: "line".to_owned(),
        conditions: line(queue),
        trace: None,
        delay: None,
    });
    plan.network.hosts[0].up.push(0);
    let mut flows = transfer(0, 1);
    flows.flows = 2;
    plan.workloads.push(Workload::Transfer(flows));
    plan.workloads.push(Workload::Ping(Ping {
        name: "bystander".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 64,
        interval_ns: Span::from_millis(50),
        start_ns: Span::from_secs(5),
        stop_ns: Some(Span::from_secs(29)),
    }));
    plan.stop.horizon_ns = Span::from_secs(30);
    plan
}

fn disciplines() -> Vec<(&'static str, Queue)> {
    vec![
        ("drop-tail", Queue::packets(400)),
        ("codel", CoDel::default().into()),
        ("fq-codel", FqCoDel::default().into()),
        ("pie", Pie::default().into()),
        ("red", Red::default().into()),
        ("choke", Choke::default().into()),
        ("sfq", Sfq::default().into()),
        ("drr", Drr { limit_packets: 127, ..Drr::default() }.into()),
        ("cake", Cake::default().into()),
    ]
}

/// Sent is delivered, lost, dropped, or still on its way, and nothing is counted twice.
fn assert_conserved(name: &str, tables: &[Table]) {
    let one = |column| numbers(tables, "run", column)[0];
    let ended = one("packets_delivered") + one("packets_lost") + one("packets_dropped");
    let under_way = one("packets_sent") - ended;
    assert!((0.0..2000.0).contains(&under_way), "{name}: {under_way} packets under way");
    assert!(one("packets_dropped") > 0.0, "{name}");
}

#[test]
fn each_discipline_fills_the_line_and_holds_its_delay() {
    let mut pings = Vec::new();
    for (name, queue) in disciplines() {
        let tables = run(&busy(queue));
        assert_conserved(name, &tables);
        let goodput: f64 = numbers(&tables, "transfers", "goodput_bps").iter().sum();
        // RED drops while its queue is short, and CHOKe twice as many: two flows lose some of the line.
        let least = match name {
            "red" => 8.2e6,
            "choke" => 8.0e6,
            _ => 8.5e6,
        };
        assert!(goodput > least, "{name}: {goodput}");
        let rtts = numbers(&tables, "pings", "rtt_s");
        pings.push((name, mean(&rtts) * 1e3, rtts.len()));
        assert_eq!(texts(&tables, "run", "outcome")[0], "completed", "{name}");
    }
    let of = |name: &str| pings.iter().find(|(known, ..)| *known == name).expect("it ran").1;
    // A full drop-tail queue of 400 packets is half a second. CoDel holds 5 ms, PIE 15 ms, and where
    // flows have queues of their own a ping waits for hardly more than the packet in transmission.
    assert!(of("drop-tail") > 200.0, "{pings:?}");
    assert!(of("codel") < 40.0 + 15.0, "{pings:?}");
    assert!(of("pie") < 40.0 + 40.0, "{pings:?}");
    for isolating in ["fq-codel", "sfq", "drr", "cake"] {
        assert!((40.0..43.5).contains(&of(isolating)), "{pings:?}");
    }
    // None of them starves the pings.
    assert!(pings.iter().all(|(.., answered)| *answered > 400), "{pings:?}");
}

#[test]
fn equal_seeds_give_equal_tables_with_any_discipline() {
    for (name, queue) in disciplines() {
        let plan = busy(queue);
        assert_eq!(run(&plan), run(&plan), "{name}");
    }
}

#[test]
fn marks_take_the_place_of_drops_where_the_stack_answers_them() {
    let mut plan = busy(CoDel { ecn: true, ..CoDel::default() }.into());
    let dropped = |plan: &Plan| numbers(&run(plan), "run", "packets_dropped")[0];
    let without = dropped(&plan);
    plan.stacks[0].ecn = Ecn::On;
    let with = dropped(&plan);
    assert!(without > 20.0, "{without}");
    assert!(with < without / 4.0, "{with} of {without}");
    let tables = run(&plan);
    assert_eq!(numbers(&tables, "transfers", "timeouts"), [0.0, 0.0]);
    assert!(numbers(&tables, "transfers", "goodput_bps").iter().sum::<f64>() > 9e6);
}

#[test]
fn a_link_changes_its_discipline_while_packets_wait() {
    let mut plan = busy(Queue::packets(400));
    let queues = disciplines().into_iter().rev().cycle().take(24);
    for (step, (_, queue)) in queues.enumerate() {
        plan.timeline.push(Change {
            at_ns: Span::from_secs(2) + Span::from_secs(1) * step as u64,
            what: What::Link { link: 0, conditions: line(queue), trace: None },
        });
    }
    let tables = run(&plan);
    assert_conserved("changing", &tables);
    assert!(numbers(&tables, "transfers", "goodput_bps").iter().sum::<f64>() > 8e6);
}

/// A swarm on lines with flow queues: evicted packets of uTP and TCP give their sockets back.
#[test]
fn swarms_finish_over_disciplines() {
    for queue in
        [FqCoDel { limit_packets: 30, ..FqCoDel::default() }.into(), Cake::default().into()]
    {
        let mut plan = adsl_swarm(12, 2 << 20, 50, None);
        for link in &mut plan.network.links {
            link.conditions.queue = Queue::clone(&queue);
        }
        let tables = run(&plan);
        let (outcome, why) = (texts(&tables, "run", "outcome"), texts(&tables, "run", "reason"));
        assert_eq!(outcome[0], "completed", "{why:?}");
        assert_eq!(numbers(&tables, "downloads", "completed_s").len(), 12);
    }
}
