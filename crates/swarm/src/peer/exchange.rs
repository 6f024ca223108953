//! Peer exchange (BEP 11; libtorrent: `ut_pex.cpp`): once a minute, neighbours send each other the changes
//! in their connections.

use super::Peer;
use super::connection::Conn;
use crate::candidates::Sources;
use crate::peer_exchange::{Neighbour, PeerExchange};
use crate::{ConnId, Message, PeerId};
use flashcrowd_base::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The part that is common to all neighbours (`ut_pex_plugin`).
#[derive(Debug)]
pub(super) struct Exchange {
    /// When to look whether a message is due.
    pub(super) look_at: Time,
    /// When the last difference was made.
    made_at: Option<Time>,
    /// Peers that were in it or before it (`m_old_peers`).
    reported: BTreeSet<PeerId>,
    /// The changes of the period before; `None` if there are none.
    difference: Option<Arc<PeerExchange>>,
}

impl Exchange {
    pub(super) fn new() -> Exchange {
        Exchange {
            look_at: Time::NEVER,
            made_at: None,
            reported: BTreeSet::new(),
            difference: None,
        }
    }
}

/// A neighbour that others can connect to: the handshake is over, and its listening port is known.
fn is_reachable(conn: &Conn) -> bool {
    conn.is_open() && (conn.initiated || conn.exchanged().is_some())
}

fn neighbour(conn: &Conn) -> Neighbour {
    Neighbour { peer: conn.remote, is_seed: conn.have.is_full() }
}

impl Peer {
    /// A connection is open: the extension handshake follows, if both speak the protocol.
    pub(super) fn greet_extended(&mut self, now: Time, id: ConnId) {
        let Some(c) = self.conns.get_mut(id) else { return };
        if c.extras.as_ref().is_some_and(|extras| extras.protocol) {
            c.send(id, Message::ExtensionHandshake, true, &mut self.actions);
            self.await_exchange(now);
        }
    }
    /// A neighbour's extension handshake is here: it understands peer exchange.
    pub(super) fn on_extension_handshake(&mut self, now: Time, id: ConnId) {
        let Some(extras) = self.conns.get_mut(id).and_then(|c| c.extras.as_mut()) else { return };
        if extras.protocol {
            extras.exchanged.get_or_insert_default();
            self.await_exchange(now);
        }
    }
    /// Looks at the next tick of the client.
    fn await_exchange(&mut self, now: Time) {
        let next = self.next_tick(now);
        if let Some(exchange) = &mut self.exchange {
            exchange.look_at = exchange.look_at.min(next);
            self.set_slow_timer();
        }
    }
    /// Sends what is due.
    pub(super) fn exchange_peers(&mut self, now: Time) {
        let rules = self.profile.peer_exchange.clone();
        self.make_difference(now);
        let alone = self.conns.live() <= 1;
        let behind = self.profile.control_behind_piece;
        let Some(exchange) = &mut self.exchange else { return };
        exchange.look_at = Time::NEVER;
        if alone {
            // A new connection makes it look again.
            return;
        }
        let (mut all, mut next) = (None, Time::NEVER);
        for number in 0..self.conns.end() {
            let id = ConnId(number);
            let Some(exchanged) = self.conns.get(id).and_then(Conn::exchanged) else { continue };
            let due = exchanged.sent_at.map_or(now, |sent| sent + rules.interval_ns);
            if due > now {
                next = next.min(due);
                continue;
            }
            let message = if exchanged.sent_at.is_some() {
                exchange.difference.clone()
            } else {
                let all = all.get_or_insert_with(|| {
                    let reachable = self.conns.iter().filter(|(_, c)| is_reachable(c));
                    let max = rules.max_entries as usize;
                    let added = reachable.map(|(_, c)| neighbour(c)).take(max).collect();
                    Arc::new(PeerExchange::new(added, Vec::new()))
                });
                Some(all.clone())
            };
            next = next.min(now + rules.interval_ns);
            let Some(c) = self.conns.get_mut(id) else { continue };
            if let Some(exchanged) = c.exchanged_mut() {
                exchanged.sent_at = Some(now);
            }
            if let Some(message) = message {
                c.send(id, Message::PeerExchange(message), behind, &mut self.actions);
            }
        }
        if let Some(exchange) = &mut self.exchange {
            exchange.look_at = next;
        }
    }
    /// The changes of the last period, if it is over (`ut_pex_plugin::tick`).
    fn make_difference(&mut self, now: Time) {
        let rules = &self.profile.peer_exchange;
        let Some(exchange) = &mut self.exchange else { return };
        if exchange.made_at.is_some_and(|made| now.since(made) < rules.interval_ns) {
            return;
        }
        exchange.made_at = Some(now);
        let mut dropped = std::mem::take(&mut exchange.reported);
        let mut added = Vec::new();
        for (_, c) in self.conns.iter().filter(|(_, c)| is_reachable(c)) {
            if !dropped.remove(&c.remote) {
                if added.len() as u64 >= u64::from(rules.max_entries) {
                    continue;
                }
                added.push(neighbour(c));
            }
            exchange.reported.insert(c.remote);
        }
        let dropped: Vec<_> = dropped.into_iter().collect();
        let changed = !added.is_empty() || !dropped.is_empty();
        exchange.difference = changed.then(|| Arc::new(PeerExchange::new(added, dropped)));
    }
    /// A neighbour sends the changes in its connections.
    pub(super) fn on_peer_exchange(&mut self, now: Time, id: ConnId, message: &PeerExchange) {
        let max = self.profile.peer_exchange.max_named as usize;
        let Some(exchanged) = self.conns.get_mut(id).and_then(Conn::exchanged_mut) else { return };
        for peer in message.dropped() {
            exchanged.named.remove(peer);
        }
        let mut fresh = Vec::new();
        for neighbour in message.added() {
            if exchanged.named.len() >= max {
                break;
            }
            if exchanged.named.insert(neighbour.peer) {
                fresh.push(*neighbour);
            }
        }
        fresh.retain(|neighbour| !(neighbour.is_seed && self.is_complete()));
        let fresh: Vec<_> = fresh.into_iter().map(|neighbour| neighbour.peer).collect();
        self.connect_to_all(now, &fresh, Sources { tracker: false, exchange: true });
    }
}
