//! The probes of an upload controller on their way, and what became of them.

use flashcrowd_base::{Span, Time};
use flashcrowd_upload::{Answer, Probe};

/// Probes on their way, and what became of them.
#[derive(Default)]
pub(super) struct Probes {
    sent: u64,
    waiting: Vec<Waiting>,
    /// The least round trip so far.
    pub(super) base: Option<Span>,
    /// Since the last row: the latest answer, and how many had none.
    pub(super) rtt: Option<Span>,
    pub(super) lost: u32,
}

/// A probe without an answer so far.
#[derive(Clone, Copy)]
struct Waiting {
    number: u64,
    reflector: usize,
    sent: Time,
    /// When it is given up.
    until: Time,
}

impl Probes {
    pub(super) fn send(&mut self, now: Time, probe: Probe) -> u64 {
        let number = self.sent;
        self.sent += 1;
        let until = now + probe.timeout;
        self.waiting.push(Waiting { number, reflector: probe.reflector, sent: now, until });
        number
    }

    pub(super) fn answered(&mut self, now: Time, number: u64) -> Option<Answer> {
        let place = self.waiting.iter().position(|it| it.number == number)?;
        let Waiting { reflector, sent, .. } = self.waiting.remove(place);
        let rtt = now - sent;
        self.rtt = Some(rtt);
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        Some(Answer { reflector, rtt: Some(rtt) })
    }

    /// One that had no answer in time.
    pub(super) fn given_up(&mut self, now: Time) -> Option<Answer> {
        let place = self.waiting.iter().position(|it| it.until <= now)?;
        self.lost += 1;
        Some(Answer { reflector: self.waiting.remove(place).reflector, rtt: None })
    }

    pub(super) fn next(&self) -> Time {
        self.waiting.iter().map(|it| it.until).min().unwrap_or(Time::NEVER)
    }
}
