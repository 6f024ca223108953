//! Time accounts of peers: in which states a download spent its time, for the table that explains it.

use super::*;
use std::collections::BTreeMap;

/// For how long incomplete leechers of a swarm have been online: the time in which uploads matter.
#[derive(Clone, Copy, Default)]
pub(super) struct Demand {
    leechers: u32,
    since: Time,
    total: Span,
}

impl Demand {
    /// The time until `now` in which there was one.
    fn until(&self, now: Time) -> Span {
        if self.leechers > 0 { self.total + (now - self.since) } else { self.total }
    }
    /// An incomplete leecher came.
    pub(super) fn grow(&mut self, now: Time) {
        if self.leechers == 0 {
            self.since = now;
        }
        self.leechers += 1;
    }
    /// An incomplete leecher left, or is complete now.
    pub(super) fn shrink(&mut self, now: Time) {
        self.total = self.until(now);
        self.since = now;
        self.leechers -= 1;
    }
}

/// State of a seed's uploads.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Uplink {
    /// No request is open, and all that it sent is acknowledged.
    #[default]
    Idle,
    /// Some requested blocks are not handed to a transport yet.
    Busy,
    /// All requested blocks are handed to its transports.
    Draining,
}

/// What one peer has spent its time on.
#[derive(Clone, Default)]
pub(super) struct Account {
    /// Until when it is kept, by the clock and by the demand.
    kept: Time,
    kept_demand: Span,
    uplink: Uplink,
    spent: Spent,
}

/// Times of one peer, or sums over several.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) online: Span,
    /// Online and incomplete, in the order of [`Download`].
    pub(super) download: [Span; 4],
    /// Online while a leecher was incomplete, and of that: with nothing to send, and held back by
    /// the own upload limit.
    pub(super) needed: Span,
    pub(super) idle: Span,
    pub(super) limited: Span,
}

impl Spent {
    fn add(&mut self, other: &Spent) {
        self.online += other.online;
        self.needed += other.needed;
        self.idle += other.idle;
        self.limited += other.limited;
        for (sum, span) in self.download.iter_mut().zip(other.download) {
            *sum += span;
        }
    }
    pub(super) fn downloading(&self) -> Span {
        self.download.iter().fold(Span::ZERO, |sum, span| sum + *span)
    }
}

/// All peers of one population.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) peers: u32,
    pub(super) completed: u32,
    pub(super) up: u64,
    pub(super) down: u64,
    pub(super) wasted: u64,
    pub(super) spent: Spent,
}

impl Account {
    /// It comes at `now`.
    pub(super) fn open(now: Time, demand: &Demand) -> Account {
        Account { kept: now, kept_demand: demand.until(now), ..Account::default() }
    }

    /// Charges the time until now to its present state.
    fn keep(&mut self, now: Time, demand: &Demand, standing: Standing) {
        let (span, until) = (now - self.kept, demand.until(now));
        let needed = Span::from_nanos(until.nanos() - self.kept_demand.nanos());
        (self.kept, self.kept_demand) = (now, until);
        let spent = &mut self.spent;
        spent.online += span;
        if let Some(download) = spent.download.get_mut(standing.download as usize) {
            *download += span;
        }
        spent.needed += needed;
        if self.uplink == Uplink::Idle {
            spent.idle += needed;
        }
        if standing.limited {
            spent.limited += needed;
        }
    }
}

impl Swarms<'_> {
    /// A peer changes its state.
    #[cold]
    pub(super) fn stand(&mut self, world: &World, peer: u32, standing: Standing) {
        let state = &mut self.peers[peer as usize];
        let before = std::mem::replace(&mut state.standing, standing);
        let demand = &self.all[state.swarm as usize].demand;
        self.accounts[peer as usize].keep(world.now, demand, before);
        if state.role == Role::Seed && before.has_blocks != standing.has_blocks {
            let uplink = match standing.has_blocks {
                true => Uplink::Busy,
                false if self.is_sending(world, peer) => Uplink::Draining,
                false => Uplink::Idle,
            };
            self.set_uplink(peer, uplink);
        }
    }

    /// A part of a block has been handed to a transport: perhaps at the instant at which it was asked
    /// for, so that the peer never stood with blocks to send.
    pub(super) fn sent_block(&mut self, world: &World, peer: u32) {
        let state = &self.peers[peer as usize];
        if state.role == Role::Seed && self.accounts[peer as usize].uplink == Uplink::Idle {
            let demand = &self.all[state.swarm as usize].demand;
            self.accounts[peer as usize].keep(world.now, demand, state.standing);
            self.set_uplink(peer, Uplink::Draining);
        }
    }

    /// A socket of a seed has received something, or is closed.
    pub(super) fn settle_uplink(&mut self, world: &World, peer: u32) {
        if self.accounts[peer as usize].uplink != Uplink::Draining || self.is_sending(world, peer) {
            return;
        }
        let state = &self.peers[peer as usize];
        let demand = &self.all[state.swarm as usize].demand;
        self.accounts[peer as usize].keep(world.now, demand, state.standing);
        self.set_uplink(peer, Uplink::Idle);
    }

    fn set_uplink(&mut self, peer: u32, uplink: Uplink) {
        let account = &mut self.accounts[peer as usize];
        self.draining -= u32::from(account.uplink == Uplink::Draining);
        account.uplink = uplink;
        self.draining += u32::from(uplink == Uplink::Draining);
    }

    /// Whether something that a peer wrote is not acknowledged.
    fn is_sending(&self, world: &World, peer: u32) -> bool {
        let sockets = &self.peers[peer as usize].sockets;
        let mut own = sockets.iter().flat_map(|to| [to.control, to.outgoing]);
        own.any(|socket| socket != NO_SOCKET && !is_acknowledged(world, socket))
    }

    /// A peer has left.
    pub(super) fn close_account(&mut self, world: &World, peer: u32) {
        let state = &self.peers[peer as usize];
        let demand = &self.all[state.swarm as usize].demand;
        self.accounts[peer as usize].keep(world.now, demand, state.standing);
        self.set_uplink(peer, Uplink::Idle);
    }

    /// Everything about the seeds and the leechers of each population, in the order of the plan.
    pub(super) fn sums(&self, world: &World) -> BTreeMap<(u32, u32, bool), Sum> {
        let mut sums: BTreeMap<(u32, u32, bool), Sum> = BTreeMap::new();
        for (peer, account) in self.peers.iter().zip(&self.accounts) {
            let key = (peer.swarm, peer.population, peer.is_leecher());
            let sum = sums.entry(key).or_default();
            if peer.arrived.is_none() {
                continue;
            }
            let progress = peer.progress();
            sum.peers += 1;
            sum.completed += u32::from(peer.completed.is_some());
            sum.up += progress.up;
            sum.down += progress.down;
            sum.wasted += progress.wasted;
            let mut account = account.clone();
            if peer.machine.is_some() {
                let demand = &self.all[peer.swarm as usize].demand;
                account.keep(world.now, demand, peer.standing);
            }
            sum.spent.add(&account.spent);
        }
        sums
    }
}

/// Whether nothing that was written to a socket is on its way.
pub(super) fn is_acknowledged(world: &World, socket: u32) -> bool {
    let transport = world.sockets.get(socket).transport.as_ref();
    transport.is_none_or(|transport| transport.unacknowledged() == 0)
}
