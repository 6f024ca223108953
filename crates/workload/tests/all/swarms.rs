use crate::{numbers, seconds};
use flashcrowd_base::{Quantiles, Rate, Span, Time};
use flashcrowd_plan::{
    Arrivals, Departure, Plan, Population, Sampled, Swarm, Tracker, WebSeed, Workload,
};
use flashcrowd_swarm::{Download, Role, TrackerRules, UploadLimit, profile};
use flashcrowd_workload::{Due, Held, Outcome, Peer, Progress, Sample, Swarms, Uplink, View};
use proptest::prelude::*;

const PIECE: u64 = 16_384;

fn population(name: &str, role: Role, hosts: &[u32]) -> Population {
    Population {
        name: name.to_owned(),
        role,
        hosts: hosts.to_vec(),
        profile: 0,
        transport: None,
        data: None,
        answers_utp: true,
        upload_bps: UploadLimit::Unlimited,
        upload_control: None,
        storage: None,
        arrivals: Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO },
        departure: Departure::Never,
        replace: false,
        program: None,
    }
}

/// A swarm of seven pieces and these populations; a run may wait 40 s for a block.
pub(crate) fn plan(populations: Vec<Population>) -> Plan {
    let swarm = Swarm {
        name: "crowd".to_owned(),
        size_bytes: 7 * PIECE - 1000,
        piece_bytes: PIECE as u32,
        block_bytes: PIECE as u32,
        tracker: Tracker {
            host: None,
            answer_delay_ns: Span::ZERO,
            rules: TrackerRules::MAINLINE,
            program: None,
        },
        populations,
        stop_after_completions: None,
        web_seeds: Vec::new(),
    };
    Plan {
        profiles: vec![profile::named("libtorrent").expect("the profile exists")],
        ..crate::plan(vec![Workload::Swarm(swarm)])
    }
}

/// A seed, and leechers on hosts 1 to 3 that come at 1, 3 and 120 s.
pub(crate) fn crowd() -> Vec<Population> {
    let at_ns = [1, 3, 120].map(Span::from_secs).to_vec();
    let leechers = population("leechers", Role::Leecher, &[1, 2, 3]);
    vec![
        population("seed", Role::Seed, &[0]),
        Population { arrivals: Arrivals::Times { at_ns }, ..leechers },
    ]
}

fn begun(plan: &Plan, view: View) -> (Swarms, Vec<(Time, Due)>) {
    let mut swarms = Swarms::new(plan, 1, view, |_| true);
    swarms.begin();
    let due = swarms.take_due().collect();
    (swarms, due)
}

fn down(bytes: u64) -> impl Fn(u32) -> Option<Progress> {
    move |number| {
        Some(Progress { down: if number == 1 { bytes } else { 0 }, ..Progress::default() })
    }
}

#[test]
fn a_gap_between_arrivals_is_no_stall_while_nobody_waits() {
    for view in [View::Inside, View::Outside] {
        let (mut swarms, due) = begun(&plan(crowd()), view);
        let arrivals: Vec<Time> = due.iter().map(|(at, _)| *at).collect();
        assert_eq!(arrivals, [0, 1, 3, 120].map(seconds));
        for peer in 0..3 {
            assert!(swarms.arrive(arrivals[peer as usize], peer));
        }
        let stall =
            |swarms: &mut Swarms, at, bytes| swarms.stall(seconds(at), 0, Some(0), down(bytes));
        assert_eq!(stall(&mut swarms, 4, 9), None);
        swarms.complete(seconds(5), 1);
        swarms.complete(seconds(6), 2);
        assert_eq!(stall(&mut swarms, 6, 10), None);
        assert_eq!(stall(&mut swarms, 119, 10), None, "nobody who is there waits");
        swarms.arrive(seconds(120), 3);
        assert_eq!(stall(&mut swarms, 159, 10), None);
        let words = "swarm crowd: no block arrived for 40 s, 2 of 3 leechers complete";
        assert_eq!(stall(&mut swarms, 160, 10).as_deref(), Some(words));
        assert!(!swarms.is_done(0));
        swarms.complete(seconds(161), 3);
        assert!(swarms.is_done(0));
        assert!(swarms.unfinished().is_empty());
    }
}

