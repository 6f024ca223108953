//! How fast connections are opened (libtorrent: `torrent::do_connect_boost`,
//! `session_impl::try_connect_more_peers`): some at once, and then a few at each tick of the client.

use super::Peer;
use flashcrowd_base::{Span, Time};

const TICK: Span = Span::from_secs(1);

/// The connections that may be opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Openings {
    /// The number that may open without waiting for a tick (`m_connect_boost_counter`).
    at_once: u32,
    /// The number that did, which the ticks that follow make up for (`m_boost_connections`).
    ahead: u32,
    /// When more are opened.
    pub(super) tick_at: Time,
}

impl Openings {
    pub(super) fn new(at_once: u32) -> Openings {
        Openings { at_once, ahead: 0, tick_at: Time::NEVER }
    }
}

impl Peer {
    /// Whether a connection may be opened now. If not, its turn comes at a tick.
    pub(super) fn opens_now(&mut self) -> bool {
        let Openings { at_once, ahead, .. } = &mut self.openings;
        if self.profile.connections.opened_per_second.is_none() {
            return true;
        }
        let boosted = *at_once > 0;
        if boosted {
            *at_once -= 1;
            *ahead = ahead.saturating_add(1);
        }
        boosted
    }
    /// A connection waits to be opened.
    pub(super) fn await_tick(&mut self, now: Time) {
        if self.openings.tick_at == Time::NEVER && !self.gone {
            self.openings.tick_at = self.next_tick(now);
            self.set_slow_timer();
        }
    }
    /// When the client's clock ticks next: every second from its arrival on.
    pub(super) fn next_tick(&self, now: Time) -> Time {
        let ticks = now.since(self.started).nanos() / TICK.nanos() + 1;
        self.started + TICK * ticks
    }
    /// The tick.
    pub(super) fn open_waiting(&mut self, now: Time) {
        self.openings.tick_at = Time::NEVER;
        let rules = &self.profile.connections;
        let (Some(max), limit) = (rules.opened_per_second, rules.max_initiate) else { return };
        let made_up = self.openings.ahead.min(max);
        self.openings.ahead -= made_up;
        // No more than half of what there is room for (`smooth_connects`).
        let room = limit.saturating_sub(self.conns.live()).div_ceil(2);
        for _ in 0..room.min(max - made_up) {
            let Some(candidate) = self.candidates.pop() else { break };
            self.open_connection(now, candidate);
        }
        // At the maximum, a lost connection makes room, and asks for the next tick.
        let waits = !self.candidates.is_empty() && self.conns.live() < limit;
        if waits || self.openings.ahead > 0 {
            self.await_tick(now);
        }
    }
}
