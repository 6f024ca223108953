//! What the peers of a swarm spent their time on, worked out on paper.

use crate::common::*;
use flashcrowd_base::{Quantiles, Rate, Span};
use flashcrowd_plan::{
    Arrivals, Change, Departure, Host, Plan, Sampled, Series, Transfer, What, Workload,
};
use flashcrowd_sim::{Column, RunHandle, Table, simulate};
use flashcrowd_swarm::UploadLimit;

fn run(plan: &Plan) -> Vec<Table> {
    simulate(plan, 1, &RunHandle::default()).expect("the plan runs")
}
/// The values of a column of `populations`, seeds first.
fn column(tables: &[Table], name: &str) -> Vec<Option<f64>> {
    match table(tables, "populations").column(name).expect("the column exists") {
        Column::MaybeF64(values) => values.clone(),
        _ => numbers(tables, "populations", name).into_iter().map(Some).collect(),
    }
}

/// What the share of a column is of, times the share.
fn spent(tables: &[Table], share: &str, of: &str) -> Vec<Option<f64>> {
    let whole = column(tables, of);
    let parts = column(tables, share).into_iter().zip(whole);
    parts.map(|(share, whole)| Some(share? * whole?)).collect()
}
fn near(found: &[Option<f64>], expected: &[Option<f64>]) {
    assert_eq!(found.len(), expected.len());
    for pair in found.iter().zip(expected) {
        match pair {
            (Some(found), Some(expected)) if (found - expected).abs() < 1e-6 => {}
            (None, None) => {}
            _ => panic!("{found:?} instead of {expected:?}"),
        }
    }
}

/// A seed and leechers who come at these instants and want a block of 16 KiB; 100 ms there and back,
/// and nothing waits for an acknowledgement.
fn one_block(upload: Option<Rate>, arrivals: &[u64]) -> Plan {
    let path = path(Span::from_millis(100), 0.0);
    let mut plan = flash_crowd(arrivals.len() as u32, 16_384, upload, path);
    plan.stacks[0].delayed_ack.segments = 1;
    plan.profiles[0].nagle = false;
    let at_ns = arrivals.iter().map(|at| Span::from_secs(*at)).collect();
    swarm(&mut plan).populations[1].arrivals = Arrivals::Times { at_ns };
    plan
}

#[test]
fn a_leecher_waits_for_a_slot_and_its_seed_for_the_leecher() {
    // 1.00 s the leecher comes, and connects
    // 1.20 s the seed's handshake and bitfield are here: it is interested, and choked
    // 10.00 s the seed's first round unchokes it, of which it hears at 10.05 s
    // 10.10 s its request is at the seed, which writes 12 times, the last time 11 * 1380 B * 8 /
    //   163,840 bit/s = 741.2 ms later
    // 10.8912 s that is with the leecher: it has the file, and the run ends.
    let tables = run(&one_block(kilobytes(20), &[1]));
    let last = 11.0 * 1380.0 * 8.0 / 163_840.0;
    let end = 10.10 + last + 0.05;
    near(&column(&tables, "online_s"), &[Some(end), Some(end - 1.0)]);
    near(&column(&tables, "downloading_s"), &[Some(0.0), Some(end - 1.0)]);
    for (state, seconds) in [
        ("alone_share", 0.2),
        ("uninterested_share", 0.0),
        ("choked_share", 8.85),
        ("unchoked_share", end - 10.05),
    ] {
        near(&spent(&tables, state, "downloading_s"), &[None, Some(seconds)]);
    }
    // The seed was there before it was needed. It was idle until the request came, and then its
    // limit was at work.
    near(&column(&tables, "needed_s"), &[Some(end - 1.0); 2]);
    near(&spent(&tables, "idle_share", "needed_s"), &[Some(9.1), None]);
    near(&spent(&tables, "limited_share", "needed_s"), &[Some(end - 10.10), Some(0.0)]);
    for (name, expected) in [
        ("peers", [1.0, 1.0]),
        ("completed", [0.0, 1.0]),
        ("uploaded_bytes", [16_384.0, 0.0]),
        ("downloaded_bytes", [0.0, 16_384.0]),
        ("wasted_bytes", [0.0, 0.0]),
        ("timeouts", [0.0, 0.0]),
    ] {
        assert_eq!(numbers(&tables, "populations", name), expected, "{name}");
    }
    assert_eq!(texts(&tables, "populations", "role"), ["seed", "leecher"]);
}

