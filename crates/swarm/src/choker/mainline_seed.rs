//! Mainline once complete (`clients.md` A.4): the newest unchokes stay, the list goes round.

use super::{Candidate, Decision};
use crate::UnchokeEnd;
use crate::profile::Choker as Rules;
use std::cmp::Ordering;

/// How many new unchokes a round forces, if `made` were made since the last round.
pub fn forced(slots: u32, round: u32, made: u32) -> u32 {
    let per_three_rounds = slots.saturating_add(2) / 3;
    ((per_three_rounds + round % 3) / 3).saturating_sub(made)
}

/// The result of a walk besides its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Places that are free for any peer.
    pub open: u32,
    /// Where the next walk begins.
    pub next: usize,
}

/// The decision for every neighbour, in walking order.
pub fn decide(
    candidates: &[Candidate],
    rules: &Rules,
    slots: u32,
    round: u32,
    forced: u32,
    decisions: &mut Vec<Decision>,
) -> Walk {
    decisions.clear();
    decisions.resize(candidates.len(), Decision::Leave);
    let idle = |c: &Candidate| {
        let young = c.unchoked_round.saturating_add(rules.protected_rounds) > round;
        rules.idle_class && !(young || c.queued && c.flushed)
    };
    let rank = |&a: &usize, &b: &usize| -> Ordering {
        let (x, y) = (&candidates[a], &candidates[b]);
        let newest = if idle(x) && idle(y) {
            Ordering::Equal
        } else {
            y.unchoked_round.cmp(&x.unchoked_round)
        };
        idle(x)
            .cmp(&idle(y))
            .then(newest)
            .then(y.upload_rate.total_cmp(&x.upload_rate))
            .then(a.cmp(&b))
    };
    let mut kept: Vec<usize> = (0..candidates.len())
        .filter(|&i| !candidates[i].choked && candidates[i].interested)
        .collect();
    kept.sort_by(rank);
    kept.truncate(slots.saturating_sub(forced) as usize);
    let open = slots.saturating_sub(kept.len() as u32);
    for i in kept {
        decisions[i] = Decision::Prefer;
    }
    let mut left = open;
    let mut next = 0;
    for (i, (candidate, decision)) in candidates.iter().zip(decisions).enumerate() {
        if *decision == Decision::Prefer {
            continue;
        }
        if !candidate.interested {
            *decision = Decision::Choke(UnchokeEnd::NotInterested);
        } else if left > 0 && (!candidate.choked || candidate.flushed) {
            *decision = Decision::Optimistic;
            left -= 1;
            if left == 0 {
                next = i + 1;
            }
        } else if !candidate.choked {
            let cause = if idle(candidate) { UnchokeEnd::Idle } else { UnchokeEnd::Rotation };
            *decision = Decision::Choke(cause);
        }
    }
    Walk { open, next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;

    fn rules() -> Rules {
        named("mainline-4.0.2").unwrap().choker
    }
    /// Unchoked since that round, and busy.
    fn served(unchoked_round: u32) -> Candidate {
        Candidate { choked: false, queued: true, unchoked_round, ..Candidate::STRANGER }
    }
    fn decisions(crowd: &[Candidate], rules: &Rules, round: u32, forced: u32) -> Vec<Decision> {
        let mut decisions = Vec::new();
        decide(crowd, rules, 4, round, forced, &mut decisions);
        decisions
    }

    #[test]
    fn new_unchokes_in_three_rounds() {
        let pattern = |slots| [1, 2, 3].map(|round| forced(slots, round, 0));
        assert_eq!(pattern(2), [0, 1, 0]);
        assert_eq!(pattern(3), [0, 1, 0]);
        assert_eq!([4, 5, 6].map(pattern), [[1, 1, 0]; 3]);
        assert_eq!([7, 8, 9].map(pattern), [[1, 1, 1]; 3]);
        assert_eq!(forced(4, 1, 1), 0, "one was made since the last round");
    }

    #[test]
    fn the_oldest_unchoke_makes_room_for_the_next_in_the_list() {
        let crowd =
            [Candidate::STRANGER, served(1), served(4), served(2), served(3), Candidate::STRANGER];
        let mut out = Vec::new();
        let walk = decide(&crowd, &rules(), 4, 5, 1, &mut out);
        use Decision::{Choke, Leave, Optimistic, Prefer};
        assert_eq!(out, [Optimistic, Choke(UnchokeEnd::Rotation), Prefer, Prefer, Prefer, Leave]);
        assert_eq!(walk, Walk { open: 1, next: 1 });
    }

    #[test]
    fn met_while_a_place_is_open_the_oldest_keeps_it() {
        let crowd = [served(1), served(4), served(2), served(3), Candidate::STRANGER];
        let out = decisions(&crowd, &rules(), 5, 1);
        assert_eq!((out[0], out[4]), (Decision::Optimistic, Decision::Leave));
    }

    #[test]
    fn a_gap_in_the_requests_costs_the_slot_from_the_fourth_round_on() {
        let idle = |round| Candidate { queued: false, ..served(round) };
        // Older than three rounds: behind the others, though they are older still.
        let crowd = [Candidate::STRANGER, served(1), idle(5), served(2), served(3)];
        assert_eq!(decisions(&crowd, &rules(), 8, 1)[2], Decision::Choke(UnchokeEnd::Idle));
        // Younger: protected.
        assert_eq!(decisions(&crowd, &rules(), 7, 1)[1], Decision::Choke(UnchokeEnd::Rotation));
        // A socket that is not flushed counts as a gap too.
        let mut crowd = [Candidate::STRANGER, served(1), served(5), served(2), served(3)];
        crowd[2].flushed = false;
        assert_eq!(decisions(&crowd, &rules(), 8, 1)[2], Decision::Choke(UnchokeEnd::Idle));
        // Without the class, age decides alone.
        let rules = Rules { idle_class: false, ..rules() };
        assert_eq!(decisions(&crowd, &rules, 8, 1)[1], Decision::Choke(UnchokeEnd::Rotation));
    }

    #[test]
    fn free_places_are_filled_without_force_but_not_with_clogged_sockets() {
        let clogged = Candidate { flushed: false, ..Candidate::STRANGER };
        let bored = Candidate { interested: false, choked: false, ..Candidate::STRANGER };
        let crowd = [
            served(1),
            clogged,
            bored,
            Candidate::STRANGER,
            Candidate::STRANGER,
            Candidate::STRANGER,
            Candidate::STRANGER,
        ];
        let mut out = Vec::new();
        let walk = decide(&crowd, &rules(), 4, 2, 0, &mut out);
        use Decision::{Choke, Leave, Optimistic, Prefer};
        let gone = Choke(UnchokeEnd::NotInterested);
        assert_eq!(out, [Prefer, Leave, gone, Optimistic, Optimistic, Optimistic, Leave]);
        assert_eq!(walk, Walk { open: 3, next: 6 });
    }
}
