use super::Policy;
use super::in_order::after_next;
use super::region::Region;
use crate::State;
use crate::replacement::{Replacement, Store};
use crate::world::{Choice, World};
use flashcrowd_base::prefetch;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

flashcrowd_base::settings! {
    /// The active region of Circus (circus2004), which the fastest client moves.
    ///
    /// Anastasiadis, Wickremesinghe and Chase, FAST 2004: what is in memory of a file is its *active region*, which trails
    /// the fastest client, the *frontrunner*. *Followers* get what they miss of the region. A client that has most of the
    /// file and finds nothing more in the region becomes *independent*, and gets the rest wherever it is.
    ///
    /// The pseudocode of the paper (its figure 5) could not be read. Each reading of it that could be another one is a
    /// field here; the defaults reproduce the published figures.
    #[serde(default)]
    pub struct Circus {
        /// The active length: the size of the region. With more files than memory has room for regions, all are as much
        /// shorter.
        ///
        /// The paper's is 16 MB.
        #[min(1)]
        pub active_bytes: u64,
        /// Blocks that are chosen for a client before its socket has room for them.
        ///
        /// The paper's is 5.
        #[min(1)]
        #[max(4096)]
        pub queue: u32,
        /// The part of a file that a client must have before it may take what is outside the region.
        ///
        /// The client threshold; the paper's is 0.75.
        #[min(0.0)]
        #[max(1.0)]
        #[file("unit" = "share")]
        pub threshold: f64,
        /// How far ahead of the region's begin a block must be, in active lengths, for its client to move the region.
        ///
        /// The leapfront factor; the paper's is 1.
        #[min(0.0)]
        #[max(1000.0)]
        pub leapfront: f64,
        /// Whether a newcomer begins with what it misses of the region, or at the beginning of the file, in whose order it
        /// then goes on, without moving the region, until it comes there.
        pub begin: Begin,
        /// Which way a client goes through the region: in the order of the file, so that it first gets what leaves the
        /// region first, or against it.
        pub follow: Follow,
        /// Whether the block of the client that moves the region is its last or its first one.
        pub slide: Slide,
        /// When a client that has passed the threshold takes what is outside the region: from when the region has nothing
        /// for it, while it has nothing for it, or at once.
        pub independence: Independence,
        /// How far a client may move the region, in blocks for each block that its socket has accepted, beside one active
        /// length; 0 for as far as it likes, as in the paper.
        ///
        /// A client that asks for few blocks far from each other would otherwise drag the region from all others.
        #[min(0.0)]
        #[max(1e6)]
        pub lead_bound: f64,
        /// Whether the next extent is read while the client that moves the region is sent the one before, if the disk has
        /// nothing else to do.
        pub read_ahead: bool,
        /// Whether the region stays in memory whatever `replacement` says. The paper left it to the operating system.
        pub pin_region: bool,
        /// What is kept of the rest.
        pub replacement: Replacement,
    }
}

/// Where a newcomer begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// With what it misses of the region.
    #[default]
    Region,
    /// At the beginning of the file. It goes on in the order of the file, without moving the region, until it comes to
    /// the region.
    File,
}

/// Which way a follower goes through the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// In the order of the file: first what leaves the region first.
    #[default]
    OldestFirst,
    /// Against it, from what was read last. Each choice looks at the extents of the region one after the other.
    NewestFirst,
}

/// Where the region goes when a client leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Slide {
    /// The leader's block is its last one: the region trails the leader, and is what the leader read last.
    #[default]
    Trail,
    /// The leader's block is its first one.
    Jump,
}

/// When a client that has passed the threshold becomes independent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Independence {
    /// When the region has nothing for it, and for good.
    #[default]
    RegionEmpty,
    /// While the region has nothing for it: it follows again when the region has come to what it misses.
    WhileEmpty,
    /// At once.
    AtThreshold,
}

