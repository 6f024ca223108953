use super::segment::MAX_SACK_RANGES;
use std::collections::VecDeque;

/// Ranges that arrived above a gap: sorted, disjoint, not touching.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    ranges: VecDeque<(u64, u64)>,
    /// An offset within each range that changed last, the most recent first (RFC 2018, section 4).
    recent: [u64; MAX_SACK_RANGES],
    recent_len: u8,
    /// Data that arrived twice and is to be reported with the next segment (RFC 2883).
    duplicate: Option<(u64, u64)>,
}

impl Reassembly {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Where the highest range ends, or `next` if there is none.
    pub(super) fn highest(&self, next: u64) -> u64 {
        self.ranges.back().map_or(next, |range| range.1)
    }

    /// Whether there is something to report.
    #[inline]
    pub(super) fn has_report(&self) -> bool {
        !self.ranges.is_empty() || self.duplicate.is_some()
    }

    /// `start..end` arrived twice. Of several duplicates between two reports the last one counts.
    pub(super) fn note_duplicate(&mut self, start: u64, end: u64) {
        if start < end {
            self.duplicate = Some((start, end));
        }
    }

    /// Notes the part of `start..end` that is here already: the first stretch of it.
    pub(super) fn note_overlap(&mut self, start: u64, end: u64) {
        let first = self.ranges.partition_point(|range| range.1 <= start);
        if let Some(&(low, high)) = self.ranges.get(first) {
            self.note_duplicate(start.max(low), end.min(high));
        }
    }

    /// The duplicate to report, once.
    pub(super) fn take_duplicate(&mut self) -> Option<(u64, u64)> {
        self.duplicate.take()
    }

    /// `start..end` arrived out of order. Returns whether any of it is new.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end);
        let first = self.ranges.partition_point(|range| range.1 < start);
        let after = self.ranges.partition_point(|range| range.0 <= end);
        let mut new = true;
        if first == after {
            self.ranges.insert(first, (start, end));
        } else {
            let (low, high) = (self.ranges[first].0, self.ranges[after - 1].1);
            new = !(after == first + 1 && low <= start && end <= high);
            self.ranges[first] = (low.min(start), high.max(end));
            self.ranges.drain(first + 1..after);
        }
        self.touch(start, self.ranges[first]);
        new
    }

    /// Puts `range` to the front of what was changed last.
    fn touch(&mut self, offset: u64, range: (u64, u64)) {
        let old = self.recent;
        let mut len = 1;
        self.recent[0] = offset;
        for &other in &old[..usize::from(self.recent_len)] {
            if len < MAX_SACK_RANGES && !(range.0..range.1).contains(&other) {
                self.recent[len] = other;
                len += 1;
            }
        }
        self.recent_len = len as u8;
    }

    /// Everything below `next` has arrived in order; returns how far it is in order with the
    /// ranges that this reaches.
    pub(super) fn join(&mut self, mut next: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.front() {
            if start > next {
                break;
            }
            next = next.max(end);
            self.ranges.pop_front();
        }
        let mut len = 0;
        for position in 0..usize::from(self.recent_len) {
            if self.recent[position] >= next {
                self.recent[len] = self.recent[position];
                len += 1;
            }
        }
        self.recent_len = len as u8;
        next
    }

    /// The ranges to report, the most recently changed first.
    pub(super) fn report(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent[..usize::from(self.recent_len)].iter().filter_map(|&offset| {
            let position = self.ranges.partition_point(|range| range.1 <= offset);
            self.ranges.get(position).copied().filter(|range| range.0 <= offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_is_reported_once() {
        let mut queue = Reassembly::default();
        queue.insert(10, 20);
        queue.insert(30, 40);
        queue.note_overlap(20, 30);
        assert_eq!(queue.take_duplicate(), None, "touching is not overlapping");
        queue.note_overlap(15, 35);
        assert_eq!(queue.take_duplicate(), Some((15, 20)), "the first stretch");
        assert_eq!(queue.take_duplicate(), None);
        queue.note_overlap(32, 34);
        assert!(queue.has_report());
        assert_eq!(queue.take_duplicate(), Some((32, 34)));
    }

    #[test]
    fn the_latest_range_is_reported_first() {
        let mut queue = Reassembly::default();
        for start in [10, 30, 50, 70] {
            assert!(queue.insert(start, start + 5));
        }
        assert_eq!(queue.report().collect::<Vec<_>>(), [(70, 75), (50, 55), (30, 35)]);
        assert!(queue.insert(35, 50));
        assert_eq!(queue.report().collect::<Vec<_>>(), [(30, 55), (70, 75)]);
        assert!(!queue.insert(40, 45), "nothing new");
        assert_eq!(queue.join(12), 15);
        assert_eq!(queue.join(30), 55);
        assert_eq!(queue.report().collect::<Vec<_>>(), [(70, 75)]);
        assert_eq!(queue.join(70), 75);
        assert!(queue.is_empty());
    }
}
