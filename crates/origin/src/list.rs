/// No place: the end of a list.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Doubly linked lists over places that are numbered from 0: a place is in one list at a time, and leaves it from
/// the middle without a search. ([`flashcrowd_base::List`] is linked one way, and owns its values.)
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

const LOOSE: Link = Link { previous: NOWHERE, next: NOWHERE };

/// One list: its ends and its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for List {
    fn default() -> List {
        List { first: NOWHERE, last: NOWHERE, len: 0 }
    }
}

impl List {
    pub(crate) fn first(&self) -> Option<u32> {
        (self.first != NOWHERE).then_some(self.first)
    }
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Links {
    /// Puts a place, which is in no list, behind all others of `list`.
    pub(crate) fn push_back(&mut self, list: &mut List, place: u32) {
        if self.0.len() <= place as usize {
            self.0.resize(place as usize + 1, LOOSE);
        }
        self.0[place as usize] = Link { previous: list.last, next: NOWHERE };
        match list.last {
            NOWHERE => list.first = place,
            last => self.0[last as usize].next = place,
        }
        list.last = place;
        list.len += 1;
    }

    /// Takes a place out of `list`, which it is in.
    pub(crate) fn remove(&mut self, list: &mut List, place: u32) {
        let Link { previous, next } = std::mem::replace(&mut self.0[place as usize], LOOSE);
        match previous {
            NOWHERE => list.first = next,
            previous => self.0[previous as usize].next = next,
        }
        match next {
            NOWHERE => list.last = previous,
            next => self.0[next as usize].previous = previous,
        }
        list.len -= 1;
    }

    pub(crate) fn pop_front(&mut self, list: &mut List) -> Option<u32> {
        let first = list.first()?;
        self.remove(list, first);
        Some(first)
    }

    pub(crate) fn move_to_back(&mut self, list: &mut List, place: u32) {
        if list.last != place {
            self.remove(list, place);
            self.push_back(list, place);
        }
    }

    /// The place behind `place` in its list.
    pub(crate) fn next(&self, place: u32) -> Option<u32> {
        let next = self.0[place as usize].next;
        (next != NOWHERE).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two lists in one memory hold what two vectors hold.
        #[test]
        fn lists_are_queues_with_removal(steps in prop::collection::vec((0u8..5, 0u32..12), 1..200)) {
            let mut links = Links::default();
            let mut lists = [List::default(); 2];
            let mut wanted = [vec![], vec![]];
            for (step, place) in steps {
                let at = wanted.iter().position(|list: &Vec<u32>| list.contains(&place));
                match (step, at) {
                    (0 | 1, None) => {
                        links.push_back(&mut lists[step as usize], place);
                        wanted[step as usize].push(place);
                    }
                    (2, Some(at)) => {
                        links.remove(&mut lists[at], place);
                        wanted[at].retain(|other| *other != place);
                    }
                    (3, Some(at)) => {
                        links.move_to_back(&mut lists[at], place);
                        wanted[at].retain(|other| *other != place);
                        wanted[at].push(place);
                    }
                    (4, _) => {
                        let at = place as usize % 2;
                        let first = if wanted[at].is_empty() { None } else { Some(wanted[at].remove(0)) };
                        prop_assert_eq!(links.pop_front(&mut lists[at]), first);
                    }
                    _ => {}
                }
                for (list, wanted) in lists.iter().zip(&wanted) {
                    let walk: Vec<u32> =
                        std::iter::successors(list.first(), |place| links.next(*place)).collect();
                    prop_assert_eq!(&walk, wanted);
                    prop_assert_eq!((list.len(), list.is_empty()), (wanted.len(), wanted.is_empty()));
                }
            }
        }
    }
}