impl Default for Circus {
    fn default() -> Circus {
        Circus {
            active_bytes: 16 << 20,
            queue: 5,
            threshold: 0.75,
            leapfront: 1.0,
            begin: Begin::Region,
            follow: Follow::OldestFirst,
            slide: Slide::Trail,
            independence: Independence::RegionEmpty,
            lead_bound: 4.0,
            read_ahead: true,
            pin_region: true,
            replacement: Replacement::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Member {
    /// The client cursor: the block that was chosen last.
    cursor: u32,
    /// Blocks that it has been sent or that are in its queue.
    chosen: u32,
    independent: bool,
    /// Whether it is on its way from the beginning of the file to the region.
    on_its_way: bool,
    /// Blocks that it has moved the region by.
    moved: u64,
    queue: VecDeque<u32>,
}

/// The regions of all files.
#[derive(Debug)]
struct Regions {
    active_bytes: u64,
    all: Vec<Region>,
}

impl Regions {
    /// The region of a file, as long as memory allows with the active files.
    fn of(&self, world: &World, file: u32) -> Region {
        let layout = world.file(file).layout;
        let share = world.memory_at_rest() / u64::from(world.active_files().max(1));
        let wanted = self.active_bytes.min(share) / layout.block_size();
        let min = layout.blocks_per_extent().min(layout.blocks());
        let length = wanted.min(u64::from(layout.blocks())) as u32;
        Region { length: length.max(min), ..self.all[file as usize] }
    }

    /// Whether an extent is in the region of a file that has downloads.
    fn keep(&self, world: &World, slot: u32) -> bool {
        let slot = world.cache().slot(slot);
        let file = world.file(slot.file);
        let begin = file.layout.first_block(slot.extent);
        let end = (begin + file.layout.blocks_per_extent()).min(file.layout.blocks());
        file.clients > 0 && self.of(world, slot.file).touches(begin..end)
    }
}

#[derive(Debug)]
pub(super) struct CircusPolicy {
    settings: Circus,
    regions: Regions,
    members: Vec<Member>,
    store: Store,
}

impl CircusPolicy {
    pub(super) fn new(settings: &Circus) -> CircusPolicy {
        CircusPolicy {
            settings: settings.clone(),
            regions: Regions { active_bytes: settings.active_bytes, all: Vec::new() },
            members: Vec::new(),
            store: Store::new(settings.replacement),
        }
    }

    /// The next block of a client; nothing if all is chosen.
    fn select(&mut self, world: &World, client: u32) -> Option<u32> {
        let file = world.file_of(client);
        let region = self.regions.of(world, file);
        let member = &mut self.members[client as usize];
        let needs = world.needs(client);
        let nearly_done =
            f64::from(member.chosen) >= self.settings.threshold * f64::from(region.blocks);
        if nearly_done && self.settings.independence == Independence::AtThreshold {
            member.independent = true;
        }
        if member.on_its_way {
            let block = needs.next_around(member.cursor)?;
            if !region.contains(block) {
                return Some(block);
            }
            member.on_its_way = false;
        }
        if !member.independent {
            let cursor = if region.contains(member.cursor) { member.cursor } else { region.begin };
            let follows = match self.settings.follow {
                Follow::OldestFirst => {
                    let mut pieces = region.around(cursor).into_iter();
                    pieces.find_map(|piece| needs.next_within(piece))
                }
                Follow::NewestFirst => {
                    let mut pieces = region.around(region.begin).into_iter().rev();
                    pieces.find_map(|piece| needs.last_within(piece))
                }
            };
            if follows.is_some() {
                return follows;
            }
            if !nearly_done {
                let block = needs.next_around(region.step(region.begin, region.length))?;
                self.lead(world, client, region, block);
                return Some(block);
            }
            member.independent = self.settings.independence != Independence::WhileEmpty;
        }
        needs.next_around(member.cursor)
    }

    /// Moves the region to a client's block, if that is far enough ahead and the client may.
    fn lead(&mut self, world: &World, client: u32, region: Region, block: u32) {
        let ahead = f64::from(region.distance(block));
        if ahead < self.settings.leapfront * f64::from(region.length) {
            return;
        }
        let there = match self.settings.slide {
            Slide::Trail => region.ending_with(block),
            Slide::Jump => region.at(block),
        };
        let member = &mut self.members[client as usize];
        let by = u64::from(region.distance(there.begin));
        let accepted = (world.accepted(client) / world.layout(client).block_size()) as f64;
        let may = self.settings.lead_bound * accepted + f64::from(region.length);
        if self.settings.lead_bound > 0.0 && (member.moved + by) as f64 > may {
            return;
        }
        member.moved += by;
        self.regions.all[world.file_of(client) as usize].begin = there.begin;
    }
}

impl Policy for CircusPolicy {
    fn opened(&mut self, world: &World, file: u32) {
        let blocks = world.file(file).layout.blocks();
        let (all, place) = (&mut self.regions.all, file as usize);
        all.resize(all.len().max(place + 1), Region::default());
        all[place] = Region { begin: 0, length: 0, blocks };
    }
    fn closed(&mut self, file: u32) {
        self.store.closed(file);
    }
    fn joined(&mut self, world: &World, client: u32) {
        let place = client as usize;
        self.members.resize_with(self.members.len().max(place + 1), Member::default);
        let region = self.regions.all[world.file_of(client) as usize];
        let member = &mut self.members[place];
        let mut queue = std::mem::take(&mut member.queue);
        queue.clear();
        // Blocks that a client that resumes does not need count as sent.
        let chosen = region.blocks - world.needs(client).blocks();
        let on_its_way = self.settings.begin == Begin::File;
        let cursor = if on_its_way { 0 } else { region.begin };
        *member = Member { cursor, chosen, independent: false, on_its_way, moved: 0, queue };
    }
    fn left(&mut self, _world: &World, client: u32) {
        self.members[client as usize].queue.clear();
    }

    fn expect(&self, client: u32) {
        prefetch(&self.members[client as usize]);
    }

    fn choose(&mut self, world: &mut World, client: u32) -> Choice {
        while self.members[client as usize].queue.len() < self.settings.queue as usize {
            let Some(block) = self.select(world, client) else { break };
            world.choose(client, block);
            let member = &mut self.members[client as usize];
            member.cursor = block;
            member.chosen += 1;
            member.queue.push_back(block);
        }
        match self.members[client as usize].queue.front() {
            Some(block) => world.fetch(client, *block),
            None => Choice::Nothing,
        }
    }

    /// By the queue alone: a choice beyond it may move the region, which is for the time when the socket has room.
    fn is_next(&self, _world: &World, client: u32, block: u32) -> bool {
        self.members[client as usize].queue.front() == Some(&block)
    }

    fn sent(&mut self, world: &World, client: u32, block: u32, slot: u32) {
        let member = &mut self.members[client as usize];
        if member.queue.front() == Some(&block) {
            member.queue.pop_front();
        }
        self.store.touch(slot, world.begins_extent(client, block));
    }

    fn ahead(&mut self, world: &World, client: u32) -> Option<u32> {
        if !self.settings.read_ahead {
            return None;
        }
        if world.in_order(client) {
            return after_next(world, client, 0);
        }
        let (file, layout) = (world.file_of(client), world.layout(client));
        let absent = |extent: &u32| world.slot_of(file, *extent).is_none();
        // What is in the queue and not in memory.
        let queue = &self.members[client as usize].queue;
        if let Some(extent) = queue.iter().map(|block| layout.extent_of(*block)).find(absent) {
            return Some(extent);
        }
        // A client at the end of the region reads on.
        let region = self.regions.of(world, file);
        let cursor = self.members[client as usize].cursor;
        let near = layout.blocks_per_extent();
        if region.distance(cursor) + near < region.length || !region.contains(cursor) {
            return None;
        }
        let behind = layout.first_block(layout.extent_of(cursor) + 1);
        let block = world.needs(client).next_around(behind.min(layout.blocks()))?;
        Some(layout.extent_of(block)).filter(absent)
    }

    fn region(&self, world: &World, file: u32) -> Option<Range<u32>> {
        let region = self.regions.of(world, file);
        Some(region.begin..region.begin + region.length)
    }

    fn loaded(&mut self, world: &World, slot: u32) {
        debug_assert_eq!(world.cache().slot(slot).state, State::Resident);
        self.store.loaded(world, slot);
    }
    fn gone(&mut self, world: &World, slot: u32) {
        self.store.gone(world, slot);
    }
    fn victim(&mut self, world: &World) -> Option<u32> {
        let (pins, regions) = (self.settings.pin_region, &self.regions);
        self.store.victim(world, |slot| pins && regions.keep(world, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{BLOCK, blocks, get, join};
    use crate::{FileId, Origin, Request, Scheduling, policy::testing};
    use flashcrowd_base::Time;
    use std::slice;

    /// An origin of one file of 1000 blocks, which are extents, with a region of 10.
    fn origin(change: impl FnOnce(&mut Circus)) -> (Origin, FileId) {
        let mut circus =
            Circus { active_bytes: 10 * BLOCK, queue: 1, read_ahead: false, ..Circus::default() };
        change(&mut circus);
        testing::origin(Scheduling::Circus(circus), 20)
    }

    #[test]
    fn a_follower_gets_the_region_and_then_leads() {
        let (mut origin, file) = origin(|_| {});
        let leader = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, leader, 50, true), blocks(0..50));
        assert_eq!(origin.region(0), Some(40 * BLOCK..50 * BLOCK));
        let reads = origin.counters().reads;
        // The region is what the leader read last. Nothing of it is read again.
        let follower = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, follower, 10, true), blocks(40..50));
        assert_eq!(origin.counters().reads, reads);
        // Now the follower leads, and the one that led finds what it needs in the region.
        assert_eq!(get(&mut origin, follower, 5, true), blocks(50..55));
        assert_eq!(get(&mut origin, leader, 6, true), blocks(50..56));
        assert_eq!(origin.counters().reads, reads + 6);
    }

    #[test]
    fn who_is_nearly_done_becomes_independent() {
        let (mut origin, file) = origin(|_| {});
        let other = origin.join(Time::START, file, Request::ANY_ORDER);
        get(&mut origin, other, 500, true);
        // It needs a tenth of the file, far from the region.
        let last = join(&mut origin, file, slice::from_ref(&(900..1000)));
        assert_eq!(get(&mut origin, last, 3, true), blocks(900..903));
        // The region is where it was: the other one goes on from there.
        let third = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, third, 10, true), blocks(490..500));
    }

