//! Whole runs: what a plan says must be what the tables show.

use crate::common::*;
use flashcrowd_base::{Probability, Quantiles, Rate, Span};
use flashcrowd_link::{Conditions, Jitter, JitterShape, Loss, LossModel, Queue, Side};
use flashcrowd_plan::Plan;
use flashcrowd_plan::*;
use flashcrowd_sim::{Error, RunHandle, Table, simulate};
use flashcrowd_transport::utp;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}
fn outcome(tables: &[Table]) -> (String, String) {
    (texts(tables, "run", "outcome")[0].clone(), texts(tables, "run", "reason")[0].clone())
}
fn small_crowd() -> Plan {
    flash_crowd(20, 2 << 20, kilobytes(50), path(Span::from_millis(100), 0.0))
}
fn population(plan: &mut Plan, index: usize) -> &mut Population {
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    &mut swarm.populations[index]
}

#[test]
fn a_flash_crowd_gets_its_file() {
    let tables = run(&small_crowd(), 1);
    assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()));
    let durations = numbers(&tables, "downloads", "duration_s");
    assert_eq!(durations.len(), 20);
    // 2 MiB at 50 KB/s take 41 s; a crowd of 20 cannot be faster than its one seed, nor should
    // it take more than three times as long.
    let mean = mean(&durations);
    assert!((41.0..123.0).contains(&mean), "{mean}");
    for pieces in numbers(&tables, "downloads", "pieces") {
        assert_eq!(pieces, 8.0);
    }
    // What peers sent each other is what they received: nothing appears from nowhere.
    let down: f64 = numbers(&tables, "downloads", "downloaded_bytes").iter().sum();
    let up: f64 = numbers(&tables, "downloads", "uploaded_bytes").iter().sum();
    assert!(down >= 20.0 * f64::from(2 << 20) && up <= down, "{up} up, {down} down");
}

#[test]
fn packets_are_conserved() {
    let mut lossy = small_crowd();
    lossy.network.cores[0].conditions = path(Span::from_millis(100), 0.05);
    for plan in [small_crowd(), lossy, star(10, 3, 20)] {
        let tables = run(&plan, 3);
        let one = |column| numbers(&tables, "run", column)[0];
        let settled = one("packets_delivered") + one("packets_lost") + one("packets_dropped");
        let travelling = one("packets_sent") - settled;
        // What is still on its way when a run ends: queues and wires, not more.
        assert!((0.0..20_000.0).contains(&travelling), "{travelling}");
    }
}

#[test]
fn equal_seeds_give_equal_tables_and_others_do_not() {
    let mut plan = small_crowd();
    plan.network.cores[0].conditions.jitter =
        Some(Jitter { shape: JitterShape::Normal, spread_ns: Span::from_millis(5), reorder: true });
    plan.measures = Measures {
        series: vec![Series { what: Sampled::SwarmRate, every_ns: Span::from_secs(1) }],
        pieces_ns: Some(Span::from_secs(5)),
        queues_ns: Some(Span::from_secs(1)),
        send_gaps: true,
        payloads: true,
        rtts: true,
        unchokes: true,
        packets_ns: None,
        have: true,
        windows: vec![],
        capture: Some(Capture {
            hosts: vec![0, 2],
            from_ns: Span::from_secs(1),
            to_ns: None,
            snap_bytes: Some(160),
        }),
        connections: Some(LoggedConnections {
            workloads: vec![0],
            hosts: Some(vec![1]),
            from_ns: Span::ZERO,
            to_ns: None,
            packets: true,
            metrics: true,
            timers: true,
        }),
    };
    let first = run(&plan, 7);
    assert_eq!(first, run(&plan, 7));
    let elsewhere = std::thread::spawn(move || (run(&plan, 7), run(&plan, 8)));
    let (same, other) = elsewhere.join().expect("the thread ran");
    assert_eq!(first, same);
    assert_ne!(first, other);
    for name in [
        "series",
        "pieces",
        "send_gaps",
        "payloads",
        "rtts",
        "unchokes",
        "have",
        "captures",
        "connection_events",
    ] {
        assert!(table(&first, name).rows() > 0, "{name} is empty");
    }
}