#[test]
fn a_lost_piece_ends_a_simulation_at_once_and_programs_when_nothing_is_in_flight() {
    let words = "swarm crowd: no seed left, 2 of 7 pieces missing, 0 of 3 leechers complete";
    let lost = |view| {
        let (mut swarms, _) = begun(&plan(crowd()), view);
        for peer in 0..3 {
            swarms.arrive(seconds(1), peer);
        }
        swarms.leave(seconds(2), 0, Progress::default());
        assert_eq!(swarms.unfinishable(0, 0), None);
        assert_eq!(swarms.unfinishable(0, 2).as_deref(), Some(words));
        swarms
    };
    let mut inside = lost(View::Inside);
    assert_eq!(inside.stall(seconds(2), 0, Some(2), down(0)).as_deref(), Some(words));
    let mut outside = lost(View::Outside);
    assert_eq!(outside.stall(seconds(2), 0, None, down(1)), None, "a program has not said");
    assert_eq!(outside.stall(seconds(10), 0, Some(2), down(1)), None);
    assert_eq!(outside.stall(seconds(12), 0, Some(2), down(2)), None, "a block came");
    assert_eq!(outside.stall(seconds(14), 0, Some(2), down(2)), None, "2 s ago");
    assert_eq!(outside.stall(seconds(15), 0, Some(2), down(2)).as_deref(), Some(words));
    // Those who are left may exchange what they have, but not for ever.
    let mut outside = lost(View::Outside);
    for second in 10..40 {
        assert_eq!(outside.stall(seconds(second), 0, Some(2), down(second)), None);
    }
    assert_eq!(outside.stall(seconds(40), 0, Some(2), down(40)).as_deref(), Some(words));
}

#[test]
fn a_piece_that_was_in_flight_begins_the_wait_again() {
    let (mut swarms, _) = begun(&plan(crowd()), View::Outside);
    swarms.arrive(seconds(0), 0);
    swarms.arrive(seconds(1), 1);
    swarms.leave(seconds(2), 0, Progress::default());
    for (at, missing) in [(10, 2), (12, 1), (14, 1)] {
        assert_eq!(swarms.stall(seconds(at), 0, Some(missing), down(0)), None);
    }
    assert!(swarms.stall(seconds(15), 0, Some(1), down(0)).is_some());
}

#[test]
fn a_seed_that_is_still_to_come_may_bring_what_is_missing() {
    let late = Arrivals::Times { at_ns: vec![Span::from_secs(500)] };
    let mut populations = crowd();
    populations[0].arrivals = late;
    let (mut swarms, _) = begun(&plan(populations), View::Inside);
    swarms.arrive(seconds(1), 1);
    assert_eq!(swarms.unfinishable(0, 7), None);
    swarms.arrive(seconds(500), 0);
    swarms.leave(seconds(501), 0, Progress::default());
    assert!(swarms.unfinishable(0, 7).is_some());
}

#[test]
fn a_peer_that_leaves_is_replaced_on_its_host_and_the_swarm_goes_on() {
    let mut populations = crowd();
    populations[1].replace = true;
    populations[1].departure = Departure::AtOnce;
    let (mut swarms, _) = begun(&plan(populations), View::Inside);
    swarms.arrive(seconds(0), 0);
    swarms.arrive(seconds(1), 1);
    swarms.complete(seconds(9), 1);
    assert_eq!(swarms.take_due().collect::<Vec<_>>(), [(seconds(9), Due::Departure(1))]);
    assert!(swarms.departs(1));
    let done = Progress { down: 7 * PIECE, pieces: 7, ..Progress::default() };
    swarms.leave(seconds(9), 1, done);
    assert_eq!(swarms.succeed(seconds(9), 1), Some(4));
    assert_eq!(swarms.take_due().collect::<Vec<_>>(), [(seconds(9), Due::Arrival(4))]);
    assert_eq!((swarms.peer(4).host, swarms.peer(4).role), (1, Role::Leecher));
    assert!(!swarms.departs(1), "it has left");
    assert!(!swarms.is_done(0));
    assert_eq!(swarms.swarm(0).leechers, 4);
}

