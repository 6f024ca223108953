use std::collections::BTreeMap;
use std::ops::Range;

/// Numbers per file, as stretches that do not touch: those of a file are listed without a look at each of them.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    /// By file and first number: the number behind the last one.
    ends: BTreeMap<(u32, u32), u32>,
}

impl Stretches {
    /// Adds a number that is not there.
    pub(crate) fn insert(&mut self, file: u32, number: u32) {
        let mut stretch = number..number + 1;
        if let Some(before) = self.before(file, number)
            && before.end == number
        {
            stretch.start = before.start;
        }
        if let Some(end) = self.ends.remove(&(file, stretch.end)) {
            stretch.end = end;
        }
        self.ends.insert((file, stretch.start), stretch.end);
    }

    /// Removes a number that is there.
    pub(crate) fn remove(&mut self, file: u32, number: u32) {
        let Some(Range { start, end }) = self.before(file, number) else { return };
        debug_assert!(number < end);
        self.ends.remove(&(file, start));
        if start < number {
            self.ends.insert((file, start), number);
        }
        if number + 1 < end {
            self.ends.insert((file, number + 1), end);
        }
    }

    /// The last stretch that begins at a number or before it.
    fn before(&self, file: u32, number: u32) -> Option<Range<u32>> {
        let (key, end) = self.ends.range((file, 0)..=(file, number)).next_back()?;
        Some(key.1..*end)
    }

    /// Those of a file, ascending.
    pub(crate) fn of(&self, file: u32) -> impl Iterator<Item = Range<u32>> + '_ {
        self.ends.range((file, 0)..=(file, u32::MAX)).map(|(key, end)| key.1..*end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn they_hold_what_a_set_holds(steps in prop::collection::vec((0u32..3, 0u32..20), 1..200)) {
            let mut stretches = Stretches::default();
            let mut set = BTreeSet::new();
            for (file, number) in steps {
                if set.insert((file, number)) {
                    stretches.insert(file, number);
                } else {
                    set.remove(&(file, number));
                    stretches.remove(file, number);
                }
                for file in 0..3 {
                    let found: Vec<Range<u32>> = stretches.of(file).collect();
                    prop_assert!(found.windows(2).all(|two| two[0].end < two[1].start));
                    let numbers = found.into_iter().flatten().map(|number| (file, number));
                    let of_file = set.range((file, 0)..(file + 1, 0)).copied();
                    prop_assert!(numbers.eq(of_file));
                }
            }
        }
    }
}
