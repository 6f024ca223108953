//! Seeds that read from a disk with little memory before it, and suggest what they have read.

use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_origin::disk::{HardDisk, Medium, NetworkVolume, Positioning, Ssd};
use flashcrowd_plan::{Plan, Population, Storage, Window, Windowed};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_swarm::UploadLimit;
use flashcrowd_swarm::profile::{self, Sharing, SuggestMode};
use proptest::prelude::*;

const SIZE: u64 = 3_000_000;
const BLOCK: u32 = 16_384;

fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}
fn hard_disk(positioning: Span, mbps: u64) -> Medium {
    Medium::HardDisk(HardDisk {
        positioning: Positioning::Constant { time_ns: positioning },
        rate_bps: Rate::from_bps(mbps * 1_000_000).expect("more than nothing"),
        ..HardDisk::default()
    })
}
fn storage(disk: Medium, memory: u32, extent: u32) -> Storage {
    let (extent_bytes, memory_bytes) = (extent * BLOCK, u64::from(memory * extent * BLOCK));
    Storage { disk, memory_bytes, extent_bytes, reads: 2 }
}
/// A swarm of libtorrents around a seed with this storage.
fn crowd(leechers: u32, upload: UploadLimit, storage: Option<Storage>) -> Plan {
    let mut plan = flash_crowd(leechers, SIZE, None, path(Span::from_millis(20), 0.0));
    plan.profiles = vec![profile::named("libtorrent").expect("the profile exists")];
    plan.profiles.push(plan.profiles[0].clone());
    population(&mut plan, 1).upload_bps = upload;
    let seeds = population(&mut plan, 0);
    (seeds.storage, seeds.profile) = (storage, 1);
    plan.stop.horizon_ns = Span::from_secs(7200);
    plan
}
fn population(plan: &mut Plan, index: usize) -> &mut Population {
    &mut swarm(plan).populations[index]
}
fn of_disk(tables: &[Table], column: &str) -> f64 {
    let [value] = numbers(tables, "origins", column)[..] else { panic!("one disk") };
    value
}

#[test]
fn every_block_is_read_once_where_memory_holds_all_and_the_disk_sets_the_pace() {
    let disk = hard_disk(Span::ZERO, 8);
    let mut plan = crowd(1, UploadLimit::Unlimited, Some(storage(disk, 100, 4)));
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    assert_eq!(texts(&tables, "origins", "origin"), ["swarm"]);
    assert_eq!(texts(&tables, "origins", "host"), ["host-0"]);
    assert_eq!(texts(&tables, "origins", "policy"), ["requested"]);
    assert_eq!(of_disk(&tables, "sent_bytes") as u64, SIZE);
    assert_eq!(of_disk(&tables, "read_bytes") as u64, SIZE);
    assert_eq!(of_disk(&tables, "blocks") as u64, SIZE.div_ceil(u64::from(BLOCK)));
    assert_eq!(of_disk(&tables, "reads") as u64, SIZE.div_ceil(4 * u64::from(BLOCK)));
    // A line without end, and 1 MB/s of disk.
    let [took] = numbers(&tables, "downloads", "duration_s")[..] else { panic!("one download") };
    assert!((3.0..4.0).contains(&took), "{took} s");
    population(&mut plan, 0).storage = None;
    let tables = run(&plan, 1);
    let [alone] = numbers(&tables, "downloads", "duration_s")[..] else { panic!("one download") };
    assert!(alone < 1.5, "{alone} s without a disk");
    assert!(tables.iter().all(|it| it.name != "origins" || it.rows() == 0));
}

#[test]
fn a_disk_that_is_fast_enough_changes_next_to_nothing() {
    let mean_of = |storage| {
        let tables = run(&crowd(10, kilobytes(100).into(), storage), 1);
        mean(&numbers(&tables, "downloads", "duration_s"))
    };
    let ssd = Medium::Ssd(Ssd::default());
    let (with, without) = (mean_of(Some(storage(ssd, 100, 4))), mean_of(None));
    assert!((with / without - 1.0).abs() < 0.05, "{with} {without}");
}

#[test]
fn suggestions_of_a_seed_change_what_its_disk_reads_where_somebody_follows_them() {
    let reads = |suggest, follow| {
        let disk = hard_disk(Span::from_millis(5), 320);
        let mut plan = crowd(20, UploadLimit::Nothing, Some(storage(disk, 12, 1)));
        swarm(&mut plan).piece_bytes = 2 * BLOCK;
        plan.profiles[1].fast.suggest = suggest;
        plan.profiles[0].fast.follow_suggestions = follow;
        let tables = run(&plan, 1);
        assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
        assert!(of_disk(&tables, "sent_bytes") >= 20.0 * SIZE as f64);
        assert!(of_disk(&tables, "hits") < of_disk(&tables, "blocks"));
        numbers(&tables, "origins", "read_bytes")
    };
    let none = reads(SuggestMode::None, true);
    assert_eq!(reads(SuggestMode::None, false), none, "there is nothing to follow");
    assert_ne!(reads(SuggestMode::ReadCache, true), none);
}

