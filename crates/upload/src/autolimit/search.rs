//! A search for the highest limit that does no harm, between one that did none and one that did.
//!
//! What harm is depends on who suffers. A download that fills the downlink's queue has a window W, and its round trip is W
//! over its rate: what the uplink's queue adds, the downlink's loses. So the *mean* round trip stays as it is, whatever the bursts of
//! our limiter, until the downlink's queue runs empty between two of them, and then it rises as the download's rate falls: the mean
//! is a meter of that rate. The least round trip of a window is not: it is where a download's own queue varies most. Without such a
//! download it is the other way round: bursts raise the mean and harm no rate, and only a queue that does not run empty tells
//! that the uplink is full. Which of both it is tells the delay that stands while our upload rests.

use super::occupancy::Occupancy;
use super::reserve::{self, AutolimitDelay, Reserve};
use super::senses::{Sensed, Senses, WINDOW, Window, answers_of_senses};
use super::states;
use super::{BLAMED, BOUND, CUT, FIRST, SEARCH, bounded, threshold};
use crate::parameter::parameters;
use crate::{Controller, Event, Rates, Setup, State};
use flashcrowd_base::{Span, Time};

#[cfg(test)]
mod tests;
mod trial;

parameters! {
    /// No limit to set by hand.
    Autolimit {}
}

/// Windows without a judgement after a new limit: clients' limiters take one to three seconds to follow.
const SETTLE: usize = 1;

/// Windows of a mean. A download's queue rises and falls with its window, in about eight seconds on a home's line (CUBIC's K for
/// 200 packets is 5.3 s), and a mean over that time hardly moves.
const CYCLE: usize = 4;

/// A download's rate is its window over the round trip: this much longer, and it is this much slower. What is aimed at is to leave
/// it 95 %.
const HARM: f64 = 0.05;

/// A delay above this, in seconds, while our upload rests is a queue of other traffic: single packets do not delay each
/// probe of two windows, however slow the line, whose rate is not known yet.
const QUEUE: f64 = 0.010;

/// Until then the queue of a download may differ from its mean by what a loss takes of its window: CUBIC's 0.3.
const SWING: f64 = 0.3;

/// Of the capacity while the upload rests: a queue drains at the other half, and peers still get something.
const REST: f64 = 0.5;

/// While an upload rests that has a share of the line, a smaller part of the probes wait. If as many wait, it is not for us.
const CROWDED: f64 = 0.6;

/// A share that was found below this limit, in bytes per second, is checked: most lines have more, and a download whose queue never
/// runs empty makes probes wait as well.
const DOUBTED: f64 = 4.0 * FIRST;

/// A client that sends more than this multiple of its limit does not follow it yet: one that does may write two blocks
/// in a window.
const FOLLOWED: f64 = 4.0;

/// The upload has left the sockets and the modem after this number of windows, or earlier, when the delay stops
/// falling; later, by as many again at most, if the delay rose first, as what stood in the sockets came to the modem.
const MAX_DRAIN: usize = 5;
const MAX_RISE: usize = 10;

/// A queue drains at the half of the line that rests ([`REST`]) in twice the time that it takes to pass, and as much
/// again may be in the sockets before it.
const DRAINS: f64 = 4.0;

/// A search is over when the limits that did harm and that did none are so close: a step of less is lost in the meter's own error.
const CLOSE: f64 = 1.1;

/// The raise of a search at most: it doubles while the probes that wait say that there is room for it.
const DOUBLE: f64 = 2.0;

/// A step up after two that did no harm, above all that is known.
const STEP: f64 = 1.25;

/// Windows at the limit that was found before more is tried, at first and at most: twice as many after each trial that failed.
const PATIENCE: u32 = 8;
const MAX_PATIENCE: u32 = 32;

/// How long a reference holds at first; twice as long after each that agrees, up to the longest.
const REFRESH: Span = Span::from_secs(60);
const LONGEST_REFRESH: Span = Span::from_secs(300);

/// How long the first hold with a download lasts, for which there is time for half a cycle only.
const FIRST_REFRESH: Span = Span::from_secs(30);

