//! Fetching from web seeds (BEP 19): content servers with the file, which answer requests for ranges of it.
//!
//! A web seed is asked for stretches of whole pieces, which are requested from no other peer meanwhile; its answers
//! come one behind the other over one connection. What it owes it brings, or the connection fails: a range cannot be
//! cancelled, so what came from elsewhere meanwhile comes twice. The rules are those of
//! [`WebSeedRules`](crate::profile::WebSeedRules).

use super::Peer;
use super::send_buffer::headers;
use crate::bandwidth::PeerClass;
use crate::block_map::Block;
use crate::meter::Meter;
use crate::pipeline::{RequestSlowStart, stream_depth};
use crate::profile::WebSeedOrder;
use crate::{Action, ConnId, Profile};
use flashcrowd_base::{Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// The bytes of one web seed for one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FromWebSeed {
    /// Connections that stood.
    pub connections: u32,
    /// Those that it was left by for its silence, that failed, and attempts that did.
    pub failures: u32,
    /// Ranges that it was asked for.
    pub requests: u32,
    /// Bytes of whole blocks that it brought.
    pub bytes: u64,
    /// Those of them that were here already.
    pub wasted_bytes: u64,
}

/// The web seeds of a peer's swarm.
#[derive(Debug)]
pub(super) struct WebSeeds {
    all: Vec<WebSeed>,
    /// When they are looked at next.
    pub(super) look_at: Time,
    /// Nothing will be requested from them any more.
    over: bool,
}

#[derive(Debug)]
struct WebSeed {
    stage: Stage,
    /// Its requests, in the order in which it brings them, and how much of the first block is here.
    asked: VecDeque<Block>,
    received: u32,
    /// When it sent something last, or was asked for something while it owed nothing.
    heard: Time,
    /// The piece behind the last one that it was asked for.
    next: Option<u32>,
    meter: Meter,
    slow_start: RequestSlowStart,
    brought: FromWebSeed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is connected to from this instant on.
    Closed { until: Time },
    /// The connection is being set up since this instant.
    Opening { since: Time },
    /// It may be asked.
    Open,
}

/// One that was connected and is lost is tried again after this: libtorrent looks at its web seeds once a second
/// (`torrent::second_tick`, `maybe_connect_web_seeds`).
const RECONNECT: Span = Span::from_secs(1);
/// A web seed that had nothing to request is looked at again after this time
/// (`peer_connection::second_tick`).
const LOOK: Span = Span::from_secs(5);
/// The number of no connection.
const NO_CONNECTION: ConnId = ConnId(u32::MAX);

impl WebSeeds {
    pub(super) fn new(count: u32, profile: &Profile) -> Option<Box<WebSeeds>> {
        if count == 0 || profile.web_seeds.connections == 0 {
            return None;
        }
        let one = |_| WebSeed {
            stage: Stage::Closed { until: Time::START },
            asked: VecDeque::new(),
            received: 0,
            heard: Time::START,
            next: None,
            meter: Meter::new(Time::START, &profile.meter),
            slow_start: RequestSlowStart::new(Time::START),
            brought: FromWebSeed::default(),
        };
        let all = (0..count).map(one).collect();
        Some(Box::new(WebSeeds { all, look_at: Time::NEVER, over: false }))
    }
    /// The blocks that they owe.
    pub(super) fn asked(&self) -> impl Iterator<Item = Block> + '_ {
        self.all.iter().flat_map(|seed| seed.asked.iter().copied())
    }
}

