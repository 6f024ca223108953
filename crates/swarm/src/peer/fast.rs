//! The Fast extension (BEP 6): pieces that may be requested while choked, and rejects.

use super::send_buffer::BlockRequest;
use super::{Peer, scratch};
use crate::fast_set::allowed_fast_set;
use crate::{ConnId, Message, UploadLimit};
use flashcrowd_base::Time;

/// A choked peer may request each block of an allowed piece at most this often
/// (`peer_connection::incoming_request`).
const TIMES: u32 = 3;

impl Peer {
    /// A neighbour is interested for the first time: tells it which pieces it may request while it is
    /// choked, but for those that it has (`bt_peer_connection::on_interested`, `send_allowed_set`).
    pub(super) fn grant_fast_set(&mut self, id: ConnId) {
        let count = self.profile.fast.allowed_set;
        let torrent = self.block_map.torrent();
        let behind = self.profile.control_behind_piece;
        let hides = self.super_seed.is_some() || self.limit == UploadLimit::Nothing;
        let Some(c) = self.conns.get_mut(id).filter(|c| c.is_fast()) else { return };
        if hides || c.have.is_full() {
            return;
        }
        let Some(extras) = &mut c.extras else { return };
        if std::mem::replace(&mut extras.granted_sent, true) {
            return;
        }
        let set = allowed_fast_set(c.remote, torrent, count);
        let granted = set.into_iter().filter(|piece| !c.have.has(*piece));
        extras.granted.extend(granted.map(|piece| (piece, 0)));
        for place in 0..extras.granted.len() {
            let Some(extras) = &c.extras else { return };
            let (piece, _) = extras.granted[place];
            c.send(id, Message::AllowedFast { piece }, behind, &mut self.actions);
        }
    }
    /// Pieces that may be requested while this neighbour chokes us.
    pub(super) fn on_allowed_fast(&mut self, now: Time, id: ConnId, piece: u32) {
        if piece >= self.block_map.torrent().pieces() || self.block_map.have().has(piece) {
            return;
        }
        let Some(c) = self.conns.get_mut(id) else { return };
        let Some(extras) = &mut c.extras else { return };
        if !extras.allowed.contains(&piece) {
            extras.allowed.push(piece);
        }
        if c.have.has(piece) {
            self.show_interest(id, true);
            self.request_more(now, id, None);
        }
    }
    /// A request will not be answered: the block is free again for any peer
    /// (`peer_connection::incoming_reject_request`).
    pub(super) fn on_reject(&mut self, now: Time, id: ConnId, wanted: BlockRequest) {
        let BlockRequest { piece, begin, length } = wanted;
        let Some(block) = self.block_map.block_at(piece, begin, length) else { return };
        let Some(c) = self.conns.get_mut(id) else { return };
        let active = c.work.as_mut().map(|work| &mut work.active);
        let place = active.as_ref().and_then(|it| it.iter().position(|other| *other == block));
        if let (Some(active), Some(place)) = (active, place) {
            active.remove(place);
            if !c.extras.as_mut().is_some_and(|extras| extras.settle(block)) {
                self.release_requests(now, &[block]);
            }
        }
        let Some(c) = self.conns.get_mut(id) else { return };
        let few = c.active().len() < 2;
        let choking_us = c.choking_us;
        let Some(extras) = &mut c.extras else { return };
        if choking_us {
            extras.allowed.retain(|other| *other != piece);
        } else {
            extras.suggestions.rejected(piece);
        }
        if few && extras.reserved.is_empty() {
            self.request_more(now, id, None);
        }
    }
    /// A neighbour requests a block, and both ends offer the extension: whether it is to be taken. A
    /// request that is not is rejected, and a peer that asks too often is disconnected.
    pub(super) fn judge_request(
        &mut self,
        now: Time,
        id: ConnId,
        wanted: BlockRequest,
        good: bool,
    ) -> bool {
        let blocks = self.block_map.torrent().blocks(0);
        let grace = self.profile.fast.choked_request_ns;
        let max = self.profile.requests.max_queue.max(1) as usize;
        let uploads = self.limit != UploadLimit::Nothing;
        let Some(c) = self.conns.get_mut(id) else { return false };
        let (choked, full) = (c.choke_sent, c.queued() > max);
        let Some(extras) = &mut c.extras else { return false };
        let mut granted = extras.granted.iter_mut().filter(|_| uploads);
        let granted = granted.find(|(piece, _)| *piece == wanted.piece);
        match granted {
            _ if !good || full => {}
            Some((_, taken)) if choked && *taken >= TIMES * blocks => {
                self.close(now, id);
                return false;
            }
            Some((_, taken)) => {
                *taken += 1;
                return true;
            }
            None if !choked => return true,
            None => {
                let late = |grace| extras.choked_at.is_none_or(|at| now.since(at) > grace);
                let late = grace.is_some_and(late);
                self.reject(id, wanted);
                if late {
                    self.close(now, id);
                }
                return false;
            }
        }
        self.reject(id, wanted);
        false
    }
    pub(super) fn reject(&mut self, id: ConnId, wanted: BlockRequest) {
        let BlockRequest { piece, begin, length } = wanted;
        self.send(id, Message::Reject { piece, begin, length });
    }
    /// A neighbour has been choked: what it asked for is rejected, but for allowed pieces
    /// (`peer_connection::send_choke`).
    pub(super) fn reject_queue(&mut self, now: Time, id: ConnId) {
        let uploads = self.limit != UploadLimit::Nothing;
        let Some(c) = self.conns.get_mut(id) else { return };
        let (Some(extras), Some(work)) = (&mut c.extras, &mut c.work) else { return };
        extras.choked_at = Some(now);
        let mut rejected = scratch::REJECTED.take();
        for _ in 0..work.queue.len() {
            let Some(wanted) = work.queue.pop_front() else { break };
            if uploads && extras.granted.iter().any(|(piece, _)| *piece == wanted.piece) {
                work.queue.push_back(wanted);
            } else {
                rejected.push(wanted);
            }
        }
        c.count_asked(&mut self.wants);
        for wanted in rejected.drain(..) {
            self.reject(id, wanted);
        }
        scratch::REJECTED.set(rejected);
    }
}
