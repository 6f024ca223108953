//! The tracker.

use crate::profile::TrackerRules;
use crate::{Event, PeerId};
use flashcrowd_base::{Span, Stream, Time};

/// What a tracker answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long to wait before the next regular announce; the driver may ignore it: it is the
    /// rule's, and peers take it from their own profile.
    pub interval: Span,
    /// Other peers.
    pub peers: Vec<PeerId>,
}

/// Knows who is in a swarm (`clients.md` A.9).
#[derive(Clone, Debug)]
pub struct Tracker {
    rules: TrackerRules,
}

impl Tracker {
    /// A tracker that knows nobody.
    pub fn new(rules: TrackerRules) -> Tracker {
        Tracker { rules }
    }
    /// `peer` announces itself.
    pub fn announce(
        &mut self,
        _now: Time,
        _peer: PeerId,
        _event: Event,
        _numwant: Option<u16>,
        _is_seed: bool,
        _stream: &mut Stream,
    ) -> Answer {
        Answer { interval: self.rules.interval_ns, peers: Vec::new() }
    }
}
