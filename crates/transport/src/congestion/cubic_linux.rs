use super::hystart::{CSS_GROWTH_DIVISOR, HyStart, HyStartKind, SlowStart};
use super::window::{Window, answers_of_window};
use super::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// The factor by which a loss cuts the window, in 1024ths.
const BETA: u64 = 717;
/// C of 0.4, in 1024ths, as the kernel derives it from `bic_scale` 41.
const C_SCALED: u64 = 410;
/// How many eighths of a window Reno acknowledges per segment of growth, with the same reduction.
const RENO_EIGHTHS: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
const TICK_NANOS: u64 = 1_000_000;

/// CUBIC as Linux computes it since 2.6.19: the window is whole segments, time is milliseconds,
/// growth is one segment per `every` acknowledged ones, never more than one in two, and at
/// least one in twenty before the first loss. Where a window is small, this is not RFC 9438 to
/// within rounding: it is what runs.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct CubicLinux {
    window: Window,
    min_rtt: Span,
    /// When this stage of congestion avoidance began, in ticks; [`NO_EPOCH`] outside.
    epoch: u64,
    /// Kept only while it looks for the end of slow start.
    hystart: Option<HyStart>,
    hystart_kind: HyStartKind,
    paced: bool,
    /// From the first loss or the end of slow start.
    curve: Option<Box<Curve>>,
}

/// The state of congestion avoidance. Connections that are not limited by their window never need
/// it.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// Segments acknowledged towards the next one of growth, in bytes.
    credit: u64,
    /// Window at the last reduction in segments, or less by fast convergence; 0 before the first
    /// and after a timeout.
    last_max: u64,
    /// Top of the curve in segments, and the time until it is reached in 1024ths of a second.
    origin: u64,
    k: u64,
    /// Acknowledged segments per segment of growth.
    every: u64,
    /// Tick and window of the last look at the curve.
    looked: (u64, u64),
    /// Reno's window, and bytes acknowledged towards its next segment.
    reno: u64,
    reno_credit: u64,
}

const NO_EPOCH: u64 = u64::MAX;

impl CubicLinux {
    /// A controller at its first window.
    pub fn new(params: Params) -> CubicLinux {
        CubicLinux {
            window: Window::new(&params),
            hystart: HyStart::new(params.hystart, params.paced),
            hystart_kind: params.hystart,
            paced: params.paced,
            epoch: NO_EPOCH,
            min_rtt: Span::ZERO,
            curve: None,
        }
    }

    /// Sets `every`, at most once a tick.
    fn look_at_the_curve(&mut self, now: Time, acked: u64) {
        let curve = self.curve.get_or_insert_default();
        let tick = now.nanos() / TICK_NANOS;
        let cwnd = self.window.segments();
        curve.reno_credit += acked;
        if curve.looked.1 == cwnd && tick - curve.looked.0 <= 1000 / 32 {
            return;
        }
        if self.epoch == NO_EPOCH || tick != curve.looked.0 {
            curve.looked = (tick, cwnd);
            if self.epoch == NO_EPOCH {
                curve.reno_credit = acked;
                curve.reno = cwnd;
                let below = curve.last_max.saturating_sub(cwnd);
                curve.k = libm::cbrt(((1u64 << 40) / C_SCALED * below) as f64) as u64;
                curve.origin = curve.last_max.max(cwnd);
                self.epoch = tick;
            }
            let t = (tick - self.epoch + self.min_rtt.nanos() / TICK_NANOS) * 1024 / 1000;
            let from_top = t.abs_diff(curve.k);
            // A connection that has been growing for days is as good as at the greatest offset.
            let from_top = from_top.min(1 << 17);
            let distance = (C_SCALED * from_top * from_top / 1024 * from_top) >> 30;
            let target = if t < curve.k {
                curve.origin.saturating_sub(distance)
            } else {
                curve.origin + distance
            };
            curve.every = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if curve.last_max == 0 {
                curve.every = curve.every.min(20);
            }
        }
        let per_segment = (self.window.bytes * RENO_EIGHTHS) >> 3;
        if curve.reno_credit > per_segment {
            let grown = curve.reno_credit / per_segment;
            curve.reno_credit -= grown * per_segment;
            curve.reno += grown;
        }
        if curve.reno > cwnd {
            curve.every = curve.every.min(cwnd / (curve.reno - cwnd));
        }
        curve.every = curve.every.max(2);
    }

