use super::Policy;
use super::in_order::after_next;
use crate::replacement::{Replacement, Store};
use crate::world::{Choice, World};

flashcrowd_base::settings! {
    /// Circular scan: a client begins where the disk is in its file, and goes around once.
    ///
    /// In order. Databases call it a synchronized scan (PostgreSQL's `synchronize_seqscans`) or *attach* (Zukowski et al.
    /// 2007).
    #[serde(default)]
    pub struct Attach {
        /// Whether the next extent is read while a client is sent the one before, if the disk has nothing else to do.
        pub read_ahead: bool,
        /// Which extent gives up its memory: the one that was sent from longest ago, or by S3-FIFO.
        pub replacement: Replacement,
    }
}

impl Default for Attach {
    fn default() -> Attach {
        Attach { read_ahead: true, replacement: Replacement::default() }
    }
}

#[derive(Debug)]
pub(super) struct AttachPolicy {
    read_ahead: bool,
    store: Store,
    /// The block that each client is at.
    cursors: Vec<u32>,
}

impl AttachPolicy {
    pub(super) fn new(settings: &Attach) -> AttachPolicy {
        AttachPolicy {
            read_ahead: settings.read_ahead,
            store: Store::new(settings.replacement),
            cursors: Vec::new(),
        }
    }
}

impl Policy for AttachPolicy {
    fn opened(&mut self, _world: &World, _file: u32) {}
    fn closed(&mut self, file: u32) {
        self.store.closed(file);
    }
    fn joined(&mut self, world: &World, client: u32) {
        let place = client as usize;
        self.cursors.resize(self.cursors.len().max(place + 1), 0);
        let file = world.file(world.file_of(client));
        self.cursors[place] = file.layout.first_block(file.position.unwrap_or(0));
    }
    fn left(&mut self, _world: &World, _client: u32) {}
    fn choose(&mut self, world: &mut World, client: u32) -> Choice {
        match world.needs(client).next_around(self.cursors[client as usize]) {
            Some(block) => world.fetch(client, block),
            None => Choice::Nothing,
        }
    }
    fn is_next(&self, world: &World, client: u32, block: u32) -> bool {
        world.needs(client).next_around(self.cursors[client as usize]) == Some(block)
    }
    fn sent(&mut self, world: &World, client: u32, block: u32, slot: u32) {
        self.cursors[client as usize] = block;
        self.store.touch(slot, world.begins_extent(client, block));
    }
    fn ahead(&mut self, world: &World, client: u32) -> Option<u32> {
        if self.read_ahead {
            after_next(world, client, self.cursors[client as usize])
        } else {
            None
        }
    }
    fn loaded(&mut self, world: &World, slot: u32) {
        self.store.loaded(world, slot);
    }
    fn gone(&mut self, world: &World, slot: u32) {
        self.store.gone(world, slot);
    }
    fn victim(&mut self, world: &World) -> Option<u32> {
        self.store.victim(world, |_| false)
    }
}
