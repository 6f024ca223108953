//! What can be counted by hand: datagrams, bytes at a rate, rows.

use flashcrowd_base::{Probability, Rate, Span};
use flashcrowd_forecast::Need;
use flashcrowd_link::{Conditions, Loss, LossModel, Side};
use flashcrowd_plan::{
    Call, Capture, Change, CorePath, Download, FORMAT, Host, Link, Measures, Network, Ping, Plan,
    Sampled, Series, Stop, Transfer, What, Workload,
};
use flashcrowd_transport::tcp::profiles;
use proptest::prelude::*;

/// The rate of every line.
const LINE_BPS: u64 = 8_000_000;

/// Three hosts on lines of 8 Mbit/s, each in a group of its own; 10 ms and this loss from the first to the others, 10 ms
/// and no loss between the others and back.
fn plan(loss: f64, workloads: Vec<Workload>) -> Plan {
    let line = |number| Link {
        name: format!("line-{number}"),
        conditions: Conditions { rate_bps: Rate::from_bps(LINE_BPS), ..Conditions::default() },
        trace: None,
        delay: None,
    };
    let host = |number: u32| Host {
        name: format!("host-{number}"),
        group: number,
        stack: 0,
        up: vec![2 * number],
        down: vec![2 * number + 1],
    };
    let core = |loss: f64| {
        let model = LossModel::Bernoulli { probability: Probability::new(loss).expect("a share") };
        let loss = (loss > 0.0).then_some(Loss { side: Side::Receiver, model });
        let conditions =
            Conditions { delay_ns: Span::from_millis(10), loss, ..Conditions::default() };
        CorePath { links: Vec::new(), conditions, draw: None }
    };
    let plan = Plan {
        format: FORMAT,
        title: "counted".to_owned(),
        network: Network {
            groups: (0..3).map(|group| format!("group-{group}")).collect(),
            hosts: (0..3).map(host).collect(),
            links: (0..6).map(line).collect(),
            traces: Vec::new(),
            cores: vec![core(0.0), core(loss)],
            core_of: vec![0, 1, 1, 0, 0, 0, 0, 0, 0],
        },
        stacks: vec![profiles::linux_6()],
        utps: Vec::new(),
        profiles: Vec::new(),
        workloads,
        timeline: Vec::new(),
        measures: Measures::default(),
        stop: Stop { horizon_ns: Span::from_secs(100), stall_ns: Span::from_secs(40) },
    };
    assert_eq!(plan.check(), Ok(()));
    plan
}

fn ping(start: u64, stop: Option<u64>) -> Workload {
    Workload::Ping(Ping {
        name: "ping".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 64,
        interval_ns: Span::from_millis(100),
        start_ns: Span::from_secs(start),
        stop_ns: stop.map(Span::from_secs),
    })
}

fn call(start: u64, stop: Option<u64>) -> Workload {
    Workload::Call(Call {
        name: "call".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 200,
        interval_ns: Span::from_millis(100),
        every_ns: None,
        start_ns: Span::from_secs(start),
        stop_ns: stop.map(Span::from_secs),
    })
}

/// Flows of a transfer from the first host to the second, from 1 s on.
fn transfer(flows: u32, size_bytes: Option<u64>, rate_bps: Option<u64>) -> Workload {
    Workload::Transfer(Transfer {
        name: "transfer".to_owned(),
        from: 0,
        to: 1,
        transport: None,
        flows,
        size_bytes,
        rate_bps: rate_bps.and_then(Rate::from_bps),
        start_ns: Span::from_secs(1),
        spread_ns: Span::ZERO,
        stop_ns: None,
        program: None,
    })
}

/// A file of 10 MB that the third host fetches over four connections.
fn download(mirrors: Vec<u32>, range_bytes: Option<u64>) -> Workload {
    Workload::Download(Download {
        name: "download".to_owned(),
        from: 0,
        to: 2,
        mirrors,
        transport: None,
        size_bytes: 10_000_000,
        connections: 4,
        range_bytes,
        least_split_bytes: None,
        use_head: false,
        request_bytes: 400,
        head_bytes: 300,
        start_ns: Span::from_secs(1),
        spread_ns: Span::ZERO,
        stop_ns: None,
    })
}

fn close(found: f64, counted: f64, share: f64) -> bool {
    (found - counted).abs() <= counted * share + 1.0
}

