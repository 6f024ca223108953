//! Logs of connections: exact rows of a run that can be worked out on paper, and what must hold of any
//! log, whatever the network does.

use crate::common::*;
use flashcrowd_base::{Probability, Rate, Span};
use flashcrowd_link::{CoDel, Conditions, Jitter, JitterShape, Loss, LossModel, Queue, Side};
use flashcrowd_plan::{LoggedConnections, Plan, TransportChoice, Workload};
use flashcrowd_sim::{Column, RunHandle, Table, simulate};

use flashcrowd_transport::tcp::Ecn;
use flashcrowd_transport::utp;
use std::collections::BTreeMap;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}

/// Everything of all connections.
fn everything() -> LoggedConnections {
    LoggedConnections {
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
    line_up(&mut plan, 0, "line", conditions);
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

type Row = BTreeMap<&'static str, Value>;

/// The rows of the logs, by the names of their columns.
fn rows(tables: &[Table]) -> Vec<Row> {
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
                Column::Bytes(..) => unreachable!("a log has no bytes"),
            };
            row.insert(*name, value);
        }
    }
    rows
}

/// What a row says, for people: when in microseconds, which log, what, and the columns that it has.
fn said(row: &Row, columns: &[&str]) -> String {
    let mut text = format!("{} {} {}", micros(row), number(row, "connection"), word(row, "event"));
    for column in columns {
        match &row[column] {
            Value::Null => {}
            Value::Number(value) => text += &format!(" {column} {value}"),
            Value::Text(value) => text += &format!(" {column} {value}"),
        }
    }
    text
}

fn micros(row: &Row) -> u64 {
    (number(row, "t_s") * 1e6).round() as u64
}

fn number(row: &Row, column: &str) -> f64 {
    match row[column] {
        Value::Number(value) => value,
        _ => panic!("{column} of {row:?} is no number"),
    }
}

fn maybe(row: &Row, column: &str) -> Option<f64> {
    (row[column] != Value::Null).then(|| number(row, column))
}

fn word<'r>(row: &'r Row, column: &str) -> &'r str {
    match &row[column] {
        Value::Text(value) => value,
        Value::Null => "",
        Value::Number(_) => panic!("{column} of {row:?} is no word"),
    }
}

fn is(row: &Row, event: &str) -> bool {
    word(row, "event") == event
}

/// The rows of one log.
fn of(rows: &[Row], connection: u32) -> Vec<&Row> {
    rows.iter().filter(|row| number(row, "connection") == f64::from(connection)).collect()
}

