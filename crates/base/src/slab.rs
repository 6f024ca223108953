/// Values at places that are numbered, and used again: what has just been taken out is where the
/// next value goes, so the memory in use is that of the values that are there.
///
/// Each place also names another one, its *next*: values can be in a [`List`], or in lists whose
/// owner keeps nothing but the first place ([`Slab::insert_before`], [`Slab::unlink`]).
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Slot<T>>,
    /// The first free place; each of these names the next.
    free: u32,
    len: u32,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    value: Option<T>,
    next: u32,
}

/// No place: the end of a list.
pub const NOWHERE: u32 = u32::MAX;

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { places: Vec::new(), free: NOWHERE, len: 0 }
    }
}

impl<T> Slab<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Number of places that memory is held for, free ones included.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Asks the processor's cache for a place; see [`prefetch`](crate::prefetch).
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        if let Some(place) = self.places.get(index as usize) {
            crate::prefetch(place);
        }
    }

    /// The same for the first value of a list.
    #[inline(always)]
    pub fn prefetch_front(&self, list: &List) {
        self.prefetch(list.first);
    }

    /// Puts a value at a free place, whose next is [`NOWHERE`]; the number of the place.
    pub fn insert(&mut self, value: T) -> u32 {
        self.insert_before(value, NOWHERE)
    }

    /// The same for a value that `next` follows.
    pub fn insert_before(&mut self, value: T, next: u32) -> u32 {
        let place = Slot { value: Some(value), next };
        self.len += 1;
        match self.places.get_mut(self.free as usize) {
            Some(free) => {
                let index = self.free;
                self.free = free.next;
                *free = place;
                index
            }
            None => {
                self.places.push(place);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Takes out the value at a place; `None` if there is none.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        self.unlink(index).map(|(value, _)| value)
    }

    /// The same, with the place that followed it in its list.
    pub fn unlink(&mut self, index: u32) -> Option<(T, u32)> {
        let place = self.places.get_mut(index as usize)?;
        let value = place.value.take()?;
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = index;
        self.len -= 1;
        Some((value, next))
    }

    /// The value at a place.
    pub fn get(&self, index: u32) -> Option<&T> {
        self.places.get(index as usize)?.value.as_ref()
    }
    /// The value at a place, to be changed.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.value.as_mut()
    }
    /// All values, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }
    /// All values, with their places, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let numbered = (0u32..).zip(&mut self.places);
        numbered.filter_map(|(index, place)| Some((index, place.value.as_mut()?)))
    }

    /// The place that follows the value at `index` in its list; [`NOWHERE`] at the end of the list
    /// and where no value is.
    pub fn next(&self, index: u32) -> u32 {
        match self.places.get(index as usize) {
            Some(Slot { value: Some(_), next }) => *next,
            _ => NOWHERE,
        }
    }
    /// Has `next` follow the value at `index`. Changes nothing where no value is.
    fn link(&mut self, index: u32, next: u32) {
        if let Some(Slot { value: Some(_), next: follows }) = self.places.get_mut(index as usize) {
            *follows = next;
        }
    }
}

/// Values of a [`Slab`] one behind the other: as many lists as there are, in one memory.
#[derive(Clone, Copy, Debug)]
pub struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> List {
        List::EMPTY
    }
}

impl List {
    /// A list of nothing.
    pub const EMPTY: List = List { first: NOWHERE, last: NOWHERE };

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.first == NOWHERE
    }
}

/// Lists. A list belongs to the slab that its first value was pushed to.
impl<T> Slab<T> {
    /// Puts a value behind all others of a list.
    pub fn push_back(&mut self, list: &mut List, value: T) {
        let place = self.insert(value);
        match list.last {
            NOWHERE => list.first = place,
            last => self.link(last, place),
        }
        list.last = place;
    }

    /// Takes out the first value of a list.
    pub fn pop_front(&mut self, list: &mut List) -> Option<T> {
        self.remove_behind(list, NOWHERE)
    }

    /// Takes out the value behind the one at place `before`, or else the first.
    fn remove_behind(&mut self, list: &mut List, before: u32) -> Option<T> {
        let place = if before == NOWHERE { list.first } else { self.next(before) };
        let (value, next) = self.unlink(place)?;
        if before == NOWHERE {
            list.first = next;
        } else {
            self.link(before, next);
        }
        if list.last == place {
            list.last = before;
        }
        Some(value)
    }

