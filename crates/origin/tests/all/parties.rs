//! The disk is shared by parties before it is shared by clients.

#![allow(clippy::unwrap_used, reason = "in a test")]

use flashcrowd_base::Time;
use flashcrowd_origin::{ClientId, Origin, Output, Request, Scheduling, Settings};
use std::collections::BTreeSet;

const EXTENT: u64 = 1 << 20;

/// Reads of a crowd that come before each extent of a reader at most, if the crowd asks for a byte each of 200 places of another
/// file, or of the reader's, again and again; and how many the reader needs itself.
fn reads_before_each(scheduling: &Scheduling, is_same_file: bool, party: u32) -> (usize, usize) {
    let memory_bytes = 16 * EXTENT;
    let scheduling = scheduling.clone();
    let settings = Settings { memory_bytes, scheduling, ..Settings::default() };
    let mut origin = Origin::new(&settings).unwrap();
    let (large, file) = (origin.open(4000 * EXTENT).unwrap(), origin.open(4000 * EXTENT).unwrap());
    let theirs = if is_same_file { file } else { large };
    let now = Time::START;
    let mut place = 0;
    let mut ask = |origin: &mut Origin| {
        place = (place + 1237) % 4000;
        let byte = place * EXTENT..place * EXTENT + 1;
        let ranges = Some(std::slice::from_ref(&byte));
        let client = origin.join_for(now, theirs, Request { ranges, in_order: true }, 1);
        origin.writable(now, client);
        client
    };
    let mut crowd: BTreeSet<ClientId> = (0..200).map(|_| ask(&mut origin)).collect();
    let wanted = 0..30 * EXTENT;
    let request = Request { ranges: Some(std::slice::from_ref(&wanted)), in_order: false };
    let reader = origin.join_for(now, file, request, party);
    origin.writable(now, reader);
    let (mut under_way, mut since, mut longest, mut got) = (vec![], 0, 0, 0);
    loop {
        let Some(output) = origin.poll() else {
            since += 1;
            origin.completed(now, under_way.remove(0), true);
            continue;
        };
        match output {
            Output::Read { read, .. } => under_way.push(read),
            Output::Send { client, length, .. } => {
                origin.accepted(now, client, length);
                if client == reader {
                    got += u64::from(length);
                    longest = longest.max(since);
                    since = 0;
                    origin.writable(now, client);
                }
            }
            Output::Done { client } if client == reader => break,
            Output::Done { client } => {
                assert!(crowd.remove(&client));
                crowd.insert(ask(&mut origin));
            }
            Output::Failed { failure, .. } => panic!("{failure:?}"),
        }
    }
    assert_eq!((got, crowd.len()), (wanted.end, 200));
    (longest, under_way.len())
}

#[test]
fn a_crowd_of_one_party_keeps_the_disk_from_no_other() {
    for name in Scheduling::NAMES {
        let scheduling = Scheduling::named(name).unwrap();
        for is_same_file in [false, true] {
            let (apart, under_way) = reads_before_each(&scheduling, is_same_file, 2);
            // Those under way, one of the crowd's, its own.
            assert!(apart <= under_way + 2, "{name}, same file: {is_same_file}: {apart}");
        }
        let (together, _) = reads_before_each(&scheduling, false, 1);
        assert!(together > 100, "{name}: the crowd is too small to say anything: {together}");
    }
}