#[test]
fn a_handshake_and_three_segments() {
    // Packets of n bytes take 8 n microseconds on the line of 1 Mbit/s. There it is 10 + 20 ms from then on,
    // back 20 ms from the start.
    //
    //   SYN       60 B  leaves at   0.480 ms, is there at  30.480; its answer is here at 50.480
    //   ACK       52 B  leaves at  50.896
    //   data    1500 B  leave at 62.896, 74.896, 86.896, are there at 92.896, 104.896, 116.896
    //
    // Each is acknowledged at once (the first ones after a handshake are, in Linux), so the first
    // acknowledgement is here at 112.896 ms. With the whole file there the run ends.
    let tables = run(&line("linux-6", 3 * 1448), 1);
    let rows = rows(&tables);
    let packet = ["packet_number", "packet_type", "offset", "payload_bytes", "ack", "ip_bytes"];
    let packets: Vec<String> = rows
        .iter()
        .filter(|row| is(row, "packet_sent") || is(row, "packet_received"))
        .map(|row| said(row, &packet))
        .collect();
    let expected = [
        "0 0 packet_sent packet_number 0 packet_type syn payload_bytes 0 ip_bytes 60",
        "30480 1 packet_received packet_type syn payload_bytes 0 ip_bytes 60",
        "30480 1 packet_sent packet_number 0 packet_type syn_ack payload_bytes 0 ack 0 ip_bytes 60",
        "50480 0 packet_received packet_type syn_ack payload_bytes 0 ack 0 ip_bytes 60",
        "50480 0 packet_sent packet_number 1 packet_type ack payload_bytes 0 ack 0 ip_bytes 52",
        "50480 0 packet_sent packet_number 2 packet_type data offset 0 payload_bytes 1448 ack 0 ip_bytes 1500",
        "50480 0 packet_sent packet_number 3 packet_type data offset 1448 payload_bytes 1448 ack 0 ip_bytes 1500",
        "50480 0 packet_sent packet_number 4 packet_type fin offset 2896 payload_bytes 1448 ack 0 ip_bytes 1500",
        "80896 1 packet_received packet_type ack payload_bytes 0 ack 0 ip_bytes 52",
        "92896 1 packet_received packet_type data offset 0 payload_bytes 1448 ack 0 ip_bytes 1500",
        "92896 1 packet_sent packet_number 1 packet_type ack payload_bytes 0 ack 1448 ip_bytes 52",
        "104896 1 packet_received packet_type data offset 1448 payload_bytes 1448 ack 0 ip_bytes 1500",
        "104896 1 packet_sent packet_number 2 packet_type ack payload_bytes 0 ack 2896 ip_bytes 52",
        "112896 0 packet_received packet_type ack payload_bytes 0 ack 1448 ip_bytes 52",
        "116896 1 packet_received packet_type fin offset 2896 payload_bytes 1448 ack 0 ip_bytes 1500",
        "116896 1 packet_sent packet_number 3 packet_type ack payload_bytes 0 ack 4345 ip_bytes 52",
        "116896 1 packet_sent packet_number 4 packet_type fin offset 0 payload_bytes 0 ack 4345 ip_bytes 52",
    ];
    assert_eq!(packets, expected);

    // What is no packet, at the sending end. RFC 6298: the first sample R sets SRTT = R and RTTVAR = R/2;
    // the next, of 62.416 ms, makes them 7/8 50.480 + 1/8 62.416 and 3/4 25.240 + 1/4 (62.416 - 50.480). The
    // timer is that of the probe (RFC 8985): twice SRTT and two ticks. A FIN counts as a byte.
    let other = ["old", "new", "trigger", "timer", "timer_delay_s", "congestion_window"];
    let estimates = ["bytes_in_flight", "latest_rtt_s", "smoothed_rtt_s", "rtt_variance_s"];
    let columns = [&other[..], &estimates[..]].concat();
    let news: Vec<String> = of(&rows, 0)
        .into_iter()
        .filter(|row| !(is(row, "packet_sent") || is(row, "packet_received")))
        .map(|row| said(row, &columns))
        .collect();
    let first = "latest_rtt_s 0.05048 smoothed_rtt_s 0.05048 rtt_variance_s 0.02524";
    let second = "latest_rtt_s 0.062416 smoothed_rtt_s 0.051972 rtt_variance_s 0.021914";
    let window = "congestion_window 14480 bytes_in_flight";
    let expected = [
        "0 0 connection_started".to_owned(),
        "0 0 connection_state_updated new syn_sent".to_owned(),
        format!("0 0 metrics_updated {window} 0"),
        "0 0 loss_timer_updated trigger set timer handshake timer_delay_s 1".to_owned(),
        "50480 0 connection_state_updated old syn_sent new established".to_owned(),
        "50480 0 congestion_state_updated new slow_start".to_owned(),
        format!("50480 0 metrics_updated {window} 0 {first}"),
        "50480 0 congestion_state_updated old slow_start new application_limited".to_owned(),
        "50480 0 loss_timer_updated trigger cancelled timer handshake".to_owned(),
        "50480 0 connection_state_updated old established new fin_wait".to_owned(),
        format!("50480 0 metrics_updated {window} 4345 {first}"),
        "50480 0 loss_timer_updated trigger set timer tail_loss_probe timer_delay_s 0.10296"
            .to_owned(),
        format!("112896 0 metrics_updated {window} 2897 {second}"),
        "112896 0 loss_timer_updated trigger set timer tail_loss_probe timer_delay_s 0.105944"
            .to_owned(),
    ];
    assert_eq!(news, expected);
}

