//! The probes of an upload controller on their way, and their results.

use flashcrowd_base::{Span, Time};
use flashcrowd_upload::{Answer, Probe};

/// Probes on their way, and their results.
#[derive(Default)]
pub(super) struct Probes {
    sent: u64,
    waiting: Vec<Waiting>,
    /// The least round trip.
    pub(super) base: Option<Span>,
    /// Since the last row: the latest answer, and how many had none.
    pub(super) rtt: Option<Span>,
    pub(super) lost: u32,
}

/// A probe without an answer yet.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    #[test]
    fn answers_find_their_probes_in_any_order() {
        let mut probes = Probes::default();
        assert_eq!(probes.next(), Time::NEVER);
        let probe = |reflector, seconds| Probe { reflector, timeout: Span::from_secs(seconds) };
        let sent = [
            probes.send(at(0), probe(5, 4)),
            probes.send(at(100), probe(6, 1)),
            probes.send(at(200), probe(7, 4)),
        ];
        assert_eq!(sent, [0, 1, 2]);
        assert_eq!(probes.next(), at(1100));
        let rtt = |millis| Some(Span::from_millis(millis));
        let second = probes.answered(at(250), 1);
        assert_eq!(second, Some(Answer { reflector: 6, rtt: rtt(150) }));
        assert_eq!(probes.answered(at(260), 1), None, "it was answered before");
        assert_eq!((probes.rtt, probes.base), (rtt(150), rtt(150)));
        let third = probes.answered(at(500), 2);
        assert_eq!(third, Some(Answer { reflector: 7, rtt: rtt(300) }));
        assert_eq!((probes.rtt, probes.base), (rtt(300), rtt(150)), "the latest, and the least");

        assert_eq!(probes.next(), at(4000));
        assert_eq!(probes.given_up(at(3999)), None);
        assert_eq!(probes.given_up(at(4000)), Some(Answer { reflector: 5, rtt: None }));
        assert_eq!(probes.given_up(at(4000)), None);
        assert_eq!(probes.answered(at(4001), 0), None, "too late");
        assert_eq!((probes.lost, probes.next()), (1, Time::NEVER));
    }
}
