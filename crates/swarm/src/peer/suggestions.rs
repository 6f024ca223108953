//! SUGGEST PIECE (BEP 6): a client that reads from a disk tells neighbours which pieces it has lately read, and they ask
//! for these before rarer ones, as libtorrent 2.0 does both (`aux::suggest_piece`, `peer_connection::send_piece_suggestions`
//! and `incoming_suggest`, `piece_picker::pick_pieces`).

use super::Peer;
use super::connection::Conn;
use crate::picker::Preference;
use crate::profile::SuggestMode;
use crate::{Bitfield, ConnId, Message};

/// Pieces that are suggested at a time (`send_unchoke`, `incoming_have`).
const AT_A_TIME: usize = 2;
/// Of how many samples the mean of availability is, about (`sliding_average<int, 30>`).
const SAMPLES: i64 = 30;
/// The mean is kept in 64ths.
const FINE: i64 = 64;

/// Pieces of which blocks were read lately and that few neighbours have, the latest last. That they are still in memory is
/// likely and no more: like libtorrent, a client does not look.
#[derive(Debug, Default)]
pub(super) struct RecentReads {
    pieces: Vec<u32>,
    /// Of how many per cent of the neighbours have what was read.
    mean: i64,
    samples: i64,
}

impl RecentReads {
    /// A piece that `per_cent` of the neighbours have was read; `max` pieces are kept.
    fn add(&mut self, piece: u32, per_cent: u32, max: usize) {
        let (per_cent, usual) = (i64::from(per_cent), (self.mean + FINE / 2) / FINE);
        self.samples = (self.samples + 1).min(SAMPLES);
        self.mean += (per_cent * FINE - self.mean) / self.samples;
        if per_cent > usual {
            return;
        }
        self.pieces.retain(|other| *other != piece);
        let spare = (self.pieces.len() + 1).saturating_sub(max);
        self.pieces.drain(..spare.min(self.pieces.len()));
        self.pieces.push(piece);
    }
    /// The latest that a neighbour with these pieces lacks and that were not suggested to it, the latest last.
    fn choose(&self, suggested: &[u32], have: &Bitfield) -> Vec<u32> {
        let news = |piece: &u32| !have.has(*piece) && !suggested.contains(piece);
        let latest = self.pieces.iter().rev().copied().filter(news).take(AT_A_TIME);
        let mut chosen: Vec<u32> = latest.collect();
        chosen.reverse();
        chosen
    }
}

