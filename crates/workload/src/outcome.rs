//! How a run ended.

use crate::{Column, Table};
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
    /// What plays the run has failed; why.
    Failed(String),
}

impl Outcome {
    /// The outcome of a run in which nothing is left to happen, although something has not finished.
    pub fn nothing_left() -> Outcome {
        Outcome::Stalled("nothing was left to happen".to_owned())
    }

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
            lines => Outcome::Horizon(joined(lines)),
        }
    }

    /// The same with what was not delivered, a line each: its times are those of the others alone. A run that failed
    /// stays as it is.
    #[must_use]
    pub fn with_undelivered(self, mut lines: Vec<String>) -> Outcome {
        if lines.is_empty() {
            return self;
        }
        match self {
            Outcome::Failed(_) => return self,
            Outcome::Stalled(reason) => lines.push(format!("stalled: {reason}")),
            Outcome::Horizon(reason) => lines.push(format!("cut off in time: {reason}")),
            _ => {}
        }
        Outcome::Undelivered(joined(&lines))
    }

    /// Name and reason, as the table `run` has them.
    pub fn words(&self) -> (&'static str, &str) {
        match self {
            Outcome::Completed => ("completed", ""),
            Outcome::Stalled(reason) => ("stalled", reason),
            Outcome::Horizon(reason) => ("horizon", reason),
            Outcome::Stopped(reason) => ("stopped", reason),
            Outcome::Undelivered(reason) => ("undelivered", reason),
            Outcome::Failed(reason) => ("failed", reason),
        }
    }
}

/// The totals of a run.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the columns are documented with their table")]
pub struct Totals {
    pub events: u64,
    pub packets_sent: u64,
    pub packets_delivered: u64,
    pub packets_lost: u64,
    pub packets_dropped: u64,
    pub payload_bytes_delivered: u64,
    pub retransmitted_packets: u64,
}

impl Totals {
    /// The table `run`.
    pub fn table(&self, outcome: &str, reason: &str, end_s: f64) -> Table {
        let one = |value: u64| Column::U64(vec![value]);
        Table {
            name: "run",
            columns: vec![
                ("outcome", Column::text(outcome)),
                ("reason", Column::text(reason)),
                ("end_s", Column::F64(vec![end_s])),
                ("events", one(self.events)),
                ("packets_sent", one(self.packets_sent)),
                ("packets_delivered", one(self.packets_delivered)),
                ("packets_lost", one(self.packets_lost)),
                ("packets_dropped", one(self.packets_dropped)),
                ("payload_bytes_delivered", one(self.payload_bytes_delivered)),
                ("retransmitted_packets", one(self.retransmitted_packets)),
            ],
        }
    }
}

/// Lines that a reason has of a long list.
const MOST: usize = 20;

fn joined(lines: &[String]) -> String {
    match lines.len().saturating_sub(MOST) {
        0 => lines.join("; "),
        more => format!("{}; … and {more} more", lines[..MOST].join("; ")),
    }
}

/// What began later than this before the end of a run may still be in flight.
const UNDER_WAY: Span = Span::from_secs(1);

/// Whether something that began then should have arrived by `now`, at least in part.
pub(crate) fn is_due(began: Time, now: Time) -> bool {
    now.since(began) >= UNDER_WAY
}

/// How many of `total` lost their connection before all was delivered, and of `each` what, when and how far.
pub(crate) fn lost(
    whose: &str,
    total: usize,
    what: &str,
    mut each: impl Iterator<Item = String>,
) -> Option<String> {
    let first = each.next()?;
    let count = 1 + each.count();
    Some(format!("{whose}: {count} of {total} {what} lost the connection, the first ({first})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_the_first_of_a_long_list() {
        let lines = |count: usize| (0..count).map(|flow| format!("flow {flow}")).collect();
        for (count, ends) in [(20, "flow 18; flow 19"), (12_000, "flow 19; … and 11980 more")] {
            let lines: Vec<String> = lines(count);
            let cut = Outcome::at_horizon(&lines);
            assert!(cut.words().1.ends_with(ends), "{}", cut.words().1);
            let undelivered = Outcome::Completed.with_undelivered(lines);
            assert!(undelivered.words().1.ends_with(ends), "{}", undelivered.words().1);
        }
    }
}