#[test]
fn every_piece_of_every_leecher_is_recorded_once_and_the_last_completes_the_download() {
    let mut plan = small_crowd();
    plan.measures.have = true;
    let tables = run(&plan, 3);
    let column = |table: &str, name: &str| numbers(&tables, table, name);
    let [peers, pieces, times] = ["peer", "piece", "t_s"].map(|name| column("have", name));
    let (who, counts) = (column("downloads", "peer"), column("downloads", "pieces"));
    for (row, completed) in column("downloads", "completed_s").into_iter().enumerate() {
        let mine = (0..peers.len()).filter(|&have| peers[have] == who[row]);
        let (mut found, mut last) = (Vec::new(), 0.0);
        for have in mine {
            assert!(times[have] >= last, "in the order of time");
            last = times[have];
            found.push(pieces[have]);
        }
        found.sort_by(f64::total_cmp);
        let all: Vec<f64> = (0..counts[row] as u32).map(f64::from).collect();
        assert_eq!(found, all, "peer {}", who[row]);
        assert_eq!(last, completed);
    }
    assert_eq!(pieces.len(), 8 * who.len());
}

#[test]
fn a_swarm_without_its_seed_is_reported_not_waited_for() {
    let mut plan = small_crowd();
    // The seed leaves after a few seconds, with pieces that no other peer has.
    population(&mut plan, 0).departure = Departure::After { mean_ns: Span::from_secs(5) };
    let (outcome, reason) = outcome(&run(&plan, 1));
    assert_eq!(outcome, "stalled");
    assert!(reason.contains("no seed left") && reason.contains("of 8 pieces missing"), "{reason}");
}

#[test]
fn a_swarm_in_which_nothing_moves_is_stalled() {
    let mut plan = small_crowd();
    plan.stop.stall_ns = Span::from_secs(60);
    let all = LossModel::Bernoulli { probability: Probability::new(1.0).unwrap() };
    plan.network.cores[0].conditions.loss = Some(Loss { side: Side::Receiver, model: all });
    let tables = run(&plan, 1);
    let (outcome, reason) = outcome(&tables);
    assert_eq!(outcome, "stalled");
    assert!(reason.contains("no block arrived for"), "{reason}");
    assert!(numbers(&tables, "run", "end_s")[0] < 100.0);
}

#[test]
fn the_horizon_cuts_and_says_what_was_unfinished() {
    let mut plan = small_crowd();
    plan.stop.horizon_ns = Span::from_secs(30);
    let (outcome, reason) = outcome(&run(&plan, 1));
    assert_eq!(
        (outcome.as_str(), reason.as_str()),
        ("horizon", "swarm swarm: 0 of 20 leechers complete")
    );
}

#[test]
fn peers_that_leave_are_replaced() {
    let mut plan = small_crowd();
    let leechers = population(&mut plan, 1);
    leechers.departure = Departure::AtOnce;
    leechers.replace = true;
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    swarm.stop_after_completions = Some(30);
    let tables = run(&plan, 1);
    assert_eq!(outcome(&tables).0, "completed");
    assert_eq!(numbers(&tables, "downloads", "completed_s").len(), 30);
    assert!(numbers(&tables, "downloads", "left_s").len() >= 29);
    assert!(table(&tables, "downloads").rows() >= 49);
}

#[test]
fn arrivals_come_when_the_plan_says() {
    let mut plan = small_crowd();
    let times: Vec<Span> = (0..20).map(|i| Span::from_secs(3 * i)).collect();
    population(&mut plan, 1).arrivals = Arrivals::Times { at_ns: times.clone() };
    let arrived = numbers(&run(&plan, 1), "downloads", "arrived_s");
    assert_eq!(arrived, times.iter().map(|time| time.seconds()).collect::<Vec<_>>());
    population(&mut plan, 1).arrivals =
        Arrivals::Poisson { start_ns: Span::ZERO, gap_ns: Span::from_secs(10) };
    let arrived = numbers(&run(&plan, 1), "downloads", "arrived_s");
    let last = arrived.iter().copied().fold(0.0, f64::max);
    assert!((80.0..400.0).contains(&last), "20 gaps of 10 s ended at {last}");
}

