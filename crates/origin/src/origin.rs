use crate::cache::{Cache, State};
use crate::client::{CHOICE, Client, Doing};
use crate::list::{Links, List};
use crate::policy::{Policy, in_order};
use crate::world::{Choice, File, World};
use crate::{ClientId, Counters, Failure, FileId, Layout, Needs, Output, ReadId, Settings};
use flashcrowd_base::{CacheLines, Refusal, Time, prefetch};
use std::collections::VecDeque;
use std::ops::Range;

/// The request of a client.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The ranges of bytes that it needs; nothing: the whole file. The origin deals in whole blocks: the driver cuts
    /// the first and the last block of a range to what was asked for. Ranges may overlap; a block comes once.
    pub ranges: Option<&'a [Range<u64>]>,
    /// Whether it takes them in the order of the file only, as a client does that knows nothing of other orders.
    pub in_order: bool,
}

impl Request<'static> {
    /// The whole file in any order.
    pub const ANY_ORDER: Request<'static> = Request { ranges: None, in_order: false };
    /// The whole file from its beginning to its end.
    pub const IN_ORDER: Request<'static> = Request { ranges: None, in_order: true };
}

/// The content server as a machine: which block each client gets, what is read from the disk, what is kept in
/// memory. See the [crate's page](crate) for what a driver does.
#[derive(Debug)]
pub struct Origin {
    settings: Settings,
    world: World,
    policy: Box<dyn Policy>,
    /// Numbers of clients that are gone.
    free: Vec<u32>,
    /// Numbers of files that are gone, and of those that became idle, each once.
    free_files: Vec<u32>,
    idle: Vec<u32>,
    links: Links,
    /// Clients whose sockets have a block to accept, who progressed longest ago first.
    sending: List,
    /// For each slot whose read is under way: its number.
    under_way: Vec<(ReadId, u32)>,
    next_read: u64,
    outputs: VecDeque<Output>,
    /// Clients to be asked after an extent has come.
    woken: Vec<u32>,
    counters: Counters,
}

impl Origin {
    /// An origin with no files.
    pub fn new(settings: &Settings) -> Result<Origin, Refusal> {
        let policy = settings.scheduling.build();
        Origin::with_policy(settings, policy)
    }

