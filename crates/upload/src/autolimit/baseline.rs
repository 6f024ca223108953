//! Delay against a baseline that is our own. A round trip cannot tell an uplink's queue from a downlink's, so what is
//! controlled is not the delay but what *our upload adds* to it: the standing delay less a reference that was taken while the
//! upload rested. The reference is taken at the start, every minute or less often, and whenever a delay stays although the
//! upload was cut: then it was not ours, and the limit comes back.

use super::senses::{Sensed, Senses, Window, answers_of_senses};
use super::{BLAMED, BOUND, CUT, FIRST, FLOOR, SEARCH, bounded, threshold};
use crate::parameter::parameters;
use crate::{Controller, Event, Phase, Rates, Setup, State};
use flashcrowd_base::{Span, Time};

parameters! {
    /// No limit to set by hand.
    Baseline {}
}

/// How long a reference holds at first; twice as long after each that agrees, up to the longest.
const REFRESH: Span = Span::from_secs(60);
const LONGEST_REFRESH: Span = Span::from_secs(300);

/// The upload rests at this part of the capacity: a queue drains at the other half, and peers still get something. A limiter that
/// bursts leaves the queue empty half of the time then.
const REST: f64 = 0.5;

/// The upload has left the sockets and the modem after this number of windows, or earlier, when the delay stops
/// falling.
const MAX_REST: u32 = 5;

/// Windows that are not judged after a cut: the client's limiter and meter take 3 s, old data a while longer.
const AFTER_CUT: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// The upload rests for the reference; the number of windows, and the standing delay of the last one. `back` is
    /// the limit to which it returns, unless the delay that was suspected proves to be ours.
    Rest { windows: u32, last: f64, back: f64, suspect: Option<Suspect> },
    /// Under control; windows until the next decision.
    BaselineController { skip: u32 },
}

/// A delay that may be ours: the standing delay in seconds, and the upload under which it stood.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Suspect {
    standing: f64,
    upload: f64,
}

#[derive(Debug)]
pub(crate) struct BaselineController {
    senses: Senses,
    mode: Mode,
    /// The standing delay without our upload, in seconds.
    reference: f64,
    refresh: Span,
    refresh_at: Time,
    /// The rates at which the queue stood, latest last: the capacity that is left to us.
    full: Vec<f64>,
    /// Windows in a row with a delay that a cut did not end, or that came without our upload.
    unexplained: u32,
    /// Windows until the next raise near the capacity.
    patience: u32,
    limit: f64,
    state: State,
}

impl BaselineController {
    pub(crate) fn new(_parameters: &Baseline, setup: &Setup) -> BaselineController {
        BaselineController {
            senses: Senses::new(setup),
            mode: Mode::Rest { windows: 0, last: f64::INFINITY, back: FIRST, suspect: None },
            reference: 0.0,
            refresh: REFRESH,
            refresh_at: Time::NEVER,
            full: Vec::new(),
            unexplained: 0,
            patience: 0,
            limit: FLOOR,
            state: State::new(Phase::Learning, "the delay is measured while the upload rests"),
        }
    }

    fn capacity(&self) -> Option<f64> {
        let mut rates = self.full.clone();
        crate::moments::quantile(&mut rates, 0.5)
    }

    /// There was a standing queue at this upload.
    fn full(&mut self, upload: f64) {
        self.full.push(upload);
        if self.full.len() > 5 {
            self.full.remove(0);
        }
    }

    fn rest(&mut self, back: f64, suspect: Option<Suspect>, reason: &'static str) {
        self.limit = self.capacity().map_or(FLOOR, |capacity| bounded(REST * capacity)).min(back);
        self.mode = Mode::Rest { windows: 0, last: f64::INFINITY, back, suspect };
        self.state = State::new(Phase::Draining, reason);
    }

    fn judge(&mut self, now: Time, window: Window) {
        let sensed = match window {
            Window::Heard(sensed) => sensed,
            Window::Silent => {
                self.state = State::new(Phase::Waiting, "no answers: the limit stays");
                return;
            }
            Window::Back => {
                self.state = State::new(Phase::Waiting, "answers are back: one window is let pass");
                return;
            }
        };
        match self.mode {
            Mode::Rest { windows, last, back, suspect } => {
                let bound = threshold(self.capacity().unwrap_or(self.limit), sensed.noise);
                let falling = sensed.standing < last - 0.5 * bound;
                if windows < 2 || (falling && windows < MAX_REST) {
                    let (windows, last) = (windows + 1, sensed.standing);
                    self.mode = Mode::Rest { windows, last, back, suspect };
                    return;
                }
                self.resume(now, sensed, back, suspect, bound);
            }
            Mode::BaselineController { skip: 0 } => self.control(now, sensed),
            Mode::BaselineController { skip } => {
                self.mode = Mode::BaselineController { skip: skip - 1 }
            }
        }
    }

