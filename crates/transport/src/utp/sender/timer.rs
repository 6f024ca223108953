use super::super::config::Config;
use super::super::packet::HEADER_BYTES;
use super::Sender;
use crate::congestion::{Controller, Loss};
use flashcrowd_base::Time;

/// Timeouts in a row of a packet that is larger than every path must take, after which only
/// smaller ones are sent.
const BLACK_HOLE: u32 = 2;

impl Sender {
    /// (Re)starts the retransmission timer.
    #[inline]
    pub(super) fn arm(&mut self, config: &Config, now: Time) {
        if self.send_queue.is_empty() && !config.keep_backoff {
            self.timeouts = 0;
        }
        self.rto_at = config.examined(now + self.rtt.timeout(config, self.timeouts));
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
            self.timeouts += u32::from(config.idle_timer);
            self.rto_at = if config.idle_timer {
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
        self.retries += 1;
        self.counters.timeouts += 1;
        // A packet that measured the path and is alone was too large rather than unlucky.
        let lone_probe = self.send_queue.len() == 1 && self.mtu_search.probe() == Some(first);
        if lone_probe {
            self.lose_probe(config, now);
        } else {
            self.timeouts += 1;
            self.mtu_search.forget_probe();
        }
        self.rto_at = config.examined(now + self.rtt.timeout(config, self.timeouts));
        let oversize = self.send_queue.front().is_some_and(|packet| {
            u32::from(packet.len) + HEADER_BYTES > config.path_mtu.floor_bytes
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
            self.counters.reductions += u32::from(self.controller.window() < window);
            self.recover = self.send_queue.next();
        }
        self.duplicates = 0;
        self.send_queue.lose_all();
        self.send_queue.retransmit_now(first);
        true
    }
}