    /// An origin with a policy of your own in place of the settings'.
    pub fn with_policy(settings: &Settings, policy: Box<dyn Policy>) -> Result<Origin, Refusal> {
        settings.check()?;
        let world = World {
            files: Vec::new(),
            clients: Vec::new(),
            cache: Cache::new(settings.memory_bytes),
            asked: Links::default(),
            active: 0,
            slack: u64::from(settings.extent_bytes) * u64::from(settings.reads),
        };
        Ok(Origin {
            settings: settings.clone(),
            world,
            policy,
            free: Vec::new(),
            free_files: Vec::new(),
            idle: Vec::new(),
            links: Links::default(),
            sending: List::default(),
            under_way: Vec::new(),
            next_read: 0,
            outputs: VecDeque::new(),
            woken: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// How a file of `length` bytes is cut.
    ///
    /// # Errors
    ///
    /// If it has more than 2^31 blocks.
    pub fn layout(&self, length: u64) -> Result<Layout, Refusal> {
        let Settings { block_bytes, extent_bytes, .. } = self.settings;
        Layout::new(length, block_bytes, extent_bytes).ok_or_else(|| {
            Refusal::new("length", length, format!("at most 2^31 blocks of {block_bytes} bytes"))
        })
    }

    /// Adds a file of `length` bytes. It takes memory for each of its extents until it is
    /// [closed](Origin::close).
    ///
    /// # Errors
    ///
    /// If it has more than 2^31 blocks.
    pub fn open(&mut self, length: u64) -> Result<FileId, Refusal> {
        let layout = self.layout(length)?;
        let files = &mut self.world.files;
        let place = match self.free_files.pop() {
            Some(place) => {
                let old = &mut files[place as usize];
                *old = File { listed: old.listed, ..File::new(layout, old.generation + 1) };
                place
            }
            None => {
                files.push(File::new(layout, 0));
                files.len() as u32 - 1
            }
        };
        self.policy.opened(&self.world, place);
        Ok(self.file_id(place))
    }

    /// Ends the downloads of a file that has changed or is gone, and forgets what is in memory of it. What is under way
    /// for it at the disk is to be completed all the same; then nothing is kept of the file.
    pub fn close(&mut self, now: Time, file: FileId) {
        let Some(number) = self.file_place(file) else { return };
        self.world.files[number as usize].closed = true;
        if self.world.file(number).clients > 0 {
            for place in 0..self.world.clients.len() as u32 {
                let client = &self.world.clients[place as usize];
                if client.file == number && client.doing != Doing::Gone {
                    self.fail(place, Failure::Closed);
                }
            }
        }
        if self.world.file(number).there > 0 {
            for slot in self.world.cache.slots_of(number) {
                if self.world.cache.slot(slot).state == State::Reading {
                    self.world.cache.slot_mut(slot).orphan = true;
                } else {
                    self.forget(slot);
                }
            }
        }
        self.forget_file(number);
        self.ask_disk(now);
    }

    /// A file that became idle: it has no downloads, and nothing of it is in memory or asked of the disk. Each time
    /// that it becomes so it comes once. A driver whose files come and go without an end closes it; what a policy knows
    /// of such a file is where in it the disk was.
    pub fn next_idle(&mut self) -> Option<FileId> {
        while let Some(place) = self.idle.pop() {
            let file = &mut self.world.files[place as usize];
            file.listed = false;
            if file.is_idle() && !file.closed {
                return Some(self.file_id(place));
            }
        }
        None
    }

    /// A client begins. Its socket has no room until the driver says so.
    ///
    /// Of a file that was closed there is nothing to get: the client fails at once. A client that needs nothing is
    /// done at once.
    pub fn join(&mut self, now: Time, file: FileId, request: Request<'_>) -> ClientId {
        self.join_for(now, file, request, 0)
    }

    /// The same, for one of several parties that share the disk, such as the addresses of clients. They are numbered;
    /// all others are of party 0. The disk reads for one party after the other, so that a party with many clients, or
    /// with clients that ask for little of much, waits for itself. An extent that several wait for comes with the first
    /// of them that is served.
    pub fn join_for(
        &mut self,
        now: Time,
        file: FileId,
        request: Request<'_>,
        party: u32,
    ) -> ClientId {
        let closed = self.file_place(file).is_none();
        let entry = &mut self.world.files[file.place as usize];
        let needs = match request.ranges {
            _ if closed => Needs::ranges(entry.layout, &[]),
            None => Needs::whole(entry.layout),
            Some(ranges) => Needs::ranges(entry.layout, ranges),
        };
        entry.clients += 1;
        self.world.active += u32::from(entry.clients == 1);
        let left = needs.blocks();
        let mut client = Client {
            lines: CacheLines::HERE,
            generation: 0,
            file: file.place,
            needs,
            left,
            doing: Doing::Resting,
            accepted: 0,
            progress: now,
            in_order: request.in_order,
            counted: true,
            party,
        };
        let place = match self.free.pop() {
            Some(place) => {
                let old = &mut self.world.clients[place as usize];
                client.generation = old.generation + 1;
                *old = client;
                place
            }
            None => {
                self.world.clients.push(client);
                self.world.clients.len() as u32 - 1
            }
        };
        self.policy.joined(&self.world, place);
        let id = self.id(place);
        if closed {
            self.fail(place, Failure::Closed);
        } else if left == 0 {
            self.end(place);
            self.outputs.push_back(Output::Done { client: id });
        }
        id
    }

    /// The client reads for the driver itself and has no socket: from now on the [counters](Counters) leave out what it takes. What
    /// the disk reads for it counts.
    pub fn leave_out(&mut self, client: ClientId) {
        if let Some(place) = self.place(client) {
            self.world.clients[place as usize].counted = false;
        }
    }

    /// A client is gone: its connection has ended, and nothing of the driver's refers to memory on its account.
    pub fn leave(&mut self, now: Time, client: ClientId) {
        if let Some(place) = self.place(client) {
            self.end(place);
            self.ask_disk(now);
        }
    }

    /// The client's socket has room for a block. It is handed the next one, now or as soon as the disk has brought it.
    /// Until it has accepted that block, saying it again changes nothing.
    pub fn writable(&mut self, now: Time, client: ClientId) {
        let Some(place) = self.place(client) else { return };
        if self.world.clients[place as usize].doing == Doing::Resting {
            self.serve(now, place, true);
            self.ask_disk(now);
        }
    }

    /// The sockets of these clients have room, and the driver is about to say so of one after the other. Nothing changes; but
    /// with 100,000 clients a choice waits for main memory most of its time, and what these choices need comes side by side. A few
    /// dozen at a time fit into the cache.
    pub fn expect(&self, clients: &[ClientId]) {
        let world = &self.world;
        let there =
            || clients.iter().filter_map(|id| Some((id, world.clients.get(id.place as usize)?)));
        // Each pass says where the next one has to look.
        for (id, client) in there() {
            client.lines.prefetch(CHOICE);
            self.policy.expect(id.place);
        }
        let likely =
            || there().filter_map(|(_, client)| Some((client.file, client.needs.likely()?)));
        likely().for_each(|(file, extent)| prefetch(&world.file(file).slots[extent as usize]));
        let slots = likely().filter_map(|(file, extent)| world.slot_of(file, extent));
        slots.filter_map(|slot| world.cache.get(slot)).for_each(prefetch);
    }

    /// Adds the block that begins at `offset` of the file to the one that the client was handed, and says its length in bytes: if
    /// it lies in the same extent, and is the one that the client would be handed next, by the order of the file or by the policy.
    /// So a socket that has room for more is given several blocks at a time; they are accepted as one, and hold no more memory
    /// than one does.
    pub fn lengthen(&mut self, now: Time, client: ClientId, offset: u64) -> Option<u32> {
        let place = self.place(client)?;
        let entry = &self.world.clients[place as usize];
        let Doing::Sending { slot, bytes, released: false } = entry.doing else { return None };
        let layout = self.world.layout(place);
        let block = layout.blocks_of(&(offset..u64::MAX)).next()?;
        let of_file = layout.block_bytes(block);
        let there = self.world.slot_of(entry.file, layout.extent_of(block));
        let is_next = if entry.in_order {
            entry.needs.next(0) == Some(block)
        } else {
            self.policy.is_next(&self.world, place, block)
        };
        if of_file.start != offset || there != Some(slot) || !is_next {
            return None;
        }
        let length = (of_file.end - of_file.start) as u32;
        self.world.clients[place as usize].doing =
            Doing::Sending { slot, bytes: bytes + length, released: false };
        self.count(place, block, slot, length, true);
        self.read_ahead(place);
        self.ask_disk(now);
        Some(length)
    }

    /// The client's socket has accepted `bytes` bytes more of what it was handed.
    pub fn accepted(&mut self, now: Time, client: ClientId, bytes: u32) {
        let Some(place) = self.place(client) else { return };
        let entry = &mut self.world.clients[place as usize];
        let Doing::Sending { slot, bytes: left, released } = entry.doing else { return };
        let bytes = bytes.min(left);
        entry.accepted += u64::from(bytes);
        entry.progress = now;
        if bytes < left {
            entry.doing = Doing::Sending { slot, bytes: left - bytes, released };
            self.links.move_to_back(&mut self.sending, place);
            return;
        }
        self.stop_sending(place);
        self.world.clients[place as usize].doing = Doing::Resting;
        if self.world.clients[place as usize].left == 0 {
            self.end(place);
            self.outputs.push_back(Output::Done { client });
        }
        self.ask_disk(now);
    }

    /// The driver has put aside what the client's socket has not accepted of its block, and refers to the origin's
    /// memory no more on its account: so a socket that accepts a part of a block and then nothing holds no memory of
    /// the origin's, but as much of the driver's as was left.
    pub fn release(&mut self, now: Time, client: ClientId) {
        let Some(place) = self.place(client) else { return };
        if let Doing::Sending { slot, released, .. } = &mut self.world.clients[place as usize].doing
            && !*released
        {
            *released = true;
            let slot = *slot;
            self.world.cache.slot_mut(slot).pins -= 1;
            self.ask_disk(now);
        }
    }

    /// The disk has answered a read: its bytes are in the slot, or it could not read them.
    pub fn completed(&mut self, now: Time, read: ReadId, brought: bool) {
        let Some(at) = self.under_way.iter().position(|(id, _)| *id == read) else { return };
        let (_, slot) = self.under_way.swap_remove(at);
        let (file, extent, orphan) = {
            let slot = self.world.cache.slot(slot);
            (slot.file, slot.extent, slot.orphan)
        };
        let mut waiting = std::mem::take(&mut self.world.cache.slot_mut(slot).waiting);
        self.woken.clear();
        while let Some(place) = self.links.pop_front(&mut waiting) {
            self.world.clients[place as usize].doing = Doing::Resting;
            self.woken.push(place);
        }
        let woken = std::mem::take(&mut self.woken);
        self.world.asked.remove(&mut self.world.files[file as usize].asked, slot);
        if brought && !orphan {
            self.world.cache.load(slot, now);
            self.policy.loaded(&self.world, slot);
            for place in &woken {
                self.serve(now, *place, false);
            }
        } else {
            self.counters.errors += u64::from(!brought);
            self.world.files[file as usize].take(extent);
            self.policy.gone(&self.world, slot);
            self.world.cache.drop(slot);
            for place in &woken {
                self.fail(*place, Failure::Disk);
            }
            self.note_idle(file);
            self.forget_file(file);
        }
        self.woken = woken;
        self.ask_disk(now);
    }

    /// The next output for the driver. To be called until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`elapsed`](Origin::elapsed) is to be called.
    pub fn deadline(&self) -> Time {
        match self.sending.first() {
            Some(place) => self.world.clients[place as usize].progress + self.settings.patience_ns,
            None => Time::NEVER,
        }
    }

    /// Time has passed: clients whose sockets accept nothing are given up.
    pub fn elapsed(&mut self, now: Time) {
        while let Some(place) = self.sending.first() {
            let idle = now.since(self.world.clients[place as usize].progress);
            if idle < self.settings.patience_ns {
                break;
            }
            self.fail(place, Failure::Stalled);
        }
        self.ask_disk(now);
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// Files, clients and memory, to be looked at.
    pub fn world(&self) -> &World {
        &self.world
    }
    /// The bytes of a file, by its number, that the policy keeps in memory as a stretch, if it has one. The part beyond
    /// the file's end is at its beginning.
    pub fn region(&self, file: u32) -> Option<Range<u64>> {
        let layout = self.world.file(file).layout;
        let blocks = self.policy.region(&self.world, file).filter(|blocks| !blocks.is_empty())?;
        let begin = layout.block_bytes(blocks.start).start;
        let last = blocks.end - 1;
        let end = match last.checked_sub(layout.blocks()) {
            None => layout.block_bytes(last).end,
            Some(around) => layout.length() + layout.block_bytes(around).end,
        };
        Some(begin..end)
    }
    /// Bytes that a client's socket has accepted; none if it is gone.
    pub fn progress(&self, client: ClientId) -> Option<u64> {
        Some(self.world.clients[self.place(client)? as usize].accepted)
    }
    /// How long a client may have to wait that begins to wait now, in reads: those under way and in the queue, and one.
    /// A read that is asked for later is not before it, unless for another party.
    pub fn longest_wait(&self) -> usize {
        self.world.cache.queued() + self.under_way.len() + 1
    }

    fn file_id(&self, place: u32) -> FileId {
        FileId { place, generation: self.world.file(place).generation }
    }

    /// The number of a file that is not closed.
    fn file_place(&self, file: FileId) -> Option<u32> {
        let entry = self.world.files.get(file.place as usize)?;
        (entry.generation == file.generation && !entry.closed).then_some(file.place)
    }

    fn id(&self, place: u32) -> ClientId {
        ClientId { place, generation: self.world.clients[place as usize].generation }
    }

    fn place(&self, client: ClientId) -> Option<u32> {
        let entry = self.world.clients.get(client.place as usize)?;
        // The lines that a choice needs come side by side, not one after the other.
        entry.lines.prefetch(CHOICE);
        let there = entry.generation == client.generation && entry.doing != Doing::Gone;
        there.then_some(client.place)
    }

    /// Gives a client that rests what it takes next.
    fn serve(&mut self, now: Time, place: u32, at_once: bool) {
        let choice = if self.world.in_order(place) {
            in_order::next(&self.world, place)
        } else {
            self.policy.choose(&mut self.world, place)
        };
        match choice {
            Choice::Send(block) => self.send(now, place, block, at_once),
            Choice::Wait(extent) => self.wait(place, extent),
            Choice::Read(extent) => {
                self.ask(place, extent);
                self.wait(place, extent);
            }
            Choice::Nothing => {}
        }
    }

    fn send(&mut self, now: Time, place: u32, block: u32, at_once: bool) {
        let file = self.world.file_of(place);
        let layout = self.world.layout(place);
        let extent = layout.extent_of(block);
        let slot = self.world.slot_of(file, extent).expect("the policy found the block in memory");
        let bytes = layout.block_bytes(block);
        let length = (bytes.end - bytes.start) as u32;
        self.world.cache.slot_mut(slot).pins += 1;
        let client = &mut self.world.clients[place as usize];
        client.doing = Doing::Sending { slot, bytes: length, released: false };
        client.progress = now;
        self.links.push_back(&mut self.sending, place);
        self.count(place, block, slot, length, at_once);
        self.outputs.push_back(Output::Send {
            client: self.id(place),
            file: self.file_id(file),
            offset: bytes.start,
            length,
            slot: self.world.cache.slot(slot).memory,
            begin: (bytes.start - layout.extent_bytes(extent).start) as u32,
        });
        self.read_ahead(place);
    }

    /// A client needs this block no more.
    fn count(&mut self, place: u32, block: u32, slot: u32, length: u32, at_once: bool) {
        let client = &mut self.world.clients[place as usize];
        client.needs.remove(block);
        client.left -= 1;
        let counted = client.counted;
        self.policy.sent(&self.world, place, block, slot);
        if !counted {
            return;
        }
        self.counters.sent += u64::from(length);
        self.counters.blocks += 1;
        self.counters.hits += u64::from(at_once);
    }

    fn read_ahead(&mut self, place: u32) {
        if self.disk_is_free()
            && let Some(extent) = self.policy.ahead(&self.world, place)
        {
            self.counters.ahead += 1;
            self.ask(place, extent);
        }
    }

    fn disk_is_free(&self) -> bool {
        self.world.cache.queued() == 0 && self.under_way.len() < self.settings.reads as usize
    }

    /// Puts an extent of the client's file into the queue for the disk.
    fn ask(&mut self, place: u32, extent: u32) {
        let file = self.world.file_of(place);
        let bytes = self.world.layout(place).extent_bytes(extent);
        let (party, length) =
            (self.world.clients[place as usize].party, (bytes.end - bytes.start) as u32);
        let slot = self.world.cache.enqueue(party, file, extent, length);
        let entry = &mut self.world.files[file as usize];
        entry.put(extent, slot);
        self.world.asked.push_back(&mut entry.asked, slot);
        entry.position = Some(extent);
        self.policy.asked(&self.world, slot);
    }

    fn wait(&mut self, place: u32, extent: u32) {
        let file = self.world.file_of(place);
        let slot = self.world.slot_of(file, extent).expect("the extent was asked for");
        let client = &mut self.world.clients[place as usize];
        client.doing = Doing::Waiting { slot };
        let party = client.party;
        self.world.cache.favour(party, slot);
        self.links.push_back(&mut self.world.cache.slot_mut(slot).waiting, place);
    }

    /// Gives the disk what it can take, and what there is memory for.
    fn ask_disk(&mut self, now: Time) {
        while self.under_way.len() < self.settings.reads as usize {
            let Some(slot) = self.world.cache.next() else { return };
            while !self.world.cache.fits(slot) {
                let Some(victim) = self.policy.victim(&self.world) else { return };
                self.counters.evictions += 1;
                self.counters.residence += now.since(self.world.cache.slot(victim).loaded);
                self.forget(victim);
            }
            self.world.cache.begin(slot);
            let read = ReadId(self.next_read);
            self.next_read += 1;
            self.under_way.push((read, slot));
            let entry = self.world.cache.slot(slot);
            let (file, length, slot) = (self.file_id(entry.file), entry.bytes, entry.memory);
            let offset = self.world.file(entry.file).layout.extent_bytes(entry.extent).start;
            self.counters.reads += 1;
            self.counters.read += u64::from(length);
            self.outputs.push_back(Output::Read { read, file, offset, length, slot });
        }
    }

    /// Drops an extent that is in memory or in the queue.
    fn forget(&mut self, slot: u32) {
        self.policy.gone(&self.world, slot);
        let Some(gone) = self.world.cache.drop(slot) else { return };
        let file = &mut self.world.files[gone.file as usize];
        file.take(gone.extent);
        if gone.state != State::Resident {
            self.world.asked.remove(&mut file.asked, slot);
        }
        self.note_idle(gone.file);
    }

    /// Whether a file has become idle.
    fn note_idle(&mut self, place: u32) {
        let file = &mut self.world.files[place as usize];
        if file.is_idle() && !file.closed && !file.listed {
            file.listed = true;
            self.idle.push(place);
        }
    }

    /// Keeps nothing of a file that is closed, if nothing refers to it.
    fn forget_file(&mut self, place: u32) {
        let file = &mut self.world.files[place as usize];
        if file.closed && file.is_idle() && !file.gone {
            file.gone = true;
            (file.layout, file.slots) = (Layout::EMPTY, Box::default());
            self.policy.closed(place);
            self.free_files.push(place);
        }
    }

    fn stop_sending(&mut self, place: u32) {
        if let Doing::Sending { slot, released, .. } = self.world.clients[place as usize].doing {
            self.links.remove(&mut self.sending, place);
            if !released {
                self.world.cache.slot_mut(slot).pins -= 1;
            }
        }
    }

    fn fail(&mut self, place: u32, failure: Failure) {
        let client = self.id(place);
        self.end(place);
        self.outputs.push_back(Output::Failed { client, failure });
    }

    /// Takes a client out of everything.
    fn end(&mut self, place: u32) {
        match self.world.clients[place as usize].doing {
            Doing::Sending { .. } => self.stop_sending(place),
            Doing::Waiting { slot } => {
                let entry = self.world.cache.slot_mut(slot);
                self.links.remove(&mut entry.waiting, place);
                if entry.state == State::Queued && entry.waiting.is_empty() {
                    self.forget(slot);
                }
            }
            Doing::Resting | Doing::Gone => {}
        }
        self.policy.left(&self.world, place);
        let client = &mut self.world.clients[place as usize];
        client.doing = Doing::Gone;
        let file = &mut self.world.files[client.file as usize];
        file.clients -= 1;
        self.world.active -= u32::from(file.clients == 0);
        let layout = file.layout;
        // Its memory goes at once, its number is used again.
        client.needs = Needs::ranges(layout, &[]);
        let file = client.file;
        self.free.push(place);
        self.note_idle(file);
    }
}
