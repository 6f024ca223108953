//! Which piece to ask for next (`clients.md` A.8).

use crate::profile::{BegunOrder, Picker as Rules, PieceOrder};
use flashcrowd_base::RandomStream;
use std::ops::Range;

/// Availability counters, kept as buckets of pieces with as many owners, each in random order.
#[derive(Clone, Debug)]
pub struct Picker {
    rules: Rules,
    owners: Vec<u32>,
    /// The place of a piece in its bucket; `DONE` if we have it.
    place: Vec<u32>,
    buckets: Vec<Vec<u32>>,
    /// The order that does not depend on owners: by number if that is the rule, else a random one.
    fixed: Vec<u32>,
    started: Vec<u32>,
    started_from_seed: Vec<u32>,
    complete: u32,
    /// The number of neighbours, while long gaps are to be left to web seeds.
    gaps: Option<u32>,
}

const DONE: u32 = u32::MAX;

/// The preferences of a look for the next piece.
#[derive(Clone, Copy, Debug)]
pub struct Preference {
    /// Begun pieces come first, whatever their owners.
    pub finish: bool,
    /// Begun pieces come last: whole ones are wanted.
    pub whole: bool,
    /// The commonest first.
    pub common_first: bool,
    /// The remote has everything.
    pub of_seed: bool,
}