#[test]
fn what_is_not_asked_for_is_not_written_and_changes_nothing() {
    let mut plan = line("linux-6", 100_000);
    let all = rows(&run(&plan, 1));
    // One end, without packets and timers, for some time.
    plan.measures.connections = Some(LoggedConnections {
        hosts: Some(vec![1]),
        from_ns: Span::from_millis(200),
        to_ns: Some(Span::from_millis(600)),
        metrics: false,
        timers: false,
        ..everything()
    });
    let tables = run(&plan, 1);
    let within = |row: &&Row| (200_000..600_000).contains(&micros(row));
    let kinds = ["metrics_updated", "loss_timer_updated"];
    let chosen = |row: &&&Row| within(row) && !kinds.contains(&word(row, "event"));
    let expected: Vec<String> =
        of(&all, 1).iter().filter(chosen).map(|row| said(row, &["ack", "packet_number"])).collect();
    let found: Vec<String> =
        rows(&tables).iter().map(|row| said(row, &["ack", "packet_number"])).collect();
    assert!(found.len() > 20);
    assert_eq!(found, expected.iter().map(|it| it.replacen(" 1 ", " 0 ", 1)).collect::<Vec<_>>());

    plan.measures.connections = None;
    let unlogged = run(&plan, 1);
    for name in ["run", "transfers", "links"] {
        assert_eq!(table(&tables, name), table(&unlogged, name));
    }
    assert_eq!(table(&unlogged, "connection_events").rows(), 0);
    assert_eq!(table(&unlogged, "connections").rows(), 0);
}

/// A plan whose path loses packets of both directions, for TCP or uTP.
fn lossy(stack: &str, utp: Option<&str>, loss: f64, bytes: u64) -> Plan {
    let mut plan = line(stack, bytes);
    plan.network.links[0].conditions.queue = Queue::packets(30);
    let model = LossModel::Bernoulli { probability: Probability::new(loss).expect("a share") };
    plan.network.cores[0].conditions.loss = Some(Loss { side: Side::Receiver, model });
    if let Some(name) = utp {
        plan.utps.push(utp::profiles::named(name).expect("it exists"));
        let Workload::Transfer(flow) = &mut plan.workloads[0] else { panic!("a transfer") };
        flow.transport = Some(TransportChoice::Utp(0));
    }
    plan
}

/// What ends a range of the sender's numbers: an offset, or a number on the wire (which do not wrap here).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    InFlight,
    Lost,
    Arrived,
}

/// The scoreboard of RFC 6675, from the packets and the losses of a log alone: bytes in flight at each
/// `metrics_updated`, against those that the log has.
fn follow(rows: &[&Row]) -> usize {
    let mut board: BTreeMap<u64, (u64, Fate)> = BTreeMap::new();
    let mut compared = 0;
    for row in rows {
        match word(row, "event") {
            "packet_sent" if maybe(row, "offset").is_some() => {
                let start = number(row, "offset") as u64;
                let fin = u64::from(word(row, "packet_type") == "fin");
                let end = start + number(row, "payload_bytes") as u64 + fin;
                // One packet may carry again what several did.
                match board.range(start..end).next() {
                    None => drop(board.insert(start, (end, Fate::InFlight))),
                    _ => board.range_mut(start..end).for_each(|(_, part)| part.1 = Fate::InFlight),
                }
            }
            "packet_lost" => {
                let part = board.get_mut(&(number(row, "offset") as u64)).expect("it was sent");
                assert_eq!(part.1, Fate::InFlight, "{row:?}");
                part.1 = Fate::Lost;
            }
            "packet_received" if maybe(row, "ack").is_some() => {
                let ack = number(row, "ack") as u64;
                let mut ranges = vec![(0, ack)];
                ranges.extend(word(row, "sack").split_whitespace().map(|range| {
                    let (start, end) = range.split_once('-').expect("a range");
                    (start.parse().expect("a number"), end.parse().expect("a number"))
                }));
                for (start, end) in ranges {
                    for part in board.range_mut(start..end).filter(|(_, part)| part.0 <= end) {
                        part.1.1 = Fate::Arrived;
                    }
                }
            }
            "metrics_updated" => {
                let flying = board.iter().filter(|(_, part)| part.1 == Fate::InFlight);
                let flying: u64 = flying.map(|(start, part)| part.0 - start).sum();
                assert_eq!(number(row, "bytes_in_flight") as u64, flying, "{row:?}");
                compared += 1;
            }
            _ => {}
        }
    }
    compared
}