#[test]
fn a_constant_rate_is_a_poisson_process_and_a_rate_of_none_brings_nobody() {
    let mut plan = small_crowd();
    population(&mut plan, 1).arrivals =
        Arrivals::Poisson { start_ns: Span::ZERO, gap_ns: Span::from_secs(10) };
    let by_gap = numbers(&run(&plan, 1), "downloads", "arrived_s");
    let step = |at, per_s| RateStep { at_ns: Span::from_secs(at), per_s };
    population(&mut plan, 1).arrivals =
        Arrivals::Rates { steps: vec![step(0, 0.1)], period_ns: None };
    let by_rate = numbers(&run(&plan, 1), "downloads", "arrived_s");
    assert_eq!(by_gap.len(), by_rate.len());
    assert!(by_gap.iter().zip(&by_rate).all(|(gap, rate)| (gap - rate).abs() < 1e-6));

    // One in ten seconds, but for nine tenths of each minute.
    let steps = vec![step(0, 1.0), step(6, 0.0)];
    population(&mut plan, 1).arrivals =
        Arrivals::Rates { steps, period_ns: Some(Span::from_secs(60)) };
    let arrived = numbers(&run(&plan, 1), "downloads", "arrived_s");
    assert_eq!(arrived.len(), 20);
    assert!(arrived.iter().all(|at| at % 60.0 <= 6.0), "{arrived:?}");
    assert!(arrived.iter().any(|at| *at > 60.0), "more than six come in twenty");
}

#[test]
fn counts_of_arrivals_in_each_hour_match_the_rates() {
    // A day of which the busiest hour sees eight times the peers of the quietest.
    let per_hour = |hour: u32| if hour < 12 { 20.0 + 10.0 * f64::from(hour) } else { 60.0 };
    let hours = 24;
    let steps: Vec<RateStep> = (0..hours)
        .map(|hour| RateStep {
            at_ns: Span::from_secs(u64::from(hour) * 3600),
            per_s: per_hour(hour) / 3600.0,
        })
        .collect();
    // More than come in a day, so that the day is not cut short by their number.
    let leechers = (0..hours).map(|hour| per_hour(hour) as u32).sum::<u32>() + 300;
    let mut plan = flash_crowd(leechers, 1, None, path(Span::from_millis(1), 0.0));
    plan.stop.horizon_ns = Span::from_secs(10 * 86_400);
    population(&mut plan, 1).arrivals = Arrivals::Rates { steps, period_ns: None };
    population(&mut plan, 1).departure = Departure::AtOnce;
    let arrived = numbers(&run(&plan, 1), "downloads", "arrived_s");
    let mut squares = 0.0;
    for hour in 0..hours {
        let within = |at: &&f64| (**at / 3600.0) as u32 == hour;
        let (found, mean) = (arrived.iter().filter(within).count() as f64, per_hour(hour));
        squares += (found - mean) * (found - mean) / mean;
    }
    // Chi-squared with 24 degrees of freedom: 51.2 is exceeded once in a thousand.
    assert!(squares < 51.2, "{squares}");
}

#[test]
fn a_session_ends_whether_the_file_is_there_or_not() {
    let mut plan = small_crowd();
    let hosts = population(&mut plan, 1).hosts.len();
    let secs = Span::from_secs;
    let at_ns = vec![secs(1); hosts];
    let mut leave_ns = vec![None; hosts];
    leave_ns[0] = Some(secs(12));
    population(&mut plan, 1).arrivals = Arrivals::Sessions { at_ns, leave_ns };
    let tables = run(&plan, 1);
    assert_eq!(outcome(&tables).0, "completed");
    let table = table(&tables, "downloads");
    assert_eq!(table.rows(), hosts);
    assert_eq!(numbers(&tables, "downloads", "left_s")[0], 12.0);
    assert_eq!(numbers(&tables, "downloads", "completed_s").len(), hosts - 1);
    let first = numbers(&tables, "downloads", "pieces")[0];
    assert!(first < 8.0, "it had {first} of 8 pieces when it left");
}

#[test]
fn a_run_is_over_when_all_have_the_file_or_have_left_without_it() {
    let mut plan = small_crowd();
    let hosts = population(&mut plan, 1).hosts.len();
    let at_ns = vec![Span::from_secs(1); hosts];
    // The seed unchokes no peer before its first round, after ten seconds.
    for (seconds, ends) in [(9, "undelivered"), (15, "completed")] {
        let leave_ns = vec![Some(Span::from_secs(seconds)); hosts];
        population(&mut plan, 1).arrivals = Arrivals::Sessions { at_ns: at_ns.clone(), leave_ns };
        let tables = run(&plan, 1);
        assert_eq!(outcome(&tables).0, ends);
        assert_eq!(numbers(&tables, "run", "end_s"), [seconds as f64]);
        assert!(numbers(&tables, "downloads", "completed_s").is_empty());
    }
}

