//! When a swarm is over, and why it can go on no longer.
//!
//! One engine may see all of a swarm, or several nodes each a part: [`Standing`]s add up, and the rules are the same.

use super::View;
use crate::is_due;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan as plan;
use serde::{Deserialize, Serialize};

/// How far a swarm is, or the part of it that one node plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Leechers, planned ones and those that followed others.
    pub leechers: u32,
    /// Those that have the file.
    pub completed: u32,
    /// Those that left without it, and were not replaced.
    pub gave_up: u32,
    /// Bytes of blocks that leechers received.
    pub bytes: u64,
    /// Leechers that came.
    pub came: u32,
    /// When the first leecher came.
    pub first_arrival: Option<Time>,
    /// When the last peer came.
    pub last_arrival: Time,
    /// Whether a peer is online that lacks something.
    pub waits: bool,
    /// Seeds that are still to come, and web seeds.
    pub sources: u32,
    /// Pieces that no peer has, where that is known.
    pub missing: Option<u32>,
    /// Whether a source may upload: a seed with an upload limit above zero, or a web seed.
    pub may_upload: bool,
    /// Whether the timeline has stopped it.
    pub stopped: bool,
}

impl Standing {
    /// How many have the file.
    pub fn words(&self) -> String {
        format!("{} of {} leechers complete", self.completed, self.leechers)
    }

    /// That the timeline stopped it before it was complete, if it did.
    pub fn stopped_early(&self) -> Option<String> {
        let early = self.stopped && self.completed < self.leechers;
        early.then(|| format!("the timeline stopped a swarm with {}", self.words()))
    }

    /// What two nodes know together. Which pieces both lack only a process knows that sees the pieces
    /// of each.
    #[must_use]
    pub fn and(self, other: Standing) -> Standing {
        Standing {
            leechers: self.leechers + other.leechers,
            completed: self.completed + other.completed,
            gave_up: self.gave_up + other.gave_up,
            bytes: self.bytes + other.bytes,
            came: self.came + other.came,
            first_arrival: [self.first_arrival, other.first_arrival].into_iter().flatten().min(),
            last_arrival: self.last_arrival.max(other.last_arrival),
            waits: self.waits || other.waits,
            sources: self.sources + other.sources,
            missing: None,
            may_upload: self.may_upload || other.may_upload,
            stopped: self.stopped || other.stopped,
        }
    }
}

/// The pieces that online peers have, as far as one process knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// All: a peer with the whole file is online.
    All,
    /// Those of a bitfield (BEP 3).
    Bits(Vec<u8>),
    /// A program has not said.
    Unknown,
}

impl Held {
    /// What two processes know together.
    #[must_use]
    pub fn and(self, other: Held) -> Held {
        match (self, other) {
            (Held::All, _) | (_, Held::All) => Held::All,
            (Held::Unknown, _) | (_, Held::Unknown) => Held::Unknown,
            (Held::Bits(mut bits), Held::Bits(more)) => {
                bits.resize(bits.len().max(more.len()), 0);
                bits.iter_mut().zip(more).for_each(|(byte, more)| *byte |= more);
                Held::Bits(bits)
            }
        }
    }

    /// The number of missing pieces, if known.
    pub fn missing(&self, pieces: u32) -> Option<u32> {
        match self {
            Held::All => Some(0),
            Held::Bits(bits) => {
                Some(pieces.saturating_sub(bits.iter().map(|byte| byte.count_ones()).sum()))
            }
            Held::Unknown => None,
        }
    }
}

/// If nothing arrived for this long, nothing is in flight any more from programs that have left.
const SETTLED: Span = Span::from_secs(3);
/// What such programs had sent has arrived after this, even while those that are left exchange pieces.
const FLIGHT: Span = Span::from_secs(30);

