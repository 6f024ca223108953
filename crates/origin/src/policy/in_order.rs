use super::Policy;
use crate::replacement::{Replacement, Store};
use crate::world::{Choice, World};

flashcrowd_base::settings! {
    /// Sequential service: each client gets the file from its beginning to its end.
    ///
    /// Without read-ahead make extents as short as blocks.
    #[serde(default)]
    pub struct InOrder {
        /// Whether the next extent is read while a client is sent the one before, if the disk has nothing else to do.
        pub read_ahead: bool,
        /// Which extent gives up its memory: the one that was sent from longest ago, or by S3-FIFO.
        pub replacement: Replacement,
    }
}

impl Default for InOrder {
    fn default() -> InOrder {
        InOrder { read_ahead: true, replacement: Replacement::default() }
    }
}

/// The next block of a client that takes its blocks in the order of the file.
pub(crate) fn next(world: &World, client: u32) -> Choice {
    match world.needs(client).next(0) {
        Some(block) => world.fetch(client, block),
        None => Choice::Nothing,
    }
}

/// The extent behind the one that this client needs next, around the file, if it is on the disk only.
pub(super) fn after_next(world: &World, client: u32, from: u32) -> Option<u32> {
    let (needs, layout) = (world.needs(client), world.layout(client));
    let here = layout.extent_of(needs.next_around(from)?);
    let behind = needs.next_around(layout.first_block(here + 1).min(layout.blocks()))?;
    let extent = layout.extent_of(behind);
    let file = world.file_of(client);
    [here, extent].into_iter().find(|extent| world.slot_of(file, *extent).is_none())
}

#[derive(Debug)]
pub(super) struct InOrderPolicy {
    read_ahead: bool,
    store: Store,
}

impl InOrderPolicy {
    pub(super) fn new(settings: &InOrder) -> InOrderPolicy {
        InOrderPolicy { read_ahead: settings.read_ahead, store: Store::new(settings.replacement) }
    }
}

impl Policy for InOrderPolicy {
    fn opened(&mut self, _world: &World, _file: u32) {}
    fn closed(&mut self, file: u32) {
        self.store.closed(file);
    }
    fn joined(&mut self, _world: &World, _client: u32) {}
    fn left(&mut self, _world: &World, _client: u32) {}
    fn choose(&mut self, world: &mut World, client: u32) -> Choice {
        next(world, client)
    }
    fn is_next(&self, world: &World, client: u32, block: u32) -> bool {
        world.needs(client).next(0) == Some(block)
    }
    fn sent(&mut self, world: &World, client: u32, block: u32, slot: u32) {
        self.store.touch(slot, world.begins_extent(client, block));
    }
    fn ahead(&mut self, world: &World, client: u32) -> Option<u32> {
        if self.read_ahead { after_next(world, client, 0) } else { None }
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
