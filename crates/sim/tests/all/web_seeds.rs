//! Web seeds (BEP 19): swarms that also fetch from a content server, which knows nothing of swarms.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_origin::disk::{HardDisk, Medium};
use flashcrowd_plan::{
    Arrivals, Capture, Change, Clients, Departure, Origin, Plan, Sampled, Series, WebSeed, What,
    Workload,
};
use flashcrowd_sim::{Column, RunHandle, Table, simulate};
use flashcrowd_swarm::UploadLimit;
use flashcrowd_swarm::profile::{self, WebSeedOrder};
use proptest::prelude::*;

const SIZE: u64 = 3_000_000;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}

/// A swarm of `leechers` leechers with this client, a seed at host 0 on a line of 2 Mbit/s, and a web seed on one
/// of 20 Mbit/s at the last host; leechers send 5 Mbit/s.
fn crowd(leechers: u32, client: &str, loss: f64) -> Plan {
    let mut plan = flash_crowd(leechers, SIZE, None, path(Span::from_millis(20), loss));
    let server = plan.network.hosts.len() as u32;
    let mut host = plan.network.hosts[0].clone();
    host.name = "server".to_owned();
    plan.network.hosts.push(host);
    for index in 0..=server {
        let bps = match index {
            0 => 2_000_000,
            _ if index == server => 20_000_000,
            _ => 5_000_000,
        };
        let conditions = Conditions {
            rate_bps: Rate::from_bps(bps),
            queue: Queue::packets(100),
            ..Conditions::default()
        };
        line_up(&mut plan, index as usize, &format!("up {index}"), conditions);
    }
    plan.profiles = vec![profile::named(client).expect("the profile exists")];
    swarm(&mut plan).web_seeds = vec![WebSeed { origin: 1, file: 0 }];
    let mut origin = origin_of_extents("relevance", Medium::HardDisk(HardDisk::default()));
    (origin.host, origin.files.size_bytes) = (server, SIZE);
    plan.workloads.push(Workload::Origin(origin));
    plan.stop.horizon_ns = Span::from_secs(7200);
    plan
}

fn origin(plan: &mut Plan) -> &mut Origin {
    match &mut plan.workloads[1] {
        Workload::Origin(origin) => origin,
        other => panic!("{other:?} is no origin"),
    }
}
fn sum(tables: &[Table], table: &str, column: &str) -> u64 {
    numbers(tables, table, column).iter().sum::<f64>() as u64
}
fn last_s(tables: &[Table]) -> f64 {
    numbers(tables, "downloads", "completed_s").into_iter().fold(0.0, f64::max)
}

#[test]
fn one_leecher_gets_the_file_over_its_line_from_the_server_alone() {
    let mut plan = crowd(1, "libtorrent", 0.0);
    swarm(&mut plan).populations.remove(0);
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    let [took] = numbers(&tables, "downloads", "duration_s")[..] else { panic!("one download") };
    // 20 Mbit/s with 52 B of headers for 1448 B, and the round trips until the line is full.
    let line = SIZE as f64 / 1448.0 * 1500.0 * 8.0 / 20e6;
    assert!((line..line + 0.3).contains(&took), "{took} on a line that takes {line}");
    assert_eq!(sum(&tables, "web_seeds", "web_bytes"), SIZE);
    assert_eq!(sum(&tables, "web_seeds", "requests"), 1);
    assert_eq!(sum(&tables, "web_seeds", "connections"), 1);
    assert_eq!(sum(&tables, "origin_files", "sent_bytes"), SIZE);
    assert_eq!(sum(&tables, "origins", "read_bytes"), SIZE);
    assert_eq!(sum(&tables, "downloads", "pieces"), SIZE.div_ceil(262_144));
}

#[test]
fn requests_that_end_within_a_block_of_the_server_are_answered_one_behind_the_other() {
    let mut plan = crowd(1, "libtorrent", 0.0);
    swarm(&mut plan).populations.remove(0);
    swarm(&mut plan).piece_bytes = 100_000;
    plan.profiles[0].web_seeds.request_bytes = 1;
    let tables = run(&plan, 1);
    let [took] = numbers(&tables, "downloads", "duration_s")[..] else { panic!("one download") };
    let line = SIZE as f64 / 1448.0 * 1500.0 * 8.0 / 20e6;
    assert!((line..line + 0.3).contains(&took), "{took} on a line that takes {line}");
    assert_eq!(sum(&tables, "web_seeds", "requests"), 30);
    assert_eq!(sum(&tables, "web_seeds", "failures"), 0);
}

