//! The uploading half: requests, turns, chokes.

use super::connection::{Conn, TOGETHER};
use super::send_buffer::BlockRequest;
use super::{Peer, scratch};
use crate::choker::{self, Candidate, Decision, mainline_leech, mainline_seed, modern, ns2, slots};
use crate::profile::{FirstRound, FreeSlot, HandOver, LeechChoker, SeedChoker};
use crate::{Action, ConnId, Message, UnchokeEnd, UploadLimit};
use flashcrowd_base::Time;

/// The rule by which uploads are given out now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    MainlineLeech,
    MainlineSeed,
    Modern,
    Ns2,
}

impl Peer {
    pub(super) fn on_request(
        &mut self,
        now: Time,
        id: ConnId,
        wanted: BlockRequest,
        stamp: Option<u32>,
    ) {
        let BlockRequest { piece, begin, length } = wanted;
        let good = length <= self.profile.requests.max_block_bytes
            && self.block_map.torrent().contains(piece, begin, length)
            && self.block_map.have().has(piece);
        let Some(c) = self.conns.get(id) else { return };
        let fast = c.is_fast();
        if fast {
            // A peer that requests is interested, with or without an INTERESTED.
            self.on_interested(now, id);
            if !self.judge_request(now, id, wanted, good) {
                return;
            }
        }
        let rules = &self.profile.requests;
        let Some(c) = self.conns.get_mut(id) else { return };
        let max = u64::from(rules.max_queue.max(1));
        if !fast && (!good || !c.interested_in_us || c.queued() as u64 >= max) {
            self.close(now, id);
            return;
        }
        if c.choke_sent && !fast {
            return;
        }
        let work = c.work(&self.profile);
        if stamp.is_none_or(|stamp| !rules.stamped || stamp == work.unchokes_sent) {
            work.queue.push_back(wanted);
            c.note_idle(now);
            c.count_asked(&mut self.wants);
            self.resume_upload(now, id);
        }
    }
    /// Lets a connection that has a block to send, and can, wait for its turn.
    pub(super) fn resume_upload(&mut self, now: Time, id: ConnId) {
        if self.bandwidth.is_some() {
            return self.actions.cork(id);
        }
        let ready =
            |c: &Conn| c.is_open() && !c.in_round_robin && c.takes_blocks() && c.has_block();
        if self.conns.get(id).is_some_and(ready) {
            self.queue_for_grant(now, id);
        }
    }
    pub(super) fn queue_for_grant(&mut self, now: Time, id: ConnId) {
        if let Some(c) = self.conns.get_mut(id) {
            c.in_round_robin = true;
            if self.limiter.queue(now, id) {
                self.write_granted(now);
            }
        }
    }
    /// Lets connections write until the limit says stop.
    pub(super) fn write_granted(&mut self, now: Time) {
        let quantum = self.limiter.quantum();
        let one_ahead = self.profile.limiter.hand_over != HandOver::Room;
        while let Some(id) = self.limiter.grant() {
            let Some(c) = self.conns.get_mut(id) else { continue };
            let written = c.write_quantum(now, id, quantum, &self.profile.meter, &mut self.actions);
            c.awaiting_transport |= one_ahead && written.block.is_some();
            c.in_round_robin = written.bytes > 0 && c.takes_blocks();
            self.limiter.wrote(id, written.bytes, c.in_round_robin);
            if let Some((piece, length)) = written.block {
                self.count_block(now, id, length);
                self.block_was_read(piece);
            }
            if written.choke_changed {
                self.on_choke_sent(now, id);
            }
            if let (Some((piece, length)), true) = (written.block, self.super_seed.is_some()) {
                self.gave(now, id, piece, length);
            }
        }
        self.limiter.arm(now);
    }
    fn count_block(&mut self, now: Time, id: ConnId, length: u32) {
        let Some(c) = self.conns.get_mut(id) else { return };
        c.note_idle(now);
        c.count_asked(&mut self.wants);
        let work = c.work(&self.profile);
        self.bytes_up += u64::from(length);
        if let Some(history) = &mut work.history {
            history.up_since_round += u64::from(length);
            history.up_since_unchoke += u64::from(length);
        }
        work.record.bytes += u64::from(length);
        work.record.blocks += 1;
    }
    /// A block has been written to its last byte.
    pub(super) fn sent_block(&mut self, now: Time, id: ConnId, piece: u32, length: u32) {
        self.count_block(now, id, length);
        if !self.reads_disk {
            self.block_was_read(piece);
        }
        if self.super_seed.is_some() {
            self.gave(now, id, piece, length);
        }
    }

