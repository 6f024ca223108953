//! A client that ends in the middle, and one that goes on.

use crate::util::{Shared, Tracker, run, settings};
use flashcrowd_base::Rate;
use flashcrowd_client::Happened;
use flashcrowd_swarm::UploadLimit;

#[test]
fn what_is_on_the_disk_is_not_fetched_again() {
    let tracker = Tracker::start();
    let shared = Shared::files(&[900_000, 600_000], Some(tracker.url.clone()));
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    shared.put(from.path());
    let mut slow = settings(&shared, from.path(), 1);
    slow.upload = UploadLimit::Rate(Rate::from_bps(8 * 500_000).unwrap());
    let seed = run(slow);
    let leecher = run(settings(&shared, to.path(), 2));
    leecher.wait_for("third of it", |it| it.pieces * 3 > it.of && it.of > 0);
    let (ended, _) = leecher.end(false);
    assert!(!ended.complete && ended.pieces > 0);
    // A piece is spoiled meanwhile; what was right of the others stays.
    let path = to.path().join("d/0");
    let mut bytes = std::fs::read(&path).unwrap();
    let here =
        bytes.chunks(crate::util::PIECE as usize).position(|piece| shared.bytes.starts_with(piece));
    bytes[0] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let first = u32::from(here == Some(0));
    seed.handle.limit(UploadLimit::Unlimited);
    let leecher = run(settings(&shared, to.path(), 2));
    let progress = leecher.wait_for_all();
    let (ended, events) = leecher.end(true);
    let checked = events.iter().find_map(|it| match it.what {
        Happened::Checked { pieces } => Some(pieces),
        _ => None,
    });
    let checked = checked.unwrap();
    assert!(checked + first >= ended.pieces.min(checked) && checked > 0);
    assert!(ended.complete && shared.is_in(to.path()));
    let lacked = shared.bytes.len() as u64 - u64::from(checked) * u64::from(crate::util::PIECE);
    assert!(progress.down <= lacked + u64::from(crate::util::PIECE), "{} {lacked}", progress.down);
    let _ = seed.end(false);
}

#[test]
fn a_whole_file_is_seeded_and_a_client_may_leave_before_it_joins() {
    let shared = Shared::files(&[200_000], None);
    let folder = tempfile::tempdir().unwrap();
    shared.put(folder.path());
    let client = flashcrowd_client::Client::bind(settings(&shared, folder.path(), 1)).unwrap();
    client.handle().leave(true);
    // It learns so before it checks the disk.
    assert!(!client.run().unwrap().complete);
    let seed = run(settings(&shared, folder.path(), 1));
    seed.wait_for_all();
    assert!(seed.end(true).0.complete);
}
