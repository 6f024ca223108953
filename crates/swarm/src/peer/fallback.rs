//! TCP where uTP failed (libtorrent: `peer_connection::connect_failed`, `torrent_peer::supports_utp`).

use super::Peer;
use super::connection::Stage;
use crate::{Action, ConnId};
use flashcrowd_base::Time;

impl Peer {
    /// Tries over TCP whom uTP did not reach, and remembers it for later attempts. Whether it does: not for a
    /// connection that somebody else opened, nor for one that was there.
    pub(super) fn falls_back(&mut self, now: Time, id: ConnId) -> bool {
        let Some(c) = self.conns.get_mut(id) else { return false };
        let falls_back = self.profile.connections.tcp_fallback && !self.gone;
        if !(falls_back && c.initiated && c.stage == Stage::Opening) {
            return false;
        }
        c.last_heard = now;
        let remote = c.remote;
        self.utp_failed.push(remote);
        self.actions.push_back(Action::Connect { conn: id, remote, tcp: true });
        true
    }
}
