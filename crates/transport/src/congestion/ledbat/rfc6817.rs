use super::base_delay::BaseDelay;
use super::cwnd::{Cwnd, answers_of_cwnd};
use super::filter::Filter;
use super::table::Ledbat;
use crate::congestion::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};
use std::marker::PhantomData;

/// By how much an acknowledgement moves the window, in bytes.
pub trait Rule: Clone + std::fmt::Debug {
    /// The table with which it ships.
    fn table() -> Ledbat;
    /// Of a window that is, of `acked` bytes and with a queueing delay in parts of the target.
    fn change(table: &Ledbat, bytes: f64, packet: f64, acked: f64, queueing: f64) -> f64;
}

/// The rule of RFC 6817, section 2.4.2: a packet for a window acknowledged without a queue, none at the target.
#[derive(Clone, Debug)]
pub struct OffTarget;

impl Rule for OffTarget {
    fn table() -> Ledbat {
        super::rfc_6817()
    }

    fn change(table: &Ledbat, bytes: f64, packet: f64, acked: f64, queueing: f64) -> f64 {
        table.gain * (1.0 - queueing) * acked * packet / bytes
    }
}

/// LEDBAT by RFC 6817, in real numbers.
pub type Rfc6817 = Steered<OffTarget>;

/// RFC 6817 without the rule by which the window moves.
///
/// - Samples older than a round trip do not count for the current delay (section 2.4.2: the list
///   SHOULD be so limited), which matters for windows of less packets than the filter has samples.
/// - Without a sample the window stays.
/// - While the transport repairs a loss the window may come down by delay, but not grow.
/// - With slow start, which the RFC leaves open, the window opens by what is acknowledged until the
///   queue is `slow_start_exit` of the target.
#[derive(Clone, Debug)]
pub struct Steered<R> {
    table: Ledbat,
    cwnd: Cwnd,
    filter: Filter,
    base: BaseDelay,
    rule: PhantomData<R>,
}

impl<R: Rule> Steered<R> {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> Steered<R> {
        Steered {
            cwnd: Cwnd::new(&table, &params),
            filter: Filter::new(table.noise_filter),
            base: BaseDelay::new(table.base_history, params.now),
            table,
            rule: PhantomData,
        }
    }

    /// The queueing delay in microseconds.
    fn queueing(&self, ack: &Ack) -> Option<f64> {
        let age = if ack.srtt.is_zero() { Span::MAX } else { ack.srtt };
        self.filter.min_recent_above(self.base.min(), ack.now, age).map(f64::from)
    }
}

impl<R: Rule> Build for Steered<R> {
    const NEEDS_ONE_WAY_DELAY: bool = true;

    fn table() -> Option<Ledbat> {
        Some(R::table())
    }

    fn build(params: Params) -> Steered<R> {
        Steered::new(params.checked_ledbat(), params)
    }
}

impl<R: Rule> Controller for Steered<R> {
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
            R::change(&self.table, cwnd.bytes, cwnd.packet, acked, queueing / target)
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
        if self.cwnd.begins_reduction(loss) {
            self.cwnd.reduce();
        }
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        self.cwnd.collapse(&self.table, loss, again);
    }

    /// A window below a packet would wait for ever.
    fn on_idle(&mut self, _: Time) {
        self.cwnd.bytes = self.cwnd.bytes.max(self.cwnd.packet);
    }

    answers_of_cwnd!(undo);
}

#[cfg(test)]
mod tests {
    use super::super::flavours::rfc_6817;
    use super::*;
    use crate::congestion::tests::{ack, loss, params};

    const MSS: u64 = 1446;

    /// A controller of ns-3's test: base delay 20 ms, one sample.
    fn ns3(window: u64) -> Rfc6817 {
        let params = Params { mss: MSS as u32, initial_window: window, ..params(0) };
        let mut ledbat = Rfc6817::new(Ledbat { noise_filter: 1, ..rfc_6817() }, params);
        ledbat.on_ack(&Ack { one_way_delay: Some(20_000), ..ack(0) });
        ledbat
    }

    fn acked(delay: u32, in_flight: u64) -> Ack {
        Ack { one_way_delay: Some(delay), in_flight, ..ack(2 * MSS) }
    }