#[test]
fn a_seed_whose_blocks_are_on_their_way_is_not_idle_and_then_it_is() {
    // Without a limit the seed's client hands a block to its transport at once. The first leecher asks
    // at 10.10 s, as above; the second comes at 12 s and is unchoked in the round at 20 s. Each is
    // served from when its request is there until the run, or the need, ends.
    let mut plan = one_block(None, &[1, 12]);
    plan.network.links = star(1, 0, 1).network.links;
    plan.network.links[0].conditions.delay_ns = Span::ZERO;
    plan.network.hosts[0].up = vec![0];
    let tables = run(&plan);
    let needed: f64 = numbers(&tables, "downloads", "duration_s").iter().sum();
    // Each block takes the line of 1 Mbit/s 0.14 s, and slow start two more round trips at most.
    assert!((9.1 + 8.1 + 0.3..9.1 + 8.1 + 0.8).contains(&needed), "{needed}");
    near(&column(&tables, "needed_s")[..1], &[Some(needed)]);
    // Its SYN-ACKs and messages before the requests take the line some microseconds.
    let idle = spent(&tables, "idle_share", "needed_s")[0].unwrap_or_default();
    assert!((idle - (9.1 + 8.1)).abs() < 0.005, "{idle}");
    // Nothing was limited.
    near(&column(&tables, "limited_share"), &[Some(0.0), Some(0.0)]);
}

/// The first leecher has the block when the second comes, at 11 s, and stays until 15 s: its own first round is at
/// 11 s, before the second has connected, and the next would be at 21 s. From its last acknowledgement until the
/// second one's request, at 20.10 s, the seed is idle though it has a neighbour that stays and owes it nothing.
#[test]
fn an_acknowledgement_alone_makes_a_seed_idle() {
    let mut plan = one_block(None, &[1, 11]);
    plan.profiles[0].connections.drop_seed_to_seed = false;
    let stay_s = Quantiles::new(vec![(0.0, 14.0), (1.0, 14.0)]).expect("sound");
    swarm(&mut plan).populations[1].departure = Departure::Session { stay_s };
    swarm(&mut plan).stop_after_completions = Some(2);
    let tables = run(&plan);
    let needed: f64 = numbers(&tables, "downloads", "duration_s").iter().sum();
    assert!((18.2 + 0.05..18.2 + 0.8).contains(&needed), "{needed}");
    let idle = spent(&tables, "idle_share", "needed_s")[0].unwrap_or_default();
    assert!((idle - (9.1 + 9.1)).abs() < 0.005, "{idle}");
}

/// At 5 s the timeline stops the swarm; a flow between the same hosts goes on until 20 s. What peers spent
/// ends when they leave.
#[test]
fn who_has_left_spends_no_more_time() {
    let mut plan = one_block(kilobytes(20), &[1]);
    plan.timeline = vec![Change { at_ns: Span::from_secs(5), what: What::Stop { workload: 0 } }];
    let (rate_bps, stop_ns) = (kilobytes(1), Some(Span::from_secs(20)));
    plan.workloads.push(Workload::Transfer(Transfer { rate_bps, stop_ns, ..transfer(0, 1) }));
    let tables = run(&plan);
    assert_eq!(numbers(&tables, "run", "end_s"), [20.0]);
    near(&column(&tables, "online_s"), &[Some(5.0), Some(4.0)]);
    near(&column(&tables, "downloading_s"), &[Some(0.0), Some(4.0)]);
    near(&spent(&tables, "alone_share", "downloading_s"), &[None, Some(0.2)]);
    near(&spent(&tables, "choked_share", "downloading_s"), &[None, Some(3.8)]);
    near(&column(&tables, "needed_s"), &[Some(4.0); 2]);
    near(&column(&tables, "idle_share"), &[Some(1.0), None]);
}

