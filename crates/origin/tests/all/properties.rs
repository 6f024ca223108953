//! Whatever clients, sockets, disk and files do, and under every policy: a client that stays gets each byte that it
//! asked for once, out of memory that holds it; memory and queues keep their bounds; no client waits longer than the
//! queue before it.
#![allow(clippy::unwrap_used, reason = "a test")]

use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_origin::disk::{HardDisk, Medium, NetworkVolume, Positioning, Ssd};
use flashcrowd_origin::{
    Attach, Begin, Circus, ClientId, Failure, FileId, Follow, InOrder, Independence, Origin,
    Output, ReadId, Relevance, Replacement, Request, Scheduling, Settings, Slide, State,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const BLOCK: u32 = 4096;

fn replacement() -> impl Strategy<Value = Replacement> {
    prop_oneof![Just(Replacement::Lru), Just(Replacement::S3Fifo)]
}

fn circus() -> impl Strategy<Value = Scheduling> {
    let knobs = (1u64..200_000, 1u32..8, 0.0..=1.0, 0.0..4.0, prop_oneof![Just(0.0), 0.1..5.0]);
    let independence = prop_oneof![
        Just(Independence::RegionEmpty),
        Just(Independence::WhileEmpty),
        Just(Independence::AtThreshold),
    ];
    let others = (independence, replacement());
    (knobs, any::<[bool; 5]>(), others).prop_map(|(knobs, switches, others)| {
        let (active_bytes, queue, threshold, leapfront, lead_bound) = knobs;
        let [with_the_file, newest, jump, read_ahead, pin_region] = switches;
        let (independence, replacement) = others;
        Scheduling::Circus(Circus {
            active_bytes,
            queue,
            threshold,
            leapfront,
            begin: if with_the_file { Begin::File } else { Begin::Region },
            follow: if newest { Follow::NewestFirst } else { Follow::OldestFirst },
            slide: if jump { Slide::Jump } else { Slide::Trail },
            independence,
            lead_bound,
            read_ahead,
            pin_region,
            replacement,
        })
    })
}

fn scheduling() -> impl Strategy<Value = Scheduling> {
    let in_order =
        |(read_ahead, replacement)| Scheduling::InOrder(InOrder { read_ahead, replacement });
    let attach = |(read_ahead, replacement)| Scheduling::Attach(Attach { read_ahead, replacement });
    prop_oneof![
        (any::<bool>(), replacement()).prop_map(in_order),
        (any::<bool>(), replacement()).prop_map(attach),
        circus(),
        (0u32..=64).prop_map(|ahead| Scheduling::Relevance(Relevance { ahead })),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    (scheduling(), 0u32..=4, 1u32..=3, 0u64..100_000).prop_map(
        |(scheduling, shift, reads, more)| {
            let extent_bytes = BLOCK << shift;
            Settings {
                block_bytes: BLOCK,
                extent_bytes,
                memory_bytes: u64::from(extent_bytes) * (u64::from(reads) + 2) + more,
                reads,
                patience_ns: Span::from_secs(10),
                scheduling,
            }
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    Join {
        file: usize,
        ranges: Option<Vec<Range<u64>>>,
        in_order: bool,
    },
    Leave(usize),
    Writable(usize),
    Expect(usize),
    Lengthen(usize),
    Accept(usize, u32),
    Release(usize),
    Complete(usize, bool),
    /// A file goes, and another one of this length may come.
    Close(usize, Option<u64>),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0usize..1000;
    let range = (0u64..400_000, 0u64..100_000).prop_map(|(begin, many)| begin..begin + many);
    let ranges = prop::option::of(prop::collection::vec(range, 0..5));
    prop_oneof![
        4 => (at.clone(), ranges, any::<bool>())
            .prop_map(|(file, ranges, in_order)| Step::Join { file, ranges, in_order }),
        1 => at.clone().prop_map(Step::Leave),
        20 => at.clone().prop_map(Step::Writable),
        2 => at.clone().prop_map(Step::Expect),
        10 => at.clone().prop_map(Step::Lengthen),
        20 => (at.clone(), 1u32..2 * BLOCK).prop_map(|(client, bytes)| Step::Accept(client, bytes)),
        1 => at.clone().prop_map(Step::Release),
        10 => (at.clone(), prop::bool::weighted(0.97)).prop_map(|(read, ok)| Step::Complete(read, ok)),
        1 => (at.prop_filter("seldom", |at| at.is_multiple_of(8)), prop::option::of(length()))
            .prop_map(|(file, next)| Step::Close(file, next)),
        2 => (0u64..4000).prop_map(Step::Pass),
    ]
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0u64), 1u64..400_000]
}

#[derive(Debug)]
struct Member {
    file: FileId,
    in_order: bool,
    wanted: BTreeSet<u64>,
    got: BTreeSet<u64>,
    /// Of the block that its socket has: the slot, bytes still to accept, and whether the memory is still referred to.
    block: Option<(u32, u32, bool)>,
    /// Where in the file that ends.
    end: u64,
    /// It waits for the disk, and the read with its block is one of this number of first ones.
    waits: Option<usize>,
    seen: Time,
}

/// A driver that checks its inputs.
struct Driver {
    origin: Origin,
    /// Files that were opened, some of them closed, and their lengths.
    files: Vec<FileId>,
    lengths: BTreeMap<FileId, u64>,
    now: Time,
    members: BTreeMap<ClientId, Member>,
    /// Reads under way: the how many-th of all it is, and its slot.
    reads: BTreeMap<ReadId, (usize, u32)>,
    begun: usize,
    /// What is in each slot: file, offset, length, and whether the disk has brought it.
    slots: BTreeMap<u32, (FileId, u64, u32, bool)>,
    ended: Vec<(ClientId, Failure)>,
    /// The number of parties that share the clients.
    parties: u32,
    joined: u32,
}

impl Driver {
    fn new(settings: &Settings, lengths: &[u64], parties: u32) -> Driver {
        let mut origin = Origin::new(settings).unwrap();
        let files: Vec<FileId> =
            lengths.iter().map(|length| origin.open(*length).unwrap()).collect();
        Driver {
            origin,
            lengths: files.iter().copied().zip(lengths.iter().copied()).collect(),
            files,
            now: Time::START,
            members: BTreeMap::new(),
            reads: BTreeMap::new(),
            begun: 0,
            slots: BTreeMap::new(),
            ended: Vec::new(),
            parties,
            joined: 0,
        }
    }

    /// What is reported in memory of a file is.
    fn check_residents(&self) {
        let world = self.origin.world();
        for number in self.files.iter().map(|file| file.number() as u32) {
            let said = world.cache().resident_in(number).flatten();
            let is_there = |extent: &u32| world.state(number, *extent) == Some(State::Resident);
            assert!(said.eq((0..world.file(number).layout.extents()).filter(is_there)));
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.origin.poll() {
            match output {
                Output::Read { read, file, offset, length, slot } => {
                    let settings = self.origin.settings();
                    let left = self.lengths[&file] - offset;
                    assert_eq!(u64::from(length), left.min(u64::from(settings.extent_bytes)));
                    assert_eq!(offset % u64::from(settings.extent_bytes), 0);
                    let refers = |m: &Member| matches!(m.block, Some((s, _, true)) if s == slot);
                    assert!(!self.members.values().any(refers), "memory in use is read into");
                    self.slots.insert(slot, (file, offset, length, false));
                    self.reads.insert(read, (self.begun, slot));
                    self.begun += 1;
                    assert!(self.reads.len() <= settings.reads as usize);
                }
                Output::Send { client, file, offset, length, slot, begin } => {
                    let member = self.members.get_mut(&client).unwrap();
                    let (there, at, bytes, brought) = self.slots[&slot];
                    assert!(brought, "not read yet");
                    assert_eq!((there, at + u64::from(begin)), (file, offset));
                    assert!(begin + length <= bytes);
                    assert_eq!(member.file, file);
                    assert_eq!(member.block, None, "a block before the one before was accepted");
                    assert_eq!(
                        u64::from(length),
                        (self.lengths[&file] - offset).min(u64::from(BLOCK))
                    );
                    let block = offset / u64::from(BLOCK);
                    assert!(member.wanted.contains(&block), "not asked for");
                    assert!(!member.in_order || member.got.iter().all(|other| *other < block));
                    assert!(member.got.insert(block), "twice");
                    member.block = Some((slot, length, true));
                    member.end = offset + u64::from(length);
                    member.waits = None;
                    member.seen = self.now;
                }
                Output::Done { client } => {
                    // A client that needs nothing is done before it is known.
                    if let Some(member) = self.members.remove(&client) {
                        assert_eq!(member.got, member.wanted);
                        assert_eq!(member.block, None);
                    }
                }
                Output::Failed { client, failure } => {
                    if let Some(member) = self.members.remove(&client)
                        && failure == Failure::Stalled
                    {
                        assert!(member.block.is_some());
                        assert!(self.now.since(member.seen) >= self.origin.settings().patience_ns);
                    }
                    self.ended.push((client, failure));
                }
            }
        }
        let world = self.origin.world();
        assert!(world.cache().used() <= self.origin.settings().memory_bytes);
        let queued = world.cache().queued();
        let waiting = self.members.values().filter(|member| member.waits.is_some()).count();
        assert!(queued <= waiting + 1, "{queued} {waiting}");
        // The disk may answer in any order: a client that waits, waits for one of the reads that were there when
        // it began.
        let first = self.reads.values().map(|(number, _)| *number).min().unwrap_or(self.begun);
        let ends = |member: &Member| member.waits.is_none_or(|bound| first < bound);
        // Among several parties a later read for another one may come before.
        assert!(self.parties > 1 || self.members.values().all(ends), "it waits too long");
        self.check_residents();
    }

    fn at(&self, client: usize) -> Option<ClientId> {
        self.members.keys().nth(client.checked_rem(self.members.len())?).copied()
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Join { file, ranges, in_order } => {
                let file = self.files[file % self.files.len()];
                let length = self.lengths[&file];
                let blocks = 0..length.div_ceil(u64::from(BLOCK));
                let touched = |block: &u64| {
                    let (begin, end) =
                        (block * u64::from(BLOCK), ((block + 1) * u64::from(BLOCK)).min(length));
                    let touches = |r: &Range<u64>| r.start.max(begin) < r.end.min(end);
                    ranges.as_ref().is_none_or(|ranges| ranges.iter().any(touches))
                };
                let member = Member {
                    file,
                    in_order: *in_order,
                    wanted: blocks.filter(touched).collect(),
                    got: BTreeSet::new(),
                    block: None,
                    end: 0,
                    waits: None,
                    seen: self.now,
                };
                let request = Request { ranges: ranges.as_deref(), in_order: *in_order };
                let party = self.joined % self.parties;
                self.joined += 1;
                let client = self.origin.join_for(self.now, member.file, request, party);
                self.members.insert(client, member);
            }
            Step::Leave(client) => {
                let Some(client) = self.at(*client) else { return };
                self.members.remove(&client);
                self.origin.leave(self.now, client);
            }
            Step::Writable(client) => {
                let Some(client) = self.at(*client) else { return };
                self.writable(client);
            }
            Step::Expect(first) => {
                // Those who are gone as well.
                let gone = self.ended.iter().map(|(client, _)| *client);
                let clients: Vec<ClientId> = self.members.keys().copied().chain(gone).collect();
                self.origin.expect(&clients[first % (clients.len() + 1)..]);
            }
            Step::Lengthen(client) => {
                let Some(client) = self.at(*client) else { return };
                self.lengthen(client);
            }
            Step::Accept(client, bytes) => {
                let Some(client) = self.at(*client) else { return };
                self.accept(client, *bytes);
            }
            Step::Release(client) => {
                let Some(client) = self.at(*client) else { return };
                if let Some((_, _, refers)) = &mut self.members.get_mut(&client).unwrap().block {
                    *refers = false;
                }
                self.origin.release(self.now, client);
            }
            Step::Complete(read, ok) => {
                let Some(place) = read.checked_rem(self.reads.len()) else { return };
                let read = *self.reads.keys().nth(place).unwrap();
                self.complete(read, *ok);
            }
            Step::Close(place, next) => {
                let place = place % self.files.len();
                self.origin.close(self.now, self.files[place]);
                self.drain();
                if let Some(length) = next {
                    let file = self.origin.open(*length).unwrap();
                    assert_eq!(self.lengths.insert(file, *length), None, "a file of before");
                    self.files[place] = file;
                }
            }
            Step::Pass(ms) => {
                self.now += Span::from_millis(*ms);
                if self.now >= self.origin.deadline() {
                    self.origin.elapsed(self.now);
                }
                assert!(self.now < self.origin.deadline());
            }
        }
        self.drain();
    }

    fn writable(&mut self, client: ClientId) {
        self.origin.writable(self.now, client);
        // Reads that began before are numbered up to here, and the last of those in the queue may be its own.
        let longest = self.origin.longest_wait() - 1;
        let answered = self.begun - self.reads.len();
        let member = self.members.get_mut(&client).unwrap();
        if member.block.is_none() && member.waits.is_none() {
            // If its block comes at once, that is taken back.
            member.waits = Some(answered + longest);
        }
    }

    /// Several blocks at a time, as far as they lie in the extent that is referred to.
    fn lengthen(&mut self, client: ClientId) {
        let member = self.members.get_mut(&client).unwrap();
        let Some(length) = self.origin.lengthen(self.now, client, member.end) else { return };
        let (slot, left, refers) = member.block.as_mut().unwrap();
        let (file, at, bytes, brought) = self.slots[slot];
        assert!(*refers && brought && file == member.file);
        assert!(at <= member.end && member.end + u64::from(length) <= at + u64::from(bytes));
        let rest = self.lengths[&file] - member.end;
        assert_eq!(u64::from(length), rest.min(u64::from(BLOCK)));
        let block = member.end / u64::from(BLOCK);
        assert!(!member.in_order || member.got.iter().all(|other| *other < block));
        assert!(member.wanted.contains(&block) && member.got.insert(block));
        *left += length;
        member.end += u64::from(length);
    }

    fn accept(&mut self, client: ClientId, bytes: u32) {
        let member = self.members.get_mut(&client).unwrap();
        if let Some((_, left, _)) = &mut member.block {
            let bytes = bytes.min(*left);
            *left -= bytes;
            if *left == 0 {
                member.block = None;
            }
            member.seen = self.now;
            self.origin.accepted(self.now, client, bytes);
        }
    }

    fn complete(&mut self, read: ReadId, brought: bool) {
        let (_, slot) = self.reads.remove(&read).unwrap();
        self.slots.get_mut(&slot).unwrap().3 = brought;
        self.origin.completed(self.now, read, brought);
    }
}

/// The blocks of a file of 40 extents in the order in which a client gets them that takes any, after another one has got a part of the
/// file; and how many were added to others. The disk answers at once.
fn order(scheduling: &Scheduling, lengthens: bool) -> (Vec<u64>, usize) {
    let extent = 16 * u64::from(BLOCK);
    let settings = Settings {
        block_bytes: BLOCK,
        extent_bytes: extent as u32,
        memory_bytes: 10 * extent,
        scheduling: scheduling.clone(),
        ..Settings::default()
    };
    let mut origin = Origin::new(&settings).unwrap();
    let file = origin.open(40 * extent).unwrap();
    let holes = [5_000..9_000, 40_000..20 * extent, 21 * extent + 3..39 * extent];
    let (mut blocks, mut added) = (Vec::new(), 0);
    for ranges in [std::slice::from_ref(&(12 * extent..17 * extent)), &holes] {
        blocks.clear();
        let request = Request { ranges: Some(ranges), in_order: false };
        let client = origin.join(Time::START, file, request);
        let mut is_there = true;
        while is_there {
            origin.writable(Time::START, client);
            while let Some(output) = origin.poll() {
                match output {
                    Output::Read { read, .. } => origin.completed(Time::START, read, true),
                    Output::Send { offset, length, .. } => {
                        blocks.push(offset / u64::from(BLOCK));
                        let mut end = offset + u64::from(length);
                        for _ in 1..4 {
                            let next = lengthens.then(|| origin.lengthen(Time::START, client, end));
                            let Some(more) = next.flatten() else { break };
                            blocks.push(end / u64::from(BLOCK));
                            end += u64::from(more);
                            added += 1;
                        }
                        origin.accepted(Time::START, client, (end - offset) as u32);
                    }
                    Output::Done { .. } => is_there = false,
                    Output::Failed { failure, .. } => panic!("{failure:?}"),
                }
            }
        }
    }
    (blocks, added)
}

/// What is added to a block is what would have come next.
#[test]
fn several_blocks_at_a_time_come_in_the_order_of_the_policy() {
    for name in Scheduling::NAMES {
        let scheduling = Scheduling::named(name).unwrap();
        let ((several, added), (single, none)) =
            (order(&scheduling, true), order(&scheduling, false));
        assert_eq!(several, single, "{name}");
        assert!(none == 0 && added > several.len() / 2, "{name}: {added}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn every_client_gets_every_block_once(
        settings in settings(),
        lengths in prop::collection::vec(length(), 1..4),
        steps in prop::collection::vec(step(), 1..250),
        parties in 1u32..4,
    ) {
        let mut driver = Driver::new(&settings, &lengths, parties);
        for step in &steps {
            driver.step(step);
        }
        // From now on everything works: each client that is left gets everything.
        let blocks: usize = driver.members.values().map(|member| member.wanted.len() + 1).sum();
        for _ in 0..4 * blocks + 8 {
            for client in driver.members.keys().copied().collect::<Vec<_>>() {
                if driver.members.contains_key(&client) {
                    driver.accept(client, BLOCK);
                    driver.drain();
                }
                if driver.members.contains_key(&client) {
                    driver.writable(client);
                    driver.drain();
                }
            }
            for read in driver.reads.keys().copied().collect::<Vec<_>>() {
                driver.complete(read, true);
                driver.drain();
            }
            if driver.members.is_empty() {
                break;
            }
        }
        prop_assert!(driver.members.is_empty(), "{:?}", driver.members);
        prop_assert_eq!(driver.origin.deadline(), Time::NEVER);
        // Nothing is kept of what is gone, nor of more than was there at once.
        for file in std::mem::take(&mut driver.files) {
            driver.origin.close(driver.now, file);
            driver.drain();
        }
        prop_assert_eq!(driver.origin.world().files(), 0);
        prop_assert_eq!(driver.origin.world().cache().used(), 0);
        for length in lengths.iter().rev() {
            prop_assert!(driver.origin.open(*length).unwrap().number() < lengths.len() + 3);
        }
    }
}

fn one_at_a_time() -> impl Strategy<Value = (Medium, Span, Rate)> {
    let positioning = prop_oneof![
        (0u64..10_000).prop_map(|us| Positioning::Constant { time_ns: Span::from_micros(us) }),
        (0u64..2000, 0u64..5000, 0u64..20_000).prop_map(|(settle, turn, stroke)| {
            Positioning::Distance {
                settle_ns: Span::from_micros(settle),
                half_turn_ns: Span::from_micros(turn),
                full_stroke_ns: Span::from_micros(stroke),
            }
        }),
    ];
    let rate = (1_000_000u64..1_000_000_000).prop_map(Rate::at_least_one);
    prop_oneof![
        (positioning, rate.clone()).prop_map(|(positioning, rate_bps)| {
            let disk = HardDisk { positioning, rate_bps, ..HardDisk::default() };
            (Medium::HardDisk(disk), Span::ZERO, rate_bps)
        }),
        (0u64..5000, rate.clone()).prop_map(|(us, rate_bps)| {
            let latency_ns = Span::from_micros(us);
            (Medium::Ssd(Ssd { latency_ns, channels: 1, rate_bps }), latency_ns, rate_bps)
        }),
        (0u64..5000, rate).prop_map(|(us, rate_bps)| {
            let latency_ns = Span::from_micros(us);
            let volume = NetworkVolume { latency_ns, rate_bps, ..NetworkVolume::default() };
            (Medium::NetworkVolume(volume), Span::ZERO, rate_bps)
        }),
    ]
}

proptest! {
    /// Whatever is asked of it and when, the next answer comes no sooner than its bytes take after the one before.
    #[test]
    fn a_disk_serves_one_read_after_the_other(
        (medium, latency, rate) in one_at_a_time(),
        requests in prop::collection::vec((0u64..50_000, 0u64..80_000_000_000, 1u32..2_000_000), 1..50),
    ) {
        let mut disk = medium.build(Span::ZERO);
        let (mut now, mut last) = (Time::START, Time::START);
        for (us, address, length) in requests {
            now += Span::from_micros(us);
            let done = disk.submit(now, address, length);
            let min = latency + rate.transmission(u64::from(length));
            prop_assert!(done >= now + min);
            prop_assert!(done >= last + min, "{done} after {last}");
            last = done;
        }
    }
}
