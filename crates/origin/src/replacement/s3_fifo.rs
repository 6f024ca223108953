use crate::list::{Links, List};
use crate::world::World;
use std::collections::{BTreeMap, VecDeque};

/// Uses of an extent that are counted at most.
const MAX_USES: u8 = 3;

/// S3-FIFO ("FIFO queues are all you need for cache eviction", Yang et al., SOSP 2023): new extents are in a small
/// queue of a tenth of the memory; one that was used again moves to the main queue, where each use is one more
/// round. One that comes back soon after it went from the small queue goes to the main queue at once.
#[derive(Debug, Default)]
pub(crate) struct S3Fifo {
    links: Links,
    small: List,
    main: List,
    entries: Vec<Entry>,
    /// For an extent of a file that left the small queue lately, when it did: the count of those that had left.
    ghosts: BTreeMap<(u32, u32), u64>,
    /// Those that left last, the oldest first: as many as there have ever been extents in memory.
    leavers: VecDeque<(u32, u32)>,
    most: usize,
    left: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    uses: u8,
    main: bool,
}

fn key(world: &World, slot: u32) -> (u32, u32) {
    let slot = world.cache().slot(slot);
    (slot.file, slot.extent)
}

impl S3Fifo {
    pub(super) fn insert(&mut self, world: &World, slot: u32) {
        let remembered = (self.small.len() + self.main.len()) as u64;
        let went = self.ghosts.get(&key(world, slot));
        let main = went.is_some_and(|went| self.left - went < remembered);
        let place = slot as usize;
        self.entries.resize(self.entries.len().max(place + 1), Entry::default());
        self.entries[place] = Entry { uses: 0, main };
        self.links.push_back(if main { &mut self.main } else { &mut self.small }, slot);
        self.most = self.most.max(remembered as usize + 1);
    }

    pub(super) fn touch(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.uses = (entry.uses + 1).min(MAX_USES);
    }

    pub(super) fn remove(&mut self, world: &World, slot: u32) {
        if self.entries[slot as usize].main {
            self.links.remove(&mut self.main, slot);
        } else {
            self.links.remove(&mut self.small, slot);
            self.left += 1;
            self.ghosts.insert(key(world, slot), self.left);
            self.leavers.push_back(key(world, slot));
            if self.leavers.len() > self.most
                && let Some(oldest) = self.leavers.pop_front()
            {
                let went = self.left - self.leavers.len() as u64;
                if self.ghosts.get(&oldest) == Some(&went) {
                    self.ghosts.remove(&oldest);
                }
            }
            debug_assert!(self.ghosts.len() <= self.most);
        }
    }

    pub(super) fn closed(&mut self, file: u32) {
        let of_file: Vec<_> =
            self.ghosts.range((file, 0)..=(file, u32::MAX)).map(|(key, _)| *key).collect();
        for key in of_file {
            self.ghosts.remove(&key);
        }
    }

    pub(super) fn victim(&mut self, world: &World, keeps: impl Fn(u32) -> bool) -> Option<u32> {
        let mut second = None;
        // Each turn but those that find an extent that stays uses up a move or a use.
        let turns = (self.small.len() + self.main.len()) * (usize::from(MAX_USES) + 2);
        for _ in 0..turns {
            let small = self.small.len() * 10 > self.small.len() + self.main.len();
            let from_small = small || self.main.is_empty();
            let queue = if from_small { &mut self.small } else { &mut self.main };
            let slot = queue.first()?;
            let entry = &mut self.entries[slot as usize];
            if world.cache().evictable(slot) {
                let unused = if from_small { entry.uses <= 1 } else { entry.uses == 0 };
                if keeps(slot) {
                    second = second.or(Some(slot));
                } else if unused {
                    return Some(slot);
                } else if !from_small {
                    entry.uses -= 1;
                }
            }
            // Another turn: in the main queue, where who stays is no longer in the way of newcomers.
            if from_small {
                self.links.remove(&mut self.small, slot);
                self.links.push_back(&mut self.main, slot);
                *entry = Entry { uses: 0, main: true };
            } else {
                self.links.move_to_back(&mut self.main, slot);
            }
        }
        second
    }
}
