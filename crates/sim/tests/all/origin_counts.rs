//! What content servers count, worked out on paper, and when they get nowhere.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_origin::disk::{HardDisk, Medium, Ssd};
use flashcrowd_plan::{
    Arrivals, Files, Measures, Origin, Plan, Sampled, Series, Window, Windowed, Workload,
};
use flashcrowd_sim::{RunHandle, Table, simulate};

const EXTENT: u64 = 1 << 18;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}

/// Reads 1 MB/s, and is at any place at once.
fn slow() -> Medium {
    let rate_bps = Rate::at_least_one(8_000_000);
    Medium::HardDisk(HardDisk { rate_bps, ..HardDisk::default() })
}

/// Clients in order at each of the hosts but the first, which come at these seconds and have a line down of `line`
/// bit/s.
fn server(line: u64, seconds: &[u64], disk: Medium) -> Plan {
    let lines = vec![line; seconds.len()];
    let mut plan = content_server(path(Span::from_millis(20), 0.0), &lines, "in-order", disk);
    let clients = &mut origin(&mut plan, 0).populations[0];
    clients.in_order = true;
    clients.arrivals =
        Arrivals::Times { at_ns: seconds.iter().map(|at| Span::from_secs(*at)).collect() };
    plan
}

fn origin(plan: &mut Plan, index: usize) -> &mut Origin {
    match &mut plan.workloads[index] {
        Workload::Origin(origin) => origin,
        other => panic!("{other:?} is no origin"),
    }
}

fn end(tables: &[Table]) -> (String, f64) {
    (texts(tables, "run", "outcome").swap_remove(0), numbers(tables, "run", "end_s")[0])
}

