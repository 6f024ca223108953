//! Writing with quotas: what waits in a send buffer goes out when the limiter has given its connection
//! enough (libtorrent: `peer_connection::setup_send`, `assign_bandwidth`, `on_send_data`).

use super::extras::{self, Extras};
use super::send_buffer::headers;
use super::{Peer, scratch};
use crate::ConnId;
use flashcrowd_base::Time;

impl Peer {
    /// The number of the second since the client came.
    pub(super) fn second(&self, now: Time) -> u64 {
        extras::second(self.started, now)
    }
    /// Makes up for seconds that are over, before it changes what they count for.
    pub(super) fn roll(&mut self, now: Time, id: ConnId) {
        let second = self.second(now);
        let Some(c) = self.conns.get_mut(id) else { return };
        let unchoked = !c.choking_us;
        if let Some(extras) = &mut c.extras {
            extras.roll(second, unchoked);
        }
    }
    /// Whether reads concern this client; see [`on_received`](Peer::on_received).
    pub fn counts_reads(&self) -> bool {
        Extras::needed(&self.profile)
    }
    /// `bytes` bytes have been read from a connection's socket. To be called before the messages that
    /// they complete, once for each read, for a client that [counts them](Peer::counts_reads).
    pub fn on_received(&mut self, now: Time, conn: ConnId, bytes: u64) {
        let second = self.second(now);
        let Some(c) = self.conns.get_mut(conn) else { return };
        let (unchoked, class) = (!c.choking_us, c.class());
        let Some(extras) = &mut c.extras else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        extras.roll(second, unchoked);
        extras.statistics.down.add(bytes);
        if let Some(bandwidth) = &mut self.bandwidth {
            let headers = headers(bytes, self.profile.limiter.quota.header_bytes);
            extras.statistics.up_protocol.add(headers);
            bandwidth.charge(second, class, headers);
            self.charge_reads(second, class, headers);
            self.count_transfer(second, (0, bytes), headers);
            self.pay_for_read(now, conn, bytes);
        }
    }
    /// The limiter's timer.
    pub(super) fn give_quota(&mut self, now: Time) {
        let second = self.second(now);
        let Some(bandwidth) = self.bandwidth.as_mut().filter(|it| now >= it.wake()) else { return };
        bandwidth.settle_overhead(second);
        let mut given = scratch::GIVEN.take();
        bandwidth.tick(now, &mut given);
        self.assign_quota(given);
    }
    /// The limit has changed.
    pub(super) fn set_quota_rate(&mut self) {
        if let Some(bandwidth) = &mut self.bandwidth {
            let mut given = scratch::GIVEN.take();
            bandwidth.set_rate(self.limit.rate(), &mut given);
            self.assign_quota(given);
        }
    }
    /// Gives what the list says, and keeps the list.
    fn assign_quota(&mut self, mut given: Vec<(ConnId, u32)>) {
        for (id, bytes) in given.drain(..) {
            if let Some(c) = self.conns.get_mut(id)
                && let Some(buffer) = c.send_buffer_mut()
            {
                buffer.quota = buffer.quota.saturating_add(bytes);
                buffer.waits = false;
                self.actions.cork(id);
            }
        }
        scratch::GIVEN.set(given);
    }
    /// Fills a send buffer, asks for quota, and writes what may be written.
    pub(super) fn setup_send(&mut self, id: ConnId) {
        let now = self.now;
        let second = self.second(now);
        let profile = self.profile.clone();
        let rules = &profile.limiter.quota;
        let tick_ms = profile.limiter.tick_ns.map_or(500, |tick| tick.nanos() / 1_000_000);
        loop {
            let Some(c) = self.conns.get_mut(id) else { return };
            let (unchoked, class) = (!c.choking_us, c.class());
            let Some(extras) = &mut c.extras else { return };
            extras.roll(second, unchoked);
            let upload_rate = extras.statistics.upload_rate();
            if self.reads_disk {
                c.read_blocks(id, now, rules, &profile.meter, &mut self.actions);
            } else {
                c.fill_send_buffer(now, rules, &profile.meter);
            }
            let (Some(buffer), Some(bandwidth)) = (c.send_buffer_mut(), &mut self.bandwidth) else {
                return;
            };
            let lacks = buffer.lacks(upload_rate, tick_ms as u32, rules);
            if lacks > 0 {
                if bandwidth.request(now, id, class, lacks) {
                    buffer.quota = buffer.quota.saturating_add(lacks);
                } else {
                    buffer.waits = true;
                }
            }
            if bandwidth.is_limited() {
                // Bytes that waited for quota are written in one go.
                buffer.header_apart = false;
            }
            let mut sent = scratch::SENT.take();
            let block = |piece, length| sent.push((piece, length));
            let bytes = c.write_send_buffer(id, !rules.messages, &mut self.actions, block);
            if bytes > 0 {
                let headers = headers(bytes, rules.header_bytes);
                bandwidth.charge(second, class, headers);
                if let Some(extras) = &mut c.extras {
                    extras.statistics.up_protocol.add(headers);
                }
                self.charge_reads(second, class, headers);
                self.count_transfer(second, (bytes, 0), headers);
            }
            for (piece, length) in sent.drain(..) {
                self.sent_block(now, id, piece, length);
            }
            scratch::SENT.set(sent);
            if let Some(c) = self.conns.get_mut(id) {
                c.count_asked(&mut self.wants);
            }
            if bytes == 0 {
                return;
            }
        }
    }
}
