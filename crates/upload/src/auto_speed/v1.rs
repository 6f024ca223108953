//! The first generation, of Azureus 3.0.0.8 (March 2007): the mean of the last five pings against an idle ping,
//! in steps of 1 KiB/s. Two oddities are the original's, and decide what it does: above 200 ms it *raises* the
//! limit while the ping is below three idle pings, and a start without a limit becomes 1 KiB/s at the first raise,
//! because the client's "unlimited" is the greatest 32-bit integer, to which 1024 is added.

use super::KIB;
use super::round::Round;
use crate::meter::Meter;
use crate::parameter::parameters;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::{Rate, Ring, Span, Time};

parameters! {
    /// Auto-Speed of Azureus 3.0.0.8.
    AutoSpeedV1 {
        /// How often the three sources are asked.
        probe_period_ns: Span = Span::from_secs(5), 0.5..=60.0;
        /// When a ping is lost.
        probe_timeout_ns: Span = Span::from_secs(5), 0.5..=60.0;
        /// Above this ping the uplink counts as choked, whatever the idle ping is (200 ms since 2006-10-30; 500 ms before).
        choke_ping_ns: Span = Span::from_millis(200), 0.01..=10.0;
        /// The idle ping until one was measured.
        initial_idle_ns: Span = Span::from_millis(100), 0.01..=10.0;
        /// The lowest idle ping.
        least_idle_ns: Span = Span::from_millis(50), 0.001..=10.0;
        /// The greatest raise (1 KiB/s since 2006-08-01; 5 KiB/s before).
        max_raise_bps: Rate = Rate::at_least_one(8192), 8192.0..=1e8;
        /// The greatest cut (4 KiB/s since 2006-08-01; 5 KiB/s before).
        max_cut_bps: Rate = Rate::at_least_one(32_768), 8192.0..=1e8;
        /// The limit while the idle ping is measured.
        forced_minimum_bps: Rate = Rate::at_least_one(32_768), 8192.0..=1e8;
    }
}

/// After this time without an idle ping the limit is forced down to measure one, for at most this
/// time.
const PATIENCE: Span = Span::from_secs(60);

#[derive(Debug)]
pub(crate) struct AutoSpeedV1Controller {
    parameters: AutoSpeedV1,
    round: Round,
    meter: Meter,
    /// The least ping of all, milliseconds.
    min: f64,
    /// The last five pings.
    pings: Ring<f64>,
    /// Idle ping, and whether it was measured.
    idle: f64,
    idle_known: bool,
    idle_count: u32,
    /// Since when no idle ping is known, and since when the limit is forced down for that.
    unknown_since: Time,
    forced: Option<(Time, Limit)>,
    failures: [u32; 3],
    replaced: u32,
    /// The last three upload rates at which the uplink choked.
    choked: Ring<f64>,
    rising: bool,
    limit: Limit,
    state: State,
}

impl AutoSpeedV1Controller {
    pub(crate) fn new(parameters: &AutoSpeedV1, setup: &Setup) -> AutoSpeedV1Controller {
        let (period, timeout) = (parameters.probe_period_ns, parameters.probe_timeout_ns);
        AutoSpeedV1Controller {
            round: Round::new(setup.now, period, timeout, setup.reflectors),
            meter: Meter::new(),
            min: f64::INFINITY,
            pings: Ring::new(),
            idle: millis(parameters.initial_idle_ns),
            idle_known: false,
            idle_count: 0,
            unknown_since: setup.now,
            forced: None,
            failures: [0; 3],
            replaced: 0,
            choked: Ring::new(),
            rising: true,
            limit: setup.limit,
            state: State::new(Phase::Learning, "no idle ping is known yet"),
            parameters: parameters.clone(),
        }
    }

