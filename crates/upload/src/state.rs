use flashcrowd_base::Span;
use std::fmt;

/// What a controller is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It learns what the line is like before it controls anything.
    Learning,
    /// It raises the limit.
    Raising,
    /// It lowers the limit.
    Lowering,
    /// It leaves the limit where it is.
    Holding,
    /// It lets the queue run empty, to see the delay without its client.
    Draining,
    /// It has no answers, or no line, and changes nothing.
    Waiting,
}

impl Phase {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Learning => "learning",
            Phase::Raising => "raising",
            Phase::Lowering => "lowering",
            Phase::Holding => "holding",
            Phase::Draining => "draining",
            Phase::Waiting => "waiting",
        }
    }
}

/// What a controller is doing, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// What it is doing.
    pub phase: Phase,
    /// Why, in words.
    pub reason: &'static str,
    /// The delay by which it decided, if it goes by delay: over its baseline where it has one.
    pub delay: Option<Span>,
    /// The delay above which it takes the uplink for congested.
    pub threshold: Option<Span>,
}

impl State {
    /// A state without delays.
    pub const fn new(phase: Phase, reason: &'static str) -> State {
        State { phase, reason, delay: None, threshold: None }
    }
    /// The same with the delay that decided, and the threshold to which it was held, both in seconds.
    pub(crate) fn with(self, delay: f64, threshold: f64) -> State {
        State {
            delay: Some(Span::from_seconds(delay)),
            threshold: Some(Span::from_seconds(threshold)),
            ..self
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.phase.name(), self.reason)?;
        if let (Some(delay), Some(threshold)) = (self.delay, self.threshold) {
            let millis = |span: Span| span.seconds() * 1e3;
            write!(f, " ({:.0} ms of {:.0} ms)", millis(delay), millis(threshold))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_as_a_sentence() {
        let state = State::new(Phase::Lowering, "the uplink queues").with(0.312, 0.045);
        assert_eq!(state.to_string(), "lowering: the uplink queues (312 ms of 45 ms)");
        assert_eq!(State::new(Phase::Waiting, "no answers").to_string(), "waiting: no answers");
    }
}
