//! A model of the capacity, learnt by trials: the limit goes below what is believed, then above, and the delays of both
//! are compared. A delay that comes with the upload is ours, and the rate that was achieved then is the capacity; one
//! that is the same in both is of other traffic. No base is needed, and no reference older than a trial: routes may
//! shift, downlinks may queue. Between trials the limit stays at a part of the capacity.
//!
//! The trials are those of PCC (Dong et al. 2015) and of BBR's gain cycle, at the pace of a client's limiter.

use super::senses::{Sensed, Senses, Window, answers_of_senses};
use super::{BLAMED, BOUND, CUT, FIRST, SEARCH, bounded, threshold};
use crate::parameter::parameters;
use crate::{Controller, Event, Phase, Rates, Setup, State};
use flashcrowd_base::Time;

parameters! {
    /// No limit to set by hand.
    Capacity {}
}

/// Below and above the limit during a trial.
const LOW: f64 = 0.7;
const HIGH: f64 = 1.1;

/// Windows between two trials at first; twice as many after each that confirmed the capacity.
const CRUISE: u32 = 8;
const LONGEST_CRUISE: u32 = 64;

/// Windows of a phase at most, and the fewest until one is believed: the limiter and the meter take two.
const FEWEST: u32 = 2;
const MAX: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Below; until the delay stops falling.
    Low { windows: u32, last: f64 },
    /// Above, with the delay that stood below.
    High { windows: u32, low: f64 },
    /// Between trials, with the delay that stood below at the last one; windows left, and windows in a row with a queue.
    Cruise { left: u32, low: f64, queued: u32 },
}

#[derive(Debug)]
pub(crate) struct CapacityController {
    senses: Senses,
    mode: Mode,
    /// The rate at which a queue stood.
    capacity: Option<f64>,
    /// The limit around which the trials are made.
    centre: f64,
    cruise: u32,
    limit: f64,
    state: State,
}

impl CapacityController {
    pub(crate) fn new(_parameters: &Capacity, setup: &Setup) -> CapacityController {
        CapacityController {
            senses: Senses::new(setup),
            mode: Mode::Low { windows: 0, last: f64::INFINITY },
            capacity: None,
            centre: FIRST,
            cruise: CRUISE,
            limit: bounded(LOW * FIRST),
            state: State::new(Phase::Learning, "the delay below the limit is measured"),
        }
    }

    fn try_low(&mut self, reason: &'static str) {
        self.limit = bounded(LOW * self.centre);
        self.mode = Mode::Low { windows: 0, last: f64::INFINITY };
        self.state = State::new(Phase::Draining, reason);
    }

    fn try_high(&mut self, low: f64) {
        let factor = if self.capacity.is_some() { HIGH } else { SEARCH };
        self.centre = bounded(self.centre);
        self.limit = bounded(factor * self.centre);
        self.mode = Mode::High { windows: 0, low };
        self.state = State::new(Phase::Raising, "a trial above the limit");
    }

    fn cruise_at(&mut self, low: f64, state: State) {
        self.limit = bounded(self.centre);
        self.mode = Mode::Cruise { left: self.cruise, low, queued: 0 };
        self.state = state;
    }

    fn judge(&mut self, _: Time, window: Window) {
        let sensed = match window {
            Window::Heard(sensed) => sensed,
            Window::Silent | Window::Back => {
                // A trial in which answers are missing restarts.
                match &mut self.mode {
                    Mode::Low { windows, .. } | Mode::High { windows, .. } => *windows = 0,
                    Mode::Cruise { .. } => {}
                }
                self.state = State::new(Phase::Waiting, "no answers: the limit stays");
                return;
            }
        };
        let Some(upload) = sensed.upload else { return };
        let bound = threshold(self.capacity.unwrap_or(upload), sensed.noise);
        match self.mode {
            Mode::Low { windows, last } => {
                let falling = sensed.standing < last - 0.5 * bound;
                let windows = windows + 1;
                if windows < FEWEST || (falling && windows < MAX) {
                    self.mode = Mode::Low { windows, last: sensed.standing };
                } else {
                    self.senses.calm(sensed.standing);
                    self.try_high(sensed.standing);
                }
            }
            Mode::High { windows, low } => self.above(sensed, upload, bound, windows + 1, low),
            Mode::Cruise { left, low, queued } => {
                let added = sensed.standing - low;
                let loaded = upload >= BOUND * self.limit;
                let ours = added > bound && upload >= BLAMED * self.limit;
                let queued = if ours { queued + 1 } else { 0 };
                if queued >= 2 {
                    // During a queue, the departures are all there is.
                    self.found(upload, 0.0, 1);
                    self.cruise = CRUISE;
                    return self.try_low("a queue stands: does it go with our upload?");
                }
                self.mode = Mode::Cruise { left: left.saturating_sub(1), low, queued };
                if left == 0 && loaded {
                    self.try_low("the capacity is tried again");
                }
            }
        }
    }

    fn above(&mut self, sensed: Sensed, upload: f64, bound: f64, windows: u32, low: f64) {
        let added = sensed.standing - low;
        let state = |phase, reason| State::new(phase, reason).with(added.max(0.0), bound);
        if added > bound && upload >= BOUND * LOW * self.centre {
            let confirmed =
                self.capacity.is_some_and(|capacity| (upload - capacity).abs() < 0.1 * capacity);
            self.cruise = if confirmed { (self.cruise * 2).min(LONGEST_CRUISE) } else { CRUISE };
            self.found(upload, added, windows);
            return self
                .cruise_at(low, state(Phase::Lowering, "the trial queued: that is the capacity"));
        }
        if windows < FEWEST + 1 {
            self.mode = Mode::High { windows, low };
            return;
        }
        if upload < BOUND * self.limit {
            // Nothing more to upload: the limit is not what holds it.
            let state = state(Phase::Holding, "the upload is below its limit");
            return self.cruise_at(low, state);
        }
        // More went through without a queue.
        self.centre = bounded(self.limit);
        if self.capacity.is_some_and(|capacity| self.centre > capacity) {
            self.capacity = None;
            self.cruise = CRUISE;
        }
        self.try_high(low);
        self.state = state(Phase::Raising, "the trial did not queue: there is more");
    }

    /// The capacity is what left the modem while a queue stood. The client counts what *entered*: a delay that grew
    /// by `added` seconds in `windows` windows is that much too much.
    fn found(&mut self, upload: f64, added: f64, windows: u32) {
        let seconds = 2.0 * f64::from(windows.max(1));
        let capacity = upload * seconds / (seconds + added.max(0.0));
        self.capacity = Some(capacity);
        self.centre = bounded(CUT * capacity);
    }
}

impl Controller for CapacityController {
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.senses.rates(now, rates);
    }
    fn on_event(&mut self, now: Time, event: Event) {
        self.senses.event(now, event);
        if event == Event::PathChanged {
            (self.capacity, self.centre, self.cruise) = (None, FIRST, CRUISE);
            self.try_low("another path: everything is learnt anew");
        }
    }

    answers_of_senses!();
}
