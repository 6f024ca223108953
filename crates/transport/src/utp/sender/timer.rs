use super::super::config::{Config, IdleTimer};
use super::super::packet::HEADER_BYTES;
use super::Sender;
use crate::congestion::{Controller, Loss};
use flashcrowd_base::Time;

/// Timeouts in a row of a packet that is larger than every path must take, after which only
/// smaller ones are sent.
const BLACK_HOLE: u32 = 2;

/// After this many timeouts with nothing in flight any window is at its minimum.
const MAX_IDLE_TIMEOUTS: u32 = 64;

impl Sender {
    /// (Re)starts the retransmission timer.
    #[inline]
    pub(super) fn arm(&mut self, config: &Config, now: Time) {
        if self.send_queue.is_empty() && !config.keep_backoff {
            self.timeouts = 0;
        }
        self.rto_at = config.examined(now + self.rtt.timeout(config, self.timeouts));
        self.idle_at = Time::NEVER;
    }

    /// Passes each timeout that has expired with nothing in flight to the controller.
    #[cold]
    pub(super) fn catch_up(&mut self, config: &Config, now: Time) {
        let mut left = MAX_IDLE_TIMEOUTS;
        while now >= self.idle_at && left > 0 {
            self.controller.on_idle(self.idle_at);
            self.idle_at = config.examined(self.idle_at + self.rtt.timeout(config, 0));
            left -= 1;
        }
        if left == 0 {
            self.idle_at = config.examined(now + self.rtt.timeout(config, 0));
        }
    }

    /// When [`on_timer`](Sender::on_timer) wants to be called.
    #[inline]
    pub(in super::super) fn timer_deadline(&self) -> Time {
        self.rto_at.min(self.peer_window.probe_at()).min(self.pace_wake)
    }

    /// Time has passed. `false` if the connection has failed.
    #[inline]
    pub(in super::super) fn on_timer(&mut self, config: &Config, now: Time) -> bool {
        if now >= self.pace_wake {
            self.pace_wake = Time::NEVER;
        }
        self.peer_window.on_timer(now, self.packet);
        now < self.rto_at || self.on_timeout(config, now)
    }

    #[inline(never)]
    fn on_timeout(&mut self, config: &Config, now: Time) -> bool {
        if self.send_queue.is_empty() {
            self.controller.on_idle(now);
            let goes_on = config.idle_timer == IdleTimer::BackingOff;
            self.timeouts += u32::from(goes_on);
            self.rto_at = if goes_on {
                config.examined(now + self.rtt.timeout(config, self.timeouts))
            } else {
                Time::NEVER
            };
            return true;
        }
        let first = self.send_queue.first();
        let calls = first == self.syn;
        if self.retries >= if calls { config.syn_retries } else { config.data_retries } {
            return false;
        }
        let sent = self.send_queue.front().map_or(0, |packet| u32::from(packet.transmissions));
        if !calls && config.max_transmissions > 0 && sent >= config.max_transmissions {
            return false;
        }
        self.retries += 1;
        self.counters.timeouts += 1;
        // A lone packet that probed the path MTU was too large rather than lost to congestion. So was one behind
        // which everything has arrived.
        let alone = self.send_queue.len() == 1
            || (self.mtu_search.pads() && self.send_queue.is_all_delivered_but_the_first());
        let lone_probe = alone && self.mtu_search.probe() == Some(first);
        if lone_probe {
            self.lose_probe(config, now);
        } else {
            self.timeouts += 1;
            self.mtu_search.forget_probe();
        }
        self.rto_at = config.examined(now + self.rtt.timeout(config, self.timeouts));
        let oversize = self.send_queue.front().is_some_and(|packet| {
            let datagram_bytes = u32::from(packet.len) + HEADER_BYTES;
            self.mtu_search.may_vanish(&config.path_mtu, datagram_bytes)
        });
        if oversize && self.retries >= BLACK_HOLE {
            self.mtu_search.fall_to_floor(&config.path_mtu, now);
            self.resize(config);
        }
        if !lone_probe && !calls {
            if self.paced.is_some() {
                for seq in first..self.send_queue.next() {
                    self.tell_loss(now, seq);
                }
                self.begin_recovery();
            }
            let window = self.controller.window();
            let (offset, nxt) = (self.snd_una, self.snd_nxt);
            let loss = Loss { now, window, in_flight: 0, offset, nxt };
            self.controller.on_timeout(&loss, self.retries > 1);
            self.count_reduction(config, now, window);
            self.recover = self.send_queue.next();
        }
        self.duplicates = 0;
        self.send_queue.lose_all();
        self.send_queue.retransmit_now(first);
        true
    }
}
