//! TCP where uTP failed (libtorrent: `peer_connection::connect_failed`, `torrent_peer::supports_utp`).

use super::Peer;
use super::connection::Stage;
use crate::{Action, ConnId};
use flashcrowd_base::Time;

impl Peer {
    /// This attempt over uTP got no answer. To be called in place of [`on_closed`](Peer::on_closed): a client
    /// that falls back tries again over TCP at once, under the same number, and remembers it for later attempts.
    pub fn on_utp_failed(&mut self, now: Time, conn: ConnId) {
        self.now = now;
        let falls_back = self.profile.connections.tcp_fallback && !self.gone;
        match self.conns.get_mut(conn) {
            Some(c) if falls_back && c.initiated && c.stage == Stage::Opening => {
                c.last_heard = now;
                let remote = c.remote;
                self.utp_failed.push(remote);
                self.actions.push_back(Action::Connect { conn, remote, tcp: true });
            }
            _ => self.forget(now, conn),
        }
    }
}
