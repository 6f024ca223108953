use super::bucket;

/// The flow queues of a discipline, made when a packet first comes to their bucket of the hash: most
/// links see few of the many that there could be.
#[derive(Clone, Debug)]
pub(crate) struct Flows<F> {
    of_bucket: Box<[u32]>,
    flows: Vec<F>,
}

const NONE: u32 = u32::MAX;

impl<F: Default> Flows<F> {
    pub(crate) fn new(buckets: u32) -> Flows<F> {
        Flows { of_bucket: vec![NONE; buckets as usize].into_boxed_slice(), flows: Vec::new() }
    }

    pub(crate) fn buckets(&self) -> u32 {
        self.of_bucket.len() as u32
    }

    /// The index of a bucket's queue.
    pub(crate) fn of_bucket(&mut self, bucket: u32) -> u32 {
        let index = &mut self.of_bucket[bucket as usize];
        if *index == NONE {
            *index = self.flows.len() as u32;
            self.flows.push(F::default());
        }
        *index
    }

    /// The index of the queue that the hash chooses for a key.
    pub(crate) fn of(&mut self, key: u64) -> u32 {
        self.of_bucket(bucket(key, self.buckets()))
    }

    /// The queue of a bucket, if there ever was a packet in it.
    pub(crate) fn seen(&self, bucket: u32) -> Option<&F> {
        self.flows.get(self.of_bucket[bucket as usize] as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &F> {
        self.flows.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.flows.iter_mut()
    }

    /// The queue of which `key` is greatest; of several, the one that was used first.
    pub(crate) fn greatest<K: Ord>(&self, key: impl Fn(&F) -> K) -> Option<u32> {
        let index = (0..self.flows.len()).rev().max_by_key(|&index| key(&self.flows[index]))?;
        Some(index as u32)
    }
}

impl<F> std::ops::Index<u32> for Flows<F> {
    type Output = F;
    fn index(&self, index: u32) -> &F {
        &self.flows[index as usize]
    }
}
impl<F> std::ops::IndexMut<u32> for Flows<F> {
    fn index_mut(&mut self, index: u32) -> &mut F {
        &mut self.flows[index as usize]
    }
}

/// Lists of flows through which a scheduler goes; each flow is in one of them at most.
#[derive(Clone, Debug)]
pub(crate) struct Rounds<const LISTS: usize> {
    links: Vec<(u32, u32)>,
    ends: [Option<(u32, u32)>; LISTS],
}

impl<const LISTS: usize> Rounds<LISTS> {
    pub(crate) fn new() -> Rounds<LISTS> {
        Rounds { links: Vec::new(), ends: [None; LISTS] }
    }

    pub(crate) fn first(&self, list: usize) -> Option<u32> {
        self.ends[list].map(|(first, _)| first)
    }

    /// Puts a flow at the end of a list. It must not be in any.
    pub(crate) fn push(&mut self, list: usize, flow: u32) {
        if self.links.len() <= flow as usize {
            self.links.resize(flow as usize + 1, (NONE, NONE));
        }
        let before = self.ends[list].map_or(NONE, |(_, last)| last);
        self.links[flow as usize] = (before, NONE);
        self.ends[list] = match self.ends[list] {
            None => Some((flow, flow)),
            Some((first, last)) => {
                self.links[last as usize].1 = flow;
                Some((first, flow))
            }
        };
    }

    /// Takes a flow out of the list that it is in.
    pub(crate) fn remove(&mut self, list: usize, flow: u32) {
        let (before, after) = self.links[flow as usize];
        if before != NONE {
            self.links[before as usize].1 = after;
        }
        if after != NONE {
            self.links[after as usize].0 = before;
        }
        self.ends[list] = self.ends[list].and_then(|(first, last)| {
            let first = if first == flow { after } else { first };
            let last = if last == flow { before } else { last };
            (first != NONE).then_some((first, last))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(rounds: &mut Rounds<2>, list: usize) -> Vec<u32> {
        std::iter::from_fn(|| {
            let first = rounds.first(list)?;
            rounds.remove(list, first);
            Some(first)
        })
        .collect()
    }

    /// If any is taken out, the others keep their order, and the end is still the end.
    #[test]
    fn a_flow_leaves_its_round_from_any_place() {
        for (gone, left) in [(7, [3, 5, 9]), (3, [7, 5, 9]), (5, [7, 3, 9]), (9, [7, 3, 5])] {
            let mut rounds = Rounds::<2>::new();
            for flow in [7, 3, 5, 9] {
                rounds.push(0, flow);
            }
            rounds.push(1, 2);
            rounds.remove(0, gone);
            rounds.push(0, 1);
            rounds.push(1, gone);
            assert_eq!(drain(&mut rounds, 0), [&left[..], &[1]].concat());
            assert_eq!(drain(&mut rounds, 1), [2, gone]);
            assert_eq!((rounds.first(0), rounds.first(1)), (None, None));
        }
    }

    #[test]
    fn queues_are_made_in_the_order_of_their_use() {
        let mut flows = Flows::<u64>::new(8);
        assert_eq!((flows.buckets(), flows.greatest(|&bytes| bytes)), (8, None));
        assert_eq!([6, 1, 6, 0, 1].map(|bucket| flows.of_bucket(bucket)), [0, 1, 0, 2, 1]);
        assert_eq!(flows.seen(5), None);
        flows[1] = 40;
        flows[2] = 40;
        assert_eq!((flows.seen(6), flows.seen(1)), (Some(&0), Some(&40)));
        // Of two that are as great, the one that was used first.
        assert_eq!(flows.greatest(|&bytes| bytes), Some(1));
        flows[0] = 41;
        assert_eq!(flows.greatest(|&bytes| bytes), Some(0));
        assert_eq!(flows.iter().sum::<u64>(), 121);
    }
}
