//! The allowed fast set: pieces that a peer may request while choked; the canonical set of BEP 6, so that all peers
//! that know an address grant it the same pieces.

use crate::{PeerId, Torrent};
use sha1_smol::Sha1;

/// This number of draws in a row that are in the set already end the search (`send_allowed_set`).
const MAX_LOOPS: u32 = 500;

/// The pieces, `count` of them or all that there are, that a peer may request while choked.
///
/// A torrent's geometry and the number of its content replace its info-hash. libtorrent hashes the whole
/// [address](PeerId::address), where BEP 6 masks it to its first 24 bits.
pub fn allowed_fast_set(peer: PeerId, torrent: &Torrent, count: u32) -> Vec<u32> {
    let mut info = Sha1::new();
    info.update(&torrent.bytes().to_be_bytes());
    info.update(&torrent.piece_bytes(0).to_be_bytes());
    info.update(&torrent.content().to_be_bytes());
    canonical_set(peer.address(), info.digest().bytes(), torrent.pieces(), count)
}

/// BEP 6: numbers from a chain of hashes of address and info-hash. `address` as it enters the hash.
pub fn canonical_set(address: [u8; 4], info_hash: [u8; 20], pieces: u32, count: u32) -> Vec<u32> {
    if count >= pieces {
        return (0..pieces).collect();
    }
    let mut set = Vec::with_capacity(count as usize);
    let mut hasher = Sha1::new();
    hasher.update(&address);
    hasher.update(&info_hash);
    let mut hash = hasher.digest().bytes();
    let mut repeated = 0;
    loop {
        for bytes in hash.chunks_exact(4) {
            if set.len() as u64 == u64::from(count) || repeated > MAX_LOOPS {
                return set;
            }
            let number = bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
            let piece = number % pieces;
            if set.contains(&piece) {
                repeated += 1;
            } else {
                set.push(piece);
            }
        }
        hash = Sha1::from(hash).digest().bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of BEP 6: 80.4.4.200, masked to 24 bits, an info-hash of 0xAA and 1313 pieces.
    #[test]
    fn the_example_of_bep_6() {
        let set = |count| canonical_set([80, 4, 4, 0], [0xAA; 20], 1313, count);
        assert_eq!(set(7), [1059, 431, 808, 1217, 287, 376, 1188]);
        assert_eq!(set(9), [1059, 431, 808, 1217, 287, 376, 1188, 353, 508]);
    }

    /// The allowed fast set that a seed of libtorrent 2.1.1 sent to 127.0.0.1 for a torrent of 40
    /// pieces: it hashes the whole address.
    #[test]
    fn the_set_that_libtorrent_grants() {
        let info_hash = [
            0x59, 0x30, 0x3b, 0xb4, 0x28, 0xa1, 0x0c, 0x50, 0x7c, 0xa8, 0xe7, 0x3e, 0x0f, 0xc9,
            0x3e, 0xbd, 0x59, 0xca, 0x86, 0x85,
        ];
        assert_eq!(canonical_set([127, 0, 0, 1], info_hash, 40, 5), [5, 12, 19, 38, 6]);
    }

    #[test]
    fn few_pieces_are_all_allowed_and_none_if_none_is_wanted() {
        assert_eq!(canonical_set([1, 2, 3, 4], [0; 20], 4, 5), [0, 1, 2, 3]);
        assert!(canonical_set([1, 2, 3, 4], [0; 20], 4, 0).is_empty());
    }

    #[test]
    fn everybody_grants_a_peer_the_same_set_and_peers_have_different_ones() {
        let torrent = Torrent::new(100 << 18, 1 << 18, 1 << 14).unwrap();
        let set = |peer| allowed_fast_set(PeerId(peer), &torrent, 5);
        assert_eq!((set(1).len(), set(1)), (5, set(1)));
        let sets: std::collections::BTreeSet<_> = (0..50).map(set).collect();
        assert_eq!(sets.len(), 50);
        let other = torrent.clone().of_content(1);
        assert_ne!(allowed_fast_set(PeerId(1), &other, 5), set(1));
    }
}
