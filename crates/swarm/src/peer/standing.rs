//! The reasons for which a peer waits, which explain the time of a download.

use super::Peer;
use super::connection::Conn;
use flashcrowd_base::Time;

/// The state of a peer at an instant: see [`Peer::standing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How it gets on with its download.
    pub download: Download,
    /// Whether a block was requested from us that is not handed to a transport to the last byte.
    pub has_blocks: bool,
    /// Whether blocks wait for nothing but its upload limit.
    pub limited: bool,
}

/// How a peer gets on with its download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Download {
    /// It has no neighbour.
    Alone,
    /// It is interested in none of its neighbours: what they have it has or has asked for.
    Uninterested,
    /// It is interested in some, and all of them choke it: it waits for a slot.
    Choked,
    /// One of those that it is interested in does not choke it, or a web seed owes it blocks.
    Unchoked,
    /// It has everything.
    Complete,
}

/// Connections by what this peer wants of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    /// In which it is interested, and those of them that do not choke it.
    interested: u32,
    unchoked: u32,
    /// That have a block to send.
    asked: u32,
}

impl Wants {
    pub(super) fn interests(&self) -> (u32, u32) {
        (self.interested, self.unchoked)
    }
}

impl Conn {
    /// Shows interest or loses it; whether that is a change.
    pub(super) fn set_interested(
        &mut self,
        now: Time,
        interested: bool,
        wants: &mut Wants,
    ) -> bool {
        if self.interested == interested {
            return false;
        }
        if let Some(extras) = self.extras_mut() {
            extras.indifferent_since = now;
        }
        self.leave(wants);
        self.interested = interested;
        self.join(wants);
        true
    }
    /// Whether that the other end chokes us, or does not, is news.
    pub(super) fn is_choking_us_anew(&self, choking: bool) -> bool {
        self.extras().is_some() && self.choking_us != choking
    }
    /// The other end chokes us, or does not; whether that is a change.
    pub(super) fn set_choking_us(&mut self, choking: bool, wants: &mut Wants) -> bool {
        if self.choking_us == choking {
            return false;
        }
        self.leave(wants);
        self.choking_us = choking;
        self.join(wants);
        true
    }
    fn join(&self, wants: &mut Wants) {
        wants.interested += u32::from(self.interested);
        wants.unchoked += u32::from(self.interested && !self.choking_us);
    }
    fn leave(&self, wants: &mut Wants) {
        wants.interested -= u32::from(self.interested);
        wants.unchoked -= u32::from(self.interested && !self.choking_us);
    }
    /// Something was requested from us, sent or cancelled.
    pub(super) fn count_asked(&mut self, wants: &mut Wants) {
        let asked = self.has_block();
        if asked != self.counted_asked {
            self.counted_asked = asked;
            wants.asked = if asked { wants.asked + 1 } else { wants.asked - 1 };
        }
    }
    /// The connection is gone.
    pub(super) fn uncount(&self, wants: &mut Wants) {
        self.leave(wants);
        wants.asked -= u32::from(self.counted_asked);
    }
}

#[cfg(test)]
impl Wants {
    /// Counted from the connections themselves.
    pub(super) fn of<'a>(conns: impl Iterator<Item = &'a Conn>) -> Wants {
        let mut wants = Wants::default();
        for c in conns {
            c.join(&mut wants);
            wants.asked += u32::from(c.has_block());
        }
        wants
    }
}

impl Peer {
    /// Its state. Cheap: it may be asked after every call.
    pub fn standing(&self) -> Standing {
        let download = if self.is_complete() {
            Download::Complete
        } else if self.wants.unchoked > 0 || self.awaits_web_seed() {
            Download::Unchoked
        } else if self.wants.interested > 0 {
            Download::Choked
        } else if self.open > 0 {
            Download::Uninterested
        } else {
            Download::Alone
        };
        let waits = self.bandwidth.as_ref().is_some_and(|bandwidth| bandwidth.waiting() > 0);
        let limited = (waits && self.wants.asked > 0) || self.limiter.wake() != Time::NEVER;
        Standing { download, has_blocks: self.wants.asked > 0, limited }
    }
}
