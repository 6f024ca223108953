use crate::parameter::parameters;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::{Rate, Time};

parameters! {
    /// A limit that never moves.
    Fixed {
        /// The limit. The default is Auto-Speed's start capacity, 30 KiB/s.
        limit_bps: Rate = Rate::at_least_one(245_760), 8.0..=1e12;
    }
}

#[derive(Debug)]
pub(crate) struct FixedController(Limit);

impl FixedController {
    pub(crate) fn new(parameters: &Fixed, _setup: &Setup) -> FixedController {
        FixedController(Limit::At(parameters.limit_bps))
    }
}

impl Controller for FixedController {
    fn on_answer(&mut self, _now: Time, _answer: &Answer) {}
    fn on_rates(&mut self, _now: Time, _rates: &Rates) {}
    fn probe(&mut self, _now: Time) -> Option<Probe> {
        None
    }
    fn deadline(&self) -> Time {
        Time::NEVER
    }
    fn limit(&self) -> Limit {
        self.0
    }
    fn state(&self) -> State {
        State::new(Phase::Holding, "the limit is fixed")
    }
}
