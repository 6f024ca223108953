use crate::{numbers, plan, seconds};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Plan, Sampled, Series, Source, Transfer, Window, Windowed, Workload};
use flashcrowd_workload::{End, Sample, Samples, Sender, Transfers};
use proptest::prelude::*;

fn transfer(name: &str, size_bytes: Option<u64>, stop: Option<u64>) -> Workload {
    Workload::Transfer(Transfer {
        name: name.to_owned(),
        from: 1,
        to: 2,
        transport: None,
        flows: 2,
        size_bytes,
        rate_bps: None,
        start_ns: Span::from_secs(1),
        spread_ns: Span::ZERO,
        stop_ns: stop.map(Span::from_secs),
        program: None,
    })
}

/// Two flows of 1,000 B each.
pub(crate) fn sized() -> Plan {
    plan(vec![transfer("file", Some(1000), None)])
}

/// Those of a plan, all of them started.
fn started(plan: &Plan) -> Transfers {
    let mut transfers = Transfers::new(plan, 1, |_| true);
    for flow in &mut transfers.flows {
        flow.started = Some(flow.start);
    }
    transfers
}

fn sender(segments: u64) -> impl Fn(usize) -> Sender {
    move |_| Sender { segments, ..Sender::default() }
}

#[test]
fn only_what_arrived_as_a_whole_has_a_time() {
    let mut transfers = started(&sized());
    transfers.flows[0].received = 1000;
    assert!(transfers.flows[0].end(seconds(4), End::Whole));
    transfers.flows[1].received = 999;
    assert!(transfers.flows[1].end(seconds(5), End::Lost));
    assert!(!transfers.flows[1].end(seconds(6), End::Stopped), "it is over already");
    let table = transfers.table(&sized(), seconds(9), sender(1));
    assert_eq!(numbers(&table, "duration_s"), [3.0, -1.0]);
    assert_eq!(numbers(&table, "end_s"), [4.0, 5.0]);
    assert_eq!(numbers(&table, "goodput_bps"), [8000.0 / 3.0, 7992.0 / 4.0]);
    let line = "transfer file: 1 of 2 flows lost the connection, \
                the first (flow 1 at 5.0 s after 999 of 1000 bytes)";
    assert_eq!(transfers.undelivered(seconds(9)), [line]);
}

#[test]
fn what_is_stopped_is_not_lost_and_what_is_silent_is_told() {
    let mut transfers = started(&plan(vec![transfer("backup", None, Some(8))]));
    assert!(transfers.undelivered(seconds(1)).is_empty(), "a first byte may be under way");
    transfers.flows[0].end(seconds(8), End::Stopped);
    transfers.flows[1].received = 5;
    let line = "transfer backup: no byte arrived of 1 of 2 flows";
    assert_eq!(transfers.undelivered(seconds(9)), [line]);
    assert!(transfers.unfinished().is_empty(), "neither has a size");
    assert!(transfers.is_finite() && !transfers.is_done());
    transfers.flows[1].end(seconds(8), End::Stopped);
    assert!(transfers.is_done());
}

#[test]
fn a_flow_that_cannot_end_keeps_no_run_open() {
    let transfers = started(&plan(vec![transfer("noise", None, None)]));
    assert!(!transfers.is_finite() && transfers.is_done());
    assert_eq!(transfers.progress(seconds(5)), 1.0);
}

#[test]
fn progress_is_that_of_the_flow_that_is_furthest_behind() {
    let all = [("file", Some(1000), None), ("backup", None, Some(8)), ("noise", None, None)];
    let workloads = all.map(|(name, size, stop)| transfer(name, size, stop)).to_vec();
    let mut transfers = started(&plan(workloads));
    transfers.flows[0].received = 900;
    transfers.flows[1].received = 500;
    assert_eq!(transfers.progress(seconds(2)), 0.25, "of the time until the backup stops");
    assert_eq!(transfers.progress(seconds(6)), 0.5, "of a file");
    transfers.flows[1].end(seconds(6), End::Lost);
    assert_eq!(transfers.progress(seconds(6)), 0.75);
    assert_eq!(transfers.progress(seconds(8)), 0.9);
    transfers.flows[0].end(seconds(8), End::Stopped);
    assert_eq!(transfers.progress(seconds(8)), 1.0);
    assert_eq!(transfers.payload_bytes(), 1400);
}

#[test]
fn flows_of_hosts_that_are_played_elsewhere_are_not_here() {
    assert!(Transfers::new(&sized(), 1, |host| host != 1).flows.is_empty());
}

