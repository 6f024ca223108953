//! Counts between two instants.

use flashcrowd_base::Time;
use flashcrowd_plan::Window;

/// What was counted when the window of a table began and when it ended; without a window all of the run counts.
#[derive(Clone, Debug)]
pub struct Counted<T> {
    window: Option<Window>,
    begin: Option<T>,
    end: Option<T>,
}

impl<T: Clone> Counted<T> {
    /// Before anything has happened.
    pub fn new(window: Option<&Window>) -> Counted<T> {
        Counted { window: window.cloned(), begin: None, end: None }
    }

    /// The window.
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// When the window begins, or ends if it has begun; never if neither is to come.
    pub fn due(&self) -> Time {
        match (&self.window, &self.begin, &self.end) {
            (Some(window), None, _) => window.begin(),
            (Some(window), Some(_), None) => window.end(),
            _ => Time::NEVER,
        }
    }

    /// Counts once more for each end of the window that has been reached and not marked.
    pub fn look(&mut self, now: Time, counts: &T) {
        while self.due() <= now && self.due() < Time::NEVER {
            self.mark(self.begin.is_none(), counts.clone());
        }
    }

    /// The window begins, or ends; nothing without a window.
    pub fn mark(&mut self, begins: bool, counts: T) {
        let counts = self.window.is_some().then_some(counts);
        *(if begins { &mut self.begin } else { &mut self.end }) = counts;
    }

    /// What was counted at both ends of what counts: it is `zero` when the run begins, and `present` now.
    pub fn done(&self, zero: impl FnOnce(&T) -> T, present: T) -> (T, T) {
        let from = self.begin.clone().unwrap_or_else(|| match self.window {
            None => zero(&present),
            // A run that ended before its window began did nothing in it.
            Some(_) => present.clone(),
        });
        (from, self.end.clone().unwrap_or(present))
    }
}
