//! The BitTorrent module for ns-2 by Eger et al. (2007): what came in during the last two rounds (of
//! a seed: what went out) decides about all places but one; that one is drawn.

use super::{Candidate, Decision};
use crate::UnchokeEnd;
use crate::profile::Choker as Rules;
use flashcrowd_base::RandomStream;

/// The input of the rule besides the neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Uploads at a time.
    pub slots: u32,
    /// Whether everything is here, so that what went out counts.
    pub seed: bool,
    /// Whether the optimistic place moves on.
    pub rotate: bool,
}

/// The outcome of the optimistic place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimisticSlot {
    /// There are no more neighbours than places: all are served, and the round does not count.
    Few,
    /// It stays.
    Kept,
    /// It was drawn again, whether or not there was a neighbour to win it.
    Drawn,
}

/// The decision for every neighbour.
pub fn decide(
    candidates: &[Candidate],
    rules: &Rules,
    round: Round,
    stream: &mut RandomStream,
    decisions: &mut Vec<Decision>,
) -> OptimisticSlot {
    decisions.clear();
    decisions.resize(candidates.len(), Decision::Leave);
    if candidates.len() as u64 <= u64::from(round.slots) {
        for (candidate, decision) in candidates.iter().zip(decisions) {
            if candidate.choked && candidate.interested {
                *decision = Decision::Prefer;
            }
        }
        return OptimisticSlot::Few;
    }
    let bytes = |c: &Candidate| {
        let (now, before) = if round.seed {
            (c.up_since_round, c.up_round_before)
        } else {
            (c.down_since_round, c.down_round_before)
        };
        if rules.rank_rounds > 1 { now + before } else { now }
    };
    let mut ranked: Vec<usize> =
        (0..candidates.len()).filter(|&i| candidates[i].interested).collect();
    ranked.sort_by(|&a, &b| bytes(&candidates[b]).cmp(&bytes(&candidates[a])).then(a.cmp(&b)));
    ranked.truncate(round.slots.saturating_sub(1) as usize);
    for &i in &ranked {
        decisions[i] = Decision::Prefer;
    }
    let open = |i: usize, decisions: &[Decision]| {
        candidates[i].interested && decisions[i] != Decision::Prefer
    };
    let present = (0..candidates.len()).find(|&i| candidates[i].optimistic && open(i, decisions));
    let draw = round.rotate || present.is_none();
    let drawn = if draw { win(candidates, rules, stream, |i| open(i, decisions)) } else { None };
    if let Some(winner) = drawn.or(present) {
        decisions[winner] = Decision::Optimistic;
    }
    for (candidate, decision) in candidates.iter().zip(decisions) {
        if *decision == Decision::Leave {
            *decision = Decision::Choke(if !candidate.interested {
                UnchokeEnd::NotInterested
            } else if candidate.optimistic {
                UnchokeEnd::Rotation
            } else {
                UnchokeEnd::Outranked
            });
        }
    }
    if draw { OptimisticSlot::Drawn } else { OptimisticSlot::Kept }
}

