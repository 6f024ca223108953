//! The estimator that was switched on: the uplink is congested while the standard deviation of the last 100 round
//! trips is above 0.8 of the greatest one seen.
//!
//! Its author's colleague wrote down its weakness: a full queue has a small deviation again, so beyond the peak the rule raises
//! the limit until packets are lost.

use super::Window;
use crate::parameter::parameters;
use crate::pinger::Pinger;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::{Rate, Span, Time};

parameters! {
    /// Bandwidth management of mainline 5.0.9.
    Deviation {
        /// How often the router is asked, and the limit set.
        probe_period_ns: Span = Span::from_millis(500), 0.1..=60.0;
        /// When a probe is lost. The source leaves it to the system; twice what ADSL lines queue.
        probe_timeout_ns: Span = Span::from_secs(4), 0.1..=60.0;
        /// Round trips in the deviation.
        samples: u32 = 100, 2..=10_000;
        /// The part of the greatest deviation that is congestion; a lost probe shrinks the greatest by the same.
        threshold: f64 = 0.8, 0.01..=1.0;
        /// What congestion leaves of the limit.
        decrease: f64 = 0.8, 0.01..=0.99;
        /// What is added otherwise: 1000 bytes per second.
        step_bps: Rate = Rate::at_least_one(8000), 8.0..=1e9;
        /// The lowest limit: 4096 bytes per second.
        floor_bps: Rate = Rate::at_least_one(8 * 4096), 8.0..=1e9;
        /// This time after the first answer the limit is set to `slow_start_limit_bps` first, each
        /// time.
        slow_start_ns: Span = Span::from_secs(20), 0.0..=3600.0;
        /// As good as no limit: 10 MB/s.
        slow_start_limit_bps: Rate = Rate::at_least_one(80_000_000), 8.0..=1e12;
    }
}

/// A round trip below 3 ms is no answer of a router behind the line.
const UNBELIEVABLE: f64 = 0.003;

#[derive(Debug)]
pub(crate) struct DeviationController {
    parameters: Deviation,
    pinger: Pinger,
    window: Window,
    /// The greatest deviation in seconds; it begins at a microsecond.
    greatest: f64,
    began: Option<Time>,
    limit: f64,
    state: State,
}

impl DeviationController {
    pub(crate) fn new(parameters: &Deviation, setup: &Setup) -> DeviationController {
        let (period, timeout) = (parameters.probe_period_ns, parameters.probe_timeout_ns);
        DeviationController {
            pinger: Pinger::new(setup.now, period, timeout, 1),
            window: Window::new(parameters.samples),
            greatest: 1e-6,
            began: None,
            limit: setup.limit.bytes_per_second(),
            state: State::new(Phase::Learning, "no round trip was measured yet"),
            parameters: parameters.clone(),
        }
    }
}

impl Controller for DeviationController {
    fn on_answer(&mut self, now: Time, answer: &Answer) {
        let Some(rtt) = answer.rtt else {
            self.greatest *= self.parameters.threshold;
            self.state = State::new(Phase::Waiting, "a probe was lost");
            return;
        };
        let floor = self.parameters.floor_bps.bytes_per_second();
        let began = *self.began.get_or_insert(now);
        if now.since(began) < self.parameters.slow_start_ns {
            self.limit = self.parameters.slow_start_limit_bps.bytes_per_second().max(floor);
        }
        if rtt.seconds() < UNBELIEVABLE {
            return;
        }
        self.window.push(rtt.seconds());
        let (_, deviation) = self.window.moments();
        let threshold = self.parameters.threshold * self.greatest;
        let (limit, state) = if deviation > threshold {
            (self.limit * self.parameters.decrease, Phase::Lowering)
        } else {
            (self.limit + self.parameters.step_bps.bytes_per_second(), Phase::Raising)
        };
        let reason = "the round trip's deviation is held to the greatest one seen";
        self.state = State::new(state, reason).with(deviation, threshold);
        self.limit = limit.max(floor);
        self.greatest = self.greatest.max(deviation);
    }
    fn on_rates(&mut self, _now: Time, _rates: &Rates) {}
    fn probe(&mut self, now: Time) -> Option<Probe> {
        self.pinger.poll(now)
    }
    fn deadline(&self) -> Time {
        self.pinger.next()
    }
    fn limit(&self) -> Limit {
        Limit::from_bytes_per_second(self.limit)
    }
    fn state(&self) -> State {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_near_the_greatest_cuts_and_a_steady_queue_does_not() {
        let setup = Setup { now: Time::START, reflectors: 1, limit: Limit::Unlimited };
        let mut control = DeviationController::new(&Deviation::default(), &setup);
        let mut hear = |index: u64, millis: u64| {
            let rtt = Some(Span::from_millis(millis));
            let now = Time::START + Span::from_millis(500) * index;
            control.on_answer(now, &Answer { reflector: 0, rtt });
            control.limit().bytes_per_second()
        };
        // 20 s: 10 MB/s at each answer, moved by one step of the rule.
        assert_eq!(hear(0, 50), 10_001_000.0);
        assert_eq!(hear(39, 60), 8_000_000.0);
        // The deviation grows with the queue: a cut each time.
        assert_eq!(hear(41, 100), 6_400_000.0);
        assert_eq!(hear(42, 200), 5_120_000.0);
        // A queue that stays full has no deviation: the limit rises.
        let full: Vec<f64> = (43..300).map(|index| hear(index, 500)).collect();
        assert!(full.windows(2).skip(150).all(|pair| pair[1] == pair[0] + 1000.0));
    }
}
