//! Trials: limits above the one that did no harm, each for a few windows.

use super::{CLOSE, CYCLE, MAX_PATIENCE, Mode, PATIENCE, SETTLE, STEP, SearchController, Suspect};
use crate::State;
use crate::autolimit::{BLAMED, CUT, SEARCH, bounded, states};

impl SearchController {
    /// The limit that is tried has done no harm for `windows` windows, by which `added` was added: it is kept, if that
    /// is enough.
    pub(super) fn judge_trial(&mut self, windows: usize, added: f64, kept: State) {
        // Two windows show a standing queue. They show a mean only as long as the line is not known, and much is to be
        // won: a limiter that writes whole blocks, and pages of others, leave troughs of seconds.
        let quick = !self.shared || (added <= 0.0 && !self.found) || self.doubted();
        if windows < SETTLE + if quick { 2 } else { CYCLE } {
            return;
        }
        self.good = self.limit;
        self.patience = PATIENCE;
        // Trials below what did harm are no sign of a line that has more.
        self.successes = if self.bad.is_some() { 0 } else { self.successes + 1 };
        self.more(kept);
    }

    /// Tries the next limit: in the middle of what is known, or above all that is.
    pub(super) fn more(&mut self, state: State) {
        if self.good >= self.ceiling {
            self.hold(self.patience);
            self.state = self.held();
            return;
        }
        let next = match self.bad {
            Some(bad) if bad > CLOSE * self.good => libm::sqrt(self.good * bad),
            // The line may have changed: a little more, and faster while that does no harm.
            _ if !self.found => self.good * SEARCH,
            _ => self.good * if self.successes >= 2 { STEP } else { CLOSE },
        };
        if self.share().is_some_and(|share| self.found && next > share) {
            self.hold(self.patience);
            self.state = self.held();
            return;
        }
        if self.bad.is_some_and(|bad| next > bad) {
            self.bad = None;
        }
        self.set(next);
        self.mode = Mode::Trial { windows: 0 };
        self.state = state;
    }

    /// A delay above the reference.
    pub(super) fn harm(&mut self, suspect: Suspect, seen: impl Fn(State) -> State) {
        let blamed = suspect.upload >= BLAMED * suspect.limit;
        self.successes = 0;
        match self.mode {
            Mode::Search => {
                self.good = bounded(self.good.min(CUT * suspect.upload));
                self.lower(Some(suspect), states::SUSPECTED);
            }
            Mode::Trial { .. } if blamed => {
                self.found = true;
                self.bad = Some(suspect.limit);
                if self.shared {
                    self.refrain(suspect.limit);
                } else if let Some(reserve) = &mut self.reserve {
                    reserve.full(suspect.upload);
                }
                // While the good and the bad limit are far apart the search is not over.
                let far = suspect.limit > SEARCH * self.good;
                self.hold(if far { 0 } else { self.patience });
                self.patience = (2 * self.patience).min(MAX_PATIENCE);
                self.state = seen(states::HARMED);
            }
            _ => self.lower(Some(suspect), states::SUSPECTED),
        }
    }
}
