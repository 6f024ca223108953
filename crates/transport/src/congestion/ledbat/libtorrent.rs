use super::base_delay::{BaseDelay, precedes};
use super::cwnd::Cwnd;
use super::filter::Filter;
use super::libutp::MOST_SKEW;
use super::table::Ledbat;
use crate::congestion::{Ack, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// A minute of base history ends with more than so many samples only: a connection that hardly
/// sends learns little.
const LEAST_SAMPLES: u32 = 120;

/// The controller of libtorrent 2 (`utp_socket_impl::do_ledbat`, `experienced_loss`). Against libutp:
///
/// - Slow start is exponential: it adds what is acknowledged, until the delay reaches the target,
///   and leaves a threshold of half the window (not the window itself) for the next one.
/// - The gain is for the part of what was in flight, not of the window, that is acknowledged.
/// - Nothing happens, in either direction, unless what was in flight and one packet exceed the
///   window.
/// - A loss leaves `loss_factor`, at most once in `loss_interval` and once per window of data.
/// - A timeout leaves a packet and begins slow start; with nothing in flight two thirds, and slow
///   start as well.
#[derive(Clone, Debug)]
pub struct Libtorrent {
    table: Ledbat,
    cwnd: Cwnd,
    /// Losses up to here belong to a reduction that was made.
    paid: u64,
    cut_at: Option<Time>,
    now: Time,
    filter: Filter,
    base: BaseDelay,
    opposite: BaseDelay,
}

impl Libtorrent {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> Libtorrent {
        Libtorrent {
            cwnd: Cwnd::new(&table, &params),
            paid: 0,
            cut_at: None,
            now: Time::START,
            filter: Filter::new(table.noise_filter),
            base: BaseDelay::new(table.base_history).ending_after(LEAST_SAMPLES),
            opposite: BaseDelay::new(table.base_history).ending_after(LEAST_SAMPLES),
            table,
        }
    }

    fn see(&mut self, ack: &Ack) {
        if let Some(opposite) = ack.opposite_delay {
            let before = self.opposite.is_known().then(|| self.opposite.least());
            self.opposite.see(ack.now, opposite);
            let least = self.opposite.least();
            if let Some(before) = before
                && precedes(least, before)
                && before.wrapping_sub(least) < MOST_SKEW
                && self.base.is_known()
            {
                self.base.raise(before.wrapping_sub(least));
            }
        }
        if let Some(delay) = ack.one_way_delay {
            let above = self.base.see(ack.now, delay);
            self.filter.push(ack.now, above);
        }
    }

    fn apply(&mut self, ack: &Ack, delay: f64) {
        let target = self.table.target_micros();
        let cwnd = &mut self.cwnd;
        if cwnd.slow_start && delay >= target * self.table.slow_start_exit {
            cwnd.threshold = (cwnd.bytes / 2.0) as u64;
            cwnd.slow_start = false;
        }
        let (acked, in_flight) = (ack.acked as f64, ack.in_flight as f64);
        if in_flight + cwnd.packet <= cwnd.bytes.trunc() {
            return;
        }
        let increase = f64::from(self.table.max_increase_bytes);
        let mut gain = acked / in_flight * ((target - delay) / target) * increase;
        if cwnd.slow_start {
            if cwnd.bytes + acked > cwnd.threshold as f64 {
                cwnd.slow_start = false;
            } else {
                gain = gain.max(acked);
            }
        }
        if gain <= 0.0 || ack.may_grow {
            cwnd.set(cwnd.bytes + gain);
        }
    }
}

impl Controller for Libtorrent {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.see(ack);
        if ack.one_way_delay.is_none() || ack.acked == 0 || ack.in_flight == 0 {
            return;
        }
        let Some(delay) = self.filter.least_above(0) else { return };
        let rtt = ack.rtt.map_or(u64::MAX, |rtt| rtt.nanos() / 1000);
        self.apply(ack, u64::from(delay).min(rtt) as f64);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let now = self.now.max(loss.now);
        let same = self.paid > 0 && loss.offset <= self.paid;
        let soon = self.cut_at.is_some_and(|at| now.since(at) < self.table.loss_interval_ns);
        if same || soon {
            return;
        }
        self.paid = loss.nxt;
        self.cut_at = Some(now);
        let threshold = self.cwnd.threshold;
        let slow_start = self.cwnd.slow_start;
        self.cwnd.reduce();
        if !slow_start {
            self.cwnd.threshold = threshold;
        }
    }

    fn on_recovered(&mut self, limit: u64) {
        self.cwnd.limit(limit);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.cwnd.remember();
        }
        self.paid = loss.nxt;
        self.cwnd.slow_start = self.table.slow_start;
        self.cwnd.bytes = self.cwnd.packet;
    }

    fn on_undo(&mut self) {
        self.cwnd.undo();
    }

    fn on_decay(&mut self, window: u64) {
        self.cwnd.decay(window);
    }

    fn on_resume(&mut self, _: Time, _: Span) {}

    fn on_idle(&mut self, _: Time) {
        let cwnd = &mut self.cwnd;
        cwnd.bytes = (cwnd.bytes * 2.0 / 3.0).max(cwnd.packet);
        cwnd.slow_start = self.table.slow_start;
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
