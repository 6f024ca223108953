//! The blocks of the file: which are there, which are asked for, which are not.

use crate::{Bitfield, Torrent};
use std::sync::Arc;

/// One block of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its piece.
    pub piece: u32,
    /// Its number within the piece.
    pub index: u16,
}

/// The meaning of a block's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was there already.
    Duplicate,
    /// Its piece still lacks blocks.
    Part,
    /// Its piece is whole.
    Whole,
}

/// A piece on its way. Every block is free, or asked for, or here.
#[derive(Clone, Debug)]
struct Part {
    free: u16,
    missing: u16,
    /// One bit a block: first whether it is free, then, in as many words, whether it is here.
    /// Empty until the first block is asked for.
    bits: Vec<u64>,
}

/// The word in which a block has its bit, and the bit.
fn bit_of(index: u16) -> (usize, u64) {
    (usize::from(index) / 64, 1 << (index % 64))
}

/// The file as far as it is here.
#[derive(Clone, Debug)]
pub struct BlockMap {
    torrent: Arc<Torrent>,
    have: Bitfield,
    parts: Vec<Part>,
    free: u64,
}

impl BlockMap {
    /// Everything or nothing.
    pub fn new(torrent: Arc<Torrent>, full: bool) -> BlockMap {
        let pieces = torrent.pieces();
        let part = |piece| {
            // The geometry admits no more than 65535 blocks a piece.
            let blocks = if full { 0 } else { torrent.blocks(piece) as u16 };
            Part { free: blocks, missing: blocks, bits: Vec::new() }
        };
        let parts: Vec<Part> = (0..pieces).map(part).collect();
        let free = parts.iter().map(|part| u64::from(part.free)).sum();
        let have = if full { Bitfield::full(pieces) } else { Bitfield::new(pieces) };
        BlockMap { torrent, have, parts, free }
    }
    /// The pieces that are whole.
    pub fn have(&self) -> &Bitfield {
        &self.have
    }
    /// The geometry.
    pub fn torrent(&self) -> &Torrent {
        &self.torrent
    }
    /// Whether a block of `piece` has not been asked for.
    pub fn has_free(&self, piece: u32) -> bool {
        self.parts.get(piece as usize).is_some_and(|part| part.free > 0)
    }
    /// How many blocks of `piece` have been asked for or are here.
    pub fn asked(&self, piece: u32) -> u32 {
        let free = self.parts.get(piece as usize).map_or(0, |part| u32::from(part.free));
        self.torrent.blocks(piece) - free
    }
    /// Whether every block has been asked for or is here.
    pub fn all_requested(&self) -> bool {
        self.free == 0
    }
    /// Whether of every piece that is not here a block has been asked for.
    pub fn all_begun(&self) -> bool {
        let pieces = 0..self.torrent.pieces();
        let begun = |piece: u32| self.have.has(piece) || self.asked(piece) > 0;
        pieces.into_iter().all(begun)
    }
    /// Takes the first free block of `piece`.
    pub fn take(&mut self, piece: u32) -> Option<Block> {
        let part = self.parts.get_mut(piece as usize).filter(|part| part.free > 0)?;
        if part.bits.is_empty() {
            let blocks = u32::from(part.free);
            let words = blocks.div_ceil(64) as usize;
            part.bits = vec![0; 2 * words];
            for (index, word) in part.bits[..words].iter_mut().enumerate() {
                let rest = blocks - 64 * index as u32;
                *word = if rest >= 64 { u64::MAX } else { (1 << rest) - 1 };
            }
        }
        let words = part.bits.len() / 2;
        let (index, word) =
            part.bits[..words].iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        part.free -= 1;
        self.free -= 1;
        Some(Block { piece, index: (64 * index as u32 + bit) as u16 })
    }
    /// Whether a block of `piece` is free beside these.
    pub fn has_free_beside(&self, piece: u32, these: &[Block]) -> bool {
        let free = self.parts.get(piece as usize).map_or(0, |part| usize::from(part.free));
        free > these.iter().filter(|it| it.piece == piece && self.is_free(**it)).count()
    }
    /// Takes the first free block of `piece` beside these.
    pub fn take_beside(&mut self, piece: u32, these: &[Block]) -> Option<Block> {
        let mut passed = Vec::new();
        let taken = loop {
            match self.take(piece) {
                Some(block) if these.contains(&block) => passed.push(block),
                taken => break taken,
            }
        };
        for block in passed {
            self.give_back(block);
        }
        taken
    }
    /// Takes this block. False if it was not free.
    pub fn take_this(&mut self, block: Block) -> bool {
        let free = self.is_free(block);
        if free && let Some(part) = self.parts.get_mut(block.piece as usize) {
            let (word, bit) = bit_of(block.index);
            part.bits[word] &= !bit;
            part.free -= 1;
            self.free -= 1;
        }
        free
    }
    /// Whether a block of a piece that was begun is free.
    pub fn is_free(&self, block: Block) -> bool {
        let Some(part) = self.parts.get(block.piece as usize) else { return false };
        let (word, bit) = bit_of(block.index);
        word < part.bits.len() / 2 && part.bits[word] & bit != 0
    }
    /// A block that was asked for will not come: it is free again. False if it was not taken.
    pub fn give_back(&mut self, block: Block) -> bool {
        let Some(part) = self.parts.get_mut(block.piece as usize) else { return false };
        let (word, bit) = bit_of(block.index);
        let words = part.bits.len() / 2;
        if word >= words || (part.bits[word] | part.bits[words + word]) & bit != 0 {
            return false;
        }
        part.bits[word] |= bit;
        part.free += 1;
        self.free += 1;
        true
    }
    /// A block that was asked for is here.
    pub fn arrived(&mut self, block: Block) -> Arrival {
        let Some(part) = self.parts.get_mut(block.piece as usize) else {
            return Arrival::Duplicate;
        };
        let (word, bit) = bit_of(block.index);
        let words = part.bits.len() / 2;
        if word >= words || (part.bits[word] | part.bits[words + word]) & bit != 0 {
            return Arrival::Duplicate;
        }
        part.bits[words + word] |= bit;
        part.missing -= 1;
        if part.missing > 0 {
            return Arrival::Part;
        }
        part.bits = Vec::new();
        self.have.set(block.piece);
        Arrival::Whole
    }
    /// This piece is whole already.
    pub fn set_whole(&mut self, piece: u32) {
        let Some(part) = self.parts.get_mut(piece as usize) else { return };
        if self.have.set(piece) {
            self.free -= u64::from(part.free);
            *part = Part { free: 0, missing: 0, bits: Vec::new() };
        }
    }
    /// Whether all other blocks of its piece are here.
    pub fn is_last(&self, block: Block) -> bool {
        let missing = self.parts.get(block.piece as usize).map_or(0, |part| part.missing);
        missing == 1 && !self.has_block(block)
    }
    /// The blocks of `piece`, which is not whole, are worth nothing: they were requested and are not here. Returns
    /// them.
    pub fn discard(&mut self, piece: u32) -> Vec<Block> {
        let here = (0..self.torrent.blocks(piece) as u16).map(|index| Block { piece, index });
        let here: Vec<Block> = here.filter(|block| self.has_block(*block)).collect();
        let Some(part) = self.parts.get_mut(piece as usize) else { return Vec::new() };
        if self.have.has(piece) {
            return Vec::new();
        }
        let words = part.bits.len() / 2;
        part.bits[words..].fill(0);
        part.missing += here.len() as u16;
        here
    }
    /// Whether a block is here.
    pub fn has_block(&self, block: Block) -> bool {
        let Some(part) = self.parts.get(block.piece as usize) else { return false };
        let (word, bit) = bit_of(block.index);
        let here = &part.bits[part.bits.len() / 2..];
        self.have.has(block.piece) || here.get(word).is_some_and(|bits| bits & bit != 0)
    }
    /// How many blocks of `piece` in a row are free at most.
    pub fn longest_free_run(&self, piece: u32) -> u32 {
        let Some(part) = self.parts.get(piece as usize) else { return 0 };
        if part.bits.is_empty() {
            return u32::from(part.free);
        }
        let (mut run, mut longest) = (0, 0);
        for index in 0..self.torrent.blocks(piece) as u16 {
            run = if self.is_free(Block { piece, index }) { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        longest
    }
    /// The blocks that have been asked for and are not here.
    pub fn under_way(&self) -> impl Iterator<Item = Block> + '_ {
        self.parts.iter().zip(0..).flat_map(|(part, piece)| {
            let words = part.bits.len() / 2;
            let blocks = if words == 0 { 0 } else { self.torrent.blocks(piece) };
            (0..blocks as u16).filter_map(move |index| {
                let (word, bit) = bit_of(index);
                let idle = (part.bits[word] | part.bits[words + word]) & bit != 0;
                (!idle).then_some(Block { piece, index })
            })
        })
    }
    /// Where a block lies in its piece: first byte, bytes.
    pub fn range(&self, block: Block) -> (u32, u32) {
        let index = u32::from(block.index);
        (index * self.torrent.block_bytes(), self.torrent.block_len(block.piece, index))
    }
    /// The block that lies exactly there, if there is one.
    pub fn block_at(&self, piece: u32, begin: u32, length: u32) -> Option<Block> {
        if !self.torrent.contains(piece, begin, length) {
            return None;
        }
        let index = begin / self.torrent.block_bytes();
        let block = Block { piece, index: index as u16 };
        (self.range(block) == (begin, length)).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_map() -> BlockMap {
        BlockMap::new(Arc::new(Torrent::new(1000, 700, 10).unwrap()), false)
    }

    #[test]
    fn free_blocks_in_a_row_are_counted() {
        let mut map = BlockMap::new(Arc::new(Torrent::new(1000, 1000, 10).unwrap()), false);
        assert_eq!(map.longest_free_run(0), 100);
        (0..100).for_each(|_| _ = map.take(0));
        assert_eq!(map.longest_free_run(0), 0);
        for index in [3, 62, 63, 64, 65, 99] {
            map.give_back(Block { piece: 0, index });
        }
        assert_eq!(map.longest_free_run(0), 4);
    }

    #[test]
    fn blocks_are_taken_in_rising_order_and_come_back() {
        let mut a = block_map();
        let first: Vec<u16> = (0..3).map(|_| a.take(0).unwrap().index).collect();
        assert_eq!(first, [0, 1, 2]);
        assert!(a.give_back(Block { piece: 0, index: 1 }));
        assert!(!a.give_back(Block { piece: 0, index: 1 }), "it is free already");
        assert!(!a.give_back(Block { piece: 1, index: 0 }), "it was never taken");
        assert_eq!(a.take(0).unwrap().index, 1);
        assert_eq!(a.take(0).unwrap().index, 3);
    }

    #[test]
    fn a_piece_is_whole_with_its_last_block() {
        let mut a = block_map();
        let mut taken = Vec::new();
        while let Some(block) = a.take(1) {
            taken.push(block);
        }
        assert_eq!(taken.len(), 30);
        assert!(!a.has_free(1) && a.has_free(0) && !a.all_requested());
        let (last, rest) = taken.split_last().unwrap();
        assert!(rest.iter().all(|block| a.arrived(*block) == Arrival::Part));
        assert_eq!(a.arrived(rest[0]), Arrival::Duplicate);
        assert_eq!(a.arrived(*last), Arrival::Whole);
        assert_eq!(a.arrived(*last), Arrival::Duplicate);
        assert_eq!(a.have().iter().collect::<Vec<_>>(), [1]);
        assert!(!a.give_back(*last));
    }

    /// What is requested, and the part of it that is not here: blocks of both words of a piece of
    /// 70, whose states do not touch each other.
    #[test]
    fn what_is_asked_for_is_under_way_until_it_comes_or_is_given_back() {
        let mut a = block_map();
        let block = |index| Block { piece: 0, index };
        assert_eq!((a.asked(0), a.asked(1), a.under_way().count()), (0, 0, 0));
        for _ in 0..68 {
            a.take(0);
        }
        assert_eq!((a.asked(0), a.under_way().count()), (68, 68));
        assert_eq!(a.arrived(block(68)), Arrival::Duplicate, "nobody asked for it");
        assert!(!a.give_back(block(68)), "it is free");
        for index in [1, 65] {
            assert_eq!(a.arrived(block(index)), Arrival::Part);
            assert!(!a.give_back(block(index)), "it is here");
        }
        for index in [2, 66] {
            assert!(a.give_back(block(index)));
            assert_eq!(a.arrived(block(index)), Arrival::Duplicate, "it was given back");
        }
        assert_eq!(a.asked(0), 66);
        let under_way: Vec<Block> = a.under_way().collect();
        let expected = (0..68).filter(|index| ![1, 65, 2, 66].contains(index)).map(block);
        assert_eq!(under_way, expected.collect::<Vec<Block>>());
        assert_eq!([a.take(0), a.take(0), a.take(0)], [2, 66, 68].map(|n| Some(block(n))));
        a.take(1);
        assert_eq!((a.asked(0), a.asked(1), a.has_free(0)), (69, 1, true));
        a.take(0);
        assert!(!a.has_free(0) && !a.all_requested());
        while a.take(1).is_some() {}
        assert!(a.all_requested());
        assert!(a.give_back(block(69)) && !a.all_requested());
        let all = BlockMap::new(Arc::new(Torrent::new(1000, 700, 10).unwrap()), true);
        assert!(all.all_requested() && all.have().is_full() && all.under_way().next().is_none());
        assert_eq!((all.asked(0), all.asked(1)), (70, 30));
    }

    #[test]
    fn a_piece_that_is_discarded_is_asked_for_and_comes_again() {
        let mut a = block_map();
        a.set_whole(0);
        assert_eq!((a.has_free(0), a.asked(0), a.have().count()), (false, 70, 1));
        let taken: Vec<Block> = std::iter::from_fn(|| a.take(1)).collect();
        let (last, rest) = taken.split_last().unwrap();
        assert!(!a.is_last(*last));
        rest.iter().for_each(|block| _ = a.arrived(*block));
        assert!(a.is_last(*last) && !a.is_last(rest[0]));
        assert_eq!(a.discard(1), rest);
        assert!(!a.has_free(1) && !a.is_last(*last) && !a.has_block(rest[0]));
        assert!(a.give_back(rest[3]) && !a.give_back(rest[3]));
        assert_eq!(a.take(1), Some(rest[3]));
        assert!(rest.iter().all(|block| a.arrived(*block) == Arrival::Part));
        assert_eq!(
            (a.arrived(*last), a.discard(1), a.discard(0)),
            (Arrival::Whole, vec![], vec![])
        );
        assert!(a.have().is_full() && a.all_requested());
    }

    #[test]
    fn more_than_sixty_four_blocks_a_piece_are_fine() {
        let mut a = block_map();
        for index in 0..70 {
            assert_eq!(a.take(0), Some(Block { piece: 0, index }));
        }
        assert_eq!(a.take(0), None);
        assert_eq!(a.range(Block { piece: 0, index: 69 }), (690, 10));
        assert_eq!(a.block_at(0, 690, 10), Some(Block { piece: 0, index: 69 }));
        assert_eq!(a.block_at(0, 685, 10), None);
        assert_eq!(a.block_at(1, 290, 10), Some(Block { piece: 1, index: 29 }));
    }
}