/// Looks at a swarm at intervals, and says when it can go on no longer.
#[derive(Clone, Debug)]
pub struct Watch {
    name: String,
    pieces: u32,
    stop_after: Option<u32>,
    /// Whether a peer that leaves is replaced: the swarm then does not end when all are complete.
    replaces: bool,
    stall: Span,
    view: View,
    bytes: u64,
    moved: Time,
    /// Pieces that no peer has, and since when it is these.
    missing: u32,
    missing_since: Time,
}

impl Watch {
    /// A watch over a swarm whose peers may wait for `stall` while no block arrives.
    pub fn of(spec: &plan::Swarm, stall: Span, view: View) -> Watch {
        Watch {
            name: spec.name.clone(),
            pieces: spec.size_bytes.div_ceil(u64::from(spec.piece_bytes)) as u32,
            stop_after: spec.stop_after_completions,
            replaces: spec.populations.iter().any(|population| population.replace),
            stall,
            view,
            bytes: 0,
            moved: Time::START,
            missing: 0,
            missing_since: Time::START,
        }
    }

    /// Whether there is nothing more to wait for.
    pub fn is_done(&self, standing: &Standing) -> bool {
        let Standing { leechers, completed, gave_up, stopped, .. } = *standing;
        stopped
            || (!self.replaces && completed + gave_up >= leechers)
            || self.stop_after.is_some_and(|limit| completed >= limit)
    }

    /// How many pieces the file has.
    pub fn pieces(&self) -> u32 {
        self.pieces
    }

    /// A line for a swarm that is not done.
    pub fn unfinished(&self, standing: &Standing) -> String {
        format!("swarm {}: {}", self.name, standing.words())
    }

    /// A line if no block reached any leecher, though a source may upload and a leecher came long
    /// enough ago.
    pub fn undelivered(&self, now: Time, standing: &Standing) -> Option<String> {
        let due = standing.first_arrival.is_some_and(|first| is_due(first, now));
        let silent = due && standing.may_upload && standing.bytes == 0;
        let (name, came) = (&self.name, standing.came);
        silent.then(|| format!("swarm {name}: no block arrived at {came} leechers"))
    }

    /// Why the swarm can never finish, if it cannot, as it stands.
    pub fn unfinishable(&self, standing: &Standing) -> Option<String> {
        let missing = self.lacks(standing);
        (missing > 0 && !self.is_done(standing)).then(|| {
            let (name, pieces, words) = (&self.name, self.pieces, standing.words());
            format!("swarm {name}: no seed left, {missing} of {pieces} pieces missing, {words}")
        })
    }

    /// Pieces that no present or future peer has.
    fn lacks(&self, standing: &Standing) -> u32 {
        if standing.sources > 0 { 0 } else { standing.missing.unwrap_or(0) }
    }

    /// Why it can go on no longer, by its state at `now`.
    pub fn look(&mut self, now: Time, standing: &Standing) -> Option<String> {
        let missing = self.lacks(standing);
        if missing != self.missing {
            (self.missing, self.missing_since) = (missing, now);
        }
        self.moved = self.moved.max(standing.last_arrival);
        if standing.bytes > self.bytes {
            (self.bytes, self.moved) = (standing.bytes, now);
        }
        let idle = now.since(self.moved);
        if self.has_settled(now, idle)
            && let Some(reason) = self.unfinishable(standing)
        {
            return Some(reason);
        }
        let stalled = idle >= self.stall && standing.waits && !self.is_done(standing);
        stalled.then(|| {
            let (name, words) = (&self.name, standing.words());
            format!("swarm {name}: no block arrived for {:.0} s, {words}", idle.seconds())
        })
    }

    /// Whether no missing piece is still under way from a peer that has left.
    fn has_settled(&self, now: Time, idle: Span) -> bool {
        let missing = now.since(self.missing_since);
        match self.view {
            View::Inside => true,
            View::Outside => missing >= FLIGHT || idle.min(missing) >= SETTLED,
        }
    }
}