proptest! {
    /// A packet at each interval while the workload is active, and an answer to each request that arrives.
    #[test]
    fn datagrams_are_counted_one_by_one(
        start in 0_u64..40,
        length in 1_u64..100,
        halted in 0_u64..120,
        loss in 0.0_f64..0.9,
    ) {
        let end = [start + length, halted, 100].into_iter().min().unwrap_or(0);
        let sent = 10.0 * end.saturating_sub(start) as f64;
        let need = |workload: fn(u64, Option<u64>) -> Workload| {
            let mut plan = plan(loss, vec![workload(start, Some(start + length))]);
            let what = What::Stop { workload: 0 };
            plan.timeline.push(Change { at_ns: Span::from_secs(halted), what });
            Need::of(&plan)
        };
        let (pinged, called) = (need(ping), need(call));
        prop_assert!(close(pinged.packets as f64, sent * (1.0 - loss) * 2.0, 1e-9), "{:?}", pinged);
        prop_assert!(close(called.packets as f64, sent * (2.0 - loss), 1e-9), "{:?}", called);
        prop_assert_eq!([pinged.end_s, called.end_s], [100.0; 2], "a run waits for neither");
    }

    /// Flows share a line, and no byte takes less time or fewer packets than the line and its segments allow.
    #[test]
    fn a_transfer_takes_its_bytes_at_its_rate(flows in 1_u32..5, megabytes in 1_u64..5, limited: bool) {
        let bytes = megabytes * 1_000_000;
        let limit = limited.then_some(LINE_BPS / 10);
        let mut plan = plan(0.0, vec![transfer(flows, Some(bytes), limit)]);
        let need = Need::of(&plan);
        let all = f64::from(flows) * bytes as f64;
        let seconds = if limited { bytes as f64 * 80.0 } else { all * 8.0 } / LINE_BPS as f64;
        prop_assert!((seconds..seconds * 1.1 + 0.3).contains(&(need.end_s - 1.0)), "{:?}", need);
        // An acknowledgement for each segment at most, and one for two at least.
        let segments = all / 1448.0;
        prop_assert!((segments * 1.4..segments * 2.2).contains(&(need.packets as f64)), "{:?}", need);
        // Halfway, half of it is done.
        plan.stop.horizon_ns = Span::from_seconds(1.0 + (need.end_s - 1.0) / 2.0);
        let half = Need::of(&plan);
        prop_assert!(close(half.packets as f64, need.packets as f64 / 2.0, 0.15), "{:?}", half);
        prop_assert_eq!(half.end_s, plan.stop.horizon_ns.seconds());
    }

    /// Rows take memory by their number: instants, times what is sampled at each.
    #[test]
    fn rows_take_memory_by_their_number(flows in 1_u32..4, every in 1_u64..5, second in 1_u64..5) {
        let bytes = |series: &[(Sampled, u64)]| {
            let mut plan = plan(0.0, vec![transfer(flows, None, None)]);
            let series = series.iter();
            plan.measures.series = series
                .map(|(what, every)| Series { what: *what, every_ns: Span::from_secs(*every) })
                .collect();
            Need::of(&plan).bytes as f64
        };
        let none = bytes(&[]);
        let flow = bytes(&[(Sampled::Goodput, every)]) - none;
        let link = bytes(&[(Sampled::QueueDelay, every)]) - none;
        prop_assert!(close(flow * 6.0, link * f64::from(flows), 0.01), "six lines");
        let other = bytes(&[(Sampled::Goodput, second)]) - none;
        prop_assert!(close(flow * every as f64, other * second as f64, 0.05), "{} {}", flow, other);
        let both = bytes(&[(Sampled::Goodput, every), (Sampled::Rtt, second)]) - none;
        prop_assert!(close(both, flow + other, 0.01));
        prop_assert!(bytes(&[(Sampled::Online, every)]) - none < 1e5, "no swarm has a row");
    }

    /// Captured packets take memory by the share of time and of hosts.
    #[test]
    fn captured_packets_take_memory_by_time_and_hosts(from in 0_u64..99, length in 1_u64..99, snap in 40_u32..1000) {
        let bytes = |capture: Option<Capture>| {
            let mut plan = plan(0.0, vec![transfer(1, None, None)]);
            plan.measures.capture = capture;
            Need::of(&plan).bytes as f64
        };
        let to = (from + length).min(100);
        let of = |hosts: Vec<u32>, from, to: Option<u64>, snap_bytes| {
            let (from_ns, to_ns) = (Span::from_secs(from), to.map(Span::from_secs));
            bytes(Some(Capture { hosts, from_ns, to_ns, snap_bytes })) - bytes(None)
        };
        let whole = of(vec![0, 1], 0, None, Some(snap));
        let part = of(vec![0, 1], from, Some(from + length), Some(snap));
        prop_assert!(close(part, whole * (to - from) as f64 / 100.0, 0.01), "{} of {}", part, whole);
        prop_assert!(close(of(vec![1], 0, None, Some(snap)), whole / 2.0, 0.01), "one of two hosts");
        prop_assert!(close(of(vec![2], 0, None, Some(snap)), 0.0, 0.0), "it has no part in it");
        prop_assert!(whole < of(vec![0, 1], 0, None, None), "all of each packet");
    }
}

#[test]
fn a_mirror_halves_the_time_until_the_line_of_the_receiver_is_full() {
    let mut plan = plan(0.0, vec![download(Vec::new(), None)]);
    // The receiver's line takes what two servers send.
    plan.network.links[5].conditions.rate_bps = Rate::from_bps(4 * LINE_BPS);
    let took = |plan: &Plan| Need::of(plan).end_s - 1.0;
    let alone = took(&plan);
    assert!((10.0..11.0).contains(&alone), "{alone}");
    plan.workloads = vec![download(vec![1], None)];
    assert!(close(took(&plan) * 10.0, alone * 5.0, 0.1), "{}", took(&plan));
    plan.network.links[5].conditions.rate_bps = Rate::from_bps(LINE_BPS);
    assert!(close(took(&plan) * 10.0, alone * 10.0, 0.1), "{}", took(&plan));
    // Between two ranges of a connection passes a round trip.
    plan.workloads = vec![download(vec![1], Some(10_000))];
    let packets = Need::of(&plan).packets;
    plan.workloads = vec![download(vec![1], Some(1000))];
    assert!(Need::of(&plan).packets >= packets + 9000, "a request for each");
}