#[test]
fn a_leecher_that_leaves_without_the_file_is_waited_for_no_more() {
    let (mut swarms, _) = begun(&plan(crowd()), View::Inside);
    for peer in 0..4 {
        swarms.arrive(seconds(1), peer);
    }
    swarms.complete(seconds(2), 1);
    swarms.complete(seconds(2), 2);
    swarms.leave(seconds(3), 3, Progress::default());
    assert!(swarms.peer(3).gave_up());
    assert!(!swarms.is_done(0), "what follows has not been asked for");
    assert_eq!(swarms.succeed(seconds(3), 3), None);
    assert!(swarms.is_done(0));
}

#[test]
fn a_peer_that_is_due_to_leave_before_it_came_leaves_when_it_comes() {
    let (mut swarms, _) = begun(&plan(crowd()), View::Outside);
    assert!(!swarms.departs(1), "its program is late");
    swarms.arrive(seconds(8), 1);
    assert_eq!(swarms.take_due().collect::<Vec<_>>(), [(seconds(8), Due::Departure(1))]);
}

#[test]
fn the_timeline_stops_a_swarm_for_good() {
    let (mut swarms, _) = begun(&plan(crowd()), View::Inside);
    for peer in 0..3 {
        swarms.arrive(seconds(1), peer);
    }
    swarms.complete(seconds(2), 1);
    assert_eq!(swarms.stop(0), [0, 1, 2]);
    assert!(!swarms.arrive(seconds(120), 3));
    assert!(swarms.is_done(0));
    let words = "the timeline stopped a swarm with 1 of 3 leechers complete";
    let outcome = Outcome::of_finished(swarms.stopped());
    assert_eq!(outcome.words(), ("stopped", words));
    // Nothing arrived, though it should have.
    let lines = swarms.undelivered(seconds(3), Some(&outcome), down(0));
    assert_eq!(lines, ["swarm crowd: no block arrived at 2 leechers"]);
    let cut = Outcome::Horizon(String::new());
    assert!(swarms.undelivered(seconds(3), Some(&cut), down(0)).is_empty(), "the cut says so");
    assert!(swarms.undelivered(seconds(3), Some(&outcome), down(1)).is_empty());
}

#[test]
fn seeds_that_may_not_upload_are_not_missed() {
    let mut populations = crowd();
    populations[0].upload_bps = UploadLimit::Nothing;
    let (mut swarms, _) = begun(&plan(populations), View::Inside);
    swarms.arrive(seconds(0), 0);
    swarms.arrive(seconds(1), 1);
    assert!(swarms.undelivered(seconds(9), None, down(0)).is_empty());
    let limit = UploadLimit::Rate(Rate::from_bps(8000).expect("a rate"));
    assert_eq!(swarms.set_upload(0, 0, limit), [0]);
    assert_eq!(swarms.undelivered(seconds(9), None, down(0)).len(), 1);
}

