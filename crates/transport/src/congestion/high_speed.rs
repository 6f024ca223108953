use super::window::{Window, answers_of_window};
use super::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::Time;

/// Up to this window, in segments, it is Reno (RFC 3649, section 5: `Low_Window`).
const LOW_WINDOW: f64 = 38.0;
/// The window that one loss in ten million leaves, and what a loss takes of it (`High_Window`,
/// `High_Decrease`).
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;
/// The response function: a window of w goes with a share of 0.078 / w^1.2 lost.
const LOSS_SCALE: f64 = 0.078;
const LOSS_POWER: f64 = 1.2;

/// HighSpeed TCP (RFC 3649): the larger the window, the faster it grows and the less a loss takes.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    window: Window,
    /// Segments of growth for a window acknowledged, and the window in segments for which they hold.
    increase: f64,
    increase_at: u64,
    /// Growth that is less than a byte.
    fraction: f64,
}

impl HighSpeed {
    /// A controller at its first window.
    pub fn new(params: Params) -> HighSpeed {
        let window = Window::new(&params);
        HighSpeed { window, increase: 1.0, increase_at: 0, fraction: 0.0 }
    }
}

/// The part of a window of `w` segments that a loss takes: b(w).
fn decrease(w: f64) -> f64 {
    let w = w.max(LOW_WINDOW);
    let way = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    (0.5 + (HIGH_DECREASE - 0.5) * way).max(HIGH_DECREASE)
}

/// Segments by which a window of `w` segments grows when it is acknowledged: a(w).
fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = decrease(w);
    let loss = LOSS_SCALE / libm::pow(w, LOSS_POWER);
    (w * w * loss * 2.0 * b / (2.0 - b)).max(1.0)
}

impl Build for HighSpeed {
    fn build(params: Params) -> HighSpeed {
        HighSpeed::new(params)
    }
}

impl Controller for HighSpeed {
    fn on_ack(&mut self, ack: &Ack) {
        if !(ack.may_grow && ack.window_limited) {
            return;
        }
        let mut acked = self.window.counted(ack.acked);
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked == 0 {
            return;
        }
        let segments = self.window.segments();
        if segments != self.increase_at {
            self.increase_at = segments;
            self.increase = increase(segments as f64);
        }
        let part = acked as f64 / self.window.bytes as f64;
        self.fraction += self.increase * part * self.window.mss as f64;
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        self.window.bytes += whole;
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.fraction = 0.0;
        let part = decrease(loss.window as f64 / self.window.mss as f64);
        self.window.reduce((loss.window as f64 * (1.0 - part)) as u64);
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.on_loss(loss);
        }
        self.window.collapse(loss.in_flight);
    }

    fn on_undo(&mut self) {
        self.window.undo();
    }

    fn on_decay(&mut self, window: u64) {
        self.window.decay(window);
    }

    answers_of_window!();
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, params};
    use super::*;

    /// RFC 3649, table 4: the windows from which on one segment more is due, and b of them.
    const TABLE: [(f64, f64, f64); 16] = [
        (118.0, 2.0, 0.44),
        (221.0, 3.0, 0.41),
        (347.0, 4.0, 0.38),
        (495.0, 5.0, 0.37),
        (663.0, 6.0, 0.35),
        (851.0, 7.0, 0.34),
        (1058.0, 8.0, 0.33),
        (1284.0, 9.0, 0.32),
        (1529.0, 10.0, 0.31),
        (1793.0, 11.0, 0.30),
        (2076.0, 12.0, 0.29),
        (2378.0, 13.0, 0.28),
        (5036.0, 20.0, 0.24),
        (10661.0, 30.0, 0.21),
        (18345.0, 40.0, 0.18),
        (84035.0, 71.0, 0.10),
    ];

    #[test]
    fn growth_and_decrease_are_those_of_the_table() {
        for (w, a, b) in TABLE {
            println!("w {w}: a {:.3} b {:.4}", increase(w), decrease(w));
            // The table has what is reached, to within the rounding of the constants.
            assert!((increase(w) - a).abs() < 0.06 * a, "a({w}) = {}, not {a}", increase(w));
            assert!((decrease(w) - b).abs() < 0.01, "b({w}) = {}, not {b}", decrease(w));
        }
        assert_eq!((increase(38.0), decrease(38.0)), (1.0, 0.5));
        assert!((decrease(HIGH_WINDOW) - HIGH_DECREASE).abs() < 1e-12);
    }

    #[test]
    fn a_window_acknowledged_brings_its_increase() {
        let mut controller = HighSpeed::new(params(1284));
        controller.window.threshold = 1000;
        for _ in 0..1284 {
            controller.on_ack(&ack(1000));
        }
        let grown = controller.window() as f64 / 1000.0 - 1284.0;
        assert!((grown - 9.0).abs() < 0.3, "{grown}");
    }

    #[test]
    fn a_window_that_is_not_the_limit_or_is_being_repaired_does_not_grow() {
        for (may_grow, window_limited, grown) in
            [(true, false, 0), (false, true, 0), (true, true, 1000)]
        {
            let mut controller = HighSpeed::new(params(10));
            controller.on_ack(&Ack { may_grow, window_limited, ..ack(1000) });
            assert_eq!(controller.window(), 10_000 + grown);
        }
    }

    #[test]
    fn a_loss_costs_what_the_table_says() {
        let mut controller = HighSpeed::new(params(1058));
        controller.on_loss(&loss(1_058_000));
        let left = controller.window() as f64 / 1_058_000.0;
        assert!((left - (1.0 - 0.33)).abs() < 0.01, "{left}");
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut controller = HighSpeed::new(params(30));
        controller.on_loss(&loss(30_000));
        assert_eq!(controller.window(), 15_000);
        for _ in 0..15 {
            controller.on_ack(&ack(1000));
        }
        assert!((15_900..=16_000).contains(&controller.window()), "{}", controller.window());
    }
}
