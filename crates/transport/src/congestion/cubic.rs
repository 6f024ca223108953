use super::hystart::{CSS_GROWTH_DIVISOR, HyStart, HyStartKind, SlowStart};
use super::window::{Window, answers_of_window};
use super::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// Scale of the cubic, in segments per second cubed (RFC 9438, section 4.6).
const C: f64 = 0.4;
/// The factor by which a loss cuts the window.
const BETA: f64 = 0.7;
/// Growth per window that is as fast as Reno's with the same reduction (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// CUBIC by RFC 9438, in real numbers: windows are in segments, times in seconds.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    /// The part of the window that is less than a byte.
    fraction: f64,
    /// Kept only while it looks for the end of slow start.
    hystart: Option<HyStart>,
    hystart_kind: HyStartKind,
    paced: bool,
    /// Window at the last reduction, or less by fast convergence; 0 before the first and after a timeout.
    w_max: f64,
    /// `w_max` and `prior` before the last reduction.
    before: (f64, f64),
    /// Window just before the last reduction.
    prior: f64,
    /// When this stage of congestion avoidance began, shifted by the time not limited by the window.
    epoch: Option<Time>,
    /// Top of the curve, and the seconds until it is reached.
    origin: f64,
    k: f64,
    /// The window that Reno would have now.
    w_est: f64,
    last_ack: Time,
}

impl Cubic {
    /// A controller at its first window.
    pub fn new(params: Params) -> Cubic {
        Cubic {
            window: Window::new(&params),
            fraction: 0.0,
            hystart: HyStart::new(params.hystart, params.paced),
            hystart_kind: params.hystart,
            paced: params.paced,
            w_max: 0.0,
            before: (0.0, 0.0),
            prior: 0.0,
            epoch: None,
            origin: 0.0,
            k: 0.0,
            w_est: 0.0,
            last_ack: Time::START,
        }
    }

    fn segments(&self) -> f64 {
        (self.window.bytes as f64 + self.fraction) / self.window.mss as f64
    }

    fn set_segments(&mut self, segments: f64) {
        let bytes = segments * self.window.mss as f64;
        self.window.bytes = bytes as u64;
        self.fraction = bytes - self.window.bytes as f64;
    }

    fn begin_epoch(&mut self, now: Time) {
        let cwnd = self.segments();
        self.epoch = Some(now);
        self.w_est = cwnd;
        self.origin = self.w_max.max(cwnd);
        self.k = libm::cbrt((self.origin - cwnd) / C);
    }

    /// W_cubic, `t` seconds into the epoch.
    fn curve(&self, t: f64) -> f64 {
        let from_top = t - self.k;
        C * from_top * from_top * from_top + self.origin
    }

    fn avoid(&mut self, ack: &Ack, acked: u64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.begin_epoch(ack.now);
                ack.now
            }
        };
        let t = ack.now.since(epoch).seconds();
        let cwnd = self.segments();
        let acked = acked as f64 / self.window.mss as f64;
        let alpha = if self.w_est >= self.prior { 1.0 } else { ALPHA };
        self.w_est += alpha * acked / cwnd;
        let grown = if self.curve(t) < self.w_est {
            self.w_est.max(cwnd)
        } else {
            let target = self.curve(t + ack.srtt.seconds()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        self.set_segments(grown);
    }
}

impl Build for Cubic {
    fn build(params: Params) -> Cubic {
        Cubic::new(params)
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        let since_last = ack.now.since(self.last_ack);
        self.last_ack = ack.now;
        if !ack.may_grow {
            return;
        }
        let slow_start = if self.window.in_slow_start() {
            HyStart::consult(&mut self.hystart, ack, &mut self.window)
        } else {
            SlowStart::Standard
        };
        if !ack.window_limited {
            // Time during which the window could not grow does not move along the curve.
            self.epoch = self.epoch.map(|epoch| (epoch + since_last).min(ack.now));
            return;
        }
        let mut acked = self.window.counted(ack.acked);
        if self.window.in_slow_start() {
            let divisor =
                if slow_start == SlowStart::Conservative { CSS_GROWTH_DIVISOR } else { 1 };
            acked = self.window.slow_start(acked / divisor);
        }
        if acked > 0 && !self.window.in_slow_start() {
            self.avoid(ack, acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let window = loss.window as f64 / self.window.mss as f64;
        self.before = (self.w_max, self.prior);
        self.prior = window;
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch = None;
        self.fraction = 0.0;
        self.window.reduce((loss.window as f64 * BETA) as u64);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.on_loss(loss);
        }
        // Section 4.8: the next stage starts at the top of its curve.
        self.w_max = 0.0;
        self.epoch = None;
        self.window.collapse(loss.in_flight);
        self.hystart = HyStart::new(self.hystart_kind, self.paced);
    }

    fn on_undo(&mut self) {
        self.window.undo();
        (self.w_max, self.prior) = self.before;
        self.epoch = None;
    }

    fn on_decay(&mut self, window: u64) {
        self.window.decay(window);
    }

    fn on_resume(&mut self, now: Time, idle: Span) {
        self.epoch = self.epoch.map(|epoch| (epoch + idle).min(now));
        self.last_ack = now;
    }

    answers_of_window!();
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, params};
    use super::*;

    /// The test points that follow from the definitions in RFC 9438, section 4.2, with C = 0.4.
    #[test]
    fn the_curve_passes_the_points_of_the_rfc() {
        let mut cubic = Cubic::new(params(10));
        cubic.on_loss(&loss(100_000));
        cubic.begin_epoch(Time::START);
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-3, "{x} is not {y}");
        near(cubic.k, 4.217);
        near(cubic.curve(0.0), 70.0);
        near(cubic.curve(cubic.k), 100.0);
        near(cubic.curve(2.0 * cubic.k), 130.0);
        near(ALPHA, 0.5294);
    }

    #[test]
    fn a_second_loss_below_the_first_converges_fast() {
        let mut cubic = Cubic::new(params(10));
        cubic.on_loss(&loss(100_000));
        assert_eq!((cubic.window(), cubic.w_max), (70_000, 100.0));
        cubic.on_loss(&loss(80_000));
        assert_eq!((cubic.window(), cubic.w_max), (56_000, 80.0 * 0.85));
    }

    /// One segment of 1000 bytes acknowledged every millisecond, 100 ms round trip: the window
    /// must follow the curve, one round trip ahead, within the discretisation.
    #[test]
    fn the_window_follows_the_curve() {
        let mut cubic = Cubic::new(params(10));
        cubic.on_loss(&loss(500_000));
        let mut now = Time::START;
        let rtt = Span::from_millis(100);
        while now < Time::START + Span::from_secs(9) {
            // A window per round trip.
            for _ in 0..4 {
                cubic.on_ack(&Ack { now, srtt: rtt, ..ack(1000) });
            }
            now += Span::from_millis(1);
        }
        let ideal = cubic.curve(9.0);
        assert!((cubic.segments() / ideal - 1.0).abs() < 0.02, "{} {ideal}", cubic.segments());
    }

    #[test]
    fn time_without_need_does_not_move_along_the_curve() {
        let mut cubic = Cubic::new(params(10));
        cubic.on_loss(&loss(500_000));
        cubic.on_ack(&ack(1000));
        let idle = Span::from_secs(100);
        cubic.on_resume(Time::START + idle, idle);
        cubic.on_ack(&Ack { now: Time::START + idle, ..ack(1000) });
        assert!(cubic.window() < 352_000, "{}", cubic.window());
    }
}
