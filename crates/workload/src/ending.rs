//! When a run ends, and how.

use crate::Outcome;
use flashcrowd_base::Time;

/// All workloads of a run, as they are asked whether it is over.
///
/// An engine asks when something has ended, at intervals, and at the horizon; one that looks at intervals only asks for
/// all of it by [`look`](Ending::look).
pub trait Ending {
    /// Why the run cannot go on, if what plays it has failed.
    fn failed(&self) -> Option<String> {
        None
    }
    /// Why a workload gets no further, if one does not.
    fn stalled(&mut self, now: Time) -> Option<String>;
    /// Whether something can finish.
    fn is_finite(&self) -> bool;
    /// Whether all that can finish has finished.
    fn is_done(&self) -> bool;
    /// What the timeline stopped before it was complete.
    fn stopped(&self) -> Option<String>;
    /// A line for each thing that is left to do.
    fn unfinished(&self) -> Vec<String>;

    /// How the run ends because a workload gets no further, if so.
    fn at_watch(&mut self, now: Time) -> Option<Outcome> {
        self.stalled(now).map(Outcome::Stalled)
    }

    /// How the run ends after something has ended, if nothing is left that can finish.
    fn when_something_ended(&self) -> Option<Outcome> {
        let over = self.is_finite() && self.is_done();
        over.then(|| Outcome::of_finished(self.stopped()))
    }

    /// How the run ends at its horizon.
    fn at_horizon(&self) -> Outcome {
        Outcome::at_horizon(&self.unfinished())
    }

    /// How the run ends now, if it does; `ended` if something has ended since the last look. What happened before the
    /// horizon counts, though it is seen after it.
    fn look(&mut self, now: Time, horizon: Time, ended: bool) -> Option<Outcome> {
        self.failed()
            .map(Outcome::Failed)
            .or_else(|| self.at_watch(now))
            .or_else(|| self.when_something_ended().filter(|_| ended))
            .or_else(|| (now >= horizon).then(|| self.at_horizon()))
    }
}
