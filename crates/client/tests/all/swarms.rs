//! Clients among themselves.

use crate::util::{Running, Shared, Tracker, in_haste, run, settings, violations};
use flashcrowd_base::Rate;
use flashcrowd_client::{Client, Happened};
use flashcrowd_swarm::{UnchokeEnd, UploadLimit};
use std::time::{Duration, Instant};

/// A seed and a leecher, with one file and with several.
#[test]
fn a_file_goes_from_one_to_another() {
    for lengths in [&[1_000_000][..], &[10, 300_000, 0, 1, 99_000]] {
        let tracker = Tracker::start();
        let shared = Shared::files(lengths, Some(tracker.url.clone()));
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        shared.put(from.path());
        let seed = run(settings(&shared, from.path(), 1));
        seed.wait_for("neighbourhood", |it| it.pieces == it.of && it.of > 0);
        let leecher = run(settings(&shared, to.path(), 2));
        let progress = leecher.wait_for_all();
        assert_eq!((progress.down, progress.wasted), (shared.bytes.len() as u64, 0));
        seed.wait_for("upload", |it| it.up == shared.bytes.len() as u64);
        let (ended, events) = leecher.end(true);
        assert!(ended.complete && shared.is_in(to.path()));
        let haves = events.iter().filter(|it| matches!(it.what, Happened::Have { .. }));
        assert_eq!(haves.count(), shared.metainfo.hashes.len());
        assert!(events.iter().any(|it| it.what == Happened::Complete));
        assert!(violations(&events).is_empty());
        let (_, events) = seed.end(true);
        let unchokes = events.iter().filter_map(|it| match &it.what {
            // The leecher wants nothing more, or has closed.
            Happened::Unchoke { bytes, cause, seeding: true, .. } => Some((*bytes, *cause)),
            _ => None,
        });
        let unchokes: Vec<(u64, UnchokeEnd)> = unchokes.collect();
        let ends = [UnchokeEnd::Disconnected, UnchokeEnd::NotInterested];
        assert!(unchokes.last().is_some_and(|last| ends.contains(&last.1)), "{unchokes:?}");
        let sent: u64 = unchokes.iter().map(|(bytes, _)| bytes).sum();
        assert_eq!(sent, shared.bytes.len() as u64);
        assert!(events.iter().any(|it| matches!(it.what, Happened::SendGaps { .. })));
        for event in ["started", "stopped"] {
            assert_eq!(tracker.count(event), 2, "{event}");
        }
        assert_eq!(tracker.count("completed"), 1);
    }
}

/// All arrive at once, so that connections cross, and the seed is slow: leechers need each other.
#[test]
fn a_crowd_completes_by_each_profile() {
    for name in ["mainline-4.0.2", "modern", "libtorrent"] {
        let tracker = Tracker::start();
        let shared = Shared::files(&[1_000_000], Some(tracker.url.clone()));
        let folders: Vec<_> = (0..6).map(|_| tempfile::tempdir().unwrap()).collect();
        shared.put(folders[0].path());
        let profile = in_haste(name);
        let start = |(folder, last): (&tempfile::TempDir, u8)| {
            let mut settings = settings(&shared, folder.path(), last);
            settings.profile = profile.clone();
            settings.upload = UploadLimit::Rate(Rate::from_bps(8 * 500_000).unwrap());
            run(settings)
        };
        let all: Vec<Running> = folders.iter().zip(1..).map(start).collect();
        let ups: u64 = all.iter().map(|it| it.wait_for_all().up).sum();
        assert!(ups > 0);
        let from_seed = all[0].handle.progress().up;
        assert!(from_seed < 5 * shared.bytes.len() as u64 / 2, "{name}: {from_seed}");
        for (running, folder) in all.into_iter().zip(&folders) {
            let (ended, events) = running.end(true);
            assert!(ended.complete && shared.is_in(folder.path()), "{name}");
            assert_eq!(violations(&events), [""; 0], "{name}");
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a limit on real sockets is by the clock on the wall")]
fn an_upload_limit_holds_and_can_be_changed() {
    let tracker = Tracker::start();
    let shared = Shared::files(&[1_500_000], Some(tracker.url.clone()));
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    shared.put(from.path());
    let mut slow = settings(&shared, from.path(), 1);
    slow.trusted = true;
    slow.upload = UploadLimit::Rate(Rate::from_bps(8 * 100_000).unwrap());
    let seed = run(slow);
    let leecher = run(settings(&shared, to.path(), 2));
    let begin = leecher.wait_for("block", |it| it.down > 0).down;
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(2));
    let down = leecher.handle.progress().down - begin;
    let rate = down as f64 / begun.elapsed().as_secs_f64();
    assert!((50_000.0..175_000.0).contains(&rate), "{rate} bytes a second");
    seed.handle.limit(UploadLimit::Unlimited);
    leecher.wait_for_all();
    let gaps = seed.handle.send_gaps();
    // 1380 bytes at 100 kB/s are 13.8 ms apart; a busy machine is late with some, and others follow them at once.
    let apart = gaps
        .range(1..)
        .fold((0, 0u64), |(n, ms), (gap, count)| (n + count, ms + u64::from(*gap) * count));
    let mean = apart.1 as f64 / apart.0 as f64;
    assert!(apart.0 > 20 && (10.0..100.0).contains(&mean), "{mean} ms: {gaps:?}");
    let _ = (leecher.end(false), seed.end(false));
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let shared = Shared::files(&[1000], None);
    let folder = tempfile::tempdir().unwrap();
    let first = Client::bind(settings(&shared, folder.path(), 1)).unwrap();
    let mut second = settings(&shared, folder.path(), 1);
    second.bind = first.local_addr();
    assert!(Client::bind(second).is_err());
}