#[test]
fn sessions_are_as_long_as_their_distribution_says() {
    let mut plan = small_crowd();
    let stay_s = Quantiles::new(vec![(0.0, 2.0), (1.0, 6.0)]).unwrap();
    population(&mut plan, 1).departure = Departure::Session { stay_s };
    let tables = run(&plan, 1);
    let arrived = numbers(&tables, "downloads", "arrived_s");
    let left = numbers(&tables, "downloads", "left_s");
    let stays: Vec<f64> = arrived.iter().zip(&left).map(|(at, left)| left - at).collect();
    assert_eq!(stays.len(), 20);
    assert!(stays.iter().all(|stay| (2.0..=6.0).contains(stay)), "{stays:?}");
    let mean = stays.iter().sum::<f64>() / 20.0;
    assert!((3.2..4.8).contains(&mean), "twenty of a mean of 4 s: {mean}");
}

/// Two hosts on either side of one queue.
fn bottleneck(bps: u64, packets: u32, rtt: Span) -> Plan {
    let mut plan = plan(2, "linux-6", path(rtt, 0.0));
    let conditions = Conditions {
        rate_bps: Rate::from_bps(bps),
        queue: Queue::packets(packets),
        ..Conditions::default()
    };
    plan.network.links.push(Link {
        name: "bottleneck".to_owned(),
        conditions,
        trace: None,
        delay: None,
    });
    plan.network.hosts[0].up.push(0);
    plan.stop.horizon_ns = Span::from_secs(60);
    plan
}

#[test]
fn a_transfer_fills_its_bottleneck_and_a_ping_feels_it() {
    let mut plan = bottleneck(10_000_000, 100, Span::from_millis(20));
    plan.workloads.push(Workload::Transfer(transfer(0, 1)));
    plan.workloads.push(Workload::Ping(Ping {
        name: "bystander".to_owned(),
        from: 0,
        to: 1,
        size_bytes: 84,
        interval_ns: Span::from_millis(500),
        start_ns: Span::ZERO,
        stop_ns: None,
    }));
    let tables = run(&plan, 1);
    assert_eq!(outcome(&tables).0, "completed");
    let goodput = numbers(&tables, "transfers", "goodput_bps")[0];
    // 1448 of 1500 bytes are payload: 9.65 Mbit/s at best.
    assert!((9.2e6..9.66e6).contains(&goodput), "{goodput}");
    let rtts = numbers(&tables, "pings", "rtt_s");
    let worst = rtts.iter().copied().fold(0.0, f64::max);
    // 100 packets of 1.2 ms: 120 ms of queue on top of 20 ms.
    assert!(rtts[0] < 0.021 && (0.1..0.142).contains(&worst), "{} {worst}", rtts[0]);
    assert!(numbers(&tables, "links", "max_queue_packets")[0] <= 100.0);
}

#[test]
fn the_timeline_changes_a_link_in_place() {
    let mut plan = bottleneck(10_000_000, 100, Span::from_millis(20));
    plan.workloads.push(Workload::Transfer(transfer(0, 1)));
    let mut slow = plan.network.links[0].conditions.clone();
    slow.rate_bps = Rate::from_bps(1_000_000);
    let what = What::Link { link: 0, conditions: slow, trace: None };
    plan.timeline.push(Change { at_ns: Span::from_secs(30), what });
    plan.measures.series = vec![Series { what: Sampled::Goodput, every_ns: Span::from_secs(5) }];
    let tables = run(&plan, 1);
    let goodput = numbers(&tables, "series", "value");
    assert!((9.0e6..9.7e6).contains(&goodput[5]), "{}", goodput[5]);
    // Single samples swing: what waits behind a hole is delivered at once when it is filled, at most a
    // queue of 100 packets, 58 kbit/s of 20 s.
    let slow = mean(&goodput[8..]);
    assert!((0.9e6..1.02e6).contains(&slow), "{slow}: {goodput:?}");
    let one = |column| numbers(&tables, "run", column)[0];
    let settled = one("packets_delivered") + one("packets_lost") + one("packets_dropped");
    assert!(one("packets_sent") - settled <= 110.0, "the change lost or doubled packets");
}

