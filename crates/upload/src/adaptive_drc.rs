//! Adaptive-DRC (Pan and Lee, "Adaptive Scheduling of Data Transfer in P2P Applications over Asymmetric
//! Networks", 2009), equations 2 and 3, both with the same detection and a different increase.
//!
//! The paper gives: the mean µ and the standard deviation σ of the round trip while the client only downloads;
//! congestion if d - µ > k σ for the latest round trip d; k = 10; half of U on congestion; U + 1 or 2 U
//! otherwise; U the upload rate that was *measured* over 3 s, not the limit. All else is a parameter.

use crate::meter::Meter;
use crate::moments::mean_and_deviation;
use crate::parameter::parameters;
use crate::pinger::Pinger;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::{Rate, Span, Time};

parameters! {
    /// Adaptive-DRC, both rules.
    AdaptiveDrc {
        /// How often the round trip is measured, and the limit set. Not in the paper. 1 s answers a new queue soon. Azureus
        /// itself pings every 5 s, which comes nearest to the published numbers.
        probe_period_ns: Span = Span::from_secs(1), 0.1..=60.0;
        /// When a probe is lost. Not in the paper: what `ping` of Windows waits for.
        probe_timeout_ns: Span = Span::from_secs(4), 0.1..=60.0;
        /// How many deviations above the mean are congestion: the paper's k.
        deviations: f64 = 10.0, 0.1..=1000.0;
        /// Answers of which µ and σ are made while the client only downloads. Not in the paper: about what a person waits for.
        baseline_samples: u32 = 20, 2..=1000;
        /// The rule AIMD adds this much. The paper says 1: 1 KiB/s, the unit of the client's own limits; with 1 kbit/s
        /// the limit would stay at 0.07 of 1 Mbit/s for the whole run.
        step_bps: Rate = Rate::at_least_one(8 * 1024), 8.0..=1e9;
        /// The window over which U is measured: the paper's.
        rate_window_ns: Span = Span::from_secs(3), 0.5..=30.0;
        /// The lowest limit. Not in the paper, where U = 0 would make a limit of 0, which means unlimited in that client: its
        /// least limit, 1 KiB/s.
        floor_bps: Rate = Rate::at_least_one(8 * 1024), 8.0..=1e9;
        /// Whether a lost probe counts as congestion. Not in the paper: no, since `ping` gives no round trip then.
        lost_is_congestion: bool = false, 0.0..=1.0;
    }
}

/// The increase of U without congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Increase {
    /// U + 1: equation 2.
    Additive,
    /// 2 U: equation 3.
    Multiplicative,
}

#[derive(Debug)]
pub(crate) struct AdaptiveDrcController {
    parameters: AdaptiveDrc,
    increase: Increase,
    pinger: Pinger,
    meter: Meter,
    /// Round trips of the initialisation in seconds.
    samples: Vec<f64>,
    /// µ and k σ, in seconds.
    baseline: Option<(f64, f64)>,
    limit: Limit,
    state: State,
}

impl AdaptiveDrcController {
    pub(crate) fn new(
        parameters: &AdaptiveDrc,
        increase: Increase,
        setup: &Setup,
    ) -> AdaptiveDrcController {
        AdaptiveDrcController {
            pinger: Pinger::new(
                setup.now,
                parameters.probe_period_ns,
                parameters.probe_timeout_ns,
                1,
            ),
            meter: Meter::new(),
            samples: Vec::with_capacity(parameters.baseline_samples as usize),
            baseline: None,
            // Only downloads run meanwhile; a limit of zero does not exist.
            limit: Limit::At(parameters.floor_bps),
            state: State::new(Phase::Learning, "round trips are measured while only downloads run"),
            parameters: parameters.clone(),
            increase,
        }
    }