/// What must hold of the log of a sender whatever was lost; how much was.
fn hold(rows: &[&Row], tables: &[Table], bytes: u64) -> usize {
    let sent: Vec<&&Row> = rows.iter().filter(|row| is(row, "packet_sent")).collect();
    // Numbers without gaps, instants in order.
    assert!(sent.iter().enumerate().all(|(n, row)| number(row, "packet_number") == n as f64));
    assert!(rows.is_sorted_by_key(|row| micros(row)));
    let again: Vec<&&&Row> =
        sent.iter().filter(|row| maybe(row, "retransmission") == Some(1.0)).collect();
    let payload = |rows: &mut dyn Iterator<Item = &&Row>| -> u64 {
        rows.map(|row| number(row, "payload_bytes") as u64).sum()
    };
    let fresh = |row: &&&Row| maybe(row, "retransmission") == Some(0.0);
    assert_eq!(payload(&mut sent.iter().copied().filter(fresh)), bytes);
    assert_eq!(again.len() as f64, numbers(tables, "transfers", "retransmits")[0]);
    let timeouts = rows.iter().filter(|row| {
        is(row, "loss_timer_updated")
            && word(row, "trigger") == "expired"
            && word(row, "timer") == "rto"
    });
    assert_eq!(timeouts.count() as f64, numbers(tables, "transfers", "timeouts")[0]);
    // As many losses as the connection counts.
    let lost = rows.iter().filter(|row| is(row, "packet_lost")).count();
    let counted = rows.iter().rev().find_map(|row| maybe(row, "packets_lost")).expect("metrics");
    assert_eq!(lost as f64, counted);
    // Whatever is sent again was lost before, or a timer had run out.
    let mut excused: Vec<u64> = Vec::new();
    let mut expired = 0;
    for row in rows {
        let offset = maybe(row, "offset").map(|it| it as u64);
        if is(row, "packet_lost") {
            excused.push(offset.expect("of what"));
        } else if is(row, "loss_timer_updated") && word(row, "trigger") == "expired" {
            expired += 1;
        } else if is(row, "packet_sent") && maybe(row, "retransmission") == Some(1.0) {
            let known = offset.and_then(|offset| excused.iter().position(|it| *it == offset));
            match known {
                Some(place) => drop(excused.remove(place)),
                None => {
                    expired -= 1;
                    assert!(expired >= 0, "{row:?}");
                }
            }
        }
    }
    lost
}

#[test]
fn tcp_under_random_loss() {
    for stack in ["linux-6", "linux-2.6", "windows-xp", "ns2-tcp"] {
        let (mut losses, mut compared) = (0, 0);
        for seed in 0..12 {
            let plan = lossy(stack, None, 0.02, 300_000);
            let tables = run(&plan, seed);
            let rows = rows(&tables);
            let sender = of(&rows, 0);
            losses += hold(&sender, &tables, 300_000);
            if plan.stacks[0].sack {
                compared += follow(&sender);
            }
            assert_eq!(run(&plan, seed), tables, "twice the same");
        }
        assert!(losses > 50, "{stack}: {losses}");
        assert!(compared > 1000 || stack == "ns2-tcp", "{stack}: {compared}");
    }
}

#[test]
fn utp_under_random_loss() {
    for name in ["libutp", "libtorrent", "ledbat-plus-plus"] {
        let mut losses = 0;
        for seed in 0..12 {
            let tables = run(&lossy("linux-6", Some(name), 0.02, 300_000), seed);
            losses += hold(&of(&rows(&tables), 0), &tables, 300_000);
        }
        assert!(losses > 50, "{name}: {losses}");
    }
}

