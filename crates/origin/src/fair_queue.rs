use crate::list::{Links, List};

/// A queue of places for several parties: one party after the other, and of one party what it asked for first (round
/// robin, as DRR of RFC 8290 between flows). A party that asks for much waits for itself; with one party, or one place
/// of each, it is first come, first served.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    /// By number of the party: its places, in the order in which they were asked for.
    of: Vec<List>,
    places: Links,
    /// Parties that have places, the next one first.
    turns: List,
    parties: Links,
    /// By place: the party, and how many came before in its queue.
    entries: Vec<Entry>,
    /// By number of the party: how many have come.
    asked: Vec<u32>,
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    party: u32,
    number: u32,
}

impl FairQueue {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Puts a place, which is not in the queue, behind all others of a party.
    pub(crate) fn push(&mut self, party: u32, place: u32) {
        let (owner, at) = (party as usize, place as usize);
        if self.of.len() <= owner {
            self.of.resize(owner + 1, List::default());
            self.asked.resize(owner + 1, 0);
        }
        if self.entries.len() <= at {
            self.entries.resize(at + 1, Entry::default());
        }
        let number = &mut self.asked[owner];
        *number = number.wrapping_add(1);
        self.entries[at] = Entry { party, number: *number };
        if self.of[owner].is_empty() {
            self.parties.push_back(&mut self.turns, party);
        }
        self.places.push_back(&mut self.of[owner], place);
        self.len += 1;
    }

    /// The next place.
    pub(crate) fn first(&self) -> Option<u32> {
        self.of[self.turns.first()? as usize].first()
    }

    /// Takes a place out because its turn has come: the next one is another party's.
    pub(crate) fn serve(&mut self, place: u32) {
        let party = self.entries[place as usize].party;
        self.remove(place);
        if !self.of[party as usize].is_empty() {
            self.parties.move_to_back(&mut self.turns, party);
        }
    }

    /// Takes a place out, wherever it is.
    pub(crate) fn remove(&mut self, place: u32) {
        let party = self.entries[place as usize].party;
        let list = &mut self.of[party as usize];
        self.places.remove(list, place);
        if list.is_empty() {
            self.parties.remove(&mut self.turns, party);
        }
        self.len -= 1;
    }

    /// A place is wanted by this party as well: it is moved to where that party's turn comes sooner, if it does.
    pub(crate) fn favour(&mut self, party: u32, place: u32) {
        let Entry { party: owner, number } = self.entries[place as usize];
        let Some(head) = self.of[owner as usize].first() else { return };
        // Some between may have gone: then it comes sooner than is counted here.
        let before = number.wrapping_sub(self.entries[head as usize].number);
        let ours = self.of.get(party as usize).map_or(0, List::len);
        if party != owner && before as usize > ours {
            self.remove(place);
            self.push(party, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// As a ring of queues, and each place once. A favoured place comes no later for the party that favours it than
        /// if that party had asked for it now.
        #[test]
        fn it_is_a_ring_of_queues(steps in prop::collection::vec((0u8..6, 0u32..4, 0u32..12), 1..300)) {
            let mut queue = FairQueue::default();
            let mut ring: VecDeque<(u32, VecDeque<u32>)> = VecDeque::new();
            for (step, party, place) in steps {
                let at = ring.iter().position(|(_, of)| of.contains(&place));
                match (step, at) {
                    (0..=2, None) => {
                        queue.push(party, place);
                        match ring.iter_mut().find(|(whose, _)| *whose == party) {
                            Some((_, of)) => of.push_back(place),
                            None => ring.push_back((party, [place].into())),
                        }
                    }
                    (3, Some(at)) => {
                        queue.remove(place);
                        ring[at].1.retain(|other| *other != place);
                    }
                    (4, Some(at)) => {
                        let before = ring[at].1.iter().position(|other| *other == place).unwrap();
                        queue.favour(party, place);
                        let owner = queue.entries[place as usize].party;
                        if owner != ring[at].0 {
                            prop_assert_eq!(owner, party);
                            ring[at].1.retain(|other| *other != place);
                            match ring.iter_mut().find(|(whose, _)| *whose == party) {
                                Some((_, of)) => of.push_back(place),
                                None => ring.push_back((party, [place].into())),
                            }
                        } else {
                            let ours = ring.iter().find(|(whose, _)| *whose == party);
                            let ours = ours.map_or(0, |(_, of)| of.len());
                            prop_assert!(owner == party || before <= ours);
                        }
                    }
                    (5, _) => {
                        let first = queue.first();
                        prop_assert_eq!(first, ring.front().and_then(|(_, of)| of.front().copied()));
                        if let Some(first) = first {
                            queue.serve(first);
                            let (whose, mut of) = ring.pop_front().unwrap();
                            of.pop_front();
                            ring.push_back((whose, of));
                        }
                    }
                    _ => {}
                }
                ring.retain(|(_, of)| !of.is_empty());
                prop_assert_eq!(queue.len(), ring.iter().map(|(_, of)| of.len()).sum::<usize>());
                prop_assert_eq!(queue.first(), ring.front().and_then(|(_, of)| of.front().copied()));
            }
        }

        /// A party that asks for one at a time is served next but those of the other parties, however much these have
        /// asked for.
        #[test]
        fn nobody_waits_for_what_another_party_heaps_up(others in 1u32..5, heap in 1u32..200) {
            let mut queue = FairQueue::default();
            for party in 0..others {
                (0..heap).for_each(|at| queue.push(party, party * heap + at));
            }
            let ours = others * heap;
            for _ in 0..3 {
                queue.push(others, ours);
                let mut turns = 1;
                while let Some(first) = queue.first().filter(|first| *first != ours) {
                    queue.serve(first);
                    turns += 1;
                }
                prop_assert!(turns <= others + 1);
                queue.serve(ours);
            }
        }

        /// As long as each party has asked for one at most, whatever is favoured: first come, first served.
        #[test]
        fn with_one_of_each_it_is_first_come_first_served(
            steps in prop::collection::vec((0u8..3, 0u32..8, 0u32..8), 1..100),
        ) {
            let mut queue = FairQueue::default();
            let mut line: VecDeque<u32> = VecDeque::new();
            for (step, place, party) in steps {
                match step {
                    0 if !line.contains(&place) => {
                        queue.push(place, place);
                        line.push_back(place);
                    }
                    1 if line.contains(&place) => queue.favour(party, place),
                    2 => {
                        let first = line.pop_front();
                        prop_assert_eq!(queue.first(), first);
                        first.into_iter().for_each(|first| queue.serve(first));
                    }
                    _ => {}
                }
            }
        }
    }
}