#[test]
fn a_web_seed_beside_a_slow_seed_spares_time_and_the_crowd_spares_the_server() {
    let mut without = crowd(20, "libtorrent", 0.0);
    swarm(&mut without).web_seeds.clear();
    origin(&mut without).populations = vec![nobody()];
    let (alone, with) = (run(&without, 1), run(&crowd(20, "libtorrent", 0.0), 1));
    assert!(last_s(&with) < last_s(&alone), "{} {}", last_s(&with), last_s(&alone));
    let sent = sum(&with, "origin_files", "sent_bytes");
    assert!((SIZE..20 * SIZE).contains(&sent), "{sent}");
    assert_eq!(sum(&alone, "origin_files", "sent_bytes"), 0);
    assert!(numbers(&alone, "web_seeds", "web_bytes").is_empty());
}

fn nobody() -> Clients {
    let arrivals = Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
    Clients { name: "nobody".to_owned(), hosts: Vec::new(), in_order: true, arrivals }
}

#[test]
fn a_client_that_knows_no_web_seeds_does_without() {
    let tables = run(&crowd(5, "mainline-4.0.2", 0.0), 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    assert!(numbers(&tables, "web_seeds", "web_bytes").is_empty());
    assert_eq!(sum(&tables, "origin_files", "sent_bytes"), 0);
}

#[test]
fn a_server_that_the_timeline_stops_is_missed_and_asked_in_vain() {
    let mut plan = crowd(4, "modern", 0.0);
    plan.timeline.push(Change { at_ns: Span::from_millis(500), what: What::Stop { workload: 1 } });
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"], "the seed is there");
    assert!(sum(&tables, "web_seeds", "failures") > 0);
    assert!(sum(&tables, "web_seeds", "web_bytes") < 4 * SIZE);
    swarm(&mut plan).populations.remove(0);
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["stalled"]);
}

#[test]
fn a_server_serves_its_own_clients_and_a_swarm() {
    let mut plan = crowd(6, "modern", 0.0);
    origin(&mut plan).populations = vec![Clients { hosts: vec![0], ..nobody() }];
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    let got = numbers(&tables, "downloads", "downloaded_bytes");
    assert_eq!(got.last(), Some(&(SIZE as f64)), "its own client");
    let web = sum(&tables, "web_seeds", "web_bytes");
    assert!(sum(&tables, "origin_files", "sent_bytes") >= web + SIZE);
}

#[test]
fn a_capture_shows_requests_for_ranges() {
    let mut plan = crowd(1, "libtorrent", 0.0);
    let server = origin(&mut plan).host;
    let all = Capture { hosts: vec![server], from_ns: Span::ZERO, to_ns: None, snap_bytes: None };
    plan.measures.capture = Some(all);
    let tables = run(&plan, 1);
    let Some(Column::Bytes(bytes, _)) = table(&tables, "captures").column("packet") else {
        panic!("it has packets")
    };
    let text = String::from_utf8_lossy(bytes);
    assert!(
        text.contains("GET /origin/0 HTTP/1.1\r\nHost: server\r\nRange: bytes=0-"),
        "a request"
    );
}

/// A peer of a swarm is a client of the server that it asks, and of no other.
#[test]
fn series_count_those_who_come_from_a_swarm() {
    let mut plan = crowd(1, "libtorrent", 0.0);
    swarm(&mut plan).populations.remove(0);
    // A disk that is slower than the line, so that the client waits for it.
    let server = origin(&mut plan);
    let rate_bps = Rate::at_least_one(8_000_000);
    server.disk = Medium::HardDisk(HardDisk { rate_bps, ..HardDisk::default() });
    let other = Origin { name: "other".to_owned(), populations: vec![nobody()], ..server.clone() };
    plan.workloads.push(Workload::Origin(other));
    let every_ns = Span::from_millis(500);
    let kinds = [Sampled::DiskWaiting, Sampled::OriginClients];
    plan.measures.series = kinds.map(|what| Series { what, every_ns }).to_vec();
    let arrivals = &mut swarm(&mut plan).populations[0].arrivals;
    *arrivals = Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
    let tables = run(&plan, 1);
    let (what, source) = (texts(&tables, "series", "what"), texts(&tables, "series", "source"));
    let value = numbers(&tables, "series", "value");
    let of = |kind: &str, name: &str| -> Vec<f64> {
        let mine = (0..value.len()).filter(|&row| what[row] == kind && source[row] == name);
        mine.map(|row| value[row]).collect()
    };
    // 3 MB at 1 MB/s.
    for kind in ["disk-waiting", "origin-clients"] {
        assert_eq!(of(kind, "origin")[1..5], [1.0; 4], "{kind}");
        assert!(of(kind, "other").iter().all(|value| *value == 0.0), "{kind}");
    }
}

