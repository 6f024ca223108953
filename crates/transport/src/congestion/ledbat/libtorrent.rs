use super::base_delay::{BaseDelay, precedes};
use super::cwnd::{Cwnd, answers_of_cwnd};
use super::filter::Filter;
use super::libutp::MAX_SKEW;
use super::table::Ledbat;
use crate::congestion::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::Time;

/// A minute of base history ends only with more samples than this: a connection that hardly
/// sends learns little.
const MIN_SAMPLES: u32 = 120;

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
    /// Losses up to this offset belong to a reduction that was made (RFC 6582, `recover`).
    recover: u64,
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
            recover: 0,
            cut_at: None,
            now: Time::START,
            filter: Filter::new(table.noise_filter),
            base: BaseDelay::new(table.base_history, params.now).ending_after(MIN_SAMPLES),
            opposite: BaseDelay::new(table.base_history, params.now).ending_after(MIN_SAMPLES),
            table,
        }
    }

    fn see(&mut self, ack: &Ack) {
        if let Some(opposite) = ack.opposite_delay {
            let before = self.opposite.is_known().then(|| self.opposite.min());
            self.opposite.see(ack.now, opposite);
            let min = self.opposite.min();
            if let Some(before) = before
                && precedes(min, before)
                && before.wrapping_sub(min) < MAX_SKEW
                && self.base.is_known()
            {
                self.base.raise(before.wrapping_sub(min));
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
        // m_bytes_in_flight + acked_bytes: what was left out of the second is gone from the first.
        if in_flight - ack.uncounted as f64 + cwnd.packet <= cwnd.bytes.trunc() {
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

impl Build for Libtorrent {
    const NEEDS_ONE_WAY_DELAY: bool = true;

    fn table() -> Option<Ledbat> {
        Some(super::libtorrent())
    }

    fn build(params: Params) -> Libtorrent {
        Libtorrent::new(params.checked_ledbat(), params)
    }
}

impl Controller for Libtorrent {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.see(ack);
        if ack.one_way_delay.is_none() || ack.acked == 0 || ack.in_flight == 0 {
            return;
        }
        let Some(delay) = self.filter.min_above(0) else { return };
        let rtt = ack.rtt.map_or(u64::MAX, |rtt| rtt.nanos() / 1000);
        self.apply(ack, u64::from(delay).min(rtt) as f64);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let now = self.now.max(loss.now);
        let same = self.recover > 0 && loss.offset <= self.recover;
        let soon = self.cut_at.is_some_and(|at| now.since(at) < self.table.loss_interval_ns);
        if same || soon {
            return;
        }
        self.recover = loss.nxt;
        self.cut_at = Some(now);
        let threshold = self.cwnd.threshold;
        let slow_start = self.cwnd.slow_start;
        self.cwnd.reduce();
        if !slow_start {
            self.cwnd.threshold = threshold;
        }
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.cwnd.remember();
        }
        self.recover = loss.nxt;
        self.cwnd.slow_start = self.table.slow_start;
        self.cwnd.bytes = self.cwnd.packet;
    }

    fn on_idle(&mut self, _: Time) {
        let cwnd = &mut self.cwnd;
        cwnd.bytes = (cwnd.bytes * 2.0 / 3.0).max(cwnd.packet);
        cwnd.slow_start = self.table.slow_start;
    }

    answers_of_cwnd!(undo);
}

#[cfg(test)]
mod tests {
    use super::super::flavours::libtorrent;
    use super::*;
    use crate::congestion::tests::{ack, loss, params};
    use flashcrowd_base::Span;

    fn at(ms: u64) -> Time {
        Time::START + Span::from_millis(ms)
    }

    fn socket(packets: u64) -> Libtorrent {
        Libtorrent::new(Ledbat { noise_filter: 1, ..libtorrent() }, params(packets))
    }

    fn acked(delay: u32, in_flight: u64) -> Ack {
        Ack { one_way_delay: Some(delay), in_flight, ..ack(1000) }
    }

    #[test]
    fn slow_start_is_exponential_until_the_target() {
        let mut socket = socket(1);
        socket.on_ack(&acked(0, 1000));
        assert_eq!(socket.window(), 4000, "3000 bytes per window are more at first");
        for _ in 0..20 {
            let in_flight = socket.window();
            socket.on_ack(&acked(99_999, in_flight));
        }
        assert_eq!((socket.window(), socket.threshold()), (24_000, u64::MAX));
        socket.on_ack(&acked(100_000, 24_000));
        assert_eq!((socket.window(), socket.threshold()), (24_000, 12_000), "half is remembered");
        // The next one ends there.
        socket.on_timeout(&loss(0), false);
        for _ in 0..30 {
            let in_flight = socket.window();
            socket.on_ack(&acked(95_000, in_flight));
        }
        assert!(!socket.cwnd.slow_start);
        assert!((12_000..12_500).contains(&socket.window()), "{}", socket.window());
    }

    #[test]
    fn the_gain_is_for_the_part_of_the_flight() {
        let mut socket = socket(10);
        socket.cwnd.slow_start = false;
        socket.on_ack(&acked(0, 10_000));
        assert_eq!(socket.window(), 10_300);
        socket.on_ack(&acked(200_000, 10_000));
        assert_eq!(socket.window(), 10_000);
        socket.on_ack(&acked(0, 9000));
        assert_eq!(socket.window(), 10_000, "what was in flight left room for a packet");
        socket.on_ack(&acked(200_000, 9000));
        assert_eq!(socket.window(), 10_000, "in both directions");
        let ack = Ack { uncounted: 1000, ..acked(200_000, 10_000) };
        socket.on_ack(&ack);
        assert_eq!(socket.window(), 10_000, "what did not count has left");
        for _ in 0..1000 {
            socket.on_ack(&acked(1_000_000, 10_000));
        }
        assert_eq!(socket.window(), 1000, "one packet at least");
    }

    #[test]
    fn a_loss_counts_once_per_window_and_once_per_100_ms() {
        let mut socket = socket(32);
        let loss = |ms, offset, nxt| Loss { now: at(ms), offset, nxt, ..loss(0) };
        socket.on_loss(&loss(1000, 0, 32_000));
        assert_eq!((socket.window(), socket.threshold()), (16_000, 16_000));
        socket.on_loss(&loss(2000, 31_000, 50_000));
        assert_eq!(socket.window(), 16_000, "the same window");
        socket.on_loss(&loss(2000, 40_000, 50_000));
        assert_eq!(socket.window(), 8000);
        socket.on_loss(&loss(2099, 60_000, 70_000));
        assert_eq!(socket.window(), 8000, "too soon");
        socket.on_loss(&loss(2100, 60_000, 70_000));
        assert_eq!(socket.window(), 4000);
        socket.on_idle(at(5000));
        assert_eq!((socket.window(), socket.cwnd.slow_start), (2666, true));
    }
}