impl Peer {
    /// The bytes of a web seed; none if the peer never fetches from it.
    pub fn from_web_seed(&self, seed: u32) -> Option<FromWebSeed> {
        Some(self.web_seeds.as_ref()?.all.get(seed as usize)?.brought)
    }
    /// A connection to a web seed stands, as [`Action::JoinWebSeed`] asked.
    pub fn on_web_seed_connected(&mut self, now: Time, seed: u32) {
        self.now = now;
        let meter = Meter::new(now, &self.profile.meter);
        let Some(one) = self.web_seed(seed) else { return };
        if !matches!(one.stage, Stage::Opening { .. }) {
            return;
        }
        one.stage = Stage::Open;
        (one.heard, one.meter, one.slow_start) = (now, meter, RequestSlowStart::new(now));
        one.brought.connections += 1;
        self.leave_gaps();
        self.ask_web_seed(now, seed);
        self.plan_look(now);
    }
    /// A web seed closed its connection, or it failed, or could not be set up.
    pub fn on_web_seed_closed(&mut self, now: Time, seed: u32) {
        self.now = now;
        self.lose_web_seed(now, seed);
        self.plan_look(now);
    }
    /// `bytes` bytes more of what a web seed was asked for have come.
    pub fn on_web_seed_bytes(&mut self, now: Time, seed: u32, mut bytes: u64) {
        self.now = now;
        let second = self.second(now);
        if let Some(bandwidth) = &mut self.bandwidth {
            let read = u32::try_from(bytes).unwrap_or(u32::MAX);
            let headers = headers(read, self.profile.limiter.quota.header_bytes);
            bandwidth.charge(second, PeerClass::Tcp, headers);
            self.count_transfer(second, (0, read), headers);
        }
        let rules = self.profile.meter.clone();
        while let Some(one) = self.web_seeds.as_mut().and_then(|all| all.all.get_mut(seed as usize))
            && let Some(block) = one.asked.front().copied()
            && bytes > 0
        {
            let (_, length) = self.block_map.range(block);
            let come = bytes.min(u64::from(length - one.received));
            bytes -= come;
            one.received += come as u32;
            one.heard = now;
            if one.received < length {
                break;
            }
            one.received = 0;
            one.asked.pop_front();
            one.meter.update(now, length, &rules);
            one.slow_start.block(now, length);
            self.bytes_down += u64::from(length);
            let lacked = self.block_came(now, NO_CONNECTION, block);
            let wasted = if lacked { 0 } else { u64::from(length) };
            self.bytes_wasted += wasted;
            if let Some(one) = self.web_seed(seed) {
                one.brought.bytes += u64::from(length);
                one.brought.wasted_bytes += wasted;
            }
        }
        self.ask_web_seed(now, seed);
        if self.web_seed(seed).is_some_and(|one| one.asked.is_empty()) {
            self.plan_look(now);
        }
    }

    /// Whether a web seed owes something.
    pub(super) fn awaits_web_seed(&self) -> bool {
        self.web_seeds.as_ref().is_some_and(|all| all.asked().next().is_some())
    }
    /// The file is here, or the peer goes.
    pub(super) fn leave_web_seeds(&mut self) {
        let Some(web_seeds) = &mut self.web_seeds else { return };
        for (seed, one) in (0..).zip(&mut web_seeds.all) {
            one.asked.clear();
            if !matches!(one.stage, Stage::Closed { .. }) {
                one.stage = Stage::Closed { until: Time::NEVER };
                self.actions.push_back(Action::LeaveWebSeed { seed });
            }
        }
        (web_seeds.over, web_seeds.look_at) = (true, Time::NEVER);
    }
    /// Connects to those whose time has come, leaves those that are silent and asks those that are idle.
    pub(super) fn look_at_web_seeds(&mut self, now: Time) {
        let rules = self.profile.web_seeds.clone();
        let Some(web_seeds) = self.web_seeds.as_ref().filter(|all| !all.over) else { return };
        // Those that wait to be tried again take no place, and to one of them a further connection may stand
        // when its turn has come (`torrent::maybe_connect_web_seeds`).
        let mut places = rules.connections;
        for seed in 0..web_seeds.all.len() as u32 {
            let Some(one) = self.web_seed(seed) else { return };
            match one.stage {
                Stage::Closed { until } if until > now || places == 0 => continue,
                Stage::Closed { .. } => {
                    one.stage = Stage::Opening { since: now };
                    self.actions.push_back(Action::JoinWebSeed { seed });
                }
                Stage::Opening { since } if now.since(since) < rules.timeout_ns => {}
                Stage::Open if one.asked.is_empty() => self.ask_web_seed(now, seed),
                Stage::Open if now.since(one.heard) < rules.timeout_ns => {}
                Stage::Opening { .. } | Stage::Open => {
                    self.actions.push_back(Action::LeaveWebSeed { seed });
                    self.lose_web_seed(now, seed);
                }
            }
            places = places.saturating_sub(1);
        }
        self.plan_look(now);
    }

