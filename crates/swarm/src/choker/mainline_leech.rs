//! Mainline while pieces are missing (`clients.md` A.3): tit for tat, and a rotating list.

use super::{Candidate, Decision};
use crate::UnchokeEnd;

/// Where the walk of the optimistic place begins after a rotation: at the first neighbour that is
/// choked and interested.
pub fn rotation(candidates: &[Candidate]) -> usize {
    candidates.iter().position(|c| c.choked && c.interested).unwrap_or(0)
}

/// The decision for every neighbour, in walking order.
pub fn decide(
    candidates: &[Candidate],
    slots: u32,
    min_uploads: u32,
    snubbing: bool,
    decisions: &mut Vec<Decision>,
) {
    decisions.clear();
    decisions.resize(candidates.len(), Decision::Leave);
    let mut ranked: Vec<usize> = (0..candidates.len())
        .filter(|&i| candidates[i].interested && !(snubbing && candidates[i].snubbed))
        .collect();
    ranked.sort_by(|&a, &b| {
        candidates[b].download_rate.total_cmp(&candidates[a].download_rate).then(a.cmp(&b))
    });
    ranked.truncate(slots.saturating_sub(1) as usize);
    let mut places = min_uploads.saturating_sub(ranked.len() as u32).max(1);
    for i in ranked {
        decisions[i] = Decision::Prefer;
    }
    for (candidate, decision) in candidates.iter().zip(decisions) {
        if *decision == Decision::Prefer {
            continue;
        }
        *decision = if places > 0 {
            places -= u32::from(candidate.interested);
            Decision::Optimistic
        } else if !candidate.interested {
            Decision::Choke(UnchokeEnd::NotInterested)
        } else if candidate.preferred {
            Decision::Choke(UnchokeEnd::Outranked)
        } else {
            Decision::Choke(UnchokeEnd::Rotation)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn giver(download_rate: f64) -> Candidate {
        Candidate { download_rate, ..Candidate::STRANGER }
    }
    fn unchoked(candidates: &[Candidate], slots: u32, snubbing: bool) -> Vec<usize> {
        let mut decisions = Vec::new();
        decide(candidates, slots, 2, snubbing, &mut decisions);
        let free = |v: &Decision| matches!(v, Decision::Prefer | Decision::Optimistic);
        (0..decisions.len()).filter(|i| free(&decisions[*i])).collect()
    }

    #[test]
    fn the_best_givers_and_the_first_of_the_rest() {
        let crowd: Vec<_> = [1.0, 9.0, 2.0, 8.0, 7.0, 3.0].map(giver).into();
        assert_eq!(unchoked(&crowd, 4, true), [0, 1, 3, 4]);
    }

    #[test]
    fn who_wants_nothing_is_unchoked_for_free_until_the_places_are_used() {
        let mut crowd: Vec<_> = [0.0, 9.0, 8.0, 7.0, 0.0, 0.0].map(giver).into();
        crowd[0].interested = false;
        crowd[5].interested = false;
        assert_eq!(unchoked(&crowd, 4, true), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn with_few_givers_there_are_at_least_two_places() {
        let mut crowd: Vec<_> = [0.0; 5].map(giver).into();
        crowd.iter_mut().for_each(|c| c.snubbed = true);
        assert_eq!(unchoked(&crowd, 4, true), [0, 1]);
        crowd[3].snubbed = false;
        assert_eq!(unchoked(&crowd, 4, true), [0, 3]);
    }

    #[test]
    fn without_snubbing_a_peer_that_gives_nothing_is_still_ranked() {
        let mut crowd: Vec<_> = [0.0, 5.0, 0.0].map(giver).into();
        crowd[1].snubbed = true;
        assert_eq!(unchoked(&crowd, 2, true), [0, 1].map(|i| i).to_vec());
        assert_eq!(unchoked(&crowd, 4, false), [0, 1, 2]);
    }

    #[test]
    fn the_list_rotates_to_the_first_that_waits() {
        let mut crowd = [Candidate::STRANGER; 4];
        crowd[0].choked = false;
        crowd[1].interested = false;
        assert_eq!(rotation(&crowd), 2);
        crowd.iter_mut().for_each(|c| c.choked = false);
        assert_eq!(rotation(&crowd), 0);
    }
}
