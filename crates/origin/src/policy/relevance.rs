use super::Policy;
use super::in_order::after_next;
use super::ranking::{Ranking, Worth};
use super::wanted::Wanted;
use crate::State;
use crate::world::{Choice, World};
use flashcrowd_base::prefetch;
use std::collections::VecDeque;

flashcrowd_base::settings! {
    /// Choice by relevance: the disk reads what most clients miss, and memory keeps it.
    ///
    /// A client takes what it misses of what is in memory; else it waits for something that is asked of the disk already;
    /// only else is something read for it. So a saturated disk has about one stream a file, not one a client, and a fast
    /// client that reads fills the holes of slow ones that are nearly done. It needs no region, no frontrunner and no
    /// independent clients; the name and the idea of a relevance function are those of Cooperative Scans (Zukowski et
    /// al., VLDB 2007).
    #[serde(default)]
    pub struct Relevance {
        /// The next extent for a client is read when at most this many of its blocks in memory are left, if the disk is
        /// idle; 0 for never before it waits.
        #[max(64)]
        pub ahead: u32,
    }
}

impl Default for Relevance {
    fn default() -> Relevance {
        Relevance { ahead: 16 }
    }
}

/// Requests to the disk that are looked through for one that a client could wait for.
const LOOKS: usize = 16;

#[derive(Debug, Default)]
struct Shelf {
    wanted: Wanted,
    /// Loads from the disk, oldest first: the how many-th load, and the slot. Some are gone.
    loads: VecDeque<(u64, u32)>,
    /// How much of it is not.
    there: usize,
}

/// A line of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Member {
    /// The extent that it is being sent.
    current: u32,
    /// The last load of which it misses nothing that it is not being sent already, and nothing of those before.
    seen: u64,
    /// The load behind that of which it misses something, and its slot, if that was looked for since `current` began.
    coming: Option<(u64, u32)>,
    /// The extent that it has been sent a part of: its slot and its load.
    holds: Option<(u32, u64)>,
}

#[derive(Debug)]
pub(super) struct RelevancePolicy {
    ahead: u32,
    shelves: Vec<Shelf>,
    members: Vec<Member>,
    /// The extents in memory.
    ranking: Ranking,
    /// For each slot the clients that are in the midst of it.
    holders: Vec<u32>,
}

impl RelevancePolicy {
    pub(super) fn new(settings: &Relevance) -> RelevancePolicy {
        RelevancePolicy {
            ahead: settings.ahead,
            shelves: Vec::new(),
            members: Vec::new(),
            ranking: Ranking::new(),
            holders: Vec::new(),
        }
    }

    /// Says which extent a client is in the midst of.
    fn hold(&mut self, world: &World, client: u32, holds: Option<(u32, u64)>) {
        let old = std::mem::replace(&mut self.members[client as usize].holds, holds);
        if old == holds {
            return;
        }
        if let Some((slot, load)) = old
            && is_there(world, load, slot)
        {
            let holders = &mut self.holders[slot as usize];
            *holders -= 1;
            if *holders == 0 {
                self.ranking.hold(slot, false);
            }
        }
        if let Some((slot, _)) = holds {
            let holders = &mut self.holders[slot as usize];
            *holders += 1;
            if *holders == 1 {
                self.ranking.hold(slot, true);
            }
        }
    }

    /// A client more, or fewer, misses what this one does.
    fn count(&mut self, world: &World, client: u32, clients: i32) {
        let (file, missing) = (world.file_of(client), world.needs(client).set());
        self.shelves[file as usize].wanted.add(missing, clients);
        self.ranking.add(file, missing, clients);
    }

    /// The oldest extent in memory that a client misses something of, without the one that it is being
    /// sent.
    fn oldest(&mut self, world: &World, client: u32) -> Option<u32> {
        let member = &mut self.members[client as usize];
        // Its misses change by what it is being sent, and by nothing else.
        if let Some((load, slot)) = member.coming
            && is_there(world, load, slot)
        {
            let extent = world.cache().slot(slot).extent;
            debug_assert!(world.needs(client).has_extent(extent) && extent != member.current);
            return Some(extent);
        }
        member.coming = None;
        let shelf = &self.shelves[world.file_of(client) as usize];
        if shelf.loads.back().is_none_or(|(load, _)| *load <= member.seen) {
            return None;
        }
        let needs = world.needs(client);
        let begin = shelf.loads.partition_point(|(load, _)| *load <= member.seen);
        for (load, slot) in shelf.loads.range(begin..) {
            if is_there(world, *load, *slot) {
                let extent = world.cache().slot(*slot).extent;
                if extent != member.current && needs.has_extent(extent) {
                    member.coming = Some((*load, *slot));
                    return Some(extent);
                }
            }
            member.seen = *load;
        }
        None
    }

