//! Peers to connect to, and which of them comes first (libtorrent: `peer_list`).

use crate::PeerId;
use crate::profile::CandidateOrder;

/// The sources of a peer's address: the tracker counts for more than neighbours, and both for more
/// than either (`source_rank`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sources {
    /// The tracker did.
    pub tracker: bool,
    /// Neighbours did.
    pub exchange: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    peer: PeerId,
    sources: Sources,
    priority: u32,
}

/// Peers that wait to be connected to.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// The peer that it is of.
    of: PeerId,
    order: CandidateOrder,
    all: Vec<Candidate>,
}

impl Candidates {
    /// There are none.
    pub fn new(of: PeerId, order: CandidateOrder) -> Candidates {
        Candidates { of, order, all: Vec::new() }
    }
    /// A peer has been named; it is forgotten if there are `max` already.
    pub fn add(&mut self, peer: PeerId, sources: Sources, max: u32) {
        if let Some(known) = self.all.iter_mut().find(|known| known.peer == peer) {
            known.sources.tracker |= sources.tracker;
            known.sources.exchange |= sources.exchange;
        } else if (self.all.len() as u64) < u64::from(max) {
            let priority = match self.order {
                CandidateOrder::LastNamed => 0,
                CandidateOrder::Canonical => canonical_priority(self.of.address(), peer.address()),
            };
            self.all.push(Candidate { peer, sources, priority });
        }
    }
    /// Forgets a peer.
    pub fn remove(&mut self, peer: PeerId) {
        self.all.retain(|known| known.peer != peer);
    }
    /// Takes the first; the last named of equals.
    pub fn pop(&mut self) -> Option<PeerId> {
        let place = match self.order {
            CandidateOrder::LastNamed => self.all.len().checked_sub(1)?,
            CandidateOrder::Canonical => {
                let key = |of: &Candidate| (of.sources, of.priority);
                self.all.iter().enumerate().max_by_key(|(_, of)| key(of))?.0
            }
        };
        Some(self.all.remove(place).peer)
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.all.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    /// Forgets them.
    pub fn clear(&mut self) {
        self.all.clear();
    }
}

/// The priority of a connection between two addresses (BEP 40; libtorrent `peer_priority`): the same for both, and as
/// good as random from pair to pair.
///
/// Of addresses in different networks of 16 bits every second bit of the last two bytes counts, in different ones of
/// 24 bits of the last; of addresses in one network every bit.
pub fn canonical_priority(one: [u8; 4], other: [u8; 4]) -> u32 {
    let mask = match (one[..2] == other[..2], one[..3] == other[..3]) {
        (false, _) => [0xff, 0xff, 0x55, 0x55],
        (true, false) => [0xff, 0xff, 0xff, 0x55],
        (true, true) => [0xff; 4],
    };
    let (low, high) = if one <= other { (one, other) } else { (other, one) };
    let masked = |address: [u8; 4]| std::array::from_fn::<u8, 4, _>(|i| address[i] & mask[i]);
    crc32c([masked(low), masked(high)].as_flattened())
}

/// The cyclic redundancy check of Castagnoli's polynomial (RFC 3720, appendix B.4), bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82F6_3B78; // 0x1EDC6F41, reversed
    let step = |crc: u32| (crc >> 1) ^ (POLYNOMIAL * (crc & 1));
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4.
    #[test]
    fn the_check_is_that_of_rfc_3720() {
        assert_eq!(crc32c(&[0; 32]).to_be_bytes(), [0x8a, 0x91, 0x36, 0xaa]);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    /// The examples of BEP 40.
    #[test]
    fn the_priorities_of_bep_40() {
        let (one, far, near) = ([123, 213, 32, 10], [98, 76, 54, 32], [123, 213, 32, 234]);
        assert_eq!(canonical_priority(one, far), 0xec2d_7224);
        assert_eq!(canonical_priority(far, one), 0xec2d_7224);
        assert_eq!(canonical_priority(one, near), 0x9956_8189);
    }

    #[test]
    fn bits_that_a_neighbouring_network_could_choose_do_not_count() {
        let to = |last: [u8; 2]| canonical_priority([10, 0, 0, 1], [10, 1, last[0], last[1]]);
        assert_eq!(to([0b0101, 1]), to([0b1111, 3]));
        let within = |last| canonical_priority([10, 0, 0, 1], [10, 0, 1, last]);
        assert_eq!(within(1), within(3));
        let beside = |last| canonical_priority([10, 0, 0, 1], [10, 0, 0, last]);
        assert_ne!(beside(5), beside(7));
    }

    fn taken(order: CandidateOrder, named: &[(u32, Sources)], max: u32) -> Vec<u32> {
        let mut candidates = Candidates::new(PeerId(0), order);
        for (peer, sources) in named {
            candidates.add(PeerId(*peer), *sources, max);
        }
        std::iter::from_fn(|| candidates.pop()).map(|peer| peer.0).collect()
    }

    #[test]
    fn the_tracker_counts_for_more_than_neighbours_and_then_the_priority() {
        let tracker = Sources { tracker: true, exchange: false };
        let exchange = Sources { tracker: false, exchange: true };
        let named = [(1, exchange), (2, tracker), (3, tracker), (4, exchange), (2, exchange)];
        assert_eq!(taken(CandidateOrder::LastNamed, &named, 9), [4, 3, 2, 1]);
        assert_eq!(taken(CandidateOrder::LastNamed, &named, 2), [2, 1]);
        let priority = |peer| canonical_priority(PeerId(0).address(), PeerId(peer).address());
        let (first, second) = if priority(1) > priority(4) { (1, 4) } else { (4, 1) };
        assert_eq!(taken(CandidateOrder::Canonical, &named, 9), [2, 3, first, second]);
        let all: Vec<_> = (1..200).map(|peer| (peer, tracker)).collect();
        let taken = taken(CandidateOrder::Canonical, &all, 300);
        assert!(taken.is_sorted_by_key(|peer| std::cmp::Reverse(priority(*peer))));
        assert_ne!(taken, (1..200).collect::<Vec<_>>());
    }
}