impl Peer {
    /// Whether the client suggests anything.
    pub(super) fn suggests(&self) -> bool {
        self.profile.fast.suggest == SuggestMode::ReadCache
    }
    /// A block of this piece was read, which libtorrent counts twice (`on_disk_read_complete`).
    pub(super) fn block_was_read(&mut self, piece: u32) {
        self.may_suggest(piece);
        self.may_suggest(piece);
    }
    /// A block of this piece was read, or the piece has just come (`torrent::add_suggest_piece`).
    pub(super) fn may_suggest(&mut self, piece: u32) {
        if !self.suggests() {
            return;
        }
        let neighbours = self.open.max(1);
        let per_cent = u64::from(self.picker.owners(piece)) * 100 / u64::from(neighbours);
        let max = self.profile.fast.max_suggested as usize;
        self.recent_reads.add(piece, per_cent as u32, max);
    }
    /// Suggests what has come to the fore to a neighbour that is unchoked, or is about to be; or counts it as suggested and
    /// does not say it.
    pub(super) fn suggest(&mut self, id: ConnId, says: bool) {
        if !self.suggests() || self.super_seed.is_some() {
            return;
        }
        let behind = self.profile.control_behind_piece;
        let max = self.profile.fast.max_suggested as usize;
        let Some(c) = self.conns.get_mut(id).filter(|c| c.is_open() && c.is_fast()) else { return };
        let Some(extras) = &c.extras else { return };
        let news = self.recent_reads.choose(&extras.suggestions.sent, &c.have);
        for piece in news {
            if let Some(extras) = &mut c.extras {
                extras.suggestions.sent.push(piece);
            }
            if says {
                c.send(id, Message::Suggest { piece }, behind, &mut self.actions);
            }
        }
        if let Some(extras) = &mut c.extras {
            let sent = &mut extras.suggestions.sent;
            sent.drain(..sent.len().saturating_sub(max));
        }
    }
    /// A neighbour has this piece now: if it had been suggested, others take its place.
    pub(super) fn suggestion_taken(&mut self, id: ConnId, piece: u32) {
        let Some(c) = self.conns.get(id).filter(|c| !c.choked) else { return };
        if c.extras.as_ref().is_some_and(|extras| extras.suggestions.sent.contains(&piece)) {
            self.suggest(id, true);
        }
    }
    /// A neighbour suggests a piece. Nothing is asked for on that account before something else gives reason to.
    pub(super) fn on_suggest(&mut self, id: ConnId, piece: u32) {
        let rules = &self.profile.fast;
        let have = self.block_map.have();
        if !rules.follow_suggestions || piece >= have.len() || have.has(piece) {
            return;
        }
        let Some(extras) = self.conns.get_mut(id).and_then(|c| c.extras.as_mut()) else { return };
        let received = &mut extras.suggestions.received;
        received.retain(|other| !have.has(*other));
        // Before the new one comes: one more than that may be there.
        let max = rules.max_suggested as usize;
        if received.len() > max {
            received.truncate(max.saturating_sub(1));
        }
        received.insert(0, piece);
    }
    /// The suggested piece to ask a neighbour for, unless begun ones come first.
    pub(super) fn suggested(
        &self,
        c: &Conn,
        look: Preference,
        want: impl Fn(u32) -> bool,
        others: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let received = &c.extras.as_ref()?.suggestions.received;
        if received.is_empty() {
            return None;
        }
        let begun_first =
            look.finish || self.profile.picker.strict_priority || self.picker.finishes_first();
        if begun_first && self.picker.begun_pieces().any(&want) {
            return None;
        }
        let fits = |piece: &u32| want(*piece) && !self.picker.leaves(look, *piece, &others);
        received.iter().copied().find(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_last_and_few_have_is_chosen_the_latest_last() {
        let mut reads = RecentReads::default();
        (0..5).for_each(|piece| reads.add(piece, 0, 4));
        assert_eq!(reads.pieces, [1, 2, 3, 4], "four are kept");
        reads.add(2, 0, 4);
        assert_eq!(reads.pieces, [1, 3, 4, 2], "read again");
        let mut have = Bitfield::new(10);
        assert_eq!(reads.choose(&[], &have), [4, 2]);
        assert_eq!(reads.choose(&[4], &have), [3, 2]);
        have.set(3);
        assert_eq!(reads.choose(&[4], &have), [1, 2]);
        assert!(reads.choose(&[1, 2, 4], &have).is_empty());
    }

    #[test]
    fn what_more_have_than_usual_is_no_candidate() {
        let mut reads = RecentReads::default();
        // The first has nothing to be compared with: libtorrent's mean of no samples is 0.
        reads.add(0, 30, 16);
        assert!(reads.pieces.is_empty());
        reads.add(1, 30, 16);
        reads.add(2, 31, 16);
        assert_eq!(reads.pieces, [1]);
        (0..100).for_each(|_| reads.add(3, 10, 16));
        assert_eq!(reads.pieces, [1, 3], "what is there stays though the mean fell");
        reads.add(4, 20, 16);
        assert_eq!(reads.pieces, [1, 3]);
    }

    #[test]
    fn a_memory_for_none_keeps_the_last_one() {
        let mut reads = RecentReads::default();
        (0..3).for_each(|piece| reads.add(piece, 0, 0));
        assert_eq!(reads.pieces, [2]);
    }
}