/// A delay that may be ours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Suspect {
    /// By how much it is above the reference, in seconds.
    added: f64,
    /// The upload under which it came, the limit, and the part of it that was used.
    upload: f64,
    limit: f64,
    used: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// The upload runs low until the delay falls no more.
    Drain { windows: usize, risen: usize, last: f64, peak: f64, suspect: Option<Suspect> },
    /// It stays low for a reference; the number of windows.
    Rest { windows: usize, suspect: Option<Suspect> },
    /// The limit is raised from window to window: no limit is known that does harm.
    Search,
    /// A limit above the one that did no harm is tried; the number of windows.
    Trial { windows: usize },
    /// The limit that was found; windows left, and since it was set.
    Hold { left: u32, windows: usize },
}

/// The delay that stays while our upload rests, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reference {
    standing: f64,
    mean: f64,
}

#[derive(Debug)]
pub(crate) struct SearchController {
    senses: Senses,
    mode: Mode,
    reference: Reference,
    /// A download's queue stands while our upload rests.
    shared: bool,
    /// How busy the line was without a download, and the delay that few probes have while it rests, in seconds.
    line: Occupancy,
    idle: f64,
    /// Windows in a row without any queue.
    empty: usize,
    refresh: Span,
    refresh_at: Time,
    /// The highest limit that did no harm, and the lowest that did since.
    good: f64,
    bad: Option<f64>,
    /// The part of the line that stays free, if delay is favoured.
    reserve: Option<Reserve>,
    /// Whether a limit that does harm was met since the last fresh start.
    found: bool,
    /// Windows of the search at the limit of the user that did no harm.
    harmless: u32,
    /// Windows between two trials, and how many in a row did no harm above all that is known.
    patience: u32,
    successes: u32,
    limit: f64,
    /// The highest limit that there can be: the user's own, in bytes per second.
    ceiling: f64,
    state: State,
}

impl SearchController {
    pub(crate) fn new(_parameters: &Autolimit, setup: &Setup) -> SearchController {
        SearchController {
            senses: Senses::new(setup),
            mode: Mode::Rest { windows: 0, suspect: None },
            reference: Reference::default(),
            shared: false,
            line: Occupancy::default(),
            idle: 0.0,
            empty: 0,
            refresh: REFRESH,
            refresh_at: Time::NEVER,
            good: FIRST,
            bad: None,
            reserve: None,
            harmless: 0,
            patience: PATIENCE,
            successes: 0,
            found: false,
            limit: FIRST,
            ceiling: f64::INFINITY,
            state: states::LEARNING,
        }
    }

    /// The same for people who play or call: a part of the line stays free.
    pub(crate) fn reserved(parameters: &AutolimitDelay, setup: &Setup) -> SearchController {
        let senses = Senses::probing(setup, reserve::PROBE_PERIOD);
        let reserve = Some(Reserve::new(parameters));
        SearchController { senses, reserve, ..SearchController::new(&Autolimit::default(), setup) }
    }

    fn set(&mut self, limit: f64) {
        self.limit = bounded(limit).min(self.ceiling);
    }

    /// The client has the limit of its user.
    fn at_ceiling(&self) -> bool {
        self.limit >= self.ceiling
    }

    fn judge(&mut self, now: Time, window: Window) {
        let sensed = match window {
            Window::Heard(sensed) if self.misled(&sensed) => {
                return self.relearn(states::MISLED);
            }
            Window::Heard(sensed) => sensed,
            Window::Silent => {
                self.state = states::SILENT;
                return;
            }
            Window::Back => {
                self.state = states::BACK;
                self.again();
                return;
            }
        };
        match self.mode {
            Mode::Drain { windows, risen, last, peak, suspect } => {
                self.drain(&sensed, (windows + 1, risen), (last, peak), suspect);
            }
            Mode::Rest { windows, suspect } => self.rest(now, &sensed, windows + 1, suspect),
            _ => self.control(now, &sensed),
        }
    }

    /// More than half of the least round trip was a queue, of ours from before the start or of others: what was learnt above it is wrong.
    fn misled(&self, sensed: &Sensed) -> bool {
        let first = !self.found && matches!(self.mode, Mode::Rest { suspect: None, .. });
        !first && sensed.fell > QUEUE.max(self.senses.base())
    }

