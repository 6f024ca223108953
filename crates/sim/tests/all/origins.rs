//! Content servers: times are what lines and disks say, each client gets every byte once, and the disk reads one
//! thing after the other.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::Conditions;
use flashcrowd_origin::Scheduling;
use flashcrowd_origin::disk::{HardDisk, Medium, NetworkVolume, Ssd};
use flashcrowd_plan::{
    Arrivals, Change, Clients, Files, Measures, Origin, Plan, Sampled, Series, What, Window,
    Windowed, Workload,
};
use flashcrowd_sim::{Column, RunHandle, Table, simulate};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}

/// A disk without waits.
fn fast() -> Medium {
    let rate_bps = Rate::at_least_one(80_000_000_000);
    Medium::Ssd(Ssd { latency_ns: Span::from_micros(1), rate_bps, ..Ssd::default() })
}

/// One file of 4 MiB at host 0, and a client in order at each of the other hosts, whose lines have these rates.
fn server(lines: &[u64], policy: &str, disk: Medium) -> Plan {
    content_server(path(Span::from_millis(20), 0.0), lines, policy, disk)
}

fn origin(plan: &mut Plan) -> &mut Origin {
    match plan.workloads.last_mut() {
        Some(Workload::Origin(origin)) => origin,
        other => panic!("{other:?} is no origin"),
    }
}

fn one(tables: &[Table], column: &str) -> f64 {
    numbers(tables, "origins", column)[0]
}

fn durations(tables: &[Table]) -> Vec<f64> {
    numbers(tables, "downloads", "duration_s")
}

#[test]
fn a_download_takes_what_the_line_says() {
    // 4 MiB in segments of 1448 B with 52 B of headers: 10 Mbit/s carry them in 3.476 s, after two round trips of 20 ms;
    // the window needs five more to fill the line.
    let plan = server(&[10_000_000], "in-order", fast());
    let tables = run(&plan, 1);
    let line = (4 * MIB) as f64 / 1448.0 * 1500.0 * 8.0 / 10e6;
    let [took] = durations(&tables)[..] else { panic!("one download") };
    assert!((line + 0.04..line + 0.14).contains(&took), "{took} on a line that takes {line}");
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    assert_eq!(numbers(&tables, "downloads", "downloaded_bytes"), [(4 * MIB) as f64]);
    assert_eq!(numbers(&tables, "downloads", "pieces"), [64.0]);
    assert_eq!(numbers(&tables, "run", "payload_bytes_delivered"), [(4 * MIB) as f64]);
}

#[test]
fn a_download_takes_what_the_disk_says() {
    // 1 MB/s, one read behind the other: the arm never leaves its way, and a line of 1 Gbit/s waits for it. The last
    // extent of 256 KiB still has to be sent.
    let disk = HardDisk { rate_bps: Rate::at_least_one(8_000_000), ..HardDisk::default() };
    let plan = server(&[1_000_000_000], "in-order", Medium::HardDisk(disk));
    let tables = run(&plan, 1);
    let disk = (4 * MIB) as f64 / 1e6;
    let [took] = durations(&tables)[..] else { panic!("one download") };
    assert!((disk + 0.04..disk + 0.08).contains(&took), "{took} from a disk that takes {disk}");
    assert_eq!(one(&tables, "seeks"), 0.0);
    assert_eq!(one(&tables, "reads"), 16.0);
    assert!((one(&tables, "disk_busy_s") - disk).abs() < 1e-6);
    assert_eq!(one(&tables, "miss_ratio"), 1.0);
}

#[test]
fn a_request_to_a_network_volume_has_its_price() {
    let volume = NetworkVolume { price: 0.5, ..NetworkVolume::default() };
    let tables = run(&server(&[10_000_000], "relevance", Medium::NetworkVolume(volume)), 1);
    assert_eq!((one(&tables, "reads"), one(&tables, "disk_cost")), (16.0, 8.0));
}