    fn grow(&mut self, acked: u64) {
        let curve = self.curve.get_or_insert_default();
        let price = curve.every * self.window.mss;
        // Credit earned at a higher price is spent gently.
        if curve.credit >= price {
            curve.credit = 0;
            self.window.bytes += self.window.mss;
        }
        curve.credit += acked;
        if curve.credit >= price {
            let segments = curve.credit / price;
            curve.credit -= segments * price;
            self.window.bytes += segments * self.window.mss;
        }
    }

    fn forget(&mut self) {
        if let Some(curve) = &mut self.curve {
            curve.last_max = 0;
            curve.looked = (0, 0);
        }
        self.epoch = NO_EPOCH;
        self.min_rtt = Span::ZERO;
        self.hystart = HyStart::new(self.hystart_kind, self.paced);
    }

    fn sample(&mut self, ack: &Ack) -> SlowStart {
        let Some(rtt) = ack.rtt else { return SlowStart::Standard };
        // Samples just after a recovery are not representative.
        let tick = ack.now.nanos() / TICK_NANOS;
        if self.epoch != NO_EPOCH && tick.saturating_sub(self.epoch) < 1000 {
            return SlowStart::Standard;
        }
        if self.min_rtt.is_zero() || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if !self.window.in_slow_start() {
            return SlowStart::Standard;
        }
        let ack = Ack { min_rtt: self.min_rtt, ..*ack };
        HyStart::consult(&mut self.hystart, &ack, &mut self.window)
    }
}

impl Build for CubicLinux {
    fn build(params: Params) -> CubicLinux {
        CubicLinux::new(params)
    }
}