    fn judge(&mut self, now: Time, answers: &[f64]) {
        self.min = answers.iter().fold(self.min, |min, rtt| min.min(*rtt));
        let bound = 5.0 * self.min.max(75.0);
        let (count, sum) = answers
            .iter()
            .filter(|rtt| **rtt < bound)
            .fold((0.0, 0.0), |(count, sum), rtt| (count + 1.0, sum + rtt));
        if count == 0.0 {
            self.state = State::new(Phase::Waiting, "no good ping came back");
            return;
        }
        let ping: f64 = sum / count;
        if self.pings.len() == 5 {
            self.pings.pop_front();
        }
        self.pings.push_back(ping);
        let run = mean(&self.pings);
        self.learn_idle(run);
        if self.forced.is_some() && !self.leave_forced(now) {
            return;
        }
        if !self.idle_known && now.since(self.unknown_since) > PATIENCE || self.replaced >= 2 {
            self.replaced = 0;
            self.forced = Some((now, self.limit));
            self.limit = Limit::At(self.parameters.forced_minimum_bps);
            self.pings = Ring::new();
            self.state = State::new(Phase::Learning, "the limit is forced down for an idle ping");
            return;
        }
        self.adapt(ping, run);
    }

    fn learn_idle(&mut self, run: f64) {
        // The client's meter is a mean of 10 s, of which five are averaged once more.
        let quiet = self.meter.rate(Span::from_secs(10)).is_none_or(|rate| rate <= 5.0 * KIB);
        if quiet || (!self.idle_known && run < self.idle) {
            self.idle_count += 1;
            if self.idle_count >= 5 {
                self.idle = run.max(millis(self.parameters.least_idle_ns));
                self.idle_known = true;
            }
        } else {
            self.idle_count = 0;
        }
        if self.idle_known && run < self.idle {
            self.idle = run.max(millis(self.parameters.least_idle_ns));
        }
    }

    /// Whether the limit is free again.
    fn leave_forced(&mut self, now: Time) -> bool {
        let Some((since, before)) = self.forced else { return true };
        if self.idle_known || now.since(since) > PATIENCE {
            self.forced = None;
            self.unknown_since = now;
            self.limit = before;
            return true;
        }
        false
    }

    fn adapt(&mut self, ping: f64, run: f64) {
        let choke_ping = millis(self.parameters.choke_ping_ns);
        let seconds = |millis: f64| millis / 1e3;
        let (state, next) = if run < 2.0 * self.idle && ping < choke_ping {
            self.rising = true;
            let state = State::new(Phase::Raising, "the ping is near the idle ping")
                .with(seconds(run), seconds(2.0 * self.idle));
            (state, self.raised(run))
        } else if ping > 4.0 * self.idle || ping > choke_ping {
            if self.rising && self.idle_known {
                let rate = self.meter.rate(Span::from_secs(10)).unwrap_or(0.0);
                if self.choked.len() == 3 {
                    self.choked.pop_front();
                }
                self.choked.push_back(rate);
            }
            self.rising = false;
            let steps = libm::trunc((ping - 3.0 * self.idle) / 50.0);
            let cut = (KIB * steps).min(self.parameters.max_cut_bps.bytes_per_second());
            let threshold = seconds(choke_ping.min(4.0 * self.idle));
            let phase = if cut > 0.0 { Phase::Lowering } else { Phase::Raising };
            let state = State::new(phase, "the ping is choked").with(seconds(ping), threshold);
            (state, self.limit.bytes_per_second() - cut)
        } else {
            let state = State::new(Phase::Holding, "the ping is neither idle nor choked")
                .with(seconds(run), seconds(2.0 * self.idle));
            (state, self.limit.bytes_per_second())
        };
        self.state = state;
        if next.is_finite() {
            // Whole KiB/s, rounded up, and at least one.
            self.limit = Limit::from_bytes_per_second(libm::ceil(next / KIB).max(1.0) * KIB);
        }
    }