/// From 10.5 s to 10.9 s, in the middle of the block, the path loses everything. The last acknowledgement before is
/// with the seed at 10.54 s. What it has sent since is sent again after 0.3 s, in vain, and 0.6 s later. The leecher
/// has nothing to send then. What was counted stays when the leecher has left and its connection is gone.
#[test]
fn timeouts_are_those_of_the_population_that_waited() {
    for departure in [Departure::Never, Departure::AtOnce] {
        let mut plan = one_block(kilobytes(20), &[1]);
        for (at_ms, loss) in [(10_500, 1.0), (10_900, 0.0)] {
            let conditions = path(Span::from_millis(100), loss);
            let what = What::Core { core: 0, conditions };
            plan.timeline.push(Change { at_ns: Span::from_millis(at_ms), what });
        }
        swarm(&mut plan).populations[1].departure = departure;
        let (rate_bps, stop_ns) = (kilobytes(1), Some(Span::from_secs(100)));
        plan.workloads.push(Workload::Transfer(Transfer { rate_bps, stop_ns, ..transfer(1, 0) }));
        let tables = run(&plan);
        assert_eq!(numbers(&tables, "populations", "completed"), [0.0, 1.0]);
        assert_eq!(numbers(&tables, "populations", "timeouts"), [2.0, 0.0]);
    }
}

/// The first leecher has its block at 10.89 s, as above. The second comes at 12 s, and the round at 20 s
/// unchokes it.
#[test]
fn series_count_who_is_there_and_who_is_done() {
    let mut plan = one_block(kilobytes(20), &[1, 12]);
    let every_ns = Span::from_millis(500);
    plan.measures.series =
        [Sampled::Online, Sampled::Completed].map(|what| Series { what, every_ns }).to_vec();
    let tables = run(&plan);
    let what = texts(&tables, "series", "what");
    let rows = what.iter().zip(numbers(&tables, "series", "t_s"));
    for ((what, at), value) in rows.zip(numbers(&tables, "series", "value")) {
        let expected = match what.as_str() {
            // A peer is there from the instant on at which it comes.
            "online" => 1 + u32::from(at > 1.0) + u32::from(at > 12.0),
            _ => u32::from(at > 10.89),
        };
        if at != 1.0 && at != 12.0 {
            assert_eq!(value, f64::from(expected), "{what} at {at}");
        }
    }
    for kind in ["online", "completed"] {
        assert_eq!(what.iter().filter(|what| *what == kind).count(), 42, "{kind}");
    }
}

/// Two swarms on hosts of their own, in which 16 KiB and 64 KiB cross once.
#[test]
fn what_a_population_sends_is_counted_under_its_own_name() {
    let mut plan = one_block(kilobytes(20), &[1]);
    let hosts = plan.network.hosts.clone();
    plan.network.hosts.extend(hosts.into_iter().map(|host| Host { name: host.name + "b", ..host }));
    let mut second = plan.workloads[0].clone();
    let Workload::Swarm(other) = &mut second else { panic!("it is a swarm") };
    other.name = "other".to_owned();
    other.size_bytes = 65_536;
    for population in &mut other.populations {
        population.hosts.iter_mut().for_each(|host| *host += 2);
    }
    plan.workloads.push(second);
    plan.measures.payloads = true;
    let tables = run(&plan);
    let swarms = texts(&tables, "payloads", "swarm");
    let populations = texts(&tables, "payloads", "population");
    let bytes = numbers(&tables, "payloads", "bytes").into_iter();
    let each = bytes.zip(numbers(&tables, "payloads", "count")).map(|(bytes, n)| bytes * n);
    let mut sums = std::collections::BTreeMap::new();
    for (name, bytes) in swarms.into_iter().zip(populations).zip(each) {
        *sums.entry(name).or_insert(0.0) += bytes;
    }
    // Blocks, with a kilobyte of all else at most.
    for (swarm, file) in [("swarm", 16_384.0), ("other", 65_536.0)] {
        let seeds = sums[&(swarm.to_owned(), "seeds".to_owned())];
        assert!((file..file + 1000.0).contains(&seeds), "{swarm}: {seeds}");
        let leechers = sums[&(swarm.to_owned(), "leechers".to_owned())];
        assert!((1.0..1000.0).contains(&leechers), "{swarm}: {leechers}");
    }
}

