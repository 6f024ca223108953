use super::client::Client;
use super::counts::Counts;
use super::visitor::Served;
use crate::apps::storage::Storage;
use flashcrowd_base::Time;
use flashcrowd_origin::{ClientId, FileId, Layout, ReadId};
use flashcrowd_plan::{self as plan, Plan, Windowed};
use flashcrowd_workload::Counted;
use std::collections::VecDeque;

/// A content server: its machine and its disk.
pub(super) struct Server<'p> {
    /// Index among the plan's workloads.
    pub(super) workload: u32,
    pub(super) spec: &'p plan::Origin,
    pub(super) storage: Storage,
    pub(super) files: Vec<FileId>,
    /// Who is behind each number of the machine's.
    clients: Vec<Served>,
    /// Those who were handed a block which is to be written.
    pub(super) handed: VecDeque<Served>,
    /// When it will look for sockets that accept nothing; an earlier event is out of date.
    pub(super) armed: Time,
    /// Of each file: downloads, bytes handed to sockets, bytes read.
    pub(super) downloads: Vec<u32>,
    pub(super) sent: Vec<u64>,
    pub(super) read: Vec<u64>,
    /// What it has done in the part of the run that counts.
    pub(super) counted: Counted<Counts>,
}

impl<'p> Server<'p> {
    pub(super) fn new(plan: &Plan, workload: u32, spec: &'p plan::Origin) -> Server<'p> {
        let plan::Files { count, size_bytes, .. } = spec.files;
        // The check of the plan has asked for both.
        let mut storage = Storage::new(&spec.settings, &spec.disk);
        let open = |_| storage.machine.open(size_bytes).expect("the file is not too long");
        let files = (0..count).map(open);
        let files: Vec<FileId> = files.collect();
        Server {
            workload,
            spec,
            storage,
            files,
            clients: Vec::new(),
            handed: VecDeque::new(),
            armed: Time::NEVER,
            downloads: vec![0; count as usize],
            sent: vec![0; count as usize],
            read: vec![0; count as usize],
            counted: Counted::new(plan.measures.window(Windowed::Origins)),
        }
    }

    pub(super) fn layout(&self, file: u32) -> Layout {
        self.storage.machine.world().file(file).layout
    }

    /// The machine calls this client so from now on.
    pub(super) fn note(&mut self, id: ClientId, client: Served) {
        let number = id.number();
        self.clients.resize(self.clients.len().max(number + 1), client);
        self.clients[number] = client;
    }
    pub(super) fn client(&self, id: ClientId) -> Served {
        self.clients[id.number()]
    }

    /// The disk is asked for a part of a file; when it is there, and the number of the read. Files lie one behind the
    /// other.
    pub(super) fn read(
        &mut self,
        now: Time,
        read: ReadId,
        file: FileId,
        (offset, length): (u64, u32),
    ) -> (Time, u32) {
        self.read[file.number()] += u64::from(length);
        let address = file.number() as u64 * self.spec.files.size_bytes + offset;
        self.storage.read(now, read, address, length)
    }

    /// What stands before a run of blocks for this client.
    pub(super) fn part_bytes(&self, client: &Client) -> u64 {
        let in_order = self.spec.populations[client.population as usize].in_order;
        if in_order { 0 } else { self.spec.part_bytes }
    }

    pub(super) fn counts(&self, now: Time) -> Counts {
        Counts {
            all: self.storage.counts(now),
            downloads: self.downloads.clone(),
            sent: self.sent.clone(),
            read: self.read.clone(),
        }
    }
}
