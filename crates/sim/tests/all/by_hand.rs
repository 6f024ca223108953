//! Small runs whose tables can be worked out on paper, and are: what a link, a change of one, a
//! drawn path, a tracker and a limited upload must come to, exactly.

use crate::common::*;
use flashcrowd_base::{Quantiles, RandomStream, Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{
    Arrivals, Change, Draw, Ping, Plan, Sampled, Series, Transfer, What, Workload,
};
use flashcrowd_sim::{RunHandle, Table, simulate};

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}

/// One number of a table with one row.
fn one(tables: &[Table], name: &str, column: &str) -> f64 {
    let values = numbers(tables, name, column);
    assert_eq!(values.len(), 1, "{name}.{column}: {values:?}");
    values[0]
}

fn millis(values: &[f64]) -> Vec<f64> {
    // Times are whole microseconds here.
    values.iter().map(|seconds| (seconds * 1e6).round() / 1e3).collect()
}

/// Echo requests of `bytes` from host 0 to host 1, first at `start`, then every second.
fn ping(bytes: u32, start: Span) -> Workload {
    Workload::Ping(Ping {
        name: format!("{bytes} B at {start}"),
        from: 0,
        to: 1,
        size_bytes: bytes,
        interval_ns: Span::from_secs(1),
        start_ns: start,
        stop_ns: None,
    })
}

/// A line of 1 Mbit/s and 10 ms from host 0, then a path with 20 ms each way.
fn line(queue: Queue) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    let conditions = Conditions {
        rate_bps: Rate::from_bps(1_000_000),
        delay_ns: Span::from_millis(10),
        queue,
        ..Conditions::default()
    };
    line_up(&mut plan, 0, "line", conditions);
    plan
}

#[test]
fn what_a_line_carries_drops_and_keeps_waiting() {
    // Three requests at once in a queue of two packets, four times, at 0, 1, 2 and 3 s:
    //
    //   1000 B  sent at once            8000 bits at 1 Mbit/s:  departs at  8 ms
    //    500 B  waits 8 ms              4000 bits:              departs at 12 ms
    //    100 B  finds two, is dropped
    //
    // A round trip is departure + 10 ms of the line + 20 ms there + 20 ms back.
    let mut plan = line(Queue::packets(2));
    plan.workloads = [1000, 500, 100].map(|bytes| ping(bytes, Span::ZERO)).to_vec();
    plan.stop.horizon_ns = Span::from_millis(3500);
    let tables = run(&plan, 1);
    assert_eq!(millis(&numbers(&tables, "pings", "rtt_s")), [[58.0; 4], [62.0; 4]].concat());
    assert_eq!(one(&tables, "links", "packets"), 8.0);
    assert_eq!(one(&tables, "links", "bytes"), 4.0 * (1000.0 + 500.0));
    assert_eq!(one(&tables, "links", "dropped"), 4.0);
    assert_eq!(one(&tables, "links", "lost"), 0.0);
    // (0 + 8) / 2 ms.
    assert_eq!(one(&tables, "links", "mean_queue_delay_s"), 0.004);
    assert_eq!(one(&tables, "links", "max_queue_packets"), 2.0);
    // 48,000 bits of 3.5 Mbit.
    assert_eq!(one(&tables, "links", "utilisation"), 48_000.0 / 3_500_000.0);
    // Requests and the answers of those that were not dropped.
    assert_eq!(one(&tables, "run", "packets_sent"), 12.0 + 8.0);
    assert_eq!(one(&tables, "run", "packets_dropped"), 4.0);
    assert_eq!(one(&tables, "run", "packets_delivered"), 16.0);
}

#[test]
fn what_waits_and_what_comes_after_a_change_of_the_rate() {
    // At 4 ms, 1 Mbit/s become 0.5 Mbit/s:
    //
    //   A  1000 B at   0 ms  4000 bits are left at 4 ms, and take 8 ms:   departs at  12 ms
    //   B  1000 B at   0 ms  waits 12 ms, 8000 bits take 16 ms:           departs at  28 ms
    //   C  1000 B at  20 ms  waits 8 ms:                                  departs at  44 ms
    //   D   500 B at 100 ms  waits for nothing, 4000 bits:                departs at 108 ms
    //
    // and 50 ms on top until the answer is there.
    let mut plan = line(Queue::packets(100));
    plan.workloads = [(1000, 0), (1000, 0), (1000, 20), (500, 100)]
        .map(|(bytes, at)| ping(bytes, Span::from_millis(at)))
        .to_vec();
    let slower = Conditions {
        rate_bps: Rate::from_bps(500_000),
        ..plan.network.links[0].conditions.clone()
    };
    let what = What::Link { link: 0, conditions: slower, trace: None };
    plan.timeline = vec![Change { at_ns: Span::from_millis(4), what }];
    plan.stop.horizon_ns = Span::from_millis(900);
    let tables = run(&plan, 1);
    assert_eq!(millis(&numbers(&tables, "pings", "rtt_s")), [62.0, 78.0, 74.0, 58.0]);
    assert_eq!(one(&tables, "links", "mean_queue_delay_s"), (0.012 + 0.008) / 4.0);
    assert_eq!(one(&tables, "links", "max_queue_packets"), 2.0);
    // 4 ms of 1 Mbit/s and 896 ms of 0.5 Mbit/s.
    assert_eq!(one(&tables, "links", "utilisation"), 28_000.0 / 452_000.0);
}