    /// The same mode from its beginning: earlier measurements are not to be believed.
    fn again(&mut self) {
        match &mut self.mode {
            Mode::Drain { windows, .. }
            | Mode::Rest { windows, .. }
            | Mode::Trial { windows }
            | Mode::Hold { windows, .. } => *windows = 0,
            Mode::Search => {}
        }
    }

    /// The delay that counts after `windows` windows: a queue of two packets, or a longer round trip by which a
    /// download loses what it may not lose. A download's queue is periodic: the error of its mean falls with the number
    /// of windows.
    fn bound(&self, sensed: &Sensed, windows: usize) -> f64 {
        if !self.shared {
            return threshold(self.good.max(sensed.upload.unwrap_or(0.0)), sensed.noise);
        }
        let loss = HARM * (self.senses.base() + self.reference.mean);
        let bound = loss.max(4.0 * sensed.noise / windows as f64);
        if windows < CYCLE { bound.max(SWING * self.reference.mean) } else { bound }
    }

    /// All is learnt again, from the limit that did no harm so far.
    fn relearn(&mut self, state: State) {
        (self.bad, self.found, self.patience) = (None, false, PATIENCE);
        self.line = Occupancy::default();
        if let Some(reserve) = &mut self.reserve {
            reserve.forget();
        }
        self.lower(None, state);
    }

    fn lower(&mut self, suspect: Option<Suspect>, state: State) {
        let used = suspect.map_or(self.good, |suspect| suspect.upload.min(self.good));
        // A share that others leave may be lower still.
        self.set((REST * used.min(self.ceiling)).min(self.limit));
        let (last, peak) = (f64::INFINITY, 0.0);
        self.mode = Mode::Drain { windows: 0, risen: 0, last, peak, suspect };
        self.state = state;
    }

    /// The upload is low, and what was sent before leaves the sockets and the modem.
    fn drain(
        &mut self,
        sensed: &Sensed,
        (windows, risen): (usize, usize),
        (last, peak): (f64, f64),
        mut suspect: Option<Suspect>,
    ) {
        let standing = sensed.standing;
        let peak = peak.max(standing);
        let bound = self.bound(sensed, CYCLE);
        // What we had sent already goes on filling the queue: all that it adds is suspect. A download's own queue swings by less.
        let added = if self.shared {
            self.senses.mean(1).unwrap_or(standing) - self.reference.mean
        } else {
            standing - self.reference.standing
        };
        let rises = suspect.as_mut().is_some_and(|suspect| {
            let rises = added > suspect.added + bound.max(SWING * self.reference.mean);
            suspect.added = if rises { added } else { suspect.added };
            rises
        });
        let falling = last - standing > bound;
        let min = if risen > 0 { 1 } else { 2 };
        let drained = libm::ceil(DRAINS * peak / WINDOW.seconds()) as usize;
        let enough = drained.clamp(min, MAX_DRAIN);
        self.mode = if rises && risen < MAX_RISE {
            Mode::Drain { windows: 0, risen: risen + 1, last: standing, peak, suspect }
        } else if windows < enough || (falling && windows < MAX_DRAIN) {
            Mode::Drain { windows, risen, last: standing, peak, suspect }
        } else {
            // The delay of this window was the one before: it was at rest already.
            Mode::Rest { windows: usize::from(!falling), suspect }
        };
    }

    /// More probes of the last windows waited than would for an upload that has a share of the line.
    fn crowded(&self, windows: usize) -> bool {
        let (waited, answers) = self.senses.waited(self.idle + QUEUE, windows);
        waited as f64 > CROWDED * answers as f64
    }

    /// The limit that leaves a part of the line free, if that is wanted and the capacity is known.
    fn share(&self) -> Option<f64> {
        self.reserve.and_then(|reserve| reserve.limit())
    }

    /// Why a limit that is held is no higher.
    fn held(&self) -> State {
        let share = self.share();
        if self.at_ceiling() {
            // A few more probes may show a share below this limit.
            let guess = self.reserve.filter(|_| !self.shared).map(|reserve| reserve.guess());
            if share.or(guess).is_none_or(|share| share >= self.ceiling) {
                return states::OWN;
            }
            if share.is_none() {
                return states::UNSURE;
            }
        }
        match self.reserve.and_then(|reserve| reserve.least(self.good)) {
            Some(_) if !self.shared => states::LEAST,
            _ if share.is_some_and(|share| !self.shared || share <= self.good) => states::SHARE,
            _ => states::FOUND,
        }
    }