    /// An extent that a client misses and that was asked of the disk.
    fn asked_for(&self, world: &World, client: u32) -> Option<u32> {
        let needs = world.needs(client);
        world.asked(world.file_of(client)).take(LOOKS).find(|extent| needs.has_extent(*extent))
    }

    /// The extent that is read for a client.
    fn relevant(&mut self, world: &World, client: u32) -> Option<u32> {
        let file = world.file(world.file_of(client));
        let from = file.position.map_or(0, |at| (at + 1) % file.layout.extents());
        self.shelves[world.file_of(client) as usize]
            .wanted
            .most_wanted(world.needs(client).set(), from)
    }
}

/// Whether what came with this load is still in memory.
fn is_there(world: &World, load: u64, slot: u32) -> bool {
    world.cache().get(slot).is_some_and(|slot| slot.state == State::Resident && slot.load == load)
}

impl Policy for RelevancePolicy {
    fn opened(&mut self, world: &World, file: u32) {
        let place = file as usize;
        self.shelves.resize_with(self.shelves.len().max(place + 1), Shelf::default);
        self.shelves[place].wanted = Wanted::new(world.file(file).layout.extents());
    }

    fn closed(&mut self, file: u32) {
        self.shelves[file as usize] = Shelf::default();
    }

    fn joined(&mut self, world: &World, client: u32) {
        let place = client as usize;
        self.members.resize(self.members.len().max(place + 1), Member::default());
        self.members[place] = Member { current: u32::MAX, seen: 0, coming: None, holds: None };
        self.count(world, client, 1);
    }

    fn left(&mut self, world: &World, client: u32) {
        self.hold(world, client, None);
        self.count(world, client, -1);
    }

    fn expect(&self, client: u32) {
        prefetch(&self.members[client as usize]);
    }

    fn choose(&mut self, world: &mut World, client: u32) -> Choice {
        let needs = world.needs(client);
        if needs.is_empty() {
            return Choice::Nothing;
        }
        let file = world.file_of(client);
        let current = self.members[client as usize].current;
        let here = match world.state(file, current) {
            // Of an extent that was begun the missing blocks are at hand; the set of all would be one more way to memory.
            Some(State::Resident) if needs.bits(current) != 0 => Some(current),
            _ => self.oldest(world, client),
        };
        if let Some(extent) = here
            && let Some(block) = needs.first_in(extent)
        {
            if extent != current {
                let member = &mut self.members[client as usize];
                (member.current, member.coming) = (extent, None);
            }
            return Choice::Send(block);
        }
        if let Some(extent) = self.asked_for(world, client) {
            return Choice::Wait(extent);
        }
        match self.relevant(world, client) {
            Some(extent) => Choice::Read(extent),
            None => {
                // More was asked for than is looked through.
                let missing = needs.next(0).map(|block| world.fetch(client, block));
                missing.unwrap_or(Choice::Nothing)
            }
        }
    }

    fn is_next(&self, world: &World, client: u32, block: u32) -> bool {
        let current = self.members[client as usize].current;
        world.layout(client).extent_of(block) == current
            && world.needs(client).first_in(current) == Some(block)
    }

    fn sent(&mut self, world: &World, client: u32, block: u32, slot: u32) {
        let extent = world.layout(client).extent_of(block);
        if world.needs(client).bits(extent) != 0 {
            self.hold(world, client, Some((slot, world.cache().slot(slot).load)));
        } else {
            self.shelves[world.file_of(client) as usize].wanted.lower(extent);
            self.ranking.lower(slot);
            self.hold(world, client, None);
        }
    }

    fn ahead(&mut self, world: &World, client: u32) -> Option<u32> {
        let (file, needs) = (world.file_of(client), world.needs(client));
        if self.ahead == 0 {
            return None;
        }
        if world.in_order(client) {
            return after_next(world, client, 0);
        }
        let current = self.members[client as usize].current;
        let left = match world.state(file, current) {
            Some(State::Resident) => needs.bits(current).count_ones(),
            _ => 0,
        };
        let little = left <= self.ahead;
        if !little
            || self.asked_for(world, client).is_some()
            || self.oldest(world, client).is_some()
        {
            return None;
        }
        self.relevant(world, client)
    }

