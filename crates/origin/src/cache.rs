use crate::fair_queue::FairQueue;
use crate::list::{List, NOWHERE};
use crate::stretches::Stretches;
use flashcrowd_base::{Slab, Time};
use std::ops::Range;

/// An extent that is wanted of the disk, on its way, or in memory.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The number of its file.
    pub file: u32,
    /// Which extent of the file.
    pub extent: u32,
    /// Its length in bytes.
    pub bytes: u32,
    /// Where it is.
    pub state: State,
    /// Which piece of memory it has, from when the disk begins with it. Pieces are counted from 0; one that is free is
    /// taken before a new one.
    pub memory: u32,
    /// Blocks of it that sockets have not accepted yet: as long as there are any, it stays.
    pub pins: u32,
    /// The how many-th that came from the disk, counted over all files.
    pub load: u64,
    /// When it came.
    pub loaded: Time,
    /// Clients that wait for it.
    pub(crate) waiting: List,
    /// Its file was closed while it was read.
    pub(crate) orphan: bool,
}

/// Where an extent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In the queue for the disk. It holds no memory.
    Queued,
    /// The disk reads it. Its memory is taken.
    Reading,
    /// In memory.
    Resident,
}

/// Memory for extents, accounted by the byte, and the queue for the disk.
///
/// It is our own and not a library's, for three reasons. Memory is taken before a read begins, and if nothing can be
/// evicted the read waits; caches of libraries evict when a value is inserted, and exceed their bound by what is
/// pinned. What is worth keeping changes without an access: a region that advances, a count of clients. And files and
/// extents are numbered, so that no key is hashed.
#[derive(Debug)]
pub struct Cache {
    pub(crate) slots: Slab<Slot>,
    memory: u64,
    used: u64,
    pub(crate) loads: u64,
    /// Pieces of memory that are free, and how many there have been.
    free: Vec<u32>,
    pieces: u32,
    queue: FairQueue,
    /// Extents in memory.
    stretches: Stretches,
}

impl Cache {
    pub(crate) fn new(memory: u64) -> Cache {
        Cache {
            slots: Slab::default(),
            memory,
            used: 0,
            loads: 0,
            free: Vec::new(),
            pieces: 0,
            queue: FairQueue::default(),
            stretches: Stretches::default(),
        }
    }

    /// The extent in a slot.
    ///
    /// # Panics
    ///
    /// If the slot is empty. The cache hands out only slots that are not.
    pub fn slot(&self, slot: u32) -> &Slot {
        self.slots.get(slot).expect("an extent is in the slot")
    }
    /// The same, or nothing if the slot is empty.
    pub fn get(&self, slot: u32) -> Option<&Slot> {
        self.slots.get(slot)
    }
    pub(crate) fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        self.slots.get_mut(slot).expect("an extent is in the slot")
    }
    /// Whether the slot's extent may give its memory to another one.
    pub fn evictable(&self, slot: u32) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.state == State::Resident && slot.pins == 0)
    }
    /// Bytes that may be in use at once.
    pub fn memory(&self) -> u64 {
        self.memory
    }
    /// Bytes in use, reads under way included.
    pub fn used(&self) -> u64 {
        self.used
    }
    /// Extents in memory.
    pub fn residents(&self) -> impl Iterator<Item = &Slot> {
        let slots = (0..self.slots.places() as u32).filter_map(|slot| self.slots.get(slot));
        slots.filter(|slot| slot.state == State::Resident)
    }
    /// The extents of a file that are in memory, ascending, as ranges that do not touch.
    pub fn resident_in(&self, file: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        self.stretches.of(file)
    }
    /// Where the extents of a file are, ascending by extent.
    pub(crate) fn slots_of(&self, file: u32) -> Vec<u32> {
        let mut slots: Vec<u32> = (0..self.slots.places() as u32)
            .filter(|slot| self.slots.get(*slot).is_some_and(|slot| slot.file == file))
            .collect();
        slots.sort_by_key(|slot| self.slot(*slot).extent);
        slots
    }
    /// Pieces of memory that no extent has: a driver may give back what it keeps for them.
    pub fn free_memory(&self) -> &[u32] {
        &self.free
    }
    /// Extents that wait for the disk.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Puts an extent into the queue for the disk, for a party.
    pub(crate) fn enqueue(&mut self, party: u32, file: u32, extent: u32, bytes: u32) -> u32 {
        let slot = self.slots.insert(Slot {
            file,
            extent,
            bytes,
            state: State::Queued,
            memory: NOWHERE,
            pins: 0,
            load: 0,
            loaded: Time::NEVER,
            waiting: List::default(),
            orphan: false,
        });
        debug_assert_ne!(slot, NOWHERE);
        self.queue.push(party, slot);
        slot
    }

    /// A party waits for an extent, too, that another one has asked for.
    pub(crate) fn favour(&mut self, party: u32, slot: u32) {
        if self.slot(slot).state == State::Queued {
            self.queue.favour(party, slot);
        }
    }

    /// The first in the queue.
    pub(crate) fn next(&self) -> Option<u32> {
        self.queue.first()
    }

    pub(crate) fn fits(&self, slot: u32) -> bool {
        self.used + u64::from(self.slot(slot).bytes) <= self.memory
    }

    /// The disk begins with an extent from the queue.
    pub(crate) fn begin(&mut self, slot: u32) {
        self.queue.serve(slot);
        let memory = self.free.pop().unwrap_or_else(|| {
            self.pieces += 1;
            self.pieces - 1
        });
        let entry = self.slot_mut(slot);
        entry.state = State::Reading;
        entry.memory = memory;
        let bytes = u64::from(entry.bytes);
        self.used += bytes;
        debug_assert!(self.used <= self.memory);
    }

    /// The disk has brought an extent.
    pub(crate) fn load(&mut self, slot: u32, now: Time) {
        self.loads += 1;
        let load = self.loads;
        let entry = self.slot_mut(slot);
        entry.state = State::Resident;
        entry.load = load;
        entry.loaded = now;
        let (file, extent) = (entry.file, entry.extent);
        self.stretches.insert(file, extent);
    }

    /// Forgets an extent, wherever it is.
    pub(crate) fn drop(&mut self, slot: u32) -> Option<Slot> {
        let entry = self.slots.get(slot)?;
        if entry.state == State::Resident {
            self.stretches.remove(entry.file, entry.extent);
        }
        if entry.state == State::Queued {
            self.queue.remove(slot);
        } else {
            self.used -= u64::from(entry.bytes);
            self.free.push(entry.memory);
        }
        self.slots.remove(slot)
    }
}
