use super::base_delay::{BaseDelay, precedes};
use super::cwnd::{Cwnd, answers_of_cwnd};
use super::drift::Drift;
use super::filter::Filter;
use super::table::Ledbat;
use crate::congestion::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::Time;

/// Largest decrease of the other direction's base delay, in microseconds, that is taken for a
/// drift of the clocks.
pub(super) const MAX_SKEW: u32 = 10_000;

/// The controller of libutp since 2013 (`UTPSocket::apply_ccontrol`), to the byte: the window is
/// whole bytes and loses its fraction with every acknowledgement.
///
/// - Delays above the base at the time are kept, not the delays; the list begins with zeros.
/// - Slow start adds at most a packet per round trip, so it is overtaken by the linear gain of 3000
///   bytes. It ends at a delay of `slow_start_exit` of the target, at the first loss, or at the
///   greatest window.
/// - A window that was not full for `app_limited` does not grow. Flight size does not bound it.
/// - A loss leaves `loss_factor` of the window, at most once in `loss_interval`, whatever the
///   window it is in.
/// - A timeout leaves one packet and begins slow start; a timer that fires with nothing in flight
///   leaves two thirds, or a packet.
/// - Clocks: when the base of the other direction comes down, ours goes up by as much; a delay above
///   the round trip raises the base; a sender whose clock runs slow by more than 4 % is penalised.
#[derive(Clone, Debug)]
pub struct Libutp {
    table: Ledbat,
    cwnd: Cwnd,
    limited_at: Time,
    cut_at: Option<Time>,
    now: Time,
    drift: Drift,
    filter: Filter,
    base: BaseDelay,
    opposite: BaseDelay,
}

/// The gain of a window of `bytes` by an acknowledgement at this delay.
pub(super) fn gain(table: &Ledbat, bytes: f64, acked: f64, delay: f64) -> f64 {
    let target = table.target_micros();
    let window_factor = acked.min(bytes) / acked.max(bytes);
    f64::from(table.max_increase_bytes) * window_factor * ((target - delay) / target)
}

impl Libutp {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> Libutp {
        let mut cwnd = Cwnd::new(&table, &params);
        cwnd.threshold = table.max_window_bytes;
        Libutp {
            cwnd,
            limited_at: Time::START,
            cut_at: None,
            now: Time::START,
            drift: Drift::new(params.now),
            filter: Filter::zeros(table.noise_filter),
            base: BaseDelay::new(table.base_history, params.now),
            opposite: BaseDelay::new(table.base_history, params.now),
            table,
        }
    }

    /// Delays in both directions.
    fn see(&mut self, ack: &Ack) {
        if let Some(opposite) = ack.opposite_delay {
            let before = self.opposite.is_known().then(|| self.opposite.min());
            self.opposite.see(ack.now, opposite);
            let min = self.opposite.min();
            if let Some(before) = before
                && precedes(min, before)
                && before.wrapping_sub(min) <= MAX_SKEW
                && self.base.is_known()
            {
                self.base.raise(before.wrapping_sub(min));
            }
        }
        if let Some(delay) = ack.one_way_delay {
            let above = self.base.see(ack.now, delay);
            self.filter.push(ack.now, above);
            self.drift.see(ack.now, delay);
        }
        if let (Some(delay), Some(rtt)) = (self.filter.min_above(0), ack.rtt)
            && self.base.is_known()
        {
            let rtt = (rtt.nanos() / 1000) as u32;
            if delay > rtt {
                self.base.raise(delay - rtt);
            }
        }
    }

    fn apply(&mut self, ack: &Ack) {
        let delay = self.filter.min_above(0).unwrap_or(0);
        let rtt = ack.rtt.map_or(u64::MAX, |rtt| rtt.nanos() / 1000);
        let delay = u64::from(delay).min(rtt) as f64 + f64::from(self.drift.penalty());
        let acked = ack.acked as f64;
        let cwnd = &mut self.cwnd;
        let mut gain = gain(&self.table, cwnd.bytes, acked, delay);
        let unused = ack.now.since(self.limited_at) > self.table.app_limited_ns;
        if gain > 0.0 && (unused || !ack.may_grow) {
            gain = 0.0;
        }
        let ledbat = (cwnd.bytes + gain).max(cwnd.floor()).trunc();
        if !cwnd.slow_start {
            cwnd.set(ledbat);
            return;
        }
        let factor = acked.min(cwnd.bytes) / acked.max(cwnd.bytes);
        let opened = (cwnd.bytes + factor * cwnd.packet).trunc();
        if opened > cwnd.threshold as f64 {
            cwnd.slow_start = false;
        } else if delay > self.table.target_micros() * self.table.slow_start_exit {
            cwnd.leave_slow_start();
        } else if ack.may_grow {
            cwnd.set(opened.max(ledbat));
        }
    }
}

impl Build for Libutp {
    const NEEDS_ONE_WAY_DELAY: bool = true;

    fn table() -> Option<Ledbat> {
        Some(super::libutp())
    }

    fn build(params: Params) -> Libutp {
        Libutp::new(params.checked_ledbat(), params)
    }
}

impl Controller for Libutp {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.limited_at = self.limited_at.max(ack.limited_at);
        self.see(ack);
        if ack.one_way_delay.is_some() && ack.acked > 0 {
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
        let cwnd = &mut self.cwnd;
        if cwnd.bytes > cwnd.packet {
            cwnd.bytes = (cwnd.bytes * 2.0 / 3.0).trunc().max(cwnd.packet);
        } else {
            cwnd.bytes = cwnd.packet;
            cwnd.slow_start = self.table.slow_start;
        }
    }

    answers_of_cwnd!(undo);
}