    fn raised(&self, run: f64) -> f64 {
        let Limit::At(limit) = self.limit else { return KIB };
        let limit = limit.bytes_per_second();
        if self.meter.rate(Span::from_secs(10)).unwrap_or(0.0) < limit - 10.0 * KIB {
            return limit;
        }
        let choke = mean(&self.choked);
        let max = self.parameters.max_raise_bps.bytes_per_second();
        let far = limit + 2.0 * KIB <= choke && limit + 5.0 * KIB > choke;
        let max = if far { max + 3.0 * KIB } else { max };
        limit + (KIB * libm::floor((run - self.idle).max(100.0) / 50.0)).min(max)
    }
}

/// The mean, and 0 of nothing.
fn mean(values: &Ring<f64>) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn millis(span: Span) -> f64 {
    span.seconds() * 1e3
}

impl Controller for AutoSpeedV1Controller {
    fn on_answer(&mut self, now: Time, answer: &Answer) {
        if let Some(failures) = self.failures.get_mut(answer.reflector) {
            *failures = if answer.rtt.is_some() { 0 } else { *failures + 1 };
            // Three failures in a row, and another host takes the place.
            if *failures >= 3 {
                *failures = 0;
                self.replaced = (self.replaced + 1).min(self.round.sources() as u32);
            }
        }
        if let Some(answers) = self.round.hear(answer) {
            self.judge(now, &answers);
        }
    }
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.meter.note(now, rates.uploaded);
        if now < self.unknown_since {
            self.unknown_since = now;
        }
    }
    fn probe(&mut self, now: Time) -> Option<Probe> {
        self.round.probe(now)
    }
    fn deadline(&self) -> Time {
        self.round.deadline()
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

    struct Bench {
        control: AutoSpeedV1Controller,
        now: Time,
        uploaded: f64,
    }

    impl Bench {
        fn new() -> Bench {
            let setup = Setup { now: Time::START, reflectors: 3, limit: Limit::Unlimited };
            let control = AutoSpeedV1Controller::new(&AutoSpeedV1::default(), &setup);
            Bench { control, now: Time::START, uploaded: 0.0 }
        }
        /// One group of pings at 5 s of this upload in KiB/s; the limit afterwards.
        fn group(&mut self, millis: u64, upload: f64) -> f64 {
            for _ in 0..5 {
                self.now += Span::from_secs(1);
                self.uploaded += upload * KIB;
                let rates = Rates { uploaded: self.uploaded as u64, ..Rates::default() };
                self.control.on_rates(self.now, &rates);
            }
            while let Some(probe) = self.control.probe(self.now) {
                let rtt = Some(Span::from_millis(millis));
                self.control.on_answer(self.now, &Answer { reflector: probe.reflector, rtt });
            }
            self.control.limit().bytes_per_second() / KIB
        }
    }

    #[test]
    fn no_limit_becomes_the_least_and_rises_by_one_kibibyte_in_five_seconds() {
        let mut bench = Bench::new();
        assert_eq!(bench.group(60, 0.0), 1.0);
        let limits: Vec<f64> =
            (0..5).map(|round| bench.group(60, 1.0 + f64::from(round))).collect();
        assert_eq!(limits, [2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(bench.control.idle_known);
        assert_eq!(bench.control.idle, 60.0);
    }

    #[test]
    fn above_the_choke_ping_it_cuts_by_the_excess_over_three_idle_pings_even_below_them() {
        let mut bench = Bench::new();
        for round in 0..20 {
            bench.group(100, f64::from(round));
        }
        let before = bench.group(100, 20.0);
        // 450 - 300 = 150 ms: three steps.
        assert_eq!(bench.group(450, 20.0), before - 3.0);
        assert_eq!(bench.group(5 * 99 - 1, 20.0), before - 3.0 - 3.0);
        // 210 - 300 = -90 ms: one step up.
        assert_eq!(bench.group(210, 20.0), before - 5.0);
    }

    #[test]
    fn it_does_not_rise_while_the_limit_is_far_from_used() {
        let mut bench = Bench::new();
        for _ in 0..60 {
            bench.group(100, 0.5);
        }
        assert_eq!(bench.group(100, 0.5), 11.0);
    }
}