impl Picker {
    /// No peer has anything; `full` if we have everything.
    pub fn new(rules: Rules, pieces: u32, full: bool, stream: &mut RandomStream) -> Picker {
        let all: Vec<u32> = (0..pieces).collect();
        let mut fixed = all.clone();
        if rules.order != PieceOrder::Sequential {
            stream.shuffle(&mut fixed);
        }
        Picker {
            rules,
            owners: vec![0; pieces as usize],
            place: if full { vec![DONE; pieces as usize] } else { all.clone() },
            buckets: vec![if full { Vec::new() } else { all }],
            fixed,
            started: Vec::new(),
            started_from_seed: Vec::new(),
            complete: if full { pieces } else { 0 },
            gaps: None,
        }
    }
    /// One neighbour more has `piece`.
    pub fn gained(&mut self, piece: u32, stream: &mut RandomStream) {
        let owners = self.owners[piece as usize];
        self.owners[piece as usize] = owners + 1;
        if self.place[piece as usize] != DONE {
            if owners as usize + 1 == self.buckets.len() {
                self.buckets.push(Vec::new());
            }
            self.unlist(piece, owners);
            self.list(piece, owners + 1, stream);
        }
    }
    /// One neighbour less has `piece`.
    pub fn lost(&mut self, piece: u32, stream: &mut RandomStream) {
        let owners = self.owners[piece as usize];
        debug_assert!(owners > 0, "lost an owner that was never counted");
        self.owners[piece as usize] = owners.saturating_sub(1);
        if self.place[piece as usize] != DONE && owners > 0 {
            self.unlist(piece, owners);
            self.list(piece, owners - 1, stream);
        }
    }
    fn unlist(&mut self, piece: u32, bucket: u32) {
        let place = self.place[piece as usize] as usize;
        let bucket = &mut self.buckets[bucket as usize];
        bucket.swap_remove(place);
        if let Some(&moved) = bucket.get(place) {
            self.place[moved as usize] = place as u32;
        }
    }
    /// Swaps the piece into a random place.
    fn list(&mut self, piece: u32, bucket: u32, stream: &mut RandomStream) {
        let bucket = &mut self.buckets[bucket as usize];
        let place = stream.below(bucket.len() + 1);
        let end = bucket.len();
        bucket.push(piece);
        bucket.swap(place, end);
        self.place[bucket[end] as usize] = end as u32;
        self.place[piece as usize] = place as u32;
    }
    /// A block of `piece` has been requested, from a seed if `of_seed`.
    pub fn requested(&mut self, piece: u32, of_seed: bool) {
        if !self.started.contains(&piece) {
            self.started.push(piece);
        }
        if of_seed && !self.started_from_seed.contains(&piece) {
            self.started_from_seed.push(piece);
        }
    }
    /// We have `piece` now.
    pub fn complete(&mut self, piece: u32) {
        self.unlist(piece, self.owners[piece as usize]);
        self.place[piece as usize] = DONE;
        self.complete += 1;
        self.started.retain(|other| *other != piece);
        self.started_from_seed.retain(|other| *other != piece);
    }
    /// How many neighbours have `piece`.
    pub fn owners(&self, piece: u32) -> u32 {
        self.owners[piece as usize]
    }
    /// The piece to ask for next, among those that `want` accepts: begun ones first, then a random
    /// order for the first few, then the rarest; or all by number. `of_seed` if the remote has everything; `asked`
    /// says how many blocks of a piece have been asked for or are here.
    pub fn next(
        &self,
        of_seed: bool,
        stream: &mut RandomStream,
        want: impl Fn(u32) -> bool,
        asked: impl Fn(u32) -> u32,
    ) -> Option<u32> {
        if self.rules.strict_priority
            && let Some(piece) = self.begun(of_seed, stream, &want, &asked)
        {
            return Some(piece);
        }
        if !self.is_rarest_first() {
            return self.fixed.iter().copied().find(|piece| want(*piece));
        }
        self.rare(&want)
    }
    fn is_sequential(&self) -> bool {
        self.rules.order == PieceOrder::Sequential
    }
    /// Whether the first few pieces are chosen by rules of their own.
    fn is_at_first_pieces(&self) -> bool {
        !self.is_sequential() && self.complete < self.rules.random_first_pieces
    }
    fn is_rarest_first(&self) -> bool {
        self.rules.order == PieceOrder::RarestFirst && !self.is_at_first_pieces()
    }
    /// The rank of `piece` among those that are begun: the lowest comes first.
    pub fn rank(&self, piece: u32) -> u32 {
        if self.is_sequential() { piece } else { self.owners(piece) }
    }
    /// Whether a begun piece comes before one that is not.
    pub fn wins(&self, begun: u32, fresh: u32) -> bool {
        let ties = self.is_sequential() || self.rules.begun_wins_ties;
        ties && self.rank(begun) <= self.rank(fresh)
    }
    /// The rarest piece that `want` accepts, or a pretty rare one where gaps are left.
    fn rare(&self, want: impl Fn(u32) -> bool) -> Option<u32> {
        match self.gaps {
            Some(neighbours) => self.pretty_rare(neighbours, want),
            None => self.buckets.iter().skip(1).flatten().copied().find(|piece| want(*piece)),
        }
    }
    /// From now on long gaps are left to web seeds, with `neighbours` neighbours; None for not any
    /// more.
    pub fn leave_gaps(&mut self, neighbours: Option<u32>) {
        self.gaps = neighbours;
    }
    /// Pretty rare with the biggest gap (BEP 19, "piece selection"): a piece behind a longer gap may have more owners
    /// than the best one so far, and one behind a shorter gap must have fewer, by the square root of the number of
    /// neighbours less one. The gap of a piece is how many pieces are not here from the last one below it that is.
    fn pretty_rare(&self, neighbours: u32, want: impl Fn(u32) -> bool) -> Option<u32> {
        let slack = libm::sqrt(f64::from(neighbours)) - 1.0;
        let (mut gap, mut best) = (0, None);
        for (piece, place) in (0..).zip(&self.place) {
            if *place == DONE {
                gap = 0;
                continue;
            }
            gap += 1;
            let owners = f64::from(self.owners[piece as usize]);
            if owners > 0.0 && want(piece) {
                let better = best.is_none_or(|(rarest, longest, _)| {
                    owners < rarest - slack || (owners <= rarest + slack && gap > longest)
                });
                if better {
                    best = Some((owners, gap, piece));
                }
            }
        }
        best.map(|(.., piece)| piece)
    }
    /// The piece to begin with at a peer that has all, among those that `want` accepts and that are not requested:
    /// in the order of [`next`](Picker::next).
    pub fn fresh(&self, want: impl Fn(u32) -> bool) -> Option<u32> {
        let fresh = |piece: &u32| !self.started.contains(piece) && want(*piece);
        if !self.is_rarest_first() {
            return self.fixed.iter().copied().find(fresh);
        }
        self.buckets.iter().flatten().copied().find(fresh)
    }
    /// A stretch of pieces that `want` accepts and that are not requested, `max` pieces at most: from `last` on if that
    /// is one, else from the begin of the longest such stretch, or from a random piece while there is nothing here and
    /// nothing under way (BEP 19, "HTTP and FTP optimizations").
    pub fn gap(
        &self,
        last: Option<u32>,
        max: u32,
        stream: &mut RandomStream,
        want: impl Fn(u32) -> bool,
    ) -> Option<Range<u32>> {
        let pieces = self.owners.len() as u32;
        let fresh = |piece: u32| piece < pieces && !self.started.contains(&piece) && want(piece);
        let from = |start: u32| {
            let end = (start..pieces).find(|piece| !fresh(*piece)).unwrap_or(pieces);
            start..end
        };
        let begins_anew = self.complete == 0 && self.started.is_empty() && pieces > 0;
        let start = match last.filter(|last| fresh(*last)) {
            Some(last) => Some(last),
            None if begins_anew => Some(stream.below(pieces as usize) as u32),
            None => {
                let begins = (0..pieces).filter(|p| fresh(*p) && (*p == 0 || !fresh(*p - 1)));
                let length = |start: &u32| std::cmp::Reverse(from(*start).len());
                begins.min_by_key(length)
            }
        };
        let gap = from(start?);
        let end = gap.end.min(gap.start.saturating_add(max));
        (gap.start < end).then_some(gap.start..end)
    }
    /// Whether a piece is left to others, as [`pick`](Picker::pick) does where it has better ones.
    pub fn leaves(&self, look: Preference, piece: u32, others: impl Fn(u32) -> bool) -> bool {
        look.whole && self.is_begun(piece) && others(piece)
    }
    /// Whether a block of `piece` has been asked for, and it is not complete.
    pub fn is_begun(&self, piece: u32) -> bool {
        self.started.contains(&piece)
    }
    /// Whether begun pieces come first now, since few are complete (`Picker::finish_first`).
    pub fn finishes_first(&self) -> bool {
        self.rules.finish_first && self.is_at_first_pieces()
    }
    /// Pieces of which a block has been asked for, and that are not complete.
    pub fn begun_pieces(&self) -> impl Iterator<Item = u32> + '_ {
        self.started.iter().copied()
    }
    /// `piece` with neighbours by number that can be begun, `max` pieces together: first those below it,
    /// then those above (`piece_picker::expand_piece`).
    pub fn run_around(&self, piece: u32, max: u32, want: impl Fn(u32) -> bool) -> Range<u32> {
        let fresh = |piece: u32| !self.started.contains(&piece) && want(piece);
        let (mut start, mut end) = (piece, piece + 1);
        while start > 0 && end - start < max && fresh(start - 1) {
            start -= 1;
        }
        let pieces = self.owners.len() as u32;
        while end < pieces && end - start < max && fresh(end) {
            end += 1;
        }
        start..end
    }
    /// The same as [`next`](Picker::next) with what libtorrent's picker adds
    /// (`piece_picker::pick_pieces`, `piece_pos::priority`): begun pieces come before others that are as
    /// rare, or first, or last. Where whole pieces are wanted, `others` says which begun ones are left to them.
    pub fn pick(
        &self,
        look: Preference,
        stream: &mut RandomStream,
        want: impl Fn(u32) -> bool,
        asked: impl Fn(u32) -> u32,
        others: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let Rules { begun_wins_ties, finish_first, .. } = self.rules;
        let rarest = self.is_rarest_first();
        if !(look.finish || look.whole || look.common_first || begun_wins_ties || finish_first) {
            return self.next(look.of_seed, stream, want, asked);
        }
        let strict = self.rules.strict_priority;
        if strict && let Some(piece) = self.begun(look.of_seed, stream, &want, &asked) {
            return Some(piece);
        }
        let begun = || self.started.iter().copied().filter(|piece| want(*piece));
        if look.finish || self.finishes_first() {
            // Rarest first once that is the rule; by their numbers before.
            let best = match rarest {
                true => begun().min_by_key(|piece| self.owners(*piece)),
                false => begun().min(),
            };
            if best.is_some() {
                return best;
            }
        }
        let left = |piece: u32| self.leaves(look, piece, &others);
        let fresh = |piece: u32| want(piece) && !left(piece);
        let (next, tie) = if !rarest {
            (self.fixed.iter().copied().find(|piece| fresh(*piece)), None)
        } else if look.common_first {
            let common = self.buckets.iter().skip(1).rev().flatten().copied();
            (common.into_iter().find(|piece| fresh(*piece)), None)
        } else {
            let rare = self.rare(fresh);
            let tie = begun().filter(|piece| !left(*piece)).min_by_key(|piece| self.owners(*piece));
            (rare, tie.filter(|_| begun_wins_ties))
        };
        match (next, tie) {
            (Some(next), Some(tie)) if self.owners(tie) <= self.owners(next) => Some(tie),
            // Whole pieces are wanted, and there is none: what others have begun will do.
            (None, _) => begun().min_by_key(|piece| self.rank(*piece)),
            (next, _) => next,
        }
    }
    fn begun(
        &self,
        of_seed: bool,
        stream: &mut RandomStream,
        want: impl Fn(u32) -> bool,
        asked: impl Fn(u32) -> u32,
    ) -> Option<u32> {
        let started = || self.started.iter().copied().filter(|piece| want(*piece));
        match self.rules.begun {
            BegunOrder::Rarest => self.rarest_begun(of_seed, stream, want),
            BegunOrder::MostRequested => started().max_by_key(|piece| (asked(*piece), *piece)),
            BegunOrder::HighestNumber => started().max(),
        }
    }
    fn rarest_begun(
        &self,
        of_seed: bool,
        stream: &mut RandomStream,
        want: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let begun = if of_seed { &self.started_from_seed } else { &self.started };
        let wanted = || begun.iter().copied().filter(|piece| want(*piece));
        let fewest = wanted().map(|piece| self.owners(piece)).min()?;
        let mut rarest = wanted().filter(|piece| self.owners(*piece) == fewest);
        let ties = rarest.clone().count();
        rarest.nth(if ties > 1 { stream.below(ties) } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;
    use proptest::prelude::*;

    fn stream() -> RandomStream {
        RandomStream::new(1, "picker", 0)
    }
    fn rules() -> Rules {
        named("mainline-4.0.2").unwrap().picker
    }
    /// 10 pieces of which piece p has p + 1 owners, and `complete` complete ones from the top.
    fn graded(rules: Rules, complete: u32) -> (Picker, RandomStream) {
        let mut stream = stream();
        let mut picker = Picker::new(rules, 10, false, &mut stream);
        for piece in 0..10 {
            (0..=piece).for_each(|_| picker.gained(piece, &mut stream));
        }
        (0..complete).for_each(|n| picker.complete(9 - n));
        (picker, stream)
    }

    #[test]
    fn the_first_four_pieces_come_in_a_fixed_random_order_and_then_the_rarest() {
        let (picker, mut stream) = graded(rules(), 3);
        let first = picker.fixed.iter().copied().find(|piece| *piece < 7);
        assert_eq!(picker.next(false, &mut stream, |piece| piece < 7, |_| 0), first);
        let (picker, mut stream) = graded(rules(), 4);
        assert_eq!(picker.next(false, &mut stream, |piece| piece < 6, |_| 0), Some(0));
        assert_eq!(picker.next(false, &mut stream, |piece| piece > 2 && piece < 6, |_| 0), Some(3));
    }

    #[test]
    fn a_run_grows_down_and_then_up_to_the_next_piece_that_is_begun_or_unwanted() {
        let (mut picker, _) = graded(rules(), 0);
        assert_eq!(picker.run_around(5, 3, |_| true), 3..6);
        assert_eq!(picker.run_around(1, 3, |_| true), 0..3);
        assert_eq!(picker.run_around(9, 20, |_| true), 0..10);
        assert_eq!(picker.run_around(5, 1, |_| true), 5..6);
        picker.requested(4, false);
        assert_eq!(picker.run_around(5, 3, |_| true), 5..8);
        assert_eq!(picker.run_around(5, 3, |piece| piece != 7), 5..7);
    }
    #[test]
    fn begun_pieces_come_first_the_rarest_of_them() {
        let (mut picker, mut stream) = graded(rules(), 4);
        picker.requested(5, false);
        picker.requested(3, true);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(3));
        assert_eq!(picker.next(false, &mut stream, |piece| piece != 3, |_| 0), Some(5));
        picker.complete(3);
        assert_eq!(picker.next(false, &mut stream, |piece| piece != 3, |_| 0), Some(5));
    }

    #[test]
    fn equally_rare_begun_pieces_are_drawn_and_the_others_stay_begun_when_one_is_complete() {
        let (mut picker, mut stream) = graded(rules(), 4);
        (0..2).for_each(|_| picker.gained(3, &mut stream));
        for piece in [5, 3, 4] {
            picker.requested(piece, true);
        }
        // Pieces 3 and 5 have six owners, piece 4 has five.
        assert_eq!(picker.next(true, &mut stream, |_| true, |_| 0), Some(4));
        picker.complete(4);
        let mut seen = [0; 10];
        for _ in 0..200 {
            seen[picker.next(true, &mut stream, |_| true, |_| 0).unwrap() as usize] += 1;
        }
        assert!(seen[3] > 60 && seen[5] > 60 && seen[3] + seen[5] == 200, "{seen:?}");
    }

    #[test]
    fn of_a_seed_only_pieces_begun_at_a_seed_come_first() {
        let (mut picker, mut stream) = graded(rules(), 4);
        picker.requested(5, false);
        assert_eq!(picker.next(true, &mut stream, |_| true, |_| 0), Some(0));
        picker.requested(4, true);
        assert_eq!(picker.next(true, &mut stream, |_| true, |_| 0), Some(4));
    }

    #[test]
    fn each_rule_can_be_switched_off() {
        let (mut picker, mut stream) = graded(Rules { strict_priority: false, ..rules() }, 4);
        picker.requested(5, false);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(0));
        let (picker, mut stream) = graded(Rules { order: PieceOrder::Random, ..rules() }, 4);
        let first = picker.fixed.iter().copied().find(|piece| *piece < 6);
        assert_eq!(picker.next(false, &mut stream, |piece| piece < 6, |_| 0), first);
    }

    #[test]
    fn in_sequence_the_lowest_number_comes_first_from_the_first_piece_on() {
        for rules in [rules(), today()] {
            let rules = Rules { order: PieceOrder::Sequential, strict_priority: false, ..rules };
            // Piece 9 has most owners and is complete; with four of them rarity would count.
            for complete in [0, 4] {
                let (mut picker, mut stream) = graded(rules.clone(), complete);
                let mut next = |picker: &Picker, want: fn(u32) -> bool| {
                    let next = picker.next(false, &mut stream, want, |_| 0);
                    assert_eq!(next, pick(picker, |_| {}, want));
                    assert_eq!(next, pick(picker, |look| look.common_first = true, want));
                    next
                };
                (0..9).for_each(|piece| picker.gained(piece, &mut self::stream()));
                assert_eq!(next(&picker, |piece| piece < 6), Some(0));
                assert_eq!(next(&picker, |piece| piece > 2 && piece < 6), Some(3));
                // A piece that a neighbour without the first pieces has begun does not come before
                // these.
                picker.requested(5, false);
                assert_eq!(next(&picker, |piece| piece < 6), Some(0));
                assert_eq!(picker.fresh(|piece| piece > 4 && piece < 9), Some(6));
                assert!(!picker.finishes_first());
                assert!(picker.wins(5, 6) && !picker.wins(5, 4));
            }
        }
    }

    #[test]
    fn in_sequence_begun_pieces_come_first_if_that_is_the_rule() {
        let rules = Rules { order: PieceOrder::Sequential, ..rules() };
        let (mut picker, mut stream) = graded(rules, 0);
        picker.requested(5, false);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(5));
    }

    #[test]
    fn ties_are_broken_at_random() {
        let mut seen = [0; 4];
        for seed in 0..400 {
            let mut stream = RandomStream::new(seed, "ties", 0);
            let rules = Rules { random_first_pieces: 0, ..rules() };
            let mut picker = Picker::new(rules, 4, false, &mut stream);
            (0..4).for_each(|piece| picker.gained(piece, &mut stream));
            let piece = picker.next(false, &mut stream, |_| true, |_| 0).unwrap();
            seen[piece as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 60), "{seen:?}");
    }

    #[test]
    fn a_pretty_rare_piece_behind_a_long_gap_is_left_to_peers_from_the_end() {
        // BEP 19's example: "YYnnnnYnnY" with pieces that are equally rare.
        let mut stream = stream();
        let mut picker = Picker::new(rules(), 10, false, &mut stream);
        for piece in 0..10 {
            (0..3).for_each(|_| picker.gained(piece, &mut stream));
        }
        for piece in [0, 1, 6, 9] {
            picker.complete(piece);
        }
        picker.leave_gaps(Some(9));
        assert_eq!(
            picker.next(false, &mut stream, |_| true, |_| 0),
            Some(5),
            "behind the gap of 4"
        );
        assert_eq!(picker.next(false, &mut stream, |piece| piece > 6, |_| 0), Some(8));
        // Rarer by more than sqrt(9) - 1, and as rare as that.
        picker.lost(7, &mut stream);
        picker.lost(7, &mut stream);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(5));
        picker.lost(7, &mut stream);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(5), "nobody has piece 7");
        (0..4).for_each(|_| picker.gained(7, &mut stream));
        for piece in [2, 3, 4, 5, 8] {
            (0..3).for_each(|_| picker.gained(piece, &mut stream));
        }
        picker.lost(7, &mut stream);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(7), "three owners less");
        picker.leave_gaps(None);
        assert_eq!(picker.next(false, &mut stream, |_| true, |_| 0), Some(7), "the rarest");
    }

    #[test]
    fn a_web_seed_fills_the_longest_gap_from_its_begin_and_goes_on_where_it_was() {
        // "YYnnnnYnnY" once more.
        let (mut picker, mut stream) = graded(rules(), 0);
        let anywhere = picker.gap(None, 100, &mut stream, |_| true).unwrap();
        assert_eq!(anywhere.end, 10, "a random place, to the end of the file");
        for piece in [0, 1, 6, 9] {
            picker.complete(piece);
        }
        let lacks = |piece: u32| ![0, 1, 6, 9].contains(&piece);
        let mut gap = |picker: &Picker, last, max| picker.gap(last, max, &mut stream, lacks);
        assert_eq!(gap(&picker, None, 100), Some(2..6));
        assert_eq!(gap(&picker, None, 3), Some(2..5));
        assert_eq!(gap(&picker, Some(8), 3), Some(8..9));
        assert_eq!(gap(&picker, Some(9), 1), Some(2..3));
        assert_eq!(gap(&picker, Some(10), 1), Some(2..3));
        picker.requested(2, true);
        picker.requested(4, false);
        assert_eq!(gap(&picker, None, 9), Some(7..9), "what others bring is no gap");
        assert_eq!(picker.fresh(lacks), Some(3), "the rarest that nobody was asked for");
    }

    #[test]
    fn a_web_seed_begins_at_a_random_piece_while_nothing_is_here_or_under_way() {
        let (mut picker, mut stream) = graded(rules(), 0);
        let mut begins = [0; 10];
        for _ in 0..1000 {
            begins[picker.gap(None, 1, &mut stream, |_| true).unwrap().start as usize] += 1;
        }
        assert!(begins.iter().all(|count| *count > 60), "{begins:?}");
        picker.requested(7, true);
        assert_eq!(picker.gap(None, 3, &mut stream, |_| true), Some(0..3), "the longest gap");
        let (picker, mut stream) = graded(rules(), 1);
        let lacks = |piece| piece != 9;
        assert_eq!(picker.gap(None, 100, &mut stream, lacks), Some(0..9), "piece 9 is here");
    }

    fn today() -> Rules {
        named("libtorrent").unwrap().picker
    }
    fn pick(
        picker: &Picker,
        change: impl FnOnce(&mut Preference),
        want: fn(u32) -> bool,
    ) -> Option<u32> {
        let mut look =
            Preference { finish: false, whole: false, common_first: false, of_seed: false };
        change(&mut look);
        picker.pick(look, &mut stream(), want, |_| 0, |_| true)
    }

    #[test]
    fn begun_pieces_win_ties_alone_and_come_first_or_last_when_told_to() {
        // Pieces 0 to 5 are missing, of which piece p has p + 1 owners.
        let (mut picker, mut stream) = graded(today(), 4);
        picker.requested(3, false);
        assert_eq!(pick(&picker, |_| {}, |_| true), Some(0), "rarer than the begun one");
        assert_eq!(pick(&picker, |look| look.finish = true, |_| true), Some(3));
        assert_eq!(pick(&picker, |look| look.common_first = true, |_| true), Some(5));
        assert_eq!(pick(&picker, |look| look.whole = true, |piece| piece > 2), Some(4));
        assert_eq!(pick(&picker, |look| look.whole = true, |piece| piece == 3), Some(3));
        // Pieces 3 and 4 are equally rare now.
        picker.gained(3, &mut stream);
        assert_eq!(pick(&picker, |_| {}, |piece| piece > 2), Some(3));
        let (mut picker, mut stream) = graded(today(), 4);
        picker.requested(4, false);
        picker.gained(3, &mut stream);
        assert_eq!(pick(&picker, |_| {}, |piece| piece > 2), Some(4));
    }

    #[test]
    fn where_whole_pieces_are_wanted_begun_ones_that_nobody_else_is_at_win_ties() {
        let (mut picker, mut stream) = graded(today(), 4);
        picker.requested(4, false);
        picker.gained(3, &mut stream);
        let look = Preference { finish: false, whole: true, common_first: false, of_seed: false };
        let mut pick = |others: fn(u32) -> bool, want: fn(u32) -> bool| {
            picker.pick(look, &mut stream, want, |_| 0, others)
        };
        assert_eq!(pick(|_| false, |piece| piece > 2), Some(4), "as rare as 3");
        assert_eq!(pick(|_| false, |_| true), Some(0), "rarer");
        assert_eq!(pick(|piece| piece == 4, |piece| piece > 2), Some(3));
        assert_eq!(
            pick(|piece| piece == 4, |piece| piece == 4),
            Some(4),
            "for want of better ones"
        );
    }

    #[test]
    fn the_first_pieces_are_finished_before_others_are_begun() {
        let (mut picker, _) = graded(today(), 3);
        picker.requested(5, false);
        picker.requested(2, false);
        assert_eq!(pick(&picker, |_| {}, |_| true), Some(2), "by their numbers");
        let rules = Rules { finish_first: false, ..today() };
        let (mut picker, _) = graded(rules, 3);
        picker.requested(5, false);
        let first = picker.fixed.iter().copied().find(|piece| *piece < 7);
        assert_eq!(pick(&picker, |_| {}, |piece| piece < 7), first);
    }

    proptest! {
        #[test]
        fn buckets_always_hold_exactly_the_missing_pieces(
            steps in prop::collection::vec((0u8..3, 0u32..12), 0..200),
        ) {
            let mut stream = stream();
            let mut picker = Picker::new(rules(), 12, false, &mut stream);
            let mut owners = [0u32; 12];
            let mut have = [false; 12];
            for (step, piece) in steps {
                let index = piece as usize;
                match step {
                    0 => { picker.gained(piece, &mut stream); owners[index] += 1; }
                    1 if owners[index] > 0 => { picker.lost(piece, &mut stream); owners[index] -= 1; }
                    2 if !have[index] => { picker.complete(piece); have[index] = true; }
                    _ => {}
                }
                for piece in 0..12u32 {
                    let index = piece as usize;
                    prop_assert_eq!(picker.owners(piece), owners[index]);
                    let listed = picker.buckets.iter().flatten().filter(|p| **p == piece).count();
                    prop_assert_eq!(listed, usize::from(!have[index]));
                    if !have[index] {
                        let place = picker.place[index] as usize;
                        prop_assert_eq!(picker.buckets[owners[index] as usize][place], piece);
                    }
                }
            }
        }

        #[test]
        fn in_sequence_the_next_piece_is_the_lowest_that_is_missing_and_offered(
            steps in prop::collection::vec((0u8..5, 0u32..12, 0u32..4096), 0..200),
            profile in prop::sample::select(&["mainline-4.0.2", "modern", "libtorrent"][..]),
        ) {
            let mut stream = stream();
            let rules = Rules {
                order: PieceOrder::Sequential,
                strict_priority: false,
                ..named(profile).unwrap().picker
            };
            let mut picker = Picker::new(rules, 12, false, &mut stream);
            let (mut owners, mut have) = ([0u32; 12], [false; 12]);
            for (step, piece, offers) in steps {
                let index = piece as usize;
                match step {
                    0 => { picker.gained(piece, &mut stream); owners[index] += 1; }
                    1 if owners[index] > 0 => { picker.lost(piece, &mut stream); owners[index] -= 1; }
                    2 if !have[index] => { picker.complete(piece); have[index] = true; }
                    3 if !have[index] => picker.requested(piece, false),
                    _ => {}
                }
                let want = |piece: u32| !have[piece as usize] && offers >> piece & 1 == 1;
                let lowest = (0..12).find(|piece| want(*piece));
                prop_assert_eq!(picker.next(false, &mut stream, want, |_| 0), lowest);
                let look = Preference { finish: false, whole: false, common_first: false, of_seed: false };
                let picked = picker.pick(look, &mut stream, want, |_| 0, |_| true);
                prop_assert_eq!(picked, lowest);
            }
        }
    }
}
