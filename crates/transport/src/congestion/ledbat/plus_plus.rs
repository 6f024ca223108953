use super::base_delay::BaseDelay;
use super::cwnd::{Cwnd, answers_of_cwnd};
use super::filter::Filter;
use super::table::Ledbat;
use crate::congestion::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// The stage of the window.
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
    /// The reduction that delay may still make this round trip, and where that ends.
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
            base: BaseDelay::new(table.base_history, params.now),
            table,
        }
    }

    /// 1 / min(16, ceil(2 target / base)).
    fn gain(&self) -> f64 {
        let base = f64::from(self.base.min().max(1));
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
        self.cwnd.forget();
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

impl Build for PlusPlus {
    fn table() -> Option<Ledbat> {
        Some(super::plus_plus())
    }

    fn build(params: Params) -> PlusPlus {
        PlusPlus::new(params.checked_ledbat(), params)
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
        let Some(queueing) = self.filter.min_above(self.base.min()) else { return };
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
        if !self.cwnd.begins_reduction(loss) {
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
        if matches!(self.stage, Stage::Start | Stage::Steady) {
            self.stage = if self.cwnd.slow_start { Stage::Start } else { Stage::Steady };
        }
    }

    fn on_idle(&mut self, _: Time) {
        self.cwnd.bytes = self.cwnd.bytes.max(self.cwnd.packet);
    }

    answers_of_cwnd!();
}

#[cfg(test)]
mod tests {
    use super::super::flavours::plus_plus;
    use super::*;
    use crate::congestion::tests::{ack, loss, params};

    fn at(ms: u64) -> Time {
        Time::START + Span::from_millis(ms)
    }

    /// A controller in its steady stage, on a path of this many milliseconds.
    fn steady(packets: u64, base_ms: u64) -> PlusPlus {
        let table = Ledbat { noise_filter: 1, slow_start: false, ..plus_plus() };
        let mut controller = PlusPlus::new(table, params(packets));
        controller.on_ack(&Ack { rtt: Some(Span::from_millis(base_ms)), ..ack(0) });
        controller
    }

    /// The draft's table: 1/16 up to 7.5 ms, 1/6 at 20 ms, 1/2 at 60 ms, 1 from 120 ms.
    #[test]
    fn the_gain_follows_the_base_round_trip() {
        for (ms, divisor) in
            [(1, 16), (7, 16), (8, 15), (20, 6), (60, 2), (119, 2), (120, 1), (500, 1)]
        {
            let gain = steady(10, ms).gain();
            assert!((gain - 1.0 / f64::from(divisor)).abs() < 1e-9, "{gain} at {ms} ms");
        }
    }

    /// The effect of a round trip at this queueing delay on 100 packets, base 20 ms: +1/6 up to the
    /// target, 1/6 - 10 at 66 ms, and never more than half.
    #[test]
    fn a_round_trip_moves_the_window_by_the_drafts_numbers() {
        for (queue_us, change) in
            [(0, 1.0 / 6.0), (60_000, 1.0 / 6.0), (66_000, 1.0 / 6.0 - 10.0), (600_000, -50.0)]
        {
            let mut controller = steady(100, 20);
            for packet in 0..100 {
                controller.on_ack(&Ack {
                    rtt: Some(Span::from_micros(20_000 + queue_us)),
                    una: 1000 * packet,
                    nxt: 100_000 + 1000 * packet,
                    ..ack(1000)
                });
            }
            let moved = (controller.cwnd.bytes - 100_000.0) / 1000.0;
            assert!((moved - change).abs() < 0.02, "{moved} at {queue_us} us, not {change}");
        }
    }

    /// Acknowledges a packet every 10 ms, 100 ms away, with this queue.
    fn step(controller: &mut PlusPlus, now: &mut u64, queue_ms: u64) {
        *now += 10;
        let rtt = Span::from_millis(100 + queue_ms);
        controller.on_ack(&Ack { now: at(*now), rtt: Some(rtt), srtt: rtt, ..ack(1000) });
    }

    #[test]
    fn it_starts_slowly_down_and_then_every_tenth() {
        let mut controller = PlusPlus::new(Ledbat { noise_filter: 1, ..plus_plus() }, params(2));
        let mut now = 0;
        // ceil(120 / 100) = 2: half a packet for each acknowledged.
        for _ in 0..16 {
            step(&mut controller, &mut now, 0);
        }
        assert_eq!(controller.window(), 10_000);
        step(&mut controller, &mut now, 45);
        assert_eq!(controller.stage, Stage::Start, "45 ms is three quarters, and not more");
        step(&mut controller, &mut now, 46);
        let left = now;
        assert_eq!((controller.stage, controller.threshold()), (Stage::Steady, 10_500));
        while controller.stage == Stage::Steady {
            step(&mut controller, &mut now, 0);
        }
        let began = now;
        assert!((290..=310).contains(&(began - left)), "two round trips later: {}", began - left);
        let saved = controller.threshold();
        assert_eq!(controller.window(), 2000);
        while controller.window() == 2000 {
            step(&mut controller, &mut now, 0);
        }
        assert!((200..=220).contains(&(now - began)), "frozen for two: {}", now - began);
        while controller.stage != Stage::Steady {
            step(&mut controller, &mut now, 0);
        }
        let took = now - began;
        assert_eq!(controller.window(), saved);
        let ended = now;
        while controller.stage == Stage::Steady {
            step(&mut controller, &mut now, 0);
        }
        let between = now - ended;
        assert!((9 * took..=9 * took + 10).contains(&between), "{between} after {took}");
    }

    /// A loss and a timeout that were none: the window, and slow start with it, are as before.
    #[test]
    fn what_was_no_loss_is_taken_back() {
        // In its steady stage it comes back to that.
        let start = || PlusPlus::new(plus_plus(), params(10));
        for timeout in [false, true] {
            for (mut controller, stage) in
                [(start(), Stage::Start), (steady(10, 100), Stage::Steady)]
            {
                let lost = Loss { nxt: 10_000, ..loss(10_000) };
                match timeout {
                    true => controller.on_timeout(&lost, false),
                    false => controller.on_loss(&lost),
                }
                assert!(controller.window() < 10_000);
                controller.on_undo();
                assert_eq!((controller.window(), controller.stage), (10_000, stage));
            }
        }
    }

    #[test]
    fn a_loss_in_the_ramp_is_the_saved_windows() {
        let mut controller = steady(100, 100);
        controller.table.slow_start = true;
        controller.srtt = Span::from_millis(100);
        controller.slow_down(at(0));
        assert_eq!((controller.window(), controller.threshold()), (2000, 100_000));
        controller.on_loss(&Loss { nxt: 200_000, ..loss(2000) });
        assert_eq!((controller.window(), controller.threshold()), (2000, 50_000));
        assert_eq!(controller.stage, Stage::Frozen(at(0), at(200)));
        controller.on_loss(&Loss { offset: 100_000, nxt: 250_000, ..loss(2000) });
        assert_eq!(controller.threshold(), 50_000, "the same window");
        // A timeout too: slow start to half of what was saved.
        controller.on_timeout(&Loss { offset: 0, nxt: 250_000, ..loss(2000) }, false);
        assert_eq!((controller.window(), controller.threshold()), (1000, 25_000));
    }

    #[test]
    fn a_loss_halves_and_ends_the_first_slow_start() {
        let mut controller = PlusPlus::new(plus_plus(), params(40));
        controller.on_loss(&Loss { nxt: 40_000, ..loss(40_000) });
        assert_eq!((controller.window(), controller.stage), (20_000, Stage::Steady));
    }
}