    pub(super) fn on_interested(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if std::mem::replace(&mut c.interested_in_us, true) {
            return;
        }
        self.grant_fast_set(id);
        let Some(c) = self.conns.get(id) else { return };
        if self.profile.choker.first_round == FirstRound::FirstInterest
            && self.round_at == Time::NEVER
        {
            self.round_at = now + self.profile.choker.round_ns.max(super::MIN_PERIOD);
            self.set_slow_timer();
            self.choke_round(now);
        } else if self.super_seed.is_some() {
            self.serve_hidden(now);
        } else if !c.choked {
            if self.profile.choker.free_slot == FreeSlot::Rechoke {
                self.rechoke(now, false);
            }
            if self.profile.choker.unchoke_on_handshake {
                self.send(id, Message::Unchoke);
            }
        } else if self.profile.choker.preemptive_unchoke
            && self.rule() == Rule::Modern
            && self.has_free_slot()
        {
            self.unchoke(now, id, true);
        }
    }
    /// Whether fewer are unchoked than may be. A peer that was unchoked with the handshake counts
    /// though it may want nothing.
    fn has_free_slot(&self) -> bool {
        let early = self.profile.choker.unchoke_on_handshake;
        let unchoked =
            self.conns.iter().filter(|(_, c)| !c.choked && (early || c.interested_in_us)).count();
        (unchoked as u64) < u64::from(self.slots())
    }
    /// Both handshakes of a connection are there.
    pub(super) fn unchoke_newcomer(&mut self, now: Time, id: ConnId) {
        let gives = !self.block_map.have().is_empty() && self.super_seed.is_none();
        if self.profile.choker.unchoke_on_handshake
            && gives
            && self.rule() == Rule::Modern
            && self.has_free_slot()
        {
            // libtorrent counts as suggested what it does not say in a handshake (`send_suggest`).
            self.unchoke(now, id, false);
        }
    }
    pub(super) fn on_not_interested(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if !std::mem::replace(&mut c.interested_in_us, false) {
            return;
        }
        if let Some(extras) = c.extras_mut() {
            extras.indifferent_since = now;
        }
        // libtorrent goes on with what was requested from it until it chokes.
        if !c.is_fast() {
            c.clear_queue();
            c.count_asked(&mut self.wants);
        }
        if c.choked {
            return;
        }
        if self.profile.choker.choke_uninterested {
            self.choke(now, id, UnchokeEnd::NotInterested);
        }
        self.slot_freed(now, true);
    }
    /// An unchoked neighbour is gone, or wants nothing any more; `counted` if it held a slot by the
    /// rule of mainline, for which an uninterested one holds none.
    pub(super) fn slot_freed(&mut self, now: Time, counted: bool) {
        match self.profile.choker.free_slot {
            FreeSlot::Round => {}
            FreeSlot::Rechoke if counted => self.rechoke(now, false),
            FreeSlot::Rechoke => {}
            FreeSlot::Tick => self.bring_round_forward(now),
        }
    }
    /// The next round is due at the client's next tick.
    fn bring_round_forward(&mut self, now: Time) {
        let tick = self.profile.choker.tick_ns.max(super::MIN_PERIOD);
        let ticks = now.since(self.started).nanos() / tick.nanos() + 1;
        self.round_at = self.round_at.min(self.started + tick * ticks);
        self.set_slow_timer();
    }
    pub(super) fn slots(&self) -> u32 {
        slots(self.profile.choker.slots, self.limit.rate())
    }
    fn rule(&self) -> Rule {
        let choker = &self.profile.choker;
        if self.is_complete() {
            match choker.seed {
                SeedChoker::Mainline => Rule::MainlineSeed,
                SeedChoker::Ns2 => Rule::Ns2,
                SeedChoker::RoundRobin | SeedChoker::FastestUpload | SeedChoker::AntiLeech => {
                    Rule::Modern
                }
            }
        } else {
            match choker.leech {
                LeechChoker::Mainline => Rule::MainlineLeech,
                LeechChoker::Modern => Rule::Modern,
                LeechChoker::Ns2 => Rule::Ns2,
            }
        }
    }

