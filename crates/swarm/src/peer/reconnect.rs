//! Neighbours that were lost are tried again (libtorrent: `peer_list::find_connect_candidates`,
//! `connection_closed`): after a time that grows with the attempts that failed, until there were too many.

use super::Peer;
use crate::PeerId;
use crate::candidates::Sources;
use flashcrowd_base::{Span, Time};

/// A peer to which there was a connection, or nearly one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    remote: PeerId,
    /// When it was (`torrent_peer::last_connected`).
    at: Time,
    /// When it may be tried again; never while there is a connection, or after too many failures.
    retry_at: Time,
    /// Attempts in a row that failed (`torrent_peer::failcount`).
    failures: u32,
}

impl Lost {
    /// When it may be tried again, a pause for each failure and one after the loss (`min_reconnect_time`).
    fn due(&self, pause: Span, max_failures: u32) -> Time {
        if self.failures < max_failures {
            self.at + pause * u64::from(self.failures + 1)
        } else {
            Time::NEVER
        }
    }
}

impl Peer {
    /// How many of those that were lost will be tried again.
    pub(super) fn lost_candidates(&self) -> usize {
        self.lost.iter().filter(|lost| lost.retry_at != Time::NEVER).count()
    }
    /// A connection is gone; `opened` if it had come as far as both handshakes.
    pub(super) fn remember_lost(&mut self, now: Time, remote: PeerId, opened: bool) {
        let rules = &self.profile.connections;
        let Some(pause) = rules.reconnect_ns.filter(|_| !self.gone) else { return };
        let place = self.lost.iter().position(|lost| lost.remote == remote);
        let place = place.unwrap_or_else(|| {
            self.lost.push(Lost { remote, at: now, retry_at: Time::NEVER, failures: 0 });
            self.lost.len() - 1
        });
        self.candidates.remove(remote);
        let lost = &mut self.lost[place];
        lost.at = now;
        lost.failures = if opened { 0 } else { lost.failures.saturating_add(1) };
        lost.retry_at = lost.due(pause, rules.max_failures);
        self.reconnect_at = self.reconnect_at.min(lost.retry_at);
        self.set_slow_timer();
    }
    /// A lost peer is named: it is tried when its time comes, and once more if the tracker names it after too many
    /// failures (`peer_list::update_peer`). Whether it was lost.
    pub(super) fn lost_is_named(&mut self, remote: PeerId, sources: Sources) -> bool {
        let rules = &self.profile.connections;
        let lost = self.lost.iter_mut().find(|lost| lost.remote == remote);
        let (Some(pause), Some(lost)) = (rules.reconnect_ns, lost) else { return false };
        if sources.tracker && lost.failures > 0 {
            let given_up = lost.failures >= rules.max_failures;
            lost.failures -= 1;
            if given_up {
                lost.retry_at = lost.due(pause, rules.max_failures);
                self.reconnect_at = self.reconnect_at.min(lost.retry_at);
                self.set_slow_timer();
            }
        }
        true
    }
    /// Tries those again whose time has come, while there is room.
    pub(super) fn reconnect(&mut self, now: Time) {
        self.reconnect_at = Time::NEVER;
        for place in 0..self.lost.len() {
            let Lost { remote, retry_at, .. } = self.lost[place];
            if retry_at > now {
                self.reconnect_at = self.reconnect_at.min(retry_at);
            } else if self.conns.live() < self.profile.connections.max_initiate {
                self.lost[place].retry_at = Time::NEVER;
                self.open_connection(now, remote);
            } else {
                self.reconnect_at = self.reconnect_at.min(now + FULL);
            }
        }
    }
}

/// With the maximum of connections, a lost peer is tried again later.
const FULL: Span = Span::from_secs(1);