#[test]
fn the_account_of_a_peer_adds_up_to_its_time() {
    let plan = plan(crowd());
    let (mut swarms, _) = begun(&plan, View::Outside);
    swarms.arrive(seconds(0), 0);
    swarms.arrive(seconds(10), 1);
    let seen = |swarms: &Swarms, said: (u32, Option<u32>, Option<u32>)| {
        swarms.seen(1, said.0, said.1, said.2)
    };
    assert_eq!(seen(&swarms, (0, Some(0), Some(0))), Some(Download::Alone));
    assert_eq!(seen(&swarms, (1, Some(0), Some(1))), Some(Download::Uninterested));
    assert_eq!(seen(&swarms, (1, Some(1), Some(0))), Some(Download::Choked));
    assert_eq!(seen(&swarms, (1, None, Some(1))), None);
    swarms.stand(seconds(12), 1, Some(Download::Choked), false);
    swarms.stand(seconds(15), 1, Some(Download::Unchoked), false);
    swarms.complete(seconds(20), 1);
    swarms.stand(seconds(20), 1, seen(&swarms, (1, Some(1), Some(1))), false);
    let none = |_| None;
    let tables = swarms.tables(&plan, seconds(30), none, |_| 0);
    let populations = &tables[1];
    assert_eq!(numbers(populations, "online_s"), [30.0, 20.0]);
    assert_eq!(numbers(populations, "downloading_s"), [0.0, 10.0]);
    assert_eq!(numbers(populations, "needed_s"), [10.0, 10.0], "while a leecher lacked something");
    assert_eq!(numbers(populations, "alone_share"), [-1.0, 0.2]);
    assert_eq!(numbers(populations, "choked_share"), [-1.0, 0.3]);
    assert_eq!(numbers(populations, "unchoked_share"), [-1.0, 0.5]);
    assert_eq!(numbers(populations, "idle_share"), [-1.0, -1.0], "unseen from outside");
}

#[test]
fn a_seed_is_idle_or_limited_only_while_a_leecher_waits() {
    let plan = plan(crowd());
    let (mut swarms, _) = begun(&plan, View::Inside);
    swarms.arrive(seconds(0), 0);
    swarms.stand(seconds(0), 0, Some(Download::Complete), true);
    swarms.send(seconds(5), 0, Uplink::Busy);
    swarms.arrive(seconds(10), 1);
    swarms.stand(seconds(13), 0, Some(Download::Complete), false);
    swarms.send(seconds(14), 0, Uplink::Draining);
    assert_eq!(swarms.uplink(0), Uplink::Draining);
    swarms.send(seconds(16), 0, Uplink::Idle);
    swarms.complete(seconds(20), 1);
    swarms.stand(seconds(25), 0, Some(Download::Complete), true);
    let tables = swarms.tables(&plan, seconds(30), |_| None, |_| 0);
    let seed = |name| numbers(&tables[1], name)[0];
    assert_eq!(["needed_s", "idle_share", "limited_share"].map(seed), [10.0, 0.4, 0.3]);
    assert_eq!(numbers(&tables[1], "idle_share")[1], -1.0, "of seeds alone");
}

#[test]
fn what_arrives_while_a_client_closes_counts() {
    let (mut swarms, _) = begun(&plan(crowd()), View::Outside);
    swarms.arrive(seconds(0), 1);
    swarms.leave(seconds(5), 1, Progress { down: 100, ..Progress::default() });
    swarms.close(1, Progress { down: 150, ..Progress::default() });
    assert_eq!(swarms.bytes(0, |_| None), 150);
    swarms.close(1, Progress { down: 150, ..Progress::default() });
    assert_eq!(swarms.bytes(0, |_| None), 150);
}

#[test]
fn a_node_plays_the_peers_of_its_hosts() {
    let plan = plan(crowd());
    let mut swarms = Swarms::new(&plan, 1, View::Outside, |host| host == 2);
    swarms.begin();
    assert_eq!(swarms.take_due().collect::<Vec<_>>(), [(seconds(3), Due::Arrival(2))]);
    let standing = swarms.standing(0, None, |_| None);
    assert_eq!((standing.leechers, standing.sources), (1, 0));
}

/// What may happen to a swarm.
#[derive(Clone, Debug)]
enum Step {
    Arrive(u32),
    Complete(u32),
    Depart(u32),
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..8u32).prop_map(Step::Arrive),
        6 => (0..8u32).prop_map(Step::Complete),
        4 => (0..8u32).prop_map(Step::Depart),
        1 => Just(Step::Stop),
    ]
}

