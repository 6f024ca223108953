/// Queues, and places for hosts.
pub(super) const QUEUES: u32 = 1024;
/// Places among which a hash may choose.
const WAYS: u32 = 8;

/// A set-associative hash: a key has its place in a set of eight, and takes another of the set if that is
/// busy with a different one, so that two flows meet in a queue only where nine fall into one set.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    tags: Box<[u32]>,
}

impl Default for Sets {
    fn default() -> Sets {
        Sets { tags: vec![0; QUEUES as usize].into_boxed_slice() }
    }
}

impl Sets {
    /// The place of a key with this hash; `busy` tells whether a place is in use.
    pub(super) fn find(&mut self, hash: u32, busy: impl Fn(u32) -> bool) -> u32 {
        let place = hash % QUEUES;
        let set = place - place % WAYS;
        let places = || (0..WAYS).map(|way| set + (place + way) % WAYS);
        let found = places()
            .find(|&place| self.tags[place as usize] == hash)
            .or_else(|| places().find(|&place| !busy(place)))
            .unwrap_or(place);
        self.tags[found as usize] = hash;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_keys_of_a_set_have_places_of_their_own() {
        let mut sets = Sets::default();
        let mut used = Vec::new();
        for key in 0..8 {
            let place = sets.find(21 + 1024 * (key + 1), |place| used.contains(&place));
            used.push(place);
        }
        // The third set is that of the places 16 to 23.
        assert_eq!(used, [21, 22, 23, 16, 17, 18, 19, 20]);
        // Each is found again; a ninth shares the place that is its own.
        assert_eq!(sets.find(21 + 1024 * 4, |_| true), 16);
        assert_eq!(sets.find(21 + 1024 * 9, |_| true), 21);
    }
}