/// Two seeds with a disk each, of which each serves its part.
#[test]
fn every_seed_has_a_disk_of_its_own() {
    let disk = hard_disk(Span::from_millis(5), 80);
    let mut plan = crowd(9, kilobytes(200).into(), Some(storage(disk, 200, 1)));
    population(&mut plan, 0).hosts = vec![0, 1];
    population(&mut plan, 1).hosts.retain(|host| *host > 1);
    let tables = run(&plan, 1);
    assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
    assert_eq!(texts(&tables, "origins", "host"), ["host-0", "host-1"]);
    let of = |column| numbers(&tables, "origins", column);
    // Memory holds the file: a block is read once, when the first of the neighbours asks for it.
    for (read, sent) in of("read_bytes").into_iter().zip(of("sent_bytes")) {
        assert!((0.1 * SIZE as f64..=SIZE as f64).contains(&read), "{read}");
        assert!(sent >= read, "{sent} {read}");
    }
    // Blocks are read before they are sent; some are on their way to the client when the run ends.
    let uploaded = numbers(&tables, "populations", "uploaded_bytes")[0];
    let ahead = of("sent_bytes").iter().sum::<f64>() - uploaded;
    assert!((0.0..=20.0 * f64::from(BLOCK)).contains(&ahead), "{ahead}");
}

#[test]
fn a_window_splits_what_a_disk_did() {
    let disk = hard_disk(Span::from_millis(5), 320);
    let mut plan = crowd(5, kilobytes(50).into(), Some(storage(disk, 8, 4)));
    let whole = run(&plan, 3);
    let mut part = |from_ns, to_ns| {
        plan.measures.windows = vec![Window { table: Windowed::Origins, from_ns, to_ns }];
        run(&plan, 3)
    };
    let mut ends = numbers(&whole, "downloads", "completed_s");
    ends.sort_by(f64::total_cmp);
    let at = Span::from_seconds(ends[2]);
    let (before, behind) = (part(Span::ZERO, Some(at)), part(at, None));
    for column in ["sent_bytes", "read_bytes", "reads", "seeks", "evictions"] {
        let sum = of_disk(&before, column) + of_disk(&behind, column);
        assert_eq!(of_disk(&whole, column), sum, "{column}");
    }
    assert!(of_disk(&before, "reads") > 0.0 && of_disk(&behind, "reads") > 0.0);
    assert_eq!(of_disk(&before, "to_s"), at.seconds());
    let after = part(Span::from_secs(7000), None);
    assert_eq!(of_disk(&after, "sent_bytes"), 0.0, "the run ended before");
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let refused = |change: fn(&mut Plan)| {
        let disk = Medium::HardDisk(HardDisk::default());
        let mut plan = crowd(2, UploadLimit::Unlimited, Some(storage(disk, 8, 4)));
        plan.check().expect("it is sound before");
        change(&mut plan);
        plan.check().expect_err("it is refused").to_string()
    };
    let place = "workloads[0].populations[0].storage";
    let error = refused(|plan| {
        population(plan, 1).storage = population(plan, 0).storage.clone();
    });
    assert!(error.contains("populations[1].storage") && error.contains("seeds"), "{error}");
    let error = refused(|plan| plan.profiles[1].limiter.sharing = Sharing::Turns);
    assert!(error.contains(place) && error.contains("limiter.sharing quota"), "{error}");
    let error = refused(|plan| swarm(plan).block_bytes = 10_000);
    assert!(error.contains(place) && error.contains("power of two"), "{error}");
    let error = refused(|plan| swarm(plan).piece_bytes = 200_000);
    assert!(error.contains(place) && error.contains("whole blocks"), "{error}");
    let error = refused(|plan| {
        population(plan, 0).storage.as_mut().expect("it has one").memory_bytes = 1;
    });
    assert!(error.contains(&format!("{place}.memory_bytes")), "{error}");
    let error = refused(|plan| {
        population(plan, 0).storage.as_mut().expect("it has one").extent_bytes = 3000;
    });
    assert!(error.contains(&format!("{place}.extent_bytes")), "{error}");
    let error = refused(|plan| {
        let disk = HardDisk { size_bytes: SIZE - 1, ..HardDisk::default() };
        population(plan, 0).storage.as_mut().expect("it has one").disk = Medium::HardDisk(disk);
    });
    assert!(error.contains(&format!("{place}.disk.size_bytes")), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_the_disk_and_whoever_suggests_all_get_the_file(
        leechers in 1u32..12,
        upload in prop_oneof![Just(None), (20u64..400).prop_map(Some)],
        (extents, extent_shift, reads) in (3u32..20, 0u32..7, 1u32..9),
        (kind, positioning, mbps) in (0usize..3, 0u64..20_000, 20u64..400),
        (suggest, crowd_suggests, max) in (any::<bool>(), any::<bool>(), 0u32..20),
        seed in any::<u64>(),
    ) {
        let disk = match kind {
            0 => hard_disk(Span::from_micros(positioning), mbps),
            1 => Medium::Ssd(Ssd::default()),
            _ => Medium::NetworkVolume(NetworkVolume::default()),
        };
        let storage = Storage { reads, ..storage(disk, extents + reads, 1 << extent_shift) };
        let upload = upload.and_then(kilobytes).into();
        let mut plan = crowd(leechers, upload, Some(storage));
        for (place, on) in [(1, suggest), (0, crowd_suggests)] {
            plan.profiles[place].fast.max_suggested = max;
            if on {
                plan.profiles[place].fast.suggest = SuggestMode::ReadCache;
            }
        }
        let tables = run(&plan, seed);
        prop_assert_eq!(texts(&tables, "run", "outcome"), ["completed"]);
        let (sent, read) = (of_disk(&tables, "sent_bytes"), of_disk(&tables, "read_bytes"));
        prop_assert!(sent >= SIZE as f64 && read >= SIZE as f64, "{} {}", sent, read);
        prop_assert!(of_disk(&tables, "hits") <= of_disk(&tables, "blocks"));
        let again = run(&plan, seed);
        for (one, other) in tables.iter().zip(&again) {
            prop_assert_eq!(&one.columns, &other.columns);
        }
    }
}