/// What the client of a peer that is online has done: each second it gets on.
fn done(swarms: &Swarms, number: u32, now: Time) -> Option<Progress> {
    let peer = swarms.peer(number);
    let online = now.since(peer.arrived?).nanos() / 1_000_000_000;
    peer.is_online().then(|| Progress {
        down: if peer.is_leecher() { online * u64::from(number) } else { 0 },
        wasted: Some(online / 2),
        up: online * 3,
        pieces: online.min(7) as u32,
    })
}

/// A step, where it is possible.
fn play(swarms: &mut Swarms, step: &Step, now: Time) {
    match *step {
        Step::Arrive(peer) | Step::Complete(peer) | Step::Depart(peer)
            if swarms.peers().get(peer as usize).is_none_or(|peer| !peer.played) => {}
        Step::Arrive(peer) if swarms.peer(peer).arrived.is_none() => {
            let stopped = swarms.swarm(0).stopped;
            assert_eq!(swarms.arrive(now, peer), !stopped);
        }
        Step::Complete(peer) if swarms.peer(peer).is_waiting() => {
            swarms.complete(now, peer);
            swarms.stand(now, peer, Some(Download::Complete), false);
        }
        Step::Depart(peer) if swarms.departs(peer) => {
            let last = done(swarms, peer, now).unwrap_or_default();
            swarms.leave(now, peer, last);
            swarms.succeed(now, peer);
        }
        Step::Stop => {
            for peer in swarms.stop(0) {
                let last = done(swarms, peer, now).unwrap_or_default();
                swarms.leave(now, peer, last);
            }
        }
        Step::Arrive(_) | Step::Complete(_) | Step::Depart(_) => {}
    }
}