/// The client writes one segment at a time, 11 gaps of 1380 B at 20 KiB/s: 67.4 ms each.
#[test]
fn gaps_and_round_trips_are_measured_one_without_the_other() {
    for (send_gaps, rtts) in [(true, false), (false, true), (false, false)] {
        let mut plan = one_block(kilobytes(20), &[1]);
        (plan.measures.send_gaps, plan.measures.rtts) = (send_gaps, rtts);
        let tables = run(&plan);
        let gaps = numbers(&tables, "send_gaps", "count");
        assert_eq!(gaps, if send_gaps { vec![11.0] } else { vec![] });
        assert_eq!(numbers(&tables, "send_gaps", "gap_ms"), vec![67.0; gaps.len()]);
        assert_eq!(table(&tables, "rtts").rows(), usize::from(rtts));
    }
}

#[test]
fn what_peers_sent_each_other_adds_up() {
    let plan = flash_crowd(20, 2 << 20, kilobytes(50), path(Span::from_millis(100), 0.0));
    let tables = run(&plan);
    let up = numbers(&tables, "populations", "uploaded_bytes");
    let down = numbers(&tables, "populations", "downloaded_bytes");
    for (column, sums) in [("uploaded_bytes", &up), ("downloaded_bytes", &down)] {
        let each: f64 = numbers(&tables, "downloads", column).iter().sum();
        assert_eq!(each, sums[1], "{column}");
    }
    // What is not wasted is the file, twenty times.
    let wasted = numbers(&tables, "populations", "wasted_bytes");
    assert_eq!(down[1] - wasted[1], 20.0 * f64::from(2 << 20));
    assert!(up[0] >= f64::from(2 << 20) && up[0] + up[1] >= down[1], "{up:?} {down:?}");
    let states = ["alone", "uninterested", "choked", "unchoked"];
    let shares = states.map(|state| column(&tables, &format!("{state}_share"))[1]);
    let sum: f64 = shares.iter().flatten().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{shares:?}");
}

#[test]
fn a_server_alone_takes_as_long_as_its_limit_says() {
    let mut plan = flash_crowd(6, 1 << 20, kilobytes(200), path(Span::from_millis(20), 0.0));
    swarm(&mut plan).populations[1].upload_bps = UploadLimit::Nothing;
    let tables = run(&plan);
    let up = numbers(&tables, "populations", "uploaded_bytes");
    assert_eq!(up[1], 0.0, "leechers uploaded");
    assert!(up[0] >= 6.0 * f64::from(1 << 20), "{up:?}");
    // 6 MiB in blocks with 13 bytes each at 200 KiB/s are 30.7 s; the first round is after 10 s, and
    // leechers have nothing of each other.
    let last = numbers(&tables, "run", "end_s")[0];
    let min = 6.0 * 1024.0 * (1.0 + 13.0 / 16_384.0) / 200.0;
    assert!((min..min + 14.0).contains(&last), "{last} and not {min}");
    // Its limit is what holds it up from then on.
    let limited = spent(&tables, "limited_share", "needed_s")[0].unwrap_or_default();
    assert!((min - 1.0..min + 1.0).contains(&limited), "{limited}");
}