    fn asked(&mut self, world: &World, slot: u32) {
        let entry = world.cache().slot(slot);
        self.shelves[entry.file as usize].wanted.comes(entry.extent);
    }

    fn loaded(&mut self, world: &World, slot: u32) {
        let entry = world.cache().slot(slot);
        let shelf = &mut self.shelves[entry.file as usize];
        let clients = shelf.wanted.of(entry.extent);
        shelf.loads.push_back((entry.load, slot));
        shelf.there += 1;
        self.holders.resize(self.holders.len().max(slot as usize + 1), 0);
        self.holders[slot as usize] = 0;
        let worth = Worth { held: false, clients, load: entry.load, slot };
        self.ranking.insert(entry.file, entry.extent, worth);
    }

    fn gone(&mut self, world: &World, slot: u32) {
        let entry = world.cache().slot(slot);
        let shelf = &mut self.shelves[entry.file as usize];
        shelf.wanted.goes(entry.extent);
        if entry.state != State::Resident {
            return;
        }
        self.ranking.remove(slot);
        shelf.there -= 1;
        if shelf.loads.len() > 2 * shelf.there + 16 {
            let (load, gone) = (entry.load, slot);
            shelf
                .loads
                .retain(|(at, slot)| is_there(world, *at, *slot) && (*at, *slot) != (load, gone));
        }
    }