#[test]
fn a_server_whose_clients_get_their_blocks_slowly_is_not_stalled() {
    // A block of 64 KiB takes 8 s and more on a line of 64 kbit/s; between the clients nothing happens.
    let mut plan = server(64_000, &[0, 300], slow());
    origin(&mut plan, 0).files.size_bytes = EXTENT;
    plan.stop.stall_ns = Span::from_secs(20);
    let tables = run(&plan, 1);
    let (how, seconds) = end(&tables);
    assert_eq!(how, "completed");
    assert!((330.0..345.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_server_of_which_no_block_arrives_for_the_stall_time_is_stalled() {
    // 256 KiB last 262 s on a line of 8 kbit/s, a block 66 s: some bytes come, but no block.
    let mut plan = server(8_000, &[100], slow());
    plan.stop.stall_ns = Span::from_secs(20);
    let tables = run(&plan, 1);
    // The watchdog looks each eighth of the stall time.
    assert_eq!(end(&tables), ("stalled".to_owned(), 120.0));
    assert_eq!(
        texts(&tables, "run", "reason"),
        ["origin origin: no block reached any of 1 clients since 100.000000 s"]
    );
    assert_eq!(numbers(&tables, "downloads", "downloaded_bytes"), [0.0]);
}

/// Files are one behind the other on the disk. A read of the second right after the first finds the arm at
/// its begin; a read of the first after the second does not.
#[test]
fn the_second_file_begins_where_the_first_one_ends() {
    let mut found = Vec::new();
    for seed in 0..12 {
        let mut plan = server(100_000_000, &[0, 20], slow());
        origin(&mut plan, 0).files = Files { count: 2, size_bytes: 8 * EXTENT, zipf: 0.0 };
        let tables = run(&plan, seed);
        if numbers(&tables, "origin_files", "downloads") == [1.0, 1.0] {
            found.push(numbers(&tables, "origins", "seeks")[0]);
        }
    }
    found.sort_by(f64::total_cmp);
    found.dedup();
    // First to second: no seek. Second to first: to the second, and back.
    assert_eq!(found, [0.0, 2.0]);
}

#[test]
fn what_has_left_memory_had_been_there_for_some_time() {
    let tables = run(&server(1_000_000_000, &[0], slow()), 1);
    let one = |column| numbers(&tables, "origins", column)[0];
    // Sixteen are read, five stay.
    assert_eq!((one("reads"), one("evictions")), (16.0, 11.0));
    // Two of the five are being read, so each stays for three reads.
    let read = EXTENT as f64 / 1e6;
    assert!((one("residence_s") - 3.0 * read).abs() < 1e-9, "{}", one("residence_s"));
    // Where all has room, nothing leaves.
    let mut plan = server(1_000_000_000, &[0], slow());
    origin(&mut plan, 0).settings.memory_bytes = 16 * EXTENT;
    let tables = run(&plan, 1);
    assert_eq!(numbers(&tables, "origins", "evictions"), [0.0]);
    assert!(numbers(&tables, "origins", "residence_s").is_empty());
}

#[test]
fn flash_is_as_busy_as_the_mean_of_its_channels() {
    // 1 ms to the first byte and 1 MB/s: 263.144 ms for each of sixteen reads.
    let rate_bps = Rate::at_least_one(8_000_000);
    let disk = Ssd { latency_ns: Span::from_millis(1), channels: 4, rate_bps };
    let tables = run(&server(1_000_000_000, &[0], Medium::Ssd(disk)), 1);
    let busy = numbers(&tables, "origins", "disk_busy_s")[0];
    assert!((busy - 16.0 * 0.263_144 / 4.0).abs() < 1e-9, "{busy}");
    assert_eq!(numbers(&tables, "origins", "seeks"), [0.0]);
}

#[test]
fn who_sent_nothing_in_no_time_has_neither_rates_nor_a_share_of_misses() {
    let columns = ["network_bps", "disk_bps", "miss_ratio", "residence_s"];
    let mut plan = server(1_000_000_000, &[1], slow());
    let tables = run(&plan, 1);
    let one = |column| numbers(&tables, "origins", column)[0];
    let rate = 16.0 * EXTENT as f64 * 8.0 / numbers(&tables, "run", "end_s")[0];
    assert!((one("network_bps") / rate - 1.0).abs() < 1e-9, "{rate}");
    assert_eq!((one("disk_bps"), one("miss_ratio")), (one("network_bps"), 1.0));
    // Before the client comes, and after the end.
    for (from, to_ns, empty) in
        [(0, Some(Span::from_millis(500)), &columns[2..]), (3000, None, &columns[..])]
    {
        let from_ns = Span::from_secs(from);
        plan.measures.windows = vec![Window { table: Windowed::Origins, from_ns, to_ns }];
        let tables = run(&plan, 1);
        assert_eq!(table(&tables, "origins").rows(), 1);
        for column in columns {
            let values = numbers(&tables, "origins", column);
            let expected = if empty.contains(&column) { vec![] } else { vec![0.0] };
            assert_eq!(values, expected, "{column} from {from} s");
        }
    }
}

/// Each server is sampled for itself: one whose disk is slow for its three clients, and one that has none.
#[test]
fn series_tell_servers_apart() {
    let mut plan = server(1_000_000_000, &[1, 1, 1], slow());
    let mut idle = origin(&mut plan, 0).clone();
    "idle".clone_into(&mut idle.name);
    idle.populations[0].arrivals = Arrivals::Times { at_ns: vec![Span::from_secs(20); 3] };
    idle.disk = Medium::Ssd(Ssd::default());
    plan.workloads.push(Workload::Origin(idle));
    let every_ns = Span::from_millis(500);
    let kinds = [Sampled::DiskQueue, Sampled::DiskWaiting, Sampled::OriginClients];
    let series = kinds.map(|what| Series { what, every_ns }).to_vec();
    plan.measures = Measures { series, ..Measures::default() };
    plan.stop.horizon_ns = Span::from_secs(10);
    let tables = run(&plan, 1);
    let (what, source) = (texts(&tables, "series", "what"), texts(&tables, "series", "source"));
    let (at, value) = (numbers(&tables, "series", "t_s"), numbers(&tables, "series", "value"));
    let of = |kind: &str, name: &str| -> Vec<f64> {
        let mine = (0..at.len()).filter(|&row| what[row] == kind && source[row] == name);
        mine.map(|row| value[row]).collect()
    };
    for kind in ["disk-queue", "disk-waiting", "origin-clients"] {
        assert!(of(kind, "idle").iter().all(|value| *value == 0.0), "{kind}");
        assert_eq!(of(kind, "origin")[..2], [0.0, 0.0], "{kind} before they come");
    }
    // Three go through the file together, as fast as the disk reads it: 4.2 s.
    assert_eq!(of("origin-clients", "origin")[3..10], [3.0; 7]);
    assert_eq!(of("disk-waiting", "origin")[3..10], [3.0; 7]);
    assert_eq!(of("disk-queue", "origin")[3..10], [2.0; 7]);
    assert_eq!(of("origin-clients", "origin").last(), Some(&0.0));
    assert_eq!(of("disk-queue", "origin").last(), Some(&0.0));
}