/// Clients that come one after another find other parts of the file in memory: with any order allowed, each is read
/// once for all, or nearly.
#[test]
fn any_order_spares_the_disk() {
    let late = |policy: &str| {
        let mut plan = server(&[10_000_000; 5], policy, Medium::HardDisk(HardDisk::default()));
        let at_ns = (0..5).map(|client| Span::from_millis(600 * client)).collect();
        origin(&mut plan).populations[0].arrivals = Arrivals::Times { at_ns };
        let tables = run(&plan, 1);
        assert_eq!(numbers(&tables, "downloads", "downloaded_bytes"), [(4 * MIB) as f64; 5]);
        one(&tables, "read_bytes") / (4 * MIB) as f64
    };
    let [in_order, attach, circus, relevance] = Scheduling::NAMES.map(late);
    assert!(in_order > 4.5, "{in_order}");
    for read in [attach, circus, relevance] {
        assert!(read < 3.0, "{attach} {circus} {relevance}");
    }
}

/// A client that has not opted in to any order gets no part heads, and its blocks in order, with any other clients
/// there.
#[test]
fn who_does_not_opt_in_is_served_in_order() {
    let mut plan = server(&[10_000_000, 10_000_000], "relevance", fast());
    let mut second = together(&[2], true);
    second.name = "second".to_owned();
    let origin = origin(&mut plan);
    origin.populations = vec![together(&[1], false), second];
    origin.part_bytes = 100_000;
    let tables = run(&plan, 1);
    let [any, ordered] = durations(&tables)[..] else { panic!("two downloads") };
    // One part head of 100 kB at least: 80 ms.
    assert!(any > ordered + 0.07, "{any} {ordered}");
    assert_eq!(texts(&tables, "downloads", "population"), ["clients", "second"]);
}

/// What a slow line has not taken stays in the server: no more is handed over than the socket's share, however long the
/// file.
#[test]
fn a_slow_socket_pulls_no_blocks() {
    let mut plan = server(&[64_000], "circus", fast());
    plan.stop.horizon_ns = Span::from_secs(10);
    let tables = run(&plan, 1);
    let [came] = numbers(&tables, "downloads", "downloaded_bytes")[..] else { panic!("one") };
    assert!(came <= 80_000.0);
    // 64 KiB not sent and a block, and what is in flight: a queue of 200 packets.
    let handed = one(&tables, "sent_bytes") - came;
    assert!(handed < 2.0 * 65_536.0 + 200.0 * 1500.0 + 65_536.0, "{handed}");
    assert_eq!(texts(&tables, "run", "outcome"), ["horizon"]);
    assert_eq!(texts(&tables, "run", "reason"), ["origin origin: 0 of 1 downloads are complete"]);
}

#[test]
fn what_is_sent_at_once_is_not_unsent() {
    // A socket that may hold one unsent block of 4 KiB is asked for the next as soon as the first is on the wire: ten
    // segments, three blocks and a half, go out in the first round trip, as with any larger bound.
    let took = |unsent_bytes| {
        let mut plan =
            content_server(path(Span::from_millis(200), 0.0), &[100_000_000], "in-order", fast());
        let origin = origin(&mut plan);
        origin.files.size_bytes = 40 << 10;
        origin.settings.block_bytes = 4 << 10;
        origin.unsent_bytes = unsent_bytes;
        durations(&run(&plan, 1))[0]
    };
    let (one_block, many) = (took(4 << 10), took(1 << 16));
    assert!(one_block < many + 0.01, "{one_block} s, and {many} s with 16 blocks");
}

#[test]
fn who_leaves_holds_nothing_back() {
    let mut plan = server(&[1_000_000, 10_000_000], "relevance", fast());
    origin(&mut plan).populations[0].arrivals = Arrivals::Sessions {
        at_ns: vec![Span::ZERO, Span::from_secs(1)],
        leave_ns: vec![Some(Span::from_secs(3)), None],
    };
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    assert_eq!(numbers(&tables, "downloads", "completed_s").len(), 1);
    let left = numbers(&tables, "downloads", "left_s");
    assert_eq!(left[0], 3.0);
    assert_eq!((one(&tables, "downloads"), one(&tables, "completed")), (2.0, 1.0));
}

