//! An origin of one file, and a driver in a few lines, for the tests of policies.

use crate::{ClientId, FileId, Origin, Output, Request, Scheduling, Settings};
use flashcrowd_base::Time;
use std::ops::Range;

/// Length of a block, which is an extent.
pub(super) const BLOCK: u64 = 65_536;

/// One file of 1000 blocks, and memory for `memory` of them.
pub(super) fn origin(scheduling: Scheduling, memory: u64) -> (Origin, FileId) {
    let settings = Settings {
        extent_bytes: BLOCK as u32,
        memory_bytes: memory * BLOCK,
        scheduling,
        ..Settings::default()
    };
    let mut origin = Origin::new(&settings).unwrap();
    let file = origin.open(1000 * BLOCK).unwrap();
    (origin, file)
}

/// The client's socket has room for a block, `blocks` times, and the disk answers at once: the blocks that it gets.
/// It accepts them if it `accepts`.
pub(super) fn get(origin: &mut Origin, client: ClientId, blocks: usize, accepts: bool) -> Vec<u64> {
    let mut got = vec![];
    for _ in 0..blocks {
        origin.writable(Time::START, client);
        while let Some(output) = origin.poll() {
            match output {
                Output::Read { read, .. } => origin.completed(Time::START, read, true),
                Output::Send { client, offset, length, .. } => {
                    got.push(offset / BLOCK);
                    if accepts {
                        origin.accepted(Time::START, client, length);
                    }
                }
                Output::Done { .. } => {}
                Output::Failed { failure, .. } => panic!("{failure:?}"),
            }
        }
    }
    got
}

/// A client that needs these ranges of blocks, in any order.
pub(super) fn join(origin: &mut Origin, file: FileId, wanted: &[Range<u64>]) -> ClientId {
    let bytes: Vec<_> = wanted.iter().map(|r| r.start * BLOCK..r.end * BLOCK).collect();
    origin.join(Time::START, file, Request { ranges: Some(&bytes), in_order: false })
}

pub(super) fn blocks(range: Range<u64>) -> Vec<u64> {
    range.collect()
}
