//! The downloading half: what others have, which blocks to request from which of them, and whether
//! we are interested.
//!
//! A peer is interesting while it has a piece with a block that has not been asked for
//! (`requestable_pieces` counts those pieces), while something is under way from it, or while it has a
//! block that the end game still wants; or, by [`Interest::MissingPieces`], while it has a piece that is not here
//! (`missing_pieces` counts those).

use super::connection::Conn;
use super::{Peer, scratch};
use crate::block_map::{Arrival, Block};
use crate::meter::Meter;
use crate::pipeline::{Pace, PipelineDepth, depth};
use crate::profile::{Interest, MeterStart};
use crate::{Action, Bitfield, ConnId, Message};
use flashcrowd_base::Time;

impl Peer {
    pub(super) fn on_have(&mut self, now: Time, id: ConnId, piece: u32) {
        let drops_seeds = self.drops_seeds();
        let drops_new_seeds = self.profile.connections.drop_new_seeds;
        let Some(c) = self.conns.get_mut(id) else { return };
        if !c.have.set(piece) {
            if piece >= self.block_map.torrent().pieces() {
                self.close(now, id);
            }
            return;
        }
        self.picker.gained(piece, &mut self.stream);
        if self.super_seed.is_some() {
            self.seen(id, piece);
        }
        self.suggestion_taken(id, piece);
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.have.is_full() && (drops_seeds || drops_new_seeds && !c.interested) {
            self.close(now, id);
        } else if self.profile.requests.interest == Interest::MissingPieces {
            c.requestable_pieces += u32::from(self.block_map.has_free(piece));
            if !self.block_map.have().has(piece) {
                c.missing_pieces += 1;
                let anew = self.profile.requests.ask_on_have || !c.interested;
                let asks = anew && c.may_request(piece);
                self.show_interest(id, true);
                if asks {
                    self.request_more(now, id, None);
                }
            }
        } else if self.endgame.is_some() {
            self.fix_endgame(now, id);
        } else if self.block_map.has_free(piece) {
            c.requestable_pieces += 1;
            if !c.choking_us {
                self.request_more(now, id, Some(&[piece]));
            } else {
                self.show_interest(id, true);
            }
        }
    }
    pub(super) fn on_bitfield(&mut self, now: Time, id: ConnId, pieces: &Bitfield) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if pieces.len() != self.block_map.torrent().pieces() {
            return self.close(now, id);
        }
        c.have = pieces.clone();
        for piece in pieces.iter() {
            self.picker.gained(piece, &mut self.stream);
            c.requestable_pieces += u32::from(self.block_map.has_free(piece));
            c.missing_pieces += u32::from(!self.block_map.have().has(piece));
        }
        let wanted = match (&self.endgame, self.profile.requests.interest) {
            (_, Interest::MissingPieces) => c.missing_pieces > 0,
            (Some(blocks), _) => blocks.iter().any(|block| pieces.has(block.piece)),
            (None, _) => c.requestable_pieces > 0,
        };
        if pieces.is_full() && self.drops_seeds() {
            self.close(now, id);
        } else if wanted {
            self.show_interest(id, true);
        }
    }
    fn drops_seeds(&self) -> bool {
        self.is_complete() && self.profile.connections.drop_seed_to_seed
    }
    pub(super) fn on_choke(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.is_choking_us_anew(true) {
            self.roll(now, id);
        }
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.set_choking_us(true, &mut self.wants) {
            let fast = c.is_fast();
            let mut asked = scratch::RELEASED.take();
            if let (Some(work), false) = (&mut c.work, fast) {
                asked.append(&mut work.active);
            }
            if let Some(extras) = c.extras_mut() {
                extras.end_game = false;
                if !fast {
                    let given_up = std::mem::take(&mut extras.given_up);
                    asked.retain(|block| !given_up.contains(block));
                }
                // Requests that went out are answered or rejected one by one (BEP 6).
                asked.extend(extras.reserved.drain(..));
            }
            self.release_requests(now, &asked);
            asked.clear();
            scratch::RELEASED.set(asked);
        }
    }
    pub(super) fn on_unchoke(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        let work = c.work(&self.profile);
        work.unchokes_received = work.unchokes_received.wrapping_add(1);
        if c.is_choking_us_anew(false) {
            self.roll(now, id);
        }
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.set_choking_us(false, &mut self.wants) {
            if self.profile.meter.start == MeterStart::Unchoke {
                c.down_meter = Meter::fresh(now);
            }
            if c.interested {
                self.request_more(now, id, None);
            }
        }
    }

    pub(super) fn on_piece(&mut self, now: Time, id: ConnId, piece: u32, begin: u32, length: u32) {
        if let Some(block) = self.take_in(now, id, piece, begin, length)
            && self.block_came(now, id, block)
        {
            self.bytes_wasted -= u64::from(length);
        }
    }
    /// Counts what a neighbour sent, as wasted; the block, if it owed that.
    pub(super) fn take_in(
        &mut self,
        now: Time,
        id: ConnId,
        piece: u32,
        begin: u32,
        length: u32,
    ) -> Option<Block> {
        self.bytes_down += u64::from(length);
        self.bytes_wasted += u64::from(length);
        let c = self.conns.get_mut(id)?;
        let block = self.block_map.block_at(piece, begin, length)?;
        // A block that is not owed is thrown away.
        let work = c.work.as_mut()?;
        let position = work.active.iter().position(|other| *other == block)?;
        work.active.remove(position);
        if let Some(history) = &mut work.history {
            history.slow_start.block(now, length);
        }
        let owes = !work.active.is_empty();
        let mut given_up = false;
        if let Some(extras) = c.extras_mut() {
            let took = now.since(extras.owes_since);
            let late = |max| took >= extras.request_time.timeout(max);
            let late = self.profile.requests.request_timeout_ns.is_some_and(late);
            extras.snubbed &= late || self.block_map.has_block(block);
            extras.request_time.add(took);
            if owes {
                extras.owes_since = now;
            }
            given_up = extras.settle(block);
            extras.downloaded += u64::from(length);
            extras.queue_size += u32::from(!extras.slow_start_over);
        }
        c.block_came(now);
        c.down_since_round += u64::from(length);
        c.down_meter.update(now, length, &self.profile.meter);
        if given_up && self.block_map.take_this(block) {
            self.exhausted(block.piece);
        }
        Some(block)
    }
    /// A block is here, of a neighbour or, with the number of no connection, of a web seed; whether it was lacking.
    pub(super) fn block_came(&mut self, now: Time, id: ConnId, block: Block) -> bool {
        let piece = block.piece;
        let arrival = self.block_map.arrived(block);
        let whole = arrival == Arrival::Whole;
        if whole {
            self.picker.complete(piece);
            self.may_suggest(piece);
            self.actions.push_back(Action::PieceCompleted { piece });
        }
        let complete = whole && self.is_complete();
        if complete {
            self.actions.push_back(Action::Completed);
            self.announcer.complete();
        }
        if let Some(blocks) = &mut self.endgame {
            blocks.retain(|other| *other != block);
            self.cancel_elsewhere(now, id, block);
        }
        self.cancel_double(id, block);
        self.request_more(now, id, None);
        if complete {
            self.leave_web_seeds();
        }
        if complete && self.profile.connections.drop_seed_to_seed {
            for number in 0..self.conns.end() {
                let id = ConnId(number);
                if self.conns.get(id).is_some_and(|c| c.is_open() && c.have.is_full()) {
                    self.close(now, id);
                }
            }
        }
        if whole {
            self.tell_everybody(&Message::Have { piece });
            if self.profile.requests.interest == Interest::MissingPieces {
                self.lose_interest(piece);
            }
            if !self.profile.requests.ask_on_have {
                self.ask_owners(now, piece);
            }
        }
        if complete {
            self.check_announce(now);
        }
        arrival != Arrival::Duplicate
    }
    /// A piece is here: neighbours that had nothing else that we lack are not interesting any more.
    fn lose_interest(&mut self, piece: u32) {
        let behind = self.profile.control_behind_piece;
        for (id, c) in self.conns.iter_mut().filter(|(_, c)| c.have.has(piece)) {
            c.missing_pieces -= 1;
            if c.missing_pieces == 0 && c.set_interested(self.now, false, &mut self.wants) {
                c.send(id, Message::NotInterested, behind, &mut self.actions);
            }
        }
    }
    /// A piece is here: its other owners that are still interesting are looked at again.
    fn ask_owners(&mut self, now: Time, piece: u32) {
        for number in 0..self.conns.end() {
            let id = ConnId(number);
            let stays = |c: &Conn| c.is_open() && c.interested && c.have.has(piece);
            if self.conns.get(id).is_some_and(|c| stays(c) && !c.choking_us) {
                self.request_more(now, id, None);
            }
        }
    }
    /// End game: a block came from `id`; the others need not send it.
    fn cancel_elsewhere(&mut self, now: Time, id: ConnId, block: Block) {
        let (begin, length) = self.block_map.range(block);
        for number in 0..self.conns.end() {
            let other = ConnId(number);
            let Some(c) = self.conns.get_mut(other) else { continue };
            if other == id || !c.interested {
                continue;
            }
            if !c.choking_us {
                let Some(work) = &mut c.work else { continue };
                let Some(position) = work.active.iter().position(|b| *b == block) else { continue };
                work.active.remove(position);
                self.send(other, Message::Cancel { piece: block.piece, begin, length });
            }
            self.fix_endgame(now, other);
        }
    }

    fn depth(&mut self, now: Time, id: ConnId) -> Option<PipelineDepth> {
        let rules = &self.profile.requests;
        let c = self.conns.get_mut(id)?;
        let silent = c.last_block().is_some_and(|last| now.since(last) > rules.snub_after_ns);
        let snubbed = silent && !c.active().is_empty();
        let rate = c.down_meter.rate(now, &self.profile.meter);
        Some(depth(rules, Pace { rate, snubbed, slow_start: c.slow_start(rules) }))
    }
    /// Asks `id`, which does not choke us, for more, if need be only for blocks of some pieces.
    pub(super) fn request_more(&mut self, now: Time, id: ConnId, only: Option<&[u32]>) {
        if self.endgame.is_none() && self.conns.get(id).is_some_and(|c| c.extras().is_some()) {
            return self.request_a_block(now, id);
        }
        let Some(depth) = self.depth(now, id) else { return };
        let behind = self.profile.control_behind_piece;
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.choking_us || c.active().len() as u64 >= u64::from(depth.refill) {
            return;
        }
        if self.endgame.is_some() {
            return self.fix_endgame(now, id);
        }
        let (of_seed, stamped) = (c.have.is_full(), self.profile.requests.stamped);
        let mut exhausted = false;
        // Borrowed again in every round: an exhausted piece concerns all neighbours.
        while let Some(c) = self.conns.get_mut(id)
            && (c.active().len() as u64) < u64::from(depth.refill)
            && c.requestable_pieces > 0
        {
            let block_map = &self.block_map;
            let want = |piece: u32| c.have.has(piece) && block_map.has_free(piece);
            let offered = only.and_then(|pieces| pieces.iter().copied().find(|p| want(*p)));
            // If nothing of the offer is for us, only an idle line takes something else.
            let piece = match (only, offered) {
                (_, Some(piece)) => Some(piece),
                (Some(_), None) if !c.active().is_empty() => None,
                _ => self.picker.next(of_seed, &mut self.stream, want, |p| block_map.asked(p)),
            };
            let Some(piece) = piece else { break };
            if c.set_interested(self.now, true, &mut self.wants) {
                c.send(id, Message::Interested, behind, &mut self.actions);
            }
            self.picker.requested(piece, of_seed);
            while (c.active().len() as u64) < u64::from(depth.fill)
                && let Some(block) = self.block_map.take(piece)
            {
                let work = c.work(&self.profile);
                work.active.push(block);
                let unchoke = work.unchokes_received;
                let (begin, length) = self.block_map.range(block);
                let request = request(stamped, piece, begin, length, unchoke);
                c.send(id, request, behind, &mut self.actions);
            }
            exhausted |= self.exhausted(piece);
        }
        if self.conns.get(id).is_some_and(|c| self.wants_nothing_of(c)) {
            self.show_interest(id, false);
        }
        if exhausted {
            self.lose_interest_in_idle();
            if self.profile.requests.end_game && self.block_map.all_requested() {
                self.begin_endgame(now);
            }
        }
    }
    /// Blocks of a piece have been requested. If they were the last free ones, the piece no longer counts for
    /// any neighbour. Whether they were.
    pub(super) fn exhausted(&mut self, piece: u32) -> bool {
        let exhausted = !self.block_map.has_free(piece);
        if exhausted {
            for (_, c) in self.conns.iter_mut() {
                c.requestable_pieces -= u32::from(c.have.has(piece));
            }
        }
        exhausted
    }
    /// It owes nothing and has nothing that could be asked for, where interest follows that.
    fn wants_nothing_of(&self, c: &Conn) -> bool {
        let by_blocks = self.profile.requests.interest == Interest::FreeBlocks;
        by_blocks && c.interested && c.active().is_empty() && c.requestable_pieces == 0
    }
    /// Every block of some piece has been requested: neighbours with nothing else are not interesting any
    /// more.
    pub(super) fn lose_interest_in_idle(&mut self) {
        for number in 0..self.conns.end() {
            let id = ConnId(number);
            if self.conns.get(id).is_some_and(|c| self.wants_nothing_of(c)) {
                self.show_interest(id, false);
            }
        }
    }
    pub(super) fn show_interest(&mut self, id: ConnId, interested: bool) {
        let behind = self.profile.control_behind_piece;
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.set_interested(self.now, interested, &mut self.wants) {
            let message = if interested { Message::Interested } else { Message::NotInterested };
            c.send(id, message, behind, &mut self.actions);
        }
    }
    /// These requests will not be answered: if the profile says so, others take them over at once,
    /// in random order.
    pub(super) fn release_requests(&mut self, now: Time, active: &[Block]) {
        if self.endgame.is_some() || active.is_empty() {
            return;
        }
        let mut lost = scratch::LOST_PIECES.take();
        lost.clear();
        for &block in active {
            if self.is_owed(block) {
                continue;
            }
            let was_free = self.block_map.has_free(block.piece);
            if self.block_map.give_back(block) && !was_free {
                for (_, c) in self.conns.iter_mut() {
                    c.requestable_pieces += u32::from(c.have.has(block.piece));
                }
            }
            if !lost.contains(&block.piece) {
                lost.push(block.piece);
            }
        }
        if self.profile.requests.reoffer {
            let mut willing = scratch::WILLING.take();
            let unchoking = self.conns.iter().filter(|(_, c)| c.is_open() && !c.choking_us);
            willing.extend(unchoking.map(|(id, _)| id));
            self.stream.shuffle(&mut willing);
            willing.iter().for_each(|id| self.conns.prefetch_request(*id));
            for id in willing.drain(..) {
                self.request_more(now, id, Some(&lost));
            }
            scratch::WILLING.set(willing);
        } else {
            self.await_any_retry(now);
        }
        if self.profile.requests.interest == Interest::MissingPieces {
            scratch::LOST_PIECES.set(lost);
            return;
        }
        lost.retain(|piece| self.block_map.has_free(*piece));
        let behind = self.profile.control_behind_piece;
        for (id, c) in self.conns.iter_mut() {
            if c.choking_us && !c.interested && lost.iter().any(|piece| c.have.has(*piece)) {
                c.set_interested(self.now, true, &mut self.wants);
                c.send(id, Message::Interested, behind, &mut self.actions);
            }
        }
        scratch::LOST_PIECES.set(lost);
    }

    /// Every block has been requested: from now on request each from all owners.
    pub(super) fn begin_endgame(&mut self, now: Time) {
        let active = self.conns.iter().flat_map(|(_, c)| c.active().iter().copied());
        self.endgame = Some(active.collect());
        for (_, c) in self.conns.iter_mut() {
            let Some(extras) = &mut c.extras else { continue };
            self.endgame.iter_mut().for_each(|all| all.extend(extras.reserved.drain(..)));
        }
        if let (Some(all), Some(web_seeds)) = (&mut self.endgame, &self.web_seeds) {
            all.extend(web_seeds.asked());
        }
        for number in 0..self.conns.end() {
            self.fix_endgame(now, ConnId(number));
        }
    }
    /// Brings interest and requests of one connection up to what the end game wants.
    pub(super) fn fix_endgame(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get(id).filter(|c| c.is_open()) else { return };
        let mut want = scratch::BLOCKS.take();
        want.clear();
        let missing = self.endgame.iter().flatten();
        want.extend(missing.filter(|b| c.have.has(b.piece) && !c.active().contains(b)));
        if want.is_empty() {
            if c.active().is_empty() && self.profile.requests.interest == Interest::FreeBlocks {
                self.show_interest(id, false);
            }
        } else {
            self.show_interest(id, true);
            self.request_blocks(now, id, &mut want);
        }
        scratch::BLOCKS.set(want);
    }
    fn request_blocks(&mut self, now: Time, id: ConnId, want: &mut Vec<Block>) {
        if self.conns.get(id).is_none_or(|c| c.choking_us) {
            return;
        }
        let Some(depth) = self.depth(now, id) else { return };
        let behind = self.profile.control_behind_piece;
        let stamped = self.profile.requests.stamped;
        let Some(c) = self.conns.get_mut(id) else { return };
        let room = (depth.refill as usize).saturating_sub(c.active().len());
        if room > 0 {
            self.stream.shuffle(want);
            want.truncate(room);
            for block in want.iter() {
                let work = c.work(&self.profile);
                work.active.push(*block);
                let unchoke = work.unchokes_received;
                let (begin, length) = self.block_map.range(*block);
                let request = request(stamped, block.piece, begin, length, unchoke);
                c.send(id, request, behind, &mut self.actions);
            }
        }
    }
}

/// Asks for a block, with a stamp if the profile has such things.
pub(super) fn request(stamped: bool, piece: u32, begin: u32, length: u32, unchoke: u32) -> Message {
    if stamped {
        Message::StampedRequest { piece, begin, length, unchoke }
    } else {
        Message::Request { piece, begin, length }
    }
}