    #[test]
    fn who_is_independent_for_a_while_follows_again() {
        let blocks = |independence| {
            let (mut origin, file) = origin(|circus| {
                circus.independence = independence;
                circus.threshold = 0.95;
            });
            let other = origin.join(Time::START, file, Request::ANY_ORDER);
            get(&mut origin, other, 500, true);
            let last = join(&mut origin, file, &[700..720, 740..760]);
            assert_eq!(get(&mut origin, last, 1, true), [700]);
            // The region comes to what it misses.
            get(&mut origin, other, 250, true);
            assert_eq!(origin.region(0), Some(740 * BLOCK..750 * BLOCK));
            get(&mut origin, last, 2, true)
        };
        assert_eq!(blocks(Independence::RegionEmpty), [701, 702]);
        assert_eq!(blocks(Independence::WhileEmpty), [740, 741]);
    }

    #[test]
    fn a_newcomer_may_begin_with_the_file() {
        let (mut origin, file) = origin(|circus| circus.begin = Begin::File);
        let leader = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, leader, 50, true), blocks(0..50));
        assert_eq!(origin.region(0), Some(40 * BLOCK..50 * BLOCK));
        // On its own, and the region stays, until it has come there.
        let reads = origin.counters().reads;
        let newcomer = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, newcomer, 30, true), blocks(0..30));
        assert_eq!(origin.counters().reads, reads + 30);
        assert_eq!(origin.region(0), Some(40 * BLOCK..50 * BLOCK));
        assert_eq!(get(&mut origin, newcomer, 25, true), blocks(30..55));
        assert_eq!(origin.region(0), Some(45 * BLOCK..55 * BLOCK));
    }

    #[test]
    fn a_follower_may_go_against_the_order_of_the_file() {
        let (mut origin, file) = origin(|circus| circus.follow = Follow::NewestFirst);
        let leader = origin.join(Time::START, file, Request::ANY_ORDER);
        get(&mut origin, leader, 50, true);
        let follower = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, follower, 3, true), [49, 48, 47]);
        get(&mut origin, leader, 2, true);
        assert_eq!(get(&mut origin, follower, 4, true), [51, 50, 46, 45]);
        // 42 to 51 is the region; then it leads.
        assert_eq!(get(&mut origin, follower, 4, true), [44, 43, 42, 52]);
    }

    /// The region's first block: what a newcomer begins with.
    fn region(origin: &mut Origin, file: FileId) -> u64 {
        let newcomer = origin.join(Time::START, file, Request::ANY_ORDER);
        let first = get(origin, newcomer, 1, true)[0];
        origin.leave(Time::START, newcomer);
        first
    }

    /// A client that asks for one block in 20.
    #[test]
    fn a_leader_moves_the_region_by_what_its_socket_has_accepted() {
        let sparse: Vec<_> = (0..50).map(|at| 20 * at..20 * at + 1).collect();
        let after = |lead_bound: f64| {
            let (mut origin, file) = origin(|circus| {
                circus.lead_bound = lead_bound;
                circus.threshold = 1.0;
            });
            let dragger = join(&mut origin, file, &sparse);
            assert_eq!(get(&mut origin, dragger, 25, true).len(), 25);
            region(&mut origin, file)
        };
        // Without a bound it drags the region 20 blocks for each that it takes; with one of 2, 2 and one region.
        assert_eq!(after(0.0), 24 * 20 - 9);
        assert!(after(2.0) <= 25 * 2 + 10, "{}", after(2.0));
    }

    #[test]
    fn a_socket_that_accepts_nothing_moves_nothing() {
        let (mut origin, file) = origin(|circus| circus.queue = 4);
        let dead = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, dead, 100, false).len(), 1);
        assert_eq!(region(&mut origin, file), 0);
    }

    /// The queue is of blocks that were chosen before: what goes out of memory meanwhile is read again.
    #[test]
    fn a_long_queue_is_stale() {
        let reads = |queue: u32| {
            let (mut origin, file) = origin(|circus| circus.queue = queue);
            let slow = origin.join(Time::START, file, Request::ANY_ORDER);
            let fast = origin.join(Time::START, file, Request::ANY_ORDER);
            get(&mut origin, slow, 1, true);
            for _ in 0..20 {
                get(&mut origin, fast, 20, true);
                get(&mut origin, slow, 1, true);
            }
            origin.counters().reads
        };
        assert!(reads(1) < reads(50), "{} {}", reads(1), reads(50));
    }
}
