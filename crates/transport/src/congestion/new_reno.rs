use super::window::{Window, answers_of_window};
use super::{Ack, Build, Controller, Loss, Params};
use flashcrowd_base::Time;

/// Slow start, additive increase of one segment per window, halving on loss (RFC 5681).
#[derive(Clone, Debug)]
pub struct NewReno {
    pub(super) window: Window,
    /// Bytes acknowledged towards the next segment of growth.
    credit: u64,
}

impl NewReno {
    /// A controller at its first window.
    pub fn new(params: Params) -> NewReno {
        NewReno { window: Window::new(&params), credit: 0 }
    }
}

impl Build for NewReno {
    fn build(params: Params) -> NewReno {
        NewReno::new(params)
    }
}

impl Controller for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !(ack.may_grow && ack.window_limited) {
            return;
        }
        let mut acked = self.window.counted(ack.acked);
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        // Credit earned at a larger window is spent gently.
        self.credit = self.credit.min(self.window.bytes) + acked;
        if self.credit >= self.window.bytes {
            self.credit -= self.window.bytes;
            self.window.bytes += self.window.mss;
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.credit = 0;
        self.window.reduce(loss.window / 2);
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

    #[test]
    fn one_segment_per_window_and_half_after_a_loss() {
        let mut reno = NewReno::new(params(10));
        reno.on_loss(&loss(20_000));
        assert_eq!((reno.window(), reno.threshold()), (10_000, 10_000));
        for acked in 0..10 {
            assert_eq!(reno.window(), 10_000, "after {acked} segments");
            reno.on_ack(&ack(1000));
        }
        assert_eq!(reno.window(), 11_000);
    }

    #[test]
    fn what_slow_start_leaves_over_counts_for_avoidance() {
        let mut reno = NewReno::new(params(10));
        reno.window.threshold = 12_000;
        reno.on_ack(&ack(14_000));
        assert_eq!((reno.window(), reno.credit), (13_000, 0));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = NewReno::new(params(10));
        reno.on_ack(&Ack { window_limited: false, ..ack(1000) });
        reno.on_ack(&Ack { may_grow: false, ..ack(1000) });
        assert_eq!(reno.window(), 10_000);
    }
}