#[test]
fn a_finite_transfer_ends_and_a_limited_one_keeps_its_rate() {
    let mut plan = bottleneck(10_000_000, 100, Span::from_millis(20));
    let finite = Transfer { size_bytes: Some(1_000_000), ..transfer(0, 1) };
    let limited = Transfer {
        name: "limited".to_owned(),
        rate_bps: Rate::from_bps(400_000),
        stop_ns: Some(Span::from_secs(20)),
        ..transfer(1, 0)
    };
    plan.workloads = vec![Workload::Transfer(finite), Workload::Transfer(limited)];
    let tables = run(&plan, 1);
    assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()));
    assert_eq!(numbers(&tables, "transfers", "bytes")[0], 1_000_000.0);
    let goodput = numbers(&tables, "transfers", "goodput_bps")[1];
    assert!((goodput / 400_000.0 - 1.0).abs() < 0.02, "{goodput}");
    assert!((numbers(&tables, "run", "end_s")[0] - 20.0).abs() < 0.001);
}

#[test]
fn a_trace_has_every_packet_that_a_transfer_sent() {
    let mut plan = bottleneck(1_000_000, 10, Span::from_millis(40));
    let bytes = 500_000;
    plan.workloads =
        vec![Workload::Transfer(Transfer { size_bytes: Some(bytes), ..transfer(0, 1) })];
    plan.measures.packets_ns = Some(Span::from_secs(600));
    let tables = run(&plan, 1);
    let payload = numbers(&tables, "packets", "payload_bytes");
    let again = numbers(&tables, "packets", "retransmission");
    let first = payload.iter().zip(&again).filter(|(_, again)| **again == 0.0);
    assert_eq!(first.map(|(payload, _)| *payload as u64).sum::<u64>(), bytes);
    let retransmits = numbers(&tables, "transfers", "retransmits")[0];
    assert!(retransmits > 0.0, "the queue of 10 packets overflows");
    assert_eq!(again.iter().sum::<f64>(), retransmits);
    let sizes = numbers(&tables, "packets", "ip_bytes");
    assert_eq!(sizes.iter().copied().fold(0.0, f64::max), 1500.0);

    plan.measures.packets_ns = Some(Span::from_secs(1));
    let sent = numbers(&run(&plan, 1), "packets", "t_s");
    assert!(sent.len() < payload.len() && sent.iter().all(|at| *at < 1.0));
}

#[test]
fn pairs_draw_their_paths_and_keep_them() {
    let mut plan = plan(30, "linux-6", Conditions::default());
    let rtt = Quantiles::new(vec![(0.0, 0.02), (0.5, 0.1), (1.0, 0.9)]);
    plan.network.cores[0].draw = Some(Draw { rtt_s: rtt, loss: None });
    for to in 1..30 {
        plan.workloads.push(Workload::Ping(Ping {
            name: format!("to-{to}"),
            from: 0,
            to,
            size_bytes: 84,
            interval_ns: Span::from_secs(1),
            start_ns: Span::ZERO,
            stop_ns: None,
        }));
    }
    plan.stop.horizon_ns = Span::from_millis(3_900);
    let rtts = numbers(&run(&plan, 1), "pings", "rtt_s");
    // Three answers or more for each, all alike, and the pairs differ.
    let pairs: Vec<_> = rtts.chunk_by(|a, b| a == b).collect();
    assert_eq!(pairs.len(), 29);
    let median = {
        let mut r: Vec<f64> = pairs.iter().map(|p| p[0]).collect();
        r.sort_by(f64::total_cmp);
        r[14]
    };
    assert!((0.05..0.3).contains(&median), "{median}");
}

#[test]
fn a_run_can_be_cancelled() {
    let control = RunHandle::default();
    control.cancel();
    assert_eq!(simulate(&small_crowd(), 1, &control), Err(Error::Cancelled));
}

#[test]
fn impossible_plans_are_refused_with_their_place() {
    let refused = |spoil: &dyn Fn(&mut Plan)| {
        let mut plan = small_crowd();
        spoil(&mut plan);
        simulate(&plan, 1, &RunHandle::default()).expect_err("refused").to_string()
    };
    assert_eq!(
        refused(&|plan| plan.network.hosts[3].stack = 9),
        "plan: network.hosts[3].stack: 9 does not exist: there are 1"
    );
    assert_eq!(
        refused(&|plan| plan.network.cores[0].conditions.rate_bps = Rate::from_bps(1)),
        "plan: network.cores[0].conditions: a pair's own piece of path has no rate: use a link"
    );
    assert!(refused(&|plan| plan.format = 2).contains("must be 1"));
    assert!(refused(&|plan| population(plan, 1).profile = 4).contains("populations[1].profile"));
    assert!(refused(&|plan| plan.stop.horizon_ns = Span::ZERO).contains("stop.horizon_ns"));
}

