//! libtorrent with a fixed number of slots (`clients.md` E): one order for leechers and seeds, what
//! came in since the last round first, and one place in five by turn.

use super::{Candidate, Decision};
use crate::UnchokeEnd;
use crate::profile::{Choker as Rules, SeedChoker};
use flashcrowd_base::Time;
use std::cmp::{Ordering, Reverse};

/// The input of the rule besides the neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Now.
    pub now: Time,
    /// Uploads at a time.
    pub slots: u32,
    /// Whether the optimistic places move on in this round.
    pub rotate: bool,
    /// Bytes of a full piece.
    pub piece_bytes: u32,
    /// Pieces of the file.
    pub pieces: u32,
}

/// Optimistic places among `slots` slots.
pub fn optimistic_places(slots: u32) -> u32 {
    (slots / 5).max(1).min(slots)
}

/// The decision for every neighbour.
pub fn decide(
    candidates: &[Candidate],
    rules: &Rules,
    round: Round,
    decisions: &mut Vec<Decision>,
) {
    decisions.clear();
    decisions.resize(candidates.len(), Decision::Leave);
    let mut waiting: Vec<usize> =
        (0..candidates.len()).filter(|&i| candidates[i].interested).collect();
    waiting.sort_by(|&a, &b| rank(&candidates[a], &candidates[b], rules, round).then(a.cmp(&b)));
    let places = optimistic_places(round.slots);
    let regular = (round.slots - places) as usize;
    let rest = waiting.split_off(regular.min(waiting.len()));
    for i in waiting {
        decisions[i] = Decision::Prefer;
    }
    let mut by_turn = rest;
    // Those in place stay until their time is over, then the longest wait goes first.
    by_turn.sort_by_key(|&i| {
        let c = &candidates[i];
        (!c.optimistic || round.rotate, c.optimistic_at, i)
    });
    for &i in by_turn.iter().take(places as usize) {
        decisions[i] = Decision::Optimistic;
    }
    for (candidate, decision) in candidates.iter().zip(decisions) {
        if *decision == Decision::Leave {
            *decision = Decision::Choke(if !candidate.interested {
                UnchokeEnd::NotInterested
            } else if candidate.optimistic || quota_used(candidate, rules, round) {
                UnchokeEnd::Rotation
            } else {
                UnchokeEnd::Outranked
            });
        }
    }
}

fn quota_used(c: &Candidate, rules: &Rules, round: Round) -> bool {
    let quota = u64::from(round.piece_bytes) * u64::from(rules.quota_pieces);
    rules.seed == SeedChoker::RoundRobin
        && !c.choked
        && c.up_since_unchoke > quota
        && c.unchoked_at.is_some_and(|at| round.now.since(at) > rules.quota_time_ns)
}