#[test]
fn what_is_over_or_has_not_begun_has_no_window() {
    let plan = sized();
    let mut transfers = started(&plan);
    transfers.flows[1].started = None;
    let of =
        |_| Sender { cwnd: Some(3000), srtt: Some(Span::from_millis(20)), ..Sender::default() };
    let sampled = |transfers: &Transfers, what| transfers.sample(what, of);
    assert_eq!(sampled(&transfers, Sampled::Window), [(0, Sample::Level(3000.0))]);
    assert_eq!(sampled(&transfers, Sampled::Rtt), [(0, Sample::Level(0.02))]);
    assert_eq!(sampled(&transfers, Sampled::OwnDelay), [], "this transport does not say");
    assert_eq!(sampled(&transfers, Sampled::Goodput).len(), 2);
    transfers.flows[0].end(seconds(3), End::Stopped);
    assert_eq!(sampled(&transfers, Sampled::Window), []);
    assert_eq!(transfers.source_name(Sampled::Rtt, 1).as_deref(), Some("file/1"));
    assert_eq!(transfers.source_name(Sampled::Online, 1), None);
}

#[test]
fn an_engine_that_looks_late_misses_no_window_and_no_sample() {
    let mut plan = sized();
    let (from_ns, to_ns) = (Span::from_secs(3), Some(Span::from_secs(5)));
    plan.measures.windows = vec![Window { table: Windowed::Transfers, from_ns, to_ns }];
    let every = |what| Series { what, every_ns: Span::from_secs(1) };
    plan.measures.series = vec![every(Sampled::Goodput), every(Sampled::Online)];
    let mut transfers = started(&plan);
    transfers.flows.truncate(1);
    let mut samples = Samples::new(&plan.measures.series, &[Source::Flows]);
    for (second, received) in [(3, 100), (4, 200), (7, 900)] {
        let due = transfers.due().min(samples.due()) <= seconds(second);
        assert!(due && samples.is_due(seconds(second), Sampled::Goodput));
        transfers.flows[0].received = received;
        transfers.look(seconds(second), sender(0));
        samples.look(seconds(second), |what| transfers.sample(what, sender(0)));
    }
    assert_eq!((transfers.due(), samples.due()), (Time::NEVER, seconds(8)));
    let table = transfers.table(&plan, seconds(8), sender(0));
    assert_eq!(numbers(&table, "bytes"), [800.0]);
    let series = samples.table(|_, _| String::new());
    assert_eq!(numbers(&series, "t_s"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let bits = [800.0, 0.0, 0.0, 0.0, 800.0, 5600.0, 0.0, 0.0];
    assert_eq!(numbers(&series, "value"), bits, "rates add up to all that came");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Receive(u64),
    End(End),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1_u64..300).prop_map(Step::Receive),
        1 => Just(Step::End(End::Lost)),
        1 => Just(Step::End(End::Stopped)),
    ]
}

proptest! {
    /// A flow ends once; a window has no more than the run; what has a time is whole.
    #[test]
    fn any_history_of_a_flow(steps in proptest::collection::vec(step(), 1..20), from in 0_u64..25, length in 0_u64..25) {
        let mut windowed = sized();
        windowed.measures.windows.push(Window {
            table: Windowed::Transfers,
            from_ns: Span::from_secs(from),
            to_ns: Some(Span::from_secs(from + length)),
        });
        let played = |plan: &Plan| {
            let mut transfers = started(plan);
            let (mut ended, mut sent): (Option<Time>, u64) = (None, 0);
            for (second, step) in (2..).zip(&steps) {
                if second == from.max(2) {
                    transfers.mark(true, sender(sent));
                }
                if second == (from + length).max(2) {
                    transfers.mark(false, sender(sent));
                }
                let (now, flow) = (seconds(second), &mut transfers.flows[0]);
                match *step {
                    Step::Receive(bytes) if flow.ended.is_none() => {
                        flow.received = (flow.received + bytes).min(1000);
                        sent += 1;
                        if flow.is_whole() {
                            flow.end(now, End::Whole);
                        }
                    }
                    Step::Receive(_) => {}
                    Step::End(how) => {
                        flow.end(now, how);
                    }
                }
                ended = ended.or(flow.ended);
                assert_eq!(flow.ended, ended, "it ends once");
            }
            (transfers.table(plan, seconds(30), sender(sent)), transfers)
        };
        let (all, transfers) = played(&sized());
        let (some, _) = played(&windowed);
        prop_assert!(numbers(&some, "bytes")[0] <= numbers(&all, "bytes")[0]);
        prop_assert!(numbers(&some, "segments")[0] <= numbers(&all, "segments")[0]);
        let whole = numbers(&all, "bytes")[0] == 1000.0;
        prop_assert_eq!(numbers(&all, "duration_s")[0] > 0.0, whole);
        prop_assert!((0.0..=1.0).contains(&transfers.progress(seconds(30))));
    }
}