#[cfg(test)]
mod tests {
    use super::super::flavours::libutp;
    use super::*;
    use crate::congestion::tests::{ack, loss, params};
    use flashcrowd_base::Span;

    const PACKET: u32 = 1382;

    fn at(ms: u64) -> Time {
        Time::START + Span::from_millis(ms)
    }

    /// A controller that has seen three delays of 20 ms, with a window of `window` bytes.
    fn socket(window: f64) -> Libutp {
        let params = Params { mss: PACKET, initial_window: PACKET.into(), ..params(0) };
        let mut socket = Libutp::new(libutp(), params);
        for _ in 0..3 {
            socket.on_ack(&Ack { one_way_delay: Some(20_000), ..ack(0) });
        }
        socket.cwnd.slow_start = false;
        socket.cwnd.bytes = window;
        socket
    }

    fn acked(bytes: u64, delay: u32) -> Ack {
        Ack {
            one_way_delay: Some(delay),
            rtt: Some(Span::from_secs(1)),
            limited_at: Time::START,
            ..ack(bytes)
        }
    }

    /// Its own first window, on a path of 20 ms: 1382 bytes, then 1382 and 3000 more, three packets.
    #[test]
    fn the_first_window_is_overtaken_by_the_linear_gain() {
        let mut socket = socket(f64::from(PACKET));
        socket.cwnd.slow_start = true;
        socket.on_ack(&acked(PACKET.into(), 20_000));
        assert_eq!(socket.window(), u64::from(PACKET) + 3000);
        assert_eq!(socket.window() / u64::from(PACKET), 3);
    }

    /// gain = 3000 * min(acked, window) / max(...) * (target - delay) / target, truncated.
    #[test]
    fn the_gain_is_in_bytes_and_loses_its_fraction() {
        for (window, bytes, queue, expected) in [
            (100_000.0, 1382, 0, 100_041),
            (100_000.0, 1382, 50_000, 100_020),
            (100_000.0, 1382, 99_000, 100_000),
            (100_000.0, 1382, 100_000, 100_000),
            (100_000.0, 1382, 101_000, 99_999),
            (100_000.0, 1382, 200_000, 99_958),
            (1000.0, 1382, 0, 3170),
            (1000.0, 1382, 900_000, 10),
        ] {
            let mut socket = socket(window);
            for _ in 0..2 {
                socket.on_ack(&Ack { acked: 0, ..acked(0, 20_000 + queue) });
            }
            socket.on_ack(&acked(bytes, 20_000 + queue));
            assert_eq!(socket.window(), expected, "{window} {bytes} {queue}");
        }
    }

    #[test]
    fn a_window_that_was_not_full_for_a_second_stays() {
        let mut socket = socket(10_000.0);
        socket.on_ack(&Ack { now: at(5000), limited_at: at(4000), ..acked(1382, 20_000) });
        assert_eq!(socket.window(), 10_414);
        socket.on_ack(&Ack { now: at(5001), limited_at: at(4000), ..acked(1382, 20_000) });
        assert_eq!(socket.window(), 10_414);
    }

    #[test]
    fn losses_halve_every_100_ms_and_timers_differ_by_what_is_in_flight() {
        let mut socket = socket(10_001.0);
        for (ms, expected) in [(1000, 5000), (1099, 5000), (1100, 2500)] {
            socket.on_loss(&Loss { now: at(ms), ..loss(0) });
            assert_eq!((socket.window(), socket.threshold()), (expected, expected));
        }
        socket.on_idle(at(2000));
        assert_eq!(socket.window(), 1666);
        socket.on_idle(at(3000));
        assert_eq!(socket.window(), 1382);
        assert!(!socket.cwnd.slow_start);
        socket.cwnd.bytes = 700.0;
        socket.on_idle(at(4000));
        assert_eq!(socket.window(), 1382);
        assert!(socket.cwnd.slow_start, "no room for a packet starts over");
        socket.cwnd.bytes = 50_000.0;
        socket.on_timeout(&loss(0), false);
        assert_eq!((socket.window(), socket.threshold()), (1382, 2500));
    }

    #[test]
    fn slow_start_ends_at_nine_tenths_of_the_target() {
        let mut socket = socket(30_000.0);
        socket.cwnd.slow_start = true;
        for _ in 0..2 {
            socket.on_ack(&Ack { acked: 0, ..acked(0, 110_000) });
        }
        socket.on_ack(&acked(1382, 110_000));
        assert!(socket.cwnd.slow_start, "90 ms is not more than 90 ms");
        assert_eq!(socket.window(), 30_063, "slow start's packet per window is more");
        for _ in 0..3 {
            socket.on_ack(&Ack { acked: 0, ..acked(0, 110_001) });
        }
        socket.on_ack(&acked(1382, 110_001));
        assert_eq!((socket.window(), socket.threshold()), (30_063, 30_063));
    }

    #[test]
    fn clocks_are_repaired() {
        // The other direction became 4 ms shorter: its clock, or ours, has drifted.
        let mut socket = socket(10_000.0);
        for opposite in [9000, 5000] {
            socket.on_ack(&Ack { opposite_delay: Some(opposite), ..ack(0) });
        }
        assert_eq!(socket.base.min(), 24_000);
        // 11 ms at once is no drift.
        socket.on_ack(&Ack { opposite_delay: Some(5000u32.wrapping_sub(11_000)), ..ack(0) });
        assert_eq!(socket.base.min(), 24_000);
        // A delay beyond the round trip cannot be.
        for _ in 0..3 {
            socket.on_ack(&acked(0, 94_000));
        }
        socket.on_ack(&Ack { rtt: Some(Span::from_millis(30)), ..acked(1382, 94_000) });
        assert_eq!(socket.base.min(), 24_000 + 40_000);
    }
}
