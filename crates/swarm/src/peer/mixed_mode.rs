//! Sharing between TCP and uTP, of a client that uses both ([`mixed_mode`](crate::mixed_mode)): once a second it
//! counts busy connections and limits TCP. What it downloads over TCP then takes quota, too: it reads from a socket no
//! more than was given (libtorrent: `peer_connection::setup_receive`).

use super::connection::{Conn, Stage};
use super::extras::ReadQuota;
use super::{Peer, scratch};
use crate::bandwidth::{Bandwidth, PeerClass};
use crate::mixed_mode::{Busy, MIN_DOWNLOAD, MIN_UPLOAD, Rates};
use crate::profile::{MixedModeAlgorithm, Profile, Sharing};
use crate::{Action, ConnId};
use flashcrowd_base::Time;

/// The state of a client that shares between the two.
#[derive(Debug)]
pub(super) struct MixedMode {
    rates: Rates,
    /// Quota for what comes over TCP.
    reads: Bandwidth,
    /// When it counts next: while it has connections of both kinds, or a limit from then.
    pub(super) tick_at: Time,
}

/// Bytes of quota that are requested beyond what is outstanding
/// (`peer_connection::wanted_transfer`).
const SLACK: u32 = 30;

impl MixedMode {
    pub(super) fn new(profile: &Profile, now: Time, phase: f64) -> Option<Box<MixedMode>> {
        let rules = &profile.limiter;
        let on = rules.mixed_mode_algorithm == MixedModeAlgorithm::PeerProportional
            && rules.sharing == Sharing::Quota;
        let reads = || Bandwidth::new(None, rules.clone(), now).with_phase(phase);
        on.then(|| {
            Box::new(MixedMode { rates: Rates::default(), reads: reads(), tick_at: Time::NEVER })
        })
    }
    /// When quota for reading is given out.
    pub(super) fn wake(&self) -> Time {
        self.reads.wake()
    }
    pub(super) fn forget(&mut self, id: ConnId) {
        self.reads.remove(id);
    }
}

impl Conn {
    /// Which limits hold for it.
    pub(super) fn class(&self) -> PeerClass {
        let utp = self.extras.as_ref().is_some_and(|extras| extras.utp);
        if utp { PeerClass::Everybody } else { PeerClass::Tcp }
    }
    /// It writes as fast as its socket takes it: a block is asked for, and the socket is full (`bw_network`).
    fn is_busy_up(&self) -> bool {
        let full = self.send_buffer().is_some_and(|buffer| buffer.bytes() > 0 && buffer.quota > 0);
        full && self.queued() > 0
    }
    /// More than one block is outstanding, and it may read. `limited`: whether reading takes quota.
    fn is_busy_down(&self, limited: bool) -> bool {
        let may_read = self.extras.as_ref().is_none_or(|extras| extras.read_quota.bytes > 0);
        self.active().len() > 1 && (may_read || !limited || self.class() != PeerClass::Tcp)
    }
}

