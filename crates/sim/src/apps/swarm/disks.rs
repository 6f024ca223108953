//! Seeds that read from a disk: each has a content server's machine, which brings block by block what the client asks for.

use super::*;
use crate::apps::storage::{MAX_READS, Storage};
use flashcrowd_origin::{ClientId, FileId, Output, Request};
use flashcrowd_plan::Windowed;
use flashcrowd_workload::{Counted, origin};
use std::slice;

/// The disk of a seed and the memory before it.
pub(super) struct SeedDisk<'p> {
    peer: u32,
    spec: &'p plan::Storage,
    storage: Storage,
    file: FileId,
    /// The block for a neighbour that each client of the machine is.
    asked: Vec<Block>,
    /// What it did in the part of the run that counts.
    counted: Counted<origin::Counts>,
}

/// A block, and the connection that it is for.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) conn: ConnId,
    pub(super) piece: u32,
    pub(super) begin: u32,
    pub(super) length: u32,
}

impl<'p> SeedDisk<'p> {
    fn new(
        plan: &Plan,
        peer: u32,
        spec: &'p plan::Storage,
        torrent: &Torrent,
        block_bytes: u32,
    ) -> SeedDisk<'p> {
        let mut storage = Storage::new(&spec.settings(block_bytes), &spec.disk);
        let file = storage.machine.open(torrent.bytes()).expect("the file is not too long");
        let counted = Counted::new(plan.measures.window(Windowed::Origins));
        SeedDisk { peer, spec, storage, file, asked: Vec::new(), counted }
    }
}

impl<'p> Swarms<'p> {
    /// Gives each seed of a population with a storage its disk.
    pub(super) fn install_disks(&mut self) {
        for number in 0..self.peers.len() as u32 {
            let swarm = self.rules.peer(number).swarm;
            let Some(spec) = self.population(number).and_then(|of| of.storage.as_ref()) else {
                continue;
            };
            let Some(block_bytes) = self.spec(swarm).map(|spec| spec.block_bytes) else { continue };
            let torrent = &self.all[swarm as usize].torrent;
            let disk = SeedDisk::new(self.plan, number, spec, torrent, block_bytes);
            self.peers[number as usize].disk = Some(self.disks.len() as u32);
            self.disks.push(disk);
        }
    }

    /// A client needs a block in memory.
    pub(super) fn read_block(&mut self, world: &mut World, peer: u32, block: Block) {
        let Some(number) = self.peers[peer as usize].disk else { return };
        let torrent = &self.all[self.rules.peer(peer).swarm as usize].torrent;
        let piece_bytes = u64::from(torrent.piece_bytes(0));
        let begin = u64::from(block.piece) * piece_bytes + u64::from(block.begin);
        let range = begin..begin + u64::from(block.length);
        let disk = &mut self.disks[number as usize];
        let request = Request { ranges: Some(slice::from_ref(&range)), in_order: true };
        let id = disk.storage.machine.join(world.now, disk.file, request);
        let place = id.number();
        disk.asked.resize(disk.asked.len().max(place + 1), block);
        disk.asked[place] = block;
        disk.storage.machine.writable(world.now, id);
        self.work_disk(world, number);
    }

    /// A read is done.
    pub(super) fn on_disk_read(&mut self, world: &mut World, event: u32) {
        let (number, read) = (event / MAX_READS, event % MAX_READS);
        self.disks[number as usize].storage.completed(world.now, read);
        self.work_disk(world, number);
        self.drain(world, self.disks[number as usize].peer);
    }

    /// Does what a disk's machine asks for, until there is nothing.
    fn work_disk(&mut self, world: &mut World, number: u32) {
        while let Some(output) = self.disks[number as usize].storage.machine.poll() {
            match output {
                Output::Read { read, offset, length, .. } => {
                    let storage = &mut self.disks[number as usize].storage;
                    let (done, read) = storage.read(world.now, read, offset, length);
                    self.schedule(world, done, Code::DiskRead, number * MAX_READS + read);
                }
                // Copied into the client's send buffer at once.
                Output::Send { client, length, .. } => {
                    let machine = &mut self.disks[number as usize].storage.machine;
                    machine.accepted(world.now, client, length);
                    machine.writable(world.now, client);
                }
                Output::Done { client } => self.block_is_here(world, number, client),
                Output::Failed { .. } => debug_assert!(false, "files stay, and disks read"),
            }
        }
    }
    fn block_is_here(&mut self, world: &World, number: u32, client: ClientId) {
        let disk = &self.disks[number as usize];
        let Block { conn, piece, begin, length } = disk.asked[client.number()];
        if let Some(machine) = &mut self.peers[disk.peer as usize].machine {
            machine.on_block_read(world.now, conn, piece, begin, length);
        }
    }

    /// What counts of disks begins or ends.
    pub(super) fn mark_disks(&mut self, now: Time, begins: bool) {
        for disk in &mut self.disks {
            disk.counted.mark(begins, disk.storage.counts(now));
        }
    }
    /// Seeds with a disk, among the content servers; nothing if there are none.
    pub(super) fn disks_table(&self, world: &World) -> Option<Table> {
        let rows = self.disks.iter().map(|disk| {
            let peer = self.rules.peer(disk.peer);
            let present = disk.storage.counts(world.now);
            let (from, to) = disk.counted.done(|_| origin::Counts::default(), present);
            origin::Row {
                origin: self.spec(peer.swarm).map_or("", |spec| &spec.name),
                host: &world.network.host(peer.host).name,
                policy: "requested",
                disk: &disk.spec.disk,
                downloads: 0,
                completed: 0,
                from,
                to,
            }
        });
        let rows: Vec<origin::Row<'_>> = rows.collect();
        (!rows.is_empty()).then(|| origin::table(&rows))
    }
}
