use crate::extent_set::ExtentSet;

/// Of each extent of a file, how many clients miss something of it, and of those that are on the disk only, where the
/// greatest counts are: an upper bound for each 64 extents and for each 64 of these groups. A bound falls when it is
/// looked at, so that a change costs one step, and a question looks at few groups.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Clients that began with the whole file to get.
    whole: i32,
    /// What is to be added to that for each extent: those who wanted a part of the file, less those who have it.
    extra: Box<[i32]>,
    /// Whether an extent is in memory or asked of the disk, as bits.
    present: Box<[u64]>,
    groups: Level,
    chunks: Level,
}

/// Upper bounds of groups, and which of them may be too high.
#[derive(Debug)]
struct Level {
    most: Box<[i32]>,
    loose: Box<[u64]>,
}

/// Of a group without an extent on the disk only.
const NONE: i32 = i32::MIN;

impl Level {
    fn new(groups: usize) -> Level {
        Level {
            most: vec![0; groups].into_boxed_slice(),
            loose: vec![0; groups.div_ceil(64)].into_boxed_slice(),
        }
    }
    fn raise(&mut self, group: usize, value: i32) {
        self.most[group] = self.most[group].max(value);
    }
    /// A value of the group has fallen or gone.
    fn loosen(&mut self, group: usize) {
        self.loose[group / 64] |= 1 << (group % 64);
    }
    fn is_loose(&self, group: usize) -> bool {
        self.loose[group / 64] >> (group % 64) & 1 != 0
    }
    fn tighten(&mut self, group: usize, value: i32) {
        self.most[group] = value;
        self.loose[group / 64] &= !(1 << (group % 64));
    }
}

impl Wanted {
    pub(super) fn new(extents: u32) -> Wanted {
        let groups = (extents as usize).div_ceil(64);
        Wanted {
            whole: 0,
            extra: vec![0; extents as usize].into_boxed_slice(),
            present: vec![0; groups].into_boxed_slice(),
            groups: Level::new(groups),
            chunks: Level::new(groups.div_ceil(64)),
        }
    }

    /// How many clients miss something of an extent.
    pub(super) fn of(&self, extent: u32) -> i32 {
        self.whole + self.extra[extent as usize]
    }

    /// Whoever begins with the whole file to get counts for every extent at once.
    pub(super) fn add_whole(&mut self, clients: i32) {
        self.whole += clients;
    }

    /// One client more misses something of this extent.
    pub(super) fn raise(&mut self, extent: u32) {
        let place = extent as usize;
        self.extra[place] += 1;
        if !self.is_present(extent) {
            self.bound(extent);
        }
    }

    fn bound(&mut self, extent: u32) {
        let place = extent as usize;
        self.groups.raise(place / 64, self.extra[place]);
        self.chunks.raise(place / 4096, self.extra[place]);
    }

    /// One client fewer does.
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
    pub(super) fn most(&mut self, needs: &ExtentSet, from: u32) -> Option<u32> {
        let groups = self.groups.most.len();
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
        let end = end.min(self.groups.most.len());
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
                if self.most_of_chunk(group / 64, best.0) <= best.0 {
                    group += 64;
                    continue;
                }
            }
            let mut bits = needs.word(group as u32) & mask & !self.present[group];
            if bits != 0 && self.most_of_group(group, best.0) > best.0 {
                while bits != 0 {
                    let extent = 64 * group as u32 + bits.trailing_zeros();
                    let value = self.extra[extent as usize];
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
    fn most_of_group(&mut self, group: usize, enough: i32) -> i32 {
        if self.groups.most[group] > enough && self.groups.is_loose(group) {
            let extents = 64 * group..(64 * group + 64).min(self.extra.len());
            let present = self.present[group];
            let absent = extents.filter(|extent| present >> (extent % 64) & 1 == 0);
            let most = absent.map(|extent| self.extra[extent]).max().unwrap_or(NONE);
            self.groups.tighten(group, most);
        }
        self.groups.most[group]
    }

    fn most_of_chunk(&mut self, chunk: usize, enough: i32) -> i32 {
        if self.chunks.most[chunk] > enough && self.chunks.is_loose(chunk) {
            let groups = 64 * chunk..(64 * chunk + 64).min(self.groups.most.len());
            let most = groups.map(|group| self.most_of_group(group, enough)).max().unwrap_or(NONE);
            self.chunks.tighten(chunk, most);
            // The groups below `enough` were not looked at: their bounds may be too high still.
            self.chunks.loosen(chunk);
        }
        self.chunks.most[chunk]
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
            steps in prop::collection::vec((0u8..6, any::<u32>(), 1u32..100), 1..150),
        ) {
            let mut wanted = Wanted::new(size);
            let mut counts = vec![0i32; size as usize];
            let mut present = vec![false; size as usize];
            let mut needs = ExtentSet::full(size);
            for (step, at, many) in steps {
                let at = at % size;
                for extent in at..(at + many).min(size) {
                    let place = extent as usize;
                    match step {
                        0 => {
                            wanted.raise(extent);
                            counts[place] += 1;
                        }
                        1 => {
                            wanted.lower(extent);
                            counts[place] -= 1;
                        }
                        2 if !present[place] => {
                            wanted.comes(extent);
                            present[place] = true;
                        }
                        3 if present[place] => {
                            wanted.goes(extent);
                            present[place] = false;
                        }
                        4 => {
                            needs.remove(extent);
                        }
                        _ => {}
                    }
                }
                let around = (at..size).chain(0..at);
                let there = around.filter(|e| needs.contains(*e) && !present[*e as usize]);
                let best = there.rev().max_by_key(|extent| counts[*extent as usize]);
                prop_assert_eq!(wanted.most(&needs, at), best);
                prop_assert_eq!(wanted.of(at), counts[at as usize]);
            }
        }
    }
}
