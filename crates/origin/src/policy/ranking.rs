use crate::extent_set::ExtentSet;
use crate::list::NOWHERE;

/// How much an extent in memory is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Worth {
    /// A client is in the midst of it: it is worth more than any other, since what is left of it would have to be read for
    /// that client alone.
    pub(super) held: bool,
    /// Clients that miss something of it.
    pub(super) clients: i32,
    /// The how many-th load it came with: of equals the oldest goes first.
    pub(super) load: u64,
    /// Where it lies.
    pub(super) slot: u32,
}

/// The extents in memory by what they are worth: a radix tree (Morrison's Patricia) over file and extent, and a tournament in it.
/// Each node has the least worth beneath it, and what is to be added to every count beneath it (lazy propagation). A client
/// that begins or ends changes the count of a whole stretch of extents by the same number, which leaves their order among
/// themselves: it costs a step at the node of that stretch, however many extents are in memory. A change of one extent
/// climbs only as long as the least worth changes.
#[derive(Debug)]
pub(super) struct Ranking {
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// [`NOWHERE`] if nothing is in memory.
    root: u32,
    /// For each slot its leaf.
    leaves: Vec<u32>,
}

/// The extents whose keys begin with the same bits.
#[derive(Clone, Debug)]
struct Node {
    /// The first key that begins with these bits.
    key: u64,
    /// How many bits of a key are below those; a leaf has none.
    bits: u32,
    /// [`NOWHERE`] above the root.
    parent: u32,
    /// By the highest bit below the common ones.
    children: [u32; 2],
    /// The number that is to be added to each count beneath it.
    added: i32,
    /// The least worth beneath it. To its count belongs what was added here and below, not what was added above.
    min: Worth,
}

/// The bits of a key that say which extent of a file it is.
const EXTENT_BITS: u32 = 32;

fn key(file: u32, extent: u32) -> u64 {
    u64::from(file) << EXTENT_BITS | u64::from(extent)
}

impl Node {
    fn side(&self, key: u64) -> usize {
        (key >> (self.bits - 1) & 1) as usize
    }
    fn add(&mut self, clients: i32) {
        self.added += clients;
        self.min.clients += clients;
    }
}

