use crate::{Answer, Probe};
use flashcrowd_base::{Span, Time};

/// Probes in groups: all sources are asked at once, and a group is judged when it is complete.
#[derive(Clone, Debug)]
pub(super) struct Round {
    period: Span,
    timeout: Span,
    sources: usize,
    next: Time,
    /// How many of this group are still to be sent.
    unsent: usize,
    /// How many were sent and have not been heard of.
    open: usize,
    /// Answers of this group in milliseconds.
    answers: Vec<f64>,
}

impl Round {
    /// Groups of at most three sources, as the client has.
    pub(super) fn new(now: Time, period: Span, timeout: Span, reflectors: usize) -> Round {
        let sources = reflectors.clamp(1, 3);
        Round { period, timeout, sources, next: now, unsent: 0, open: 0, answers: Vec::new() }
    }

    pub(super) fn probe(&mut self, now: Time) -> Option<Probe> {
        if now >= self.next || now + self.period < self.next {
            self.next = now + self.period;
            (self.unsent, self.open) = (self.sources, 0);
            self.answers.clear();
        }
        self.unsent = self.unsent.checked_sub(1)?;
        self.open += 1;
        Some(Probe { reflector: self.unsent, timeout: self.timeout })
    }

    /// The answers of the group in milliseconds, if this one completes it.
    pub(super) fn hear(&mut self, answer: &Answer) -> Option<Vec<f64>> {
        self.answers.extend(answer.rtt.map(|rtt| rtt.seconds() * 1e3));
        self.open = self.open.checked_sub(1)?;
        (self.open == 0 && self.unsent == 0).then(|| std::mem::take(&mut self.answers))
    }

    pub(super) fn deadline(&self) -> Time {
        self.next
    }

    pub(super) fn sources(&self) -> usize {
        self.sources
    }
}