    /// Takes out the first value that `found` chooses; it sees them in order.
    pub fn remove_first(
        &mut self,
        list: &mut List,
        mut found: impl FnMut(&T) -> bool,
    ) -> Option<T> {
        let (mut before, mut place) = (NOWHERE, list.first);
        while let Some(value) = self.get(place) {
            if found(value) {
                return self.remove_behind(list, before);
            }
            (before, place) = (place, self.next(place));
        }
        None
    }

    /// The first value of a list.
    pub fn front(&self, list: &List) -> Option<&T> {
        self.get(list.first)
    }
    /// The last value of a list.
    pub fn back(&self, list: &List) -> Option<&T> {
        self.get(list.last)
    }
    /// The values of a list, the first one first.
    pub fn iter_list(&self, list: &List) -> impl Iterator<Item = &T> {
        let mut place = list.first;
        std::iter::from_fn(move || {
            let value = self.get(place)?;
            place = self.next(place);
            Some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    proptest! {
        /// It is a map from numbers that it hands out, and takes no more places than there ever
        /// were values.
        #[test]
        fn a_slab_is_a_map(steps in prop::collection::vec((0u8..6, 0u32..40), 1..300)) {
            let (mut slab, mut map, mut max) = (Slab::default(), BTreeMap::new(), 0);
            for (step, value) in steps {
                match step {
                    0 | 1 => {
                        let index = slab.insert(value);
                        prop_assert_eq!(map.insert(index, (value, NOWHERE)), None);
                    }
                    2 => {
                        let index = slab.insert_before(value, 7);
                        prop_assert_eq!(map.insert(index, (value, 7)), None);
                    }
                    3 => {
                        prop_assert_eq!(slab.unlink(value), map.remove(&value));
                        prop_assert_eq!(slab.remove(value), None);
                    }
                    4 => {
                        slab.link(value, step.into());
                        map.entry(value).and_modify(|(_, next)| *next = step.into());
                    }
                    _ => {
                        slab.iter_mut().for_each(|(_, value)| *value += 1);
                        map.values_mut().for_each(|(value, _)| *value += 1);
                    }
                }
                max = max.max(map.len());
                prop_assert_eq!(slab.len(), map.len());
                prop_assert_eq!(slab.is_empty(), map.is_empty());
                prop_assert_eq!(slab.places(), max);
                for index in 0..=max as u32 {
                    let expected = map.get(&index);
                    prop_assert_eq!(slab.get(index), expected.map(|(value, _)| value));
                    prop_assert_eq!(slab.get_mut(index).copied(), expected.map(|(value, _)| *value));
                    prop_assert_eq!(slab.next(index), expected.map_or(NOWHERE, |(_, next)| *next));
                }
            }
        }

        /// Lists in one slab are queues from which a value can be taken anywhere.
        #[test]
        fn lists_are_queues(steps in prop::collection::vec((0usize..3, 0u8..5, 0u32..9), 1..300)) {
            let mut slab = Slab::default();
            let (mut lists, mut queues) = ([List::EMPTY; 3], [const { VecDeque::new() }; 3]);
            for (which, step, value) in steps {
                let (list, queue) = (&mut lists[which], &mut queues[which]);
                match step {
                    0..=2 => {
                        slab.push_back(list, value);
                        queue.push_back(value);
                    }
                    3 => prop_assert_eq!(slab.pop_front(list), queue.pop_front()),
                    _ => {
                        let place = queue.iter().position(|other| *other == value);
                        let removed = place.and_then(|place| queue.remove(place));
                        prop_assert_eq!(slab.remove_first(list, |other| *other == value), removed);
                    }
                }
                for (list, queue) in lists.iter().zip(&queues) {
                    prop_assert!(slab.iter_list(list).eq(queue));
                    prop_assert_eq!((slab.front(list), slab.back(list)), (queue.front(), queue.back()));
                    prop_assert_eq!(list.is_empty(), queue.is_empty());
                }
                prop_assert_eq!(slab.len(), queues.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}