    fn hold(&mut self, left: u32) {
        self.set(match self.share() {
            Some(share) if self.shared => share.min(self.good),
            Some(share) => share,
            None => self.good,
        });
        self.mode = Mode::Hold { left, windows: 0 };
    }

    /// The upload rests: what stands now is not ours.
    fn rest(&mut self, now: Time, sensed: &Sensed, windows: usize, suspect: Option<Suspect>) {
        // What a queue that never runs empty adds is a part of the least delay. But it varies.
        let varies = self.found && self.reserve.is_some() && self.crowded(windows);
        let shared = sensed.standing > QUEUE || varies;
        let enough = match (shared, self.found) {
            (true, true) => CYCLE - 1,
            // Without a queue of other traffic one window is enough.
            (false, true) if self.reserve.is_none() => 1,
            // In the second one each reflector answers again, and the bases show whether a queue drains.
            _ => 2,
        };
        let drains = !self.found && sensed.fell > QUEUE;
        // Clients follow late, and what they send until then is no rest.
        let late = !self.found
            && windows < enough + MAX_DRAIN
            && sensed.latest.is_some_and(|latest| latest > FOLLOWED * self.limit);
        if windows < enough || drains || late {
            self.mode = Mode::Rest { windows: if drains { 0 } else { windows }, suspect };
            return;
        }
        let mean = self.senses.mean(windows).unwrap_or(sensed.standing);
        let (stood, stands) = if self.shared {
            (self.reference.mean, mean)
        } else {
            (self.reference.standing, sensed.standing)
        };
        let agrees = (stands - stood).abs() < self.bound(sensed, windows) && suspect.is_none();
        self.refresh = if agrees { (self.refresh * 2).min(LONGEST_REFRESH) } else { REFRESH };
        if shared && !self.found {
            self.refresh = FIRST_REFRESH;
        }
        self.refresh_at = now + self.refresh;
        self.reference = Reference { standing: sensed.standing, mean };
        if shared != self.shared {
            let rested = self.limit;
            self.turn(shared);
            if shared && self.found {
                // Others are harmed by less than before. What did no harm is the limit under which the reference was taken.
                self.good = self.good.min(rested);
            }
            if let Some(reserve) = self.reserve.as_mut().filter(|_| varies) {
                // Probes waited, but not for us: they say nothing about the uplink.
                reserve.forget();
                self.found = false;
            }
        }
        // Half of what was added is gone: it went with our upload, so it was ours.
        let ours = suspect.filter(|it| stood + it.added - stands > 0.5 * it.added);
        if let Some(suspect) = ours {
            self.found = true;
            if self.shared {
                // The limit under which the reference was taken does no harm, by definition.
                self.good = self.good.min(self.limit);
                self.bad = Some(suspect.limit);
                self.refrain(suspect.limit);
                return self.more(states::OURS);
            }
            self.bad = Some(suspect.limit.min(suspect.upload / BOUND));
            self.good = bounded(self.good.min(CUT * suspect.upload));
            if let Some(reserve) = &mut self.reserve {
                reserve.full(suspect.upload);
            }
            self.hold(0);
            self.state = states::OURS;
        } else if !self.found {
            if let Some(suspect) = suspect {
                // It was innocent, as far as it was used: the next limit is twice as high, as in the search that was interrupted.
                self.good = self.good.max(bounded(suspect.used * DOUBLE / SEARCH));
            } else if !shared {
                self.idle = 2.0 * self.senses.middle();
            }
            self.state = states::BEGINNING;
            self.search(sensed);
        } else if suspect.is_some() {
            // Other traffic came or went, and the harmful limit may have changed.
            (self.bad, self.patience) = (None, PATIENCE);
            self.hold(0);
            self.state = states::INNOCENT;
        } else {
            self.hold(self.patience);
            self.state = states::MEASURED;
        }
    }