/// Columns of the table `populations` that add up.
const SUMS: [&str; 8] = [
    "peers",
    "completed",
    "uploaded_bytes",
    "downloaded_bytes",
    "wasted_bytes",
    "online_s",
    "downloading_s",
    "needed_s",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn counts_are_those_of_the_peers(steps in prop::collection::vec(step(), 1..60), replace: bool) {
        let mut populations = crowd();
        populations[1].replace = replace;
        let plan = plan(populations);
        let (mut swarms, _) = begun(&plan, View::Inside);
        let mut needed = 0;
        for (at, step) in (0..).zip(steps) {
            let now = seconds(at);
            play(&mut swarms, &step, now);
            let leechers = || swarms.peers().iter().filter(|peer| peer.is_leecher());
            let swarm = swarms.swarm(0);
            prop_assert_eq!(swarm.leechers as usize, leechers().count());
            let complete = leechers().filter(|peer| peer.completed.is_some()).count();
            prop_assert_eq!(swarm.completed as usize, complete);
            let online = swarms.peers().iter().filter(|peer| peer.is_online()).count();
            prop_assert_eq!(swarm.online as usize, online);
            // A swarm without replacements is done exactly when the last expected peer is.
            let over = |peer: &&Peer| peer.completed.is_some() || peer.left.is_some();
            let all = leechers().filter(over).count() == leechers().count();
            prop_assert_eq!(swarms.is_done(0), swarm.stopped || (!replace && all));
            // The row of the leechers is the sum of their downloads.
            let of = |number| done(&swarms, number, now);
            let tables = swarms.tables(&plan, now, of, |_| 0);
            let sums = SUMS.map(|name| numbers(&tables[1], name)[1]);
            let column = |name| numbers(&tables[0], name);
            let sum = |name| column(name).iter().sum::<f64>();
            let [arrived, completed, left] = ["arrived_s", "completed_s", "left_s"].map(column);
            let span = |row: usize, ends: &[f64]| {
                let end = ends.iter().copied().filter(|end| *end >= 0.0).fold(now.seconds(), f64::min);
                end - arrived[row]
            };
            let rows = 0..arrived.len();
            prop_assert_eq!(sums[0], arrived.len() as f64);
            prop_assert_eq!(sums[1], completed.iter().filter(|at| **at >= 0.0).count() as f64);
            prop_assert_eq!(sums[2..4].to_vec(), [sum("uploaded_bytes"), sum("downloaded_bytes")]);
            let wasted = rows.clone().map(|row| (span(row, &[left[row]]) / 2.0).floor()).sum::<f64>();
            let online = rows.clone().map(|row| span(row, &[left[row]])).sum::<f64>();
            let waited = rows.map(|row| span(row, &[left[row], completed[row]])).sum::<f64>();
            prop_assert_eq!(sums[4..7].to_vec(), [wasted, online, waited]);
            prop_assert_eq!(swarms.bytes(0, of) as f64, sums[3]);
            // In the second before the next step each is needed that is there, if any waits.
            prop_assert_eq!(sums[7], needed as f64);
            if leechers().any(Peer::is_waiting) {
                needed += leechers().filter(|peer| peer.is_online()).count();
            }
        }
    }

    /// Nodes that each play some peers of a swarm know together what one knows that plays them all.
    #[test]
    fn parts_of_a_swarm_add_up(steps in prop::collection::vec(step(), 1..60)) {
        let plan = plan(crowd());
        let part = |node| Swarms::new(&plan, 1, View::Inside, move |host| node == 2 || host % 2 == node);
        let mut parts = [0, 1, 2].map(part);
        let last = seconds(steps.len() as u64);
        for (at, step) in (0..).zip(steps) {
            let now = seconds(at);
            parts.iter_mut().for_each(|part| play(part, &step, now));
            let [one, other, whole] =
                parts.each_ref().map(|part| part.standing(0, None, |peer| done(part, peer, now)));
            prop_assert_eq!(one.and(other), whole);
            parts[0].wanted_elsewhere(now, 0, other.waits);
            parts[1].wanted_elsewhere(now, 0, one.waits);
        }
        let tables = parts.each_ref().map(|part| part.tables(&plan, last, |peer| done(part, peer, last), |_| 0));
        for name in SUMS {
            let [one, other, whole] = tables.each_ref().map(|tables| numbers(&tables[1], name));
            let sum: Vec<f64> = one.iter().zip(other).map(|(one, other)| one + other).collect();
            prop_assert_eq!(sum, whole, "{}", name);
        }
    }

    /// A piece is missing if none of two processes knows an owner; unless a process does not know.
    #[test]
    fn what_two_processes_know_of_pieces(one in held(), other in held()) {
        let both = one.clone().and(other.clone());
        prop_assert_eq!(&both, &other.clone().and(one.clone()));
        let missing = match (&one, &other) {
            (Held::All, _) | (_, Held::All) => Some(0),
            (Held::Unknown, _) | (_, Held::Unknown) => None,
            (Held::Bits(one), Held::Bits(other)) => {
                let has = |bits: &Vec<u8>, piece: usize| bits.get(piece / 8).is_some_and(|byte| byte << (piece % 8) & 128 > 0);
                Some((0..24).filter(|piece| !has(one, *piece) && !has(other, *piece)).count() as u32)
            }
        };
        prop_assert_eq!(both.missing(24), missing);
    }
}

fn held() -> impl Strategy<Value = Held> {
    prop_oneof![
        1 => Just(Held::All),
        1 => Just(Held::Unknown),
        6 => prop::collection::vec(any::<u8>(), 0..=3).prop_map(Held::Bits),
    ]
}

/// The crowd, whose leechers use two web seeds of the origin 5 and one of the origin 6.
fn with_web_seeds() -> Plan {
    let mut plan = plan(crowd());
    plan.profiles[0].web_seeds.connections = 1;
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    swarm.web_seeds = [5, 6, 5].map(|origin| WebSeed { origin, file: 0 }).to_vec();
    plan
}

