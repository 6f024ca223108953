//! Requests for blocks as libtorrent makes them (`request_a_block`,
//! `peer_connection::send_block_requests_impl`): it picks as many as the queue lacks, perhaps whole
//! pieces, reserves them, and requests them as the queue has room.

use super::connection::{Conn, Conns};
use super::web_seeds::WebSeeds;
use super::{Peer, scratch};
use crate::block_map::Block;
use crate::picker::Preference;
use crate::pipeline;
use crate::profile::RequestPipeline;
use crate::{ConnId, Message};
use flashcrowd_base::{Span, Time};

/// Bytes of contiguous pieces that are requested as a whole, at most.
const MAX_CONTIGUOUS: u64 = 8 << 20;
/// A neighbour that had nothing to request is looked at again this long after its last request, with the tick
/// of the next second (`peer_connection::second_tick`).
const RETRY: Span = Span::from_secs(5);

/// The rates and limits of a neighbour at an instant.
struct Pace {
    /// How many requests it gets.
    size: u32,
    /// How many blocks it is asked for in a row at least, 0: any number.
    contiguous: u32,
    /// It does not send: common pieces first, so that the slow ones share them.
    snubbed: bool,
}

impl Peer {
    fn pace(&mut self, now: Time, id: ConnId) -> Option<Pace> {
        let second = self.second(now);
        let profile = self.profile.clone();
        let torrent = self.block_map.torrent();
        let (piece_bytes, blocks) = (u64::from(torrent.piece_bytes(0)), torrent.blocks(0));
        let c = self.conns.get_mut(id)?;
        let silent =
            c.last_block().is_some_and(|at| now.since(at) > profile.requests.snub_after_ns);
        let snubbed = silent && !c.active().is_empty();
        let snubbed = snubbed || c.extras.as_ref().is_some_and(|extras| extras.snubbed);
        let snubbed = snubbed && profile.requests.snubbing;
        let unchoked = !c.choking_us;
        let extras = c.extras.as_mut()?;
        extras.roll(second, unchoked);
        extras.slow_start_over |= snubbed;
        let rate = extras.statistics.down.rate();
        let size = match profile.requests.backlog {
            RequestPipeline::SlowStart { queue_time_ns, min, max, .. } => {
                if extras.slow_start_over {
                    let bytes = queue_time_ns.seconds() * f64::from(rate);
                    extras.queue_size = (bytes / f64::from(profile.requests.block_bytes)) as u32;
                }
                extras.queue_size = extras.queue_size.min(max).max(min);
                if snubbed { 1 } else { extras.queue_size }
            }
            _ => {
                let rate = c.down_meter.rate(now, &profile.meter);
                let slow_start = c.slow_start(&profile.requests);
                let pace = pipeline::Pace { rate, snubbed, slow_start };
                pipeline::depth(&profile.requests, pace).refill
            }
        };
        let ended = c.extras.as_ref().is_some_and(|extras| extras.end_game);
        let window = profile.picker.whole_pieces_ns.seconds() * f64::from(rate);
        let pieces = (window as u64).min(MAX_CONTIGUOUS) / piece_bytes.max(1);
        // No more than the pieces of 8 MiB.
        let contiguous = (pieces as u32).saturating_mul(blocks);
        Some(Pace { size: if ended { 1 } else { size }, contiguous, snubbed })
    }
    /// Requests more from a neighbour, if it has something to request.
    pub(super) fn request_a_block(&mut self, now: Time, id: ConnId) {
        let Some(pace) = self.pace(now, id) else { return };
        let rules = &self.profile.requests;
        let (stamped, strict, end_game) = (rules.stamped, rules.strict_end_game, rules.end_game);
        let Some(c) = self.conns.get(id).filter(|c| c.is_open()) else { return };
        let Some(extras) = &c.extras else { return };
        let masked = c.choking_us;
        if masked && extras.allowed.is_empty() {
            return;
        }
        let outstanding = c.active().len() + extras.reserved.len();
        let mut lacking = i64::from(pace.size) - outstanding as i64;
        if lacking > 0 && c.requestable_pieces > 0 {
            lacking = self.pick_blocks(id, &pace, lacking);
        }
        let Some(c) = self.conns.get_mut(id) else { return };
        let idle = c.active().is_empty();
        let Some(extras) = &mut c.extras else { return };
        let idle = idle && extras.reserved.is_empty();
        if lacking <= 0 {
            extras.end_game &= outstanding as i64 >= i64::from(pace.size);
        } else if !masked && strict {
            extras.end_game = true;
        }
        if lacking > 0 && idle && !masked && end_game && strict {
            self.request_busy_block(id);
        }
        self.send_requests(id, pace.size.max(1), stamped);
        self.await_retry(now, id);
        if end_game && !strict && self.endgame.is_none() && self.block_map.all_requested() {
            self.begin_endgame(now);
        }
    }
    /// Whether there are too many begun pieces, so that they come first
    /// (`piece_picker::pick_pieces`).
    pub(super) fn has_too_many_partials(&self) -> bool {
        let rules = &self.profile.picker;
        let begun = self.picker.begun_pieces().filter(|piece| self.block_map.has_free(*piece));
        let partials = begun.count() as u64;
        let neighbours = self.open + self.open_web_seeds();
        let max = rules.partials_per_neighbour * f64::from(neighbours);
        let blocks = u64::from(self.block_map.torrent().blocks(0));
        rules.partials_per_neighbour > 0.0
            && (partials as f64 > libm::floor(max) || partials * blocks > MAX_PARTIAL_BLOCKS)
    }
    /// Speaks for blocks; how many are lacking still.
    fn pick_blocks(&mut self, id: ConnId, pace: &Pace, mut lacking: i64) -> i64 {
        let too_many = self.has_too_many_partials();
        let mut contiguous = if too_many { 0 } else { pace.contiguous };
        let of_seed = self.conns.get(id).is_some_and(|c| c.have.is_full());
        while lacking > 0
            && let Some(c) = self.conns.get(id)
        {
            let block_map = &self.block_map;
            // A block that was requested from it and given up is not requested from it again.
            let given_up = c.extras.as_ref().map_or(&[][..], |extras| &extras.given_up);
            let free = |piece: u32| block_map.has_free_beside(piece, given_up);
            let want = |piece: u32| c.have.has(piece) && free(piece) && c.may_request(piece);
            let look = Preference {
                finish: too_many,
                whole: contiguous > 0,
                common_first: pace.snubbed,
                of_seed,
            };
            let asked = |piece| block_map.asked(piece);
            // Another peer owes a block of it, and there are not as many in a row as are wanted
            // (`piece_picker::add_blocks_downloading`).
            let (conns, web_seeds) = (&self.conns, self.web_seeds.as_deref());
            let others = |piece| {
                !self.profile.picker.exclusive_pieces
                    || block_map.longest_free_run(piece) < contiguous
                        && is_at_another(conns, web_seeds, id, piece)
            };
            let piece = self
                .suggested(c, look, want, others)
                .or_else(|| self.picker.pick(look, &mut self.stream, want, asked, others));
            let Some(piece) = piece else { break };
            let begun = self.picker.is_begun(piece);
            let exclusive = self.profile.picker.exclusive_pieces;
            if exclusive && self.picker.leaves(look, piece, others) {
                contiguous = 0; // For want of better ones: as many of its blocks as are lacking.
            }
            let run = if self.profile.picker.adjacent_pieces && contiguous > 0 && !begun {
                let max = contiguous.div_ceil(self.block_map.torrent().blocks(0));
                self.picker.run_around(piece, max, want)
            } else {
                piece..piece + 1
            };
            for piece in run {
                self.picker.requested(piece, of_seed);
                let Some(extras) = self.conns.get_mut(id).and_then(|c| c.extras.as_mut()) else {
                    break;
                };
                while (lacking > 0 || contiguous > 0)
                    && let Some(block) = self.block_map.take_beside(piece, &extras.given_up)
                {
                    extras.reserved.push_back(block);
                    lacking -= 1;
                    contiguous = contiguous.saturating_sub(1);
                }
                self.exhausted(piece);
            }
        }
        lacking
    }
    /// Requests a block that another peer owes from a neighbour with no other block to offer, once every
    /// missing piece has been begun.
    fn request_busy_block(&mut self, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if !self.block_map.all_begun() {
            return;
        }
        let mut busy = scratch::BLOCKS.take();
        busy.clear();
        busy.extend(
            self.block_map
                .under_way()
                .filter(|block| c.have.has(block.piece) && !self.block_map.has_free(block.piece)),
        );
        // One of the pieces, and then one of its blocks (`piece_picker::pick_pieces`).
        let mut pieces: Vec<&[Block]> = busy.chunk_by(|a, b| a.piece == b.piece).collect();
        if !pieces.is_empty() {
            let piece = pieces.swap_remove(self.stream.below(pieces.len()));
            let block = piece[self.stream.below(piece.len())];
            if let Some(extras) = &mut c.extras {
                extras.reserved.push_back(block);
            }
            if !self.doubles.contains(&block) {
                self.doubles.push(block);
            }
        }
        scratch::BLOCKS.set(busy);
    }
    /// Asks for blocks that are spoken for, as many as fit the queue.
    fn send_requests(&mut self, id: ConnId, size: u32, stamped: bool) {
        let behind = self.profile.control_behind_piece;
        let now = self.now;
        let Some(c) = self.conns.get_mut(id) else { return };
        while (c.active().len() as u64) < u64::from(size) {
            let reserved = c.extras.as_mut().and_then(|extras| extras.reserved.pop_front());
            let Some(block) = reserved else { return };
            if self.block_map.has_block(block) {
                continue;
            }
            let first = c.active().is_empty();
            if let Some(extras) = &mut c.extras {
                extras.asked_at = Some(now);
                if first {
                    extras.owes_since = now;
                }
            }
            let work = c.work(&self.profile);
            work.active.push(block);
            let unchoke = work.unchokes_received;
            let (begin, length) = self.block_map.range(block);
            let request = super::download::request(stamped, block.piece, begin, length, unchoke);
            if c.set_interested(now, true, &mut self.wants) {
                c.send(id, Message::Interested, behind, &mut self.actions);
            }
            c.send(id, request, behind, &mut self.actions);
        }
    }
    /// A neighbour that owes blocks may have been silent for too long, by what its last ones took or by a fixed time
    /// (`peer_connection::second_tick`).
    pub(super) fn time_out_request(&mut self, now: Time, id: ConnId) {
        let rules = &self.profile.requests;
        let Some(c) = self.conns.get(id).filter(|c| !c.active().is_empty()) else { return };
        let Some(extras) = &c.extras else { return };
        let owed = now.since(extras.owes_since);
        let late = |max| owed > extras.request_time.timeout(max);
        let late = rules.request_timeout_ns.is_some_and(late);
        let heard = c.last_block().max(extras.asked_at);
        let silent = |timeout| heard.is_some_and(|at| now.since(at) > timeout);
        let silent = rules.block_timeout_ns.is_some_and(silent);
        for _ in 0..u32::from(late) + u32::from(silent) {
            self.snub(now, id);
        }
    }
    /// One request at a time from now on. What is spoken for is free again, and so is the last block that is owed
    /// if it is what its piece lacks; it is taken if it comes nevertheless (`peer_connection::snub_peer`).
    fn snub(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        let Some(extras) = &mut c.extras else { return };
        extras.snubbed = true;
        extras.slow_start_over = true;
        let mut free: Vec<Block> = extras.reserved.drain(..).collect();
        let active = c.work.as_ref().map_or(&[][..], |work| &work.active);
        let last = active.iter().rfind(|block| !extras.given_up.contains(block));
        if let Some(&last) = last.filter(|block| !self.block_map.has_free(block.piece)) {
            extras.given_up.push(last);
            free.push(last);
        }
        self.release_requests(now, &free);
    }
    /// A neighbour without requests is looked at again.
    fn await_retry(&mut self, now: Time, id: ConnId) {
        let unused = self.conns.get(id).filter(|c| is_unused(c));
        let Some(extras) = unused.and_then(|c| c.extras.as_ref()) else { return };
        let due = extras.asked_at.map_or(now, |at| (at + RETRY).max(now));
        let tick = self.started + Span::from_secs(self.second(due) + 1);
        if tick < self.retry_at {
            self.retry_at = tick;
            self.set_slow_timer();
        }
    }
    /// Blocks are free again. Perhaps only neighbours without requests have them, as all their blocks
    /// were requested from others.
    pub(super) fn await_any_retry(&mut self, now: Time) {
        for number in 0..self.conns.end() {
            self.await_retry(now, ConnId(number));
        }
    }
    /// Looks again at neighbours that had nothing to request.
    pub(super) fn retry_requests(&mut self, now: Time) {
        for number in 0..self.conns.end() {
            let id = ConnId(number);
            let unused = self.conns.get_mut(id).filter(|c| is_unused(c));
            let Some(extras) = unused.and_then(|c| c.extras.as_mut()) else { continue };
            if extras.asked_at.is_none_or(|at| now.since(at) >= RETRY) {
                extras.asked_at = Some(now);
                self.request_more(now, id, None);
            } else {
                self.await_retry(now, id);
            }
        }
    }
    /// A block is here: who else was asked for it need not send it (`torrent::cancel_block`).
    pub(super) fn cancel_double(&mut self, id: ConnId, block: Block) {
        let Some(place) = self.doubles.iter().position(|other| *other == block) else { return };
        self.doubles.swap_remove(place);
        if !self.profile.requests.cancel_doubles {
            return;
        }
        let (begin, length) = self.block_map.range(block);
        for number in 0..self.conns.end() {
            let other = ConnId(number);
            let Some(c) = self.conns.get_mut(other).filter(|_| other != id) else { continue };
            if let Some(extras) = &mut c.extras {
                extras.reserved.retain(|reserved| *reserved != block);
            }
            let Some(work) = &mut c.work else { continue };
            if let Some(place) = work.active.iter().position(|active| *active == block) {
                work.active.remove(place);
                self.send(other, Message::Cancel { piece: block.piece, begin, length });
                self.await_retry(self.now, other);
            }
        }
    }
    /// Whether another peer owes a block that is given up here.
    pub(super) fn is_owed(&self, block: Block) -> bool {
        let owes = |c: &Conn| owed(c).any(|other| *other == block);
        let brings = || self.web_seeds.iter().flat_map(|all| all.asked()).any(|b| b == block);
        self.doubles.contains(&block) && (self.conns.iter().any(|(_, c)| owes(c)) || brings())
    }
}

/// Whether another peer than `id` owes a block of a piece, or has one reserved.
fn is_at_another(conns: &Conns, web_seeds: Option<&WebSeeds>, id: ConnId, piece: u32) -> bool {
    let mut others = conns.iter().filter(|(other, _)| *other != id);
    others.any(|(_, c)| owed(c).any(|block| block.piece == piece))
        || web_seeds.is_some_and(|all| all.asked().any(|block| block.piece == piece))
}

/// The blocks that a neighbour owes or will be asked for, but for those that are given up.
fn owed(c: &Conn) -> impl Iterator<Item = &Block> {
    let extras = c.extras.as_ref();
    let given_up = extras.map_or(&[][..], |it| &it.given_up);
    let active = c.active().iter().filter(move |block| !given_up.contains(block));
    active.chain(extras.into_iter().flat_map(|it| &it.reserved))
}

/// Something could be requested from it now, and nothing is.
fn is_unused(c: &Conn) -> bool {
    c.extras.is_some() && c.interested && !c.choking_us && c.active().is_empty()
}

/// More blocks of begun pieces than this are too many, whatever the number of neighbours
/// (`piece_picker::pick_pieces`: 32 MiB).
const MAX_PARTIAL_BLOCKS: u64 = 2048;