#[test]
fn the_timeline_stops_a_server() {
    let mut plan = server(&[1_000_000, 10_000_000], "attach", fast());
    plan.timeline.push(Change { at_ns: Span::from_secs(1), what: What::Stop { workload: 0 } });
    let tables = run(&plan, 1);
    assert_eq!(numbers(&tables, "run", "end_s"), [1.0]);
    assert_eq!(numbers(&tables, "downloads", "left_s"), [1.0, 1.0]);
}

/// A window covers the downloads that began inside, and what the server did there.
#[test]
fn a_window_leaves_out_what_is_outside() {
    let mut plan = server(&[10_000_000; 4], "in-order", fast());
    let at_ns = (0..4).map(|client| Span::from_secs(10 * client)).collect();
    origin(&mut plan).populations[0].arrivals = Arrivals::Times { at_ns };
    plan.measures.windows.push(Window {
        table: Windowed::Origins,
        from_ns: Span::from_secs(5),
        to_ns: Some(Span::from_secs(29)),
    });
    let tables = run(&plan, 1);
    assert_eq!(numbers(&tables, "downloads", "arrived_s"), [10.0, 20.0]);
    assert_eq!(one(&tables, "sent_bytes"), (8 * MIB) as f64);
    assert_eq!((one(&tables, "from_s"), one(&tables, "to_s")), (5.0, 29.0));
    assert_eq!(one(&tables, "network_bps"), (8 * MIB) as f64 * 8.0 / 24.0);
    assert_eq!(numbers(&tables, "origin_files", "downloads"), [2.0]);
}

#[test]
fn popular_files_are_asked_for_more_often() {
    let mut plan = server(&[50_000_000; 60], "relevance", fast());
    let server = origin(&mut plan);
    server.files = Files { count: 6, size_bytes: MIB, zipf: 1.0 };
    server.settings.memory_bytes = 64 * MIB;
    let wanted = numbers(&run(&plan, 1), "origin_files", "downloads");
    assert_eq!(wanted.iter().sum::<f64>(), 60.0);
    // 24.5 of 60 are expected for the first, and 4.1 for the last.
    assert!((16.0..34.0).contains(&wanted[0]) && wanted[5] < 11.0, "{wanted:?}");
    origin(&mut plan).files.zipf = 0.0;
    let equal = numbers(&run(&plan, 1), "origin_files", "downloads");
    assert!(equal.iter().all(|downloads| (3.0..19.0).contains(downloads)), "{equal:?}");
}

/// What was sent and read of each file adds up, and is nothing of an unwanted file.
#[test]
fn files_share_what_their_server_did() {
    let mut plan = server(&[10_000_000; 3], "in-order", fast());
    origin(&mut plan).files = Files { count: 4, size_bytes: MIB, zipf: 0.0 };
    let tables = run(&plan, 1);
    let of = |column| numbers(&tables, "origin_files", column);
    assert_eq!(of("file"), [0.0, 1.0, 2.0, 3.0]);
    for ((wanted, sent), read) in
        of("downloads").into_iter().zip(of("sent_bytes")).zip(of("read_bytes"))
    {
        assert_eq!(sent, wanted * MIB as f64);
        assert_eq!(read > 0.0, wanted > 0.0);
    }
    assert_eq!(of("downloads").iter().sum::<f64>(), 3.0);
    assert_eq!(of("read_bytes").iter().sum::<f64>(), one(&tables, "read_bytes"));
}

/// What is sampled adds up to what the tables say.
#[test]
fn series_tell_of_disk_and_network() {
    let mut plan = server(&[10_000_000; 3], "in-order", Medium::HardDisk(HardDisk::default()));
    let every_ns = Span::from_millis(100);
    let kinds = [Sampled::OriginRate, Sampled::DiskRate, Sampled::DiskQueue, Sampled::DiskWaiting];
    let kinds = kinds.into_iter().chain([Sampled::OriginClients]);
    let series = kinds.map(|what| Series { what, every_ns }).collect();
    plan.measures = Measures { series, ..Measures::default() };
    let tables = run(&plan, 1);
    let (what, value) = (texts(&tables, "series", "what"), numbers(&tables, "series", "value"));
    let of = |kind: &str| -> Vec<f64> {
        what.iter().zip(&value).filter(|(what, _)| *what == kind).map(|(_, it)| *it).collect()
    };
    assert!(texts(&tables, "series", "source").iter().all(|source| source == "origin"));
    let sent: f64 = of("origin-rate").iter().sum::<f64>() * 0.1 / 8.0;
    assert!((sent / one(&tables, "sent_bytes") - 1.0).abs() < 0.1, "{sent}");
    let read: f64 = of("disk-rate").iter().sum::<f64>() * 0.1 / 8.0;
    assert!((read / one(&tables, "read_bytes") - 1.0).abs() < 0.1, "{read}");
    assert!(of("disk-queue").iter().all(|reads| (0.0..=5.0).contains(reads)));
    assert!(of("disk-waiting").iter().all(|clients| (0.0..=3.0).contains(clients)));
    assert_eq!(of("origin-clients")[1], 3.0);
}

