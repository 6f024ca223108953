use crate::cache::{Cache, State};
use crate::client::Client;
use crate::list::{Links, List};
use crate::{Layout, Needs};

/// The view of a policy: files and their extents in memory, clients and what they still need.
#[derive(Debug)]
pub struct World {
    pub(crate) files: Vec<File>,
    pub(crate) clients: Vec<Client>,
    pub(crate) cache: Cache,
    /// Of slots: the lists of what was asked of the disk for each file.
    pub(crate) asked: Links,
    /// Files that have downloads.
    pub(crate) active: u32,
    /// Bytes that are to be left for reads under way.
    pub(crate) slack: u64,
}

/// A file as the origin keeps it.
#[derive(Debug)]
pub struct File {
    /// How it is cut.
    pub layout: Layout,
    /// The slot of each extent and 1, or 0: so memory that was never written takes no memory of the machine.
    pub(crate) slots: Box<[u32]>,
    /// Extents in memory, in the queue for the disk or being read.
    pub(crate) there: u32,
    /// Extents in the queue for the disk or being read, in the order in which they were asked for.
    pub(crate) asked: List,
    /// The extent that was asked of the disk last.
    pub position: Option<u32>,
    /// Number of its clients.
    pub clients: u32,
    /// No client may join any more.
    pub(crate) closed: bool,
    /// Nothing is kept of it, and its number is free.
    pub(crate) gone: bool,
    /// How many files had this number before.
    pub(crate) generation: u32,
    /// It is in the list of those that are idle.
    pub(crate) listed: bool,
}

impl File {
    pub(crate) fn new(layout: Layout, generation: u32) -> File {
        File {
            layout,
            slots: vec![0; layout.extents() as usize].into_boxed_slice(),
            there: 0,
            asked: List::default(),
            position: None,
            clients: 0,
            closed: false,
            gone: false,
            generation,
            listed: false,
        }
    }

    /// It has no downloads, and nothing of it is in memory or asked of the disk.
    pub(crate) fn is_idle(&self) -> bool {
        self.clients == 0 && self.there == 0
    }

    /// An extent has got a slot.
    pub(crate) fn put(&mut self, extent: u32, slot: u32) {
        self.slots[extent as usize] = slot + 1;
        self.there += 1;
    }

    /// An extent has lost its slot.
    pub(crate) fn take(&mut self, extent: u32) {
        self.slots[extent as usize] = 0;
        self.there -= 1;
    }
}

/// The next step of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Take this block, which is in memory.
    Send(u32),
    /// Wait for this extent, which is asked of the disk already.
    Wait(u32),
    /// Ask the disk for this extent, and wait for it.
    Read(u32),
    /// Nothing: all is sent.
    Nothing,
}

impl World {
    /// A file by its number.
    pub fn file(&self, file: u32) -> &File {
        &self.files[file as usize]
    }
    /// Number of files that something is kept of.
    pub fn files(&self) -> usize {
        self.files.iter().filter(|file| !file.gone).count()
    }
    /// The number of the file that a client downloads.
    pub fn file_of(&self, client: u32) -> u32 {
        self.clients[client as usize].file
    }
    /// How a client's file is cut.
    pub fn layout(&self, client: u32) -> Layout {
        self.file(self.file_of(client)).layout
    }
    /// The blocks that a client still needs.
    pub fn needs(&self, client: u32) -> &Needs {
        &self.clients[client as usize].needs
    }
    /// Takes a block that will be sent to a client later from what that client needs.
    pub fn choose(&mut self, client: u32, block: u32) {
        self.clients[client as usize].needs.remove(block);
    }
    /// Bytes that a client's socket has accepted.
    pub fn accepted(&self, client: u32) -> u64 {
        self.clients[client as usize].accepted
    }
    /// Whether a client takes its blocks in the order of the file only.
    pub fn in_order(&self, client: u32) -> bool {
        self.clients[client as usize].in_order
    }
    /// The extents in memory, and those asked of the disk.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }
    /// Number of files that have downloads.
    pub fn active_files(&self) -> u32 {
        self.active
    }
    /// Memory without what reads under way may take.
    pub fn memory_at_rest(&self) -> u64 {
        self.cache.memory().saturating_sub(self.slack)
    }
    /// The slot of an extent, if it is in memory or asked of the disk.
    pub fn slot_of(&self, file: u32, extent: u32) -> Option<u32> {
        self.file(file).slots.get(extent as usize)?.checked_sub(1)
    }
    /// The extents of a file that are in the queue for the disk or being read, in the order in which they were asked for.
    pub fn asked(&self, file: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.file(file).asked.first();
        let slots = std::iter::successors(first, |slot| self.asked.next(*slot));
        slots.map(|slot| self.cache.slot(slot).extent)
    }
    /// Where an extent is, if anywhere but on the disk.
    pub fn state(&self, file: u32, extent: u32) -> Option<State> {
        Some(self.cache.slot(self.slot_of(file, extent)?).state)
    }

    /// Whether a block is the first of its extent.
    pub(crate) fn begins_extent(&self, client: u32, block: u32) -> bool {
        self.layout(client).place_of(block) == 0
    }

    /// How a client comes to this block.
    pub fn fetch(&self, client: u32, block: u32) -> Choice {
        let extent = self.layout(client).extent_of(block);
        match self.state(self.file_of(client), extent) {
            Some(State::Resident) => Choice::Send(block),
            Some(State::Queued | State::Reading) => Choice::Wait(extent),
            None => Choice::Read(extent),
        }
    }
}
