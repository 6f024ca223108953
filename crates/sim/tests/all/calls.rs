//! Datagrams at a constant rate: what a call meets on its way is what its table says.

use crate::common::*;
use flashcrowd_base::{Probability, Rate, Span};
use flashcrowd_link::{Conditions, Jitter, JitterShape, Loss, LossModel, Queue, Side};
use flashcrowd_plan::{Call, Change, Link, Plan, What, Workload};
use flashcrowd_sim::{RunHandle, Table, simulate};

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}

/// Voice from host 0 to host 1 and back: 50 packets of 200 B a second, for 10 s.
fn voice() -> Call {
    Call {
        name: "voice".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 200,
        interval_ns: Span::from_millis(20),
        every_ns: Some(Span::from_secs(1)),
        start_ns: Span::from_secs(2),
        stop_ns: Some(Span::from_secs(12)),
    }
}

/// Two hosts 40 ms apart and back; host 0 has a line up with these conditions.
fn home(up: Conditions, call: Call) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    plan.network.links.push(Link {
        name: "up".to_owned(),
        conditions: up,
        trace: None,
        delay: None,
    });
    plan.network.hosts[0].up.push(0);
    plan.workloads.push(Workload::Call(call));
    plan.stop.horizon_ns = Span::from_secs(20);
    plan
}

fn line(packets: u32) -> Conditions {
    let rate_bps = Rate::from_bps(1_000_000);
    Conditions { rate_bps, queue: Queue::packets(packets), ..Conditions::default() }
}

/// The values of a column in the rows of packets that `from` sent; those that do not exist are left out.
fn of(tables: &[Table], from: &str, column: &str) -> Vec<f64> {
    let values = numbers(tables, "calls", column);
    let senders = texts(tables, "calls", "from");
    assert_eq!(values.len(), senders.len(), "{column}");
    values.into_iter().zip(senders).filter(|(_, sender)| sender == from).map(|(v, _)| v).collect()
}

#[test]
fn an_idle_line_delays_by_its_length_and_nothing_else() {
    let tables = run(&home(line(100), voice()));
    // 200 B at 1 Mbit/s take 1.6 ms, the way 20 ms; the other direction has no line.
    for (host, delay) in [("host-0", 0.0216), ("host-1", 0.02)] {
        assert_eq!(of(&tables, host, "sent"), [50.0; 10]);
        assert_eq!(of(&tables, host, "lost"), [0.0; 10]);
        for column in ["mean_delay_s", "p95_delay_s", "max_delay_s"] {
            let delays = of(&tables, host, column);
            assert!(delays.iter().all(|found| (found - delay).abs() < 1e-12), "{delays:?}");
        }
        assert_eq!(of(&tables, host, "jitter_s"), [0.0; 10]);
        let starts: Vec<f64> = (2..12).map(f64::from).collect();
        assert_eq!(of(&tables, host, "start_s"), starts);
    }
}

#[test]
fn a_full_queue_delays_by_its_length() {
    // Video at twice the rate of the line: each packet takes 10 ms, and two come meanwhile.
    let video = Call { size_bytes: 1250, interval_ns: Span::from_millis(5), ..voice() };
    let tables = run(&home(line(50), video));
    assert_eq!(of(&tables, "host-0", "sent"), [200.0; 10]);
    // The queue is full after half a second. Then a packet that finds room is the last of 50.
    for column in ["mean_delay_s", "p95_delay_s", "max_delay_s"] {
        for delay in &of(&tables, "host-0", column)[1..] {
            assert!((0.51..=0.52 + 1e-9).contains(delay), "{column}: {delay}");
        }
    }
    let lost = of(&tables, "host-0", "lost");
    assert!(lost[1..].iter().all(|lost| (lost - 100.0).abs() <= 1.0), "{lost:?}");
    assert_eq!(lost.iter().sum::<f64>(), numbers(&tables, "links", "dropped")[0]);
    assert_eq!(of(&tables, "host-1", "lost"), [0.0; 10]);
    assert!(of(&tables, "host-1", "max_delay_s").iter().all(|delay| (delay - 0.02).abs() < 1e-12));
}

#[test]
fn losses_are_those_of_the_link() {
    let model = LossModel::Bernoulli { probability: Probability::new(0.1).expect("a probability") };
    let mut lossy = line(100);
    lossy.loss = Some(Loss { side: Side::Receiver, model });
    let tables = run(&home(lossy, voice()));
    let lost: f64 = of(&tables, "host-0", "lost").iter().sum();
    assert_eq!(lost, numbers(&tables, "links", "lost")[0]);
    // A tenth of 500, within three standard deviations.
    assert!((30.0..=70.0).contains(&lost), "{lost}");
    assert_eq!(of(&tables, "host-1", "lost"), [0.0; 10]);
}

#[test]
fn a_row_of_lost_packets_has_no_delay() {
    let model = LossModel::Bernoulli { probability: Probability::new(1.0).expect("a probability") };
    let mut dead = line(100);
    dead.loss = Some(Loss { side: Side::Receiver, model });
    let tables = run(&home(dead, Call { every_ns: None, ..voice() }));
    assert_eq!(numbers(&tables, "calls", "sent"), [500.0, 500.0]);
    assert_eq!(numbers(&tables, "calls", "lost"), [500.0, 0.0]);
    // One row has these, that of the direction without the link.
    for column in ["mean_delay_s", "p95_delay_s", "max_delay_s", "jitter_s"] {
        assert_eq!(numbers(&tables, "calls", column).len(), 1, "{column}");
    }
}

/// Interarrival jitter is a running mean of |D|: for delays that are uniform over a width and
/// independent its expectation is a third of the width (RFC 3550, section 6.4.1).
#[test]
fn jitter_is_the_mean_difference_of_transit_times() {
    let spread_ns = Span::from_millis(6);
    let mut wireless = line(100);
    wireless.jitter = Some(Jitter { shape: JitterShape::Uniform, spread_ns, reorder: true });
    let long = Call { every_ns: Some(Span::from_secs(5)), stop_ns: None, ..voice() };
    let mut plan = home(wireless, long);
    plan.stop.horizon_ns = Span::from_secs(2000);
    let tables = run(&plan);
    let jitters = of(&tables, "host-0", "jitter_s");
    let mean = mean(&jitters);
    let delays = of(&tables, "host-0", "max_delay_s");
    let width = delays.iter().copied().fold(0.0, f64::max) - 0.0216;
    assert!((mean / (width / 3.0) - 1.0).abs() < 0.05, "{mean} of {width}");
}

#[test]
fn a_stop_of_the_timeline_ends_it() {
    let mut plan = home(line(100), Call { stop_ns: None, ..voice() });
    let at_ns = Span::from_millis(3_010);
    plan.timeline.push(Change { at_ns, what: What::Stop { workload: 0 } });
    let tables = run(&plan);
    // 2.00 s, 2.02 s, ..., 3.00 s.
    assert_eq!(of(&tables, "host-0", "sent"), [50.0, 1.0]);
    assert_eq!(of(&tables, "host-1", "lost"), [0.0, 0.0]);
}

#[test]
fn equal_seeds_give_equal_tables() {
    let mut lossy = line(3);
    lossy.loss = Some(Loss {
        side: Side::Sender,
        model: LossModel::Bernoulli { probability: Probability::new(0.2).expect("a probability") },
    });
    let plan = home(lossy, voice());
    assert_eq!(run(&plan), run(&plan));
}
