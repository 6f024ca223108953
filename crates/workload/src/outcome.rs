//! How a run ended.

use flashcrowd_base::{Span, Time};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that can finish has finished.
    Completed,
    /// Something can never finish; why.
    Stalled(String),
    /// The horizon came first; what was unfinished.
    Horizon(String),
    /// The timeline stopped the last workload.
    Stopped(String),
    /// A connection was lost before all was delivered, or nothing arrived at all; of what.
    Undelivered(String),
}

impl Outcome {
    /// Whether the run was cut, and says what was unfinished then.
    pub fn is_cut(&self) -> bool {
        matches!(self, Outcome::Stalled(_) | Outcome::Horizon(_))
    }

    /// The outcome of a run in which all that can finish has finished; `stopped` says what the timeline
    /// stopped before it was complete.
    pub fn of_finished(stopped: Option<String>) -> Outcome {
        stopped.map_or(Outcome::Completed, Outcome::Stopped)
    }

    /// The outcome at the horizon: a cut for what could have finished, the ordinary end for what could not.
    pub fn at_horizon(unfinished: &[String]) -> Outcome {
        match unfinished {
            [] => Outcome::Completed,
            lines => Outcome::Horizon(lines.join("; ")),
        }
    }

    /// The same with what was not delivered, a line each: its times are those of the others alone.
    #[must_use]
    pub fn with_undelivered(self, mut lines: Vec<String>) -> Outcome {
        if lines.is_empty() {
            return self;
        }
        match self {
            Outcome::Stalled(reason) => lines.push(format!("stalled: {reason}")),
            Outcome::Horizon(reason) => lines.push(format!("cut off in time: {reason}")),
            _ => {}
        }
        Outcome::Undelivered(lines.join("; "))
    }

    /// Name and reason, as the table `run` has them.
    pub fn words(&self) -> (&'static str, &str) {
        match self {
            Outcome::Completed => ("completed", ""),
            Outcome::Stalled(reason) => ("stalled", reason),
            Outcome::Horizon(reason) => ("horizon", reason),
            Outcome::Stopped(reason) => ("stopped", reason),
            Outcome::Undelivered(reason) => ("undelivered", reason),
        }
    }
}

/// What began later than this before the end of a run may still be in flight.
const UNDER_WAY: Span = Span::from_secs(1);

/// Whether something that began then should have arrived by `now`, at least in part.
pub fn is_due(began: Time, now: Time) -> bool {
    now.since(began) >= UNDER_WAY
}

/// How many of `total` lost their connection before all was delivered, and of `each` what, when and how far.
pub fn lost(
    whose: &str,
    total: usize,
    what: &str,
    mut each: impl Iterator<Item = String>,
) -> Option<String> {
    let first = each.next()?;
    let count = 1 + each.count();
    Some(format!("{whose}: {count} of {total} {what} lost the connection, the first ({first})"))
}
