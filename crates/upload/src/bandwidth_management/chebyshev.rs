//! The other estimator in that tree, by Chebyshev's inequality: congestion is n round trips in a row above a threshold, where
//! n makes the probability of a false alarm as small as wanted.
//!
//! The source as it stands could not run: it forgets its greatest threshold, and takes half of the *range* of round trips for the
//! middle of it. What its comments derive is built here: the threshold is half-way between the least and the greatest round
//! trip, n = log P / (2 log(σ / (threshold - µ))), and where that is more than allowed, the threshold
//! rises to µ + σ / P^(1/2n), up to a part of the range. Its slow start doubles the *measured* rate.

use super::Window;
use crate::meter::Meter;
use crate::moments::quantile;
use crate::parameter::parameters;
use crate::pinger::Pinger;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::{Rate, Span, Time};

parameters! {
    /// Bandwidth management of mainline 5, by Chebyshev's inequality.
    Chebyshev {
        /// How often the router is asked, and the limit set.
        probe_period_ns: Span = Span::from_millis(500), 0.1..=60.0;
        /// When a probe is lost.
        probe_timeout_ns: Span = Span::from_secs(4), 0.1..=60.0;
        /// Round trips in each window.
        samples: u32 = 10, 2..=10_000;
        /// After this number of round trips, the windows of minima and of maxima forget their extreme.
        drop_every: u32 = 10, 2..=10_000;
        /// The probability of a false alarm.
        false_alarm: f64 = 0.05, 0.000001..=0.999;
        /// The most round trips in a row that an alarm may need.
        most_in_a_row: u32 = 10, 2..=1000;
        /// The highest threshold, as a part of the way from the least to the greatest round trip.
        highest: f64 = 0.9, 0.01..=0.999;
        /// Weight of the latest mean and variance.
        weight: f64 = 0.1, 0.001..=0.999;
        /// What congestion leaves of the measured rate.
        decrease: f64 = 0.8, 0.01..=0.99;
        /// What is added above the slow-start threshold: 1000 bytes per second.
        step_bps: Rate = Rate::at_least_one(8000), 8.0..=1e9;
        /// The lowest limit: 10000 bytes per second.
        floor_bps: Rate = Rate::at_least_one(80_000), 8.0..=1e9;
    }
}

/// As near to the least round trip, as a part of the range, that the line counts as idle.
const IDLE: f64 = 0.05;

#[derive(Debug)]
pub(crate) struct ChebyshevController {
    parameters: Chebyshev,
    pinger: Pinger,
    meter: Meter,
    window: Window,
    /// The least and the greatest round trips, sorted.
    min: Vec<f64>,
    max: Vec<f64>,
    heard: u32,
    /// Mean and variance of the idle line.
    idle: Option<(f64, f64)>,
    threshold: f64,
    needed: u32,
    in_a_row: u32,
    ssthresh: f64,
    limit: f64,
    state: State,
}

impl ChebyshevController {
    pub(crate) fn new(parameters: &Chebyshev, setup: &Setup) -> ChebyshevController {
        let (period, timeout) = (parameters.probe_period_ns, parameters.probe_timeout_ns);
        ChebyshevController {
            pinger: Pinger::new(setup.now, period, timeout, 1),
            meter: Meter::new(),
            window: Window::new(parameters.samples),
            min: Vec::new(),
            max: Vec::new(),
            heard: 0,
            idle: None,
            threshold: f64::INFINITY,
            needed: 1,
            in_a_row: 0,
            ssthresh: f64::INFINITY,
            limit: setup.limit.bytes_per_second(),
            state: State::new(Phase::Learning, "too few round trips yet"),
            parameters: parameters.clone(),
        }
    }

    /// Keeps the windows of extremes; the median of each.
    fn extremes(&mut self, rtt: f64) -> (f64, f64) {
        let samples = self.parameters.samples as usize;
        if self.heard.is_multiple_of(self.parameters.drop_every.max(1)) && !self.min.is_empty() {
            self.min.remove(0);
            self.max.pop();
        }
        self.min.push(rtt);
        self.max.push(rtt);
        let median = |values: &mut Vec<f64>| quantile(values, 0.5).unwrap_or(rtt);
        let medians = (median(&mut self.min), median(&mut self.max));
        self.min.truncate(samples);
        if self.max.len() > samples {
            self.max.remove(0);
        }
        medians
    }

