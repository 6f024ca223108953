//! How neighbours are gained and lost.

use super::Peer;
use super::connection::{Conn, Stage};
use super::extras::Extras;
use crate::candidates::Sources;
use crate::profile::CandidateOrder;
use crate::{Action, ConnId, Extensions, Message, PeerId, UnchokeEnd};
use flashcrowd_base::Time;
use std::sync::Arc;

impl Peer {
    /// A peer connects.
    pub(super) fn admit(&mut self, now: Time, remote: PeerId) -> Option<ConnId> {
        if self.gone || remote == self.id {
            return None;
        }
        if let Some((id, conn)) = self.conns.to(remote) {
            // A peer that connects again has lost the first connection, of which no handshake came: a client
            // does not know before whose it is (libtorrent: `peer_connection::attach_to_torrent`).
            let given_up = !conn.initiated && !conn.is_open();
            let both = conn.initiated && conn.stage == Stage::Opening;
            let new_one_stays = given_up || both && remote < self.id;
            if !new_one_stays {
                return None;
            }
            self.close(now, id);
        }
        if self.conns.live() >= self.profile.connections.max_connections {
            return None;
        }
        if self.profile.connections.reconnect_ns.is_some() {
            self.candidates.remove(remote);
        }
        let conn = self.stranger(now, remote, false);
        Some(self.conns.insert(conn))
    }
    /// These were named, all at once.
    pub(super) fn connect_to_all(&mut self, now: Time, named: &[PeerId], sources: Sources) {
        let order = self.profile.connections.candidates;
        for &remote in named {
            let known = remote == self.id || self.conns.to(remote).is_some();
            if known || self.lost_is_named(remote, sources) {
                continue;
            }
            match order {
                CandidateOrder::LastNamed => self.connect(now, remote, sources),
                CandidateOrder::Canonical => self.remember(remote, sources),
            }
        }
        if order == CandidateOrder::Canonical {
            self.connect_to_candidates(now);
        }
    }
    /// A new peer was named.
    fn connect(&mut self, now: Time, remote: PeerId, sources: Sources) {
        let full = self.conns.live() >= self.profile.connections.max_initiate;
        if full || !self.opens_now() {
            self.remember(remote, sources);
            if !full {
                self.await_tick(now);
            }
            return;
        }
        self.open_connection(now, remote);
    }
    /// It may be connected to later.
    fn remember(&mut self, remote: PeerId, sources: Sources) {
        let rules = &self.profile.connections;
        let max = rules.max_candidates.unwrap_or(rules.max_initiate);
        self.candidates.add(remote, sources, max);
    }
    /// Opens what may be opened now; the others wait for a tick.
    fn connect_to_candidates(&mut self, now: Time) {
        while !self.candidates.is_empty()
            && self.conns.live() < self.profile.connections.max_initiate
        {
            if !self.opens_now() {
                self.await_tick(now);
                return;
            }
            if let Some(candidate) = self.candidates.pop() {
                self.open_connection(now, candidate);
            }
        }
    }
    /// Opens a connection, unless there is one.
    pub(super) fn open_connection(&mut self, now: Time, remote: PeerId) {
        if self.conns.to(remote).is_none() {
            let conn = self.stranger(now, remote, true);
            let conn = self.conns.insert(conn);
            let tcp = self.utp_failed.contains(&remote);
            self.actions.push_back(Action::Connect { conn, remote, tcp });
        }
    }
    fn stranger(&self, now: Time, remote: PeerId, initiated: bool) -> Conn {
        let extras = Extras::new(&self.profile, self.second(now));
        Conn::new(now, remote, initiated, &self.profile.meter, extras)
    }
    /// The handshake of this client.
    pub(super) fn handshake(&self) -> Message {
        Message::Handshake(Extensions {
            fast: self.profile.fast.enabled,
            protocol: self.exchange.is_some(),
        })
    }
    /// The other's handshake is here, and offers these extensions.
    pub(super) fn open(&mut self, now: Time, id: ConnId, offered: Extensions) {
        let handshake = self.handshake();
        let everything = self.block_map.have().is_full();
        let Some(c) = self.conns.get_mut(id) else { return };
        c.open(now, self.block_map.torrent().pieces(), &self.profile.meter);
        self.open += 1;
        if !c.initiated {
            self.reachable = true;
            c.send(id, handshake, true, &mut self.actions);
        }
        if let Some(extras) = c.extras_mut() {
            extras.fast = offered.fast && self.profile.fast.enabled;
            extras.protocol = offered.protocol && self.exchange.is_some();
            extras.indifferent_since = now;
        }
        let (fast, nothing) = (c.is_fast(), self.block_map.have().is_empty());
        if fast && (nothing || self.super_seed.is_some()) {
            c.send(id, Message::HaveNone, true, &mut self.actions);
        }
        if self.super_seed.is_some() {
            self.offer(id);
        } else if fast && everything {
            c.send(id, Message::HaveAll, true, &mut self.actions);
        } else if !self.block_map.have().is_empty() {
            let have = Message::Bitfield(Arc::new(self.block_map.have().clone()));
            c.send(id, have, true, &mut self.actions);
        }
        self.greet_extended(now, id);
        self.choker.insert(id, &mut self.stream);
        self.unchoke_newcomer(now, id);
    }
    /// Closes a connection for a reason of ours.
    pub(super) fn close(&mut self, now: Time, id: ConnId) {
        if self.conns.get(id).is_some() {
            self.actions.push_back(Action::Close { conn: id });
            self.forget(now, id);
        }
    }
    /// A connection is gone.
    pub(super) fn forget(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.remove(id) else { return };
        c.uncount(&mut self.wants);
        if let Some(hidden) = &mut self.super_seed {
            hidden.forget(id);
        }
        if c.in_round_robin {
            self.limiter.remove(id);
        }
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.remove(id);
        }
        if let Some(mixed) = &mut self.mixed_mode {
            mixed.forget(id);
        }
        if !c.choke_sent {
            self.record_end(now, id, &c, UnchokeEnd::Disconnected);
        }
        // Two that are complete have nothing for each other, and a peer without a handshake is
        // unknown.
        let known = c.initiated || c.is_open();
        if known && !(self.is_complete() && c.have.is_full() && c.is_open()) {
            self.remember_lost(now, c.remote, c.is_open());
        }
        if c.is_open() {
            self.open -= 1;
            self.choker.remove(id);
            for piece in c.have.iter() {
                self.picker.lost(piece, &mut self.stream);
            }
            if !self.gone {
                let mut asked = c.work.map(|work| work.active).unwrap_or_default();
                if let Some(extras) = c.extras {
                    asked.retain(|block| !extras.given_up.contains(block));
                    asked.extend(extras.reserved);
                }
                self.release_requests(now, &asked);
                if !c.choked {
                    self.slot_freed(now, c.interested_in_us);
                }
            }
        }
        if self.profile.connections.opened_per_second.is_some() {
            if !self.candidates.is_empty() {
                self.await_tick(now);
            }
            return;
        }
        self.connect_to_candidates(now);
    }
}