    /// Nothing is known that does harm. Beside a download harm needs a while to be seen, and trials are made from the first.
    fn search(&mut self, sensed: &Sensed) {
        if self.shared {
            return self.more(self.state);
        }
        let latest = sensed.latest.unwrap_or(0.0);
        let used = latest >= BOUND * self.good;
        if used {
            // The window of the reference is the first of the search.
            let waited = self.senses.waited(self.idle + QUEUE, 1);
            self.line.note(latest, waited);
            if let Some(reserve) = &mut self.reserve {
                reserve.note(latest, waited);
            }
        }
        self.set(if used { DOUBLE * self.good } else { self.good });
        (self.mode, self.harmless) = (Mode::Search, 0);
    }

    /// A download that fills the downlink's queue came or went: harm is another one from now on.
    fn turn(&mut self, shared: bool) {
        self.shared = shared;
        self.senses.forget_calm();
        (self.bad, self.patience) = (None, PATIENCE);
        if let Some(reserve) = self.reserve.as_mut().filter(|_| !shared) {
            reserve.forget();
        }
    }

    /// Beside a download this limit did harm: one that leaves a part free stays well below it.
    fn refrain(&mut self, limit: f64) {
        if let Some(reserve) = &mut self.reserve {
            reserve.bound(CUT * limit);
        }
    }

    /// What our upload adds by the last `windows`, and from when on that is too much.
    fn added(&self, sensed: &Sensed, windows: usize) -> (f64, f64) {
        let bound = self.bound(sensed, windows);
        if !self.shared {
            return (sensed.standing - self.reference.standing, bound);
        }
        let mean = self.senses.mean(windows).unwrap_or(self.reference.mean);
        let swing = SWING * (self.senses.base() + self.reference.mean);
        let bound = if self.doubted() { bound.max(swing) } else { bound };
        (mean - self.reference.mean, bound)
    }

    /// Beside a download the first reference is that of a part of a cycle, and its least delay may be that of a queue. So up to
    /// [`DOUBTED`] no less than a loss takes of the window is harm: what so low a limit adds to a line that it fills is more.
    fn doubted(&self) -> bool {
        self.shared && !self.found && self.limit < DOUBTED
    }

