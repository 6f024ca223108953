//! How often each piece is there in a whole swarm.

use crate::Bitfield;

/// Counts the copies of each piece among the peers that are present, so that whether a swarm can
/// finish is known at once. Exact and global, unlike the [`Picker`](crate::picker::Picker)'s count, which
/// is one peer's view of its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    copies: Vec<u32>,
    missing: u32,
}

impl Availability {
    /// Of an empty swarm with `pieces` pieces.
    pub fn new(pieces: u32) -> Availability {
        Availability { copies: vec![0; pieces as usize], missing: pieces }
    }
    /// A peer comes with these pieces.
    pub fn joined(&mut self, pieces: &Bitfield) {
        pieces.iter().for_each(|piece| self.gained(piece));
    }
    /// A peer that is present completed a piece. A number beyond the last piece changes nothing.
    pub fn gained(&mut self, piece: u32) {
        if let Some(copies) = self.copies.get_mut(piece as usize) {
            self.missing -= u32::from(*copies == 0);
            *copies += 1;
        }
    }
    /// A peer goes, with these pieces: all that were counted for it and no others.
    pub fn left(&mut self, pieces: &Bitfield) {
        for piece in pieces.iter() {
            let Some(copies) = self.copies.get_mut(piece as usize) else { continue };
            debug_assert!(*copies > 0, "a copy of piece {piece} leaves that never came");
            if *copies > 0 {
                *copies -= 1;
                self.missing += u32::from(*copies == 0);
            }
        }
    }
    /// Number of peers present that have this piece.
    pub fn copies(&self, piece: u32) -> u32 {
        self.copies.get(piece as usize).copied().unwrap_or(0)
    }
    /// Number of pieces that no present peer has. With none missing the swarm can finish, unless a
    /// peer leaves.
    pub fn missing(&self) -> u32 {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PIECES: u32 = 70;

    #[test]
    fn the_last_copy_of_a_piece_goes_with_its_owner() {
        let mut swarm = Availability::new(PIECES);
        assert_eq!(swarm.missing(), 70);
        swarm.joined(&Bitfield::full(PIECES));
        let mut leecher = Bitfield::new(PIECES);
        for piece in [0, 64] {
            leecher.set(piece);
            swarm.gained(piece);
        }
        assert_eq!((swarm.missing(), swarm.copies(64), swarm.copies(63)), (0, 2, 1));
        swarm.left(&Bitfield::full(PIECES));
        assert_eq!((swarm.missing(), swarm.copies(64), swarm.copies(63)), (68, 1, 0));
        swarm.left(&leecher);
        assert_eq!(swarm, Availability::new(PIECES));
    }

    #[test]
    fn a_piece_that_the_torrent_does_not_have_counts_for_nothing() {
        let mut swarm = Availability::new(3);
        swarm.gained(3);
        assert_eq!((swarm.missing(), swarm.copies(3)), (3, 0));
    }

    proptest! {
        #[test]
        fn counting_agrees_with_looking_at_everybody(
            steps in prop::collection::vec((0usize..6, 0u32..PIECES + 20), 0..300),
        ) {
            let mut swarm = Availability::new(PIECES);
            let mut present: Vec<Option<Bitfield>> = vec![None; 6];
            for (who, piece) in steps {
                match &mut present[who] {
                    place @ None => {
                        let pieces =
                            if piece == 0 { Bitfield::full(PIECES) } else { Bitfield::new(PIECES) };
                        swarm.joined(&pieces);
                        *place = Some(pieces);
                    }
                    Some(pieces) if piece < PIECES => {
                        if pieces.set(piece) {
                            swarm.gained(piece);
                        }
                    }
                    place => swarm.left(&place.take().expect("it is there")),
                }
                let copies = |piece| {
                    present.iter().flatten().filter(|pieces| pieces.has(piece)).count() as u32
                };
                for piece in 0..PIECES {
                    prop_assert_eq!(swarm.copies(piece), copies(piece));
                }
                let missing = (0..PIECES).filter(|piece| copies(*piece) == 0).count();
                prop_assert_eq!(swarm.missing() as usize, missing);
            }
        }
    }
}