impl Ranking {
    pub(super) fn new() -> Ranking {
        Ranking { nodes: Vec::new(), free: Vec::new(), root: NOWHERE, leaves: Vec::new() }
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }
    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn make(&mut self, node: Node) -> u32 {
        match self.free.pop() {
            Some(at) => {
                *self.node_mut(at) = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Has one node stand where another one stood.
    fn replace(&mut self, parent: u32, old: u32, new: u32) {
        if parent == NOWHERE {
            self.root = new;
        } else {
            let children = &mut self.node_mut(parent).children;
            children[usize::from(children[1] == old)] = new;
        }
        self.node_mut(new).parent = parent;
    }

    /// An extent has come.
    pub(super) fn insert(&mut self, file: u32, extent: u32, worth: Worth) {
        let key = key(file, extent);
        let leaf =
            Node { key, bits: 0, parent: NOWHERE, children: [NOWHERE; 2], added: 0, min: worth };
        let leaf = self.make(leaf);
        let slot = worth.slot as usize;
        self.leaves.resize(self.leaves.len().max(slot + 1), NOWHERE);
        self.leaves[slot] = leaf;
        if self.root == NOWHERE {
            self.root = leaf;
            return;
        }
        // Where the bits of the key lead is a leaf that has as many of them as any.
        let mut near = self.node(self.root);
        while near.bits > 0 {
            near = self.node(near.children[near.side(key)]);
        }
        let bits = u64::BITS - (key ^ near.key).leading_zeros();
        let (mut at, mut above) = (self.root, 0);
        while self.node(at).bits > bits {
            let node = self.node(at);
            above += node.added;
            at = node.children[node.side(key)];
        }
        self.node_mut(leaf).min.clients -= above;
        let parent = self.node(at).parent;
        let begin = key & !(u64::MAX >> (u64::BITS - bits));
        let mut fork = Node { key: begin, bits, children: [at; 2], ..self.node(leaf).clone() };
        fork.children[fork.side(key)] = leaf;
        let fork = self.make(fork);
        self.replace(parent, at, fork);
        self.node_mut(at).parent = fork;
        self.node_mut(leaf).parent = fork;
        self.node_mut(fork).min = self.min(fork);
        self.settle(parent);
    }

    /// The extent in this slot goes.
    pub(super) fn remove(&mut self, slot: u32) {
        let leaf = std::mem::replace(&mut self.leaves[slot as usize], NOWHERE);
        self.free.push(leaf);
        let fork = self.node(leaf).parent;
        if fork == NOWHERE {
            self.root = NOWHERE;
            return;
        }
        let Node { parent, children, added, .. } = *self.node(fork);
        let other = children[usize::from(children[0] == leaf)];
        self.node_mut(other).add(added);
        self.replace(parent, fork, other);
        self.free.push(fork);
        self.settle(parent);
    }

    /// The least worth beneath a node, by its children.
    fn min(&self, at: u32) -> Worth {
        let Node { children: [one, other], added, .. } = *self.node(at);
        let min = self.node(one).min.min(self.node(other).min);
        Worth { clients: min.clients + added, ..min }
    }

    /// Something beneath this node has changed.
    fn settle(&mut self, mut at: u32) {
        while at != NOWHERE {
            let min = self.min(at);
            let node = self.node_mut(at);
            if node.min == min {
                return;
            }
            node.min = min;
            at = node.parent;
        }
    }

    /// Whether clients are in the midst of the extent in this slot.
    pub(super) fn hold(&mut self, slot: u32, held: bool) {
        self.change(slot, |worth| worth.held = held);
    }

    /// One client fewer misses something of the extent in this slot.
    pub(super) fn lower(&mut self, slot: u32) {
        self.change(slot, |worth| worth.clients -= 1);
    }

    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Worth)) {
        let leaf = self.node_mut(self.leaves[slot as usize]);
        change(&mut leaf.min);
        let parent = leaf.parent;
        self.settle(parent);
    }

    /// The number of clients that miss something of these extents of a file changes by `clients`.
    pub(super) fn add(&mut self, file: u32, extents: &ExtentSet, clients: i32) {
        let key = key(file, 0);
        let mut at = self.root;
        while at != NOWHERE && self.node(at).bits > EXTENT_BITS {
            let node = self.node(at);
            at = node.children[node.side(key)];
        }
        if at != NOWHERE && self.node(at).key >> EXTENT_BITS == u64::from(file) {
            self.add_beneath(at, extents, clients);
            self.settle(self.node(at).parent);
        }
    }

    fn add_beneath(&mut self, at: u32, extents: &ExtentSet, clients: i32) {
        let node = self.node(at);
        let begin = node.key as u32;
        let last = begin | (u64::from(u32::MAX) >> (EXTENT_BITS - node.bits)) as u32;
        match extents.has(begin..last.saturating_add(1)) {
            Some(true) => self.node_mut(at).add(clients),
            Some(false) => {}
            None => {
                let children = node.children;
                children.into_iter().for_each(|child| self.add_beneath(child, extents, clients));
                self.node_mut(at).min = self.min(at);
            }
        }
    }

    /// The slot of the extent that is worth least of those that may go.
    pub(super) fn first(&self, may_go: impl Fn(u32) -> bool) -> Option<u32> {
        let mut first = None;
        if self.root != NOWHERE {
            self.search(self.root, 0, &may_go, &mut first);
        }
        first.map(|worth| worth.slot)
    }

    /// The same beneath a node, if it is worth less than `first`; `above` is what was added above the node.
    fn search(
        &self,
        at: u32,
        above: i32,
        may_go: &impl Fn(u32) -> bool,
        first: &mut Option<Worth>,
    ) {
        let node = self.node(at);
        let min = Worth { clients: node.min.clients + above, ..node.min };
        if first.is_some_and(|first| first < min) {
            return;
        }
        if may_go(min.slot) {
            *first = Some(min);
        } else if node.bits > 0 {
            let mut children = node.children;
            children.sort_by_key(|child| self.node(*child).min);
            let above = above + node.added;
            children.into_iter().for_each(|child| self.search(child, above, may_go, first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const FILES: u32 = 3;

    proptest! {
        /// Against a list that is sorted at each look.
        #[test]
        fn it_is_the_order_of_worth(
            size in prop_oneof![1u32..100, 4000u32..9000, 1_000_000u32..1_000_100],
            steps in prop::collection::vec((0u8..8, any::<u32>(), 0u32..3, any::<u32>()), 1..200),
        ) {
            let mut ranking = Ranking::new();
            let mut extents: BTreeMap<(u32, u32), Worth> = BTreeMap::new();
            let mut set = ExtentSet::full(size);
            let mut free: Vec<u32> = (0..200).rev().collect();
            for (load, (step, at, file, many)) in (0..).zip(steps) {
                let extent = at % size;
                let chosen = extents.len().checked_sub(1).map(|last| at as usize % (last + 1));
                let chosen = chosen.and_then(|place| extents.iter().nth(place)).map(|(at, _)| *at);
                match (step, chosen) {
                    (0..=2, _) if !extents.contains_key(&(file, extent)) => {
                        let slot = free.pop().unwrap();
                        let clients = (many % 5) as i32;
                        let worth = Worth { held: false, clients, load, slot };
                        extents.insert((file, extent), worth);
                        ranking.insert(file, extent, worth);
                    }
                    (3, Some(at)) => {
                        let worth = extents.remove(&at).unwrap();
                        ranking.remove(worth.slot);
                        free.push(worth.slot);
                    }
                    (4, Some(at)) => {
                        let worth = extents.get_mut(&at).unwrap();
                        worth.held = many % 2 == 0;
                        ranking.hold(worth.slot, worth.held);
                    }
                    (5, Some(at)) => {
                        let worth = extents.get_mut(&at).unwrap();
                        worth.clients -= 1;
                        ranking.lower(worth.slot);
                    }
                    (6, _) => {
                        if many % 2 == 0 {
                            set = ExtentSet::empty(size);
                        }
                        set.insert(extent..extent.saturating_add(many % size + 1));
                        set.remove(many % size);
                    }
                    _ => {
                        let clients = if many % 2 == 0 { 1 } else { -1 };
                        ranking.add(file, &set, clients);
                        let of_file = extents.range_mut((file, 0)..=(file, u32::MAX));
                        of_file
                            .filter(|((_, extent), _)| set.contains(*extent))
                            .for_each(|(_, worth)| worth.clients += clients);
                    }
                }
                prop_assert!(file < FILES);
                let mut sorted: Vec<Worth> = extents.values().copied().collect();
                sorted.sort();
                for (rank, worth) in sorted.iter().enumerate() {
                    let before = &sorted[..rank];
                    let may_go = |slot| before.iter().all(|other| other.slot != slot);
                    prop_assert_eq!(ranking.first(may_go), Some(worth.slot));
                }
                prop_assert_eq!(ranking.first(|_| false), None);
            }
        }
    }
}