impl Peer {
    /// This connection is over uTP; all others are over TCP. To be called before
    /// [`on_connected`](Peer::on_connected).
    pub fn is_over_utp(&mut self, conn: ConnId) {
        let Some(c) = self.conns.get_mut(conn) else { return };
        if let Some(extras) = &mut c.extras {
            extras.utp = true;
        }
        let remote = c.remote;
        self.utp_failed.retain(|failed| *failed != remote);
    }
    /// `up` bytes went out and `down` came, with these headers.
    pub(super) fn count_transfer(&mut self, second: u64, (up, down): (u32, u32), headers: u32) {
        let Some(mixed) = &mut self.mixed_mode else { return };
        if up > 0 {
            mixed.rates.sent(second, up, headers);
        } else {
            mixed.rates.received(second, down, headers);
        }
    }
    /// A connection is there: it may be the first of its kind, or have to ask before it reads.
    pub(super) fn join_mixed_mode(&mut self, now: Time, id: ConnId) {
        let Some(mixed) = &self.mixed_mode else { return };
        let limited = mixed.reads.limits_tcp();
        if mixed.tick_at == Time::NEVER && self.is_mixed() {
            let next = self.next_tick(now);
            if let Some(mixed) = &mut self.mixed_mode {
                mixed.tick_at = next;
            }
            self.set_slow_timer();
        }
        if limited && self.conns.get(id).is_some_and(|c| c.class() == PeerClass::Tcp) {
            self.actions.push_back(Action::LimitReads { conn: id, bytes: Some(0) });
            self.ask_to_read(now, id, 0);
        }
    }
    /// Whether there are connections of both kinds.
    fn is_mixed(&self) -> bool {
        let up = |c: &Conn| c.stage != Stage::Opening;
        let has = |class| self.conns.iter().any(|(_, c)| up(c) && c.class() == class);
        has(PeerClass::Everybody) && has(PeerClass::Tcp)
    }
    /// The tick: counts and limits.
    pub(super) fn limit_tcp(&mut self, now: Time) {
        let (second, next) = (self.second(now), self.next_tick(now));
        let mixed = self.is_mixed() && !self.gone;
        let Some(state) = &mut self.mixed_mode else { return };
        let before = state.reads.limits_tcp();
        let (mut up, mut down) = (Busy::default(), Busy::default());
        for (_, c) in self.conns.iter().filter(|(_, c)| c.is_open()) {
            let tcp = c.class() == PeerClass::Tcp;
            for (busy, counts) in [(&mut up, c.is_busy_up()), (&mut down, c.is_busy_down(before))] {
                let number = if tcp { &mut busy.tcp } else { &mut busy.utp };
                *number += u32::from(counts);
            }
        }
        // The rates are those of the tick before: `m_stat` is brought up to date afterwards.
        state.rates.roll(second.saturating_sub(1));
        let (upload, download) = state.rates.upload_and_download();
        state.rates.roll(second);
        state.reads.limit_tcp(down.tcp_limit(download, MIN_DOWNLOAD));
        let after = state.reads.limits_tcp();
        state.tick_at = if mixed { next } else { Time::NEVER };
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.limit_tcp(up.tcp_limit(upload, MIN_UPLOAD));
        }
        if before != after {
            for number in 0..self.conns.end() {
                self.limit_reads(now, ConnId(number), after);
            }
        }
    }
    /// From now on a connection over TCP takes quota for what it reads, or does not any more.
    fn limit_reads(&mut self, now: Time, id: ConnId, limited: bool) {
        let wanted = self.wanted_reads(now, id, 0);
        let Some(c) = self.conns.get_mut(id).filter(|c| c.class() == PeerClass::Tcp) else {
            return;
        };
        let Some(extras) = &mut c.extras else { return };
        if extras.read_quota.waits {
            return; // It goes on when its request is answered.
        }
        // Without a limit it had been given what it wanted with each read.
        extras.read_quota.bytes = wanted;
        let bytes = limited.then_some(u64::from(wanted));
        self.actions.push_back(Action::LimitReads { conn: id, bytes });
    }
    /// How many bytes a connection wants to read, after `read` of those that were outstanding have come.
    fn wanted_reads(&mut self, now: Time, id: ConnId, read: u32) -> u32 {
        self.roll(now, id);
        let tick = self.profile.limiter.tick_ns.map_or(500, |tick| tick.nanos() / 1_000_000);
        let Some(c) = self.conns.get(id) else { return 0 };
        let torrent = self.block_map.torrent();
        let blocks = c.active().iter();
        let blocks = blocks.map(|block| torrent.block_len(block.piece, u32::from(block.index)));
        let outstanding = blocks.sum::<u32>().saturating_sub(read);
        let rate = c.extras.as_ref().map_or(0, |extras| extras.statistics.down.rate());
        let ahead = u64::from(rate) * 3 / 2 * tick / 1000;
        u32::try_from(ahead).unwrap_or(u32::MAX).max(outstanding.saturating_add(SLACK))
    }
    /// `bytes` bytes have been read from a socket: they are paid for, and the next are asked for.
    pub(super) fn pay_for_read(&mut self, now: Time, id: ConnId, bytes: u32) {
        let limited = self.mixed_mode.as_ref().is_some_and(|mixed| mixed.reads.limits_tcp());
        let Some(c) = self.conns.get_mut(id).filter(|c| c.class() == PeerClass::Tcp) else {
            return;
        };
        let Some(extras) = c.extras.as_mut().filter(|_| limited) else { return };
        extras.read_quota.bytes = extras.read_quota.bytes.saturating_sub(bytes);
        self.ask_to_read(now, id, bytes);
    }
    fn ask_to_read(&mut self, now: Time, id: ConnId, read: u32) {
        let wanted = self.wanted_reads(now, id, read);
        let (Some(mixed), Some(c)) = (&mut self.mixed_mode, self.conns.get_mut(id)) else { return };
        let Some(ReadQuota { bytes, waits }) = c.extras.as_mut().map(|it| &mut it.read_quota)
        else {
            return;
        };
        let lacks = wanted.saturating_sub(*bytes);
        if *waits || lacks == 0 {
            return;
        }
        if mixed.reads.request(now, id, PeerClass::Tcp, lacks) {
            *bytes += lacks;
            let bytes = Some(u64::from(*bytes));
            self.actions.push_back(Action::LimitReads { conn: id, bytes });
        } else {
            *waits = true;
        }
    }
    /// The timer of quota for reading.
    pub(super) fn give_read_quota(&mut self, now: Time) {
        let second = self.second(now);
        let Some(mixed) = self.mixed_mode.as_mut().filter(|mixed| now >= mixed.wake()) else {
            return;
        };
        mixed.reads.settle_overhead(second);
        let mut given = scratch::GIVEN.take();
        mixed.reads.tick(now, &mut given);
        let limited = mixed.reads.limits_tcp();
        for (id, given) in given.drain(..) {
            let extras = self.conns.get_mut(id).and_then(|c| c.extras.as_mut());
            let Some(quota) = extras.map(|extras| &mut extras.read_quota) else { continue };
            quota.waits = false;
            quota.bytes = quota.bytes.saturating_add(given);
            let bytes = limited.then_some(u64::from(quota.bytes));
            self.actions.push_back(Action::LimitReads { conn: id, bytes });
        }
        scratch::GIVEN.set(given);
    }
    /// Headers of what was read or written are charged to what reads.
    pub(super) fn charge_reads(&mut self, second: u64, class: PeerClass, headers: u32) {
        if let Some(mixed) = &mut self.mixed_mode {
            mixed.reads.charge(second, class, headers);
        }
    }
}