    fn victim(&mut self, world: &World) -> Option<u32> {
        self.ranking.first(|slot| world.cache().evictable(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Doing;
    use crate::policy::testing::{BLOCK, blocks, get, join, origin};
    use crate::{ClientId, FileId, Origin, Output, Request, Scheduling, Settings};
    use flashcrowd_base::Time;
    use proptest::prelude::*;
    use std::slice;

    fn relevance() -> Scheduling {
        Scheduling::Relevance(Relevance { ahead: 0 })
    }

    /// Whether a block, which is an extent, is in memory.
    fn has(origin: &Origin, block: u32) -> bool {
        origin.world().state(0, block) == Some(State::Resident)
    }

    #[test]
    fn a_newcomer_takes_what_is_in_memory_and_then_leads() {
        let (mut origin, file) = origin(relevance(), 20);
        let first = origin.join(Time::START, file, Request::ANY_ORDER);
        get(&mut origin, first, 50, true);
        let kept: Vec<u64> = (0..50).filter(|block| has(&origin, *block as u32)).collect();
        let reads = origin.counters().reads;
        let second = origin.join(Time::START, file, Request::ANY_ORDER);
        assert_eq!(get(&mut origin, second, kept.len(), true), kept);
        assert_eq!(origin.counters().reads, reads);
        // The disk goes on where it was, and what the newcomer reads serves the other one.
        assert_eq!(get(&mut origin, second, 5, true), blocks(50..55));
        assert_eq!(get(&mut origin, first, 5, true), blocks(50..55));
        assert_eq!(origin.counters().reads, reads + 5);
    }

    #[test]
    fn the_disk_reads_what_most_clients_miss() {
        let (mut origin, file) = origin(relevance(), 20);
        for wanted in [700..710, 700..705, 300..310] {
            join(&mut origin, file, &[wanted]);
        }
        let all = origin.join(Time::START, file, Request::ANY_ORDER);
        // Three miss the first five, two the others; among equals the disk goes on from where it is.
        assert_eq!(get(&mut origin, all, 10, true), blocks(700..710));
        assert_eq!(get(&mut origin, all, 10, true), blocks(300..310));
    }

    #[test]
    fn who_has_nothing_in_memory_waits_for_what_is_being_read() {
        let (mut origin, file) = origin(relevance(), 20);
        let clients: Vec<_> =
            (0..3).map(|_| origin.join(Time::START, file, Request::ANY_ORDER)).collect();
        clients.iter().for_each(|client| origin.writable(Time::START, *client));
        let outputs: Vec<Output> = std::iter::from_fn(|| origin.poll()).collect();
        let [Output::Read { read, .. }] = outputs[..] else { panic!("{outputs:?}") };
        origin.completed(Time::START, read, true);
        let sends = std::iter::from_fn(|| origin.poll());
        assert_eq!(sends.filter(|output| matches!(output, Output::Send { .. })).count(), 3);
    }

    #[test]
    fn what_nobody_misses_goes_first() {
        let (mut origin, file) = origin(relevance(), 20);
        // Another client misses blocks 0 to 9, and no other 10 to 17.
        join(&mut origin, file, slice::from_ref(&(0..10)));
        let reader = join(&mut origin, file, &[0..18, 500..510]);
        get(&mut origin, reader, 28, true);
        assert!((0..10).all(|block| has(&origin, block)));
        assert!((10..18).all(|block| !has(&origin, block)));
    }

    /// The policy, and beside it what is in memory, sorted each time by what all clients miss.
    #[derive(Debug)]
    struct Sorted(RelevancePolicy);

    impl Sorted {
        fn check(&self, world: &World) {
            let missing = |file: u32, extent: u32| {
                let clients = world.clients.iter().filter(|client| client.doing != Doing::Gone);
                let of_file = clients.filter(|client| client.file == file);
                of_file.filter(|client| client.needs.has_extent(extent)).count() as i32
            };
            let mut worths = vec![];
            for (number, file) in (0..).zip(&world.files) {
                for extent in 0..file.layout.extents() {
                    if world.state(number, extent) == Some(State::Resident)
                        && let Some(slot) = world.slot_of(number, extent)
                    {
                        let load = world.cache().slot(slot).load;
                        let holds = Some((slot, load));
                        let held = self.0.members.iter().any(|member| member.holds == holds);
                        worths.push((held, missing(number, extent), load, slot));
                    }
                }
            }
            worths.sort();
            let sorted: Vec<u32> = worths.iter().map(|(.., slot)| *slot).collect();
            for rank in 0..=sorted.len() {
                let first = self.0.ranking.first(|slot| !sorted[..rank].contains(&slot));
                assert_eq!(first, sorted.get(rank).copied());
            }
        }
    }

    impl Policy for Sorted {
        fn opened(&mut self, world: &World, file: u32) {
            self.0.opened(world, file);
        }
        fn closed(&mut self, file: u32) {
            self.0.closed(file);
        }
        fn joined(&mut self, world: &World, client: u32) {
            self.0.joined(world, client);
            self.check(world);
        }
        fn left(&mut self, world: &World, client: u32) {
            self.0.left(world, client);
        }
        fn choose(&mut self, world: &mut World, client: u32) -> Choice {
            self.check(world);
            self.0.choose(world, client)
        }
        fn sent(&mut self, world: &World, client: u32, block: u32, slot: u32) {
            self.0.sent(world, client, block, slot);
            self.check(world);
        }
        fn ahead(&mut self, world: &World, client: u32) -> Option<u32> {
            self.0.ahead(world, client)
        }
        fn asked(&mut self, world: &World, slot: u32) {
            self.0.asked(world, slot);
        }
        fn loaded(&mut self, world: &World, slot: u32) {
            self.0.loaded(world, slot);
            self.check(world);
        }
        fn gone(&mut self, world: &World, slot: u32) {
            self.0.gone(world, slot);
        }
        fn victim(&mut self, world: &World) -> Option<u32> {
            self.check(world);
            self.0.victim(world)
        }
    }

    proptest! {
        /// Clients come, take blocks and go, on several files: what gives up its memory is what it would be if the
        /// worth of all that is in memory were counted each time.
        #[test]
        fn what_goes_is_what_is_worth_least(
            ahead in 0u32..20,
            memory in 8u64..40,
            steps in prop::collection::vec((0u8..8, 0usize..100, 0u64..200, 0u64..100), 1..150),
        ) {
            let settings = Settings {
                extent_bytes: 4 * BLOCK as u32,
                memory_bytes: 4 * memory * BLOCK,
                ..Settings::default()
            };
            let policy = Sorted(RelevancePolicy::new(&Relevance { ahead }));
            let mut origin = Origin::with_policy(&settings, Box::new(policy)).unwrap();
            let files = [201, 90, 3].map(|blocks| origin.open(blocks * BLOCK).unwrap());
            let mut clients: Vec<ClientId> = vec![];
            for (step, at, begin, many) in steps {
                let file: FileId = files[at % 3];
                match step {
                    0 => clients.push(origin.join(Time::START, file, Request::ANY_ORDER)),
                    1 => clients.push(origin.join(Time::START, file, Request::IN_ORDER)),
                    2 => {
                        let ranges = [begin..begin + many, begin / 2..begin / 2 + 2];
                        clients.push(join(&mut origin, file, &ranges));
                    }
                    3 if !clients.is_empty() => {
                        let client = clients.swap_remove(at % clients.len());
                        origin.leave(Time::START, client);
                    }
                    _ if !clients.is_empty() => {
                        let client = clients[at % clients.len()];
                        get(&mut origin, client, many as usize, many % 8 != 0);
                    }
                    _ => {}
                }
            }
        }
    }
}