    /// The line looks idle: compute moments and threshold again.
    fn learn(&mut self, min: f64, max: f64) {
        let (mean, deviation) = self.window.moments();
        let weight = self.parameters.weight;
        let blend = |old: f64, new: f64| (1.0 - weight) * old + weight * new;
        let (mean, variance) = match self.idle {
            Some((old, variance)) => (blend(old, mean), blend(variance, deviation * deviation)),
            None => (mean, deviation * deviation),
        };
        self.idle = Some((mean, variance));
        let deviation = libm::sqrt(variance);
        let (p, in_a_row) = (self.parameters.false_alarm, self.parameters.most_in_a_row);
        let middle = min + (max - min) / 2.0;
        let ratio = deviation / (middle - mean);
        // Where the deviation reaches the threshold, or the mean does, the inequality says nothing.
        let needed = if middle > mean && ratio < 1.0 {
            0.5 * libm::log(p) / libm::log(ratio.max(1e-9))
        } else {
            f64::INFINITY
        };
        if needed <= f64::from(in_a_row) {
            (self.needed, self.threshold) = ((needed as u32).max(1), middle);
        } else {
            let raised = deviation / libm::pow(p, 1.0 / (2.0 * f64::from(in_a_row))) + mean;
            let highest = min + self.parameters.highest * (max - min);
            (self.needed, self.threshold) = (in_a_row, raised.min(highest).max(mean));
        }
    }

    fn is_congested(&mut self, rtt: f64) -> bool {
        self.window.push(rtt);
        let (min, max) = self.extremes(rtt);
        self.heard = self.heard.saturating_add(1);
        if self.heard <= self.parameters.samples {
            return false;
        }
        let middle = self.window.values.len() / 2;
        let idle_below = min + IDLE * (max - min);
        if self.idle.is_none() || self.window.values[middle] <= idle_below {
            self.learn(min, max);
        }
        self.in_a_row = if rtt > self.threshold { self.in_a_row + 1 } else { 0 };
        // An alarm, and the count restarts.
        let alarm = self.in_a_row >= self.needed;
        if alarm {
            self.in_a_row = 0;
        }
        alarm
    }
}

impl Controller for ChebyshevController {
    fn on_answer(&mut self, _now: Time, answer: &Answer) {
        let Some(rtt) = answer.rtt else {
            // The greatest round trip may be too great.
            if self.max.len() > 1 {
                self.max.pop();
            }
            return;
        };
        let rtt = rtt.seconds();
        let congested = self.is_congested(rtt);
        let Some(rate) = self.meter.rate(Span::from_secs(5)) else { return };
        let step = self.parameters.step_bps.bytes_per_second();
        let state = if congested {
            self.ssthresh = rate * self.parameters.decrease;
            State::new(Phase::Lowering, "several round trips in a row are above the threshold")
        } else {
            if rate > self.ssthresh - step {
                self.ssthresh += step;
            }
            State::new(Phase::Raising, "too few round trips in a row are above the threshold")
        };
        self.state = state.with(rtt, self.threshold);
        let floor = self.parameters.floor_bps.bytes_per_second();
        self.limit = self.ssthresh.min(2.0 * rate).max(floor);
    }
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.meter.note(now, rates.uploaded);
    }
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
    fn an_alarm_needs_as_many_in_a_row_as_the_inequality_says() {
        let setup = Setup { now: Time::START, reflectors: 1, limit: Limit::Unlimited };
        let mut control = ChebyshevController::new(&Chebyshev::default(), &setup);
        for round in 0..11 {
            assert!(!control.is_congested(0.1 + 0.001 * f64::from(round % 2)));
        }
        // µ = 100.5 ms, σ = 0.5 ms; least and greatest meet there, so the inequality says nothing and ten are needed.
        assert_eq!(control.needed, 10);
        assert_eq!((1..=20).filter(|_| control.is_congested(0.5)).count(), 2);
        // A quiet line again: the middle is far away from µ, and one is enough.
        for _ in 0..30 {
            control.is_congested(0.1);
        }
        assert_eq!(control.needed, 1, "{control:?}");
    }
}