#[test]
fn a_web_seed_brings_what_is_missing_until_its_origin_stops() {
    let (mut swarms, _) = begun(&with_web_seeds(), View::Inside);
    swarms.arrive(seconds(0), 0);
    swarms.arrive(seconds(0), 1);
    swarms.leave(seconds(1), 0, Progress::default());
    swarms.set_upload(0, 0, UploadLimit::Nothing);
    for (origin, left) in [(7, 3), (5, 1), (5, 1), (6, 0)] {
        assert_eq!(swarms.unfinishable(0, 7), None);
        assert_eq!(swarms.undelivered(seconds(9), None, down(0)).len(), 1);
        swarms.lose_origin(origin);
        assert_eq!(swarms.standing(0, None, |_| None).sources, left, "without {origin}");
    }
    assert!(swarms.unfinishable(0, 7).is_some());
}

#[test]
fn a_complete_program_wasted_what_it_had_beyond_the_file_unless_it_says() {
    let plan = plan(crowd());
    let size = 7 * PIECE - 1000;
    let wasted = |view, completes, wasted| {
        let (mut swarms, _) = begun(&plan, view);
        swarms.arrive(seconds(1), 1);
        if completes {
            swarms.complete(seconds(2), 1);
        }
        let down = size + 30;
        let of = |_| Some(Progress { down, wasted, ..Progress::default() });
        numbers(&swarms.tables(&plan, seconds(3), of, |_| 0)[1], "wasted_bytes")[1]
    };
    assert_eq!(wasted(View::Outside, true, None), 30.0);
    assert_eq!(wasted(View::Outside, true, Some(7)), 7.0);
    assert_eq!(wasted(View::Outside, false, None), 0.0);
    assert_eq!(wasted(View::Inside, true, None), 0.0);
}

#[test]
fn series_of_swarms_have_a_value_for_each_swarm_or_each_peer_with_a_limit() {
    let one = plan(crowd());
    let [first] = &one.workloads[..] else { panic!("it is one") };
    let workloads = vec![first.clone(), first.clone()];
    let two = Plan { workloads, ..one.clone() };
    let (mut swarms, _) = begun(&two, View::Inside);
    for peer in [0, 1, 2, 5] {
        swarms.arrive(seconds(1), peer);
    }
    swarms.complete(seconds(2), 1);
    swarms.leave(seconds(3), 2, Progress { down: 4, ..Progress::default() });
    let limit = |peer| match peer {
        0 => UploadLimit::Nothing,
        1 => UploadLimit::Unlimited,
        _ => UploadLimit::Rate(Rate::from_bps(8000).expect("a rate")),
    };
    let sampled = |what| swarms.sample(what, down(9), limit);
    let levels = |levels: [f64; 2]| [(0, Sample::Level(levels[0])), (1, Sample::Level(levels[1]))];
    assert_eq!(sampled(Sampled::Online), levels([2.0, 1.0]));
    assert_eq!(sampled(Sampled::Completed), levels([1.0, 0.0]));
    assert_eq!(sampled(Sampled::SwarmRate), [(0, Sample::Bytes(13)), (1, Sample::Bytes(0))]);
    let limits = [(0, Sample::Level(0.0)), (5, Sample::Level(8000.0))];
    assert_eq!(sampled(Sampled::UploadLimit), limits, "of peers that are online");
    assert_eq!(sampled(Sampled::Rtt), []);
    let name = |what, source| swarms.source_name(&two, what, source);
    for what in [Sampled::Online, Sampled::Completed, Sampled::SwarmRate] {
        assert_eq!(name(what, 1).as_deref(), Some("crowd"));
    }
    assert_eq!(name(Sampled::UploadLimit, 5).as_deref(), Some("host-1 crowd"));
    assert_eq!(name(Sampled::Rtt, 1), None);
    let alone = begun(&one, View::Inside).0.source_name(&one, Sampled::UploadLimit, 1);
    assert_eq!(alone.as_deref(), Some("host-1"), "no other swarm");
}

