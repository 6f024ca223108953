use super::base_delay::BaseDelay;
use super::cwnd::Cwnd;
use super::filter::Filter;
use super::table::Ledbat;
use crate::congestion::{Ack, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// What the window is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Slow start: the first one, or after a timeout.
    Start,
    /// Steering to the target.
    Steady,
    /// At the least window from the first instant until the second, so that the queue drains and
    /// the base delay shows.
    Frozen(Time, Time),
    /// Slow start back to where the slowdown, which began then, found the window.
    Ramp(Time),
}

/// LEDBAT++ by draft-irtf-iccrg-ledbat-plus-plus (revision 06).
///
/// - Delays are round trips, so that clocks do not matter, but a queue on the way back counts.
/// - The gain is 1 / min(16, ceil(2 target / base)): a short path does not grow faster than a
///   long one.
/// - Above the target the window comes down in proportion to itself, by at most half per round trip.
/// - Slow start opens by gain times what is acknowledged, and the first one ends at 3/4 of the target.
/// - Two round trips later, and then every nine times what the last took, it slows down: two packets
///   for two round trips, then slow start to where it was.
/// - A loss during a slowdown belongs to the window that was saved: that is reduced, and the ramp
///   goes on.
///
/// While the transport repairs a loss, nothing else moves the window. It grows only if it was the limit.
#[derive(Clone, Debug)]
pub struct PlusPlus {
    table: Ledbat,
    cwnd: Cwnd,
    stage: Stage,
    /// When the next slowdown begins.
    slowdown_at: Time,
    srtt: Span,
    now: Time,
    /// What delay may still take this round trip, and where that ends.
    quota: f64,
    round_end: u64,
    filter: Filter,
    base: BaseDelay,
}

impl PlusPlus {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> PlusPlus {
        let stage = if table.slow_start { Stage::Start } else { Stage::Steady };
        PlusPlus {
            cwnd: Cwnd::new(&table, &params),
            stage,
            slowdown_at: Time::NEVER,
            srtt: Span::ZERO,
            now: Time::START,
            quota: 0.0,
            round_end: 0,
            filter: Filter::new(table.noise_filter),
            base: BaseDelay::new(table.base_history),
            table,
        }
    }

    /// 1 / min(16, ceil(2 target / base)).
    fn gain(&self) -> f64 {
        let base = f64::from(self.base.least().max(1));
        let steps = libm::ceil(2.0 * self.table.target_micros() / base);
        self.table.gain / steps.min(f64::from(self.table.gain_divisor)).max(1.0)
    }

    /// Steady from now on, with a slowdown after `wait` unless one is planned.
    fn steady(&mut self, now: Time, wait: Span) {
        self.stage = Stage::Steady;
        self.cwnd.slow_start = false;
        self.round_end = 0;
        if self.slowdown_at == Time::NEVER && self.table.slowdown_interval > 0 {
            self.slowdown_at = now + wait;
        }
    }

    fn slow_down(&mut self, now: Time) {
        self.cwnd.threshold = self.cwnd.bytes as u64;
        self.cwnd.slow_start = true;
        self.cwnd.bytes = self.cwnd.floor();
        self.slowdown_at = Time::NEVER;
        self.stage = Stage::Frozen(now, now + self.srtt * 2);
    }

    fn open(&mut self, ack: &Ack) {
        if ack.window_limited {
            self.cwnd.open(self.gain() * ack.acked as f64);
        }
    }