    /// ns-3, tcp-ledbat-test: two segments are acknowledged; the flight there is that which is left.
    #[test]
    fn the_window_moves_as_in_ns_3() {
        for (window, delay, left, expected) in [
            (8676, 60_000, 4 * MSS, 8965),
            (8676, 60_000, 3 * MSS, 8676),
            (8676, 140_000, 4 * MSS, 8579),
            (2892, 140_000, 0, 2892),
        ] {
            let mut ledbat = ns3(window);
            ledbat.on_ack(&acked(delay, left + 2 * MSS));
            assert_eq!(ledbat.window(), expected, "{window} at {delay} us");
        }
    }

    /// RFC 6817, section 2.4.2: a window of acknowledgements without a queue is a packet more, at
    /// the target nothing, at twice the target a packet less.
    #[test]
    fn a_window_of_acknowledgements_moves_it_by_a_packet() {
        for (delay, change) in [(20, 1.0), (70, 0.5), (120, 0.0), (220, -1.0), (320, -2.0)] {
            let mut ledbat = ns3(100 * MSS);
            for _ in 0..50 {
                ledbat.on_ack(&acked(delay * 1000, 100 * MSS));
            }
            let moved = (ledbat.cwnd.bytes - (100 * MSS) as f64) / MSS as f64;
            assert!((moved - change).abs() < 0.03, "{moved} at {delay} ms");
        }
    }

    #[test]
    fn a_loss_halves_once_per_window_and_a_timeout_leaves_a_packet() {
        let mut ledbat = ns3(20 * MSS);
        ledbat.on_loss(&Loss { offset: 0, nxt: 20 * MSS, ..loss(20 * MSS) });
        assert_eq!(ledbat.window(), 10 * MSS);
        ledbat.on_loss(&Loss { offset: 19 * MSS, nxt: 21 * MSS, ..loss(10 * MSS) });
        assert_eq!(ledbat.window(), 10 * MSS, "the same window");
        ledbat.on_loss(&Loss { offset: 20 * MSS, nxt: 30 * MSS, ..loss(10 * MSS) });
        assert_eq!(ledbat.window(), 5 * MSS, "the next");
        ledbat.on_undo();
        assert_eq!(ledbat.window(), 10 * MSS);
        ledbat.on_timeout(&loss(10 * MSS), false);
        assert_eq!(ledbat.window(), MSS);
        ledbat.on_ack(&acked(20_000, MSS));
        assert_eq!(ledbat.window(), 2 * MSS, "MIN_CWND holds again");
        ledbat.on_loss(&Loss { offset: 1 << 30, nxt: 1 << 31, ..loss(2 * MSS) });
        assert_eq!(ledbat.window(), 2 * MSS);
    }

    #[test]
    fn slow_start_is_an_option_and_ends_when_a_queue_shows() {
        let table = Ledbat { slow_start: true, noise_filter: 1, ..rfc_6817() };
        let mut ledbat = Rfc6817::new(table, params(2));
        let ack = |delay| Ack { one_way_delay: Some(delay), in_flight: 1 << 20, ..ack(1000) };
        ledbat.on_ack(&ack(0));
        ledbat.on_ack(&ack(75_000));
        assert_eq!((ledbat.window(), ledbat.threshold()), (4000, u64::MAX));
        ledbat.on_ack(&ack(75_001));
        assert_eq!((ledbat.window(), ledbat.threshold()), (4062, 4000));
        ledbat.on_timeout(&loss(4062), false);
        assert_eq!((ledbat.window(), ledbat.threshold()), (1000, 2031));
    }

    #[test]
    fn repairs_keep_it_from_growing_but_not_from_yielding() {
        let mut ledbat = ns3(8676);
        ledbat.on_ack(&Ack { may_grow: false, ..acked(20_000, 8676) });
        assert_eq!(ledbat.window(), 8676);
        ledbat.on_ack(&Ack { may_grow: false, ..acked(140_000, 8676) });
        assert_eq!(ledbat.window(), 8579);
        let before = ledbat.window();
        ledbat.on_ack(&Ack { one_way_delay: None, ..ack(0) });
        assert_eq!(ledbat.window(), before, "nothing acknowledged");
    }

    #[test]
    fn without_a_sample_the_window_stays() {
        let mut ledbat = Rfc6817::new(rfc_6817(), params(2));
        for _ in 0..100 {
            ledbat.on_ack(&Ack { in_flight: 1 << 20, ..ack(1000) });
        }
        assert_eq!(ledbat.window(), 2000);
    }
}