/// SRTT and RTTVAR after each sample, by the equations of RFC 6298, section 2, and the timeout by its floor.
#[test]
fn estimates_are_those_of_rfc_6298() {
    let plan = line("windows-xp", 200_000);
    let floor = plan.stacks[0].min_rto_ns.seconds();
    let tables = run(&plan, 1);
    let rows = rows(&tables);
    let (mut srtt, mut rttvar, mut acked, mut samples) = (0.0_f64, 0.0_f64, -1.0, 0);
    for row in of(&rows, 0).into_iter().filter(|row| is(row, "metrics_updated")) {
        let Some(sample) = maybe(row, "latest_rtt_s") else { continue };
        // Without losses each acknowledgement that advances is a sample; the handshake is the first.
        if number(row, "bytes_acked") != acked {
            acked = number(row, "bytes_acked");
            (srtt, rttvar) = if samples == 0 {
                (sample, sample / 2.0)
            } else {
                (0.875 * srtt + 0.125 * sample, 0.75 * rttvar + 0.25 * (srtt - sample).abs())
            };
            samples += 1;
        }
        let near = |column, value: f64| {
            assert!((number(row, column) - value).abs() < 1e-6, "{column} {value} {row:?}");
        };
        near("smoothed_rtt_s", srtt);
        near("rtt_variance_s", rttvar);
        near("rto_s", (srtt + 4.0 * rttvar).max(floor));
    }
    assert!(samples > 50, "{samples}");
}

/// NewReno's window by RFC 5681, from the log alone: at most a segment for an acknowledgement in slow start,
/// a segment for a window in congestion avoidance, half of what was outstanding after a loss, and a segment
/// after a timeout.
#[test]
fn the_window_is_that_of_rfc_5681() {
    let mss = 1460.0_f64;
    let (mut reductions, mut grown, mut timeouts) = (0, 0, 0);
    for seed in 0..20 {
        let tables = run(&lossy("windows-xp", None, 0.02, 400_000), seed);
        let rows = rows(&tables);
        let (mut window, mut threshold, mut acked) = (2.0 * mss, f64::INFINITY, 0.0_f64);
        let (mut credit, mut expired) = (0.0, false);
        for row in of(&rows, 0) {
            match word(row, "event") {
                "loss_timer_updated" => {
                    expired |= (word(row, "trigger"), word(row, "timer")) == ("expired", "rto");
                }
                "metrics_updated" => {
                    let now = number(row, "congestion_window");
                    let news = number(row, "bytes_acked") - acked;
                    acked = number(row, "bytes_acked");
                    let cut = maybe(row, "ssthresh").unwrap_or(f64::INFINITY);
                    if expired {
                        // The loss window.
                        assert_eq!(now, mss, "{row:?}");
                        timeouts += 1;
                        credit = 0.0;
                    } else if cut != threshold {
                        // Equation 4: half of the flight, two segments at least. The receiver takes 17520 B.
                        let max = (window.min(17_520.0) / 2.0).max(2.0 * mss);
                        assert!((2.0 * mss..=max).contains(&cut), "{cut} of {window}");
                        assert_eq!(now, cut, "{row:?}");
                        reductions += 1;
                        credit = 0.0;
                    } else if now > window && window < threshold {
                        assert!(now - window <= news.min(mss), "{row:?}");
                        grown += 1;
                    } else if now > window {
                        assert_eq!(now - window, mss);
                        assert!(credit + news >= window, "{credit} and {news} of {window}");
                        credit = 0.0;
                        grown += 1;
                    } else {
                        credit += news;
                    }
                    (window, threshold, expired) = (now, cut, false);
                }
                _ => {}
            }
        }
    }
    assert!(reductions > 40 && grown > 400 && timeouts > 3, "{reductions} {grown} {timeouts}");
}

/// uTP's queueing delay is what the logs of both ends say together: the time that a packet took less the
/// least of them, in whole microseconds.
#[test]
fn the_queueing_delay_is_that_of_the_packets() {
    let mut plan = lossy("linux-6", Some("libutp"), 0.0, 200_000);
    plan.network.cores[0].conditions.loss = None;
    let tables = run(&plan, 1);
    let rows = rows(&tables);
    let mut left: BTreeMap<u64, f64> = BTreeMap::new();
    for row in of(&rows, 0).into_iter().filter(|row| is(row, "packet_sent")) {
        left.insert(number(row, "seq_nr") as u64, number(row, "t_s"));
    }
    let arrived = of(&rows, 1).into_iter().filter(|row| is(row, "packet_received"));
    let took: Vec<f64> = arrived
        .filter(|row| word(row, "packet_type") == "data")
        .map(|row| number(row, "t_s") - left[&(number(row, "seq_nr") as u64)])
        .collect();
    let told: Vec<f64> = of(&rows, 0)
        .into_iter()
        .filter_map(|row| maybe(row, "queueing_delay_s"))
        .filter(|delay| *delay > 0.0)
        .collect();
    let min = took.iter().copied().fold(f64::INFINITY, f64::min);
    let waited = took.iter().copied().fold(0.0_f64, f64::max) - min;
    let longest = told.iter().copied().fold(0.0_f64, f64::max);
    assert!(waited > 0.05 && (longest - waited).abs() < 0.02, "{longest} {waited}");
    assert!(told.iter().all(|delay| took.iter().any(|it| (it - min - delay).abs() < 0.014)));
    assert_eq!(texts(&tables, "connections", "controller"), ["libutp"; 2]);
    assert_eq!(numbers(&tables, "connections", "target_delay_s"), [0.1; 2]);
}