/// Draws among those who were choked when the round began; a newcomer has a greater weight.
fn win(
    candidates: &[Candidate],
    rules: &Rules,
    stream: &mut RandomStream,
    open: impl Fn(usize) -> bool,
) -> Option<usize> {
    let weight = |i: usize| {
        let c = &candidates[i];
        match c.choked && open(i) {
            false => 0,
            true if c.newcomer => rules.newcomer_weight.max(1) as usize,
            true => 1,
        }
    };
    let total: usize = (0..candidates.len()).map(weight).sum();
    if total == 0 {
        return None;
    }
    let mut ticket = stream.below(total);
    (0..candidates.len()).find(|&i| match ticket.checked_sub(weight(i)) {
        Some(rest) => {
            ticket = rest;
            false
        }
        None => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;

    fn rules() -> Rules {
        named("ns2-2011").unwrap().choker
    }
    /// Bytes that it gave in this round and the one before.
    fn giver(now: u64, before: u64) -> Candidate {
        Candidate { down_since_round: now, down_round_before: before, ..Candidate::STRANGER }
    }
    fn round(rotate: bool) -> Round {
        Round { slots: 4, seed: false, rotate }
    }
    fn unchoked(
        crowd: &[Candidate],
        round: Round,
        seed: u64,
    ) -> (Vec<usize>, Option<usize>, OptimisticSlot) {
        let (mut decisions, mut stream) = (Vec::new(), RandomStream::new(seed, "choker", 0));
        let place = decide(crowd, &rules(), round, &mut stream, &mut decisions);
        let with = |decision| (0..decisions.len()).filter(move |i| decisions[*i] == decision);
        let turn = with.clone()(Decision::Optimistic).next();
        (with(Decision::Prefer).collect(), turn, place)
    }

    #[test]
    fn with_no_more_neighbours_than_places_all_who_want_are_served() {
        let mut crowd = [Candidate::STRANGER; 4];
        crowd[2].interested = false;
        assert_eq!(unchoked(&crowd, round(true), 1), (vec![0, 1, 3], None, OptimisticSlot::Few));
    }

    #[test]
    fn two_rounds_count_and_the_first_neighbours_win_ties() {
        let crowd = [giver(0, 9), giver(5, 5), giver(1, 0), giver(3, 0), giver(0, 0), giver(0, 0)];
        let (preferred, turn, place) = unchoked(&crowd, round(false), 1);
        assert_eq!((preferred, place), (vec![0, 1, 3], OptimisticSlot::Drawn));
        assert!(turn.is_some_and(|turn| [2, 4, 5].contains(&turn)));
        assert_eq!(unchoked(&[giver(0, 0); 6], round(false), 1).0, [0, 1, 2]);
        let one_round = Rules { rank_rounds: 1, ..rules() };
        let mut decisions = Vec::new();
        let mut stream = RandomStream::new(1, "choker", 0);
        decide(&crowd, &one_round, round(false), &mut stream, &mut decisions);
        let best = (0..6).filter(|i| decisions[*i] == Decision::Prefer);
        assert_eq!(best.collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_seed_ranks_by_what_went_out() {
        let mut crowd = [Candidate::STRANGER; 6];
        for (i, bytes) in [(5, 7), (1, 3), (3, 9)] {
            crowd[i].up_since_round = bytes;
        }
        let seeding = Round { seed: true, ..round(false) };
        assert_eq!(unchoked(&crowd, seeding, 1).0, [1, 3, 5]);
    }

    #[test]
    fn the_optimistic_place_stays_until_its_turn_is_over_or_it_has_earned_another() {
        let mut crowd = [giver(9, 0), giver(8, 0), giver(7, 0), giver(0, 0), giver(0, 0)];
        crowd[4].optimistic = true;
        crowd[4].choked = false;
        assert_eq!(
            unchoked(&crowd, round(false), 1),
            (vec![0, 1, 2], Some(4), OptimisticSlot::Kept)
        );
        assert_eq!(
            unchoked(&crowd, round(true), 1),
            (vec![0, 1, 2], Some(3), OptimisticSlot::Drawn)
        );
        crowd[4].down_since_round = 10;
        assert_eq!(
            unchoked(&crowd, round(false), 1),
            (vec![0, 1, 4], Some(3), OptimisticSlot::Drawn)
        );
        // No other neighbour waits: it stays even when its time is over.
        crowd[4].down_since_round = 0;
        crowd[3].interested = false;
        assert_eq!(
            unchoked(&crowd, round(true), 1),
            (vec![0, 1, 2], Some(4), OptimisticSlot::Drawn)
        );
    }

    #[test]
    fn who_loses_a_place_is_told_why() {
        let mut crowd = [giver(9, 0), giver(8, 0), giver(7, 0), giver(0, 0), giver(0, 0)];
        let unchoked = Candidate { choked: false, ..Candidate::STRANGER };
        let decision = |crowd: &[Candidate]| {
            let (mut decisions, mut stream) = (Vec::new(), RandomStream::new(1, "choker", 0));
            decide(crowd, &rules(), round(true), &mut stream, &mut decisions);
            decisions[4]
        };
        crowd[4] = unchoked;
        assert_eq!(decision(&crowd), Decision::Choke(UnchokeEnd::Outranked));
        crowd[4] = Candidate { optimistic: true, ..unchoked };
        assert_eq!(decision(&crowd), Decision::Choke(UnchokeEnd::Rotation));
        crowd[4] = Candidate { interested: false, ..unchoked };
        assert_eq!(decision(&crowd), Decision::Choke(UnchokeEnd::NotInterested));
    }

    #[test]
    fn who_was_just_choked_has_no_ticket() {
        let mut crowd = [giver(9, 0), giver(8, 0), giver(7, 0), giver(0, 0), giver(0, 0)];
        crowd[3].choked = false;
        for seed in 0..50 {
            assert_eq!(unchoked(&crowd, round(true), seed).1, Some(4));
        }
    }

    #[test]
    fn a_newcomer_has_three_tickets() {
        let mut crowd = [giver(9, 0), giver(8, 0), giver(7, 0), giver(0, 0), giver(0, 0)];
        crowd[4].newcomer = true;
        let won = (0..4000).filter(|seed| unchoked(&crowd, round(true), *seed).1 == Some(4));
        let won = won.count();
        // 3 of 4, within four standard deviations.
        assert!((2890..3110).contains(&won), "{won}");
    }
}