#[test]
fn a_plan_survives_being_saved() {
    let mut plan = star(5, 2, 10);
    plan.timeline.push(Change { at_ns: Span::from_secs(1), what: What::Stop { workload: 0 } });
    let text = serde_json::to_string(&plan).expect("it can be written");
    let read: Plan = serde_json::from_str(&text).expect("it can be read");
    assert_eq!(serde_json::to_string(&read).expect("and written again"), text);
    assert_eq!(run(&plan, 1), run(&read, 1));
}

#[test]
fn modern_clients_without_any_delay_let_time_pass() {
    // Interest that follows requests and a choker that follows interest once went round in circles.
    for seed in 0..4 {
        let mut plan = flash_crowd(20, 1 << 20, kilobytes(20), path(Span::ZERO, 0.0));
        plan.profiles = vec![flashcrowd_swarm::profile::named("modern").expect("it exists")];
        assert_eq!(outcome(&run(&plan, seed)).0, "completed");
    }
}

#[test]
fn the_slots_of_modern_clients_that_leave_do_not_wait_for_the_round() {
    use flashcrowd_swarm::profile::{FreeSlot, named};
    let last = |free_slot| {
        let mut plan = flash_crowd(40, 1 << 19, None, path(Span::from_millis(40), 0.0));
        let mut modern = named("modern").expect("it exists");
        modern.choker.free_slot = free_slot;
        plan.profiles = vec![modern];
        let leechers = population(&mut plan, 1);
        leechers.departure = Departure::AtOnce;
        leechers.arrivals =
            Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::from_millis(100) };
        let tables = run(&plan, 1);
        assert_eq!(outcome(&tables).0, "completed");
        numbers(&tables, "downloads", "duration_s").into_iter().fold(0.0, f64::max)
    };
    let (round, tick) = (last(FreeSlot::Round), last(FreeSlot::Tick));
    assert!(round > 4.0 * tick && tick < 15.0, "{round} {tick}");
    println!("last of 40: {round} s, {tick} s");
}

#[test]
fn delays_are_drawn_anew_for_each_run_and_stay_when_their_link_changes() {
    let mut plan = star(3, 0, 4);
    for (index, link) in plan.network.links.iter_mut().enumerate() {
        let (least_ns, most_ns) = (Span::from_millis(1), Span::from_millis(25));
        link.delay = Some(DrawnDelay { number: index as u32 / 2, least_ns, most_ns });
    }
    for to in [1, 2] {
        plan.workloads.push(Workload::Ping(Ping {
            name: format!("to-{to}"),
            from: 0,
            to,
            size_bytes: 84,
            interval_ns: Span::from_secs(1),
            start_ns: Span::ZERO,
            stop_ns: None,
        }));
    }
    let faster = Conditions {
        rate_bps: Rate::from_bps(10_000_000_000),
        ..plan.network.links[0].conditions.clone()
    };
    for link in 0..6 {
        let what = What::Link { link, conditions: faster.clone(), trace: None };
        plan.timeline.push(Change { at_ns: Span::from_millis(500), what });
    }
    // Two access lines twice: 4 to 100 ms, without what the first packets wait.
    let mut seen = Vec::new();
    for seed in 0..20 {
        let rtts = numbers(&run(&plan, seed), "pings", "rtt_s");
        assert!(rtts.iter().all(|rtt| (0.004..0.103).contains(rtt)), "{rtts:?}");
        assert!((rtts[0] - rtts[1]).abs() < 0.003, "the draw stays: {rtts:?}");
        seen.push(rtts[1]);
    }
    let spread =
        seen.iter().copied().fold(0.0, f64::max) - seen.iter().copied().fold(1.0, f64::min);
    assert!(spread > 0.03, "{seen:?}");
}