/// The first leecher has the file after 1.3 s and stays; the second comes after 20 s. A client that has everything
/// resets the connection on which it asked.
#[test]
fn who_has_the_file_leaves_the_web_seed() {
    let mut plan = crowd(2, "libtorrent", 0.0);
    swarm(&mut plan).populations.remove(0);
    let leechers = &mut swarm(&mut plan).populations[0];
    leechers.arrivals = Arrivals::Times { at_ns: [0, 20].map(Span::from_secs).to_vec() };
    leechers.departure = Departure::Never;
    let server = origin(&mut plan).host;
    let to_ns = Some(Span::from_secs(19));
    let all = Capture { hosts: vec![server], from_ns: Span::ZERO, to_ns, snap_bytes: None };
    plan.measures.capture = Some(all);
    let tables = run(&plan, 1);
    let packets = captured_packets(&tables);
    let (last_sent, last) = packets.last().expect("packets");
    // The flags of TCP are at 13 of its header; RST is 4.
    let flags = last[usize::from(last[0] & 15) * 4 + 13];
    assert_eq!((*last_sent, flags & 4), (false, 4));
}

#[test]
fn plans_that_name_no_fitting_origin_are_refused() {
    let refused = |change: fn(&mut Plan)| {
        let mut plan = crowd(2, "modern", 0.0);
        change(&mut plan);
        plan.check().expect_err("it is refused").to_string()
    };
    let message = refused(|plan| origin(plan).files.size_bytes += 1);
    assert!(message.contains("web_seeds[0].origin") && message.contains("as long"), "{message}");
    let message = refused(|plan| swarm(plan).web_seeds[0].origin = 0);
    assert!(message.contains("must be the index of an origin"), "{message}");
    let message = refused(|plan| swarm(plan).web_seeds[0].origin = 2);
    assert!(message.contains("web_seeds[0].origin"), "{message}");
    let message = refused(|plan| swarm(plan).web_seeds[0].file = 1);
    assert!(message.contains("web_seeds[0].file"), "{message}");
    let message = refused(|plan| origin(plan).host = 1);
    assert!(message.contains("no leecher"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever client, rules, loss and crowd: each leecher ends with the content; what reached them came from peers
    /// or from the server, byte for byte, and the server sent no less than that; the same seed gives the same
    /// tables.
    #[test]
    fn everybody_gets_the_content_and_every_byte_has_its_source(
        client in prop::sample::select(vec!["modern", "libtorrent"]),
        gaps in any::<bool>(),
        leave_gaps in any::<bool>(),
        request_bytes in prop::sample::select(vec![1, 600_000, 16 << 20]),
        block_bytes in prop::sample::select(vec![1 << 14, 1 << 16]),
        piece_bytes in prop::sample::select(vec![100_000, 262_144]),
        leechers in 1u32..8,
        seed_uploads in any::<bool>(),
        loss in prop::sample::select(vec![0.0, 0.001, 0.03]),
        seed in 0u64..1000,
    ) {
        let mut plan = crowd(leechers, client, loss);
        let rules = &mut plan.profiles[0].web_seeds;
        rules.order = if gaps { WebSeedOrder::Gaps } else { WebSeedOrder::Rarest };
        (rules.leave_gaps, rules.request_bytes) = (leave_gaps, request_bytes);
        origin(&mut plan).settings.block_bytes = block_bytes;
        swarm(&mut plan).piece_bytes = piece_bytes;
        if !seed_uploads {
            swarm(&mut plan).populations[0].upload_bps = UploadLimit::Nothing;
        }
        let tables = run(&plan, seed);
        prop_assert_eq!(&texts(&tables, "run", "outcome")[0], "completed");
        let pieces = SIZE.div_ceil(u64::from(piece_bytes)) * u64::from(leechers);
        prop_assert_eq!(sum(&tables, "downloads", "pieces"), pieces);
        let down = sum(&tables, "downloads", "downloaded_bytes");
        let wasted = sum(&tables, "populations", "wasted_bytes");
        prop_assert_eq!(down - wasted, u64::from(leechers) * SIZE);
        let web = sum(&tables, "web_seeds", "web_bytes");
        let up = sum(&tables, "populations", "uploaded_bytes");
        prop_assert!(down - web <= up, "{} of {}", down - web, up);
        prop_assert!(web <= sum(&tables, "origin_files", "sent_bytes"));
        if !seed_uploads {
            prop_assert!(web >= SIZE, "one copy has no other source");
        }
        prop_assert_eq!(&tables, &run(&plan, seed));
    }
}