impl Controller for CubicLinux {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let slow_start = self.sample(ack);
        if !(ack.may_grow && ack.window_limited) {
            return;
        }
        let mut acked = ack.acked;
        if self.window.in_slow_start() {
            acked = self.window.counted(acked);
            if slow_start == SlowStart::Conservative {
                acked /= CSS_GROWTH_DIVISOR;
            }
            acked = self.window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.look_at_the_curve(ack.now, acked);
        self.grow(acked);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let window = loss.window.div_ceil(self.window.mss);
        self.epoch = NO_EPOCH;
        let curve = self.curve.get_or_insert_default();
        let fast = window < curve.last_max;
        curve.last_max = if fast { window * (1024 + BETA) / 2048 } else { window };
        curve.credit = 0;
        self.window.reduce(window * BETA / 1024 * self.window.mss);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.on_loss(loss);
        }
        self.forget();
        self.window.collapse(loss.in_flight.next_multiple_of(self.window.mss));
    }

    fn on_undo(&mut self) {
        self.window.undo();
    }

    fn on_decay(&mut self, window: u64) {
        // A half and a quarter, each of whole segments (tcp_current_ssthresh).
        let (mss, segments) = (self.window.mss, self.window.segments());
        self.window.decay_above(window / mss * mss, (segments / 2 + segments / 4) * mss);
    }

    fn on_resume(&mut self, now: Time, idle: Span) {
        let tick = now.nanos() / TICK_NANOS;
        if self.epoch != NO_EPOCH {
            self.epoch = (self.epoch + idle.nanos() / TICK_NANOS).min(tick);
        }
    }

    answers_of_window!();
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, params};
    use super::*;

    fn curve(cubic: &mut CubicLinux) -> &mut Curve {
        cubic.curve.get_or_insert_default()
    }

    fn after_loss(window: u64) -> CubicLinux {
        let mut cubic = CubicLinux::new(params(10));
        cubic.on_loss(&loss(window));
        cubic
    }

    #[test]
    fn the_curve_is_that_of_the_rfc_in_the_kernels_units() {
        let mut cubic = after_loss(100_000);
        assert_eq!((cubic.window(), curve(&mut cubic).last_max), (70_000, 100));
        cubic.look_at_the_curve(Time::START + Span::from_millis(1), 1000);
        assert!(
            (curve(&mut cubic).k as f64 / 1024.0 - 4.217).abs() < 3e-3,
            "{}",
            curve(&mut cubic).k
        );
        assert_eq!(curve(&mut cubic).origin, 100);
        // At the top the curve is flat: one segment per 100 windows, unless Reno is faster.
        curve(&mut cubic).reno = 0;
        cubic.window.bytes = 100_000;
        cubic.look_at_the_curve(Time::START + Span::from_millis(4218), 1000);
        assert_eq!(curve(&mut cubic).every, 100 * 100);
        // Twice as late it is as far above as it was below.
        cubic.window.bytes = 100_000;
        cubic.look_at_the_curve(Time::START + Span::from_millis(2 * 4217 + 20), 1000);
        assert_eq!(curve(&mut cubic).every, 100 / 30);
    }

    /// packetdrill, cubic-bulk-166k and cubic-bulk-166k-idle-restart, from where HyStart ended slow
    /// start at 48: the window after every tenth of the following acknowledgements of two segments,
    /// one every 100 ms. On the way the clamp of one segment in two takes hold.
    #[test]
    fn the_window_grows_as_packetdrill_saw_it() {
        let drive = |idle: Option<Span>| {
            let mut cubic = CubicLinux::new(params(48));
            cubic.window.threshold = 48_000;
            cubic.min_rtt = Span::from_millis(100);
            let mut now = Time::START + Span::from_secs(2);
            let mut trace = Vec::new();
            cubic.on_ack(&Ack { now, ..ack(2000) });
            if let Some(idle) = idle {
                // There, nothing had been sent for the two seconds before, either.
                now += idle;
                cubic.on_resume(now, idle + Span::from_secs(2));
            }
            let mut step = |cubic: &mut CubicLinux| {
                now += Span::from_millis(100);
                cubic.on_ack(&Ack { now, ..ack(2000) });
            };
            for acks in 1..=60 {
                step(&mut cubic);
                if acks % 10 == 0 {
                    trace.push(cubic.window() / 1000);
                }
            }
            trace
        };
        assert_eq!(drive(None), [49, 50, 52, 58, 68, 78]);
        // The script has 48 and 49 first: there, small queues kept the window from being full for
        // one acknowledgement. What counts is that four idle seconds do not move along the curve.
        assert_eq!(drive(Some(Span::from_secs(4)))[..4], [49, 50, 52, 58]);
    }

    /// Linux: tcp_current_ssthresh, of integers. A window of 14 that comes down to 10 is at its threshold.
    #[test]
    fn three_quarters_of_an_unused_window_are_whole_segments() {
        let remembered = [7, 10, 11, 14, 15, 16, 17].map(|segments| {
            let mut cubic = CubicLinux::new(params(segments));
            cubic.window.threshold = 2000;
            cubic.on_decay(10_500);
            (cubic.threshold() / 1000, cubic.window() / 1000)
        });
        assert_eq!(remembered, [(4, 7), (7, 10), (7, 10), (10, 10), (10, 10), (12, 10), (12, 10)]);
    }

    #[test]
    fn a_timeout_forgets_the_curve() {
        let mut cubic = after_loss(10_000);
        cubic.on_timeout(&loss(10_000), false);
        assert_eq!(
            (cubic.threshold(), cubic.window(), curve(&mut cubic).last_max),
            (7000, 1000, 0)
        );
    }

    /// RFC 9438, section 4.7: who loses before its old maximum leaves room for newcomers.
    #[test]
    fn a_loss_below_the_last_maximum_lowers_the_maximum() {
        let mut cubic = after_loss(100_000);
        cubic.on_loss(&loss(90_000));
        // 90 * (1 + 717 / 1024) / 2
        assert_eq!(curve(&mut cubic).last_max, 76);
        cubic.on_loss(&loss(80_000));
        assert_eq!(curve(&mut cubic).last_max, 80, "above the last one");
    }
}