#[test]
fn a_pair_s_round_trip_is_the_one_that_its_stream_draws() {
    let quantiles = || Quantiles::new(vec![(0.0, 0.02), (0.5, 0.1), (1.0, 0.9)]);
    let mut plan = plan(2, "linux-6", Conditions::default());
    plan.network.cores[0].draw = Some(Draw { rtt_s: quantiles(), loss: None });
    plan.workloads = vec![ping(84, Span::ZERO)];
    plan.stop.horizon_ns = Span::from_millis(950);
    for seed in [1, 2, 3] {
        // One draw a pair, for both directions: hosts 0 and 1 are pair 0 << 32 | 1.
        let drawn = quantiles().expect("they rise").draw(&mut RandomStream::new(seed, "pair", 1));
        let one_way = Span::from_seconds(drawn) / 2;
        assert_eq!(one(&run(&plan, seed), "pings", "rtt_s"), (one_way * 2).seconds());
    }
}

/// One seed with the upload limit 20 KiB/s and one leecher, which comes after a second and wants
/// one block of 16 KiB; 100 ms there and back.
fn one_block() -> Plan {
    let mut plan = flash_crowd(1, 16_384, kilobytes(20), path(Span::from_millis(100), 0.0));
    swarm(&mut plan).populations[1].arrivals = Arrivals::Times { at_ns: vec![Span::from_secs(1)] };
    plan
}

#[test]
fn the_gaps_and_round_trips_of_a_limited_upload() {
    let mut plan = one_block();
    plan.measures.send_gaps = true;
    plan.measures.rtts = true;
    // Every segment is acknowledged at once.
    plan.stacks[0].delayed_ack.segments = 1;
    let tables = run(&plan, 1);
    // A PIECE is 13 B and the block: 16,397 B = 11 * 1380 + 1217, so 12 writes of mainline's unit.
    // Each but the first waits until the one before is paid for: 1380 * 8 / 163,840 bit/s = 67.4 ms.
    assert_eq!(texts(&tables, "send_gaps", "population"), ["seeds"]);
    assert_eq!(one(&tables, "send_gaps", "gap_ms"), 67.0);
    assert_eq!(one(&tables, "send_gaps", "count"), 11.0);
    // A sample with each of the 12 writes, and the path is 100 ms for each of them.
    assert_eq!(texts(&tables, "rtts", "population"), ["seeds"]);
    assert_eq!(one(&tables, "rtts", "samples"), 12.0);
    for column in ["mean_s", "min_s", "max_s"] {
        let expected = if column == "mean_s" { 1.2 / 12.0 } else { 0.1 };
        assert_eq!(one(&tables, "rtts", column), expected, "{column}");
    }
}

#[test]
fn the_payloads_of_a_limited_upload() {
    let mut plan = one_block();
    plan.measures.payloads = true;
    let tables = run(&plan, 1);
    let of_seeds: Vec<(f64, f64)> = numbers(&tables, "payloads", "bytes")
        .into_iter()
        .zip(numbers(&tables, "payloads", "count"))
        .zip(texts(&tables, "payloads", "population"))
        .filter_map(|(row, population)| (population == "seeds").then_some(row))
        .collect();
    // No segment is longer than 1500 - 52 B, and what only acknowledges is not counted.
    let allowed = |&(bytes, count): &(f64, f64)| (1.0..=1448.0).contains(&bytes) && count > 0.0;
    assert!(of_seeds.iter().all(allowed), "{of_seeds:?}");
    // The PIECE has 16,397 B, the handshake 68; BITFIELD and UNCHOKE, 6 and 5, come once or not
    // many times. Nothing is sent twice.
    let sum: f64 = of_seeds.iter().map(|(bytes, count)| bytes * count).sum();
    assert!((16_465.0..16_525.0).contains(&sum), "{sum}: {of_seeds:?}");
}