    fn web_seed(&mut self, seed: u32) -> Option<&mut WebSeed> {
        self.web_seeds.as_mut()?.all.get_mut(seed as usize)
    }
    /// Sets when web seeds are looked at next.
    fn plan_look(&mut self, now: Time) {
        let timeout = self.profile.web_seeds.timeout_ns;
        let Some(web_seeds) = self.web_seeds.as_mut().filter(|all| !all.over) else { return };
        let next = |one: &WebSeed| match one.stage {
            Stage::Closed { until } => until.max(now + LOOK.min(RECONNECT)),
            Stage::Opening { since } => since + timeout,
            Stage::Open if one.asked.is_empty() => now + LOOK,
            Stage::Open => one.heard + timeout,
        };
        web_seeds.look_at = web_seeds.all.iter().map(next).min().unwrap_or(Time::NEVER);
        self.set_slow_timer();
    }
    /// A connection to a web seed is no more: others may be asked for what it owes.
    fn lose_web_seed(&mut self, now: Time, seed: u32) {
        let retry = self.profile.web_seeds.retry_ns;
        let Some(one) = self.web_seed(seed) else { return };
        let wait = match one.stage {
            Stage::Closed { .. } => return,
            Stage::Opening { .. } => retry,
            Stage::Open => RECONNECT,
        };
        one.stage = Stage::Closed { until: now + wait };
        one.brought.failures += 1;
        one.received = 0;
        let asked = Vec::from(std::mem::take(&mut one.asked));
        self.leave_gaps();
        self.release_requests(now, &asked);
    }
    /// Peers leave gaps to the web seeds that are connected, if they are to.
    fn leave_gaps(&mut self) {
        let leaves = self.profile.web_seeds.leave_gaps;
        let Some(web_seeds) = self.web_seeds.as_ref().filter(|_| leaves) else { return };
        let some = web_seeds.all.iter().any(|one| one.stage == Stage::Open);
        self.picker.leave_gaps(some.then_some(self.open));
    }