    /// The rule; `d` in seconds.
    fn adapt(&mut self, d: f64, mean: f64, threshold: f64) {
        let Some(rate) = self.meter.rate(self.parameters.rate_window_ns) else { return };
        let (next, state) = if d - mean > threshold {
            let state = State::new(Phase::Lowering, "the round trip is far above its baseline");
            (rate / 2.0, state)
        } else {
            let next = match self.increase {
                Increase::Additive => rate + self.parameters.step_bps.bytes_per_second(),
                Increase::Multiplicative => rate * 2.0,
            };
            (next, State::new(Phase::Raising, "the round trip is near its baseline"))
        };
        let floor = self.parameters.floor_bps.bytes_per_second();
        self.limit = Limit::from_bytes_per_second(next.max(floor));
        self.state = state.with(d - mean, threshold);
    }
}

impl Controller for AdaptiveDrcController {
    fn on_answer(&mut self, _now: Time, answer: &Answer) {
        let rtt = match answer.rtt {
            Some(rtt) => rtt.seconds(),
            None if self.parameters.lost_is_congestion => f64::INFINITY,
            None => return,
        };
        if let Some((mean, threshold)) = self.baseline {
            return self.adapt(rtt, mean, threshold);
        }
        if rtt.is_finite() {
            self.samples.push(rtt);
        }
        if self.samples.len() >= self.parameters.baseline_samples as usize {
            self.baseline = mean_and_deviation(&self.samples)
                .map(|(mean, deviation)| (mean, self.parameters.deviations * deviation));
        }
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
        self.limit
    }
    fn state(&self) -> State {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A controller after its baseline of 20 round trips of 100 ± 10 ms, at an upload of 40 KiB/s: its threshold
    /// is 200 ms.
    fn learnt(increase: Increase) -> AdaptiveDrcController {
        let setup = Setup { now: Time::START, reflectors: 1, limit: Limit::Unlimited };
        let mut control = AdaptiveDrcController::new(&AdaptiveDrc::default(), increase, &setup);
        for round in 0..20u64 {
            assert_eq!(control.state().phase, Phase::Learning);
            hear(&mut control, 90 + 20 * (round % 2));
        }
        for second in 0..=4u64 {
            let rates = Rates { uploaded: second * 40 * 1024, ..Rates::default() };
            control.on_rates(Time::START + Span::from_secs(second), &rates);
        }
        control
    }

    fn hear(control: &mut AdaptiveDrcController, millis: u64) {
        let answer = Answer { reflector: 0, rtt: Some(Span::from_millis(millis)) };
        control.on_answer(Time::START, &answer);
    }

    fn kibibytes(control: &AdaptiveDrcController) -> f64 {
        control.limit().bytes_per_second() / 1024.0
    }

    #[test]
    fn the_equations_go_by_the_measured_rate() {
        for (increase, raised) in [(Increase::Additive, 41.0), (Increase::Multiplicative, 80.0)] {
            let mut control = learnt(increase);
            assert_eq!(kibibytes(&control), 1.0, "only downloads run so far");
            hear(&mut control, 199);
            assert_eq!(kibibytes(&control), raised);
            hear(&mut control, 199);
            assert_eq!(kibibytes(&control), raised, "U is measured: the limit does not compound");
            hear(&mut control, 201);
            assert_eq!(kibibytes(&control), 20.0);
            assert_eq!(control.state().phase, Phase::Lowering);
        }
    }

    #[test]
    fn without_an_upload_the_floor_remains() {
        let mut control = learnt(Increase::Multiplicative);
        for second in 5..=20u64 {
            let rates = Rates { uploaded: 4 * 40 * 1024, ..Rates::default() };
            control.on_rates(Time::START + Span::from_secs(second), &rates);
        }
        hear(&mut control, 100);
        assert_eq!(kibibytes(&control), 1.0);
    }

    #[test]
    fn a_lost_probe_counts_where_it_is_told_to() {
        let mut control = learnt(Increase::Additive);
        hear(&mut control, 100);
        let before = control.limit();
        control.on_answer(Time::START, &Answer { reflector: 0, rtt: None });
        assert_eq!(control.limit(), before);
        control.parameters.lost_is_congestion = true;
        control.on_answer(Time::START, &Answer { reflector: 0, rtt: None });
        assert_eq!(kibibytes(&control), 20.0);
    }
}
