use super::base_delay::BaseDelay;
use super::cwnd::{Cwnd, answers_of_cwnd};
use super::filter::Filter;
use super::libutp::gain;
use super::table::Ledbat;
use crate::congestion::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::Time;

/// The controller of libutp's first public commit (May 2010, `apply_ledbat_ccontrol`), the closest
/// relative of the clients in rossi2010. Against today's:
///
/// - No slow start; growth is 3000 bytes per round trip from the first packet on. (With the knob on,
///   it is today's.)
/// - A loss leaves 0.78, and every timer that fires one packet, also with nothing in flight.
/// - A window counts as unused after 300 ms.
/// - No repair of the clocks: the base of the other direction is looked at after it was updated, so
///   that the code for it never acts. A delay counts for at most the round trip.
#[derive(Clone, Debug)]
pub struct Libutp2010 {
    table: Ledbat,
    cwnd: Cwnd,
    limited_at: Time,
    cut_at: Option<Time>,
    now: Time,
    filter: Filter,
    base: BaseDelay,
}

impl Libutp2010 {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> Libutp2010 {
        let mut cwnd = Cwnd::new(&table, &params);
        cwnd.threshold = table.max_window_bytes;
        Libutp2010 {
            cwnd,
            limited_at: Time::START,
            cut_at: None,
            now: Time::START,
            filter: Filter::zeros(table.noise_filter),
            base: BaseDelay::new(table.base_history, params.now),
            table,
        }
    }

    fn apply(&mut self, ack: &Ack) {
        let delay = self.filter.min_above(0).unwrap_or(0);
        let rtt = ack.rtt.map_or(u64::MAX, |rtt| rtt.nanos() / 1000);
        let delay = u64::from(delay).min(rtt) as f64;
        let cwnd = &mut self.cwnd;
        if cwnd.slow_start && delay > self.table.target_micros() * self.table.slow_start_exit {
            cwnd.leave_slow_start();
        }
        let acked = ack.acked as f64;
        let mut change = gain(&self.table, cwnd.bytes, acked, delay);
        if cwnd.slow_start {
            change = change.max(acked.min(cwnd.bytes) / acked.max(cwnd.bytes) * cwnd.packet);
        }
        let unused = ack.now.since(self.limited_at) > self.table.app_limited_ns;
        if change > 0.0 && (unused || !ack.may_grow) {
            change = 0.0;
        }
        cwnd.set((cwnd.bytes + change).trunc());
    }
}

impl Build for Libutp2010 {
    const NEEDS_ONE_WAY_DELAY: bool = true;

    fn table() -> Option<Ledbat> {
        Some(super::libutp_2010())
    }

    fn build(params: Params) -> Libutp2010 {
        Libutp2010::new(params.checked_ledbat(), params)
    }
}

impl Controller for Libutp2010 {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.limited_at = self.limited_at.max(ack.limited_at);
        let Some(delay) = ack.one_way_delay else { return };
        let above = self.base.see(ack.now, delay);
        self.filter.push(ack.now, above);
        if ack.acked > 0 {
            self.apply(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let now = self.now.max(loss.now);
        if self.cut_at.is_some_and(|at| now.since(at) < self.table.loss_interval_ns) {
            return;
        }
        self.cut_at = Some(now);
        self.cwnd.reduce();
        self.cwnd.bytes = self.cwnd.bytes.trunc();
    }

    fn on_timeout(&mut self, _: &Loss, again: bool) {
        if !again {
            self.cwnd.remember();
        }
        self.cwnd.slow_start = self.table.slow_start;
        self.cwnd.bytes = self.cwnd.packet;
    }

    fn on_idle(&mut self, _: Time) {
        self.cwnd.slow_start = self.table.slow_start;
        self.cwnd.bytes = self.cwnd.packet;
    }

    answers_of_cwnd!(undo);
}

#[cfg(test)]
mod tests {
    use super::super::flavours::{alpha2, libutp_2010};
    use super::*;
    use crate::congestion::tests::{ack, loss, params};
    use flashcrowd_base::Span;