#[test]
fn queues_are_counted_by_group_and_way() {
    let mut plan = star(3, 0, 100_000);
    let shared = plan.network.links[0].conditions.clone();
    plan.network.links.push(Link {
        name: "shared".to_owned(),
        conditions: shared,
        trace: None,
        delay: None,
    });
    plan.network.cores[0].links.push(6);
    let mut crowd = flash_crowd(2, 1 << 20, None, Conditions::default());
    plan.workloads.append(&mut crowd.workloads);
    plan.measures.queues_ns = Some(Span::from_millis(100));
    let tables = run(&plan, 1);
    let ways = texts(&tables, "queues", "way");
    let owners = texts(&tables, "queues", "owner");
    let (count, online) =
        (numbers(&tables, "queues", "count"), numbers(&tables, "queues", "online"));
    let samples = (numbers(&tables, "run", "end_s")[0] * 10.0).floor() + 1.0;
    let sum = |values: &[f64], way: &str| -> f64 {
        values.iter().zip(&ways).filter(|(_, w)| *w == way).map(|(n, _)| *n).sum()
    };
    assert_eq!(sum(&count, "up"), 3.0 * samples);
    assert_eq!(sum(&count, "down"), 3.0 * samples);
    assert_eq!(sum(&count, ""), samples);
    // Every host runs a peer, two of them from some instant of the first ten seconds on.
    assert!((2.0 * samples..3.0 * samples).contains(&sum(&online, "down")));
    assert_eq!(sum(&online, ""), 0.0);
    let of_shared = owners.iter().zip(&ways).filter(|(owner, _)| *owner == "shared");
    assert!(of_shared.clone().count() > 0 && of_shared.clone().all(|(_, way)| way.is_empty()));
    let longest = numbers(&tables, "queues", "packets").into_iter().fold(0.0, f64::max);
    assert!((2.0..=200.0).contains(&longest), "{longest}");
}

/// Gives a plan a uTP configuration that ships, and says how to name it.
fn utp(plan: &mut Plan, name: &str) -> TransportChoice {
    plan.utps.push(utp::profiles::named(name).expect("the configuration exists"));
    TransportChoice::Utp(plan.utps.len() as u32 - 1)
}

#[test]
fn a_transfer_over_utp_fills_its_bottleneck_and_holds_its_delay() {
    for name in ["libutp", "rfc6817", "libtorrent"] {
        let mut plan = bottleneck(10_000_000, 1000, Span::from_millis(50));
        let carrier = utp(&mut plan, name);
        let flow = Transfer {
            size_bytes: None,
            transport: Some(carrier),
            stop_ns: Some(Span::from_secs(60)),
            ..transfer(0, 1)
        };
        plan.workloads = vec![Workload::Transfer(flow)];
        plan.measures.series =
            vec![Series { what: Sampled::QueueDelay, every_ns: Span::from_secs(1) }];
        plan.measures.packets_ns = Some(Span::from_secs(10));
        let tables = run(&plan, 1);
        let goodput = numbers(&tables, "transfers", "goodput_bps")[0];
        assert!((8.5e6..9.8e6).contains(&goodput), "{name}: {goodput}");
        // All of them aim at 100 ms. Both directions are sampled; the way back waits for nothing.
        let queue: Vec<f64> = numbers(&tables, "series", "value");
        let late = queue[queue.len() / 2..].iter().copied().filter(|wait| *wait > 0.01);
        let mean = mean(&late.collect::<Vec<f64>>());
        assert!((0.07..0.11).contains(&mean), "{name}: {mean}");
        assert_eq!(numbers(&tables, "run", "packets_dropped"), [0.0], "{name}");
        let sent = numbers(&tables, "packets", "payload_bytes").len();
        assert!(sent > 3000, "{name}: {sent}");
    }
}

#[test]
fn a_swarm_over_utp_gets_its_file_and_its_packets_are_conserved() {
    let mut plan = flash_crowd(10, 1 << 20, kilobytes(50), path(Span::from_millis(100), 0.02));
    let carrier = utp(&mut plan, "libutp");
    for index in 0..2 {
        population(&mut plan, index).transport = Some(carrier);
    }
    let tables = run(&plan, 3);
    assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()));
    assert_eq!(tables, run(&plan, 3));
    let count = |name| numbers(&tables, "run", name)[0];
    assert!(count("packets_lost") > 0.0 && count("retransmitted_packets") > 0.0);
    let arrived = count("packets_delivered") + count("packets_lost") + count("packets_dropped");
    assert!(arrived <= count("packets_sent") && count("packets_sent") - arrived < 200.0);
}