/// A run is over when all that can end has: a flow without an end does not count, one that is stopped
/// does.
#[test]
fn what_never_ends_keeps_no_run_going() {
    for (stop, end) in [(None, 0.0..1.0), (Some(3), 3.0..3.1)] {
        let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
        let endless = Transfer {
            rate_bps: Rate::from_bps(80_000),
            stop_ns: stop.map(Span::from_secs),
            ..transfer(0, 1)
        };
        let short = Transfer { size_bytes: Some(1000), ..transfer(1, 0) };
        plan.workloads = [endless, short].map(Workload::Transfer).to_vec();
        plan.stop.horizon_ns = Span::from_secs(50);
        let tables = run(&plan, 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
        assert!(end.contains(&one(&tables, "run", "end_s")), "{end:?}");
    }
}

#[test]
fn a_flow_that_the_horizon_cuts_is_named_and_its_round_trips_are_sampled() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    let rate_bps = Rate::from_bps(80_000);
    let flow = Transfer { size_bytes: Some(100_000), rate_bps, ..transfer(0, 1) };
    plan.workloads = vec![Workload::Transfer(flow)];
    plan.stop.horizon_ns = Span::from_secs(5);
    let every_ns = Span::from_millis(1500);
    plan.measures.series = vec![Series { what: Sampled::Rtt, every_ns }];
    let tables = run(&plan, 1);
    // At 0 s there is none yet, then at 1.5, 3 and 4.5 s: 40 ms, and what an acknowledgement waits.
    assert_eq!(texts(&tables, "series", "source"), ["0 to 1/0"; 3]);
    assert!(numbers(&tables, "series", "value").iter().all(|rtt| (0.04..0.1).contains(rtt)));
    assert_eq!(texts(&tables, "run", "outcome"), ["horizon"]);
    let received = one(&tables, "run", "payload_bytes_delivered");
    assert!((45_000.0..55_000.0).contains(&received), "{received}");
    let reason = format!("transfer 0 to 1 flow 0: {received} of 100000 bytes");
    assert_eq!(texts(&tables, "run", "reason"), [reason]);
}

#[test]
fn the_series_of_a_line() {
    // 1000 B and 500 B at 0: departures at 8 and at 12 ms. A sample comes after what happens at its
    // instant, and bits count when they have left.
    let mut plan = line(Queue::packets(100));
    plan.workloads = [1000, 500].map(|bytes| ping(bytes, Span::ZERO)).to_vec();
    let kinds = [Sampled::QueuePackets, Sampled::QueueDelay, Sampled::LinkRate];
    plan.measures.series =
        kinds.map(|what| Series { what, every_ns: Span::from_millis(5) }).to_vec();
    plan.stop.horizon_ns = Span::from_millis(18);
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "series", "source"), ["line"; 12]);
    let column = |column: &str, what: &str| -> Vec<f64> {
        let named = texts(&tables, "series", "what");
        let values = numbers(&tables, "series", column);
        values.into_iter().zip(named).filter_map(|(v, n)| (n == what).then_some(v)).collect()
    };
    assert_eq!(millis(&column("t_s", "link-rate")), [0.0, 5.0, 10.0, 15.0]);
    assert_eq!(column("value", "queue-packets"), [2.0, 2.0, 1.0, 0.0]);
    assert_eq!(millis(&column("value", "queue-delay")), [12.0, 7.0, 2.0, 0.0]);
    assert_eq!(column("value", "link-rate"), [0.0, 1_000_000.0, 1_000_000.0, 400_000.0]);
}

#[test]
fn a_tracker_answers_after_two_round_trips() {
    // The leecher comes after 1 s and knows no peer; the first packet of the run is its SYN to the
    // seed, which the tracker names. Its host is 100 ms away: handshake and exchange take 200 ms,
    // and the tracker's time for an answer comes on top.
    for (host, takes, answer) in
        [(None, 0, 1_000), (None, 7, 1_007), (Some(0), 0, 1_200), (Some(0), 30, 1_230)]
    {
        let sent = |nanos: u64| {
            let mut plan = one_block();
            let rules = &mut swarm(&mut plan).tracker;
            (rules.host, rules.answer_delay_ns) = (host, Span::from_millis(takes));
            plan.stop.horizon_ns = Span::from_nanos(nanos);
            one(&run(&plan, 1), "run", "packets_sent")
        };
        let answer = answer * 1_000_000;
        assert_eq!((sent(answer - 1), sent(answer + 1)), (0.0, 1.0));
    }
}
