use super::base_delay::BaseDelay;
use super::cwnd::Cwnd;
use super::filter::Filter;
use super::table::Ledbat;
use crate::congestion::{Ack, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// LEDBAT by RFC 6817, in real numbers.
///
/// - Samples older than a round trip do not count for the current delay (section 2.4.2: the list
///   SHOULD be so limited), which matters for windows of less packets than the filter has samples.
/// - Without a sample the window stays.
/// - While the transport repairs a loss the window may come down by delay, but not grow.
/// - With slow start, which the RFC leaves open, the window opens by what is acknowledged until the
///   queue is `slow_start_exit` of the target.
#[derive(Clone, Debug)]
pub struct Rfc6817 {
    table: Ledbat,
    cwnd: Cwnd,
    filter: Filter,
    base: BaseDelay,
}

impl Rfc6817 {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> Rfc6817 {
        Rfc6817 {
            cwnd: Cwnd::new(&table, &params),
            filter: Filter::new(table.noise_filter),
            base: BaseDelay::new(table.base_history),
            table,
        }
    }

    /// The queueing delay in microseconds.
    fn queueing(&self, ack: &Ack) -> Option<f64> {
        let age = if ack.srtt.is_zero() { Span::MAX } else { ack.srtt };
        self.filter.least_recent_above(self.base.least(), ack.now, age).map(f64::from)
    }
}

impl Controller for Rfc6817 {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(delay) = ack.one_way_delay {
            self.base.see(ack.now, delay);
            self.filter.push(ack.now, delay);
        }
        if ack.acked == 0 {
            return;
        }
        let Some(queueing) = self.queueing(ack) else { return };
        let target = self.table.target_micros();
        let acked = ack.acked as f64;
        let cwnd = &mut self.cwnd;
        if cwnd.slow_start && queueing > self.table.slow_start_exit * target {
            cwnd.leave_slow_start();
        }
        let change = if cwnd.slow_start {
            acked
        } else {
            let off_target = (target - queueing) / target;
            self.table.gain * off_target * acked * cwnd.packet / cwnd.bytes
        };
        let bounded = self.table.allowed_increase_packets > 0;
        if change > 0.0 && !(ack.may_grow && (bounded || ack.window_limited)) {
            return;
        }
        if cwnd.slow_start {
            cwnd.open(change);
        } else {
            cwnd.set(cwnd.bytes + change);
        }
        if bounded && ack.may_grow {
            let allowed = f64::from(self.table.allowed_increase_packets) * cwnd.packet;
            cwnd.set(cwnd.bytes.min(ack.in_flight as f64 + allowed));
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.cwnd.owes(loss) {
            self.cwnd.reduce();
        }
    }

    fn on_recovered(&mut self, limit: u64) {
        self.cwnd.limit(limit);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        self.cwnd.collapse(&self.table, loss, again);
    }

    fn on_undo(&mut self) {
        self.cwnd.undo();
    }

    fn on_decay(&mut self, window: u64) {
        self.cwnd.decay(window);
    }

    fn on_resume(&mut self, _: Time, _: Span) {}

    /// A window below a packet would wait for ever.
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