fn media() -> impl Strategy<Value = Medium> {
    prop_oneof![
        Just(Medium::HardDisk(HardDisk::default())),
        Just(Medium::NetworkVolume(NetworkVolume::default())),
        Just(Medium::Ssd(Ssd { channels: 1, ..Ssd::default() })),
        Just(fast()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Under loss, whatever the policy, the disk and the crowd: each client gets every byte once; nothing is handed
    /// over twice; a disk with one arm is busy no longer than the run; and the same seed gives the same tables.
    #[test]
    fn everybody_gets_every_byte_once(
        policy in prop::sample::select(Scheduling::NAMES.to_vec()),
        disk in media(),
        lines in prop::collection::vec(prop::sample::select(vec![2_000_000, 10_000_000, 44_736_000]), 1..6),
        in_order in prop::collection::vec(any::<bool>(), 6),
        loss in prop::sample::select(vec![0.0, 0.001, 0.03]),
        files in 1u32..4,
        length in 1u64..1_500_000,
        unsent_bytes in prop::sample::select(vec![1, 4000, 1 << 16, 1 << 20]),
        seed in 0u64..1000,
    ) {
        let core = path(Span::from_millis(10), loss);
        let mut plan = content_server(core, &lines, policy, disk.clone());
        let server = origin(&mut plan);
        server.files = Files { count: files, size_bytes: length, zipf: 0.5 };
        server.unsent_bytes = unsent_bytes;
        let clients = 0..lines.len();
        server.populations = clients.map(|client| Clients {
            name: format!("client-{client}"),
            arrivals: Arrivals::Poisson { start_ns: Span::ZERO, gap_ns: Span::from_millis(500) },
            ..together(&[client as u32 + 1], in_order[client])
        }).collect();
        let tables = run(&plan, seed);
        prop_assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
        let came = numbers(&tables, "downloads", "downloaded_bytes");
        prop_assert_eq!(came, vec![length as f64; lines.len()]);
        prop_assert_eq!(one(&tables, "sent_bytes"), length as f64 * lines.len() as f64);
        prop_assert_eq!(one(&tables, "completed"), lines.len() as f64);
        let one_at_a_time = !matches!(&disk, Medium::Ssd(ssd) if ssd.channels > 1);
        if one_at_a_time {
            prop_assert!(one(&tables, "disk_busy_s") <= numbers(&tables, "run", "end_s")[0]);
        }
        prop_assert_eq!(run(&plan, seed), tables);
    }
}

/// A column of names that two workloads of different kinds wrote.
#[test]
fn downloads_of_swarms_and_origins_stand_in_one_table() {
    let mut plan = server(&[10_000_000; 2], "relevance", fast());
    let mut swarm = flash_crowd(2, 300_000, None, Conditions::default());
    plan.workloads.append(&mut swarm.workloads);
    plan.profiles = swarm.profiles;
    let tables = run(&plan, 1);
    let names = texts(&tables, "downloads", "swarm");
    assert_eq!(names, ["swarm", "swarm", "origin", "origin"]);
    let hosts = texts(&tables, "downloads", "host");
    assert_eq!(hosts, ["host-1", "host-2", "host-1", "host-2"]);
    let Some(Column::Text(_, listed)) = table(&tables, "downloads").column("host") else {
        panic!("hosts are names")
    };
    assert_eq!(listed, &["host-1", "host-2"]);
}
