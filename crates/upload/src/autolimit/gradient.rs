//! Delay gradient, after the delay-based half of Google's congestion control for real-time media
//! (draft-ietf-rmcat-gcc-02): a standing delay that *rises* is overuse, one that falls means wait, one that is level means raise.
//! No base is needed, so a shifted route is one false alarm and not a lasting one; a queue that stands without moving is not seen.

use super::senses::{Sensed, Senses, Window, answers_of_senses};
use super::{BLAMED, BOUND, CUT, FIRST, SEARCH, bounded, threshold};
use crate::parameter::parameters;
use crate::{Controller, Event, Phase, Rates, Setup, State};
use flashcrowd_base::Time;

parameters! {
    /// No limit to set by hand.
    Gradient {}
}

/// Windows over which the gradient is taken: one more than the limiter and the meter need.
const SPAN: usize = 3;

/// Far from the capacity the limit grows by the draft's 8 % per second, which is 1.17 per window.
const FAR: f64 = 1.17;

/// Near the capacity by this part of it: the draft's three standard deviations, of rates that a client measures.
const NEAR: f64 = 0.15;

#[derive(Debug)]
pub(crate) struct GradientController {
    senses: Senses,
    /// Standing delays of the last windows.
    delays: Vec<f64>,
    /// The rate at overuse, smoothed as the draft does (weight 0.05 to 0.2; few samples here: 0.3).
    capacity: Option<f64>,
    skip: u32,
    limit: f64,
    state: State,
}

impl GradientController {
    pub(crate) fn new(_parameters: &Gradient, setup: &Setup) -> GradientController {
        GradientController {
            senses: Senses::new(setup),
            delays: Vec::new(),
            capacity: None,
            skip: 0,
            limit: FIRST,
            state: State::new(Phase::Learning, "too few delays yet"),
        }
    }

    fn judge(&mut self, _: Time, window: Window) {
        let sensed = match window {
            Window::Heard(sensed) => sensed,
            Window::Silent | Window::Back => {
                self.delays.clear();
                self.state = State::new(Phase::Waiting, "no answers: the limit stays");
                return;
            }
        };
        self.delays.push(sensed.standing);
        if self.delays.len() > SPAN {
            self.delays.remove(0);
        }
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.delays.len() == SPAN {
            self.control(sensed);
        }
    }

    fn control(&mut self, sensed: Sensed) {
        let Some(upload) = sensed.upload else { return };
        let rise = sensed.standing - self.delays[0];
        let bound = threshold(self.capacity.unwrap_or(upload), sensed.noise);
        let state = |phase, reason| State::new(phase, reason).with(rise.max(0.0), bound);
        let loaded = upload >= BOUND * self.limit;
        if rise > bound && upload >= BLAMED * self.limit {
            // Far above the old estimate, or below: another line than before.
            self.capacity = Some(match self.capacity {
                Some(capacity) if (upload - capacity).abs() < NEAR * capacity => {
                    0.7 * capacity + 0.3 * upload
                }
                _ => upload,
            });
            self.limit = bounded(CUT * upload);
            self.skip = 2;
            self.delays.clear();
            self.state = state(Phase::Lowering, "the delay rises under our upload");
        } else if rise.abs() > bound {
            self.state = state(Phase::Holding, "the delay falls, or rises without our upload");
        } else if !loaded {
            self.senses.calm(sensed.standing);
            self.state = state(Phase::Holding, "the upload is below its limit");
        } else {
            let near = self
                .capacity
                .is_some_and(|capacity| (self.limit - capacity).abs() < NEAR * capacity);
            // Near the capacity a full packet per response time; here 1 % of it.
            let next = match self.capacity {
                Some(capacity) if near => self.limit + 0.01 * capacity,
                Some(_) => self.limit * FAR,
                None => self.limit * SEARCH,
            };
            self.limit = bounded(next);
            self.state = state(Phase::Raising, "the delay is level");
        }
    }
}

impl Controller for GradientController {
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.senses.rates(now, rates);
    }
    fn on_event(&mut self, now: Time, event: Event) {
        self.senses.event(now, event);
        self.delays.clear();
        if event == Event::PathChanged {
            (self.capacity, self.limit) = (None, FIRST);
        }
    }

    answers_of_senses!();
}
