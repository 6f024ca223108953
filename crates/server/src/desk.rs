use crate::buffer::{self, Buffer};
use crate::clock::Clock;
use crate::disk::{Disk, Job, ReadBy, Requester};
use crate::map::FileMap;
use crate::memory_file::MemoryFile;
use crate::open_file::{OpenFile, ReadOutcome, Version};
use crate::pace::PaceReport;
use crate::settings::Reader;
use flashcrowd_base::{Refusal, Span, Time};
use flashcrowd_origin::disk::Medium;
use flashcrowd_origin::{
    ClientId, Counters, Failure, FileId, Origin, Output, ReadId, Request,
    Settings as OriginSettings,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

/// The origin behind a lock, with what it must not have: memory, open files, a clock, a disk, and tasks that wait. Each input
/// is followed by carrying out all outputs, before the lock is given back.
///
/// Blocks are copied out of the memory under the lock (64 KiB, some microseconds), and released there: so nothing
/// outside refers to memory of extents, whatever sockets do, and a slot is read into only when it has no readers. A
/// copy takes as long as the socket's own. So a client that took its last block at once is lent the next one in place,
/// and more and more blocks at a time as long as those that it gets next are contiguous, since a call to the socket
/// takes as long for one as for several. Blocks of a few buffers are [lent](buffer::loans), and the memory has room for
/// them even if they stay lent while their slots go to others: a stuck client holds one until its connection is given
/// up.
#[derive(Debug)]
pub(crate) struct Desk {
    clock: Clock,
    disk: Disk,
    /// Where sockets take whole extents from.
    pub(crate) memory_file: Arc<MemoryFile>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    origin: Origin,
    /// For each slot; what the disk reads into is away. References to a buffer come and go under the lock.
    memory: Vec<Arc<Buffer>>,
    /// The memory of whole extents.
    file: Arc<MemoryFile>,
    /// Buffers of which blocks are lent, and how many may be.
    lent: usize,
    max_lent: usize,
    /// Bytes of all buffers, those that are away included, and how many there may be.
    allocated: usize,
    max_allocated: usize,
    /// By number of the origin, which is used again.
    files: Vec<Known>,
    /// By device and inode: the files that have downloads or something in memory, in the newest version that was
    /// downloaded. Of others nothing is kept, whatever is asked about them.
    catalogue: BTreeMap<(u64, u64), (Version, FileId)>,
    /// How many files were opened.
    opened: u64,
    clients: BTreeMap<ClientId, Client>,
    /// Reads ahead that were not needed any more when they were due; the origin counts them as failed.
    unread: u64,
}

/// A file of the origin's. Without downloads it is closed in the system; the origin may keep what it has of it.
#[derive(Debug)]
struct Known {
    /// The path by which it was opened.
    name: Arc<Path>,
    /// That of all of its downloads.
    open: Weak<OpenFile>,
}

/// A download as its task sees it.
#[derive(Debug, Default)]
struct Client {
    waker: Option<Waker>,
    /// The last block from the origin: where in the file, which slot, where in the slot, how much.
    handed: Option<(u64, u32, u32, u32)>,
    /// The task has a block that its socket has not accepted.
    sending: bool,
    /// When it was given the last one, and how many it is lent at a time, by how soon its socket took what it was given before; 0: it
    /// is given a copy of one.
    given: Time,
    lends: usize,
    ended: Option<Result<(), Failure>>,
    /// The number of the file, if it is a download and not the server's own reading.
    downloads: Option<u32>,
}

/// The party of the server itself, whose reads are for digests and are no downloads: it has no
/// address.
pub(crate) const OURS: u32 = 0;

/// A client that has taken a block this soon has a socket with room: the next one will not be held
/// for long.
const PROMPT: Span = Span::from_millis(2);
/// Blocks that are lent at a time at most: more than a socket's buffer holds, so that it is filled at once.
const MAX_LENDS: usize = 4;

/// A block, or several in a row that are lent.
#[derive(Debug)]
pub(crate) struct Block {
    /// Where in the file.
    pub(crate) offset: u64,
    pub(crate) bytes: Blocked,
}

/// The bytes of a block.
#[derive(Debug)]
pub(crate) enum Blocked {
    Copied(Vec<u8>),
    /// Of which slot the buffer was, and where in it. To be given back by [`Desk::accepted`].
    Lent(Arc<Buffer>, u32, Range<usize>),
}

impl Blocked {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Blocked::Copied(bytes) => bytes,
            Blocked::Lent(buffer, _, range) => &buffer.bytes()[range.clone()],
        }
    }
}

