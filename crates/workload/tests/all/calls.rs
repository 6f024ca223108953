use crate::{numbers, plan, seconds};
use flashcrowd_base::Span;
use flashcrowd_plan::{Call, Plan, Window, Windowed, Workload};
use flashcrowd_workload::Calls;
use proptest::prelude::*;

/// A packet each 20 ms, three to a row.
pub(crate) fn calling() -> Plan {
    plan(vec![Workload::Call(Call {
        name: "talk".to_owned(),
        from: 1,
        to: 2,
        size_bytes: 200,
        interval_ns: Span::from_millis(20),
        every_ns: Some(Span::from_millis(50)),
        start_ns: Span::ZERO,
        stop_ns: Some(Span::from_millis(400)),
    })])
}

/// The call with the packets in `delays`: each that arrived at the host `to` has a delay in milliseconds.
fn called(plan: &Plan, delays: &[Option<u64>]) -> Calls {
    let mut calls = Calls::new(plan);
    for (number, delay) in (0..).zip(delays) {
        assert_eq!(calls.all[0].send(), Some(number));
        if let Some(delay) = delay {
            calls.all[0].arrive(0, number, Span::from_millis(*delay));
        }
    }
    calls
}

#[test]
fn rows_have_the_jitter_of_rfc_3550_and_the_nearest_rank() {
    let calls = called(&calling(), &[Some(10), None, Some(26), Some(10)]);
    let table = calls.table(&calling());
    // Two rows in each direction; from host 2 nothing arrived.
    let of = |name| numbers(&table, name);
    assert_eq!(of("sent"), [3.0, 1.0, 3.0, 1.0]);
    assert_eq!(of("lost"), [1.0, 0.0, 3.0, 1.0]);
    assert_eq!(of("start_s"), [0.0, 0.06, 0.0, 0.06]);
    assert_eq!(of("mean_delay_s"), [0.018, 0.01, -1.0, -1.0]);
    assert_eq!(of("p95_delay_s"), [0.026, 0.01, -1.0, -1.0]);
    // A sixteenth of each difference.
    let [first, second] = [0.016 / 16.0, 0.001 + (0.016 - 0.001) / 16.0];
    let jitters = of("jitter_s");
    assert!((jitters[0] - first).abs() < 1e-8 && (jitters[1] - second).abs() < 1e-8, "{jitters:?}");
    assert_eq!(jitters[2..], [-1.0, -1.0]);
}

#[test]
fn a_silent_direction_is_told_by_its_sender() {
    let plan = calling();
    assert!(called(&plan, &[None, None]).undelivered(&plan, seconds(0)).is_empty());
    let lines = called(&plan, &[Some(5), None]).undelivered(&plan, seconds(2));
    assert_eq!(lines, ["call talk: no packet arrived of 2 from host-2"]);
}

#[test]
fn it_ends_by_its_time_and_by_the_timeline() {
    let mut calls = Calls::new(&calling());
    let sent = std::iter::from_fn(|| calls.all[0].send()).count();
    assert_eq!(sent, 20, "none at 400 ms");
    let mut calls = Calls::new(&calling());
    calls.stop(0);
    assert_eq!(calls.all[0].send(), None);
}

proptest! {
    /// What a window leaves out is not counted, and nothing is counted twice.
    #[test]
    fn a_window_counts_the_packets_that_are_due_in_it(
        from in 0_u64..500,
        length in 0_u64..500,
        delays in proptest::collection::vec(proptest::option::of(0_u64..300), 20),
    ) {
        let mut plan = calling();
        plan.measures.windows.push(Window {
            table: Windowed::Calls,
            from_ns: Span::from_millis(from),
            to_ns: Some(Span::from_millis(from + length)),
        });
        let table = called(&plan, &delays).table(&plan);
        let inside = |number: u64| (from..from + length).contains(&(number * 20));
        let due: Vec<_> = (0..).zip(&delays).filter(|(number, _)| inside(*number)).collect();
        let lost = due.iter().filter(|(_, delay)| delay.is_none()).count();
        let half = |name| {
            let values = numbers(&table, name);
            values[..values.len() / 2].iter().sum::<f64>()
        };
        prop_assert_eq!(half("sent"), due.len() as f64);
        prop_assert_eq!(half("lost"), lost as f64);
    }
}
