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

    /// The queue of a bucket, if there ever was a packet in it.
    pub(crate) fn seen(&self, bucket: u32) -> Option<&F> {
        self.flows.get(self.of_bucket[bucket as usize] as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &F> {
        self.flows.iter()
    }

    /// The queue of which `key` is greatest; of several, the one that was used first.
    pub(crate) fn greatest(&self, key: impl Fn(&F) -> u64) -> Option<u32> {
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
