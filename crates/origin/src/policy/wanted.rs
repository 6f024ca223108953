use crate::extent_set::ExtentSet;

/// Of each extent of a file, how many clients miss something of it, and of those that are on the disk only, where the
/// greatest counts are: an upper bound for each 64 extents and for each 64 of these groups. A bound falls when it is
/// looked at, so that a change costs one step, and a question looks at few groups. A count is the sum of what its extent, its
/// group and its chunk have, so that a client that begins or ends counts for each chunk of the file once.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The number that is to be added for each extent to the counts of its group and its chunk.
    extra: Box<[i32]>,
    /// Whether an extent is in memory or asked of the disk, as bits.
    present: Box<[u64]>,
    groups: Level,
    chunks: Level,
}

/// Counts of groups, or of chunks.
#[derive(Debug, Default)]
struct Level {
    /// Clients that count for all extents of a group.
    added: Box<[i32]>,
    /// Upper bounds of what is counted below, that is, without `added`.
    max: Box<[i32]>,
    /// Which of the bounds may be too high.
    loose: Box<[u64]>,
}

/// Of a group without an extent on the disk only: far enough below any count that sums do not
/// overflow.
const NONE: i32 = i32::MIN / 2;

impl Level {
    fn new(groups: usize) -> Level {
        Level {
            added: vec![0; groups].into_boxed_slice(),
            max: vec![0; groups].into_boxed_slice(),
            loose: vec![0; groups.div_ceil(64)].into_boxed_slice(),
        }
    }
    fn raise(&mut self, group: usize, value: i32) {
        self.max[group] = self.max[group].max(value);
    }
    /// A value of the group has fallen or gone.
    fn loosen(&mut self, group: usize) {
        self.loose[group / 64] |= 1 << (group % 64);
    }
    fn is_loose(&self, group: usize) -> bool {
        self.loose[group / 64] >> (group % 64) & 1 != 0
    }
    fn tighten(&mut self, group: usize, value: i32) {
        self.max[group] = value;
        self.loose[group / 64] &= !(1 << (group % 64));
    }
}

impl Wanted {
    pub(super) fn new(extents: u32) -> Wanted {
        let groups = (extents as usize).div_ceil(64);
        Wanted {
            extra: vec![0; extents as usize].into_boxed_slice(),
            present: vec![0; groups].into_boxed_slice(),
            groups: Level::new(groups),
            chunks: Level::new(groups.div_ceil(64)),
        }
    }

    /// How many clients miss something of an extent.
    pub(super) fn of(&self, extent: u32) -> i32 {
        self.extra[extent as usize] + self.of_group(extent as usize / 64)
    }

    /// How many count for all extents of a group.
    fn of_group(&self, group: usize) -> i32 {
        self.groups.added[group] + self.chunks.added[group / 64]
    }

    /// The number of clients that miss something of these extents changes by `clients`.
    pub(super) fn add(&mut self, extents: &ExtentSet, clients: i32) {
        let mut next = extents.next_chunk(0);
        while let Some(chunk) = next {
            if extents.is_full(chunk) {
                self.chunks.added[chunk as usize] += clients;
            } else {
                for group in 64 * chunk..(64 * chunk + 64).min(self.present.len() as u32) {
                    self.add_in_group(
                        group,
                        extents.word(group),
                        extents.full_word(group),
                        clients,
                    );
                }
            }
            next = extents.next_chunk(chunk + 1);
        }
    }

    /// The same for some of all extents of a group.
    fn add_in_group(&mut self, group: u32, some: u64, all: u64, clients: i32) {
        if some == 0 {
            return;
        }
        let place = group as usize;
        // More than half of them: they count for all, and for the others that is taken back.
        let (mut bits, step) = if 2 * some.count_ones() > all.count_ones() {
            self.groups.added[place] += clients;
            (all & !some, -clients)
        } else {
            (some, clients)
        };
        while bits != 0 {
            let extent = 64 * group + bits.trailing_zeros();
            self.extra[extent as usize] += step;
            self.bound(extent);
            bits &= bits - 1;
        }
        self.chunks.raise(place / 64, self.groups.max[place] + self.groups.added[place]);
        self.loosen(64 * group);
    }

    fn bound(&mut self, extent: u32) {
        let place = extent as usize;
        if !self.is_present(extent) {
            self.groups.raise(place / 64, self.extra[place]);
            self.chunks.raise(place / 4096, self.extra[place] + self.groups.added[place / 64]);
        }
    }

    /// One client fewer misses something of this extent.
    pub(super) fn lower(&mut self, extent: u32) {
        self.extra[extent as usize] -= 1;
        self.loosen(extent);
    }

    fn loosen(&mut self, extent: u32) {
        self.groups.loosen(extent as usize / 64);
        self.chunks.loosen(extent as usize / 4096);
    }

    fn is_present(&self, extent: u32) -> bool {
        self.present[extent as usize / 64] >> (extent % 64) & 1 != 0
    }

    /// The extent was asked of the disk.
    pub(super) fn comes(&mut self, extent: u32) {
        self.present[extent as usize / 64] |= 1 << (extent % 64);
        self.loosen(extent);
    }