    /// The choke timer.
    pub(super) fn choke_round(&mut self, now: Time) {
        self.choker.round += 1;
        self.rechoke(now, true);
        if !choker::looks_back(&self.profile.choker) {
            return;
        }
        for (_, c) in self.conns.iter_mut() {
            // Without work nothing came in or went out.
            let Some(history) = c.work.as_mut().and_then(|work| work.history.as_mut()) else {
                continue;
            };
            history.down_round_before = std::mem::take(&mut c.down_since_round);
            history.up_round_before = std::mem::take(&mut history.up_since_round);
        }
    }
    /// Decides about all neighbours: in a `round`, or because something changed between rounds.
    pub(super) fn rechoke(&mut self, now: Time, round: bool) {
        if self.super_seed.is_some() {
            return self.serve_hidden(now);
        }
        let profile = self.profile.clone();
        let rules = &profile.choker;
        let slots = self.slots();
        let number = self.choker.round;
        let every = rules.optimistic_rounds.max(1);
        let turn = round
            && match rules.free_slot {
                // Rounds are not evenly spaced: libtorrent has a timer of its own for this.
                FreeSlot::Tick => {
                    now.since(self.choker.optimistic_since) >= rules.round_ns * u64::from(every)
                }
                FreeSlot::Round | FreeSlot::Rechoke => number.is_multiple_of(every),
            };
        let rule = self.rule();
        let mut candidates = scratch::CANDIDATES.take();
        let mut decisions = scratch::DECISIONS.take();
        match rule {
            Rule::MainlineLeech => self.collect_givers(now, &mut candidates),
            Rule::MainlineSeed => self.collect(now, true, &mut candidates),
            Rule::Modern | Rule::Ns2 => self.collect(now, false, &mut candidates),
        }
        let mut next = 0;
        match rule {
            Rule::Modern => {
                let torrent = self.block_map.torrent();
                let (piece_bytes, pieces) = (torrent.piece_bytes(0), torrent.pieces());
                let round = modern::Round { now, slots, rotate: turn, piece_bytes, pieces };
                modern::decide(&candidates, rules, round, &mut decisions);
                let filled = |(c, decision): (&Candidate, &Decision)| {
                    *decision == Decision::Optimistic && !c.optimistic
                };
                if turn || candidates.iter().zip(&decisions).any(filled) {
                    self.choker.optimistic_since = now;
                }
            }
            Rule::MainlineSeed => {
                let made = self.choker.unchokes_since_round;
                let forced = if round { mainline_seed::forced(slots, number, made) } else { 0 };
                let walk = mainline_seed::decide(
                    &candidates,
                    rules,
                    slots,
                    number,
                    forced,
                    &mut decisions,
                );
                self.choker.unchokes_since_round = if round { 0 } else { made + walk.open };
                next = walk.next;
            }
            Rule::MainlineLeech => {
                if turn {
                    let first = mainline_leech::rotation(&candidates);
                    candidates.rotate_left(first);
                    self.choker.rotate_to(first);
                }
                let (min, snubbing) = (rules.min_uploads, profile.requests.snubbing);
                mainline_leech::decide(&candidates, slots, min, snubbing, &mut decisions);
            }
            Rule::Ns2 => {
                let turn = self.choker.rounds_in_place + 1 >= rules.optimistic_rounds;
                let round = ns2::Round { slots, seed: self.is_complete(), rotate: turn };
                match ns2::decide(&candidates, rules, round, &mut self.stream, &mut decisions) {
                    ns2::OptimisticSlot::Few => {}
                    ns2::OptimisticSlot::Kept => self.choker.rounds_in_place += 1,
                    ns2::OptimisticSlot::Drawn => {
                        self.choker.rounds_in_place = 0;
                        self.conns.iter_mut().for_each(|(_, c)| c.newcomer = false);
                    }
                }
            }
        }
        for (position, decision) in decisions.iter().enumerate() {
            let Some(&id) = self.choker.order().get(position) else { break };
            self.apply(now, id, *decision);
        }
        self.choker.rotate_to(next);
        scratch::CANDIDATES.set(candidates);
        scratch::DECISIONS.set(decisions);
    }
    /// The same as [`collect`](Peer::collect) for [`mainline_leech`], which is asked whenever
    /// interest changes and looks at little: each neighbour's line of the cache counts.
    fn collect_givers(&mut self, now: Time, candidates: &mut Vec<Candidate>) {
        let profile = &*self.profile;
        candidates.clear();
        let order = self.choker.order();
        for (place, &id) in order.iter().enumerate() {
            if let Some(later) = order.get(place + TOGETHER) {
                self.conns.prefetch_standing(*later);
            }
            let Some(c) = self.conns.get_mut(id) else { continue };
            let snubbed = c.has_snubbed(now, &profile.requests);
            let ranked = c.interested_in_us && !(snubbed && profile.requests.snubbing);
            candidates.push(Candidate {
                interested: c.interested_in_us,
                choked: c.choked,
                preferred: c.preferred,
                snubbed,
                download_rate: if ranked { c.down_meter.rate(now, &profile.meter) } else { 0.0 },
                ..Candidate::STRANGER
            });
        }
    }
    /// The facts about all neighbours, in walking order. Reading a meter moves it, so only those
    /// are read that the mainline rules look at.
    fn collect(&mut self, now: Time, seeds: bool, candidates: &mut Vec<Candidate>) {
        let profile = &*self.profile;
        candidates.clear();
        for &id in self.choker.order() {
            let Some(c) = self.conns.get_mut(id) else { continue };
            let mut candidate = Candidate {
                interested: c.interested_in_us,
                choked: c.choked,
                preferred: c.preferred,
                optimistic: c.optimistic,
                newcomer: c.newcomer,
                queued: c.queued() > 0,
                flushed: c.is_flushed(),
                down_since_round: c.down_since_round,
                pieces: c.have.count(),
                ..Candidate::STRANGER
            };
            if let Some(work) = &mut c.work {
                if seeds && c.interested_in_us && !c.choked {
                    candidate.upload_rate = work.up_meter.rate(now, &profile.meter);
                }
                candidate.unchoked_round = work.unchoked_round;
                if let Some(history) = &work.history {
                    candidate.unchoked_at = history.unchoked_at;
                    candidate.optimistic_at = history.optimistic_at;
                    candidate.up_since_round = history.up_since_round;
                    candidate.down_round_before = history.down_round_before;
                    candidate.up_round_before = history.up_round_before;
                    candidate.up_since_unchoke = history.up_since_unchoke;
                }
            }
            candidates.push(candidate);
        }
    }
    pub(super) fn apply(&mut self, now: Time, id: ConnId, decision: Decision) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if decision != Decision::Leave {
            c.preferred = decision == Decision::Prefer;
            let optimistic = decision == Decision::Optimistic;
            if optimistic
                && !c.optimistic
                && let Some(history) = &mut c.work(&self.profile).history
            {
                history.optimistic_at = Some(now);
            }
            c.optimistic = optimistic;
        }
        match decision {
            Decision::Prefer | Decision::Optimistic => self.unchoke(now, id, true),
            Decision::Choke(cause) => self.choke(now, id, cause),
            Decision::Leave => {}
        }
    }
    fn unchoke(&mut self, now: Time, id: ConnId, says_suggestions: bool) {
        if self.limit == UploadLimit::Nothing {
            return;
        }
        let round = self.choker.round;
        let behind = self.profile.control_behind_piece;
        let Some(c) = self.conns.get_mut(id) else { return };
        if !std::mem::replace(&mut c.choked, false) {
            return;
        }
        let work = c.work(&self.profile);
        work.unchoked_round = round;
        if let Some(history) = &mut work.history {
            (history.unchoked_at, history.up_since_unchoke) = (Some(now), 0);
        }
        let waits = c.is_behind(behind);
        self.suggest(id, says_suggestions);
        if let Some(c) = self.conns.get_mut(id).filter(|_| !waits) {
            c.choke_sent = false;
            c.send(id, Message::Unchoke, behind, &mut self.actions);
            self.on_choke_sent(now, id);
        }
    }
    pub(super) fn choke(&mut self, now: Time, id: ConnId, cause: UnchokeEnd) {
        let behind = self.profile.control_behind_piece;
        let Some(c) = self.conns.get_mut(id) else { return };
        if std::mem::replace(&mut c.choked, true) {
            return;
        }
        c.work(&self.profile).end = cause;
        if let Some(extras) = c.extras_mut() {
            extras.suggestions.forget();
        }
        if !c.is_behind(behind) {
            c.choke_sent = true;
            c.send(id, Message::Choke, behind, &mut self.actions);
            self.on_choke_sent(now, id);
        }
    }
    /// CHOKE or UNCHOKE has just been sent.
    fn on_choke_sent(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.choke_sent {
            if c.is_fast() {
                self.reject_queue(now, id);
            } else {
                c.clear_queue();
                c.count_asked(&mut self.wants);
            }
            let Some(c) = self.conns.get_mut(id) else { return };
            let cause = c.work(&self.profile).end;
            self.actions.extend(ended(now, id, c, cause));
        } else {
            let work = c.work(&self.profile);
            work.unchokes_sent = work.unchokes_sent.wrapping_add(1);
            work.record = super::connection::Record::new(now);
            c.note_idle(now);
            if self.separate_data && !c.has_data_connection() {
                c.open_data();
                self.actions.push_back(Action::OpenData { conn: id });
            }
        }
    }
    pub(super) fn record_end(&mut self, now: Time, id: ConnId, c: &Conn, cause: UnchokeEnd) {
        self.actions.extend(ended(now, id, c, cause));
    }
}

fn ended(now: Time, conn: ConnId, c: &Conn, cause: UnchokeEnd) -> Option<Action> {
    let record = &c.work.as_ref()?.record;
    let super::connection::Record { started, bytes, blocks, .. } = *record;
    let (remote, idle) = (c.remote, record.idle(now));
    Some(Action::UnchokeEnded { conn, remote, started, idle, bytes, blocks, cause })
}