/// Reordering looks like loss until the originals arrive: an undone reduction is logged.
#[test]
fn a_reduction_for_nothing_is_told() {
    let mut plan = lossy("linux-6", None, 0.0, 2_000_000);
    plan.network.cores[0].conditions.loss = None;
    plan.network.links[0].conditions.rate_bps = Rate::from_bps(20_000_000);
    plan.network.links[0].conditions.queue = Queue::packets(1000);
    plan.network.cores[0].conditions.jitter = Some(Jitter {
        shape: JitterShape::Uniform,
        spread_ns: Span::from_millis(60),
        reorder: true,
    });
    let tables = run(&plan, 1);
    let rows = rows(&tables);
    let sender = of(&rows, 0);
    let undone = sender.iter().filter(|row| is(row, "recovery_undone")).count();
    assert!(undone > 0);
    // None of it was lost.
    assert_eq!(numbers(&tables, "run", "packets_lost"), [0.0]);
    assert!(sender.iter().any(|row| is(row, "packet_lost")));
}

/// Marks of a queue bring the window down without a loss, and say so.
#[test]
fn marks_are_told() {
    let mut plan = line("linux-6", 1_000_000);
    plan.stacks[0].ecn = Ecn::On;
    plan.network.links[0].conditions.queue = CoDel { ecn: true, ..CoDel::default() }.into();
    let tables = run(&plan, 1);
    let rows = rows(&tables);
    let marked = of(&rows, 1).iter().filter(|row| word(row, "ecn") == "ce").count();
    let sender = of(&rows, 0);
    let told: Vec<(&str, &str)> = sender
        .iter()
        .filter(|row| is(row, "congestion_state_updated"))
        .map(|row| (word(row, "new"), word(row, "trigger")))
        .collect();
    assert!(marked > 0 && told.contains(&("cwr", "ecn")), "{marked} {told:?}");
    assert!(!sender.iter().any(|row| is(row, "packet_lost")));
}

/// Of a swarm the ends at chosen hosts, each connection a log of its own, though sockets are used again.
#[test]
fn a_swarm_at_one_host() {
    let mut plan = flash_crowd(5, 1_000_000, kilobytes(100), path(Span::from_millis(40), 0.0));
    plan.measures.connections = Some(LoggedConnections { hosts: Some(vec![2]), ..everything() });
    let tables = run(&plan, 3);
    let hosts = texts(&tables, "connections", "host");
    assert!(hosts.len() >= 5 && hosts.iter().all(|host| host == "host-2"), "{hosts:?}");
    let rows = rows(&tables);
    for (log, opened) in (0..).zip(numbers(&tables, "connections", "opened_s")) {
        let mine = of(&rows, log);
        assert!(is(mine[0], "connection_started") && number(mine[0], "t_s") >= opened);
        assert_eq!(mine.iter().filter(|row| is(row, "connection_started")).count(), 1);
        assert!(mine.iter().filter(|row| is(row, "connection_closed")).count() <= 1);
        let roles = texts(&tables, "connections", "role");
        let begin = if roles[log as usize] == "client" { "packet_sent" } else { "packet_received" };
        let first = mine.iter().find(|row| word(row, "event").starts_with("packet_"));
        assert!(first.is_some_and(|row| is(row, begin) && word(row, "packet_type") == "syn"));
    }
}