    /// The upload has rested: what stands now is not ours.
    fn resume(
        &mut self,
        now: Time,
        sensed: Sensed,
        back: f64,
        suspect: Option<Suspect>,
        bound: f64,
    ) {
        let agrees = (sensed.standing - self.reference).abs() < 0.5 * bound;
        self.refresh = if agrees && suspect.is_none() {
            (self.refresh * 2).min(LONGEST_REFRESH)
        } else {
            REFRESH
        };
        self.refresh_at = now + self.refresh;
        // Half of what was added is gone: it went with our upload, so it was ours.
        let ours = suspect.filter(|suspect| {
            let added = suspect.standing - self.reference;
            suspect.standing - sensed.standing > 0.5 * added.max(bound)
        });
        self.reference = sensed.standing;
        self.senses.calm(sensed.standing);
        self.unexplained = 0;
        self.limit = match ours {
            Some(suspect) => {
                self.full(suspect.upload);
                bounded(CUT * suspect.upload).min(back)
            }
            None => bounded(back),
        };
        // The meter still sees the rest; one window for the limiter, one for the meter.
        self.mode = Mode::BaselineController { skip: 2 };
        self.state = match ours {
            Some(_) => State::new(Phase::Lowering, "the delay went with our upload: it was ours"),
            None => State::new(Phase::Holding, "the reference was renewed, the limit is back"),
        };
    }

    fn control(&mut self, now: Time, sensed: Sensed) {
        let Some(upload) = sensed.upload else { return };
        let capacity = self.capacity();
        let bound = threshold(capacity.unwrap_or(upload), sensed.noise).max(0.3 * self.reference);
        let added = sensed.standing - self.reference;
        let state = |phase, reason| State::new(phase, reason).with(added, bound);
        let loaded = upload >= BOUND * self.limit;
        if added > bound {
            self.unexplained += 1;
            if self.unexplained >= 3 {
                // Cuts did not help, or it came without our upload: is it ours at all?
                let back = if loaded { self.limit } else { self.limit.max(upload) };
                let suspect = Some(Suspect { standing: sensed.standing, upload });
                let reason = "a delay stays: does it go when the upload rests?";
                return self.rest(back, suspect, reason);
            }
            if upload >= BLAMED * self.limit {
                self.full(upload);
                self.limit = bounded(CUT * upload);
                self.mode = Mode::BaselineController { skip: AFTER_CUT };
                self.patience = 5;
                self.state = state(Phase::Lowering, "our upload queues");
            } else {
                self.state = state(Phase::Holding, "a delay that is not of our upload");
            }
            return;
        }
        self.unexplained = 0;
        if now >= self.refresh_at && loaded {
            return self.rest(self.limit, None, "the reference is renewed");
        }
        if !loaded {
            self.state = state(Phase::Holding, "below the limit");
            return;
        }
        if self.patience > 0 {
            self.patience -= 1;
            self.state = state(Phase::Holding, "the last cut is young");
            return;
        }
        let near = capacity.is_some_and(|capacity| self.limit >= 0.7 * capacity);
        let at = capacity.is_some_and(|capacity| self.limit >= CUT * capacity);
        let (factor, patience) = match (near, at) {
            (false, _) if capacity.is_none() => (SEARCH, 0),
            (false, _) => (1.25, 0),
            (true, false) => (1.05, 1),
            (true, true) => (1.01, 1),
        };
        self.limit = bounded(self.limit * factor);
        self.patience = patience;
        self.state = state(Phase::Raising, "at the limit, raising it");
    }
}

impl Controller for BaselineController {
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.senses.rates(now, rates);
        // After a step back of the clock no date from before is to be waited for.
        self.refresh_at = self.refresh_at.min(now + LONGEST_REFRESH);
    }
    fn on_event(&mut self, now: Time, event: Event) {
        self.senses.event(now, event);
        if event == Event::PathChanged {
            self.full.clear();
            self.rest(FIRST, None, "another path: everything is learnt anew");
        }
    }

    answers_of_senses!();
}
