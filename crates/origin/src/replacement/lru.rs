use crate::list::{Links, List};
use crate::world::World;

/// Least recently used first.
#[derive(Debug, Default)]
pub(crate) struct Lru {
    links: Links,
    list: List,
}

impl Lru {
    pub(super) fn insert(&mut self, slot: u32) {
        self.links.push_back(&mut self.list, slot);
    }
    pub(super) fn touch(&mut self, slot: u32) {
        self.links.move_to_back(&mut self.list, slot);
    }
    pub(super) fn remove(&mut self, slot: u32) {
        self.links.remove(&mut self.list, slot);
    }

    /// An extent that must stay, or is to be kept, goes to the end: so it is not looked at for each one that goes.
    pub(super) fn victim(&mut self, world: &World, keeps: impl Fn(u32) -> bool) -> Option<u32> {
        let mut second = None;
        for _ in 0..self.list.len() {
            let slot = self.list.first()?;
            if world.cache().evictable(slot) {
                if !keeps(slot) {
                    return Some(slot);
                }
                second = second.or(Some(slot));
            }
            self.links.move_to_back(&mut self.list, slot);
        }
        second
    }
}