    fn at(ms: u64) -> Time {
        Time::START + Span::from_millis(ms)
    }

    #[test]
    fn there_is_no_slow_start_and_a_loss_costs_a_fifth() {
        let mut socket = Libutp2010::new(libutp_2010(), params(1));
        let acked = Ack { one_way_delay: Some(7), ..ack(1000) };
        socket.on_ack(&acked);
        assert_eq!(socket.window(), 4000);
        socket.on_ack(&acked);
        assert_eq!(socket.window(), 4750);
        for (ms, expected) in [(1000, 3705), (1050, 3705), (1100, 2889)] {
            socket.on_loss(&Loss { now: at(ms), ..loss(0) });
            assert_eq!(socket.window(), expected);
        }
        socket.on_idle(at(2000));
        assert_eq!(socket.window(), 1000, "an idle timer as well leaves one packet");
    }

    /// A delay that is longer than the round trip is no delay: clocks differ by that.
    #[test]
    fn no_delay_is_longer_than_the_round_trip() {
        let after = |delay, rtt| {
            let table = Ledbat { noise_filter: 1, ..libutp_2010() };
            let mut socket = Libutp2010::new(table, params(40));
            socket.on_ack(&Ack { one_way_delay: Some(0), ..ack(1000) });
            socket.on_ack(&Ack { one_way_delay: Some(delay), rtt, ..ack(1000) });
            socket.window()
        };
        let rtt = Some(Span::from_millis(150));
        assert!(after(500_000, None) < after(150_000, None));
        assert_eq!(after(500_000, rtt), after(150_000, None));
        assert_eq!(after(120_000, rtt), after(120_000, None));
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_can_be_taken_back() {
        let mut socket = Libutp2010::new(libutp_2010(), params(10));
        for again in [false, true] {
            socket.on_timeout(&loss(10_000), again);
            assert_eq!(socket.window(), 1000);
        }
        socket.on_undo();
        assert_eq!(socket.window(), 10_000);
    }

    #[test]
    fn an_unused_window_stays_after_300_ms() {
        let mut socket = Libutp2010::new(libutp_2010(), params(4));
        let acked = Ack { one_way_delay: Some(7), limited_at: at(1000), ..ack(1000) };
        socket.on_ack(&Ack { now: at(1300), ..acked });
        assert_eq!(socket.window(), 4750);
        socket.on_ack(&Ack { now: at(1301), ..acked });
        assert_eq!(socket.window(), 4750);
    }

    /// rossi2010: alpha2 never has more than 20 full packets in flight.
    #[test]
    fn the_send_buffer_bounds_the_window() {
        let mut socket = Libutp2010::new(alpha2(), params(1));
        for _ in 0..1000 {
            socket.on_ack(&Ack { one_way_delay: Some(7), ..ack(1000) });
        }
        assert_eq!(socket.window(), 30_000);
    }
    /// A way that became longer by more than the target is a queue until the short one is forgotten:
    /// after two minutes as BEP 29 says, or thirteen as the code of 2010 has it.
    #[test]
    fn alpha2_forgets_a_shorter_way_in_two_minutes() {
        let thirteen = Ledbat { base_history: libutp_2010().base_history, ..alpha2() };
        for (table, forgets_after) in [(alpha2(), 2), (thirteen, 13)] {
            let mut socket = Libutp2010::new(table, params(1));
            let mut run = |from: u64, minutes: u64, delay: u32| {
                for tenth in 0..600 * minutes {
                    let now = at(60_000 * from + 100 * tenth);
                    let sample =
                        Ack { now, limited_at: now, one_way_delay: Some(delay), ..ack(1000) };
                    socket.on_ack(&sample);
                }
                socket.window()
            };
            assert_eq!(run(0, 1, 20_000), 30_000);
            assert!(run(1, forgets_after - 1, 60_000) < 1000, "not yet");
            assert_eq!(run(forgets_after, 2, 60_000), 30_000);
        }
    }
}
