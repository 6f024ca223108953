//! Super-seeding as the BitTorrent module for ns-2 has it: a seed that hides what it has and offers
//! each neighbour one piece at a time, the next when another peer got the last from it.
//!
//! The module never chokes again once everything has been seen, for its timer has not been set
//! meanwhile; here the ordinary rounds follow.

use super::Peer;
use crate::choker::Decision;
use crate::{ConnId, Message, UnchokeEnd};
use flashcrowd_base::Time;
use std::collections::BTreeMap;

/// The knowledge of a seed that hides.
#[derive(Debug)]
pub(super) struct SuperSeed {
    /// How often each piece has been offered; nothing once a neighbour said that it has it.
    offers: Vec<Option<u32>>,
    /// How often the pieces that come next have been offered.
    min_offers: u32,
    /// Offers less pieces that were seen since.
    pending: i64,
    neighbours: BTreeMap<ConnId, Grants>,
}

/// The pieces that one neighbour was given.
#[derive(Debug, Default)]
struct Grants {
    offered: Vec<u32>,
    /// Bytes of the piece that is being handed over.
    bytes: u64,
    /// Last piece uploaded whole to this neighbour that no other neighbour has announced yet; while set,
    /// it gets no further piece.
    holds: Option<u32>,
}

impl SuperSeed {
    pub(super) fn new(pieces: u32) -> SuperSeed {
        let offers = vec![Some(0); pieces as usize];
        SuperSeed { offers, min_offers: 0, pending: 0, neighbours: BTreeMap::new() }
    }
    pub(super) fn forget(&mut self, id: ConnId) {
        self.neighbours.remove(&id);
    }
    #[cfg(test)]
    pub(super) fn pieces_offered(&self, id: ConnId) -> &[u32] {
        self.neighbours.get(&id).map_or(&[], |grants| &grants.offered)
    }
    fn holds_nothing(&self, id: ConnId) -> bool {
        self.neighbours.get(&id).is_none_or(|grants| grants.holds.is_none())
    }
}

impl Peer {
    /// Offers a neighbour the next piece, or shows all pieces to all if all have been seen.
    pub(super) fn offer(&mut self, id: ConnId) {
        let slots = i64::from(self.slots());
        let Some(hidden) = &mut self.super_seed else { return };
        loop {
            let next = hidden.offers.iter().position(|offers| *offers == Some(hidden.min_offers));
            if let Some(piece) = next {
                hidden.offers[piece] = Some(hidden.min_offers + 1);
                hidden.pending += 1;
                let piece = piece as u32;
                hidden.neighbours.entry(id).or_default().offered.push(piece);
                return self.send(id, Message::Have { piece });
            }
            if hidden.offers.iter().all(Option::is_none) {
                return self.show_everything();
            }
            if hidden.pending > slots {
                return;
            }
            hidden.min_offers += 1;
        }
    }
    fn show_everything(&mut self) {
        let Some(hidden) = self.super_seed.take() else { return };
        let behind = self.profile.control_behind_piece;
        for (id, c) in self.conns.iter_mut().filter(|(_, c)| c.is_open()) {
            let offered = hidden.neighbours.get(&id).map_or(&[][..], |grants| &grants.offered);
            for piece in self.block_map.have().iter().filter(|piece| !offered.contains(piece)) {
                c.send(id, Message::Have { piece }, behind, &mut self.actions);
            }
        }
    }
    /// A neighbour has a piece: from us, or from the peer that we gave it to.
    pub(super) fn seen(&mut self, id: ConnId, piece: u32) {
        let slots = i64::from(self.slots());
        let Some(hidden) = &mut self.super_seed else { return };
        let mut forwarder = None;
        if hidden.offers[piece as usize].take().is_some() {
            hidden.pending -= 1;
        } else {
            let others = hidden.neighbours.iter_mut().filter(|(other, _)| **other != id);
            let mut holders = others.filter(|(_, grants)| grants.holds == Some(piece));
            if let Some((other, grants)) = holders.next() {
                grants.holds = None;
                forwarder = Some(*other);
            }
        }
        if let Some(other) = forwarder {
            self.offer(other);
        }
        if self.super_seed.as_ref().is_some_and(|hidden| hidden.pending <= slots) {
            self.offer(id);
        }
    }
    /// A block was handed over: after a whole piece the next neighbour is served.
    pub(super) fn gave(&mut self, now: Time, id: ConnId, piece: u32, length: u32) {
        let whole = u64::from(self.block_map.torrent().piece_bytes(piece));
        let Some(hidden) = &mut self.super_seed else { return };
        let grants = hidden.neighbours.entry(id).or_default();
        grants.bytes += u64::from(length);
        if grants.bytes >= whole {
            grants.bytes = 0;
            grants.holds = Some(piece);
            self.choke(now, id, UnchokeEnd::Rotation);
            self.serve_hidden(now);
        }
    }
    /// Fills free places: first with those who have passed on what they got, then with any who
    /// want something.
    pub(super) fn serve_hidden(&mut self, now: Time) {
        let slots = self.slots() as usize;
        let order = self.choker.order().to_vec();
        let mut taken = self.conns.iter().filter(|(_, c)| !c.choked).count();
        for may_hold in [false, true] {
            for &id in &order {
                let Some(hidden) = &self.super_seed else { return };
                if taken >= slots {
                    return;
                }
                let free = hidden.holds_nothing(id);
                let Some(c) = self.conns.get(id) else { continue };
                if c.choked && c.interested_in_us && (free || may_hold) {
                    taken += 1;
                    self.apply(now, id, Decision::Prefer);
                } else if free && !may_hold && !c.interested_in_us {
                    self.offer(id);
                }
            }
        }
    }
}
