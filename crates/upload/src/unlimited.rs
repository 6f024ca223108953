use crate::parameter::parameters;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::Time;

parameters! {
    /// No limit.
    Unlimited {}
}

#[derive(Debug)]
pub(crate) struct UnlimitedController;

impl UnlimitedController {
    pub(crate) fn new(_parameters: &Unlimited, _setup: &Setup) -> UnlimitedController {
        UnlimitedController
    }
}

impl Controller for UnlimitedController {
    fn on_answer(&mut self, _now: Time, _answer: &Answer) {}
    fn on_rates(&mut self, _now: Time, _rates: &Rates) {}
    fn probe(&mut self, _now: Time) -> Option<Probe> {
        None
    }
    fn deadline(&self) -> Time {
        Time::NEVER
    }
    fn limit(&self) -> Limit {
        Limit::Unlimited
    }
    fn state(&self) -> State {
        State::new(Phase::Holding, "there is no limit")
    }
}