impl Default for Blocked {
    fn default() -> Blocked {
        Blocked::Copied(Vec::new())
    }
}

/// The server's activity, for people and for metrics.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overview {
    pub(crate) counters: Counters,
    /// Downloads, those of them that wait for the disk, and their files.
    pub(crate) downloads: usize,
    pub(crate) waiting: usize,
    pub(crate) active_files: usize,
    /// Files that are kept track of.
    pub(crate) files: usize,
    pub(crate) queued: usize,
    pub(crate) memory_used: u64,
    pub(crate) memory_allocated: usize,
    /// Bytes that sockets have taken without a copy, and bytes of memory given up to the kernel for that.
    pub(crate) uncopied: (u64, u64),
    pub(crate) pace: Option<PaceReport>,
    /// Files whose digests are not done, and bytes of memory for those that are.
    pub(crate) digests: (usize, u64),
}

impl Desk {
    /// The disk begins at once. With `trial`, reads take as long as they would on such a disk.
    pub(crate) fn new(
        settings: &OriginSettings,
        reader: Reader,
        trial: Option<&Medium>,
    ) -> Result<Arc<Desk>, Refusal> {
        let OriginSettings { memory_bytes, extent_bytes, reads, .. } = *settings;
        let share = buffer::share(memory_bytes, extent_bytes, reads);
        let min = u64::from(extent_bytes) * (u64::from(reads) + 2);
        if share < min {
            let min = buffer::memory_for(min, extent_bytes, reads);
            let allowed = format!("at least {min} bytes, for {reads} reads at once");
            return Err(Refusal::new("memory", memory_bytes, allowed));
        }
        let ours = OriginSettings {
            memory_bytes: share,
            // Sockets that take nothing end by themselves, by the byte and not by the block.
            patience_ns: Span::MAX,
            ..settings.clone()
        };
        let readers = u64::from(reads) * buffer::reader(extent_bytes);
        let max_allocated = usize::try_from(memory_bytes - readers).unwrap_or(usize::MAX);
        let extents = max_allocated / extent_bytes as usize;
        let memory_file = MemoryFile::new(extent_bytes as usize, extents).map_err(|error| {
            let allowed = format!("as much as the system can map ({error})");
            Refusal::new("memory", memory_bytes, allowed)
        })?;
        let state = State {
            origin: Origin::new(&ours)?,
            memory: Vec::new(),
            file: Arc::clone(&memory_file),
            lent: 0,
            max_lent: buffer::loans(memory_bytes, extent_bytes),
            allocated: 0,
            max_allocated,
            files: Vec::new(),
            catalogue: BTreeMap::new(),
            opened: 0,
            clients: BTreeMap::new(),
            unread: 0,
        };
        let disk = Disk::start(reader, reads, extent_bytes, trial)?;
        let clock = Clock::started();
        Ok(Arc::new(Desk { clock, disk, memory_file, state: Mutex::new(state) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock was one of ours; what others have is not worse for it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the origin an input, and carries out its outputs.
    fn input<T>(self: &Arc<Self>, input: impl FnOnce(&mut State, Time) -> T) -> T {
        let mut state = self.lock();
        let outcome = input(&mut state, self.clock.now());
        self.drain(&mut state);
        outcome
    }

    fn drain(self: &Arc<Self>, state: &mut State) {
        while let Some(output) = state.origin.poll() {
            match output {
                Output::Read { read, file, offset, length, slot } => {
                    let length = length as usize;
                    let buffer = state.buffer(slot as usize, length);
                    match state.files[file.number()].open.upgrade() {
                        Some(file) => {
                            let requester = Arc::clone(self);
                            self.disk.read(Job { requester, read, file, offset, slot, buffer });
                        }
                        // It has no downloads any more, so no client waits.
                        None => {
                            state.memory[slot as usize] = Arc::new(buffer);
                            state.unread += 1;
                            state.origin.completed(self.clock.now(), read, false);
                        }
                    }
                }
                Output::Send { client, offset, length, slot, begin, .. } => {
                    if let Some(entry) = state.clients.get_mut(&client) {
                        entry.handed = Some((offset, slot, begin, length));
                        entry.wake();
                    }
                }
                Output::Done { client } => state.end(client, Ok(())),
                Output::Failed { client, failure } => state.end(client, Err(failure)),
            }
        }
        while let Some(file) = state.origin.next_idle() {
            state.forget(self.clock.now(), file);
        }
    }

    /// A file to be downloaded; another version of it than before ends the downloads of what it was.
    pub(crate) fn open(
        self: &Arc<Self>,
        file: File,
        name: &Path,
        version: Version,
        direct: bool,
    ) -> Result<Arc<OpenFile>, Refusal> {
        // One that is open already is closed behind the lock: the file system may take its time for that.
        let mut file = Some(file);
        self.input(|state, now| {
            if let Some((before, id)) = state.catalogue.get(&version.key()).copied() {
                if before != version {
                    state.forget(now, id);
                } else if let Some(open) = state.files[id.number()].open.upgrade() {
                    return Ok(open);
                }
            }
            let layout = state.origin.layout(version.length)?;
            state.opened += 1;
            let file = file.take().expect("it is opened once");
            Ok(Arc::new(OpenFile::new(file, name, version, layout, state.opened, direct)))
        })
    }

    /// A download begins, for the party of this number, unless the file is another one by now: the disk reads for one
    /// party after the other. All downloads of a version share the file that the first of them has. What [we](OURS)
    /// read is no download.
    pub(crate) fn join(
        self: &Arc<Self>,
        file: &Arc<OpenFile>,
        ranges: &[Range<u64>],
        in_order: bool,
        party: u32,
    ) -> Result<(ClientId, Arc<OpenFile>), Failure> {
        self.input(|state, now| {
            let (id, file) = state.admit(now, file)?;
            let request = Request { ranges: Some(ranges), in_order };
            let client = state.origin.join_for(now, id, request, party);
            let downloads = (party != OURS).then_some(id.number() as u32);
            if downloads.is_none() {
                state.origin.leave_out(client);
            }
            state.clients.insert(client, Client { downloads, ..Client::default() });
            Ok((client, file))
        })
    }

    /// The next block of a download, or several, when its last one was accepted; nothing after the last one.
    pub(crate) fn poll_block(
        self: &Arc<Self>,
        client: ClientId,
        waker: &Waker,
    ) -> Poll<Result<Option<Block>, Failure>> {
        self.input(|state, now| {
            let Some(entry) = state.clients.get_mut(&client) else { return Poll::Ready(Ok(None)) };
            if let Some(ended) = entry.ended {
                return Poll::Ready(ended.map(|()| None));
            }
            if entry.sending {
                entry.wait(waker);
                return Poll::Pending;
            }
            if entry.handed.is_none() {
                state.origin.writable(now, client);
                self.drain(state);
            }
            let Some(entry) = state.clients.get_mut(&client) else { return Poll::Ready(Ok(None)) };
            if let Some(ended) = entry.ended {
                return Poll::Ready(ended.map(|()| None));
            }
            let Some((offset, slot, begin, length)) = entry.handed.take() else {
                entry.wait(waker);
                return Poll::Pending;
            };
            entry.sending = true;
            entry.given = now;
            let range = begin as usize..begin as usize + length as usize;
            let buffer = &state.memory[slot as usize];
            let is_lent = Arc::strong_count(buffer) > 1;
            let bytes = if entry.lends > 0 && (is_lent || state.lent < state.max_lent) {
                state.lent += usize::from(!is_lent);
                let buffer = Arc::clone(buffer);
                let mut end = range.end;
                for _ in 1..entry.lends {
                    let next = offset + (end - range.start) as u64;
                    let Some(more) = state.origin.lengthen(now, client, next) else { break };
                    end += more as usize;
                }
                Blocked::Lent(buffer, slot, range.start..end)
            } else {
                let bytes = buffer.bytes()[range].to_vec();
                state.origin.release(now, client);
                Blocked::Copied(bytes)
            };
            Poll::Ready(Ok(Some(Block { offset, bytes })))
        })
    }

    /// The socket has accepted what the download was given; or it never will.
    pub(crate) fn accepted(self: &Arc<Self>, client: ClientId, block: Blocked) {
        self.input(|state, now| {
            let bytes = block.bytes().len() as u32;
            if let Blocked::Lent(buffer, of, _) = block {
                state.give_back(buffer, of);
            }
            state.origin.accepted(now, client, bytes);
            if let Some(entry) = state.clients.get_mut(&client) {
                entry.sending = false;
                let is_prompt = now.since(entry.given) < PROMPT;
                entry.lends =
                    if is_prompt { (2 * entry.lends).clamp(1, MAX_LENDS) } else { entry.lends / 2 };
                entry.wake();
            }
        });
    }

    /// A download is over, or has broken off.
    pub(crate) fn leave(self: &Arc<Self>, client: ClientId) {
        self.input(|state, now| {
            state.clients.remove(&client);
            state.origin.leave(now, client);
        });
    }

    /// The ranges of a file in memory, ascending, that do not touch: at most `max`, and no more is looked for.
    pub(crate) fn resident(&self, file: &OpenFile, max: usize) -> Vec<Range<u64>> {
        let state = self.lock();
        let Some(id) = state.id_of(&file.version) else { return Vec::new() };
        let (world, number, layout) = (state.origin.world(), id.number() as u32, file.layout);
        let bytes = |extents: Range<u32>| {
            layout.extent_bytes(extents.start).start..layout.extent_bytes(extents.end - 1).end
        };
        world.cache().resident_in(number).take(max).map(bytes).collect()
    }

    /// The parts in memory of each file that has downloads or something there: those with most downloads first,
    /// then those of which most is there.
    pub(crate) fn maps(&self) -> Vec<FileMap> {
        let state = self.lock();
        let world = state.origin.world();
        let downloads = state.downloads();
        let mut maps = BTreeMap::new();
        let blank = |number: u32| {
            let file = world.file(number);
            let region = state.origin.region(number).filter(|_| file.clients > 0);
            let clients = downloads.get(&number).copied().unwrap_or(0);
            FileMap::new(&state.files[number as usize].name, file.layout, clients, region)
        };
        for (_, id) in state.catalogue.values() {
            let number = id.number() as u32;
            if world.file(number).clients > 0 {
                maps.insert(number, blank(number));
            }
        }
        for extent in world.cache().residents() {
            let map = maps.entry(extent.file).or_insert_with(|| blank(extent.file));
            map.fill(extent.extent);
        }
        let mut maps: Vec<FileMap> = maps.into_values().collect();
        maps.sort_by_key(|map| Reverse((map.clients, map.resident)));
        maps
    }

    /// By what extents are read.
    pub(crate) fn read_by(&self) -> &ReadBy {
        self.disk.read_by()
    }

    pub(crate) fn overview(&self) -> Overview {
        let state = self.lock();
        let world = state.origin.world();
        let mut counters = state.origin.counters();
        counters.errors -= state.unread;
        let downloads = state.downloads();
        let waits = |it: &&Client| {
            it.downloads.is_some() && it.waker.is_some() && !it.sending && it.handed.is_none()
        };
        Overview {
            counters,
            downloads: downloads.values().map(|count| *count as usize).sum(),
            waiting: state.clients.values().filter(waits).count(),
            active_files: downloads.len(),
            files: world.files(),
            queued: world.cache().queued(),
            memory_used: world.cache().used(),
            memory_allocated: state.allocated,
            uncopied: self.memory_file.counts(),
            pace: self.disk.pace(),
            digests: (0, 0),
        }
    }
}

impl Requester for Desk {
    fn completed(
        self: Arc<Self>,
        read: ReadId,
        slot: u32,
        buffer: Buffer,
        file: &OpenFile,
        outcome: &ReadOutcome,
    ) {
        self.input(|state, now| {
            state.memory[slot as usize] = Arc::new(buffer);
            if let (ReadOutcome::Changed, Some(id)) = (outcome, state.id_of(&file.version)) {
                state.forget(now, id);
            }
            // Of a file that was closed nothing is kept, and it is no fault of the disk.
            state.origin.completed(now, read, !matches!(outcome, ReadOutcome::Failed));
        });
    }
}

impl State {
    /// The file by which the origin knows a version, and that its downloads share.
    fn admit(
        &mut self,
        now: Time,
        file: &Arc<OpenFile>,
    ) -> Result<(FileId, Arc<OpenFile>), Failure> {
        let key = file.version.key();
        if let Some((before, id)) = self.catalogue.get(&key).copied() {
            let known = &mut self.files[id.number()];
            let open = known.open.upgrade();
            if before == file.version {
                let open = open.unwrap_or_else(|| {
                    *known = Known::of(file);
                    Arc::clone(file)
                });
                return Ok((id, open));
            }
            if open.is_some_and(|open| open.opened > file.opened) {
                return Err(Failure::Closed);
            }
            self.forget(now, id);
        }
        // Its layout is one that can be.
        let id = self.origin.open(file.version.length).map_err(|_| Failure::Disk)?;
        self.catalogue.insert(key, (file.version, id));
        if id.number() == self.files.len() {
            self.files.push(Known::of(file));
        } else {
            self.files[id.number()] = Known::of(file);
        }
        Ok((id, Arc::clone(file)))
    }

    /// How many downloads each file has, by its number.
    fn downloads(&self) -> BTreeMap<u32, u32> {
        let mut downloads = BTreeMap::new();
        for file in self.clients.values().filter_map(|client| client.downloads) {
            *downloads.entry(file).or_insert(0) += 1;
        }
        downloads
    }

    fn id_of(&self, version: &Version) -> Option<FileId> {
        let (there, id) = self.catalogue.get(&version.key())?;
        (there == version).then_some(*id)
    }

    /// The origin ends the downloads of what a file was, and keeps nothing of it.
    fn forget(&mut self, now: Time, id: FileId) {
        self.origin.close(now, id);
        self.catalogue.retain(|_, (_, of)| *of != id);
    }

    /// A block that was lent out of the buffer that a slot has had.
    fn give_back(&mut self, buffer: Arc<Buffer>, slot: u32) {
        let is_kept = Arc::ptr_eq(&self.memory[slot as usize], &buffer);
        let is_last = Arc::strong_count(&buffer) == 1 + usize::from(is_kept);
        self.lent -= usize::from(is_last);
        // If its slot has gone to others meanwhile, and this was the last loan.
        if let Some(buffer) = Arc::into_inner(buffer) {
            self.allocated -= buffer.memory();
        }
    }

    fn end(&mut self, client: ClientId, how: Result<(), Failure>) {
        if let Some(entry) = self.clients.get_mut(&client) {
            entry.handed = None;
            entry.ended = Some(how);
            entry.wake();
        }
    }

    /// Memory for an extent: what the slot has if it fits, else a new allocation. Never more than there may be: what
    /// free slots keep goes first, and the origin's account holds for the others.
    fn buffer(&mut self, slot: usize, length: usize) -> Buffer {
        if self.memory.len() <= slot {
            self.memory.resize_with(slot + 1, Arc::default);
        }
        // Blocks of a changed file that are still lent are given back later.
        let kept = Arc::into_inner(std::mem::take(&mut self.memory[slot])).unwrap_or_default();
        if kept.len() == length && length > 0 {
            return kept;
        }
        self.allocated -= kept.memory();
        drop(kept);
        if self.allocated + length > self.max_allocated {
            for free in self.origin.world().cache().free_memory() {
                if let Some(buffer) = self.memory.get_mut(*free as usize)
                    && let Some(buffer) = Arc::into_inner(std::mem::take(buffer))
                {
                    self.allocated -= buffer.memory();
                }
            }
        }
        // One that is less than a page is not in the memory file, where it would take a whole one.
        let whole = self.file.region_bytes() == length;
        let region = if whole { self.file.region() } else { None };
        debug_assert!(region.is_some() || !whole, "as many as can be allocated");
        let buffer = region.map_or_else(|| Buffer::short(length), Buffer::Whole);
        self.allocated += buffer.memory();
        debug_assert!(self.allocated <= self.max_allocated);
        buffer
    }
}

impl Known {
    fn of(file: &Arc<OpenFile>) -> Known {
        Known { name: Arc::clone(&file.name), open: Arc::downgrade(file) }
    }
}

impl Client {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn wait(&mut self, waker: &Waker) {
        match &mut self.waker {
            Some(there) => there.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::ways;
    use crate::download::Download;
    use crate::open_file::Version;
    use std::io::Write;

    fn desk(memory_bytes: u64, reader: Reader) -> Arc<Desk> {
        let settings = OriginSettings {
            memory_bytes,
            extent_bytes: 1 << 17,
            block_bytes: 1 << 14,
            ..OriginSettings::default()
        };
        Desk::new(&settings, reader, None).unwrap()
    }

    fn open(desk: &Arc<Desk>, file: File, length: u64) -> Arc<OpenFile> {
        let version = Version { length, ..Version::of(&file.metadata().unwrap()) };
        desk.open(file, Path::new("f"), version, false).unwrap()
    }

    /// The ranges in memory are listed without a look at all that are not: of 1 TiB that would be 8 million extents,
    /// under the lock.
    #[tokio::test]
    #[allow(clippy::disallowed_methods, reason = "how long it takes is what this is about")]
    async fn what_is_in_memory_of_a_long_file_is_told_at_once() {
        let desk = desk(1 << 20, Reader::Auto);
        let file = tempfile::tempfile().unwrap();
        let size = 1 << 40;
        file.set_len(size).unwrap();
        let file = open(&desk, file, size);
        let places = [0..1, size / 2..size / 2 + 1, size - 1..size];
        for range in &places {
            let ranges = std::slice::from_ref(range);
            Download::begin(&desk, &file, ranges, true, 1, None).next().await.unwrap().unwrap();
        }
        let began = std::time::Instant::now();
        for _ in 0..200 {
            let found = desk.resident(&file, 32);
            let extent = |byte| file.layout.extent_of((byte / file.layout.block_size()) as u32);
            let extents: Vec<Range<u64>> =
                places.iter().map(|it| file.layout.extent_bytes(extent(it.start))).collect();
            assert_eq!(found, extents);
        }
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }

    /// The server's own reading for digests takes from the disk, and is no download.
    #[tokio::test]
    async fn what_is_read_for_digests_is_no_download() {
        for reader in ways() {
            let desk = desk(5 << 20, reader);
            let length = 1 << 20;
            let files = [(); 2].map(|()| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&vec![7; length]).unwrap();
                open(&desk, file, length as u64)
            });
            let whole = 0..length as u64;
            let begin = |file, party| {
                let all = std::slice::from_ref(&whole);
                Download::begin(&desk, file, all, true, party, None)
            };
            let mut ours = begin(&files[0], OURS);
            let counts = |it: &Overview| (it.downloads, it.active_files);
            assert_eq!(counts(&desk.overview()), (0, 0));
            // It waits for the disk, which another does as well.
            let mut theirs = begin(&files[1], 1);
            assert_eq!(counts(&desk.overview()), (1, 1));
            let clients = || desk.maps().iter().map(|map| map.clients).collect::<Vec<_>>();
            assert_eq!(clients(), [1, 0]);
            while ours.next().await.unwrap().is_some() {}
            let Counters { sent, blocks, hits, read, .. } = desk.overview().counters;
            assert_eq!((sent, blocks, hits, read), (0, 0, 0, length as u64));
            while theirs.next().await.unwrap().is_some() {}
            let counters = desk.overview().counters;
            assert_eq!((counters.sent, counters.read), (length as u64, 2 * length as u64));
            assert_eq!(counters.blocks, length as u64 >> 14);
            drop((ours, theirs));
            assert_eq!(counts(&desk.overview()), (0, 0));
        }
    }

    /// Reading a directory fails (`EISDIR`), as a bad sector does.
    #[tokio::test]
    async fn a_disk_that_cannot_read_ends_those_who_wait() {
        for reader in ways() {
            let directory = tempfile::tempdir().unwrap();
            let desk = desk(1 << 20, reader);
            let bad = open(&desk, File::open(directory.path()).unwrap(), 1 << 20);
            let mut good = tempfile::tempfile().unwrap();
            good.write_all(&[7; 100_000]).unwrap();
            let good = open(&desk, good, 100_000);
            let begin = |file| {
                Download::begin(&desk, file, std::slice::from_ref(&(0..100_000)), false, 1, None)
            };
            let (mut first, mut second, mut third) = (begin(&bad), begin(&bad), begin(&good));
            assert_eq!(first.next().await.unwrap_err(), Failure::Disk);
            assert_eq!(second.next().await.unwrap_err(), Failure::Disk);
            let piece = third.next().await.unwrap().unwrap();
            assert_eq!((piece.offset, &piece.bytes[..]), (0, &[7; 1 << 14][..]));
            drop((piece, first, second, third));
            let overview = desk.overview();
            assert_eq!((overview.counters.errors > 0, overview.downloads), (true, 0));
        }
    }

    /// A file that is shorter than reported ends as one that has changed.
    #[tokio::test]
    async fn a_file_that_is_cut_is_another_one() {
        for reader in ways() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[7; 100_000]).unwrap();
            let desk = desk(1 << 20, reader);
            let file = open(&desk, file, 200_000);
            let all = std::slice::from_ref(&(150_000..200_000));
            let mut download = Download::begin(&desk, &file, all, true, 1, None);
            assert_eq!(download.next().await.unwrap_err(), Failure::Closed);
        }
    }

    /// A block is handed out when the one before was accepted, which is when nothing refers to it.
    #[tokio::test]
    async fn a_block_at_a_time() {
        for reader in ways() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[7; 100_000]).unwrap();
            let desk = desk(1 << 20, reader);
            let file = open(&desk, file, 100_000);
            let all = std::slice::from_ref(&(0..100_000));
            let mut download = Download::begin(&desk, &file, all, true, 1, None);
            let piece = download.next().await.unwrap().unwrap();
            let rest = piece.bytes.slice(5..);
            drop(piece);
            let soon = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(soon, download.next()).await.is_err());
            drop(rest);
            assert_eq!(download.next().await.unwrap().unwrap().offset, 1 << 14);
        }
    }

    /// A block that is lent while its file changes, and its memory goes to others.
    #[tokio::test]
    async fn what_is_lent_stays_as_it_was() {
        for reader in ways() {
            let desk = desk(5 << 20, reader);
            let length = 8 << 20;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&vec![7; length]).unwrap();
            let before = open(&desk, file.try_clone().unwrap(), length as u64);
            let whole = 0..length as u64;
            let all = std::slice::from_ref(&whole);
            let mut download = Download::begin(&desk, &before, all, true, 1, None);
            let lent = loop {
                // A client that takes a block at once is lent the next one, soon.
                let piece = download.next().await.unwrap().unwrap();
                if desk.lock().lent == 1 {
                    break piece;
                }
            };
            std::os::unix::fs::FileExt::write_all_at(&file, &vec![8; length], 0).unwrap();
            let after = open(&desk, file, length as u64);
            let mut next = Download::begin(&desk, &after, all, true, 1, None);
            let mut got = 0;
            while let Some(piece) = next.next().await.unwrap() {
                assert!(piece.bytes.iter().all(|byte| *byte == 8));
                got += piece.bytes.len();
            }
            assert_eq!(got, length);
            assert!(lent.bytes.iter().all(|byte| *byte == 7));
            drop((lent, download, next));
            let state = desk.lock();
            let kept: usize = state.memory.iter().map(|buffer| buffer.memory()).sum();
            assert_eq!((state.lent, state.allocated), (0, kept));
            assert!(kept <= state.max_allocated);
        }
    }

    /// A client that takes them at once gets more and more at a time, of one extent.
    #[tokio::test]
    async fn several_blocks_at_a_time() {
        for reader in ways() {
            let desk = desk(5 << 20, reader);
            let content: Vec<u8> = (0..1 << 20).map(|at: u32| (at >> 14) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&content).unwrap();
            let file = open(&desk, file, content.len() as u64);
            let whole = 0..content.len() as u64;
            let max = MAX_LENDS << 14;
            for in_order in [true, false] {
                let mut longest = 0;
                // A machine that is slow for a moment is lent less.
                for _ in 0..1000 {
                    let all = std::slice::from_ref(&whole);
                    let mut download = Download::begin(&desk, &file, all, in_order, 1, None);
                    let mut got = 0;
                    while let Some(piece) = download.next().await.unwrap() {
                        let range = piece.range();
                        assert_eq!(piece.bytes, content[range.start as usize..range.end as usize]);
                        assert_eq!(range.start >> 17, (range.end - 1) >> 17);
                        assert!(!in_order || range.start == got);
                        got += range.end - range.start;
                        longest = longest.max(piece.bytes.len());
                    }
                    assert_eq!(got, whole.end);
                    if longest == max {
                        break;
                    }
                }
                assert_eq!(longest, max, "in order: {in_order}");
            }
            let lent = desk.lock().lent;
            assert_eq!((lent, desk.overview().downloads), (0, 0));
        }
    }

    #[test]
    fn memory_that_is_too_little_is_refused() {
        for (reads, extent_bytes) in [(2, 1 << 20), (14, 1 << 16), (100, 1 << 16), (300, 1 << 14)] {
            let few = OriginSettings {
                memory_bytes: u64::from(extent_bytes) * u64::from(2 * reads),
                extent_bytes,
                block_bytes: 1 << 14,
                reads,
                ..OriginSettings::default()
            };
            let refusal = Desk::new(&few, Reader::Auto, None).unwrap_err();
            assert_eq!(refusal.path, "memory");
            // "at least N bytes, for 2 reads at once"
            let enough = refusal.allowed.split(' ').nth(2).unwrap().parse().unwrap();
            let enough = OriginSettings { memory_bytes: enough, ..few };
            Desk::new(&enough, Reader::Auto, None).unwrap();
        }
    }
}