#[test]
fn progress_is_that_of_the_swarm_that_is_furthest_behind() {
    let plan = plan(crowd());
    let [first] = &plan.workloads[..] else { panic!("it is one") };
    let workloads = vec![first.clone(), first.clone()];
    let (mut swarms, _) = begun(&Plan { workloads, ..plan }, View::Inside);
    // The first leecher of each has as many files.
    for peer in [1, 5] {
        swarms.arrive(seconds(1), peer);
    }
    let size = 7 * PIECE - 1000;
    let of = |files: [u64; 2]| {
        move |peer| match peer {
            1 => Some(Progress { down: files[0] * size, ..Progress::default() }),
            _ => Some(Progress { down: files[1] * size, ..Progress::default() }),
        }
    };
    assert_eq!(swarms.progress(of([0, 3])), 0.0);
    assert_eq!(swarms.progress(of([2, 1])), 1.0 / 3.0, "of three leechers");
    assert_eq!(swarms.progress(of([3, 6])), 1.0);
    assert_eq!(swarms.progress_of(1, of([3, 6])), 2.0, "all came twice");
}

#[test]
fn departures_are_planned_when_a_peer_has_the_file_or_comes_for_a_session() {
    let [mean_ns, stay_ns] = [10, 60].map(Span::from_secs);
    let stay_s = Quantiles::new(vec![(0.0, 5.0), (1.0, 15.0)]).expect("it rises");
    // The mean stay of seeds after they come, and of leechers after they come and after they have the file.
    let stays = [
        (Departure::AtOnce, [Some(0.0), None, Some(0.0)]),
        (Departure::After { mean_ns }, [Some(10.0), None, Some(10.0)]),
        (Departure::AfterExactly { stay_ns }, [Some(60.0), None, Some(60.0)]),
        (Departure::AfterShare { share: 0.5 }, [Some(0.0), None, Some(10.0)]),
        (Departure::Session { stay_s }, [Some(10.0), Some(10.0), None]),
        (Departure::Never, [None; 3]),
        (Departure::AllDone, [None; 3]),
    ];
    for (departure, stays) in stays {
        let of = |role| Population {
            departure: departure.clone(),
            ..population("peers", role, &[1; 1000])
        };
        let (mut swarms, _) = begun(&plan(vec![of(Role::Seed), of(Role::Leecher)]), View::Inside);
        for (step, stay) in stays.into_iter().enumerate() {
            let (peers, now) = [(0..1000, 0), (1000..2000, 0), (1000..2000, 20)][step].clone();
            for peer in peers {
                if step < 2 {
                    assert!(swarms.arrive(seconds(now), peer));
                } else {
                    swarms.complete(seconds(now), peer);
                }
            }
            let due: Vec<Time> = swarms.take_due().map(|(at, _)| at).collect();
            assert_eq!(due.len(), if stay.is_some() { 1000 } else { 0 }, "{departure:?}");
            let sum: f64 = due.into_iter().map(|at| (at - seconds(now)).seconds()).sum();
            let (found, mean) = (sum / 1000.0, stay.unwrap_or(0.0));
            assert!((found - mean).abs() <= mean / 8.0, "{departure:?}: {found} s");
        }
    }
}

#[test]
fn a_peer_that_stays_for_a_given_time_leaves_to_the_nanosecond() {
    let mut populations = crowd();
    populations[1].departure = Departure::AfterExactly { stay_ns: Span::from_secs(60) };
    let (mut swarms, _) = begun(&plan(populations), View::Inside);
    for (number, at) in [(1, 1), (2, 3)] {
        assert!(swarms.arrive(seconds(at), number));
    }
    for (number, at) in [(2, 10), (1, 25)] {
        swarms.complete(seconds(at), number);
        let due: Vec<(Time, Due)> = swarms.take_due().collect();
        assert_eq!(due, [(seconds(at + 60), Due::Departure(number))]);
    }
}