/// The better one is less.
fn rank(a: &Candidate, b: &Candidate, rules: &Rules, round: Round) -> Ordering {
    // Choked peers may still receive a rest of what was under way: it does not count.
    let sent = |c: &Candidate| Reverse(if c.choked { 0 } else { c.up_since_round });
    // Twice the distance from one half, in pieces.
    let distance =
        |c: &Candidate| Reverse((2 * u64::from(c.pieces)).abs_diff(u64::from(round.pieces)));
    let by_seed_rule = match rules.seed {
        SeedChoker::Mainline | SeedChoker::RoundRobin => quota_used(a, rules, round)
            .cmp(&quota_used(b, rules, round))
            .then(sent(a).cmp(&sent(b))),
        SeedChoker::FastestUpload | SeedChoker::Ns2 => b.up_since_round.cmp(&a.up_since_round),
        SeedChoker::AntiLeech => distance(a).cmp(&distance(b)),
    };
    b.down_since_round
        .cmp(&a.down_since_round)
        .then(by_seed_rule)
        .then(a.unchoked_at.cmp(&b.unchoked_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;
    use flashcrowd_base::Span;

    fn rules(seed: SeedChoker) -> Rules {
        Rules { seed, ..named("modern").unwrap().choker }
    }
    fn round(slots: u32, rotate: bool) -> Round {
        let now = Time::START + Span::from_secs(200);
        Round { now, slots, rotate, piece_bytes: 100, pieces: 100 }
    }
    fn unchoked(crowd: &[Candidate], rules: &Rules, round: Round) -> Vec<usize> {
        let mut decisions = Vec::new();
        decide(crowd, rules, round, &mut decisions);
        let free = |v: &Decision| matches!(v, Decision::Prefer | Decision::Optimistic);
        (0..decisions.len()).filter(|i| free(&decisions[*i])).collect()
    }

    #[test]
    fn one_place_in_five_goes_by_turn() {
        assert_eq!([1, 4, 8, 10, 25].map(optimistic_places), [1, 1, 1, 2, 5]);
    }

    #[test]
    fn givers_of_the_last_round_first_and_the_optimistic_place_moves_on() {
        let mut crowd = [Candidate::STRANGER; 6];
        for (i, bytes) in [5, 0, 9, 7, 0, 0].into_iter().enumerate() {
            crowd[i].down_since_round = bytes;
        }
        crowd[4].optimistic = true;
        crowd[4].optimistic_at = Some(Time::START);
        let rules = rules(SeedChoker::RoundRobin);
        assert_eq!(unchoked(&crowd, &rules, round(4, false)), [0, 2, 3, 4]);
        assert_eq!(unchoked(&crowd, &rules, round(4, true)), [0, 1, 2, 3]);
    }

    #[test]
    fn round_robin_moves_on_after_the_quota_of_pieces_and_time() {
        let served = |bytes: u64, seconds: u64| Candidate {
            choked: false,
            up_since_round: 50,
            up_since_unchoke: bytes,
            optimistic_at: Some(Time::START),
            unchoked_at: Some(Time::START + Span::from_secs(200 - seconds)),
            ..Candidate::STRANGER
        };
        let rules = rules(SeedChoker::RoundRobin);
        let kept = |c| {
            unchoked(
                &[c, Candidate::STRANGER, Candidate::STRANGER, Candidate::STRANGER],
                &rules,
                round(3, true),
            )
            .contains(&0)
        };
        assert!(kept(served(2000, 100)), "quota not yet exceeded");
        assert!(kept(served(2001, 60)), "not yet long enough");
        assert!(!kept(served(2001, 61)));
    }

    #[test]
    fn who_loses_a_place_is_told_why() {
        let unchoked = |bytes: u64| Candidate {
            choked: false,
            unchoked_at: Some(Time::START),
            up_since_unchoke: bytes,
            optimistic_at: Some(Time::START + Span::from_secs(100)),
            ..Candidate::STRANGER
        };
        let better = Candidate { down_since_round: 1, ..Candidate::STRANGER };
        let cause = |c: Candidate| {
            let mut decisions = Vec::new();
            let crowd = [c, better, better, Candidate::STRANGER];
            decide(&crowd, &rules(SeedChoker::RoundRobin), round(3, true), &mut decisions);
            decisions[0]
        };
        assert_eq!(cause(unchoked(0)), Decision::Choke(UnchokeEnd::Outranked));
        assert_eq!(cause(unchoked(2001)), Decision::Choke(UnchokeEnd::Rotation));
        let optimistic = Candidate { optimistic: true, ..unchoked(0) };
        assert_eq!(cause(optimistic), Decision::Choke(UnchokeEnd::Rotation));
        let bored = Candidate { interested: false, ..unchoked(0) };
        assert_eq!(cause(bored), Decision::Choke(UnchokeEnd::NotInterested));
    }

    #[test]
    fn the_other_seed_rules() {
        let mut crowd = [Candidate::STRANGER; 4];
        for (i, (pieces, sent)) in [(50, 9), (1, 5), (98, 0), (40, 7)].into_iter().enumerate() {
            crowd[i].pieces = pieces;
            crowd[i].up_since_round = sent;
            // All have had their optimistic turn, the first most recently.
            crowd[i].optimistic_at = Some(Time::from_nanos(10 - i as u64));
        }
        let regular = |seed| {
            let mut decisions = Vec::new();
            decide(&crowd, &rules(seed), round(3, true), &mut decisions);
            (0..4).filter(|i| decisions[*i] == Decision::Prefer).collect::<Vec<_>>()
        };
        assert_eq!(regular(SeedChoker::FastestUpload), [0, 3]);
        assert_eq!(regular(SeedChoker::AntiLeech), [1, 2]);
    }
}
