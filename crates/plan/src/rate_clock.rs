use flashcrowd_base::Span;
use serde::{Deserialize, Serialize};

/// A rate of arrivals, from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// From here on.
    pub at_ns: Span,
    /// Peers that come in a second, on average.
    pub per_s: f64,
}

/// Later than this nothing happens: a century.
const LATEST_S: f64 = 3e9;

/// Walks through a rate that is a step function of time, from arrival to arrival.
///
/// By the time-change theorem a Poisson process of rate λ(t) is one of rate one in the time
/// Λ(t) = ∫λ: unit-exponential gaps, handed to [`RateClock::after`] one by one, give its arrivals.
#[derive(Clone, Debug)]
pub struct RateClock<'s> {
    steps: &'s [RateStep],
    period_s: Option<f64>,
    /// The step that holds now, and when the present period began.
    step: usize,
    begun_s: f64,
    now_s: f64,
}

impl<'s> RateClock<'s> {
    /// At the begin of the first step. The plan's check has refused steps with which it could go on
    /// for ever.
    pub fn new(steps: &'s [RateStep], period_ns: Option<Span>) -> RateClock<'s> {
        let period_s = period_ns.map(|period| period.seconds());
        RateClock { steps, period_s, step: 0, begun_s: 0.0, now_s: 0.0 }
    }

    /// The instant in seconds by which `arrivals` more arrivals are expected; a century at most.
    pub fn after(&mut self, mut arrivals: f64) -> f64 {
        while self.now_s < LATEST_S {
            let per_s = self.steps[self.step].per_s;
            let next = self.steps.get(self.step + 1).map(|step| step.at_ns.seconds());
            let Some(end_s) = next.or(self.period_s).map(|end| self.begun_s + end) else {
                self.now_s += arrivals / per_s;
                break;
            };
            let expected = per_s * (end_s - self.now_s).max(0.0);
            if arrivals < expected {
                self.now_s += arrivals / per_s;
                break;
            }
            arrivals -= expected;
            self.now_s = end_s;
            self.step += 1;
            if self.step == self.steps.len() {
                self.step = 0;
                self.begun_s = end_s;
            }
        }
        self.now_s.min(LATEST_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at_s: u64, per_s: f64) -> RateStep {
        RateStep { at_ns: Span::from_secs(at_s), per_s }
    }

    #[test]
    fn arrivals_are_where_the_area_under_the_rate_says() {
        // None until 10 s, two a second until 15 s, one in two seconds from then on.
        let steps = [step(0, 0.0), step(10, 2.0), step(15, 0.5)];
        let mut clock = RateClock::new(&steps, None);
        let found: Vec<f64> = [0.0, 4.0, 6.0, 1.0].map(|more| clock.after(more)).to_vec();
        assert_eq!(found, [10.0, 12.0, 15.0, 17.0]);
    }

    #[test]
    fn a_period_begins_again() {
        // Four in the first second of each ten, none in the rest.
        let steps = [step(0, 4.0), step(1, 0.0)];
        let mut clock = RateClock::new(&steps, Some(Span::from_secs(10)));
        let found: Vec<f64> = (0..3).map(|_| clock.after(3.0)).collect();
        assert_eq!(found, [0.75, 10.5, 20.25]);
    }

    #[test]
    fn a_century_is_the_end() {
        let steps = [step(0, 1e-6)];
        assert_eq!(RateClock::new(&steps, None).after(1e9), LATEST_S);
    }
}