    fn steer(&mut self, ack: &Ack, queueing: f64) {
        let target = self.table.target_micros();
        let acked = ack.acked as f64;
        let gain = self.gain() * acked * self.cwnd.packet / self.cwnd.bytes;
        if queueing <= target {
            self.round_end = 0;
            if ack.window_limited {
                self.cwnd.set(self.cwnd.bytes + gain);
            }
            return;
        }
        if ack.una >= self.round_end {
            self.round_end = ack.nxt.max(1);
            self.quota = self.cwnd.bytes / 2.0;
        }
        // A round trip of acknowledgements takes C W (queueing / target - 1), less the gain.
        let change = gain - self.table.decrease * acked * (queueing / target - 1.0);
        let taken = (-change).min(self.quota);
        self.quota -= taken.max(0.0);
        if taken > 0.0 || ack.window_limited {
            self.cwnd.set(self.cwnd.bytes - taken);
        }
    }
}

impl Controller for PlusPlus {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.srtt = ack.srtt;
        if let Some(rtt) = ack.rtt {
            let micros = (rtt.nanos() / 1000) as u32;
            self.base.see(ack.now, micros);
            self.filter.push(ack.now, micros);
        }
        if ack.acked == 0 || !ack.may_grow {
            return;
        }
        let Some(queueing) = self.filter.least_above(self.base.least()) else { return };
        let queueing = f64::from(queueing);
        match self.stage {
            Stage::Start => {
                let first = self.cwnd.threshold == u64::MAX;
                if first && queueing > self.table.slow_start_exit * self.table.target_micros() {
                    self.cwnd.leave_slow_start();
                } else {
                    self.open(ack);
                }
                if !self.cwnd.slow_start {
                    self.steady(ack.now, ack.srtt * 2);
                }
            }
            Stage::Steady if ack.now >= self.slowdown_at => self.slow_down(ack.now),
            Stage::Steady => {
                self.steer(ack, queueing);
            }
            Stage::Frozen(_, until) if ack.now < until => {}
            Stage::Frozen(since, _) | Stage::Ramp(since) => {
                self.stage = Stage::Ramp(since);
                self.open(ack);
                if !self.cwnd.slow_start {
                    let took = ack.now.since(since);
                    self.steady(ack.now, took * u64::from(self.table.slowdown_interval));
                }
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if !self.cwnd.owes(loss) {
            return;
        }
        match self.stage {
            Stage::Frozen(..) | Stage::Ramp(_) => {
                self.cwnd.remember();
                let saved = self.cwnd.threshold as f64 * self.table.loss_factor;
                self.cwnd.threshold = saved.max(self.cwnd.floor()) as u64;
                self.cwnd.bytes = self.cwnd.bytes.min(self.cwnd.threshold as f64);
            }
            Stage::Start => {
                self.cwnd.reduce();
                self.steady(self.now.max(loss.now), self.srtt * 2);
            }
            Stage::Steady => self.cwnd.reduce(),
        }
    }

    fn on_recovered(&mut self, limit: u64) {
        self.cwnd.limit(limit);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if matches!(self.stage, Stage::Frozen(..) | Stage::Ramp(_)) {
            // The window that was too large is the saved one.
            self.cwnd.bytes = self.cwnd.bytes.max(self.cwnd.threshold as f64);
        }
        self.cwnd.collapse(&self.table, loss, again);
        self.stage = if self.table.slow_start { Stage::Start } else { Stage::Steady };
    }

    fn on_undo(&mut self) {
        self.cwnd.undo();
        if !self.cwnd.slow_start || self.cwnd.bytes >= self.cwnd.threshold as f64 {
            self.cwnd.slow_start = false;
            self.stage = Stage::Steady;
        }
    }

    fn on_decay(&mut self, window: u64) {
        self.cwnd.decay(window);
    }

    fn on_resume(&mut self, _: Time, _: Span) {}

    fn on_idle(&mut self, _: Time) {
        self.cwnd.bytes = self.cwnd.bytes.max(self.cwnd.packet);
    }

    fn on_packet_size(&mut self, bytes: u32) {
        self.cwnd.packet = f64::from(bytes);
    }

    #[inline]
    fn window(&self) -> u64 {
        self.cwnd.bytes as u64
    }

    #[inline]
    fn threshold(&self) -> u64 {
        self.cwnd.shown_threshold()
    }
}