/// A SYN of libtorrent's uTP is sent once: where it or its answer is lost, the connection goes over TCP.
#[test]
fn who_is_not_reached_over_utp_is_connected_to_over_tcp() {
    let opened = |falls_back: bool| {
        let mut plan = flash_crowd(20, 1 << 20, kilobytes(50), path(Span::from_millis(100), 0.05));
        let carrier = utp(&mut plan, "libtorrent");
        plan.profiles = vec![flashcrowd_swarm::profile::named("libtorrent").expect("it exists")];
        plan.profiles[0].connections.tcp_fallback = falls_back;
        for index in 0..2 {
            population(&mut plan, index).transport = Some(carrier);
        }
        let logged = LoggedConnections {
            workloads: vec![0],
            hosts: None,
            from_ns: Span::ZERO,
            to_ns: None,
            packets: false,
            metrics: false,
            timers: false,
        };
        plan.measures.connections = Some(logged);
        let tables = run(&plan, 3);
        assert_eq!(outcome(&tables), ("completed".to_owned(), String::new()));
        let ends = texts(&tables, "connections", "transport");
        let over = |name: &str| ends.iter().filter(|it| *it == name).count() as f64 / 2.0;
        (over("utp"), over("tcp"))
    };
    assert_eq!(opened(false).1, 0.0);
    let (utp, tcp) = opened(true);
    // 210 pairs, of which a tenth is expected (1 - 0.95^2).
    assert!(utp >= 210.0 && (8.0..40.0).contains(&tcp), "{utp} over uTP, {tcp} over TCP");
}

/// Nothing answers a SYN over uTP at a client without it: after three seconds libtorrent tries TCP. A seed comes last,
/// so that every connection with it is one that it opens.
#[test]
fn a_client_without_utp_is_connected_to_over_tcp() {
    let opened = |answers_utp: bool, falls_back: bool| {
        let mut plan = flash_crowd(5, 1 << 20, kilobytes(50), path(Span::from_millis(100), 0.0));
        let carrier = utp(&mut plan, "libtorrent");
        plan.profiles = vec![flashcrowd_swarm::profile::named("libtorrent").expect("it exists")];
        plan.profiles[0].connections.tcp_fallback = falls_back;
        plan.profiles[0].connections.reconnect_ns = None;
        plan.profiles[0].peer_exchange.enabled = false;
        let seed = population(&mut plan, 0);
        seed.transport = Some(carrier);
        seed.arrivals = Arrivals::Times { at_ns: vec![Span::from_secs(20)] };
        population(&mut plan, 1).answers_utp = answers_utp;
        plan.measures.connections = Some(LoggedConnections {
            workloads: vec![0],
            hosts: Some(vec![0]),
            from_ns: Span::ZERO,
            to_ns: None,
            packets: false,
            metrics: false,
            timers: false,
        });
        plan.stop.horizon_ns = Span::from_secs(300);
        let tables = run(&plan, 3);
        assert_eq!(tables, run(&plan, 3));
        let over = texts(&tables, "connections", "transport");
        let at = numbers(&tables, "connections", "opened_s");
        let ends: Vec<(String, f64)> = over.into_iter().zip(at).collect();
        let times = |name: &str| -> Vec<f64> {
            ends.iter().filter(|end| end.0 == name).map(|end| end.1).collect()
        };
        (outcome(&tables).0, times("utp"), times("tcp"))
    };
    let (outcome, utp, tcp) = opened(true, true);
    assert_eq!((outcome.as_str(), utp.len(), tcp.len()), ("completed", 5, 0));
    let (outcome, utp, tcp) = opened(false, true);
    assert_eq!((outcome.as_str(), utp.len(), tcp.len()), ("completed", 5, 5));
    for (first, second) in utp.iter().zip(&tcp) {
        assert!((3.0..4.1).contains(&(second - first)), "{first} {second}");
    }
    let (outcome, utp, tcp) = opened(false, false);
    assert!(outcome != "completed" && utp.len() == 5 && tcp.is_empty(), "{outcome} {tcp:?}");
}

#[test]
fn a_tracker_goes_by_its_own_rules_whatever_clients_ask_first() {
    // A tracker that names no peers leaves all alone, and one that does brings all together; the
    // clients of seed and leechers differ, and either population may be first.
    let exchanged = |swapped: bool, default_peers| {
        let mut plan = small_crowd();
        plan.profiles.push(flashcrowd_swarm::profile::named("ns2-2011").expect("it exists"));
        let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
        swarm.tracker.rules.default_peers = default_peers;
        swarm.populations[1].profile = 1;
        if swapped {
            swarm.populations.swap(0, 1);
        }
        plan.stop.horizon_ns = Span::from_secs(1000);
        let tables = run(&plan, 1);
        (numbers(&tables, "run", "packets_sent")[0] > 0.0, outcome(&tables).0)
    };
    for swapped in [false, true] {
        assert_eq!(exchanged(swapped, 50), (true, "completed".to_owned()));
        assert_eq!(exchanged(swapped, 0), (false, "horizon".to_owned()));
    }
}
