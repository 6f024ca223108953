//! Replacement: which extents are kept, where a policy has no better rule of its own.

mod lru;
mod s3_fifo;

use crate::State;
use crate::world::World;
use lru::Lru;
use s3_fifo::S3Fifo;
use serde::{Deserialize, Serialize};

/// Which extent gives up its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that was sent from longest ago.
    #[default]
    Lru,
    /// S3-FIFO (Yang et al. 2023): what is used by one client only leaves early.
    S3Fifo,
}

/// The extents in memory, in the order of the rule.
#[derive(Debug)]
pub(crate) enum Store {
    Lru(Lru),
    S3Fifo(S3Fifo),
}

impl Store {
    pub(crate) fn new(replacement: Replacement) -> Store {
        match replacement {
            Replacement::Lru => Store::Lru(Lru::default()),
            Replacement::S3Fifo => Store::S3Fifo(S3Fifo::default()),
        }
    }

    /// An extent has come.
    pub(crate) fn loaded(&mut self, world: &World, slot: u32) {
        match self {
            Store::Lru(lru) => lru.insert(slot),
            Store::S3Fifo(fifo) => fifo.insert(world, slot),
        }
    }
    /// A block of an extent was sent; `begins` where it is the extent's first, so that a client that takes the whole
    /// of an extent is counted once.
    pub(crate) fn touch(&mut self, slot: u32, begins: bool) {
        match self {
            Store::Lru(lru) => lru.touch(slot),
            Store::S3Fifo(fifo) if begins => fifo.touch(slot),
            Store::S3Fifo(_) => {}
        }
    }
    /// An extent goes, wherever it is.
    pub(crate) fn gone(&mut self, world: &World, slot: u32) {
        if world.cache().slot(slot).state != State::Resident {
            return;
        }
        match self {
            Store::Lru(lru) => lru.remove(slot),
            Store::S3Fifo(fifo) => fifo.remove(world, slot),
        }
    }
    /// A file is gone, of which nothing is in memory any more.
    pub(crate) fn closed(&mut self, file: u32) {
        match self {
            Store::Lru(_) => {}
            Store::S3Fifo(fifo) => fifo.closed(file),
        }
    }
    /// The extent that goes next: one that `keeps` does not hold, or if there is none, any that can go.
    pub(crate) fn victim(&mut self, world: &World, keeps: impl Fn(u32) -> bool) -> Option<u32> {
        match self {
            Store::Lru(lru) => lru.victim(world, keeps),
            Store::S3Fifo(fifo) => fifo.victim(world, keeps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use crate::cache::Cache;
    use crate::list::Links;
    use crate::world::File;
    use flashcrowd_base::Time;

    const UNIT: u32 = 1 << 16;

    /// A world of one file, whose extents are one block, with memory for `memory` of them.
    pub(super) fn world(memory: u32) -> World {
        let layout = Layout::new(1 << 30, UNIT, UNIT).unwrap();
        let cache = Cache::new(u64::from(memory * UNIT));
        World {
            files: vec![File::new(layout, 0)],
            clients: vec![],
            cache,
            asked: Links::default(),
            active: 0,
            slack: 0,
        }
    }

    /// Uses the extents one after the other, and says of each whether it was in memory.
    pub(super) fn hits(store: &mut Store, world: &mut World, extents: &[u32]) -> Vec<bool> {
        let mut hits = vec![];
        for extent in extents {
            let there = world.slot_of(0, *extent);
            let slot = there.unwrap_or_else(|| {
                let slot = world.cache.enqueue(0, 0, *extent, UNIT);
                while !world.cache.fits(slot) {
                    let victim = store.victim(world, |_| false).unwrap();
                    store.gone(world, victim);
                    let gone = world.cache.drop(victim).unwrap();
                    world.files[0].take(gone.extent);
                }
                world.cache.begin(slot);
                world.cache.load(slot, Time::START);
                world.files[0].put(*extent, slot);
                store.loaded(world, slot);
                slot
            });
            assert_eq!(world.cache.slot(slot).state, State::Resident);
            store.touch(slot, true);
            hits.push(there.is_some());
        }
        hits
    }

    #[test]
    fn lru_keeps_what_was_used_last() {
        let (mut store, mut world) = (Store::new(Replacement::Lru), world(3));
        let hits = hits(&mut store, &mut world, &[1, 2, 3, 1, 4, 1, 2, 3]);
        assert_eq!(hits, [false, false, false, true, false, true, false, false]);
    }

    /// A few extents that are used again and again survive a scan that fills the memory many times over, which LRU
    /// gives everything to.
    #[test]
    fn s3_fifo_resists_a_scan() {
        let mut uses: Vec<u32> = (0..5).flat_map(|_| 0..10).collect();
        uses.extend(1000..3000);
        uses.extend(0..10);
        let kept = |replacement| {
            let (mut store, mut world) = (Store::new(replacement), world(100));
            let hits = hits(&mut store, &mut world, &uses);
            hits[hits.len() - 10..].iter().filter(|hit| **hit).count()
        };
        assert_eq!((kept(Replacement::S3Fifo), kept(Replacement::Lru)), (10, 0));
    }

    #[test]
    fn what_is_kept_goes_last() {
        for replacement in [Replacement::Lru, Replacement::S3Fifo] {
            let (mut store, mut world) = (Store::new(replacement), world(3));
            hits(&mut store, &mut world, &[1, 2, 3]);
            let keep = world.slot_of(0, 1).unwrap();
            assert_eq!(store.victim(&world, |slot| slot == keep), world.slot_of(0, 2));
            assert!(store.victim(&world, |_| true).is_some());
            for extent in [1, 2, 3] {
                let slot = world.slot_of(0, extent).unwrap();
                world.cache.slot_mut(slot).pins = 1;
            }
            assert_eq!(store.victim(&world, |_| false), None);
        }
    }
}
