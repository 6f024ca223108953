/// A queue in a ring whose size is a power of two: a place is found with one mask, and an entry
/// takes its own size and nothing else. Entries are plain values; those that have left stay in the
/// memory until they are overwritten.
///
/// It takes 24 bytes where a `VecDeque` takes 32, and some of it has to be in the cache for each of
/// millions of operations.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    len: u32,
}

/// The first allocation.
const MIN_SLOTS: usize = 4;

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// An empty ring that holds no memory.
    pub fn new() -> Ring<T> {
        Ring { slots: Box::default(), head: 0, len: 0 }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// How many entries memory is held for.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn place(&self, position: usize) -> usize {
        (self.head as usize + position) & self.slots.len().wrapping_sub(1)
    }

    /// The entry at `position`, counted from the front.
    pub fn get(&self, position: usize) -> Option<&T> {
        if position < self.len() { self.slots.get(self.place(position)) } else { None }
    }
    /// The entry at `position`, to be changed.
    pub fn get_mut(&mut self, position: usize) -> Option<&mut T> {
        let place = self.place(position);
        if position < self.len() { self.slots.get_mut(place) } else { None }
    }
    /// The first entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head as usize) }
    }
    /// The first entry, to be changed.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 { None } else { self.slots.get_mut(self.head as usize) }
    }
    /// The last entry.
    pub fn back(&self) -> Option<&T> {
        self.len().checked_sub(1).and_then(|last| self.get(last))
    }

    /// Appends an entry, and returns where it stands now. Its fields are written there, not put together elsewhere.
    #[inline(always)]
    pub fn push_back(&mut self, entry: T) -> &mut T {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len());
        self.len += 1;
        let slot = &mut self.slots[place];
        *slot = entry;
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let more = (2 * self.slots.len()).max(MIN_SLOTS);
        let mut slots = vec![T::default(); more].into_boxed_slice();
        for (slot, entry) in slots.iter_mut().zip(self.iter()) {
            *slot = *entry;
        }
        self.slots = slots;
        self.head = 0;
    }

    /// Takes the first entry.
    pub fn pop_front(&mut self) -> Option<T> {
        let entry = *self.front()?;
        self.drop_front();
        Some(entry)
    }

    /// Drops the first entry, which must be there.
    #[inline]
    pub fn drop_front(&mut self) {
        debug_assert!(self.len > 0);
        self.head = (self.head + 1) & (self.slots.len() as u32).wrapping_sub(1);
        self.len -= 1;
    }

    /// The entries, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let [front, back] = self.spans();
        self.slots[front].iter().chain(self.slots[back].iter())
    }
    /// The entries, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let [front, back] = self.spans();
        let (low, high) = self.slots.split_at_mut(front.start);
        high[..front.len()].iter_mut().chain(low[back].iter_mut())
    }

    fn spans(&self) -> [std::ops::Range<usize>; 2] {
        let head = self.head as usize;
        let first = self.len().min(self.slots.len() - head);
        [head..head + first, 0..self.len() - first]
    }

    /// The position of the first entry of which `before` does not hold, where it holds of all that
    /// come earlier.
    pub fn partition_point(&self, mut before: impl FnMut(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.slots[self.place(middle)]) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Puts an entry before the one at a position, or at the end: those behind move on.
    ///
    /// # Panics
    ///
    /// If the position is beyond the end.
    pub fn insert(&mut self, position: usize, entry: T) {
        let len = self.len();
        assert!(position <= len, "position {position} of {len}");
        self.push_back(entry);
        for place in (position..len).rev() {
            let (here, next) = (self.place(place), self.place(place + 1));
            self.slots.swap(here, next);
        }
    }

    /// Puts the entries in order.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let head = self.head as usize;
        self.slots.rotate_left(head);
        self.head = 0;
        self.slots[..self.len as usize].sort_by_key(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// It is a queue: whatever is done, it holds what a `VecDeque` would hold.
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec((0u8..9, 0u32..1000), 1..300)) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            for (step, value) in steps {
                match step {
                    0..=3 => {
                        prop_assert_eq!(*ring.push_back(value), value);
                        queue.push_back(value);
                    }
                    4 | 5 => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                    6 => {
                        ring.iter_mut().for_each(|entry| *entry += 1);
                        queue.iter_mut().for_each(|entry| *entry += 1);
                    }
                    7 => {
                        let place = value as usize % (queue.len() + 1);
                        ring.insert(place, value);
                        queue.insert(place, value);
                    }
                    _ => {
                        ring.sort_by_key(|entry| *entry);
                        queue.make_contiguous().sort();
                        let below = ring.partition_point(|entry| *entry < value);
                        prop_assert_eq!(below, queue.partition_point(|entry| *entry < value));
                    }
                }
                prop_assert_eq!(ring.len(), queue.len());
                prop_assert_eq!(ring.is_empty(), queue.is_empty());
                prop_assert_eq!(ring.front(), queue.front());
                prop_assert_eq!(ring.back(), queue.back());
                prop_assert!(ring.iter().eq(queue.iter()));
                prop_assert_eq!(ring.get(value as usize % 8), queue.get(value as usize % 8));
                prop_assert!(ring.capacity() >= ring.len());
            }
        }
    }
}