    /// Asks a web seed for more while less is under way than it brings in the time of the queue.
    fn ask_web_seed(&mut self, now: Time, seed: u32) {
        self.leave_gaps();
        let profile = self.profile.clone();
        loop {
            let Some(one) = self.web_seed(seed).filter(|one| one.stage == Stage::Open) else {
                return;
            };
            let rate = one.meter.rate(now, &profile.meter);
            let depth = stream_depth(&profile.requests, rate, one.slow_start);
            let owed = one.asked.len() as u64;
            if owed >= u64::from(depth) {
                return;
            }
            let lacking = (u64::from(depth) - owed) as usize;
            let mut blocks = self.take_for_web_seed(seed, lacking);
            if blocks.is_empty() && owed == 0 {
                blocks = self.forsaken_blocks();
            }
            if blocks.is_empty() && owed == 0 {
                blocks.extend(self.busy_block());
            }
            if blocks.is_empty() {
                return;
            }
            self.ask_for_blocks(now, seed, &blocks);
            let requests = &profile.requests;
            let everybody = requests.end_game && !requests.strict_end_game;
            if everybody && self.endgame.is_none() && self.block_map.all_requested() {
                self.begin_endgame(now);
            }
        }
    }
    /// Adjacent blocks are requested together.
    fn ask_for_blocks(&mut self, now: Time, seed: u32, blocks: &[Block]) {
        let torrent = self.block_map.torrent();
        let piece_bytes = u64::from(torrent.piece_bytes(0));
        let mut ranges: Vec<(u64, u32)> = Vec::new();
        for block in blocks {
            let (begin, length) = self.block_map.range(*block);
            let begin = u64::from(block.piece) * piece_bytes + u64::from(begin);
            match ranges.last_mut() {
                Some((first, bytes)) if *first + u64::from(*bytes) == begin => *bytes += length,
                _ => ranges.push((begin, length)),
            }
        }
        let Some(one) = self.web_seed(seed) else { return };
        if one.asked.is_empty() {
            one.heard = now;
        }
        one.asked.extend(blocks);
        one.brought.requests += ranges.len() as u32;
        let asks = ranges.iter().map(|(begin, length)| Action::AskWebSeed {
            seed,
            begin: *begin,
            length: *length,
        });
        asks.for_each(|ask| self.actions.push_back(ask));
    }
    /// The blocks of the next stretch of pieces, which are taken: `lacking` are asked for, whole stretches come together.
    fn take_for_web_seed(&mut self, seed: u32, lacking: usize) -> Vec<Block> {
        let Some((run, max)) = self.run_for_web_seed(seed, lacking) else { return Vec::new() };
        if let Some(one) = self.web_seed(seed) {
            one.next = Some(run.end);
        }
        let mut blocks = Vec::new();
        for piece in run {
            self.picker.requested(piece, true);
            while blocks.len() < max
                && let Some(block) = self.block_map.take(piece)
            {
                blocks.push(block);
            }
            if !self.block_map.has_free(piece) {
                for (_, c) in self.conns.iter_mut() {
                    c.requestable_pieces -= u32::from(c.have.has(piece));
                }
            }
        }
        if self.endgame.is_none() {
            self.lose_interest_in_idle();
        }
        blocks
    }
    /// Which pieces a web seed is asked for next, and how many blocks of them at most (`piece_picker::pick_pieces`).
    fn run_for_web_seed(&mut self, seed: u32, lacking: usize) -> Option<(Range<u32>, usize)> {
        let rules = self.profile.web_seeds.clone();
        let piece_bytes = self.block_map.torrent().piece_bytes(0);
        let max = rules.request_bytes.div_ceil(piece_bytes).max(1);
        if rules.order == WebSeedOrder::Gaps {
            let last = self.web_seed(seed)?.next;
            let want = |piece: u32| self.block_map.has_free(piece);
            if let Some(gap) = self.picker.gap(last, max, &mut self.stream, want) {
                return Some((gap, usize::MAX));
            }
        }
        let (block_map, picker) = (&self.block_map, &self.picker);
        let want = |piece: u32| block_map.has_free(piece);
        let rank = |piece: &u32| picker.rank(*piece);
        let begun = || picker.begun_pieces().filter(|piece| want(*piece));
        // Of a begun piece that no other peer is at, all that is left; of another only what lacks
        // (`add_blocks_downloading`, `exclusive_active`).
        let idle = || begun().filter(|piece| !self.is_at(seed, *piece));
        let whole = |piece: u32| (piece..piece + 1, usize::MAX);
        let part = |piece: u32| (piece..piece + 1, lacking);
        let shared = || begun().min_by_key(rank).map(part);
        if rules.order == WebSeedOrder::Gaps || self.has_too_many_partials() {
            return shared();
        }
        if picker.finishes_first() && begun().next().is_some() {
            return idle().min().map(whole).or_else(|| begun().min().map(part));
        }
        let fresh = picker.fresh(want);
        let wins = |idle: &u32| match fresh {
            Some(fresh) => picker.wins(*idle, fresh),
            None => self.profile.picker.begun_wins_ties,
        };
        let idle = idle().min_by_key(rank).filter(wins);
        let run = |piece| (picker.run_around(piece, max, want), usize::MAX);
        idle.map(whole).or_else(|| fresh.map(run)).or_else(shared)
    }
    /// Whether another source than this web seed owes a block of a piece, or has one reserved.
    fn is_at(&self, seed: u32, piece: u32) -> bool {
        let of_piece = |block: &Block| block.piece == piece;
        let by_peer = self.conns.iter().any(|(_, c)| {
            let reserved = c.extras.iter().flat_map(|it| &it.reserved);
            c.active().iter().chain(reserved).any(of_piece)
        });
        let others = |all: &WebSeeds| {
            let mut others = (0..).zip(&all.all).filter(|(number, _)| *number != seed);
            others.any(|(_, other)| other.asked.iter().any(of_piece))
        };
        by_peer || self.web_seeds.as_ref().is_some_and(|all| others(all))
    }
    /// How many web seeds may be asked: they are neighbours, too (`torrent::num_peers`).
    pub(super) fn open_web_seeds(&self) -> u32 {
        let open = |all: &WebSeeds| all.all.iter().filter(|it| it.stage == Stage::Open).count();
        self.web_seeds.as_ref().map_or(0, |all| open(all) as u32)
    }
    /// Blocks that the end game lacks and no peer owes any more, since the connection of their peer is lost: as many as
    /// one request is for.
    fn forsaken_blocks(&self) -> Vec<Block> {
        let (Some(missing), Some(web_seeds)) = (&self.endgame, &self.web_seeds) else {
            return Vec::new();
        };
        let torrent = self.block_map.torrent();
        let request_bytes = self.profile.web_seeds.request_bytes.max(torrent.piece_bytes(0));
        let owed = |block: &Block| {
            let by_peer = self.conns.iter().any(|(_, c)| c.active().contains(block));
            by_peer || web_seeds.asked().any(|other| other == *block)
        };
        let mut blocks: Vec<Block> = missing.iter().copied().filter(|it| !owed(it)).collect();
        blocks.sort_by_key(|block| (block.piece, block.index));
        blocks.dedup();
        blocks.truncate((request_bytes / torrent.block_bytes()) as usize);
        blocks
    }
    /// A block that others owe, once every missing piece has been begun (libtorrent, `request_a_block`).
    fn busy_block(&mut self) -> Option<Block> {
        if !self.profile.requests.end_game || !self.block_map.all_begun() {
            return None;
        }
        let busy: Vec<Block> = self.block_map.under_way().collect();
        if busy.is_empty() {
            return None;
        }
        let block = busy[self.stream.below(busy.len())];
        if !self.doubles.contains(&block) {
            self.doubles.push(block);
        }
        Some(block)
    }
}