    fn control(&mut self, now: Time, sensed: &Sensed) {
        let Some(upload) = sensed.upload else { return };
        let windows = match &mut self.mode {
            Mode::Trial { windows } | Mode::Hold { windows, .. } => {
                *windows += 1;
                *windows
            }
            _ => SETTLE + 1,
        };
        // What stands after a lower limit was set is that of the old one; after a higher one it is harm already.
        if windows <= SETTLE && matches!(self.mode, Mode::Hold { .. }) {
            return;
        }
        let heard = windows.saturating_sub(SETTLE).clamp(1, CYCLE);
        let searching = self.mode == Mode::Search;
        let (mut added, bound) = self.added(sensed, heard);
        if searching {
            // Windows of a search each have another limit: only the last one is about this.
            added = self.senses.fresh() - self.reference.standing;
        }
        let seen = |state: State| state.with(added.max(0.0), bound);
        // A search doubles the limit, and the upload's mean is behind.
        let latest = if searching { sensed.latest.unwrap_or(0.0) } else { 0.0 };
        let used = self.limit.min(upload.max(latest) / BOUND);
        let suspect = Suspect { added, upload, limit: self.limit, used };
        if added > bound {
            return self.harm(suspect, seen);
        }
        if windows <= SETTLE {
            return;
        }
        // Clients follow a limit late, and at a low one they write a block in several seconds: the search goes on when the limit
        // before this one is used.
        let latest = sensed.latest.unwrap_or(0.0).max(upload);
        let loaded = if searching {
            latest >= BOUND * self.good.min(self.limit)
        } else {
            upload >= BOUND * self.limit
        };
        self.fallen(sensed, heard);
        // At a low limit a client writes a block in several windows, and those between show the line as well.
        let told = loaded || (!searching && upload >= BLAMED * self.limit);
        if let Some(reserve) =
            self.reserve.as_mut().filter(|_| told && !self.shared && added <= QUEUE)
        {
            let waited = self.senses.waited(self.idle + QUEUE, 1);
            reserve.note(sensed.latest.unwrap_or(upload), waited);
        }
        if !loaded {
            self.state = seen(states::BELOW);
            return;
        }
        match self.mode {
            Mode::Search => {
                // All packets wait behind a standing queue, of any traffic: nothing is learnt about
                // the line.
                let max = if added > QUEUE { SEARCH } else { DOUBLE };
                if added <= QUEUE {
                    self.line.note(latest, self.senses.waited(self.idle + QUEUE, 1));
                } else {
                    // The probes that waited in the window before may have met the first packets of this queue.
                    self.line.withdraw();
                }
                let room = self.line.capacity().map_or(f64::INFINITY, |capacity| CUT * capacity);
                self.good = self.limit;
                // Where the search cannot go on there is time for a better estimate.
                let share = self.reserve.and_then(|reserve| {
                    if self.at_ceiling() {
                        reserve.limit().filter(|share| *share <= self.limit)
                    } else {
                        reserve.end(self.limit)
                    }
                });
                if let Some(share) = share {
                    (self.found, self.good) = (true, bounded(share));
                    if self.limit < DOUBTED {
                        return self.lower(None, states::FEW);
                    }
                    self.hold(0);
                    self.state = seen(states::SHARE);
                    return;
                }
                if self.at_ceiling() {
                    self.harmless += 1;
                    // The queue of a download may build up meanwhile.
                    let enough = self.harmless >= PATIENCE;
                    self.state = seen(if enough { self.held() } else { states::UNSURE });
                    return;
                }
                let room = self.reserve.map_or(room, |reserve| reserve.guess());
                self.set(room.clamp(CLOSE * self.limit, max * self.limit));
                self.state = seen(states::SEARCHING);
            }
            Mode::Trial { windows } => {
                self.judge_trial(windows, added, seen(states::KEPT));
            }
            Mode::Hold { .. } if !self.shared && self.share().is_some() => {
                if now >= self.refresh_at && !self.at_ceiling() {
                    return self.lower(None, states::RESTING);
                }
                let next = self.reserve.map(|reserve| reserve.next(self.limit, self.good));
                self.set(next.unwrap_or(self.limit));
                self.state = seen(self.held());
            }
            Mode::Hold { .. } if self.at_ceiling() => self.state = seen(self.held()),
            Mode::Hold { left, windows } => {
                if now >= self.refresh_at {
                    return self.lower(None, states::RESTING);
                }
                if left > 0 {
                    self.mode = Mode::Hold { left: left - 1, windows };
                    self.state = seen(self.held());
                    return;
                }
                self.more(seen(states::TRYING));
            }
            Mode::Drain { .. } | Mode::Rest { .. } => {}
        }
    }

    /// A delay below the reference needs no rest to be believed: with our upload it would be above.
    fn fallen(&mut self, sensed: &Sensed, heard: usize) {
        let calm = if self.shared { self.senses.mean(1) } else { None };
        self.senses.calm(calm.unwrap_or(sensed.standing));
        let bound = self.bound(sensed, CYCLE);
        let Reference { standing, mean } = &mut self.reference;
        *standing = standing.min(sensed.standing);
        if heard == CYCLE
            && let Some(now) = self.senses.mean(CYCLE)
            && now < *mean - 0.5 * bound
        {
            *mean = now;
        }
        // A download that recovers from a loss leaves its queue for a moment, and one that is over for good.
        let empty = sensed.standing <= QUEUE && !(self.reserve.is_some() && self.crowded(1));
        self.empty = if empty { self.empty + 1 } else { 0 };
        if self.shared && self.empty >= CYCLE {
            self.turn(false);
        }
    }
}

impl Controller for SearchController {
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.senses.rates(now, rates);
        // After a step back of the clock no date from before is to be waited for.
        self.refresh_at = self.refresh_at.min(now + LONGEST_REFRESH);
        let ceiling = rates.ceiling.bytes_per_second();
        if ceiling == self.ceiling {
            return;
        }
        (self.ceiling, self.harmless) = (ceiling, 0);
        if matches!(self.mode, Mode::Hold { .. }) {
            self.hold(0);
        } else {
            self.set(self.limit);
        }
    }
    fn on_event(&mut self, now: Time, event: Event) {
        self.senses.event(now, event);
        self.again();
        if event == Event::PathChanged {
            self.good = FIRST;
            self.relearn(states::MOVED);
        }
    }

    answers_of_senses!();
}