    /// The extent is on the disk only.
    pub(super) fn goes(&mut self, extent: u32) {
        self.present[extent as usize / 64] &= !(1 << (extent % 64));
        self.bound(extent);
    }

    /// The extent on the disk only that most clients miss, among those that `needs` holds; of several the first at
    /// `from` or behind it, around the file.
    pub(super) fn most_wanted(&mut self, needs: &ExtentSet, from: u32) -> Option<u32> {
        let groups = self.groups.max.len();
        let first = from as usize / 64;
        let upper = u64::MAX << (from % 64);
        let mut best = (NONE, None);
        self.search(needs, first, first + 1, upper, &mut best);
        self.search(needs, first + 1, groups, u64::MAX, &mut best);
        self.search(needs, 0, first, u64::MAX, &mut best);
        self.search(needs, first, first + 1, !upper, &mut best);
        best.1
    }

    /// Looks at a range of groups.
    fn search(
        &mut self,
        needs: &ExtentSet,
        begin: usize,
        end: usize,
        mask: u64,
        best: &mut (i32, Option<u32>),
    ) {
        let mut group = begin;
        let end = end.min(self.groups.max.len());
        while group < end {
            if group.is_multiple_of(64) {
                // A chunk that this client needs nothing of, or in which no count is greater, is passed over.
                match needs.next_chunk(group as u32 / 64) {
                    None => return,
                    Some(chunk) if chunk as usize > group / 64 => {
                        group = chunk as usize * 64;
                        continue;
                    }
                    Some(_) => {}
                }
                let enough = best.0 - self.chunks.added[group / 64];
                if self.max_of_chunk(group / 64, enough) <= enough {
                    group += 64;
                    continue;
                }
            }
            let mut bits = needs.word(group as u32) & mask & !self.present[group];
            let added = self.of_group(group);
            let enough = best.0 - added;
            if bits != 0 && self.max_of_group(group, enough) > enough {
                while bits != 0 {
                    let extent = 64 * group as u32 + bits.trailing_zeros();
                    let value = self.extra[extent as usize] + added;
                    if value > best.0 {
                        *best = (value, Some(extent));
                    }
                    bits &= bits - 1;
                }
            }
            group += 1;
        }
    }

    /// The greatest count in a group, or anything above `enough` if it is no more than that.
    fn max_of_group(&mut self, group: usize, enough: i32) -> i32 {
        if self.groups.max[group] > enough && self.groups.is_loose(group) {
            let extents = 64 * group..(64 * group + 64).min(self.extra.len());
            let present = self.present[group];
            let absent = extents.filter(|extent| present >> (extent % 64) & 1 == 0);
            let max = absent.map(|extent| self.extra[extent]).max().unwrap_or(NONE);
            self.groups.tighten(group, max);
        }
        self.groups.max[group]
    }

    fn max_of_chunk(&mut self, chunk: usize, enough: i32) -> i32 {
        if self.chunks.max[chunk] > enough && self.chunks.is_loose(chunk) {
            let groups = 64 * chunk..(64 * chunk + 64).min(self.groups.max.len());
            let max = groups.map(|group| {
                let added = self.groups.added[group];
                self.max_of_group(group, enough - added) + added
            });
            let max = max.max().unwrap_or(NONE);
            self.chunks.tighten(chunk, max);
            // The groups below `enough` were not looked at: their bounds may be too high still.
            self.chunks.loosen(chunk);
        }
        self.chunks.max[chunk]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a search through everything.
        #[test]
        fn it_is_the_greatest(
            size in prop_oneof![1u32..300, 4000u32..9000],
            steps in prop::collection::vec((0u8..8, any::<u32>(), 1u32..5000), 1..150),
        ) {
            let mut wanted = Wanted::new(size);
            let mut counts = vec![0i32; size as usize];
            let mut present = vec![false; size as usize];
            let mut needs = ExtentSet::full(size);
            for (step, at, many) in steps {
                let at = at % size;
                let range = at..(at + many).min(size);
                let mut some = ExtentSet::empty(size);
                some.insert(range.clone());
                if step % 2 == 0 {
                    some.remove(at);
                }
                if step < 4 {
                    let clients = if step < 2 { 1 } else { -1 };
                    wanted.add(&some, clients);
                    wanted.add(&needs, clients);
                    for (extent, count) in (0..).zip(&mut counts) {
                        let both = [&some, &needs].map(|set| i32::from(set.contains(extent)));
                        *count += clients * both.iter().sum::<i32>();
                    }
                }
                for extent in range {
                    let place = extent as usize;
                    match step {
                        4 => {
                            wanted.lower(extent);
                            counts[place] -= 1;
                        }
                        5 if !present[place] => {
                            wanted.comes(extent);
                            present[place] = true;
                        }
                        6 if present[place] => {
                            wanted.goes(extent);
                            present[place] = false;
                        }
                        7 => {
                            needs.remove(extent);
                        }
                        _ => {}
                    }
                }
                let around = (at..size).chain(0..at);
                let there = around.filter(|e| needs.contains(*e) && !present[*e as usize]);
                let best = there.rev().max_by_key(|extent| counts[*extent as usize]);
                prop_assert_eq!(wanted.most_wanted(&needs, at), best);
                prop_assert_eq!(wanted.of(at), counts[at as usize]);
            }
        }
    }
}
